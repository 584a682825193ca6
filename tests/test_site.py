"""Links of the pages lead somewhere, and the site that is built of them loads nothing from elsewhere."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import notebook_outputs as outputs
from tests.page_links import Page, broken_in_markdown
from tests.sources import ROOT

SOURCES = [ROOT / "README.md", *sorted((ROOT / "notebooks").rglob("*.md"))]
SOURCES += sorted((ROOT / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built without a warning."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "notebooks", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.fixture(scope="module")
def pages(site) -> list[Path]:
    return sorted(page for page in site.rglob("*.html") if "_static" not in page.parts)


@pytest.mark.parametrize("page", SOURCES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page):
    assert broken_in_markdown(page, ROOT) == []


def test_every_page_is_built(site, pages):
    built = {str(page.relative_to(site).with_suffix("")) for page in pages}
    assert {source.stem for source in SOURCES[1:] if source.parent.name == "notebooks"} <= built


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
