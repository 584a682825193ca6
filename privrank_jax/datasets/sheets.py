"""Workbooks of Excel, of which the first sheet is read, as rows of cells; openpyxl reads them.

Numbers become text as Python writes them, dates as ISO 8601, without a time that is midnight. The value of a formula
is the one that was saved with it; one without, as programs other than Excel may leave it, is refused.
"""

from __future__ import annotations

import datetime
import io
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from privrank_jax._cells.errors import DataError
from privrank_jax._cells.text_files import File
from privrank_jax.datasets.frames import cell_text

Cells = list[str | None]


def read_sheet(file: File) -> tuple[list[str], Iterator[Cells], Callable[[], str], tuple[str, ...]]:
    """Open the first sheet of a workbook.

    Args:
        file: ends in ``.xlsx`` or ``.xlsm``.

    Returns:
        The names of the columns, which are the cells of the first row that is not blank; the rows below it, without
        blank ones; a function that names the row last read; and sentences on what was read, where there are several
        sheets.

    Raises:
        DataError: openpyxl is missing or can't read the file; a title above the names of columns; while rows are read,
            a cell beyond the last column, with an error of Excel, or with a formula of which no value was saved.
    """
    pairs, reading = _first_sheet(file)
    number = 0

    def rows() -> Iterator[Cells]:
        nonlocal number
        for values, formulas in pairs:
            number += 1
            place = f"{file.name}, row {number}"
            found = [_text(*cell, place) for cell in zip(values, formulas)]
            while found and not found[-1]:
                found.pop()
            if found:
                yield found

    below = rows()
    header = [name or "" for name in next(below, [])]
    start = [row for row in itertools.islice(below, 1) if header]
    if len(header) == 1 < max(map(len, start), default=0):
        raise DataError(
            f"{file.name}: the first row of its sheet has one cell, {header[0]!r}, and the next one more: put the "
            "names of the columns into the first row"
        )

    def as_wide() -> Iterator[Cells]:
        for row in itertools.chain(start, below):
            if len(row) > len(header):
                raise DataError(
                    f"{file.name}, row {number}: a cell beyond the last column of the header, which has {len(header)}: "
                    "remove it, or name its column"
                )
            yield row + [None] * (len(header) - len(row))

    return header, as_wide(), lambda: f"row {number}", reading


def other_sheets(file: File) -> str:
    """What to append to an error about the first sheet of a workbook: which others there are; "" if there is none."""
    import openpyxl

    with file.binary() as binary:
        book = openpyxl.load_workbook(io.BytesIO(binary.read()), read_only=True)
    first, *others = (sheet.title for sheet in book.worksheets)
    if not others:
        return ""
    names = ", ".join(map(repr, others))
    return f" (only its first sheet, {first!r}, is read, not {names}: put the table there, or save its sheet as CSV)"


def _first_sheet(file: File) -> tuple[Iterator[tuple[Any, Any]], tuple[str, ...]]:
    """Rows of values beside rows with the formulas behind them, and a sentence that names the sheet of several."""
    try:
        import openpyxl
    except ImportError as error:
        raise DataError(
            f'{file.name}: reading Excel files needs openpyxl: pip install "privrank-jax[excel]", or save the sheet as '
            "CSV"
        ) from error
    with file.binary() as binary:
        content = io.BytesIO(binary.read())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on styles
            books = [
                openpyxl.load_workbook(content, read_only=True, data_only=values)
                for values in (True, False)
            ]
        sheets = [book.worksheets[0] for book in books]
        for sheet in sheets:
            sheet.reset_dimensions()  # some programs write wrong ones
    except Exception as error:  # of zipfile, XML, or openpyxl's own
        raise DataError(
            f"{file.name}: not an Excel workbook that openpyxl can read (is it encrypted, or of an old kind?): save "
            "the sheet as CSV"
        ) from error
    several = len(books[0].worksheets) > 1
    both = zip(*(sheet.iter_rows(values_only=True) for sheet in sheets))
    return both, ((f"only its first sheet, {sheets[0].title!r}, is read",) if several else ())


def _text(cell: Any, formula: Any, place: str) -> str | None:
    if cell is None and formula is not None:
        raise DataError(
            f"{place}: a cell has the formula {formula!r}, of which no value was saved: open and save the file in "
            "Excel, or put the value there"
        )
    if isinstance(cell, datetime.datetime) and cell.time() == datetime.time():
        cell = cell.date()
    text = cell_text(cell, place)
    if text is not None and text.startswith("#") and _is_error(text):
        raise DataError(f"{place}: a cell shows the error {text} of Excel: mend or empty it")
    return text


def _is_error(text: str) -> bool:
    from openpyxl.cell.cell import ERROR_CODES

    return text in ERROR_CODES
