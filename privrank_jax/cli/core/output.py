"""A result of ``privrank rank`` or ``privrank aggregate`` as a table or as JSON."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TypedDict

import numpy as np

from privrank_jax import _interrupt
from privrank_jax.cli.console import Side, drop_output, print_json, print_paragraphs, print_table
from privrank_jax.cli.core.result import Result, Row, Shown, check_finite


class ToldApart(TypedDict):
    """Number of items that can be told apart from the next one."""

    from_next: int
    of: int
    any_two: bool
    words: str


def print_result(
    item_names: Sequence[str],
    result: Result,
    *,
    as_json: bool,
    level: float = 0.95,
    top_k: int | None = None,
    first: Callable[[], None] | None = None,
) -> Shown:
    """Print on stdout what may be published, and nothing else; return what was shown.

    A stdout that takes no more, closed or full, ends the printing and raises nothing: the result may still go to files.

    Args:
        item_names: of all items.
        result: the result.
        as_json: print JSON rather than tables.
        level: confidence level of the intervals.
        top_k: number of items shown; None for all.
        first: what to print before a table.
    """
    check_finite(result)
    rows = _rows(item_names, result, top_k)
    apart = told_apart(result, level, top_k)
    guarantee = None if result.guarantee is None else result.guarantee.as_dict()
    facts = result.diagnostics if apart is None else {**result.diagnostics, "told_apart": apart}
    document = {"ranking": rows, "guarantee": guarantee, "diagnostics": facts}
    cut = None
    with _interrupt.whole("the result was not shown in full", "the result was shown"):
        try:
            if as_json:
                print_json(document)
            else:
                if first is not None:
                    first()
                _print_table(result, rows, level, "" if apart is None else apart["words"])
            sys.stdout.flush()
        except OSError as error:
            drop_output()
            error.filename = "standard output"
            cut = error
    return Shown(result, rows, document, level, cut)


def told_apart(result: Result, level: float, top_k: int | None = None) -> ToldApart | None:
    """How many items of an order can be told apart from the next, for JSON and in words; None where this is unknown.

    Args:
        result: all items in order, and which items are surely better than which.
        level: confidence level.
        top_k: number of items shown; the last of them is compared with the first that is not shown.
    """
    size, better = result.order.size, result.certainty.better
    if better is None or size < 2:
        return None
    first = min(size - 1, top_k or size)
    order = result.order[: first + 1]
    known = int(np.sum(better[order[:-1], order[1:]]))
    sure = f"with {100 * level:g}% confidence, all pairs together"
    if not better.any():
        words = f"no two items can be told apart {sure}: the order shown may be no better than a random one"
    elif known == 0:
        who = "the first item can't" if first == 1 else f"none of the first {first} items can"
        words = (
            f"{who} be told apart from the next one {sure}; only some that lie further apart can"
        )
    elif known < first:
        words = (
            f"only {known} of the first {first} items can be told apart from the next one {sure}"
        )
    else:
        words = ""
    words = words and f"{result.told_by}, {words}."
    return {"from_next": known, "of": first, "any_two": bool(better.any()), "words": words}


def _print_table(result: Result, rows: list[Row], level: float, certainty: str) -> None:
    print_table(result.title, columns_of(result, level), [cells_of(row) for row in rows])
    paragraphs = [certainty] if certainty else []
    if result.certainty.words:
        paragraphs.append(f"Intervals: {result.certainty.words}.")
    paragraphs.append(result.guarantee_in_words)
    paragraphs += [f"- {note}" for note in result.notes]
    print_paragraphs(*paragraphs)


def _rows(item_names: Sequence[str], result: Result, top_k: int | None) -> list[Row]:
    rows: list[Row] = []
    intervals = result.certainty.intervals
    for place, item in enumerate(result.order[:top_k].tolist(), start=1):
        score = None if result.scores is None else float(result.scores[item])
        row: Row = {"rank": place, "item": str(item_names[item]), "score": score}
        if "low" in intervals:
            row["low"], row["high"] = (float(intervals[end][item]) for end in ("low", "high"))
        if "rank_low" in intervals:
            row["rank_low"] = int(intervals["rank_low"][item]) + 1
            row["rank_high"] = int(intervals["rank_high"][item]) + 1
        if "quasi_standard_error" in intervals:
            row["quasi_standard_error"] = float(intervals["quasi_standard_error"][item])
        rows.append(row)
    return rows


def columns_of(result: Result, level: float) -> list[tuple[str, Side]]:
    """Headings of the table of a result, and the side to which each column is aligned."""
    columns: list[tuple[str, Side]] = [("rank", "right"), ("item", "left")]
    if result.scores is not None:
        columns.append((result.score_name, "right"))
    if "low" in result.certainty.intervals:
        columns.append((f"{100 * level:g}% interval", "right"))
    if "rank_low" in result.certainty.intervals:
        columns.append(("rank interval", "right"))
    return columns


def cells_of(row: Row) -> list[str]:
    """One row of that table."""
    cells = [str(row["rank"]), row["item"]]
    if row["score"] is not None:
        cells.append(_number(row["score"]))
    if "low" in row and "high" in row:
        cells.append(f"{_number(row['low'])} to {_number(row['high'])}")
    if "rank_low" in row and "rank_high" in row:
        same = row["rank_low"] == row["rank_high"]
        cells.append(str(row["rank_low"]) if same else f"{row['rank_low']} to {row['rank_high']}")
    return cells


def _number(value: float) -> str:
    """Two decimals, fewer where the number is large.

    >>> _number(0.1234), _number(-1234.56), _number(812.5)
    ('0.12', '-1235', '812.5')
    """
    size = abs(value)
    return f"{value:.2f}" if size < 100 else f"{value:.1f}" if size < 1000 else f"{value:.0f}"
