"""Comparisons of any number, checked, bounded and counted in an engine, without holding a row in Python.

All rows with the same cells say the same. So the distinct cells of items, outcomes and ties are read by
:func:`~privrank_jax.data.comparisons.read_comparisons` like a small file, with the same checks and messages, and what
they say is joined to the rows in the engine.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from privrank_jax.comparisons import WinCounts, default_float
from privrank_jax.data.bounding import bounded_rows
from privrank_jax.data.columns import Column, Table
from privrank_jax.data.comparisons import Comparisons, Plan, read_planned
from privrank_jax.data.engine import ROW, Relation, Source, check_users, one_row
from privrank_jax.data.errors import DataError
from privrank_jax.data.file import Origin
from privrank_jax.data.kinds import NO_USERS, Meetings, meetings_of_pairs

MOST_ITEMS = 10_000
_MOST_CELLS = 20_000_000  # distinct cells of two items and an outcome


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class ComparisonRows:
    """N comparisons of m named items, checked, still in the engine; the twin of :class:`Comparisons`.

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
        notes, reading, public: as of :class:`Comparisons`.
        users_alike: up to three pairs of users whose names differ by case alone. Private.
        users_are: what one user is.
        origin: where the data come from.
    """

    rows: Relation
    item_names: tuple[str, ...]
    has_users: bool
    num_users: int
    comparisons_per_user: int
    num_rows: int
    ties: int
    name: str
    notes: tuple[str, ...]
    reading: tuple[str, ...]
    public: tuple[str, ...]
    users_alike: tuple[tuple[str, str], ...]
    users_are: str
    origin: Origin
    _source: Source
    _plan: Plan

    questionnaire = weights = covariates = times = None  # of these nothing is known
    remarks = user_names = ()

    def __len__(self) -> int:
        return self.num_rows

    def in_memory(self) -> Comparisons:
        """The same comparisons as arrays, for what needs them one by one."""
        return dataclasses.replace(
            read_planned(self._source.table(), self._plan), origin=self.origin
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {self.num_items} items; users and answers not shown>"

    @property
    def num_items(self) -> int:
        """Number m of items, compared or not."""
        return len(self.item_names)

    @property
    def sha256(self) -> str:
        """Checksum of the file that was read; "" of a table of an engine."""
        return self.origin.sha256

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone was shown, or one row where the data name no users. Private."""
        user = {"user": self.rows.user} if self.has_users else {}
        low, high = (self.rows.select(item=self.rows[end], **user) for end in ("low", "high"))
        sides = low.union(high)
        each = sides.group_by("item").aggregate(rows=sides.count())
        few = each.filter(each.rows <= (self.comparisons_per_user if self.has_users else 1))
        with self._source.explained():
            found = few.select("item").to_pyarrow()["item"].to_pylist()
            if found and self.has_users:
                some = sides.filter(sides["item"].isin(found))
                users = some.group_by("item").aggregate(users=some.user.nunique())
                found = users.filter(users.users == 1).to_pyarrow()["item"].to_pylist()
        return tuple(self.item_names[k] for k in sorted(found))

    def meetings(self, items: Sequence[int]) -> Meetings:
        """As of :class:`Comparisons`."""
        low, high, number, *_ = self._counted(self.rows)
        return meetings_of_pairs(low, high, number, self.num_items, items)

    def bounded(self, max_per_user: int, salt: str) -> Relation:
        """``rows`` with at most ``max_per_user`` of each user: :func:`~privrank_jax.data.bounding.bounded_rows`.

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
        found = self._totals(self.rows, "user")
        users = found["user"].combine_chunks().dictionary_encode().indices.to_numpy()
        low, high, number, twice = (found[name].to_numpy() for name in _TOTALS[:4])
        both = np.concatenate([twice / 2, number - twice / 2])
        some = both > 0
        places = np.tile(users, 2), np.append(low, high), np.append(high, low)
        users, winners, losers = (one[some] for one in places)
        return users, winners, losers, both[some]

    def _counted(self, rows: Relation) -> tuple[Int[np.ndarray, "pairs"], ...]:
        """The columns of :func:`pair_counts`."""
        found = self._totals(rows)
        return tuple(found[name].to_numpy() for name in _TOTALS)

    def _totals(self, rows: Relation, *by: str) -> Any:
        with self._source.explained():
            found = pair_counts(rows, *by).to_pyarrow()
        self._source.check_unchanged()
        return found


_TOTALS = ("low", "high", "comparisons", "twice_low_wins", "ties")


def pair_counts(rows: Relation, *by: str) -> Relation:
    """The comparisons of each pair that met and twice the wins of its first item, as an Ibis expression.

    Args:
        rows: columns ``low``, ``high`` and ``outcome``, as in :class:`ComparisonRows`.
        by: further columns by which to group.

    Returns:
        Table with the columns ``low``, ``high``, ``comparisons``, ``twice_low_wins`` and ``ties``, int64; a tie counts
        as half a win for each item.
    """
    twice = rows.outcome.cast("int64").sum().cast("int64")
    ties = (rows.outcome == 1).cast("int64").sum().cast("int64")
    return rows.group_by(*by, "low", "high").aggregate(
        comparisons=rows.count(), twice_low_wins=twice, ties=ties
    )


def scan_comparisons(source: Source, plan: Plan) -> ComparisonRows:
    """Check a table of comparisons, row by row, in the engine.

    Args:
        source: the table.
        plan: its columns, in which rows with the same cells say the same (``plan.by_cells``).

    Returns:
        :class:`ComparisonRows`, not computed yet except for what the checks need.

    Raises:
        DataError: as :func:`~privrank_jax.data.comparisons.read_comparisons`; more items than a table of all pairs is
            kept for.
    """
    import ibis
    import pyarrow

    people, shared = plan.columns.get("user"), plan.but("user")
    # Columns of a file may have the names of those that are made here.
    own = {name: f"c{k}" for k, name in enumerate(shared.columns.values())}
    columns = list(own.values())
    renamed = {new: old for old, new in own.items()} | ({"who": people} if people else {})
    with source.explained():
        texts = source.texts(list(renamed.values())).rename(renamed)
        first = {"first": texts[ROW].min()} if source.numbered else {}
        distinct = texts.group_by(*columns).aggregate(number=texts.count(), **first)
        size = one_row(distinct.aggregate(size=distinct.count()))["size"]
        if size > _MOST_CELLS:
            raise DataError(f"{source.name}: too many different comparisons, {size:,}, to check")
        met = (distinct.order_by("first") if first else distinct).to_pyarrow()
        named = check_users(source, people) if people else None
    read = read_planned(_small(source, met, own), shared)
    if read.num_items > MOST_ITEMS:
        raise DataError(
            f"{source.name} has {read.num_items:,} items; a table of all pairs is kept, for at most {MOST_ITEMS:,}."
        )
    low, high = np.minimum(read.winners, read.losers), np.maximum(read.winners, read.losers)
    outcome = np.where(read.tied, 1, np.where(read.winners < read.losers, 2, 0))
    coded = {name: met.column(name) for name in columns} | {
        "low": pyarrow.array(low, pyarrow.int32()),
        "high": pyarrow.array(high, pyarrow.int32()),
        "outcome": pyarrow.array(outcome, pyarrow.int8()),
    }
    joined = texts.inner_join(ibis.memtable(pyarrow.table(coded)), list(columns))
    rows = joined.select("low", "high", "outcome", **({"user": joined.who} if people else {}))
    number = met.column("number").to_numpy()
    return ComparisonRows(
        rows=rows,
        item_names=read.item_names,
        has_users=named is not None,
        num_users=named.users if named else 0,
        comparisons_per_user=named.most if named else 1,
        num_rows=int(number.sum()),
        ties=int(number[read.tied].sum()),
        name=source.name,
        notes=tuple(note for note in read.notes if people is None or note != NO_USERS),
        reading=read.reading,
        public=read.public,
        users_alike=named.alike if named else (),
        users_are=read.users_are,
        origin=source.origin,
        _source=source,
        _plan=plan,
    )


def _small(source: Source, met: Any, own: Mapping[str, str]) -> Table:
    """The distinct cells as a table, whose rows are named by the first row that has them; ``own`` renames columns."""

    def read(names: Sequence[str]) -> list[Column]:
        found = []
        for name in names:
            coded = met.column(own[name]).combine_chunks().dictionary_encode()
            codes = coded.indices.to_numpy().astype(np.int32)
            found.append(Column(name, codes, coded.dictionary.to_pylist()))
        return found

    first = met.column("first").to_pylist() if "first" in met.column_names else None
    where = (lambda _: "a row") if first is None else (lambda row: f"row {first[row] + 1}")
    return Table(source.name, source.header, read, where)
