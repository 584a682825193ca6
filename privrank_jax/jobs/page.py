"""Tables as text, HTML and data frames; and one page for readers that needs no other file, no network and no script."""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Iterable
from html import escape
from typing import TYPE_CHECKING, Any

from privrank_jax import __version__

if TYPE_CHECKING:
    from privrank_jax.jobs.result import Ranking

_STYLE = """
:root { color-scheme: light dark; }
body { font: 17px/1.55 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; display: block; overflow-x: auto; }
caption { font-size: 1.4rem; font-weight: 600; text-align: left; }
th, td { padding: 0.3rem 0.8rem; border-bottom: 1px solid #8888; font-variant-numeric: tabular-nums; }
figure { margin: 1.5rem 0; background: #fff; overflow-x: auto; }
figure svg { width: 100%; min-width: 24rem; height: auto; }
.warning { border-left: 0.4rem solid #c0392b; padding: 0.4rem 1rem; font-weight: 600; }
li, p, td { overflow-wrap: anywhere; }
"""


def text_of(title: str, columns: dict[str, list[str]], left: str, paragraphs: Iterable[str]) -> str:
    """A table as text, cells by heading, between a title and paragraphs; the cells of ``left`` stand at its left."""
    padded = []
    for heading, cells in columns.items():
        width, pad = max(map(len, (heading, *cells))), str.ljust if heading == left else str.rjust
        padded.append([pad(cell, width) for cell in (heading, *cells)])
    lines = ["  ".join(row).rstrip() for row in zip(*padded)]
    return "\n".join([title, "", *lines, "", *paragraphs])


def html_of(title: str, columns: dict[str, list[str]], left: str, paragraphs: Iterable[str]) -> str:
    """The same as a fragment of HTML."""

    def row(tag: str, cells: Iterable[str]) -> str:
        sides = ("left" if name == left else "right" for name in columns)
        styled = zip(sides, cells)
        made = (f'<{tag} style="text-align:{s}">{escape(cell)}</{tag[:2]}>' for s, cell in styled)
        return f"<tr>{''.join(made)}</tr>"

    body = "\n".join(row("td", cells) for cells in zip(*columns.values()))
    heads = row('th scope="col"', columns)
    head = f"<caption>{escape(title)}</caption><thead>{heads}</thead>"
    below = "".join(f"<p>{escape(text)}</p>\n" for text in paragraphs)
    return f"<div><table>{head}<tbody>\n{body}\n</tbody></table>{below}</div>"


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
    drawing, notes = ranking.drawing(), ranking.notes
    figure = f'<figure role="img" aria-label="The table above as a picture">{drawing}</figure>'
    parts = [
        *(f'<p class="warning" role="note">{escape(text)}</p>' for text in ranking.cautions),
        html_of(ranking.title, ranking.columns(), "item", ranking.words),
        figure if drawing else "",
        "<h2>What is protected, and how well</h2>" if guarantee else "",
        *(f"<p>{escape(text)}</p>" for text in guarantee),
        "<h2>Notes</h2>\n<ul>" if notes else "",
        *(f"<li>{escape(note)}</li>" for note in notes),
        "</ul>" if notes else "",
    ]
    body = "\n".join(filter(None, parts))
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(ranking.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        f"<footer>Written by privrank_jax {__version__}, {datetime.date.today()}.</footer>\n</body>\n</html>\n"
    )
