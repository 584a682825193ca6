"""Columns in memory as rows of cells: frames of pandas and polars, tables of Arrow, Ibis and DuckDB, dicts of columns.

None of these packages is imported: their objects are known by the methods that they have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from privrank_jax._cells.errors import DataError

_COMPUTED = ("collect", "to_pyarrow", "to_arrow_table")  # polars' lazy frames, Ibis, DuckDB
_NO_SCALARS = (bytes, bytearray, Mapping, list, tuple, set, frozenset)
_LISTS = ("to_pylist", "to_list", "tolist")  # Arrow, polars and pandas, NumPy


class Frame:
    """A table in memory, whose cells become text when they are read.

    Args:
        data: a mapping from names of columns to their cells, or a frame: an object with ``columns`` (or
            ``column_names``), of which ``frame[name]`` is a column that becomes a list by ``to_pylist``, ``to_list`` or
            ``tolist``; or one that becomes such an object by ``collect``, ``to_pyarrow`` or ``to_arrow_table``.
        name: of the data, for messages.

    Attributes:
        header: names of the columns.

    Raises:
        DataError: none of these.

    >>> frame = Frame({"user": [1, 2], "winner": ["a", None]})
    >>> frame.header, list(frame.rows({"winner": 1, "user": 0})[0])
    (['user', 'winner'], [('a', '1'), (None, '2')])
    """

    def __init__(self, data: Any, name: str = "the table") -> None:
        self.name = name
        if not isinstance(data, Mapping):
            convert = next(
                (method for method in _COMPUTED if callable(getattr(data, method, None))), None
            )
            data = data if convert is None else getattr(data, convert)()
        self._data = data
        names = data if isinstance(data, Mapping) else _first(data, ("column_names", "columns"))
        if names is None or isinstance(data, str):
            raise DataError(
                f"{name} is a {type(data).__name__}, not a table: give a dict of columns, or a frame of pandas, "
                "polars, Arrow, Ibis or DuckDB; files are read by read_comparisons and read_rankings"
            )
        self.header = list(names)
        for column in self.header:
            if not isinstance(column, str):
                raise DataError(f"{name}: a column is named {column!r}: name columns by text")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}; rows not shown>"

    def rows(
        self, positions: Mapping[str, int]
    ) -> tuple[Iterator[tuple[str | None, ...]], Callable[[], str]]:
        """Rows of the cells of some columns, in their order, and a function that names the row last read.

        Raises:
            DataError: a column is there twice, columns differ in length, or, while they are read, a cell is no scalar.
        """
        columns = [self._cells(self.header[k]) for k in positions.values()]
        if len({len(column) for column in columns}) > 1:
            raise DataError(f"{self.name}: its columns have different lengths")
        count = 0

        def rows() -> Iterator[tuple[str | None, ...]]:
            nonlocal count
            for row in zip(*columns):
                count += 1
                place = f"{self.name}, row {count}"
                yield tuple(cell_text(cell, place) for cell in row)

        return rows(), lambda: f"row {count}"

    def _cells(self, column: str) -> list[Any]:
        found = self._data[column]
        listed = next((method for method in _LISTS if callable(getattr(found, method, None))), None)
        try:
            cells = list(found if listed is None else getattr(found, listed)())
        except TypeError:
            cells = None
        if cells is None or isinstance(found, str):
            raise DataError(f"{self.name}: column {column!r} is no list of cells")
        return cells


def cell_text(cell: Any, place: str) -> str | None:
    """A cell in memory as the text that a file would have; None for a blank.

    Args:
        cell: text, a number, a truth value, a date, or None.
        place: where it is, for messages.

    Raises:
        DataError: it is a list or a structure.
    """
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, float) and cell != cell:
        return None  # how pandas marks a blank
    if isinstance(cell, _NO_SCALARS) or getattr(cell, "ndim", 0):
        raise DataError(
            f"{place}: a cell is a {type(cell).__name__}, where a name or a number is expected"
        )
    return str(cell)


def _first(data: Any, names: tuple[str, ...]) -> Any:
    return next(
        (getattr(data, name) for name in names if getattr(data, name, None) is not None), None
    )
