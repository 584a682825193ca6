"""Objects of JSON, one per line (JSON Lines) or in one list, as rows of cells.

The keys of the first object, sorted, are the columns; a later object may lack some, whose cells are then blank, but
have no others. Keys are part of a user's answers, as cells are, and no form fixes them: nothing that is published may
depend on them but a list of items, which is then public and said to be. Numbers stay as they are written. A cell that
is used must be text, a number, true, false or null.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from privrank_jax._cells.errors import DataError
from privrank_jax._cells.text_files import File
from privrank_jax.datasets.json_lines import unique

Rows = Callable[[Sequence[str]], Iterator[list[str | None]]]


def read_objects(file: File) -> tuple[list[str], Rows, Callable[[], str]]:
    """Open a file of objects.

    Args:
        file: ends in ``.json`` (a list, or an object per line), ``.jsonl`` or ``.ndjson`` (an object per line).

    Returns:
        The keys of the first object, sorted, none if there is no object; a function from the keys that are used to
        rows of their cells; and a function that names the object last read.

    Raises:
        DataError: it is no JSON, or holds something else than objects; also while rows are read.
    """
    place = _Place(file.name)
    listed = _list_of(file, place)
    first = next(_objects(file, _Place(file.name), listed), {})

    def rows(keys: Sequence[str]) -> Iterator[list[str | None]]:
        known = first.keys()
        for found in _objects(file, place, listed):
            if not found.keys() <= known:
                extra = next(key for key in found if key not in known)
                raise DataError(
                    f"{place}: the key {extra!r} is not in the first object: write every key there, with null where it "
                    "has no value"
                )
            yield [_cell(found.get(key), key, place) for key in keys]

    return sorted(first), rows, lambda: place.where


class _Place:
    """Where in the file one reads."""

    def __init__(self, name: str) -> None:
        self.name, self.where = name, "line 1"

    def __str__(self) -> str:
        return f"{self.name}, {self.where}"


def _objects(file: File, place: _Place, listed: list[Any] | None) -> Iterator[dict[str, Any]]:
    for found in _lines(file, place) if listed is None else _members(listed, place):
        if not isinstance(found, dict):
            raise DataError(f'{place}: each row must be an object, such as {{"user": "u1", ...}}')
        yield found


def _list_of(file: File, place: _Place) -> list[Any] | None:
    """What a file with one list holds; None for a file of lines, which is read as a stream."""
    if file.suffix != ".json":
        return None
    start = next((line.lstrip() for line in file.lines() if line.strip()), "")
    if not start.startswith("["):
        return None
    return _parsed("".join(file.lines()), place)


def _members(listed: list[Any], place: _Place) -> Iterator[Any]:
    for number, found in enumerate(listed, start=1):
        place.where = f"object {number}"
        yield found


def _lines(file: File, place: _Place) -> Iterator[Any]:
    for number, line in enumerate(file.lines(), start=1):
        if line.strip():
            place.where = f"line {number}"
            yield _parsed(line, place)


def _parsed(text: str, place: _Place) -> Any:
    try:
        return json.loads(
            text, parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=unique
        )
    except (ValueError, RecursionError) as error:
        why = "too deep" if isinstance(error, RecursionError) else str(error).partition(":")[0]
        raise DataError(
            f"{place}: not valid JSON ({why}): write one object per line, or one list of objects into a .json file"
        ) from error


def _cell(value: Any, key: str, place: _Place) -> str | None:
    """A value as text; numbers are text already."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    raise DataError(
        f"{place}, key {key!r}: a list or an object, where a name or a number is expected"
    )
