"""Tables written atomically to files: CSV, Parquet through pyarrow, and workbooks of Excel through openpyxl."""

from __future__ import annotations

import csv
import importlib
import math
import os
from collections.abc import Sequence
from typing import Any

from privrank_jax._whole_file import whole_file

_WIDEST = 80  # characters of a column of a workbook, beyond which its cells wrap
_NEEDS = {".parquet": ("pyarrow", "tables"), ".xlsx": ("openpyxl", "excel")}  # package and extra

Row = dict[str, Any]
"""One row of a table: its values by column."""


def write_csv(rows: Sequence[Row], path: str | os.PathLike[str], *, delimiter: str = ",") -> None:
    """Write tidy rows of one or several studies as CSV, floats with all their digits, completely or not at all.

    Columns are the union over the rows, in order of appearance; a value that a row lacks is empty.

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
    """Write tidy rows as Parquet, with pyarrow (extra ``tables``); arguments and errors as of :func:`write_csv`.

    A column of numbers becomes INT64 or DOUBLE, a column of truth values BOOLEAN, any other a text.
    """
    check_format(".parquet")
    import pyarrow
    from pyarrow import parquet

    def column(name: str) -> Any:
        values = [row.get(name) for row in rows]
        kinds = {type(value) for value in values if value is not None}
        if kinds in ({bool}, {int}):
            return pyarrow.array(values, "bool" if kinds == {bool} else "int64")
        if kinds and kinds <= {int, float}:
            return pyarrow.array(values, "float64")
        return pyarrow.array([None if v is None else str(v) for v in values], "string")

    table = pyarrow.table({name: column(name) for name in _columns(rows)})
    with whole_file(path) as temporary:
        parquet.write_table(table, temporary)


def check_format(suffix: str) -> None:
    """Raise before the work the ``ImportError`` that writing a file with this suffix would raise after it."""
    package, extra = _NEEDS[suffix]
    try:
        importlib.import_module(package)
    except ImportError as error:
        raise ImportError(
            f"{suffix} files need {package}: pip install 'privrank-jax[{extra}]', or write CSV"
        ) from error


def write_workbook(
    rows: Sequence[Row], path: str | os.PathLike[str], *, guarantee: Sequence[tuple[str, str]] = ()
) -> None:
    """Write rows as the first sheet of a workbook, with openpyxl (extra ``excel``); otherwise as :func:`write_csv`.

    Finite numbers, to 16 digits, and truth values stay what they are. All else is text, whatever it begins with: Excel
    would compute a name such as ``=1+1``. A character that XML can't hold becomes U+FFFD. Pairs of a subject and its
    words become a second sheet, ``guarantee``.
    """
    check_format(".xlsx")
    import openpyxl
    from openpyxl.styles import Font

    columns = _columns(rows)
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    _fill_sheet(sheet, [columns, *([row.get(name) for name in columns] for row in rows)])
    heads = list(sheet[1])
    sheet.freeze_panes = "A2"
    if guarantee:
        about = book.create_sheet("guarantee")
        _fill_sheet(about, guarantee)
        heads += [cell for (cell,) in about.iter_rows(max_col=1)]
    for cell in heads:
        cell.font = Font(bold=True)
    with whole_file(path) as temporary:
        book.save(temporary)


def _fill_sheet(sheet: Any, table: Sequence[Sequence[Any]]) -> None:
    """Put a table into an empty sheet, whose columns become as wide as their words."""
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE
    from openpyxl.styles import Alignment
    from openpyxl.utils import get_column_letter

    for place, values in enumerate(zip(*table, strict=True), start=1):
        widest = 0
        for number, value in enumerate(values, start=1):
            cell = sheet.cell(number, place)
            if value is None or (isinstance(value, bool | int | float) and math.isfinite(value)):
                cell.value = value
                widest = max(widest, 10)  # where Excel rounds what it shows
                continue
            cell.value = ILLEGAL_CHARACTERS_RE.sub("\ufffd", str(value))
            cell.data_type = "s"  # else a text that begins with = would be a formula
            cell.quotePrefix = True  # stays a text when somebody edits it
            if len(cell.value) > _WIDEST:
                cell.alignment = Alignment(wrap_text=True, vertical="top")
            widest = max(widest, len(cell.value))
        sheet.column_dimensions[get_column_letter(place)].width = min(widest, _WIDEST) + 2


def _columns(rows: Sequence[Row]) -> list[str]:
    if not rows:
        raise ValueError("the table is empty: pass at least one row")
    return list(dict.fromkeys(name for row in rows for name in row))
