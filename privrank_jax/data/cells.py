"""What a cell says where it is no name: a number, a count, a weight, a mark of a tie, a time."""

from __future__ import annotations

import math
import re
from datetime import UTC, datetime
from typing import Any

import numpy as np

from privrank_jax.data.errors import BadCell, quoted

WHOLE = re.compile(r"\+?[0-9]{1,18}(\.0*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?([0-9]{1,18}(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
_SECONDS = re.compile(r"-?\d{1,12}(\.\d{1,9})?", re.ASCII)
_MARKS = {
    **dict.fromkeys(("1", "1.0", "true", "yes"), 1),
    **dict.fromkeys(("", "0", "0.0", "false", "no"), 0),
}
MOST_COUNTED = 2**26  # rows, of some 20 bytes each


def text_of(cell: Any) -> str:
    """A cell as text without outer blanks; "" for a blank.

    Raises:
        BadCell: it is a list.
    """
    if isinstance(cell, tuple):
        raise BadCell("a list, where a single value is expected")
    return (cell or "").strip()


def number_of(text: str) -> float | None:
    """The finite number that a cell holds; None if it holds none.

    >>> number_of(" 1.5"), number_of("1,5"), number_of("1e999")
    (1.5, None, None)
    """
    value = float(text) if _NUMBER.fullmatch(text.strip()) else math.inf
    return value if math.isfinite(value) else None


def mark_of(cell: Any) -> int:
    """Whether a cell marks a tie."""
    found = _MARKS.get(text_of(cell).casefold())
    if found is None:
        raise BadCell(f"{quoted(cell)} does not say whether it is a tie: write 1 or 0 (yes, no)")
    return found


def count_of(cell: Any) -> int:
    """How often a row counts; 0 for a row that does not count."""
    text = text_of(cell)
    number = int(text.partition(".")[0]) if WHOLE.fullmatch(text) else -1
    if not 0 <= number <= MOST_COUNTED:
        raise BadCell(
            f"{quoted(cell)} does not say how often the row counts: write a whole number up to {MOST_COUNTED:,}, 0 for "
            "a row that does not count"
        )
    return number


def weight_of(cell: Any) -> float:
    """The weight of a row, a finite number of at least 0; a row of weight 0 says nothing."""
    number = number_of(text_of(cell))
    if number is None or number < 0:
        raise BadCell(
            f"{quoted(cell)} is no weight: write a number of at least 0, such as 1 divided by the probability of the "
            "row"
        )
    return number


def score_of(cell: Any) -> float:
    """What an item scored."""
    number = number_of(text_of(cell))
    if number is None:
        raise BadCell(f"{quoted(cell)} is no score: write a number, or remove the row")
    return number


def value_of(cell: Any) -> float:
    """A finite number of a covariate."""
    number = number_of(text_of(cell))
    if number is None:
        raise BadCell(f"{quoted(cell)} is not a finite number")
    return number


def time_of(cell: Any) -> np.datetime64:
    """The time of a row."""
    found = parsed_time(text_of(cell))
    if found is None:
        raise BadCell(
            f"{quoted(cell)} is no time: write it as 2024-05-31, 2024-05-31T18:30:00Z, or in seconds since 1970"
        )
    return found


def parsed_time(text: str) -> np.datetime64 | None:
    """The time that a text denotes: ISO 8601, without a zone as UTC, or seconds since 1970; None if it denotes none.

    >>> str(parsed_time("2024-05-31 18:30+02:00")), parsed_time("noon") is None
    ('2024-05-31T16:30:00.000000', True)
    """
    text = text.strip()
    if _SECONDS.fullmatch(text) and not re.fullmatch(r"\d{8}", text):
        return np.datetime64(round(float(text) * 1e6), "us")
    try:
        found = datetime.fromisoformat(text)
        if found.tzinfo is not None:
            found = found.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):  # beyond the calendar
        return None
    return np.datetime64(found, "us")
