"""What ``privrank privatize`` prints about the file that it wrote, whatever the file holds."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence

from privrank_jax.cli.console import Side, print_json, print_paragraphs, print_table
from privrank_jax.cli.privatize.request import Request
from privrank_jax.privacy.guarantee import Guarantee

_HELD = (
    "the answers were randomized here, just as each user can do it at home: the guarantee is about what {out} tells, "
    "and whoever holds {data}, which is unchanged, knows the answers"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Summary:
    """A file of randomized answers, in words and numbers.

    Attributes:
        data: name of the original data.
        kind: what one of its names is called, ``"columns"`` or ``"fields"``.
        names: names of the columns or fields.
        most_names: how many of them the table's title shows.
        heading: heading of the table.
        counts: what the file holds; None is left out.
        epsilons: for whom ε is told, and ε.
        guarantee: the guarantee.
        notes: what else to know.
        seed: the seed of a rehearsal.
        follow: what to do with the file.
    """

    data: str
    kind: str = "columns"
    names: Sequence[str]
    most_names: int | None = None
    heading: str = "privatized"
    counts: Mapping[str, int | None]
    epsilons: Sequence[tuple[str, str]]
    guarantee: Guarantee
    notes: Sequence[str]
    seed: int | None
    follow: str


def print_summary(request: Request, summary: Summary) -> None:
    """Print it as a table with the guarantee, or as JSON."""
    counts = {name: count for name, count in summary.counts.items() if count is not None}
    held = _HELD.format(data=summary.data, out=request.out)
    notes, guarantee = [held, *summary.notes], summary.guarantee
    if request.json:
        facts = {"data": summary.data, "ties": request.ties, "seed": summary.seed, "notes": notes}
        print_json(
            {
                "file": str(request.out),
                summary.kind: list(summary.names),
                "counts": counts,
                "guarantee": guarantee.as_dict(),
                "diagnostics": {name: fact for name, fact in facts.items() if fact is not None},
            }
        )
        return
    rows = [(name, f"{count:,}") for name, count in counts.items()] + list(summary.epsilons)
    shown = ", ".join(summary.names[: summary.most_names])
    if summary.most_names is not None and len(summary.names) > summary.most_names:
        shown += ", ..."
    headings: tuple[tuple[str, Side], ...] = ((summary.heading, "left"), ("", "right"))
    print_table(f"{request.out}: {summary.kind} {shown}", headings, rows)
    print_paragraphs(guarantee.in_words(), *(f"- {note}" for note in notes))
    print_paragraphs(summary.follow)


def from_to(low: float, high: float) -> str:
    """A number, or the least and the greatest.

    >>> from_to(1.0, 1.0), from_to(0.5, 2.0)
    ('1', '0.5 to 2')
    """
    return f"{low:g}" if low == high else f"{low:g} to {high:g}"
