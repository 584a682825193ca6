"""Files of randomized reports: ``user``, ``item_1``, ``item_2``, ``report``, ``epsilon``, one comparison a row.

``report`` is 1 where the report says that the first item is preferred, else 0; it was drawn by randomized response at
the ``epsilon`` of its row. ``user`` may be absent. A faulty file is refused as a whole, like files of comparisons.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import math
import os
import re
from array import array
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Integer

from privrank_jax._cells.codes import NameCodes, public_items
from privrank_jax._cells.columns import DELIMITERS, PARQUET, Roles
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.public import NamedTable, not_used
from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._whole_file import beside, whole_file
from privrank_jax.datasets.formats import open_source, read_header

COLUMNS = ("user", "item_1", "item_2", "report", "epsilon")
_DECIMAL = re.compile(r"\+?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_BITS = {
    **dict.fromkeys(("1", "1.0", "true", "yes"), 1),
    **dict.fromkeys(("0", "0.0", "false", "no"), 0),
}


@dataclass(frozen=True, eq=False, repr=False)
class ReportTable(NamedTable):
    """N randomized reports on pairs of m named items.

    Attributes:
        users: (N,) int, index into ``user_names``; the row number where the file names no users.
        first: (N,) int, index into ``item_names``.
        second: (N,) int, the other item.
        reports: (N,) bool, whether the report prefers the first.
        epsilon: (N,) float64, finite and positive, the ε of each report.
        item_names: the m names.
        user_names: original user ids, or ().
        name: name of the file.
        notes: what the reader did, one sentence each.
    """

    users: Integer[np.ndarray, "rows"]
    first: Integer[np.ndarray, "rows"]
    second: Integer[np.ndarray, "rows"]
    reports: Bool[np.ndarray, "rows"]
    epsilon: Float[np.ndarray, "rows"]
    item_names: tuple[str, ...]
    user_names: tuple[str, ...] = ()
    name: str = ""
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return self.reports.size

    @property
    def num_users(self) -> int | None:
        """Number of users with a report; None if the reports do not name users."""
        return np.unique(self.users).size if self.has_users else None

    @property
    def largest_epsilon(self) -> float:
        """Largest ε of a report."""
        return float(self.epsilon.max())

    @property
    def largest_epsilon_of_a_user(self) -> float | None:
        """Largest sum of the ε of one user's reports, added as decimals as in a ledger; None without users."""
        return largest_sum(self.users, self.epsilon) if self.has_users else None


def largest_sum(users: np.ndarray, epsilon: np.ndarray) -> float:
    """The largest sum of a user's ε, each the shortest decimal of its float; a float whose decimal is not below it."""
    levels, level = np.unique(epsilon, return_inverse=True)
    parts, counts = np.unique(np.stack([users, level]), axis=1, return_counts=True)
    owners, level = parts
    amounts = [Decimal(repr(float(one))) for one in levels]
    alone = np.bincount(owners)[owners] == 1
    with localcontext() as context:
        context.prec = 100
        # Most users have the same ε in all their reports, so few sums differ.
        same = np.unique(np.stack([level, counts])[:, alone], axis=1).T.tolist()
        sums = [amounts[number] * count for number, count in same]
        mixed: dict[int, Decimal] = {}
        for owner, number, count in zip(*(x[~alone].tolist() for x in (owners, level, counts))):
            mixed[owner] = mixed.get(owner, Decimal(0)) + amounts[number] * count
        largest = max([*sums, *mixed.values()])
        total = float(largest)
        while Decimal(repr(total)) < largest:
            total = math.nextafter(total, math.inf)
    return total


def is_report_file(path: str | os.PathLike[str]) -> bool:
    """Whether a file has the columns of reports, and none of answers; False if it can't be read.

    Args:
        path: of a .csv, .tsv or Parquet file.
    """
    header = set(read_header(path))
    reports = {"report", "epsilon"} <= header or {"item_1", "item_2"} <= header
    return reports and not header & {"winner", "loser"}


def read_reports(
    path: str | os.PathLike[str], *, user: str | None = "user", items: Iterable[str] | None = None
) -> ReportTable:
    """Read reports from a CSV or TSV file (UTF-8) or a Parquet file; the columns are named at the head.

    Args:
        path: ends in .csv, .tsv, .parquet or .pq (Parquet needs the extra ``tables``).
        user: column of the user's id; the default is used where the file has it. None: none.
        items: the public list of items. Default: those seen in the file, sorted.

    Returns:
        A table of reports in the order of the file.

    Raises:
        DataError: what is wrong, where, and how to fix it: as
            :func:`~privrank_jax.datasets.read_comparisons`; a report that is neither 0 nor 1, an ε that
            isn't a number from 1e-9 to 1e9.
    """
    if user == "user" and "user" not in read_header(path):
        user = None
    roles: Roles = {"user": user, **{column: column for column in COLUMNS[1:]}}
    public = None if items is None else public_items(items)
    source = open_source(path, roles)
    at = source.positions
    names, people = NameCodes("item", True, public), NameCodes("user", False)
    cells = {"report": _Bits(), "epsilon": Epsilons()}
    users, first, second = array("i"), array("i"), array("i")
    reports, epsilon = array("b"), array("d")
    role = ""
    try:
        for row in source.rows:
            role = "item_1"
            first.append(names[row[at["item_1"]]])
            role = "item_2"
            second.append(names[row[at["item_2"]]])
            if first[-1] == second[-1]:
                raise BadCell("an item is compared with itself: correct or remove the row")
            role = "report"
            reports.append(cells["report"][row[at["report"]]])
            role = "epsilon"
            epsilon.append(cells["epsilon"][row[at["epsilon"]]])
            if user is not None:
                role = "user"
                users.append(people[row[at["user"]]])
    except BadCell as error:
        where = f"{source.name}, {source.where()}, column {roles[role]!r}"
        raise DataError(f"{where}: {error}", *error.arguments) from None
    if not reports:
        raise DataError(f"{source.name} has no rows below its header: there is nothing to rank")
    item_names, place = names.in_order()
    order, notes = np.array(place), []
    if public is None:
        notes.append("the list of items was taken from the file")
    if user is None:
        notes.append("the file names no users: what all reports of one user spend is not known")
    notes += not_used(source.ignored) if source.form else ()
    return ReportTable(
        users=np.arange(len(reports)) if user is None else np.frombuffer(users, np.int32),
        first=order[np.frombuffer(first, np.int32)],
        second=order[np.frombuffer(second, np.int32)],
        reports=np.frombuffer(reports, np.int8).astype(bool),
        epsilon=np.frombuffer(epsilon, np.float64),
        item_names=item_names,
        user_names=tuple(people),
        name=source.name,
        notes=tuple(notes),
    )


def read_epsilon(path: str | os.PathLike[str], column: str) -> Float[np.ndarray, "rows"]:
    """The ε of each row of a file.

    Args:
        path: of a .csv, .tsv or Parquet file.
        column: of ε.

    Returns:
        ε, ``(N,)`` float64.

    Raises:
        DataError: no such column, or an ε that isn't a number from 1e-9 to 1e9.
    """
    source = open_source(path, {"epsilon": column})
    found, cells, at = array("d"), Epsilons(), source.positions["epsilon"]
    try:
        for row in source.rows:
            found.append(cells[row[at]])
    except BadCell as error:
        where = f"{source.name}, {source.where()}, column {column!r}"
        raise DataError(f"{where}: {error}", *error.arguments) from None
    return np.frombuffer(found, np.float64)


def check_destination(path: str | os.PathLike[str]) -> None:
    """Raise :class:`DataError` unless reports can be written to a file of this name."""
    path = Path(path)
    if path.suffix.lower() not in (*DELIMITERS, *PARQUET):
        raise DataError(
            f"{path.name}: unknown kind of file ({path.suffix or 'no suffix'}); name a .csv, .tsv or "
            ".parquet file"
        )
    check_writable(path)
    if path.suffix.lower() in PARQUET and importlib.util.find_spec("duckdb") is None:
        raise DataError(
            f'{path.name}: writing Parquet needs DuckDB: pip install "privrank-jax[tables]"'
        )


def check_writable(path: Path) -> None:
    """Raise :class:`DataError` unless a file can be written there; tries it with a temporary file next to it."""
    try:
        if path.is_dir():
            raise DataError(f"{path} is a folder: name a file in it")
        if not path.absolute().parent.is_dir():
            raise DataError(f"{path}: there is no folder {path.parent}; make it first")
        with contextlib.suppress(FileNotFoundError):
            path.lstat()  # raises for names that no file can have
        part = beside(path)
        part.touch()
        part.unlink()
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}; name another file") from error


def write_reports(
    path: str | os.PathLike[str], table: ReportTable, *, users: bool = True
) -> tuple[str, ...]:
    """Write reports atomically, replacing an existing file; rows are sorted by their contents.

    So the file depends on the *set* of reports alone, not on the order of ``table``, which may follow the answers (a
    file sorted by winners, say).

    Args:
        path: ends in .csv, .tsv, .parquet or .pq.
        table: the reports.
        users: whether to write the column ``user``; there is none where the table names no users.

    Returns:
        The columns written.

    Raises:
        DataError: as :func:`check_destination`.
    """
    path = Path(path)
    check_destination(path)
    items = np.array(table.item_names, object)
    columns: dict[str, np.ndarray] = {
        "item_1": items[table.first],
        "item_2": items[table.second],
        "report": table.reports.astype(np.int8),
        "epsilon": table.epsilon,
    }
    keys = [table.reports, table.epsilon, table.second, table.first]
    if users and table.has_users:
        people = np.array(table.user_names, object)
        columns = {"user": people[table.users], **columns}
        keys.append(np.argsort(np.argsort(people))[table.users])
    order = np.lexsort(keys)
    columns = {name: column[order] for name, column in columns.items()}
    write_columns(path, columns)
    return tuple(columns)


def write_columns(path: Path, columns: dict[str, np.ndarray]) -> None:
    """Write a table atomically in the format of the suffix; masked cells are left blank."""
    with whole_file(path) as part:
        if path.suffix.lower() in PARQUET:
            _write_parquet(part, columns)
        else:
            _write_text(part, columns, DELIMITERS[path.suffix.lower()])


def _write_text(path: Path, columns: dict[str, np.ndarray], delimiter: str) -> None:
    cells = [column.tolist() for column in columns.values()]
    # The csv writer does not quote a carriage return, which ends a line.
    words = (word for words in (columns, *cells) for word in words if isinstance(word, str))
    quoting = csv.QUOTE_ALL if any("\r" in word for word in words) else csv.QUOTE_MINIMAL
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter, lineterminator="\n", quoting=quoting)
        writer.writerow(columns)
        writer.writerows(zip(*cells))


def _write_parquet(path: Path, columns: dict[str, np.ndarray]) -> None:
    import duckdb

    quoted = str(path).replace("'", "''")
    try:
        with duckdb.connect() as connection:
            connection.register("rows", columns)
            connection.execute(f"COPY (SELECT * FROM rows) TO '{quoted}' (FORMAT parquet)")
    except duckdb.Error as error:
        raise OSError(f"DuckDB cannot write {path.name} ({str(error).splitlines()[0]})") from error


class _Bits(dict[Any, int]):
    """Cells of the column of reports to 0 or 1."""

    def __missing__(self, cell: str | None) -> int:
        code = _BITS.get((cell or "").strip().casefold())
        if code is None:
            raise BadCell(f"{cell!r} is not a report: write 1 (the first item) or 0 (the second)")
        self[cell] = code
        return code


class Epsilons(dict[Any, float]):
    """Cells of a column of ε to numbers."""

    def __missing__(self, cell: str | None) -> float:
        text = (cell or "").strip()
        value = float(text) if _DECIMAL.fullmatch(text) else math.nan
        if not SMALLEST_EPSILON <= value <= LARGEST_EPSILON:
            raise BadCell(
                f"{cell!r} is not a usable epsilon: write a number such as 1, "
                f"from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}"
            )
        self[cell] = value
        return value
