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

SUFFIXES = (".jsonl", ".jsonl.gz")  # of files that are written
_PARQUET = (".parquet", ".pq")
_ROWS = 4096  # that are held at once
_COMPUTED = ("collect", "to_pyarrow", "to_arrow_table")  # polars' lazy frames, Ibis, DuckDB
_TEXTS = (datetime.date, datetime.time, datetime.timedelta, decimal.Decimal)


class Records:
    """The rows of a table as dicts, as often as they are iterated over; a blank line of a file is skipped.

    Args:
        source: a .jsonl, .ndjson, .json or .parquet file, of which text may be compressed (.gz); a frame of pandas,
            polars, Arrow, Ibis or DuckDB; a dict of columns; an iterable of dicts; a data set of Hugging Face.

    Attributes:
        file: that is read; None for a table in memory.
        name: of the file, or of the table, for messages.
        line: number of the line last read, or of the object or row.

    Raises:
        DataError: there is no such file, or it is none of these.

    >>> [one["chosen"] for one in Records({"chosen": ["a", "b"], "rejected": ["b", "a"]})]
    ['a', 'b']
    """

    def __init__(self, source: Any) -> None:
        self.file = File.of(source) if isinstance(source, (str, os.PathLike)) else None
        self.name, self._what = "the table", "row"
        self.line, self._digest = 0, hashlib.sha256()
        if self.file is None:
            self._rows: Callable[[], Iterable[Any]] = _rows_of(source)
            return
        self.name = self.file.name
        kinds = (".jsonl", ".ndjson", ".json", *_PARQUET)
        suffix = self.file.checked(kinds, "give a .jsonl or .jsonl.gz file")
        self._what = "row" if suffix in _PARQUET else "line"
        self._rows = self._objects if suffix == ".json" else self.file.lines
        if suffix in _PARQUET:
            self._rows = functools.partial(_of_parquet, self.file)

    @classmethod
    def of(cls, source: Any) -> Records:
        """The records themselves, or those of a table."""
        return source if isinstance(source, cls) else cls(source)

    def checksum(self) -> str:
        """SHA-256 of the text read so far."""
        return self._digest.hexdigest()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        self.line, self._digest = 0, hashlib.sha256()
        for row in self._rows():
            self.line += 1
            text = row if self._what == "line" else self._written(row)
            self._digest.update(text.encode("utf-8", "surrogatepass"))
            if text.strip():
                yield self._read(text)

    def fault(self, what: str) -> DataError:
        """An error that says where it is."""
        return DataError(f"{self.name}, {self._what} {self.line}: {what}")

    def _written(self, row: Any) -> str:
        try:
            return json.dumps(row, default=_plain)
        except (TypeError, ValueError, RecursionError) as error:
            raise self.fault(str(error)) from None

    def _read(self, text: str) -> dict[str, Any]:
        try:
            found = json.loads(text, object_pairs_hook=unique, parse_constant=self._constant)
        except (ValueError, RecursionError) as error:
            why = str(error).partition(": line 1")[0]
            raise self.fault(f"not JSON ({why}): write one object per line") from error
        if not isinstance(found, dict):
            raise self.fault(f"{type(found).__name__} where an object of named fields is expected")
        return found

    def _constant(self, name: str) -> None:
        """A blank of a frame; what no JSON holds is refused in a text."""
        if name != "NaN" or self._what == "line":
            raise ValueError(f"{name} is no number of JSON")

    def _objects(self) -> list[Any]:
        """The objects of the list that a .json file is, or that is its only value; else its lines."""
        assert self.file is not None
        lines = list(self.file.lines())
        self._what = "line"
        try:
            whole = json.loads(
                "".join(lines), object_pairs_hook=unique, parse_constant=self._constant
            )
        except (ValueError, RecursionError):
            return lines
        self._what = "object"
        return whole if isinstance(whole, list) else only_list(whole) or [whole]


def _of_parquet(file: File) -> Iterator[dict[str, Any]]:
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        need = 'reading Parquet needs an extra: pip install "privrank-jax[tables]"'
        raise DataError(f"{file.name}: {need}") from error
    try:
        with parquet.ParquetFile(file.path) as opened:
            for batch in opened.iter_batches(_ROWS):
                yield from batch.to_pylist()
    except ArrowException as error:
        raise DataError(f"{file.name} cannot be read as Parquet: {error}") from error


def _rows_of(source: Any) -> Callable[[], Iterable[Any]]:
    """What reads the rows of a table in memory, each time from the first one on."""
    if not isinstance(source, Mapping) and callable(getattr(source, "with_format", None)):
        plain = source.with_format(None)  # of Hugging Face: the selected rows, as Python's objects
        return lambda: plain
    for name in _COMPUTED:
        source = getattr(source, name)() if callable(getattr(source, name, None)) else source
    known = getattr(source, "column_names", getattr(source, "columns", None))
    names = source if isinstance(source, Mapping) else known
    if names is not None:
        return lambda: _by_columns(source, list(names))
    try:
        rows = list(source) if iter(source) is source else source  # an iterator is read once
    except TypeError:
        raise DataError(
            f"{quoted(type(source).__name__)} is no table: give a file, a frame of pandas, polars, Arrow, Ibis or "
            "DuckDB, a dict of columns, dicts, or a data set of Hugging Face"
        ) from None
    return lambda: rows


def _by_columns(source: Any, names: list[Any]) -> Iterator[dict[Any, Any]]:
    """Rows of columns; of Arrow and polars a part at a time."""
    parts = callable(getattr(source, "slice", None))
    for start in range(0, len(source) if parts else 1, _ROWS):
        part = source.slice(start, _ROWS) if parts else source
        columns = [_cells(part[name], name) for name in names]
        if len(set(names)) < len(names) or len(set(map(len, columns))) > 1:
            raise DataError("the table: two columns have one name, or different lengths")
        yield from (dict(zip(names, row)) for row in zip(*columns))


def _cells(column: Any, name: Any) -> Any:
    listed = next((one for one in ("to_pylist", "to_list") if hasattr(column, one)), None)
    found = column if listed is None else getattr(column, listed)()
    if isinstance(found, (str, bytes, Mapping)) or not hasattr(found, "__len__"):
        raise DataError(f"the table: column {name!r} is no list of cells")
    return found


def _plain(cell: Any) -> Any:
    """A cell that JSON has no form for, as one that it has."""
    if isinstance(cell, (np.generic, np.ndarray)) and cell.dtype.kind not in "MmSV":
        return cell.tolist()
    text = str(cell)
    if text in ("NaT", "<NA>"):  # blanks of pandas
        return None
    if not isinstance(cell, (*_TEXTS, np.datetime64)):
        raise BadCell(f"a cell holds {type(cell).__name__}: store it as text")
    return text


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of which each field stands there once; ``ValueError`` for any other."""
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the field {twice!r} stands there twice")
    return found


def only_list(found: Any) -> list[Any] | None:
    """The list of objects that is the only value of an object."""
    only = next(iter(found.values())) if isinstance(found, dict) and len(found) == 1 else None
    return only if isinstance(only, list) and only and isinstance(only[0], dict) else None
