"""The tables of ``notebooks/papers.md``, made of ``notebooks/papers.toml``: ``python -m tests.papers_table``."""

from __future__ import annotations

import pydoc
import re
import tomllib
from pathlib import Path
from typing import Any

from privrank_jax import experiments
from tests.methods_table import placed
from tests.page_links import anchor, headings, markdown

ROOT = Path(__file__).parent.parent
PAGES = ROOT / "notebooks"
PAGE = PAGES / "papers.md"
WRONG = "papers.md"
START, END = "<!-- items: python -m tests.papers_table -->\n", "<!-- end of items -->\n"
STATUSES: tuple[str, ...] = ("agrees", "step", "corrected", "open")
_WORDS = {"step": "steps of proofs"}
_NUMBERED = re.compile(r"[A-Z][a-z]+ [\dIVS.]+")


def papers() -> dict[str, Any]:
    """The papers by their short names, as they stand in the file."""
    return tomllib.loads((PAGES / "papers.toml").read_text(encoding="utf-8"))


def numbered(paper: dict[str, Any]) -> list[str]:
    """The labels of all items that a paper numbers, such as ``Theorem 2.1``."""
    return [
        f"{kind} {number}"
        for kind, numbers in paper["numbered"].items()
        for number in numbers.split()
    ]


def labels(item: dict[str, Any]) -> list[str]:
    """The labels of numbered items in a row's place: ``Theorem 1(2)`` is of Theorem 1."""
    return _NUMBERED.findall(item["place"].replace("(", " ("))


def status(item: dict[str, Any]) -> str:
    """Status of a row: it agrees unless it says otherwise."""
    return item.get("status", "agrees")


def link(place: str) -> str:
    """Where something is in the project, as Markdown.

    Args:
        place: code, a study, a file, ``page#anchor``, or ``#N`` or ``#more``, errors of the notebook.

    Raises:
        LookupError: there is no such place.
    """
    page, number_sign, name = place.partition("#")
    if number_sign:
        titles = headings(markdown(PAGES / (page or WRONG)))
        start = "More " if name == "more" else f"{name}. "
        found = [t for t in titles if (anchor(t) == name if page else t.startswith(start))]
        if not found:
            raise LookupError(f"{place}: no such heading")
        text = found[0] if page else "smaller errors" if name == "more" else f"error {name}"
        return f"[{text}]({page or WRONG}#{anchor(found[0])})"
    if "/" in place:
        known = (ROOT / place).exists()
    else:
        known = place in experiments.names() or pydoc.locate(f"privrank_jax.{place}") is not None
    if not known:
        raise LookupError(f"{place}: no code, study or file of this name")
    return f"`{place}`"


def table() -> str:
    """One table for each paper, and how many of its numbered items have which status."""
    parts = []
    for key, paper in papers().items():
        counts = dict.fromkeys(STATUSES, 0)
        for label in numbered(paper):
            # An item of several rows counts once, with what stands last in this order.
            of_rows = {status(item) for item in paper["items"] if label in labels(item)}
            counts[max(of_rows, key=STATUSES.index)] += 1
        summed = ", ".join(f"{_WORDS.get(name, name)}: {n}" for name, n in counts.items() if n)
        total = sum(counts.values())
        rows = [f"### {key}", "", f"{paper['title']}. Numbered items: {total} ({summed}).", ""]
        rows += ["| place | what it says | status | where |", "|---|---|---|---|"]
        for item in paper["items"]:
            said = status(item) + (f": {item['why']}" if "why" in item else "")
            where = ", ".join(map(link, item["where"])) or "—"
            rows.append(f"| {item['place']} | {item['says']} | {said} | {where} |")
        parts.append("\n".join(rows) + "\n")
    return "\n".join(parts)


def written(page: str) -> str:
    """The page with the tables in their place.

    Args:
        page: text of the page.
    """
    return placed(page, START, table(), END)


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
