"""Links of pages of Markdown, and of notebooks, as they are read in the repository."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

_FENCED = re.compile(r"^(```+|~~~+).*?^\1", re.MULTILINE | re.DOTALL)
_CODE = re.compile(r"`[^`\n]+`")
_LINK = re.compile(r"\]\(<?([^()\s>]+)>?(?: +\"[^\"]*\")?\)")
_HEADING = re.compile(r"^#{1,6} +(.+?) *#*$", re.MULTILINE)
_OF_THE_REPOSITORY = re.compile(r"`((?:\.ci|notebooks|privrank_jax|tests)/[\w./-]*)`")


def broken_in_markdown(page: Path, root: Path) -> list[str]:
    """Links of a page of Markdown, or of the cells of a notebook, that lead nowhere.

    Files that are named as code, as `tests/conftest.py`, must exist too.
    """
    text = _FENCED.sub("", markdown(page))
    found = [
        f"{page.name}: no file {path}"
        for path in _OF_THE_REPOSITORY.findall(text)
        if not (root / path).exists()
    ]
    for link in _LINK.findall(_CODE.sub("", text)):
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            wrong = not sound_address(link)
        else:
            target = page.parent / unquote(parts.path) if parts.path else page
            wrong = not target.exists() or bool(
                parts.fragment and parts.fragment not in anchors(markdown(target))
            )
        if wrong:
            found.append(f"{page.name}: {link}")
    return found


def markdown(page: Path) -> str:
    """The text of a page; of a notebook, that of its cells of text."""
    text = page.read_text(encoding="utf-8")
    if page.suffix != ".ipynb":
        return text
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "markdown"]
    return "\n\n".join("".join(cell["source"]) for cell in cells)


def anchors(text: str) -> set[str]:
    """Names by which the headings of Markdown are linked to: those that both GitHub and MyST make.

    >>> sorted(anchors("# Add an algorithm\\n## ε, and what `k` costs"))
    ['add-an-algorithm', 'ε-and-what-k-costs']
    """
    return set(map(anchor, headings(text)))


def headings(text: str) -> list[str]:
    """The headings of Markdown, in order."""
    return _HEADING.findall(_FENCED.sub("", text))


def anchor(heading: str) -> str:
    """The name by which a heading is linked to."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")


def sound_address(link: str) -> bool:
    """Whether a link to another place is written as one; nothing is fetched.

    >>> sound_address("https://arxiv.org/abs/2402.1"), sound_address("htps://arxiv.org"), sound_address("//a b")
    (True, False, False)
    """
    parts = urlsplit(link)
    if parts.scheme == "mailto":
        return "@" in parts.path
    return parts.scheme == "https" and bool(re.fullmatch(r"(?:[\w-]+\.)+[a-z]{2,}", parts.netloc))
