"""Files of randomized answers; a faulty one is refused as a whole, like files of answers.

*Reports*: ``user`` (may be absent), ``item_1``, ``item_2``, ``report``, ``epsilon``, one comparison a row. ``report``
is 1 where the first item is preferred, else 0; it was drawn by randomized response at the ``epsilon`` of its row.

*Synthetic rankings*: ``user`` (may be absent), ``synthetic_epsilon``, which no other rankings have, then a column of
ranks per item, 1 = best, blank where the user did not rank it, one user a row; each was drawn from the Mallows model
around the user's own ranking at the ε of its row.
"""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import importlib.util
import itertools
import math
import os
from collections.abc import Iterable, Sequence
from decimal import Decimal, localcontext
from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float, Int, Integer

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._whole_file import beside, whole_file
from privrank_jax.data.ballots import SYNTHETIC, read_wide, wide_items
from privrank_jax.data.cells import reader_of as number_reader
from privrank_jax.data.columns import Faults, Reading, Table
from privrank_jax.data.errors import DataError
from privrank_jax.data.header import column_of, spelled_in
from privrank_jax.data.kinds import Answers
from privrank_jax.data.names import Names
from privrank_jax.data.rankings import Rankings
from privrank_jax.data.roles import SEEN, RankingRoles, ReportRoles, SyntheticRoles, reader_of
from privrank_jax.data.table import DELIMITERS, PARQUET

REPORT = ("item_1", "item_2", "report", "epsilon")
"""Columns of reports, beside users."""
epsilon_of = number_reader(
    f"a usable epsilon: write a number such as 1, from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}",
    lambda number: SMALLEST_EPSILON <= number <= LARGEST_EPSILON,
)
"""The ε that a cell says."""
_bit_of = number_reader("1 (the first item) or 0 (the second)", lambda one: one in (0, 1))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Reports(Answers):
    """N randomized reports on pairs of m named items.

    Attributes:
        users: (N,) int, index into ``user_names``; the row number where the file names no users.
        first, second: (N,) int, index into ``item_names``.
        reports: (N,) bool, whether the report prefers the first.
        epsilon: (N,) float64, finite and positive, the ε of each report.
        item_names: the m names; other attributes are those of all data.
    """

    first: Integer[np.ndarray, "rows"]
    second: Integer[np.ndarray, "rows"]
    reports: Bool[np.ndarray, "rows"]
    epsilon: Float[np.ndarray, "rows"]
    item_names: tuple[str, ...]

    read = reader_of(ReportRoles)

    @property
    def num_users(self) -> int | None:  # type: ignore[override]
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


@dataclasses.dataclass(frozen=True, eq=False)
class SyntheticRankings:
    """Synthetic rankings by n users, without ties; ``epsilon``, (n,) float64, is the finite ε of each user's draw."""

    table: Rankings
    epsilon: Float[np.ndarray, "users"]

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.table!r}>"

    @property
    def lengths(self) -> Int[np.ndarray, "users"]:
        """How many items each user ranked, (n,) int."""
        return np.sum(self.table.ranks >= 0, axis=1)


def largest_sum(users: np.ndarray, epsilon: np.ndarray) -> float:
    """The largest sum of a user's ε, each the shortest decimal of its float; a float whose decimal is not below it."""
    levels, level = np.unique(epsilon, return_inverse=True)
    amounts = np.array([Decimal(repr(float(one))) for one in levels], object)
    sums = np.full(users.max() + 1, Decimal(0), object)
    with localcontext() as context:
        context.prec = 100
        np.add.at(sums, users, amounts[level])
    total = float(max(sums))
    while Decimal(repr(total)) < max(sums):
        total = math.nextafter(total, math.inf)
    return total


def read_reports(table: Table, roles: ReportRoles) -> Reports:
    """Read reports from an opened table, in the order of the rows; :class:`DataError` says what is wrong, and where."""
    if roles.blank or roles.count:
        raise DataError(f"{table.name} holds reports, one a row: leave out `blank` and `count`")
    reading = Reading(table, roles, {column: column for column in REPORT})
    faults, cells = reading.faults, reading.cells
    first, second = faults.named([cells["item_1"], cells["item_2"]], reading.items)
    message = "an item is compared with itself: correct or remove the row"
    faults.where(first == second, cells["item_2"].name, message)
    reports = faults.read(cells["report"], _bit_of).astype(bool)
    epsilon = faults.read(cells["epsilon"], epsilon_of, float)
    users, _ = reading.settle()
    names, place = reading.items.in_order()
    first, second = np.array(place)[first], np.array(place)[second]
    seen = "the list of items was taken from the file"
    alone = "the file names no users: what all reports of one user spend is not known"
    return Reports(
        *(users, first, second, reports, epsilon),
        item_names=names,
        user_names=tuple(reading.people),
        name=table.name,
        notes=(seen,) * (roles.public is None) + (alone,) * ("user" not in cells),
    )


def read_epsilon(table: Table, column: str, user: str | None = None) -> Float[np.ndarray, "some"]:
    """The ε of each row of a table, or of each user, in order of first appearance, by the names of their columns."""
    asked = [("epsilon", column), ("user", user)]
    named = [column_of(table.name, table.header, one, it) for one, it in asked if it is not None]
    columns = table.columns(named)
    faults = Faults(table)
    found = faults.read(columns[0], epsilon_of, float)
    for people in columns[1:]:
        users = faults.read(people, Names("user").__getitem__)
        each = found[np.unique(users, return_index=True)[1]]
        what = "this user has another epsilon in a row before: write one epsilon for each"
        faults.where(found != each[users], columns[0].name, what)
        found = each
    faults.stop()
    return found


def read_synthetic_rankings(table: Table, roles: SyntheticRoles) -> SyntheticRankings:
    """Read synthetic rankings from an opened table: wide, with all its items, for the law of a rank depends on them."""
    name, budgets = table.name, column_of(table.name, table.header, "epsilon", SYNTHETIC)
    header = type(table.header)(column for column in table.header if column != budgets)
    ranked = dataclasses.replace(table, header=header)
    told = {one: getattr(roles, one) for one in ("user", "blank", "missing")}
    asked = RankingRoles(**told, items=roles.items or SEEN, ranks=True)
    items = wide_items(name, header, asked)
    rankings, ranks = read_wide(ranked, asked, items, counted=False)
    faults = Faults(table)
    epsilon = faults.read(table.columns([budgets])[0], epsilon_of, float)
    faults.stop()
    known = (spelled_in(header, roles.user or ""), *rankings.item_names)
    if left := [column for column in header if column not in known]:
        raise DataError(f"{name}: `items` has no {left[0]!r}: name all items of the file, or none")
    items, known = ranks.shape[1], np.sum(ranks >= 0, axis=1, keepdims=True)
    each_once = np.maximum(np.arange(items) - items + known, -1)
    if np.any(wrong := np.any(np.sort(ranks, axis=1) != each_once, axis=1)):
        row = int(np.argmax(wrong)) + 1
        raise DataError(f"{name}, row {row} below the header has ties, or leaves out a rank")
    return SyntheticRankings(rankings, epsilon)


def check_destination(path: str | os.PathLike[str], item_names: Iterable[str] = ()) -> None:
    """Raise :class:`DataError` unless a table can be written to a file of this name.

    Columns that are named after items must have other names than those beside them, in any case: they would be read as
    these.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (*DELIMITERS, *PARQUET):
        raise DataError(f"{path.name}: unknown kind of file: name a .csv, .tsv or .parquet file")
    check_writable(path)
    if suffix in PARQUET and importlib.util.find_spec("pyarrow") is None:
        raise DataError(f'{path.name} needs PyArrow: pip install "privrank-jax[tables]"')
    names = ["user", SYNTHETIC, *map(str.casefold, item_names)]
    if len(set(names)) < len(names):
        raise DataError(f"an item is named like another column of {path.name}: rename it")


def check_writable(path: Path) -> None:
    """Raise :class:`DataError` unless a file can be written there; tries it with a temporary file next to it."""
    try:
        with contextlib.suppress(FileNotFoundError):
            path.lstat()  # raises for names that no file can have
        part = beside(path)
        part.touch()
        part.unlink()
        if path.is_dir():
            raise IsADirectoryError(0, "it is a folder")
    except OSError as error:
        raise DataError(
            f"{path} cannot be written ({error.strerror}): name another file or folder"
        ) from None


def write_reports(
    path: str | os.PathLike[str], table: Reports, *, users: bool = True
) -> tuple[str, ...]:
    """Write reports atomically; rows are sorted, so that the file depends on the *set* of reports alone.

    Args:
        path: ends in .csv, .tsv, .parquet or .pq.
        table: the reports.
        users: whether to write the column ``user``; there is none where the table names no users.

    Returns:
        The columns written.
    """
    items = np.array(table.item_names, object)
    cells = items[table.first], items[table.second], table.reports.astype(np.int8), table.epsilon
    keys = [table.reports, table.epsilon, table.second, table.first]
    people = table.user_names if users else ()
    return write_sorted(Path(path), dict(zip(REPORT, cells)), keys, people, table.users)


def write_sorted(
    path: Path,
    columns: dict[str, np.ndarray],
    keys: Sequence[np.ndarray],
    people: Sequence[str],
    users: np.ndarray,
) -> tuple[str, ...]:
    """Write a table atomically, sorted by user, then by the last of ``keys`` and so on; masked cells are left blank."""
    check_destination(path)
    if people:
        names = np.array(people, object)
        columns = {"user": names[users], **columns}
        keys = [*keys, np.argsort(np.argsort(names))[users]]
    order = np.lexsort(keys)
    cells = {name: column[order].tolist() for name, column in columns.items()}
    with whole_file(path) as part:
        if path.suffix.lower() in PARQUET:
            import pyarrow
            from pyarrow import parquet

            parquet.write_table(pyarrow.table(cells), part)
        else:
            words = itertools.chain(cells, *cells.values())
            odd = any("\r" in word for word in words if isinstance(word, str))  # not quoted by csv
            quoting = csv.QUOTE_ALL if odd else csv.QUOTE_MINIMAL
            with part.open("w", encoding="utf-8", newline="") as file:
                sign = DELIMITERS[path.suffix.lower()]
                out = csv.writer(file, delimiter=sign, lineterminator="\n", quoting=quoting)
                out.writerows([[*cells], *zip(*cells.values())])
    return tuple(columns)


def write_synthetic_rankings(
    path: str | os.PathLike[str], rankings: SyntheticRankings, *, users: bool = True
) -> tuple[str, ...]:
    """Write synthetic rankings, with arguments and results as those of :func:`write_reports`."""
    path, table = Path(path), rankings.table
    check_destination(path, table.item_names)
    ranks = np.ma.masked_less(table.ranks, 0) + 1
    columns = {SYNTHETIC: rankings.epsilon, **dict(zip(table.item_names, ranks.T))}
    keys = [*table.ranks.T[::-1], rankings.epsilon]
    people = table.user_names if users else ()
    return write_sorted(path, columns, keys, people, np.arange(len(table.ranks)))
