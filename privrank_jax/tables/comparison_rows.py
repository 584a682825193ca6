"""Comparisons in an engine: checked, bounded, and counted pair by pair, without holding a row in Python."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from privrank_jax._cells.codes import TieCodes, public_items
from privrank_jax._cells.columns import without
from privrank_jax._cells.counts import check_no_counts
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.meetings import Meetings, meetings_of_pairs
from privrank_jax._cells.outcomes import check_outcomes
from privrank_jax._cells.public import (
    not_used,
    notes_on_comparisons,
    public_facts,
    public_repr,
)
from privrank_jax.comparisons import WinCounts, default_float
from privrank_jax.tables.backend import Backend, Expression, Source, Table, explained, one_row
from privrank_jax.tables.bounding import bounded_rows
from privrank_jax.tables.source import (
    People,
    RawTable,
    check_users,
    coded,
    in_order,
    is_name,
    item_names,
    shown_at_most,
)

_MOST_TIE_CELLS = 10_000  # spellings of yes and no


@dataclass(frozen=True, eq=False)
class ComparisonRows:
    """N comparisons of m named items, checked, still in the engine; the twin of ``datasets.ComparisonTable``.

    Attributes:
        rows: Ibis table: ``low`` < ``high``, int32 indices into ``item_names``; ``outcome``, 2 where low won, 1 for a
            tie, 0 where high won; and ``user``, text, where the data name users.
        item_names: the m names, in the public order, else sorted; public.
        has_users: whether the data name users.
        num_users: number of users, 0 if the data name none.
        comparisons_per_user: the largest number of comparisons of one user. Private, as are the next two.
        num_rows: N.
        ties: number of ties.
        name: name of the file or table.
        notes: what was done to the data, one sentence each.
        public: facts that this reading takes as public, as for ``datasets.ComparisonTable``.
        users_alike: up to three pairs of users whose names differ by case alone. Private.
    """

    rows: Table
    item_names: tuple[str, ...]
    has_users: bool
    num_users: int
    comparisons_per_user: int
    num_rows: int
    ties: int
    name: str
    notes: tuple[str, ...]
    public: tuple[str, ...]
    users_alike: tuple[tuple[str, str], ...]
    _raw: RawTable

    reading = ()
    questionnaire = None  # the questionnaire is not known
    remarks = ()

    __repr__ = public_repr

    def __len__(self) -> int:
        return self.num_rows

    @property
    def num_items(self) -> int:
        """Number m of items, compared or not."""
        return len(self.item_names)

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone was shown, or one row where the data name no users. Private."""
        user = {"user": self.rows.user} if self.has_users else {}
        low, high = (self.rows.select(item=self.rows[end], **user) for end in ("low", "high"))
        sides = low.union(high)
        with explained(self._raw.path):
            found = shown_at_most(sides, self.comparisons_per_user if self.has_users else 1)
            if found and self.has_users:
                few = sides.filter(sides["item"].isin(found))
                each = few.group_by("item").aggregate(users=few.user.nunique())
                once = each.filter(each.users == 1).to_pyarrow().to_pylist()
                found = sorted(row["item"] for row in once)
        return tuple(self.item_names[k] for k in found)

    def meetings(self, items: Sequence[int]) -> Meetings:
        """As of ``datasets.ComparisonTable``."""
        with explained(self._raw.path):
            pairs = self.rows.group_by("low", "high").aggregate(number=self.rows.count())
            low, high, number = (column.to_numpy() for column in pairs.to_pyarrow().columns)
        return meetings_of_pairs(low, high, number, self.num_items, items)

    def bounded(self, max_per_user: int, salt: str) -> Table:
        """``rows`` with at most ``max_per_user`` of each user: :func:`~privrank_jax.tables.bounded_rows`.

        Raises:
            ValueError: the data name no users, or the bound is not positive.
        """
        if not self.has_users:
            raise ValueError(f"{self.name} does not say who compared: there are no users to bound.")
        content = ("low", "high", "outcome")
        return bounded_rows(self.rows, max_per_user, salt, user="user", content=content)

    def win_counts(self, max_per_user: int | None = None, salt: str | None = None) -> WinCounts:
        """Win counts of all rows, or of at most ``max_per_user`` of each user; JAX's default float.

        Args:
            max_per_user: L >= 1.
            salt: decides which rows stay; for a release ``secrets.token_hex()``.

        Raises:
            ValueError: a bound without a salt, or as :meth:`bounded`.
            DataError: the file changed since it was checked.
        """
        rows = self.rows
        if max_per_user is not None:
            if salt is None:
                raise ValueError("max_per_user needs a salt: secrets.token_hex() for a release.")
            rows = self.bounded(max_per_user, salt)
        low, high, number, twice, ties = self._counted(rows)
        matrix = np.zeros((self.num_items,) * 2)
        matrix[low, high] = twice / 2
        matrix[high, low] = number - twice / 2
        dtype = default_float()
        return WinCounts(jnp.asarray(matrix, dtype), ties=jnp.asarray(ties.sum(), dtype))

    def ties_of_pairs(self) -> Float[np.ndarray, "items items"]:
        """``(m, m)`` symmetric, how many comparisons of each pair are ties. Private.

        Raises:
            DataError: the file changed since it was checked.
        """
        low, high, _, _, ties = self._counted(self.rows)
        found = np.zeros((self.num_items,) * 2)
        found[low, high] = found[high, low] = ties
        return found

    def wins_by_user(
        self,
    ) -> tuple[
        Int[np.ndarray, "wins"],
        Int[np.ndarray, "wins"],
        Int[np.ndarray, "wins"],
        Float[np.ndarray, "wins"],
    ]:
        """Wins of each user and pair: users, winners and losers ``(wins,)`` int, and how many, half a win for each tie.

        Users are numbered. Private.

        Raises:
            ValueError: the data name no users.
            DataError: the file changed since it was checked.
        """
        if not self.has_users:
            raise ValueError(f"{self.name} does not say who compared.")
        rows = self.rows
        twice = rows.outcome.cast("int64").sum().cast("int64")
        groups = rows.group_by("user", "low", "high")
        with explained(self._raw.path):
            found = groups.aggregate(number=rows.count(), twice=twice).to_pyarrow()
        self._raw.check_unchanged()
        users = found["user"].combine_chunks().dictionary_encode().indices.to_numpy()
        low, high, number, twice = (
            found[name].to_numpy() for name in ("low", "high", "number", "twice")
        )
        both = np.concatenate([twice / 2, number - twice / 2])
        some = both > 0
        places = np.tile(users, 2), np.append(low, high), np.append(high, low)
        users, winners, losers = (one[some] for one in places)
        return users, winners, losers, both[some]

    def _counted(self, rows: Table) -> tuple[Int[np.ndarray, "pairs"], ...]:
        """The columns of :func:`pair_counts`."""
        with explained(self._raw.path):
            found = pair_counts(rows).to_pyarrow()
        self._raw.check_unchanged()
        names = ("low", "high", "comparisons", "twice_low_wins", "ties")
        return tuple(found[name].to_numpy() for name in names)


def pair_counts(rows: Table) -> Table:
    """The comparisons of each pair that met and twice the wins of its first item, as an Ibis expression.

    Args:
        rows: columns ``low``, ``high`` and ``outcome``, as in :class:`ComparisonRows`.

    Returns:
        Table with the columns ``low``, ``high``, ``comparisons``, ``twice_low_wins`` and ``ties``, int64; a tie counts
        as half a win for each item.
    """
    twice = rows.outcome.cast("int64").sum().cast("int64")
    ties = (rows.outcome == 1).cast("int64").sum().cast("int64")
    return rows.group_by("low", "high").aggregate(
        comparisons=rows.count(), twice_low_wins=twice, ties=ties
    )


def scan_comparisons(
    source: Source,
    *,
    user: str | None = "user",
    winner: str = "winner",
    loser: str = "loser",
    tie: str | None = "tie",
    items: Iterable[str] | None = None,
    ignore: Iterable[str] = (),
    most_items: int = 10_000,
    name: str | None = None,
    backend: Backend = None,
) -> ComparisonRows:
    """Check a table of comparisons, row by row, in the engine.

    Args:
        source: path of a Parquet, CSV or TSV file, or an Ibis table.
        user, winner, loser, tie, items, ignore: as for :func:`~privrank_jax.datasets.read_comparisons`.
        most_items: largest number of items for which a matrix of win counts is made.
        name: name of the data; default: the name of the file.
        backend: DuckDB through Ibis, for a file; default: a new one, within 1 GB of memory.

    Returns:
        :class:`ComparisonRows`, not computed yet except for what the checks need.

    Raises:
        DataError: as :func:`~privrank_jax.datasets.read_comparisons`; of a Parquet file with the number of the row.
            More items than ``most_items``; a column of counts, which that function reads.
    """
    public = None if items is None else public_items(items)
    raw = RawTable.open(source, name, "comparison", backend)
    with explained(raw.path):
        roles = {"user": user, "winner": winner, "loser": loser, "tie": tie}
        columns, ignored = raw.columns(roles)
        header = without(raw.name, raw.table.columns, ignore)
        check_no_counts(raw.name, (one for one in ignored if one in header))
        check_outcomes(raw.name, header, winner, loser)
        both = columns["winner"], columns["loser"]
        names = item_names(raw, both, public, most_items, header=header)
        people = People(0, 0)
        if "user" in columns:
            people = check_users(raw, columns["user"])
        cells = raw.table.select(**{role: raw.text(column) for role, column in columns.items()})
        rows, facts = _coded_rows(raw, columns, cells, names)
    return ComparisonRows(
        rows=rows,
        item_names=names,
        has_users="user" in columns,
        num_users=people.users,
        comparisons_per_user=people.most,
        num_rows=facts["rows"],
        ties=facts["ties"] or 0,
        name=raw.name,
        notes=(
            *notes_on_comparisons(dict.fromkeys(columns, 0), seen_items=public is None),
            *not_used(ignored),
        ),
        public=public_facts(seen_items=public is None),
        users_alike=people.alike,
        _raw=raw,
    )


def _coded_rows(
    raw: RawTable, columns: dict[str, str], cells: Any, names: tuple[str, ...]
) -> tuple[Table, dict[str, int]]:
    """The rows with codes for names, their number, and the number of ties."""
    import ibis

    codes = {name: code for code, name in enumerate(names)}
    cells = cells.mutate(tied=_tied(raw, columns, cells))
    itself = (cells.winner == cells.loser).cast("int64").sum()
    ties = cells.tied.cast("int64").sum()
    facts = one_row(cells.aggregate(rows=cells.count(), ties=ties, itself=itself))
    if facts["itself"]:
        raise _with_itself(raw, columns)
    rows = coded(coded(cells, "winner", codes), "loser", codes)
    won = ibis.ifelse(rows.winner < rows.loser, 2, 0)
    kept = {"user": rows.user} if "user" in columns else {}
    rows = rows.select(
        **kept,
        low=ibis.least(rows.winner, rows.loser),
        high=ibis.greatest(rows.winner, rows.loser),
        outcome=ibis.ifelse(rows.tied, 1, won).cast("int8"),
    )
    return rows, facts


def _tied(raw: RawTable, columns: dict[str, str], cells: Any) -> Expression:
    """Mark the rows that are ties, by the spellings of yes that occur."""
    import ibis

    if "tie" not in columns:
        return ibis.literal(False)
    found = cells.select("tie").distinct().limit(_MOST_TIE_CELLS).to_pyarrow().to_pylist()
    words, yes = TieCodes(), []
    for cell in in_order(row["tie"] for row in found):
        try:
            if words[cell]:
                yes.append(cell)
        except BadCell as error:
            raise raw.refuse(error, columns["tie"], is_name(columns["tie"], cell)) from None
    return ibis.coalesce(cells.tie.isin(yes), False) if yes else ibis.literal(False)


def _with_itself(raw: RawTable, columns: dict[str, str]) -> DataError:
    def wrong(rows: Table) -> Expression:
        return rows[columns["winner"]].cast("string") == rows[columns["loser"]].cast("string")

    rows = raw.table
    item = rows.filter(wrong(rows))[columns["loser"]].cast("string").min().to_pyarrow().as_py()
    error = BadCell(f"item {item!r} is compared with itself: correct or remove the row")
    return raw.refuse(error, columns["loser"], wrong)
