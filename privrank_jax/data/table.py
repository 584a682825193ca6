"""Any file or frame as a :class:`~privrank_jax.data.columns.Table`: opened once, decoded once.

CSV and JSON are read by the standard library: it is there, starts at once, refuses what is no CSV, and names the line.
A large CSV file without quotes, NUL and lone carriage returns, in which all rows have the length of the header, means
the same to PyArrow, which reads it then. Parquet files are read by PyArrow, Excel files by openpyxl, frames by the
methods that they have, so that no package is imported for them.
"""

from __future__ import annotations

import csv
import datetime
import importlib.util
import io
import itertools
import json
import re
import warnings
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from privrank_jax.data.columns import Column, Table, Word, encode
from privrank_jax.data.errors import DataError
from privrank_jax.data.file import SEPARATORS, File, Origin
from privrank_jax.data.header import Keys
from privrank_jax.data.json_lines import only_list, unique
from privrank_jax.data.names import Structure

DELIMITERS = {".csv": ",", ".tsv": "\t"}
OBJECTS = (".jsonl", ".ndjson", ".json")
PARQUET = (".parquet", ".pq")
SHEETS = (".xlsx", ".xlsm")
TABLES = (*DELIMITERS, *OBJECTS, *PARQUET, *SHEETS)
_NAMES = {sign: name for name, sign in SEPARATORS.items() if name.isalpha()}
_IMPORT_IDS = ('{"ImportId"', "{'ImportId'")  # in the third row of the header of Qualtrics
_LARGE = 2**18  # bytes, from which on PyArrow is worth its import
_HEAD = 64  # lines in which the header of a CSV file ends
_CHUNK = 4096  # rows that are checked together
_LINE_ENDS = re.compile(r"\r\n|\r|\n")
_COMPUTED = ("collect", "to_pyarrow", "to_arrow_table")  # polars' lazy frames, DuckDB
_LISTS = ("to_pylist", "to_list", "tolist")  # Arrow, polars and pandas, NumPy
_NO_SCALARS = (bytes, bytearray, Mapping, set, frozenset)


def open_file(file: File, sheet: str | int | None = None) -> Table:
    """Open a file of rows.

    Args:
        file: ends in a suffix of CSV, JSON, Excel or Parquet, or has a separator.
        sheet: of an Excel file, by name or number from 1; None: the first.

    Raises:
        DataError: it cannot be read, or has none of these formats.
    """
    suffix = file.checked(TABLES, "give a .csv, .tsv, .jsonl, .parquet or .xlsx file")
    for name, value, lacking in (
        ("separator", file.separator, (*PARQUET, *OBJECTS, *SHEETS)),
        ("encoding", file.encoding, (*PARQUET, *SHEETS)),
        ("sheet", sheet, (*DELIMITERS, *PARQUET, *OBJECTS)),
    ):
        if value is not None and suffix in lacking:
            raise DataError(f"{file.name} has no {name}: leave out {name}={value!r}")
    if suffix in PARQUET:
        return _parquet(file)
    if suffix in OBJECTS:
        return _objects(file)
    return _workbook(file, sheet) if suffix in SHEETS else _csv(file)


# --- CSV ----------------------------------------------------------------------------------------------


def _csv(file: File) -> Table:
    lines = file.lines()
    head = list(itertools.islice(lines, _HEAD))
    separator, reading = _separator(file, head)
    reader = csv.reader(itertools.chain(head, lines), delimiter=separator, strict=True)
    csv.field_size_limit(max(csv.field_size_limit(), 2**31 - 1))  # a cell may hold a conversation
    numbers = _Numbers()
    chunks = _csv_chunks(file.name, reader, numbers)
    first = next(chunks, [])
    if not first:
        raise DataError(f"{file.name} is empty: it needs a header row and one row below it each")
    header, below = first[0], _rows_of_header(first)
    reading = (*file.reading, *reading, *((_QUALTRICS,) * (below > 1)))
    simple = below == 1 and _is_simple(file, header)

    def rows() -> Iterator[list[str]]:
        yield from first[below:]
        for chunk in chunks:
            yield from chunk

    def columns(names: Sequence[str]) -> list[Column]:
        nonlocal simple
        if simple and names:
            try:
                return _by_arrow(file, header, separator, names)
            except ValueError:  # of PyArrow; the standard library says what is wrong, and where
                simple = False
        return _selecting(header, rows())(names)

    def where(row: int) -> str:
        return f"line {_line(file.content, row + 1) if simple else numbers.line(row + below)}"

    return Table(file.name, header, columns, where, reading)


_QUALTRICS = "the three rows of a header of Qualtrics are left out"


def _rows_of_header(rows: Sequence[Sequence[Word]]) -> int:
    """How many rows the header has: three where the third one is of ids by Qualtrics, else one."""
    third = rows[2] if len(rows) > 2 else ()
    return 3 if third and isinstance(third[0], str) and third[0].startswith(_IMPORT_IDS) else 1


def _is_simple(file: File, header: Sequence[str]) -> bool:
    """Whether a text is large, has nothing that PyArrow might read in another way, and PyArrow is there."""
    if file.encoding not in (None, "utf-8") or len(set(header)) < len(header):
        return False
    content = file.content
    lone = b"\r" in content and content.count(b"\r") > content.count(b"\r\n")
    if not content.isascii():
        try:
            content.decode()
        except UnicodeDecodeError:
            return False
    odd = lone or content.startswith(_MARKS) or b'"' in content or b"\0" in content
    return len(content) >= _LARGE and not odd and importlib.util.find_spec("pyarrow") is not None


def _by_arrow(file: File, header: list[str], separator: str, names: Sequence[str]) -> list[Column]:
    """Columns of a simple text, by PyArrow, which refuses rows of another length than the header."""
    import pyarrow
    from pyarrow import csv

    found = csv.read_csv(
        pyarrow.BufferReader(file.content),
        csv.ReadOptions(column_names=header, skip_rows=_before(file.content)),
        csv.ParseOptions(delimiter=separator, quote_char=False),
        csv.ConvertOptions(
            include_columns=list(names), column_types=dict.fromkeys(names, pyarrow.string())
        ),
    )
    return [of_arrow(name, found.column(name), file.name) for name in names]


_MARKS = (b"\xff\xfe", b"\xfe\xff")


def _before(content: bytes) -> int:
    """Number of lines up to the header, which is the first that is not empty."""
    lines = enumerate(io.BytesIO(content), start=1)
    return next((number for number, line in lines if line.strip(b"\r\n\xef\xbb\xbf")), 1)


def _line(content: bytes, row: int) -> int:
    """The number of the line of a row, from 0, of those that are not empty."""
    lines = (
        number for number, line in enumerate(io.BytesIO(content), start=1) if line.strip(b"\r\n")
    )
    return next(itertools.islice(lines, row, None))


def of_arrow(name: str, cells: Any, of: str) -> Column:
    """A column of Arrow's as codes and words."""
    import pyarrow

    nested = pyarrow.types.is_nested(cells.type) or pyarrow.types.is_binary(cells.type)
    if nested:
        words = (
            (word_of(cell, f"{of}, row {row}"),)
            for row, cell in enumerate(cells.to_pylist(), start=1)
        )
        return encode(words, {name: 0})[0]
    coded = cells.combine_chunks() if isinstance(cells, pyarrow.ChunkedArray) else cells
    if not pyarrow.types.is_dictionary(coded.type):
        coded = coded.dictionary_encode(null_encoding="encode")
    codes = coded.indices.to_numpy(zero_copy_only=False)
    try:
        words = coded.dictionary.to_pylist()
    except UnicodeDecodeError as error:
        raise DataError(
            f"{of}: column {name!r} has cells that are not UTF-8: write the file again"
        ) from error
    if not pyarrow.types.is_string(coded.dictionary.type):
        words = [word_of(cell, f"{of}, column {name!r}") for cell in words]
    if coded.indices.null_count:
        codes = np.where(np.isnan(codes), len(words), codes)
        words.append(None)
    return Column(name, codes.astype(np.int32), words)


def _parquet(file: File) -> Table:
    """A Parquet file by PyArrow."""
    if file.piped or file.compression:
        how = "write it to a file and name that" if file.piped else "decompress it first"
        raise DataError(
            f"{file.name}: Parquet is read from a file as it is, neither compressed again nor piped: {how}"
        )
    try:
        from pyarrow import ArrowException, parquet
    except ImportError as error:
        raise DataError(
            f'{file.name}: reading Parquet needs PyArrow: pip install "privrank-jax[tables]"'
        ) from error

    def read(names: Sequence[str]) -> Any:
        try:
            return parquet.ParquetFile(file.path).read(columns=list(names))
        except (ArrowException, OSError, UnicodeError) as error:
            why = str(error).splitlines()[0] if str(error) else "unknown"
            raise DataError(
                f"{file.name} is not a Parquet file that PyArrow can read ({why}): write it again, or give a .csv file"
            ) from error

    try:
        header = list(parquet.read_schema(file.path).names)
    except (ArrowException, OSError, UnicodeError):
        read(())
        raise
    if twice := next((name for name in header if header.count(name) > 1), None):
        raise DataError(f"{file.name}: two columns are named {twice!r}: rename one")
    origin = Origin(file)

    def columns(names: Sequence[str]) -> list[Column]:
        found = read(names)
        origin.check_unchanged()
        return [of_arrow(name, found.column(name), file.name) for name in names]

    return Table(file.name, header, columns, lambda row: f"row {row + 1}")


def _separator(file: File, head: list[str]) -> tuple[str, tuple[str, ...]]:
    """What separates the cells, and a sentence where the header said so.

    It is what was said, else the separator of the suffix if the header has it, else the only other one that it has.
    """
    usual = DELIMITERS.get(file.suffix, ",")
    if file.separator is not None:
        return file.separator, ()

    def splits(sign: str) -> bool:
        try:
            rows = csv.reader(head, delimiter=sign, strict=True)
            return len(next((row for row in rows if row), [])) > 1
        except csv.Error:
            return False

    found = [sign for sign in (usual, *(set(",;\t") - {usual})) if splits(sign)]
    if not found or found[0] == usual:
        return usual, ()
    if len(found) > 1:
        raise DataError(
            f"{file.name}: its header has {' and '.join(sorted(_NAMES[sign] for sign in found))} characters, and it "
            f"is unclear which separate cells: say so, such as separator={_NAMES[found[0]]!r}"
        )
    return found[0], (f"cells are separated by {_NAMES[found[0]]}s, as its header shows",)


class _Numbers:
    """Numbers of lines by rows: chunks in which each row is a line, and the lines of all rows in others."""

    def __init__(self) -> None:
        self._chunks: list[tuple[int, int, list[int]]] = []
        self._rows = 0

    def add(self, begin: int, end: int, raw: list[list[str]], kept: int) -> None:
        """Note a chunk whose rows stand between two lines, of which the first is not in it."""
        exact: list[int] = []
        if end - begin != kept:
            line = begin
            for row in raw:
                line += 1 + sum(len(_LINE_ENDS.findall(cell)) for cell in row)
                exact += [line] if row else []
        self._chunks.append((self._rows, begin, exact))
        self._rows += kept

    def line(self, row: int) -> int:
        """The number of the line in which a row ends."""
        start, begin, exact = next(one for one in reversed(self._chunks) if one[0] <= row)
        return exact[row - start] if exact else begin + 1 + row - start


def _csv_chunks(name: str, reader: Any, numbers: _Numbers) -> Iterator[list[list[str]]]:
    """Rows as long as the header, in chunks; wholly empty lines are skipped."""
    width = 0
    while True:
        begin, raw = reader.line_num, []
        try:
            raw.extend(itertools.islice(reader, _CHUNK))
        except csv.Error as error:
            _check_widths(name, raw, begin, width)
            raise DataError(
                f"{name}, line {reader.line_num}: not valid CSV ({error}): check the double quotes"
            ) from error
        if not raw:
            return
        rows = [row for row in raw if row] if [] in raw else raw
        width = width or (len(rows[0]) if rows else 0)
        _check_widths(name, raw, begin, width)
        numbers.add(begin, reader.line_num, raw, len(rows))
        if rows:
            yield rows


def _check_widths(name: str, raw: list[list[str]], begin: int, width: int) -> None:
    if set(map(len, raw)) <= {0, width}:
        return
    width = width or next(map(len, filter(None, raw)))
    numbers = _Numbers()
    numbers.add(begin, -1, raw, sum(map(bool, raw)))
    rows = [row for row in raw if row]
    for k, row in enumerate(rows):
        if len(row) != width:
            raise DataError(
                f"{name}, line {numbers.line(k)}: {len(row)} fields where the header has {width}: put a name that "
                "holds the separator into double quotes, or add what is missing"
            )


def _selecting(
    header: Sequence[str], rows: Iterator[Sequence[Word]]
) -> Callable[[Sequence[str]], list[Column]]:
    """Columns by name of a stream of rows."""
    return lambda names: encode(rows, {name: list(header).index(name) for name in names})


# --- JSON ---------------------------------------------------------------------------------------------


def _objects(file: File) -> Table:
    """Objects, one per line (JSON Lines) or in one list, which may be the only value of an object.

    The keys of all objects, sorted, are the columns; an object may lack some, whose cells are then None. Keys are part
    of a user's answers, as cells are, and no form fixes them: nothing that is published may depend on them but a list
    of items, which is then public and said to be. Numbers stay as they are written, and null is an empty text.
    """
    listed = _list_of(file) if file.suffix == ".json" else None
    keys = set[str]()
    for place, found in _records(file, listed):
        if not isinstance(found, dict):
            raise DataError(
                f'{file.name}, {place}: each row must be an object, such as {{"user": "u1", ...}}'
            )
        keys |= found.keys()
    if not keys:
        raise DataError(f"{file.name} is empty: it needs one JSON object per row")
    header = Keys(sorted(keys))
    header.check(file.name)
    places: list[str] = []

    def columns(names: Sequence[str]) -> list[Column]:
        def rows() -> Iterator[list[Word]]:
            for place, found in _records(file, listed):
                places.append(place)
                yield [_json_word(found[key]) if key in found else None for key in names]

        return encode(rows(), {name: k for k, name in enumerate(names)})

    return Table(file.name, header, columns, places.__getitem__, file.reading, form=False)


def _list_of(file: File) -> list[Any] | None:
    """The list of a .json file; None for a file of lines, which is read as a stream."""
    lines = file.lines()
    first = next((line for line in lines if line.strip()), "")
    if first.lstrip().startswith("["):
        found = _parsed(first + "".join(lines), file.name)
        return found if isinstance(found, list) else None
    found = _whole(first)
    if isinstance(found, dict) and (not only_list(found) or any(line.strip() for line in lines)):
        return None  # a row in each line
    found = _whole(first + "".join(lines)) if found is None else found
    return (only_list(found) or [found]) if isinstance(found, dict) else None


def _whole(text: str) -> Any:
    try:
        return _parsed(text, "")
    except DataError:
        return None


def _records(file: File, listed: list[Any] | None) -> Iterator[tuple[str, Any]]:
    """The place of each row, and what stands there."""
    if listed is not None:
        yield from ((f"object {number}", found) for number, found in enumerate(listed, start=1))
        return
    for number, line in enumerate(file.lines(), start=1):
        if line.strip():
            yield f"line {number}", _parsed(line, f"{file.name}, line {number}")


def _parsed(text: str, place: str) -> Any:
    try:
        return json.loads(
            text, parse_float=str, parse_int=str, parse_constant=str, object_pairs_hook=unique
        )
    except (ValueError, RecursionError) as error:
        why = "too deep" if isinstance(error, RecursionError) else str(error).partition(":")[0]
        raise DataError(
            f"{place}: not valid JSON ({why}): write one object per line, or one list of objects into a .json file"
        ) from error


def _json_word(value: Any) -> Word:
    """A value as text, a tuple of texts, or of a structure its JSON; numbers are text already."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list) and not any(isinstance(one, (list, dict)) for one in value):
        return tuple(_json_word(one) for one in value)  # type: ignore[misc]
    return Structure(json.dumps(value, ensure_ascii=False))


# --- Excel --------------------------------------------------------------------------------------------


def _workbook(file: File, sheet: str | int | None) -> Table:
    """A sheet of a workbook.

    Numbers become text as Python writes them, dates as ISO 8601, without a time that is midnight. The value of a
    formula is the one that was saved with it; one without, as programs other than Excel may leave it, is refused.
    """
    pairs, reading = _cells_of(file, sheet)
    numbers: list[int] = []

    def filled() -> Iterator[list[Word]]:
        for number, (values, formulas) in enumerate(pairs, start=1):
            place = f"{file.name}, row {number}"
            found = [_sheet_word(*cell, place) for cell in zip(values, formulas)]
            while found and not found[-1]:
                found.pop()
            if found:
                numbers.append(number)
                yield found

    below = filled()
    header = [str(name or "") for name in next(below, [])]
    if not header:
        raise DataError(f"{file.name}: its sheet is empty: it needs a header row{_others(reading)}")

    first = list(itertools.islice(below, 2))
    left_out = _rows_of_header([header, *first]) - 1
    reading = (*reading, *((_QUALTRICS,) * bool(left_out)))

    def rows() -> Iterator[list[Word]]:
        for k, row in enumerate(itertools.chain(first[left_out:], below), start=left_out):
            if len(row) > len(header):
                raise DataError(
                    f"{file.name}, row {numbers[k + 1]}: a cell beyond the last column of the header, which has "
                    f"{len(header)}: remove it, or name its column in the first row"
                )
            yield row + [None] * (len(header) - len(row))

    def where(row: int) -> str:
        return f"row {numbers[row + 1 + left_out]}"

    return Table(file.name, header, _selecting(header, rows()), where, (*file.reading, *reading))


def _others(reading: tuple[str, ...]) -> str:
    return f" ({reading[0]})" if reading else ""


def _cells_of(
    file: File, wanted: str | int | None
) -> tuple[Iterator[tuple[Any, Any]], tuple[str, ...]]:
    """Rows of values beside rows with the formulas behind them, and a sentence that names the sheet of several."""
    try:
        import openpyxl
    except ImportError as error:
        raise DataError(
            f'{file.name}: reading Excel files needs openpyxl: pip install "privrank-jax[excel]", or save the sheet as '
            "CSV"
        ) from error
    content = io.BytesIO(file.content)
    damaged = DataError(
        f"{file.name}: not an Excel workbook that openpyxl can read (is it encrypted, damaged, or of an old kind?): "
        "save the sheet as CSV"
    )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on styles
            books = [
                openpyxl.load_workbook(content, read_only=True, data_only=values)
                for values in (True, False)
            ]
    except Exception as error:  # of zipfile, XML, or openpyxl's own
        raise damaged from error
    titles = [one.title for one in books[0].worksheets]
    at = 0 if wanted is None else _sheet_number(file.name, titles, wanted)
    sheets = [book.worksheets[at] for book in books]
    for one in sheets:
        one.reset_dimensions()  # some programs write wrong ones
    reading = ()
    if len(titles) > 1:
        others = ", ".join(repr(title) for k, title in enumerate(titles) if k != at)
        reading = (f"only its sheet {titles[at]!r} is read, not {others}; another by `sheet`",)

    def rows() -> Iterator[tuple[Any, Any]]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                yield from zip(*(one.iter_rows(values_only=True) for one in sheets))
        except (ValueError, KeyError, SyntaxError, EOFError, OSError, zlib.error) as error:
            raise damaged from error

    return rows(), reading


def _sheet_number(name: str, titles: list[str], wanted: str | int) -> int:
    if wanted in titles:
        return titles.index(str(wanted))
    if str(wanted).isdecimal() and 1 <= int(wanted) <= len(titles):
        return int(wanted) - 1
    raise DataError(f"{name}: no sheet {wanted!r}; the sheets are {', '.join(map(repr, titles))}")


def _sheet_word(cell: Any, formula: Any, place: str) -> Word:
    if cell is None and formula is not None:
        raise DataError(
            f"{place}: a cell has the formula {formula!r}, of which no value was saved: open and save the file in "
            "Excel, or put the value there"
        )
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        cell = cell.date()
    text = word_of(cell, place)
    if isinstance(text, str) and text.startswith("#"):
        from openpyxl.cell.cell import ERROR_CODES

        if text in ERROR_CODES:
            raise DataError(f"{place}: a cell shows the error {text} of Excel: mend or empty it")
    return text


# --- frames -------------------------------------------------------------------------------------------


def open_frame(data: Any, name: str = "the table") -> Table:
    """Open columns in memory: a mapping from names to cells, or a frame.

    Args:
        data: a mapping, or an object with ``columns`` (or ``column_names``), of which ``frame[name]`` is a column that
            becomes a list by ``to_pylist``, ``to_list`` or ``tolist``; or one that becomes such an object by
            ``collect``, ``to_pyarrow`` or ``to_arrow_table``.
        name: of the data, for messages.

    Raises:
        DataError: none of these.

    >>> table = open_frame({"user": [1, 2], "winner": ["a", None]})
    >>> [(column.codes.tolist(), column.words) for column in table.columns(["winner", "user"])]
    [([0, 1], ['a', None]), ([0, 1], ['1', '2'])]
    """
    if isinstance(data, (list, tuple)) and data and all(isinstance(row, Mapping) for row in data):
        return _rows_in_memory(data, name)
    if not isinstance(data, Mapping):
        convert = next((one for one in _COMPUTED if callable(getattr(data, one, None))), None)
        data = data if convert is None else getattr(data, convert)()
    held: Any = data
    if type(held).__module__.split(".")[0] == "polars":
        data = held = held.to_arrow()
    found: Any = data if isinstance(data, Mapping) else getattr(data, "column_names", None)
    if found is None and not isinstance(data, str):
        found = getattr(data, "columns", None)
    names = [] if found is None else list(found)
    if not names:
        raise DataError(
            f"{name} is a {type(data).__name__}, not a table with columns: give a file, a dict of columns, a list of "
            "dicts, or a frame of pandas, polars, Arrow, Ibis, DuckDB or Spark"
        )
    for column in names:
        if not isinstance(column, str):
            raise DataError(f"{name}: a column is named {column!r}: name columns by text")
    if type(held).__module__.split(".")[0] == "pyarrow":
        arrow = lambda wanted: [of_arrow(one, held.column(one), name) for one in wanted]  # noqa: E731
        return Table(name, names, arrow, lambda row: f"row {row + 1}")

    def columns(wanted: Sequence[str]) -> list[Column]:
        found = [_words(data, column, name) for column in wanted]
        if len(set(map(len, found))) > 1:
            raise DataError(f"{name}: its columns have different lengths")
        return [encode(zip(words), {column: 0})[0] for column, words in zip(wanted, found)]

    return Table(name, names, columns, lambda row: f"row {row + 1}")


def _rows_in_memory(rows: Sequence[Mapping[str, Any]], name: str) -> Table:
    """A list of dicts, which are as objects of JSON: a row may lack a key."""
    header = Keys(sorted({key for row in rows for key in row}))
    header.check(name)

    def columns(names: Sequence[str]) -> list[Column]:
        places = (f"{name}, row {number}" for number in range(1, len(rows) + 1))
        cells = (
            [_of_object(row.get(key), place) for key in names] for place, row in zip(places, rows)
        )
        return encode(cells, {key: k for k, key in enumerate(names)})

    return Table(name, header, columns, lambda row: f"row {row + 1}", form=False)


def _of_object(cell: Any, place: str) -> Word:
    """A cell of a dict: as in memory, of a structure its JSON."""
    nested = isinstance(cell, list | tuple) and any(
        isinstance(one, list | tuple | Mapping) for one in cell
    )
    if nested or isinstance(cell, Mapping):
        return Structure(json.dumps(cell, ensure_ascii=False, default=str))
    return word_of(cell, place)


def _words(data: Any, column: str, name: str) -> list[Word]:
    found = data[column]
    listed = next((one for one in _LISTS if callable(getattr(found, one, None))), None)
    try:
        cells = list(found if listed is None else getattr(found, listed)())
    except TypeError:
        cells = None
    if cells is None or isinstance(found, (str, *_NO_SCALARS)):
        raise DataError(f"{name}: column {column!r} is no list of cells")
    if all(type(cell) is str for cell in cells):
        return cells
    if (
        getattr(getattr(found, "dtype", None), "kind", "") == "M"
    ):  # whose lists are numbers, or pandas' own times
        times = np.asarray(found, "datetime64[us]")
        return [None if np.isnat(time) else str(time) for time in times]
    return [word_of(cell, f"{name}, row {k}") for k, cell in enumerate(cells, start=1)]


def word_of(cell: Any, place: str) -> Word:
    """A cell in memory as the text that a file would have, a tuple of texts if it is a list; None for a blank.

    Args:
        cell: text, a number, a truth value, a date, None, or a list of these.
        place: where it is, for messages.

    Raises:
        DataError: it is a structure.
    """
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if (isinstance(cell, float) and cell != cell) or type(cell).__name__ in ("NaTType", "NAType"):
        return None  # how pandas marks a blank
    listed: Any = getattr(cell, "tolist", None)
    if getattr(cell, "ndim", 0) == 1 and listed:
        cell = listed()
    if isinstance(cell, (list, tuple)) and not any(isinstance(one, (list, tuple)) for one in cell):
        return tuple(word_of(one, place) for one in cell)  # type: ignore[misc]
    if isinstance(cell, (list, tuple, *_NO_SCALARS)) or getattr(cell, "ndim", 0):
        raise DataError(
            f"{place}: a cell is a {type(cell).__name__}, where a name or a number is expected"
        )
    return str(cell)
