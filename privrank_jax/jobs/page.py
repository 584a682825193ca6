"""Tables as text, HTML and data frames; and one page for readers that needs no other file, no network and no script."""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from privrank_jax import __version__

if TYPE_CHECKING:
    from privrank_jax.jobs.result import Ranking

_STYLE = """
:root { color-scheme: light dark; }
body { font: 17px/1.55 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; line-height: 1.25; }
h2 { font-size: 1.2rem; margin-top: 2rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: 0.3rem 0.8rem; text-align: left; border-bottom: 1px solid #8888; white-space: nowrap; }
td.left { min-width: 6em; white-space: normal; overflow-wrap: anywhere; }
.right { text-align: right; font-variant-numeric: tabular-nums; }
figure { margin: 1.5rem 0; background: #fff; }
figure svg { width: 100%; height: auto; }
.warning { border-left: 0.4rem solid #c0392b; padding: 0.4rem 1rem; font-weight: 600; }
dt { font-weight: 600; margin-top: 0.6rem; }
dd { margin-left: 1.2rem; }
code { font-family: ui-monospace, monospace; font-size: 0.9em; overflow-wrap: anywhere; }
footer { margin-top: 3rem; font-size: 0.85rem; }
@media (max-width: 32rem) {
  th, td { padding: 0.3rem 0.35rem; font-size: 0.8rem; }
  th { white-space: normal; vertical-align: bottom; }
  figure { overflow-x: auto; }
  figure svg { min-width: 36rem; }
}
@media print { body { margin: 0; max-width: none; font-size: 11pt; } figure, table { break-inside: avoid; } }
"""


def text_of(title: str, columns: dict[str, list[str]], left: str, paragraphs: Iterable[str]) -> str:
    """A table as text, between a title and paragraphs.

    Args:
        title: above the table.
        columns: cells by heading.
        left: the column whose cells stand at its left.
        paragraphs: below.
    """
    whole = {heading: [heading, *cells] for heading, cells in columns.items()}
    widths = {heading: max(map(len, cells)) for heading, cells in whole.items()}
    lines = [
        "  ".join(
            cell.ljust(widths[heading]) if heading == left else cell.rjust(widths[heading])
            for heading, cell in zip(whole, row)
        ).rstrip()
        for row in zip(*whole.values())
    ]
    return "\n".join([title, "", *lines, "", *paragraphs])


def html_of(title: str, columns: dict[str, list[str]], left: str, paragraphs: Iterable[str]) -> str:
    """The same as a fragment of HTML."""
    table = _table(columns, left, f"<caption>{escape(title)}</caption>")
    return f"<div>{table}{_paragraphs(paragraphs)}</div>"


def _table(columns: Mapping[str, Sequence[str]], left: str, caption: str = "") -> str:
    """A table, for a page with its style; with a caption it brings its own."""
    sides = ["left" if name == left else "right" for name in columns]

    def row(tag: str, cells: Iterable[str]) -> str:
        looks = (f'style="text-align:{side}"' if caption else f'class="{side}"' for side in sides)
        made = (f"<{tag} {look}>{escape(cell)}</{tag[:2]}>" for look, cell in zip(looks, cells))
        return f"<tr>{''.join(made)}</tr>"

    body = "\n".join(row("td", cells) for cells in zip(*columns.values()))
    head = row('th scope="col"', columns)
    return f"<table>{caption}<thead>{head}</thead><tbody>\n{body}\n</tbody></table>"


def _paragraphs(words: Iterable[str]) -> str:
    return "".join(f"<p>{escape(text)}</p>\n" for text in words)


def frame_of(rows: Any) -> Any:
    """Rows as a data frame: of pandas if that is installed, else of polars, else a table of PyArrow."""
    for package in ("pandas", "polars", "pyarrow"):
        try:
            module = importlib.import_module(package)
        except ImportError:
            continue
        return module.Table.from_pylist(rows) if package == "pyarrow" else module.DataFrame(rows)
    raise ImportError("a data frame needs pandas, polars or PyArrow: pip install pandas")


def page(ranking: Ranking) -> str:
    """The page of a ranking for its readers: table, picture, what is certain, what is protected, notes."""
    guarantee = [] if ranking.guarantee is None else [ranking.guarantee_in_words]
    if guarantee and not ranking.rehearsal:
        guarantee.append("Each release draws new noise and spends the budget again.")
    warned = "".join(
        f'<p class="warning" role="note">{escape(text)}</p>' for text in ranking.cautions
    )
    title, drawing, notes = escape(ranking.title), ranking.drawing(), ranking.notes
    figure = f'<figure role="img" aria-label="The table above as a picture">{drawing}</figure>'
    parts = [
        f'<h1>{title}</h1>\n{warned}\n<div class="scroll">{_table(ranking.columns(), "item")}</div>',
        figure if drawing else "",
        _paragraphs(ranking.words),
        "<h2>What is protected, and how well</h2>" if guarantee else "",
        _paragraphs(guarantee),
        "<h2>Notes</h2>\n<ul>" if notes else "",
        *(f"<li>{escape(note)}</li>" for note in notes),
        "</ul>" if notes else "",
    ]
    body = "\n".join(filter(None, parts))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        f"<footer>Written by privrank_jax {__version__}, {datetime.date.today()}.</footer>\n</body>\n</html>\n"
    )
