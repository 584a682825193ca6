"""One page of a ranking for those who will read it: HTML that needs no other file, no network and no script."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from html import escape

from privrank_jax import __version__

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


def page(
    title: str,
    columns: Mapping[str, Sequence[str]],
    *,
    cautions: Sequence[str] = (),
    drawing: str = "",
    words: Sequence[str] = (),
    guarantee: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> str:
    """The page of a ranking for its readers.

    Args:
        title: above the table.
        columns: cells by heading.
        cautions: why the ranking is not for publication.
        drawing: SVG; "" for no picture.
        words: paragraphs below the picture.
        guarantee: paragraphs on what is protected.
        notes: remarks.
    """
    parts = [
        f"<h1>{escape(title)}</h1>",
        *(f'<p class="warning" role="note">{escape(text)}</p>' for text in cautions),
        '<div class="scroll">',
        _table(columns),
        "</div>",
    ]
    if drawing:
        parts.append(
            f'<figure role="img" aria-label="The table above as a picture">{drawing}</figure>'
        )
    parts += [f"<p>{escape(text)}</p>" for text in words]
    if guarantee:
        parts += ["<h2>What is protected, and how well</h2>"]
        parts += [f"<p>{escape(text)}</p>" for text in guarantee]
    if notes:
        parts += ["<h2>Notes</h2>", "<ul>"]
        parts += [f"<li>{escape(note)}</li>" for note in notes]
        parts.append("</ul>")
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        f"<footer>Written by privrank_jax {__version__}, {datetime.date.today()}.</footer>\n</body>\n</html>\n"
    )


def _table(columns: Mapping[str, Sequence[str]]) -> str:
    sides = ["left" if name == "item" else "right" for name in columns]
    head = "".join(
        f'<th scope="col" class="{side}">{escape(name)}</th>' for side, name in zip(sides, columns)
    )
    rows = "\n".join(
        "<tr>"
        + "".join(f'<td class="{side}">{escape(cell)}</td>' for side, cell in zip(sides, cells))
        + "</tr>"
        for cells in zip(*columns.values())
    )
    return f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n</table>"
