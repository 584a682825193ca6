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
from dataclasses import dataclass
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Integer

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._whole_file import beside, whole_file
from privrank_jax.data.cells import number_of, text_of
from privrank_jax.data.columns import Faults, Table
from privrank_jax.data.errors import BadCell, DataError, quoted
from privrank_jax.data.header import column_of
from privrank_jax.data.kinds import Data
from privrank_jax.data.reading import Reading
from privrank_jax.data.roles import ReportRoles, reader_of
from privrank_jax.data.table import DELIMITERS, PARQUET

COLUMNS = ("user", "item_1", "item_2", "report", "epsilon")
_BITS = {
    **dict.fromkeys(("1", "1.0", "true", "yes"), 1),
    **dict.fromkeys(("0", "0.0", "false", "no"), 0),
}


@dataclass(frozen=True, eq=False, repr=False)
class Reports(Data):
    """N randomized reports on pairs of m named items.

    Attributes:
        users: (N,) int, index into ``user_names``; the row number where the file names no users.
        first: (N,) int, index into ``item_names``.
        second: (N,) int, the other item.
        reports: (N,) bool, whether the report prefers the first.
        epsilon: (N,) float64, finite and positive, the ε of each report.
        item_names: the m names.

    Other attributes are those of all data.
    """

    users: Integer[np.ndarray, "rows"]
    first: Integer[np.ndarray, "rows"]
    second: Integer[np.ndarray, "rows"]
    reports: Bool[np.ndarray, "rows"]
    epsilon: Float[np.ndarray, "rows"]
    item_names: tuple[str, ...]

    read = reader_of(ReportRoles)

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


def read_reports(table: Table, roles: ReportRoles) -> Reports:
    """Read reports from an opened table; the columns are named at the head.

    Returns:
        Reports in the order of the rows.

    Raises:
        DataError: what is wrong, where, and how to fix it: as of comparisons; a report that is neither 0 nor 1, an ε
            that isn't a number from 1e-9 to 1e9.
    """
    if roles.blank or roles.count:
        raise DataError(f"{table.name} holds reports, one a row: leave out `blank` and `count`")
    reading = Reading(table, roles, {column: column for column in COLUMNS[1:]})
    faults, cells = reading.faults, reading.cells
    first, second = faults.named([cells["item_1"], cells["item_2"]], reading.items)
    message = "an item is compared with itself: correct or remove the row"
    faults.where(first == second, reading.columns["item_2"], lambda _: message)
    reports = faults.read(cells["report"], _bit_of).astype(bool)
    epsilon = faults.read(cells["epsilon"], epsilon_of, float)
    users = reading.read_users()
    reading.stop(reports.size)
    names, place = reading.items.in_order()
    notes = ["the list of items was taken from the file"] if roles.public is None else []
    if users is None:
        notes.append("the file names no users: what all reports of one user spend is not known")
    return Reports(
        users=np.arange(reports.size) if users is None else users,
        first=np.array(place)[first],
        second=np.array(place)[second],
        reports=reports,
        epsilon=epsilon,
        item_names=names,
        user_names=tuple(reading.people),
        name=table.name,
        notes=tuple(notes),
    )


def read_epsilon(table: Table, column: str) -> Float[np.ndarray, "rows"]:
    """The ε of each row of a table.

    Args:
        table: with that column.
        column: of ε.

    Raises:
        DataError: no such column, or an ε that isn't a number from 1e-9 to 1e9.
    """
    (cells,) = table.columns([column_of(table.name, table.header, "epsilon", column)])
    faults = Faults(table)
    found = faults.read(cells, epsilon_of, float)
    faults.stop()
    return found


def check_destination(path: str | os.PathLike[str]) -> None:
    """Raise :class:`DataError` unless reports can be written to a file of this name."""
    path = Path(path)
    if path.suffix.lower() not in (*DELIMITERS, *PARQUET):
        raise DataError(
            f"{path.name}: unknown kind of file ({path.suffix or 'no suffix'}); name a .csv, .tsv or "
            ".parquet file"
        )
    check_writable(path)
    if path.suffix.lower() in PARQUET and importlib.util.find_spec("pyarrow") is None:
        raise DataError(
            f'{path.name}: writing Parquet needs PyArrow: pip install "privrank-jax[tables]"'
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
    path: str | os.PathLike[str], table: Reports, *, users: bool = True
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
    import pyarrow
    from pyarrow import parquet

    arrays = {name: pyarrow.array(column.tolist()) for name, column in columns.items()}
    parquet.write_table(pyarrow.table(arrays), path)


def _bit_of(cell: Any) -> int:
    """The bit that a report says."""
    code = _BITS.get(text_of(cell).casefold())
    if code is None:
        raise BadCell(f"{quoted(cell)} is not a report: write 1 (the first item) or 0 (the second)")
    return code


def epsilon_of(cell: Any) -> float:
    """The ε that a cell says."""
    value = number_of(text_of(cell))
    if value is None or not SMALLEST_EPSILON <= value <= LARGEST_EPSILON:
        raise BadCell(
            f"{quoted(cell)} is not a usable epsilon: write a number such as 1, from {SMALLEST_EPSILON:g} to "
            f"{LARGEST_EPSILON:g}"
        )
    return value
