r"""Comparisons and rankings of any number, checked, bounded and counted in an engine, without holding a row in Python.

All rows with the same cells say the same. So the distinct cells of items, outcomes and ranks are read by the reader of
tables in memory like a small file, with its checks and messages, and what they say is joined to the rows in the engine.

**At most L comparisons of each user** (:func:`bounded_rows`) are chosen by a keyed hash of the user, never by the
answers. Every user's rows are put in order by their content (which items met, then who won) and numbered 0, 1, ...; row
k of user u draws the lot SHA-256(salt : k : u), and the L rows with the smallest lots stay.

*Sensitivity.* For every salt, known or not, the rows kept of one user are a function of that user's rows alone: no lot
and no number depends on another user, on the order of the rows or on the engine. So a data set and its neighbor, which
differ in the rows of one user, keep the same rows of all other users, and at most L of that user in either. A statistic
that adds up over rows hence moves as if one user had given L rows and replaced them, or come or gone with them; the
noise calibrated for L rows makes the release private for every fixed salt, and so for a salt drawn without looking at
the data. None of this depends on the quality of the hash or on the secrecy of the salt.

*Flips.* Where who compared what is public (adjacency ``flip``), the number of *kept* comparisons of each pair must be
public too. It is: a user's rows are ordered by pair before outcome, so that other outcomes leave row k the same pair,
and the lots do not depend on the row. For a given salt the pairs kept are a function of the pairs given.

*Fairness* is the purpose of the salt, which a release takes from the operating system's entropy and a rehearsal from
its seed. As long as the lots are unpredictable, every L rows of a user are equally likely to stay, whatever their
outcomes: the numbering is a function of the content, the choice of numbers is not. Equal rows are interchangeable.

**Rankings** need no such choice. Of every pair of items each user gives 1 to the item ranked first, or 1/2 to both
(:mod:`privrank_jax.aggregation.weights`), however many items the user ranked; a second rank of an item is refused. So
replacing one user moves every count by at most 1.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from privrank_jax._counting import count_on_host
from privrank_jax._validate import check_positive
from privrank_jax.comparisons import WinCounts, default_float
from privrank_jax.data.columns import Column, Faults, Table
from privrank_jax.data.comparisons import Plan, read_planned
from privrank_jax.data.engine import ROW, People, Relation, Source, check_users, held, one_row
from privrank_jax.data.errors import DataError, quoted
from privrank_jax.data.file import Origin
from privrank_jax.data.kinds import NO_USERS, Data, Meetings, meetings_of_pairs, named_once
from privrank_jax.data.rankings import Long, read_long
from privrank_jax.data.ranks import check_like_ranks, check_ranks_of_few, unlike_ranks

if TYPE_CHECKING:
    from privrank_jax.aggregation.weights import PairWeights

MOST_ITEMS, MOST_RANKED_ITEMS = 10_000, 2_000  # for which a table of all pairs is made
_MOST_CELLS = 20_000_000  # distinct cells of two items and an outcome, or of an item and a rank
_MOST_SEEN = 2**20  # ranks of which is seen whether they look like any
_SAID = ("item_names", "name", "reading", "remarks", "public", "users_are")
_DIGITS = 16  # hexadecimal digits of the hash that are kept; equal lots are ordered by number


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Rows(Data):
    """What comparisons and rankings in an engine have in common; ``rows`` are checked, with ``user`` as text."""

    rows: Relation
    people: People
    item_names: tuple[str, ...]
    name: str
    notes: tuple[str, ...]
    reading: tuple[str, ...]
    remarks: tuple[str, ...]
    public: tuple[str, ...]
    users_are: str
    source: Source
    again: Callable[[Table], Any]
    origin: Origin | None = None

    user_names = ()

    @property
    def has_users(self) -> bool:
        """Whether the data name users."""
        return self.people.users > 0

    @property
    def users_alike(self) -> tuple[tuple[str, str], ...]:
        """Up to three pairs of users whose names differ by case alone. Private."""
        return self.people.alike

    def in_memory(self) -> Any:
        """The same data as arrays, for what needs rows one by one."""
        return dataclasses.replace(self.again(self.source.table()), origin=self.origin)

    def found(self, counted: Relation) -> Any:
        """A table of counts in memory; :class:`DataError` if the file changed since it was checked."""
        with self.source.explained():
            found = counted.to_pyarrow()
        self.source.origin.check_unchanged()
        return found


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ComparisonRows(_Rows):
    """N comparisons of m named items, checked, still in the engine; the twin of :class:`Comparisons`.

    Attributes:
        rows: Ibis table: ``code``, int32, 3(low m + high) + outcome, of two indices low < high into ``item_names`` and
            the outcome, 2 where low won, 1 for a tie, 0 where high won; and ``user``, text, where the data name users.
        people: the number of users and the most comparisons of one. Private, as are the next two.
        codes: (C,) int32, the codes that occur.
        number: (C,) int64, how often each of them does.
        item_names, name, notes, reading, remarks, public, users_are, origin: as of :class:`Comparisons`.
        source, again: the table of the engine, and its reader in memory.
    """

    codes: Int[np.ndarray, "codes"]
    number: Int[np.ndarray, "codes"]

    questionnaire = weights = covariates = times = None  # of these nothing is known

    def __len__(self) -> int:
        return int(self.number.sum())

    @property
    def num_users(self) -> int:
        """Number of users, 0 if the data name none."""
        return self.people.users

    @property
    def comparisons_per_user(self) -> int:
        """The largest number of comparisons of one user. Private."""
        return self.people.most

    @property
    def ties(self) -> int:
        """Number of ties. Private."""
        return int(self.number[self.codes % 3 == 1].sum())

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone was shown, or one row where the data name no users. Private."""
        low, high, _ = self._decoded(self.codes)
        rows = np.bincount(low, self.number, self.num_items)
        rows = rows + np.bincount(high, self.number, self.num_items)
        few = (rows > 0) & (rows <= self.comparisons_per_user)
        some = self.codes[few[low] | few[high]]
        if not (self.has_users and some.size):
            return tuple(self.item_names[k] for k in np.flatnonzero(few))
        each = self.rows.filter(self.rows.code.isin(some.tolist())).group_by("code")
        found = self.found(each.aggregate(one=lambda t: t.user.min(), other=lambda t: t.user.max()))
        codes, one, other = (column.to_numpy() for column in found.columns)
        _, users = np.unique(np.concatenate([one, other]).astype(str), return_inverse=True)
        ends = (np.tile(np.where(few[end], end, -1), 2) for end in self._decoded(codes)[:2])
        return named_once(self.item_names, users, *ends)

    def meetings(self, items: Sequence[int]) -> Meetings:
        """As of :class:`Comparisons`."""
        low, high, _ = self._decoded(self.codes)
        return meetings_of_pairs(low, high, self.number, self.num_items, items)

    def win_counts(self, max_per_user: int | None = None, salt: str | None = None) -> WinCounts:
        """Win counts of all rows, or of at most ``max_per_user`` of each user; JAX's default float.

        Args:
            max_per_user: L >= 1.
            salt: decides which rows stay; for a release ``secrets.token_hex()``.

        Raises:
            ValueError: a bound without a salt or users, or one that is not positive.
            DataError: the file changed since it was checked.
        """
        codes, number = self.codes, self.number
        if max_per_user is not None:
            if salt is None:
                raise ValueError("max_per_user needs a salt: secrets.token_hex() for a release.")
            if not self.has_users:
                raise ValueError(f"{self.name} does not say who compared: no users to bound.")
            rows = bounded_rows(self.rows, max_per_user, salt, ["code"])
            counted = self.found(rows.group_by("code").aggregate(number=rows.count()))
            codes, number = (column.to_numpy() for column in counted.columns)
        low, high, outcome = self._decoded(codes)
        turned, tied = outcome == 0, outcome == 1
        first, second = np.where(turned, high, low), np.where(turned, low, high)
        matrix = count_on_host(first, second, self.num_items, number, tied)
        dtype = default_float()
        return WinCounts(jnp.asarray(matrix, dtype), ties=jnp.asarray(number[tied].sum(), dtype))

    def ties_of_pairs(self) -> Float[np.ndarray, "items items"]:
        """``(m, m)`` symmetric, how many comparisons of each pair are ties. Private."""
        low, high, outcome = self._decoded(self.codes)
        found = np.zeros((self.num_items,) * 2)
        np.add.at(found, (low, high), self.number * (outcome == 1))
        return found + found.T

    def _decoded(self, codes: np.ndarray) -> tuple[np.ndarray, ...]:
        """The two items of each code, the first before the second, and the outcome."""
        return np.unravel_index(codes, (self.num_items, self.num_items, 3))


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class RankingRows(_Rows):
    """The rankings of m named items by n users, checked, still in the engine; the twin of :class:`Rankings`.

    Attributes:
        rows: Ibis table, one row for each item that a user ranked: ``user``; ``item``, int32 index into
            ``item_names``; ``rank``, int32, the less the better, equal ranks ties.
        people: the users who have rows.
        num_users: n, including users who ranked nothing.
        partial_users: number of users who did not rank all items. Private.
        ranked: (m,) int64, how many users ranked each item. Private.
        missing: how an unranked item is treated, ``"last"`` or ``"unknown"``.
        item_names, name, notes, reading, remarks, public, users_are, origin: as of :class:`Rankings`.
        source, again: the table of the engine, and its reader in memory.
    """

    num_users: int
    partial_users: int
    ranked: Int[np.ndarray, "items"]
    missing: str

    whole = False

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone ranked. Private."""
        return tuple(self.item_names[k] for k in np.flatnonzero(self.ranked == 1))

    def meetings(self, items: Sequence[int]) -> Meetings:
        """As of :class:`Rankings`."""
        some, once = list(items), self.ranked.astype(float)
        met = self._votes[0][some] + np.diag(once)[some]
        return met, np.outer(once[some], once) / max(self.num_users, 1)

    def weights(self) -> PairWeights:
        """The exact share of users who rank one item before another, under the rule ``missing``.

        With n users, of whom c_i ranked i and b ranked both i and j, a of the latter with i before j and t with a tie,
        twice the count of i before j is 2a + t + (n - b) if nothing is known of an item that was not ranked. If such an
        item comes last it is 2a + t, and 2 for each of the c_i - b who ranked i alone, and 1 for each of the
        n - c_i - c_j + b who ranked neither.
        """
        from privrank_jax.aggregation.weights import PairWeights  # not for comparisons

        met, twice = self._votes
        users, once = self.num_users, self.ranked
        if self.missing == "unknown":
            twice = twice + users - met
        else:
            twice = twice + 2 * (once[:, None] - met) + users - once[:, None] - once + met
        np.fill_diagonal(twice, 0)
        return PairWeights.from_counts(twice, users)

    @functools.cached_property
    def _votes(self) -> tuple[np.ndarray, np.ndarray]:
        """Of two items, how many users ranked both, and 2a + t: the rows of a user meet one another in one join."""
        rows, other = self.rows, self.rows.view()
        met = rows.inner_join(other, ["user", rows.item < other.item], rname="{name}_2")
        ahead = (met.rank_2 - met["rank"]).sign().sum()
        votes = met.group_by(low=met.item, high=met.item_2).aggregate(both=met.count(), ahead=ahead)
        counted = self.found(votes.mutate(ahead=votes.ahead.cast("int64")))
        low, high, number, more = (column.to_numpy() for column in counted.columns)
        both, twice = np.zeros((2, self.num_items, self.num_items), np.int64)
        both[low, high] = both[high, low] = number
        twice[low, high], twice[high, low] = number + more, number - more
        return both, twice


# --- reading ------------------------------------------------------------------------------------------


class _Cells(NamedTuple):
    """The cells that differ, as a small table, and the rows in the engine, in which they are texts."""

    table: Table
    number: Int[np.ndarray, "cells"]
    texts: Relation
    met: Any

    def coded(self, cells: np.ndarray, codes: Mapping[str, np.ndarray]) -> Relation:
        """The rows that have some of these cells, with codes in the place of texts; int32."""
        import ibis
        import pyarrow

        own = [name for name in self.met.column_names if name not in ("number", "first")]
        values = {name: pyarrow.array(code, pyarrow.int32()) for name, code in codes.items()}
        values |= {name: self.met.column(name).take(pyarrow.array(cells)) for name in own}
        joined = self.texts.inner_join(ibis.memtable(pyarrow.table(values)), own)
        return joined.select(*(name for name in ("user", *codes) if name in joined.columns))


def _cells(source: Source, columns: Sequence[str], user: str | None) -> _Cells:
    """The distinct cells of some columns, in order of their first rows, by which messages name them."""
    # Columns of a file may have the names of those that are made here.
    own = {name: f"c{k}" for k, name in enumerate(columns)}
    renamed = {new: old for old, new in own.items()} | ({"user": user} if user else {})
    texts = source.texts(list(renamed.values())).rename(renamed)
    first = {"first": texts[ROW].min()} if source.numbered else {}
    distinct = texts.group_by(*own.values()).aggregate(number=texts.count(), **first)
    met = distinct.limit(_MOST_CELLS + 1).to_pyarrow()
    if len(met) > _MOST_CELLS:
        raise DataError(f"{source.name}: more than {_MOST_CELLS:,} different rows, too many")
    met = met.sort_by("first") if first else met

    def read(names: Sequence[str]) -> list[Column]:
        return [source.column(name, met.column(own[name])) for name in names]

    def where(row: int) -> str:
        return f"row {met.column('first')[row].as_py() + 1}" if first else "a row"

    table = Table(source.name, source.header, read, where)
    return _Cells(table, met.column("number").to_numpy(), texts, met)


def scan_comparisons(source: Source, plan: Plan) -> ComparisonRows:
    """Check comparisons in the engine, by a plan in which rows with the same cells say the same (``plan.by_cells``).

    Raises:
        DataError: as :func:`~privrank_jax.data.comparisons.read_comparisons`; too many items for a table of all pairs;
            the file changed while it was read.
    """
    user, shared = plan.columns.get("user"), plan.but("user")
    with source.explained():
        cells = _cells(source, list(shared.columns.values()), user)
        people = check_users(source, user) if user else People(0, 1)
    source.origin.check_unchanged()
    read = read_planned(cells.table, shared)
    _check_items(source.name, read.num_items, MOST_ITEMS)
    low, high = np.minimum(read.winners, read.losers), np.maximum(read.winners, read.losers)
    outcome = np.where(read.tied, 1, np.where(read.winners < read.losers, 2, 0))
    codes = 3 * (low * read.num_items + high) + outcome
    different, at = np.unique(codes, return_inverse=True)
    return ComparisonRows(
        rows=cells.coded(np.arange(codes.size), {"code": codes}),
        people=people,
        codes=different,
        number=np.bincount(at, cells.number).astype(np.int64),
        source=source,
        again=functools.partial(read_planned, plan=plan),
        notes=tuple(note for note in read.notes if user is None or note != NO_USERS),
        **{name: getattr(read, name) for name in _SAID},
    )


def scan_long(source: Source, table: Table, form: Long) -> RankingRows:
    """Check rankings with a row for each user and item in the engine, as the form of the table says.

    Raises:
        DataError: as :func:`~privrank_jax.data.rankings.read_long`; too many items for a table of all pairs; the file
            changed while it was read.
    """
    user, item, rank = form.columns.values()
    with source.explained():
        cells = _cells(source, [item, rank], user)
        people = check_users(source, user)
        faults = Faults(cells.table)
        some, codes, levels, _, names = form.read(faults, *cells.table.columns([item, rank]))
        faults.stop()
        order, place = names.in_order()
        codes = np.array(place, np.int64)[codes]
        rows = held(cells.coded(some, {"item": codes, "rank": levels}))
        _check_once(source, rows, item, order)
        users = form.users(source.name, people.users)
        if not users:
            raise DataError(f"{source.name} has no rows below its header: there is nothing to rank")
        _check_items(source.name, len(order), MOST_RANKED_ITEMS)
        rows = rows.filter(rows["rank"] >= 0)
        each = rows.group_by("user").aggregate(number=rows.count())
        full = one_row(each.aggregate(full=each.count(where=each.number == len(order))))["full"]
        if form.cells is None and levels.max(initial=-1) >= 0:
            check_ranks_of_few(source.name, rank, int(levels.max()), len(order))
            _check_like_ranks(source.name, rows, each, len(order))
    source.origin.check_unchanged()
    known = levels >= 0
    return RankingRows(
        rows=rows,
        people=people,
        num_users=users,
        partial_users=users - full,
        ranked=np.bincount(codes[known], cells.number[some][known], len(order)).astype(np.int64),
        source=source,
        again=functools.partial(read_long, form=form),
        **form.facts(table, order),
    )


def _check_items(name: str, items: int, most: int) -> None:
    if items < 2:
        raise DataError(f"{name}: a ranking needs at least two items, found {items}")
    if items > most:
        raise DataError(
            f"{name} has {items:,} items; a table of all pairs is kept, for at most {most:,}."
        )


def _check_once(source: Source, rows: Relation, column: str, items: Sequence[str]) -> None:
    """Refuse a second row of a user and an item."""
    number = rows.group_by("user", "item").aggregate(rows=rows.count())
    for twice in number.filter(number.rows > 1).limit(1).to_pyarrow().to_pylist():
        raise DataError(
            f"{source.name}, column {column!r}: user {quoted(twice['user'])} ranks {quoted(items[twice['item']])} "
            "twice: keep one row"
        )


def _check_like_ranks(name: str, rows: Relation, each: Relation, items: int) -> None:
    """Apply the rule of :mod:`privrank_jax.data.ranks` to all users, or to as many as memory holds, chosen by hash."""
    lot = each.user.hexdigest("sha256")
    some = each.order_by(lot).limit(max(_MOST_SEEN // items, 1)).select("user")
    found = rows.semi_join(some, "user").to_pyarrow()
    users = found["user"].combine_chunks().dictionary_encode()
    ranks = np.full((len(users.dictionary), items), -1, np.int32)
    ranks[users.indices.to_numpy(), found["item"].to_numpy()] = found["rank"].to_numpy()
    check_like_ranks(name, *unlike_ranks(ranks, left_out=False))


# --- at most L rows of each user ----------------------------------------------------------------------


def bounded_rows(rows: Relation, max_per_user: int, salt: str, content: Sequence[str]) -> Relation:
    """At most ``max_per_user`` rows of each user, as an Ibis expression; the twin of ``release.exact_bound``.

    Args:
        rows: Ibis table, one row per contribution, with a column ``user``; a row without a user does not stay.
        max_per_user: L >= 1.
        salt: any text that does not depend on the data.
        content: columns with the full content of a row, the public ones (which items met) before the others.

    Raises:
        ValueError: L is not positive.
    """
    import ibis

    check_positive("max_per_user", max_per_user)
    most, rows = int(max_per_user), rows.filter(rows.user.notnull())
    sizes = rows.group_by("user").aggregate(_rows=rows.count())
    above = sizes.filter(sizes["_rows"] > most).select("user")
    number = ibis.row_number().over(group_by="user", order_by=list(content))
    drawn = rows.semi_join(above, "user").mutate(_number=number)  # the others all stay
    said = ibis.literal(f"{salt}:") + drawn._number.cast("string") + ":" + drawn.user.cast("string")
    drawn = drawn.mutate(_lot=said.hexdigest("sha256").substr(0, _DIGITS))
    place = ibis.row_number().over(group_by="user", order_by=["_lot", "_number"])
    drawn = drawn.mutate(_place=place)
    kept = drawn.filter(drawn["_place"] < most).select(*rows.columns)
    return rows.anti_join(above, "user").union(kept)
