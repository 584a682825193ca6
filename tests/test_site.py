"""Links of the pages and of the site lead somewhere; a browser shows the site and a report without trouble."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import chromium
from tests import notebook_outputs as outputs
from tests.page_links import Page, broken_in_markdown, broken_in_site

ROOT = Path(__file__).parent.parent
SOURCES = [ROOT / "README.md", *sorted((ROOT / "notebooks").rglob("*.md"))]
SOURCES += sorted((ROOT / "notebooks").glob("*.ipynb"))
# As ``python -m sphinx``, without searches for garbage, which take a fifth of the time.
BUILD = (
    "import gc, sys; gc.disable(); from sphinx.cmd.build import main; sys.exit(main(sys.argv[1:]))"
)
OPENED = ("index", "methods", "simulate")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built without a warning."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-c", BUILD, "-q", "-W", "--keep-going", "notebooks", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def pages(site) -> list[Path]:
    return sorted(page for page in site.rglob("*.html") if "_static" not in page.parts)


@pytest.mark.parametrize("page", SOURCES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page):
    assert broken_in_markdown(page, ROOT) == []


def test_links_of_the_site_lead_somewhere(site, pages):
    built = {str(page.relative_to(site).with_suffix("")) for page in pages}
    assert {source.stem for source in SOURCES[1:] if source.parent.name == "notebooks"} <= built
    assert broken_in_site(site, pages) == []


def test_names_of_functions_lead_to_the_reference(site):
    page = Page(site / "api" / "index.html")
    assert "pairwise.html#privrank_jax.pairwise.mle" in page.links
    assert sum("#privrank_jax." in link for link in page.links) > 50


def test_pages_load_nothing_from_elsewhere_and_describe_their_pictures(pages):
    pictures = 0
    for path in pages:
        page = Page(path)
        assert [link for link in page.loaded if "//" in link] == []
        assert page.silent == []
        pictures += sum("_images/" in link for link in page.loaded)
    stored = sum(
        len(outputs.pictures(outputs.read(path))) for path in SOURCES if path.suffix == ".ipynb"
    )
    assert pictures > stored > 0


@pytest.fixture(scope="module")
def browser():
    path = chromium.program()
    if path is None:
        pytest.skip("no Chromium is installed")
    with chromium.browser(path) as running:
        yield running


@pytest.mark.parametrize("width", [chromium.PHONE, chromium.DESK])
@pytest.mark.parametrize("name", OPENED)
def test_a_page_of_the_site_fits_a_window_and_loads_nothing_from_elsewhere(
    site, browser, name, width
):
    seen = browser.open(site / f"{name}.html", width)
    assert seen.errors == []
    assert all(address.startswith(("file:", "data:")) for address in seen.requests)
    assert seen.width <= width


def test_a_report_fits_a_window_and_loads_nothing(privrank, browser, tmp_path):
    report = tmp_path / "coffee.html"
    privrank("rank", "coffee", "--epsilon", 1, "--simulate", "--seed", 1, "--out", report)
    for width in (chromium.PHONE, chromium.DESK):
        seen = browser.open(report, width)
        assert (seen.errors, seen.requests) == ([], [])
        assert seen.width <= width
