"""Records of any table, with where each stands: files of JSON and Parquet, frames, columns, lists of dicts.

Each record is read as if it were written as a line of JSON, so that a table gives the same records whatever holds it:
NumPy's numbers and arrays become Python's, dates and decimals text, NaN null.
"""

from __future__ import annotations

import datetime
import decimal
import json
import os
from collections.abc import Iterable, Iterator, Mapping
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


def records_of(source: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a table as dicts, each after its place; a blank line of a file is skipped.

    Args:
        source: a .jsonl, .ndjson, .json or .parquet file, of which text may be compressed (.gz); a frame of pandas,
            polars, Arrow, Ibis or DuckDB; a dict of columns; an iterable of dicts; a data set of Hugging Face.

    Raises:
        DataError: there is no such file, it is none of these, or what is wrong with a row.
    """
    name, kind, file = name_of(source), "", None
    if isinstance(source, (str, os.PathLike)):
        file = File.of(source)
        kind = file.checked((*OBJECTS, *PARQUET), "give a .jsonl file")
    if file and kind in OBJECTS:
        rows = objects_of(file, parse_constant=_no_number)
    else:
        found = _rows_of(source) if file is None else _rows_of_parquet(file)
        rows = ((f"row {k}", row) for k, row in enumerate(found, 1))
    for place, row in rows:
        try:
            if kind not in OBJECTS:
                row = parsed(json.dumps(row, default=_plain), parse_constant=_blank)
            if not isinstance(row, dict):
                raise BadCell(f"{type(row).__name__} where an object of named fields is expected")
        except (TypeError, ValueError, RecursionError) as error:
            raise DataError(f"{name}, {place}: {error}") from None
        yield place, row


def name_of(source: Any) -> str:
    """Name of a file, or of a table in memory, for messages."""
    return File.of(source).name if isinstance(source, (str, os.PathLike)) else "the table"


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


def _rows_of(source: Any) -> Iterable[Any]:
    """The rows of a table in memory."""
    if not isinstance(source, Mapping) and callable(getattr(source, "with_format", None)):
        return source.with_format(None)  # of Hugging Face: the selected rows, as Python's objects
    frame, names = frame_of(source)
    if len(set(names)) < len(names):
        raise DataError("the table: two columns have one name")
    if names:
        return (dict(zip(names, row)) for row in zip(*cells_of(frame, names, "the table")))
    if isinstance(source, Iterable):
        return source
    raise DataError(
        f"{quoted(type(source).__name__)} is no table: give a file, a frame of pandas, polars, Arrow, Ibis or DuckDB, a "
        "dict of columns, dicts, or a data set of Hugging Face"
    )


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
