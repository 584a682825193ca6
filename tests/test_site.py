"""Links of the pages and of the site lead somewhere; a browser shows the site and a report without trouble."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

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
OPENED = ("index", "methods", "quick_start")


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


def test_the_first_page_shows_what_the_readme_shows(site):
    page = Page(site / "index.html")
    text = (site / "index.html").read_text(encoding="utf-8")
    assert any("coffee.png" in link for link in page.loaded)
    assert "privrank rank coffee" in re.sub("<[^>]*>", "", text)
    assert "notation.html" in page.links  # by the hidden tables of contents


def test_names_of_functions_lead_to_the_reference(site):
    page = Page(site / "functions.html")
    assert "api/pairwise.html#privrank_jax.pairwise.mle" in page.links
    assert sum("#privrank_jax." in link for link in page.links) > 50


@pytest.mark.parametrize(
    ("text", "package", "name"),
    [
        ("pairwise.mle", None, "pairwise.mle"),
        ("pr.pairwise.mle(wins, gamma=1)", None, "pairwise.mle"),
        ("mle", "pairwise", "pairwise.mle"),
        ("noisy_counts", "privacy", "pairwise.noisy_counts"),
        ("Privacy", None, "Privacy"),
        ("WinCounts.from_comparisons(...)", None, "comparisons.WinCounts.from_comparisons"),
        ("mle", None, ""),  # an old name of a method, for instance
        ("release", None, ""),  # the extra
        ("privrank_jax.release", None, "release"),
        ("simulate.worlds", None, ""),  # there is one, outside of the reference
        ("wins", "pairwise", ""),
        ("np.pad(matrix)", None, ""),
        ("--adjacency flip", None, ""),
    ],
)
def test_inline_code_is_a_name_of_ours_or_not(text, package, name):
    assert _names().find(text, package) == name


@pytest.mark.parametrize("text", ["pairwise.gone", "pr.gone", "pr.pairwise.gone(1)"])
def test_names_that_are_gone_are_found(text):
    with pytest.raises(LookupError):
        _names().find(text, None)


def _names():
    """The names of a small reference, by the settings of the pages."""
    settings = runpy.run_path(str(ROOT / "notebooks" / "conf.py"))
    kinds = {
        "pairwise": "module",
        "simulate": "module",
        "release": "module",
        "Privacy": "class",
        "pairwise.mle": "function",
        "pairwise.noisy_counts": "function",
        "comparisons.WinCounts.from_comparisons": "method",
    }
    entries = {
        f"privrank_jax.{name}": SimpleNamespace(objtype=kind, aliased=False)
        for name, kind in kinds.items()
    }
    return settings["_Names"](SimpleNamespace(objects=entries))


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


def test_broken_links_are_found(tmp_path):
    (tmp_path / "other.md").write_text("# Of ε\n```\n# No heading\n```\n")
    page = tmp_path / "page.md"
    page.write_text(
        "[a](other.md#of-ε) [b](other.md#no-heading) [c](gone.md) ![d](<gone.png>) [e](#page)\n"
        "# Page\n[f](https://example.org/x) [g](https//example.org) `tests/gone.py` `[h](gone.md)`\n"
    )
    found = [line.rpartition(" ")[2] for line in broken_in_markdown(page, tmp_path)]
    assert found == [
        "tests/gone.py",
        "other.md#no-heading",
        "gone.md",
        "gone.png",
        "https//example.org",
    ]


def test_broken_links_of_a_site_are_found(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<link href="gone.css"><a id="x" href="#x"><a href="#y"><a href="http://a.org">'
        '<img src="gone.png"><img src="page.html" alt="This page.">'
    )
    found = [line.removeprefix("page.html: ") for line in broken_in_site(tmp_path, [page])]
    assert found == ["#y", "http://a.org", "gone.css", "gone.png"]
    assert Page(page).silent == ["gone.png"]


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


def test_what_is_wrong_with_a_page_is_seen(browser, tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<meta name="viewport" content="width=device-width"><p style="width: 500px">x</p>'
        '<img src="http://127.0.0.1:9/gone.png"><script>console.error("no"); gone()</script>'
    )
    for width in (chromium.PHONE, 480):
        seen = browser.open(page, width)
        assert seen.width > width
        assert seen.requests == ["http://127.0.0.1:9/gone.png"]
        assert len(seen.errors) >= 3


def test_a_report_fits_a_window_and_loads_nothing(privrank, browser, tmp_path):
    report = tmp_path / "coffee.html"
    privrank("rank", "coffee", "--epsilon", 1, "--simulate", "--seed", 1, "--report", report)
    for width in (chromium.PHONE, chromium.DESK):
        seen = browser.open(report, width)
        assert (seen.errors, seen.requests) == ([], [])
        assert seen.width <= width
