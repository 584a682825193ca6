"""Any file or frame as a :class:`~privrank_jax.data.columns.Table`: opened once, decoded once.

CSV and JSON are read by the standard library: it is there, starts at once, refuses what is no CSV, and names the line.
A large CSV file without quotes, NUL and lone carriage returns, in which all rows have the length of the header, means
the same to PyArrow, which reads it then. Parquet files are read by PyArrow, Excel files by openpyxl, frames by the
methods that they have, so that no package is imported for them.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import datetime
import decimal
import functools
import importlib.util
import io
import json
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np

from privrank_jax.data.columns import Column, Table, Word, encode
from privrank_jax.data.errors import BadCell, DataError, listed, quoted
from privrank_jax.data.file import SEPARATORS, UTF_16, File
from privrank_jax.data.header import Keys
from privrank_jax.data.names import Structure, form

DELIMITERS = {".csv": ",", ".tsv": "\t"}
OBJECTS = (".jsonl", ".ndjson", ".json")
PARQUET = (".parquet", ".pq")
SHEETS = (".xlsx", ".xlsm")
TABLES = (*DELIMITERS, *OBJECTS, *PARQUET, *SHEETS)
_IMPORT_IDS = ('{"ImportId"', "{'ImportId'")  # in the third row of the header of Qualtrics
_LARGE = 2**18  # bytes, from which on PyArrow is worth its import
_COMPUTED = ("collect", "to_pyarrow", "to_arrow_table", "to_arrow")  # lazy polars, DuckDB, polars
_LISTS = ("to_pylist", "to_list", "tolist")  # Arrow, polars and pandas, NumPy
_NO_SCALARS = (bytes, bytearray, set, frozenset)


def open_file(file: File, sheet: str | int | None = None) -> Table:
    """Open a file of rows, in CSV, JSON, Excel or Parquet; of an Excel file one sheet, by name or number from 1."""
    suffix = file.checked(TABLES, "give a .csv, .tsv, .jsonl, .parquet or .xlsx file")
    has = {"separator": DELIMITERS, "encoding": (*DELIMITERS, *OBJECTS), "sheet": SHEETS}
    told = {"separator": file.separator, "encoding": file.encoding, "sheet": sheet}
    for name, value in told.items():
        if value is not None and suffix in TABLES and suffix not in has[name]:
            raise DataError(f"{file.name} has no {name}: leave out {name}={value!r}")
    if suffix in PARQUET:
        return _parquet(file)
    if suffix in OBJECTS:
        numbers = dict.fromkeys(("parse_float", "parse_int", "parse_constant"), str)
        return _objects(file.name, list(objects_of(file, **numbers)))
    return _workbook(file, sheet) if suffix in SHEETS else _csv(file)


def _of_rows(
    name: str, rows: Callable[[], Iterator[list[Any]]], where: Callable[[int], str], *reading: str
) -> Table:
    """A table of rows, of which the first is the header, or the first three where the third is of ids by Qualtrics."""
    first = list(islice(rows(), 3))
    if not first:
        raise DataError(f"{name} is empty: it needs a header row and one row below it each")
    header = [word or "" for word in first[0]]
    below = 3 if len(first) > 2 and str(first[2][0]).startswith(_IMPORT_IDS) else 1
    reading += ("the three rows of a header of Qualtrics are left out",) * (below > 1)

    def columns(names: Sequence[str]) -> list[Column]:
        return encode(islice(rows(), below, None), {one: header.index(one) for one in names})

    return Table(name, header, columns, lambda row: where(row + below), reading)


# --- CSV ----------------------------------------------------------------------------------------------


def _csv(file: File) -> Table:
    separator, reading = _separator(file)
    csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))  # a cell may hold a conversation
    rows = functools.partial(_rows, file, separator)
    where = functools.partial(_line, file, separator)
    table = _of_rows(file.name, rows, lambda row: f"line {where(row)}", *reading)

    def columns(names: Sequence[str]) -> list[Column]:
        if names and _is_simple(file, table.header):
            with contextlib.suppress(ValueError):  # the standard library says what is wrong
                return _by_arrow(file, table.header, separator, names)
        return table.columns(names)

    return dataclasses.replace(table, columns=columns)


def _rows(file: File, separator: str) -> Iterator[list[str]]:
    """Rows as long as the header; wholly empty lines are skipped."""
    reader, width = csv.reader(file.lines(), delimiter=separator, strict=True), 0
    try:
        for row in filter(None, reader):
            width = width or len(row)
            if len(row) != width:
                raise DataError(
                    f"{file.name}, line {reader.line_num}: {len(row)} fields where the header has {width}: put "
                    "names with a separator into double quotes"
                )
            yield row
    except csv.Error as error:
        raise DataError(
            f"{file.name}, line {reader.line_num}: not valid CSV ({error}): check the double quotes"
        ) from error


def _line(file: File, separator: str, row: int) -> int:
    """The line in which a row ends, of which that of the header is 0."""
    reader = csv.reader(file.lines(), delimiter=separator, strict=True)
    next(islice(filter(None, reader), row, None))
    return reader.line_num


def _is_simple(file: File, header: Sequence[str]) -> bool:
    """Whether a text is large, has nothing that PyArrow might read in another way, and PyArrow is there."""
    content = file.content  # that is UTF-8 without NUL, as its header was read
    odd = b'"' in content or b"ImportId" in content or content.count(b"\r") > content.count(b"\r\n")
    odd = odd or file.encoding not in (None, "utf-8") or content.startswith(UTF_16)
    odd = odd or len(set(header)) < len(header) or len(content) < _LARGE
    return not odd and importlib.util.find_spec("pyarrow") is not None


def _by_arrow(file: File, header: list[str], separator: str, names: Sequence[str]) -> list[Column]:
    """Columns of a simple text, by PyArrow, which refuses rows of another length than the header."""
    import pyarrow
    from pyarrow import csv

    types = dict.fromkeys(names, pyarrow.string())
    found = csv.read_csv(
        pyarrow.BufferReader(file.content),
        csv.ReadOptions(column_names=header, skip_rows=_line(file, separator, 0)),
        csv.ParseOptions(delimiter=separator, quote_char=False),
        csv.ConvertOptions(include_columns=list(names), column_types=types),
    )
    return [of_arrow(name, found.column(name), file.name) for name in names]


def _separator(file: File) -> tuple[str, tuple[str, ...]]:
    """What separates the cells: what was said, else the sign of the suffix, or the only other one that the header has.

    Beside it stands a sentence where the header said so.
    """
    usual = DELIMITERS.get(file.suffix, ",")
    header = next(filter(str.strip, file.lines()), "")
    others = [name for name in ("comma", "semicolon", "tab") if SEPARATORS[name] in header]
    if file.separator or usual in header or not others:
        return file.separator or usual, ()
    if len(others) > 1:
        raise DataError(
            f"{file.name}: which of {' and '.join(others)} separates its cells is unclear: say separator={others[0]!r}"
        )
    return SEPARATORS[others[0]], (f"cells are separated by {others[0]}s, as its header shows",)


# --- Parquet and Arrow --------------------------------------------------------------------------------


def of_arrow(name: str, cells: Any, of: str) -> Column:
    """A column of Arrow's as codes and words."""
    import pyarrow

    if pyarrow.types.is_nested(cells.type) or pyarrow.types.is_binary(cells.type):
        found = enumerate(cells.to_pylist(), start=1)
        words = ((word_of(cell, f"{of}, column {name!r}, row {row}"),) for row, cell in found)
        return encode(words, {name: 0})[0]
    coded = cells.combine_chunks() if isinstance(cells, pyarrow.ChunkedArray) else cells
    if pyarrow.types.is_dictionary(coded.type) and coded.indices.null_count:
        coded = coded.dictionary_decode()
    if not pyarrow.types.is_dictionary(coded.type):
        coded = coded.dictionary_encode(null_encoding="encode")
    try:
        words = coded.dictionary.to_pylist()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{of}: column {name!r} has cells that are not UTF-8: write the file again"
        ) from error
    if not pyarrow.types.is_string(coded.dictionary.type):
        words = [word_of(cell, f"{of}, column {name!r}") for cell in words]
    codes = np.from_dlpack(coded.indices)  # to_numpy would import pandas
    return Column(name, codes.astype(np.int32), words)


@contextlib.contextmanager
def parquet_file(file: File) -> Iterator[Any]:
    """A Parquet file as PyArrow opens it; what it raises becomes :class:`DataError`."""
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise DataError(
            f'{file.name}: reading Parquet needs PyArrow: pip install "privrank-jax[tables]"'
        ) from error
    try:
        plain = file.path.suffix.lower() in PARQUET
        with parquet.ParquetFile(file.path if plain else io.BytesIO(file.content)) as opened:
            yield opened
    except (ArrowException, OSError, UnicodeError) as error:
        why = str(error).partition("\n")[0]
        raise DataError(
            f"{file.name} is not a Parquet file that PyArrow can read ({why})"
        ) from error


def _parquet(file: File) -> Table:
    with parquet_file(file) as opened:
        header = list(opened.schema_arrow.names)
    if twice := next((name for name in header if header.count(name) > 1), None):
        raise DataError(f"{file.name}: two columns are named {twice!r}: rename one")

    def columns(names: Sequence[str]) -> list[Column]:
        with parquet_file(file) as opened:
            found = opened.read(columns=list(names))
        return [of_arrow(name, found.column(name), file.name) for name in names]

    return Table(file.name, header, columns, lambda row: f"row {row + 1}")


# --- JSON ---------------------------------------------------------------------------------------------


def _objects(name: str, rows: Sequence[tuple[str, Any]]) -> Table:
    """Objects, each after its place.

    The keys of all objects, sorted, are the columns; an object may lack some, whose cells are then None. Keys are part
    of a user's answers, as cells are, and no form fixes them: nothing that is published may depend on them but a list
    of items, which is then public and said to be. Numbers stay as they are written, and null is an empty text.
    """
    keys = set[str]()
    for place, found in rows:
        if not isinstance(found, Mapping) or not all(isinstance(key, str) for key in found):
            raise DataError(f"{name}, {place}: each row must be an object whose keys are texts")
        keys |= found.keys()
    if not keys:
        raise DataError(f"{name} is empty: it needs one JSON object per row")
    header, known = Keys(sorted(keys)), dict[str, str]()
    for key in header:
        if (twin := known.setdefault(re.sub(r"[\s_-]", "", form(key)), key)) != key:
            raise DataError(
                f"{name}: the keys {twin!r} and {key!r} differ only by case, blanks, _ or -: spell them one way"
            )

    def columns(names: Sequence[str]) -> list[Column]:
        def word(found: Mapping[str, Any], key: str, place: str) -> Word:
            if found.get(key) is None:
                return "" if key in found else None
            return word_of(found[key], f"{name}, {place}")

        cells = ([word(found, key, place) for key in names] for place, found in rows)
        return encode(cells, {key: k for k, key in enumerate(names)})

    return Table(name, header, columns, lambda row: rows[row][0], form=False)


def objects_of(file: File, **numbers: Any) -> Iterator[tuple[str, Any]]:
    """What each line of JSON holds, or the list that a .json file is, with places; numbers as by :func:`json.loads`."""
    lines, place = list(file.lines()), file.name
    try:
        if file.suffix == ".json" and (whole := "".join(lines)).lstrip().startswith("["):
            rows = enumerate(parsed(whole, **numbers), start=1)
            yield from ((f"object {number}", one) for number, one in rows)
            return
        for number, line in enumerate(lines, start=1):
            place = f"{file.name}, line {number}"
            if line.strip():
                yield f"line {number}", parsed(line, **numbers)
    except (ValueError, RecursionError) as error:
        why = "too deep" if isinstance(error, RecursionError) else str(error).partition(":")[0]
        raise DataError(
            f"{place}: not valid JSON ({why}): write one object per line, or one list of objects into a .json file"
        ) from error


def parsed(text: str, **numbers: Any) -> Any:
    """What a text in JSON holds; ``ValueError`` where a key of an object stands there twice."""

    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = Counter(key for key, _ in pairs).most_common(1)[0][0]
            raise ValueError(f"the field {twice!r} stands there twice")
        return found

    return json.loads(text, object_pairs_hook=unique, **numbers)


# --- Excel --------------------------------------------------------------------------------------------


def _workbook(file: File, wanted: str | int | None) -> Table:
    """A sheet of a workbook: numbers as Python writes them, dates as ISO 8601, formulas by the values saved."""
    try:
        import openpyxl
    except ImportError as error:
        raise DataError(
            f'{file.name}: reading Excel files needs openpyxl: pip install "privrank-jax[excel]", or save it as CSV'
        ) from error
    content, reading = io.BytesIO(file.content), ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on styles
            load = functools.partial(openpyxl.load_workbook, content, read_only=True)
            books = [load(data_only=values) for values in (True, False)]
            titles = [one.title for one in books[0].worksheets]
            found = (k for k, one in enumerate(titles) if wanted in (None, one, k + 1, str(k + 1)))
            if (at := next(found, None)) is None:
                raise DataError(f"{file.name}: no sheet {wanted!r}; there are {listed(titles)}")
            sheets = [book.worksheets[at] for book in books]
            for sheet in sheets:
                sheet.reset_dimensions()  # some programs write wrong ones
            values, formulas = ([*sheet.iter_rows(values_only=True)] for sheet in sheets)
    except DataError:
        raise
    except Exception as error:  # of zipfile, XML, or openpyxl's own
        raise DataError(
            f"{file.name}: not an Excel workbook that openpyxl can read: save the sheet as CSV"
        ) from error
    if len(titles) > 1:
        reading = (f"of its sheets, {listed(titles)}, only {titles[at]!r} is read",)
    rows = [
        (number, row)
        for number, cells in enumerate(zip(values, formulas), start=1)
        if (row := _sheet_row(*cells, f"{file.name}, row {number}"))
    ]
    width = len(rows[0][1]) if rows else 0
    for number, row in rows:
        if len(row) > width:
            raise DataError(
                f"{file.name}, row {number}: a cell beyond the header: remove it, or name its column in the first row"
            )
        row += [None] * (width - len(row))
    words = lambda: (row for _, row in rows)  # noqa: E731
    return _of_rows(file.name, words, lambda row: f"row {rows[row][0]}", *reading)


def _sheet_row(values: Sequence[Any], formulas: Sequence[Any], place: str) -> list[Word]:
    """The cells of a row as text, without blanks at its end."""
    found = []
    for value, formula in zip(values, formulas):
        if value is None and formula is not None:
            raise DataError(
                f"{place}: no value was saved of the formula {formula!r}: open and save the file in Excel"
            )
        if isinstance(value, datetime.datetime) and value.time() == datetime.time():
            value = value.date()
        found.append(word_of(value, place))
        if value in _ERRORS:
            raise DataError(f"{place}: a cell shows the error {value} of Excel: mend or empty it")
    while found and not found[-1]:
        found.pop()
    return found


_ERRORS = ("#NULL!", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#N/A")


# --- frames -------------------------------------------------------------------------------------------


def open_frame(data: Any, name: str = "the table") -> Table:
    """Open a mapping from names to cells, dicts in a list, or a frame as :func:`frame_of` takes it."""
    if isinstance(data, list | tuple) and data and isinstance(data[0], Mapping):
        return _objects(name, [(f"row {k}", row) for k, row in enumerate(data, start=1)])
    frame, names = frame_of(data)
    if not names:
        raise DataError(
            f"{name} is a {type(data).__name__}, not a table with columns: give a file, a dict of columns, or a frame"
        )
    for column in names:
        if not isinstance(column, str):
            raise DataError(f"{name}: a column is named {column!r}: name columns by text")

    def columns(wanted: Sequence[str]) -> list[Column]:
        if type(frame).__module__.split(".")[0] == "pyarrow":
            return [of_arrow(one, frame.column(one), name) for one in wanted]
        found = []
        for one, cells in zip(wanted, cells_of(frame, wanted, name)):
            if not all(type(cell) is str for cell in cells):
                cells = [word_of(cell, f"{name}, row {k}") for k, cell in enumerate(cells, start=1)]
            found += encode(zip(cells), {one: 0})
        return found

    return Table(name, names, columns, lambda row: f"row {row + 1}")


def frame_of(source: Any) -> tuple[Any, list[Any]]:
    """A frame, computed where it is lazy, and the names of its columns, whose ``frame[name]`` is or becomes a list."""
    if isinstance(source, Mapping):
        return source, list(source)
    for name in _COMPUTED:
        source = getattr(source, name)() if callable(getattr(source, name, None)) else source
    names = getattr(source, "column_names", getattr(source, "columns", None))
    return source, [] if names is None else list(names)


def cells_of(frame: Any, names: Sequence[Any], of: str) -> list[list[Any]]:
    """The cells of some columns of a frame."""
    columns = []
    for name in names:
        found = frame[name]
        dtype = getattr(found, "dtype", None)
        if isinstance(dtype, np.dtype) and dtype.kind == "M":  # whose lists are numbers
            found = list(np.asarray(found, "datetime64[us]"))
        known = next((one for one in _LISTS if callable(getattr(found, one, None))), None)
        cells = found if known is None else getattr(found, known)()
        if isinstance(cells, (str, Mapping, *_NO_SCALARS)) or not hasattr(cells, "__len__"):
            raise DataError(f"{of}: column {name!r} is no list of cells")
        columns.append(list(cells))
    if len(set(map(len, columns))) > 1:
        raise DataError(f"{of}: its columns have different lengths")
    return columns


def word_of(cell: Any, place: str) -> Word:
    """A cell in memory as the text that a file would have, a tuple of texts if it is a list; None for a blank.

    A structure is its JSON, which names nothing. Bytes and sets are refused at this ``place``.
    """
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if getattr(cell, "ndim", 0) == 1:
        cell = cell.tolist()
    parts = cell if isinstance(cell, list | tuple) else ()
    if isinstance(cell, Mapping) or any(isinstance(one, list | tuple | Mapping) for one in parts):
        return Structure(json.dumps(cell, ensure_ascii=False, default=str))
    if isinstance(cell, list | tuple):
        return tuple(word_of(one, place) for one in cell)  # type: ignore[misc]
    if isinstance(cell, _NO_SCALARS) or getattr(cell, "ndim", 0):
        raise DataError(
            f"{place}: a cell is a {type(cell).__name__}, where a name or a number is expected"
        )
    text = str(cell)
    return None if text in ("nan", "NaT", "<NA>") else text  # blanks of pandas


# --- records of any table -----------------------------------------------------------------------------

_TEXTS = (datetime.date, datetime.time, datetime.timedelta, decimal.Decimal, np.datetime64)


def records_of(source: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """The rows of a table as dicts, each after its place; a blank line of a file is skipped.

    Each is read as if it were written as a line of JSON, so that a table gives the same records whatever holds it:
    NumPy's numbers and arrays become Python's, dates and decimals text, NaN null.

    Args:
        source: a .jsonl, .ndjson, .json or .parquet file, of which text may be compressed (.gz); a frame of pandas,
            polars, Arrow, Ibis or DuckDB; a dict of columns; an iterable of dicts; a data set of Hugging Face.

    Raises:
        DataError: there is no such file, it is none of these, or what is wrong with a row.
    """
    name, kind, file = name_of(source), "", None
    if isinstance(source, str | os.PathLike):
        file = File.of(source)
        kind = file.checked((*OBJECTS, *PARQUET), "give a .jsonl or .parquet file")
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
    return File.of(source).name if isinstance(source, str | os.PathLike) else "the table"


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
        f"{quoted(type(source).__name__)} is no table: give a file, a frame, a dict of columns, or dicts"
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
