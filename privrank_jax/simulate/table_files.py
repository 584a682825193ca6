"""Tables written atomically to files: CSV, Parquet through DuckDB, and workbooks of Excel through openpyxl."""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Sequence
from typing import Any

from privrank_jax._whole_file import whole_file

_WIDEST = 80  # characters of a column of a workbook, beyond which its cells wrap
_INSERTED = 1024  # rows at a time into a Parquet file

Row = dict[str, Any]
"""One row of a table: its values by column."""


def write_csv(rows: Sequence[Row], path: str | os.PathLike[str], *, delimiter: str = ",") -> None:
    """Write tidy rows of one or several studies as CSV.

    Columns are the union over the rows, in order of appearance; a value that a row lacks is empty.
    Floats are written with all their digits. The file is written completely or not at all.

    Args:
        rows: of a :class:`StudyResult`.
        path: of the file; an existing one is replaced.
        delimiter: what stands between cells.

    Raises:
        ValueError: ``rows`` is empty.
    """
    columns = _columns(rows)
    with whole_file(path) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, delimiter=delimiter, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def write_parquet(rows: Sequence[Row], path: str | os.PathLike[str]) -> None:
    """Write tidy rows as Parquet, with DuckDB (extra ``tables``); otherwise as :func:`write_csv`.

    A column of numbers becomes BIGINT or DOUBLE, a column of truth values BOOLEAN, any other VARCHAR.

    Args:
        rows: of a :class:`StudyResult`.
        path: of the file; an existing one is replaced.

    Raises:
        ValueError: ``rows`` is empty.
        ImportError: DuckDB is not installed.
    """
    check_parquet()
    import duckdb

    columns = _columns(rows)
    data = [[row.get(name) for row in rows] for name in columns]
    kinds = [_sql_type(values) for values in data]
    definition = ", ".join(f"{_quoted(n)} {k}" for n, k in zip(columns, kinds, strict=True))
    records = list(zip(*map(_as_kind, data, kinds), strict=True))
    with whole_file(path) as temporary, duckdb.connect() as database:
        database.execute(f"CREATE TABLE study ({definition})")
        for start in range(0, len(records), _INSERTED):
            block = records[start : start + _INSERTED]
            place = ", ".join([f"({', '.join('?' * len(columns))})"] * len(block))
            values = [value for record in block for value in record]
            database.execute(f"INSERT INTO study VALUES {place}", values)
        target = str(temporary).replace("'", "''")
        database.execute(f"COPY study TO '{target}' (FORMAT parquet)")


def check_parquet() -> None:
    """Raise before the work the ``ImportError`` that :func:`write_parquet` would raise after it."""
    try:
        import duckdb  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "writing Parquet needs DuckDB: pip install 'privrank-jax[tables]', or write CSV"
        ) from error


def write_workbook(
    rows: Sequence[Row],
    path: str | os.PathLike[str],
    *,
    guarantee: Sequence[tuple[str, str]] = (),
) -> None:
    """Write rows as the first sheet of a workbook, with openpyxl (extra ``excel``); otherwise as :func:`write_csv`.

    Finite numbers, to 16 digits, and truth values stay what they are; a column of floats is shown with as many decimals
    as give its largest number four digits. All else is text, whatever it begins with: Excel would compute a name such
    as ``=1+1``, and may offer to open what it refers to. A character that XML can't hold becomes U+FFFD.

    Args:
        rows: of a table, of values that are text, numbers, truth values or None.
        path: of the file; an existing one is replaced.
        guarantee: pairs of a subject and its words, for a second sheet named ``guarantee``; without them there is none.

    Raises:
        ValueError: ``rows`` is empty.
        ImportError: openpyxl is not installed.
    """
    check_workbook()
    import openpyxl
    from openpyxl.styles import Font

    columns = _columns(rows)
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    _fill_sheet(sheet, [columns, *([row.get(name) for name in columns] for row in rows)])
    for cell in sheet[1]:
        cell.font = Font(bold=True)
    sheet.freeze_panes = "A2"
    if guarantee:
        about = book.create_sheet("guarantee")
        _fill_sheet(about, guarantee)
        for (cell,) in about.iter_rows(max_col=1):
            cell.font = Font(bold=True)
    with whole_file(path) as temporary:
        book.save(temporary)


def _fill_sheet(sheet: Any, table: Sequence[Sequence[Any]]) -> None:
    """Put a table into an empty sheet: numbers to be shown with few digits, columns as wide as what they show."""
    from openpyxl.styles import Alignment
    from openpyxl.utils import get_column_letter

    for place, values in enumerate(zip(*table, strict=True), start=1):
        places = _places(values)
        widest = 0
        for number, value in enumerate(values, start=1):
            cell = sheet.cell(number, place)
            _fill(cell, value)
            shown = str(value)
            if places is not None and isinstance(value, float):
                cell.number_format = f"0.{'0' * places}" if places else "0"
                shown = f"{value:.{places}f}"
            widest = max(widest, len(shown))
            if len(shown) > _WIDEST:
                cell.alignment = Alignment(wrap_text=True, vertical="top")
        sheet.column_dimensions[get_column_letter(place)].width = min(widest, _WIDEST) + 2


def _places(values: Sequence[Any]) -> int | None:
    """Decimal places of a column, four digits of its largest number in all; None where those would be too many.

    >>> _places(["score", 54.2, -1.5]), _places([12345.6]), _places([0.00123]), _places([1e-20]), _places(["x"])
    (2, 0, 6, None, None)
    """
    sizes = [abs(v) for v in values if isinstance(v, float) and math.isfinite(v)]
    largest = max(sizes, default=0.0)
    if not 1e-6 <= largest < 1e9:
        return None
    return max(0, 3 - math.floor(math.log10(largest)))


def _fill(cell: Any, value: Any) -> None:
    """Put a value into a cell of openpyxl, which takes a text that begins with = for a formula unless told its type."""
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    if value is None or (isinstance(value, bool | int | float) and math.isfinite(value)):
        cell.value = value
        return
    cell.value = ILLEGAL_CHARACTERS_RE.sub("\ufffd", str(value))
    cell.data_type = "s"
    cell.quotePrefix = True  # stays a text when somebody edits it


def check_workbook() -> None:
    """Raise before the work the ``ImportError`` that :func:`write_workbook` would raise after it."""
    try:
        import openpyxl  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "writing Excel files needs openpyxl: pip install 'privrank-jax[excel]', or write CSV"
        ) from error


def _columns(rows: Sequence[Row]) -> list[str]:
    if not rows:
        raise ValueError("the table is empty: pass at least one row")
    return list(dict.fromkeys(name for row in rows for name in row))


def _sql_type(values: Sequence[object]) -> str:
    kinds = {type(value) for value in values if value is not None}
    if kinds == {bool}:
        return "BOOLEAN"
    if kinds == {int}:
        return "BIGINT"
    return "DOUBLE" if kinds and kinds <= {int, float} else "VARCHAR"


def _as_kind(values: list[Any], kind: str) -> list[Any]:
    convert = {"DOUBLE": float, "VARCHAR": str}.get(kind, lambda value: value)
    return [None if value is None else convert(value) for value in values]


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
