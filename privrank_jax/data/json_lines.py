"""Records of any table, one by one, with where each stands: files of JSON and Parquet, frames, columns, lists of dicts.

Each record is read as if it were written as a line of JSON, so that a table gives the same records whatever holds it:
NumPy's numbers and arrays become Python's, dates and decimals text, NaN null.
"""

from __future__ import annotations

import datetime
import decimal
import functools
import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from privrank_jax.data.errors import BadCell, DataError, quoted
from privrank_jax.data.file import File
from privrank_jax.data.table import (
    OBJECTS,
    PARQUET,
    cells_of,
    frame_of,
    objects_of,
    parquet_file,
    parsed,
)

SUFFIXES = (".jsonl", ".jsonl.gz")  # of files that are written
_TEXTS = (datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, np.datetime64)


class Records:
    """The rows of a table as dicts, as often as they are iterated over; a blank line of a file is skipped.

    Args:
        source: a .jsonl, .ndjson, .json or .parquet file, of which text may be compressed (.gz); a frame of pandas,
            polars, Arrow, Ibis or DuckDB; a dict of columns; an iterable of dicts; a data set of Hugging Face.

    Attributes:
        file: that is read; None for a table in memory.
        name: of the file, or of the table, for messages.
        place: of the record last read, such as ``"line 3"``.

    Raises:
        DataError: there is no such file, or it is none of these.

    >>> [one["chosen"] for one in Records({"chosen": ["a", "b"], "rejected": ["b", "a"]})]
    ['a', 'b']
    """

    def __init__(self, source: Any) -> None:
        self.file = File.of(source) if isinstance(source, (str, os.PathLike)) else None
        self.name = "the table" if self.file is None else self.file.name
        self.place, self._digest = "", hashlib.sha256()
        kind = self.file and self.file.checked((*OBJECTS, *PARQUET), "give a .jsonl file")
        self._parsed = kind in OBJECTS
        file: Any = self.file
        rows: Any = _rows_of_parquet if file else _rows_of(source)
        self._rows = functools.partial(objects_of, file, parse_constant=_no_number)
        if not self._parsed:
            self._rows = lambda: ((f"row {k}", row) for k, row in enumerate(rows(file), 1))

    @classmethod
    def of(cls, source: Any) -> Records:
        """The records themselves, or those of a table."""
        return source if isinstance(source, cls) else cls(source)

    def checksum(self) -> str:
        """SHA-256 of what was read so far."""
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self._digest = hashlib.sha256()
        for place, row in self._rows():
            self.place = place
            try:
                text = json.dumps(row, default=_plain)
                self._digest.update(f"{text}\n".encode())
                found = row if self._parsed else parsed(text, parse_constant=_blank)
            except (TypeError, ValueError, RecursionError) as error:
                raise self.fault(str(error)) from None
            if not isinstance(found, dict):
                raise self.fault(
                    f"{type(found).__name__} where an object of named fields is expected"
                )
            yield found

    def fault(self, what: str) -> DataError:
        """An error that says where it is."""
        return DataError(f"{self.name}, {self.place}: {what}")


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is no number of JSON")


def _blank(name: str) -> None:
    """A blank of a frame."""
    if name != "NaN":
        _no_number(name)


def _rows_of_parquet(file: File) -> Iterator[dict[str, Any]]:
    with parquet_file(file) as opened:
        for batch in opened.iter_batches(4096):
            yield from batch.to_pylist()


def _rows_of(source: Any) -> Callable[[Any], Iterable[Any]]:
    """What reads the rows of a table in memory, each time from the first one on."""
    if not isinstance(source, Mapping) and callable(getattr(source, "with_format", None)):
        plain = source.with_format(None)  # of Hugging Face: the selected rows, as Python's objects
        return lambda _: plain
    frame, names = frame_of(source)
    if names:
        if len(set(names)) < len(names):
            raise DataError("the table: two columns have one name")
        return lambda _: (
            dict(zip(names, row)) for row in zip(*cells_of(frame, names, "the table"))
        )
    try:
        rows = list(frame) if iter(frame) is frame else frame  # an iterator is read once
    except TypeError:
        raise DataError(
            f"{quoted(type(source).__name__)} is no table: give a file, a frame of pandas, polars, Arrow, Ibis or "
            "DuckDB, a dict of columns, dicts, or a data set of Hugging Face"
        ) from None
    return lambda _: rows


def _plain(cell: Any) -> Any:
    """A cell that JSON has no form for, as one that it has."""
    if isinstance(cell, (np.generic, np.ndarray)) and cell.dtype.kind not in "MmSV":
        return cell.tolist()
    text = str(cell)
    if text in ("NaT", "<NA>"):  # blanks of pandas
        return None
    if not isinstance(cell, _TEXTS):
        raise BadCell(f"a cell holds {type(cell).__name__}: store it as text")
    return text
