"""What a cell says where it is no name: a number, a count, a rank, a rating, a mark, a time."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np

from privrank_jax.data.errors import BadCell, DataError, quoted
from privrank_jax.data.names import MISSING, place_of

_WHOLE = re.compile(r"\+?[0-9]{1,18}(\.0*)?", re.ASCII)
_NUMBER = re.compile(r"[+-]?([0-9]{1,18}(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
_SECONDS = re.compile(r"-?\d{1,12}(\.\d{1,9})?", re.ASCII)
MOST_COUNTED = 2**26  # rows, of some 20 bytes each while they are added up
_YES = "1 1.0 true t yes y x ✓ ✔ ☑ approve approved approves"
_NO = "0 0.0 false f no n ✗ ✘ ☐ disapprove disapproved"
_MARKS = {**dict.fromkeys(_YES.split(), 1), **dict.fromkeys(["", "not approved", *_NO.split()], 0)}


def text_of(cell: Any) -> str:
    """A cell as text without outer blanks, "" for a blank; :class:`BadCell` for a list."""
    if isinstance(cell, tuple):
        raise BadCell("a list, where a single value is expected")
    return (cell or "").strip()


def number_of(text: str) -> float | None:
    """The finite number that a cell holds; None if it holds none."""
    value = float(text) if _NUMBER.fullmatch(text.strip()) else math.inf
    return value if math.isfinite(value) else None


def reader_of(what: str, fits: Callable[[float], bool] = lambda _: True) -> Callable[[Any], float]:
    """What reads the numbers that fit a role; ``what`` says in messages which these are."""

    def read(cell: Any) -> float:
        number = number_of(text_of(cell))
        if number is None or not fits(number):
            raise BadCell(f"{quoted(cell)} is not {what}; decimals have a point, as in 1.5")
        return number

    return read


weight_of = reader_of("a weight: write a number of at least 0", lambda number: number >= 0)
score_of = reader_of("a score: write a number, or remove the row")
value_of = reader_of("a finite number: write one")


def count_of(cell: Any) -> int:
    """How often a row counts; 0 for a row that does not count."""
    text = text_of(cell)
    number = int(text.partition(".")[0]) if _WHOLE.fullmatch(text) else -1
    if not 0 <= number <= MOST_COUNTED:
        raise BadCell(
            f"{quoted(cell)} does not say how often the row counts: write a whole number up to {MOST_COUNTED:,}"
        )
    return number


def mark_of(cell: Any, what: str = "it is a tie") -> int:
    """Whether a cell says yes: 1, yes, true, x; or no: 0, no, false, blank."""
    found = _MARKS.get(text_of(cell).casefold())
    if found is None:
        raise BadCell(f"{quoted(cell)} does not say whether {what}: write 1 or 0 (yes, no)")
    return found


def is_nothing(cell: Any) -> bool:
    """Whether a cell of numbers holds none: a blank, or a mark of a missing value."""
    text = text_of(cell)
    return not text or text.casefold() in MISSING


def approval_of(cell: Any) -> float:
    """1 where a cell says that the user approves of the item, 0 where it says no, or nothing."""
    return 0.0 if is_nothing(cell) else mark_of(cell, "the user approves")


def rank_of(cell: Any, most: int | None = None) -> int:
    """The rank, from 0, that a cell such as ``"2"`` or ``"2nd choice"`` holds; -1 for none; ``most`` is the largest."""
    if is_nothing(cell):
        return -1
    text = text_of(cell)
    value = int(text.partition(".")[0]) if _WHOLE.fullmatch(text) else place_of(text) or 0
    if not 1 <= value < (2**31 if most is None else most + 1):
        of = "" if most is None else f", of {most} items"
        raise BadCell(
            f"{quoted(cell)} is not a rank, 1 = best{of}: say blank=[{quoted(text)}] if the item was not ranked, "
            "ratings='1:5' if 1 to 5 is a scale of ratings, ranks=True if ranks are larger, or name an `order`"
        )
    return value - 1


def parsed_time(text: str) -> np.datetime64 | None:
    """The time that a text denotes: ISO 8601, without a zone as UTC, or seconds since 1970; None if it denotes none."""
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


def time_of(cell: Any) -> np.datetime64:
    """The time of a row."""
    found = parsed_time(text_of(cell))
    if found is None:
        raise BadCell(
            f"{quoted(cell)} is no time: write it as 2024-05-31T18:30:00Z, or in seconds since 1970"
        )
    return found


def scale_of(said: Any) -> tuple[str, ...] | tuple[float, float]:
    """The public scale of ratings, from the worst to the best: words, or the ends of numbers.

    It is said by ``"1:5"``, ``"5:1"`` (1 is the best), ``"bad,fair,good"``, or two numbers or several words.
    """
    parts = list(said) if isinstance(said, list | tuple) else []
    if isinstance(said, str):
        ends = [number_of(end) for end in said.split(":")]
        parts = ends if len(ends) == 2 else said.split(",")
    numbers = [float(one) for one in parts if isinstance(one, (int, float)) and math.isfinite(one)]
    if len(parts) == len(numbers) == 2 and numbers[0] != numbers[1]:
        return numbers[0], numbers[1]
    words = tuple(one.strip() for one in parts if isinstance(one, str) and one.strip())
    if len({word.casefold() for word in words}) < max(len(parts), 2):
        raise DataError(
            f"ratings={said!r} is no scale: give its ends, the worst first, as '1:5', or its words, as 'bad,fair,good'"
        )
    return words


def rating_reader(scale: tuple[Any, ...]) -> Callable[[Any], float]:
    """What reads ratings on a scale: the larger the better; NaN for none."""
    verbal = isinstance(scale[0], str)
    places = {word.casefold(): float(k) for k, word in enumerate(scale)} if verbal else {}
    low, high = (0, 0) if verbal else sorted(scale)
    known = f"one of {', '.join(scale)}" if verbal else f"from {low:g} to {high:g}"

    def read(cell: Any) -> float:
        text = text_of(cell)
        number = None if verbal else number_of(text)
        if number is not None and low <= number <= high:
            return number if scale[0] < scale[1] else -number
        place = places.get(" ".join(text.casefold().split()))
        if place is None and not is_nothing(cell):
            raise BadCell(
                f"{quoted(cell)} is not a rating {known}: say blank=[{quoted(text)}] if it means that none was given"
            )
        return math.nan if place is None else place

    return read
