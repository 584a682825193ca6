"""A result of ``privrank rank`` as a table or as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from privrank_jax import _interrupt
from privrank_jax.cli.console import print_json, print_paragraphs, print_table
from privrank_jax.cli.rank.certainty import told_apart
from privrank_jax.cli.rank.result import Result, check_finite

NOT_PRIVATE = (
    "NOT PRIVATE: no noise was added, and the result can reveal what single users answered. Do not publish "
    "this ranking where the answers must stay confidential."
)


def print_result(
    item_names: Sequence[str],
    result: Result,
    *,
    as_json: bool,
    level: float = 0.95,
    top_k: int | None = None,
) -> None:
    """Print what may be published, and nothing else, on stdout."""
    check_finite(result)
    rows = _rows(item_names, result, top_k)
    apart = told_apart(result, level, top_k)
    with _interrupt.whole("the result was not shown in full", "the result was shown"):
        if as_json:
            guarantee = None if result.guarantee is None else result.guarantee.as_dict()
            facts = (
                result.diagnostics if apart is None else {**result.diagnostics, "told_apart": apart}
            )
            print_json({"ranking": rows, "guarantee": guarantee, "diagnostics": facts})
        else:
            _print_table(result, rows, level, "" if apart is None else apart["words"])


def _print_table(result: Result, rows: list[dict[str, Any]], level: float, certainty: str) -> None:
    columns = [("rank", "right"), ("item", "left")]
    if result.scores is not None:
        columns.append((result.score_name, "right"))
    if "low" in result.intervals:
        columns.append((f"{100 * level:g}% interval", "right"))
    if "rank_low" in result.intervals:
        columns.append(("rank interval", "right"))
    print_table(result.title, columns, [_cells(row) for row in rows])
    paragraphs = [certainty] if certainty else []
    if result.interval_words:
        paragraphs.append(f"Intervals: {result.interval_words}.")
    words = NOT_PRIVATE if result.guarantee is None else result.guarantee.in_words()
    paragraphs.append(words)
    paragraphs += [f"- {note}" for note in result.notes]
    print_paragraphs(*paragraphs)


def _rows(item_names: Sequence[str], result: Result, top_k: int | None) -> list[dict[str, Any]]:
    rows = []
    for place, item in enumerate(result.order[:top_k].tolist(), start=1):
        score = None if result.scores is None else float(result.scores[item])
        row: dict[str, Any] = {"item": item_names[item], "rank": place, "score": score}
        for name in ("low", "high"):
            if name in result.intervals:
                row[name] = float(result.intervals[name][item])
        for name in ("rank_low", "rank_high"):
            if name in result.intervals:
                row[name] = int(result.intervals[name][item]) + 1
        rows.append(row)
    return rows


def _cells(row: dict[str, Any]) -> list[str]:
    cells = [str(row["rank"]), row["item"]]
    if row["score"] is not None:
        cells.append(_number(row["score"]))
    if "low" in row:
        cells.append(f"{_number(row['low'])} to {_number(row['high'])}")
    if "rank_low" in row:
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
