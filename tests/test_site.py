"""Links of the pages lead somewhere, and the site that is built of them loads nothing from elsewhere."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.page_links import broken_in_markdown
from tests.sources import ROOT

SOURCES = [ROOT / "README.md", *sorted((ROOT / "notebooks").rglob("*.md"))]
SOURCES += sorted((ROOT / "notebooks").glob("*.ipynb"))
LOADED = re.compile(r"<(?:img|script|iframe)[^>]*? src=\"([^\"]*)|<link[^>]*? href=\"([^\"]*)")
PICTURE = re.compile(r"<img[^>]*>")


@pytest.fixture(scope="module")
def site(tmp_path_factory) -> Path:
    """The site, built without a warning."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "notebooks", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return folder


@pytest.mark.parametrize("page", SOURCES, ids=lambda page: page.name)
def test_links_of_a_page_lead_somewhere(page):
    assert broken_in_markdown(page, ROOT) == []


@pytest.mark.slow
def test_pages_are_built_load_nothing_from_elsewhere_and_describe_their_pictures(site):
    pages = sorted(page for page in site.rglob("*.html") if "_static" not in page.parts)
    built = {str(page.relative_to(site).with_suffix("")) for page in pages}
    assert {source.stem for source in SOURCES[1:] if source.parent.name == "notebooks"} <= built
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert [link for found in LOADED.findall(text) for link in found if "//" in link] == []
        for picture in PICTURE.findall(text):
            name, words = (re.search(rf' {x}="([^"]*)"', picture)[1] for x in ("src", "alt"))
            assert words
            assert not words.endswith(name.rpartition("/")[2])


@pytest.mark.slow
def test_names_of_functions_lead_to_the_reference(site):
    text = (site / "api" / "index.html").read_text(encoding="utf-8")
    assert "pairwise.html#privrank_jax.pairwise.mle" in text
    assert text.count("#privrank_jax.") > 50
