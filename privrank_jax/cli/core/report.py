"""One page of a release for those who will read it: HTML that needs no other file, no network and no script."""

from __future__ import annotations

import datetime
from html import escape

from privrank_jax import __version__
from privrank_jax.cli.core.output import cells_of, columns_of
from privrank_jax.cli.core.result import Result, Shown
from privrank_jax.privacy.guarantee import Guarantee

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
_REHEARSAL = "This is a rehearsal with simulated noise. Do not publish it: who knows the seed can remove the noise."


def page(shown: Shown, line: str, drawing: str) -> str:
    """The page.

    Args:
        shown: the result as it was shown.
        line: the command line.
        drawing: an SVG element that shows the table, or "".
    """
    result = shown.result
    certain = result.certainty.words
    parts = [
        f"<h1>{escape(result.title)}</h1>",
        *(f'<p class="warning" role="note">{escape(text)}</p>' for text in cautions(result)),
        '<div class="scroll">',
        _table(shown),
        "</div>",
    ]
    if drawing:
        parts.append(
            f'<figure role="img" aria-label="The table above as a picture">{drawing}</figure>'
        )
    if certain:
        parts.append(f"<p>The intervals are {escape(certain)}.</p>")
    told = shown.document["diagnostics"]
    if isinstance(told, dict) and told.get("told_apart", {}).get("words"):
        parts.append(f"<p>{escape(told['told_apart']['words'])}</p>")
    if result.guarantee is not None:
        parts += ["<h2>What is protected, and how well</h2>", *_promise(result.guarantee)]
    if result.notes:
        parts += ["<h2>Notes</h2>", "<ul>"]
        parts += [f"<li>{escape(note)}</li>" for note in result.notes]
        parts.append("</ul>")
    parts += ["<h2>How it was made</h2>", *_origin(result, line)]
    body = "\n".join(parts)
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(result.title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n"
        f"<footer>Written by privrank_jax {__version__}, {datetime.date.today()}.</footer>\n</body>\n</html>\n"
    )


def cautions(result: Result) -> list[str]:
    """Why a result is not for publication, in words; empty where it is."""
    if result.guarantee is None:
        return [result.guarantee_in_words]
    return [] if result.diagnostics.get("seed") is None else [_REHEARSAL]


def _table(shown: Shown) -> str:
    columns = columns_of(shown.result, shown.level)
    head = "".join(f'<th scope="col" class="{side}">{escape(name)}</th>' for name, side in columns)
    rows = []
    for row in shown.rows:
        cells = zip(columns, cells_of(row), strict=True)
        line = "".join(f'<td class="{side}">{escape(cell)}</td>' for (_, side), cell in cells)
        rows.append(f"<tr>{line}</tr>")
    return (
        f"<table>\n<thead><tr>{head}</tr></thead>\n<tbody>\n"
        + "\n".join(rows)
        + "\n</tbody>\n</table>"
    )


def _promise(guarantee: Guarantee) -> list[str]:
    """The guarantee in words, then its parts."""
    parts = {
        "Neighbors": f"Data in which {guarantee.difference_in_words}. Any result is about as probable for the one as "
        "for the other.",
        "Trust": _sentence(guarantee.trust_in_words),
        "Noise": _sentence(guarantee.numerics_in_words),
        "Taken as public": _sentence(
            guarantee.public_in_words or "nothing that was read off the answers"
        ),
    }
    entries = "".join(f"<dt>{name}</dt><dd>{escape(text)}</dd>\n" for name, text in parts.items())
    return [f"<p>{escape(guarantee.in_words())}</p>", f"<dl>\n{entries}</dl>"]


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _origin(result: Result, line: str) -> list[str]:
    parts = [f"<p>Command: <code>{escape(line)}</code></p>"]
    if result.guarantee is not None and result.diagnostics.get("seed") is None:
        parts.append("<p>Each run draws new noise and spends the budget again.</p>")
    return parts
