"""Refuse files that name two items and, in a third column, which one is preferred, instead of misreading them.

Examples are chatbot battles (``model_a, model_b, winner``) and game results (``home, away, result``). Readers of
comparisons expect the preferred item in one column and the other item in another; if options named such columns, the
outcome would be ignored, or its words would be ranked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from privrank_jax._cells.errors import DataError

WRITE_ITEMS = (
    "write the preferred item into a column `winner` and the other into a column `loser`, and of a tie both items and "
    "a 1 in a column `tie`"
)
_OUTCOMES = {
    "winner", "winners", "whowon", "win", "wins", "won", "win1", "win2", "wina", "winb", "outcome", "outcomes",
    "result", "results", "verdict", "preferred", "preference", "judgment",
}  # fmt: skip
_TWIN = {"a": "b", "b": "a", "1": "2", "2": "1", "left": "right", "right": "left"}
_SIDES = re.compile(r"(left|right)(.+)|(.+)(a|b|1|2|left|right)", re.IGNORECASE | re.DOTALL)


def check_outcomes(name: str, header: Sequence[str], winner: str, loser: str) -> None:
    """Raise :class:`DataError` if a column that says which item is preferred is left out, or read as a column of items.

    Args:
        name: name of the file.
        header: its columns.
        winner: column of preferred items; where it has its usual name, and so has ``loser``, nothing is refused.
        loser: column of the other items.
    """
    chosen = winner, loser
    if chosen == ("winner", "loser"):
        return
    unused = [column for column in header if column not in chosen]
    for column in unused:
        if _word(column) in _OUTCOMES | {f"winner{_word(one)}" for one in chosen}:
            raise DataError(
                f"{name}: column {column!r} looks like the outcome of comparing {winner!r} and {loser!r}, and would "
                f"not be used: {WRITE_ITEMS}. If it is not, remove or rename it"
            )
    for outcome, one in (chosen, chosen[::-1]):
        twin = _twin_in(one, unused)
        if _word(outcome) in _OUTCOMES and twin is not None:
            raise DataError(
                f"{name}: columns {one!r} and {twin!r} look like the two items of a comparison, and {outcome!r} like "
                f"its outcome, not like a column of items: {WRITE_ITEMS}"
            )


def advice_on_outcomes(header: Sequence[str]) -> str:
    """What to do with columns of two items and an outcome, to append to a message; else nothing."""
    for outcome in header:
        pair = next((column for column in header if _twin_in(column, header) is not None), None)
        if _word(outcome) in _OUTCOMES and pair is not None and "loser" not in header:
            return (
                f". If {pair!r} and {_twin_in(pair, header)!r} are the items and {outcome!r} says which is preferred, "
                f"{WRITE_ITEMS}"
            )
    return ""


def _word(column: str) -> str:
    return "".join(c for c in column.casefold() if c.isalnum())


def _twin_in(column: str, others: Collection[str]) -> str | None:
    """``model_b`` for ``model_a``, ``right model`` for ``left model``, where it is there."""
    found = _SIDES.fullmatch(column.lower())
    if found is None:
        return None
    start, rest, body, end = found.groups()
    twin = f"{_TWIN[start]}{rest}" if start else f"{body}{_TWIN[end]}"
    return next((other for other in others if other.lower() == twin), None)
