r"""Tables of engines, through Ibis: comparisons and rankings of any number, bounded and counted where they are.

The expressions are those of Ibis, so what runs in a DuckDB of this process runs on a cluster of Spark as well. Ibis is
imported where it is needed, so that importing this module works without it.

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
import glob
import secrets
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from privrank_jax._counting import count_on_host
from privrank_jax._neighbors import of_column
from privrank_jax._validate import check_positive
from privrank_jax.comparisons import WinCounts, default_float
from privrank_jax.data.ballots import (
    check_ranks,
    levels_of,
    note_of,
    number_of_users,
    read_items,
    shape_of,
)
from privrank_jax.data.columns import Column, Table
from privrank_jax.data.comparisons import plan_of, read_planned
from privrank_jax.data.errors import BadCell, DataError, quoted
from privrank_jax.data.file import File, Origin
from privrank_jax.data.header import spelled_in, without
from privrank_jax.data.kinds import Data, named_once
from privrank_jax.data.names import MISSING, Names, named_twice, person
from privrank_jax.data.reading import Reading
from privrank_jax.data.roles import ComparisonRoles, RankingRoles, Roles, later
from privrank_jax.data.table import of_arrow

if TYPE_CHECKING:
    from privrank_jax.aggregation.weights import PairWeights

# Ibis knows the columns of a table and the operations of their types only at run time.
Relation: TypeAlias = Any
Expression: TypeAlias = Any

MOST_ITEMS, MOST_RANKED_ITEMS = 10_000, 2_000  # for which a table of all pairs is made
_MOST_CELLS = 20_000_000  # distinct cells of two items and an outcome, or of an item and a rank
_LARGE = 2**20  # rows, from which on an engine is faster than memory
_MOST_SEEN = 2**20  # ranks of which is seen whether they look like any
_MOST_NAMED = 3  # pairs of users that a remark names
_DIGITS = 16  # hexadecimal digits of the hash that are kept; equal lots are ordered by number


class Source:
    """A table of an engine: its columns as text.

    Args:
        relation: Ibis table.
        name: of the data.
        origin: of a file.
    """

    def __init__(self, relation: Relation, name: str, origin: Origin | None = None) -> None:
        self.relation, self.name, self.origin = relation, name, origin or Origin(None)
        self.header = list(relation.columns)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}; rows not shown>"  # Ibis shows the rows of a table in memory

    def texts(self, columns: Sequence[str]) -> Relation:
        """Some columns as text, by which cells and names are compared; a null is a blank.

        Raises:
            DataError: their cells are structures or bytes.
        """
        cells = {}
        for column in columns:
            dtype = self.relation[column].type()
            if dtype.is_nested() or dtype.is_binary() or dtype.is_json() or dtype.is_geospatial():
                raise DataError(
                    f"{self.name}: column {column!r} is of type {dtype}: store it as text or whole numbers"
                )
            cells[column] = self.relation[column].cast("string").fill_null("")
        return self.relation.select(**cells)

    def table(self) -> Table:
        """The rows in memory, as columns are asked for."""

        def columns(names: Sequence[str]) -> list[Column]:
            if not names:
                return []
            found = self.relation.select(*map(self._cells, names)).to_pyarrow()
            return [of_arrow(name, found.column(k), self.name) for k, name in enumerate(names)]

        return Table(self.name, self.header, columns, lambda row: f"row {row + 1}")

    def _cells(self, column: str) -> Expression:
        dtype = self.relation[column].type()
        nested = dtype.is_array() or dtype.is_struct() or dtype.is_binary() or dtype.is_map()
        return (
            self.relation[column] if nested else self.relation[column].cast("string").name(column)
        )


def of_parquet(file: File, origin: Origin) -> Source | None:
    """A large Parquet file as a table of a DuckDB of its own; None for a small one, or without Ibis or PyArrow."""
    try:
        import duckdb  # noqa: F401
        import ibis
        from pyarrow import ArrowException, parquet
    except ImportError:
        return None
    try:
        if parquet.read_metadata(file.path).num_rows < _LARGE:
            return None
        relation = ibis.duckdb.connect().read_parquet(glob.escape(str(file.path)))
        renamed = list(relation.columns) != list(parquet.read_schema(file.path).names)
    except (OSError, ArrowException):
        return None
    return None if renamed else Source(relation, file.name, origin)


def of_spark(frame: Any) -> Relation:
    """A data frame of Spark as a table of Ibis, whose expressions run on its cluster."""
    import ibis

    view = f"privrank_{secrets.token_hex(8)}"
    frame.createOrReplaceTempView(view)
    return ibis.pyspark.connect(frame.sparkSession).table(view)


def one_row(expression: Relation) -> dict[str, Any]:
    """The single row of an aggregate."""
    return expression.to_pyarrow().to_pylist()[0]


def held(expression: Relation) -> Relation:
    """The rows of a table, computed once and held by the engine."""
    backend = expression.get_backend()
    if backend.name == "duckdb":  # Ibis 12 can't drop what it caches there, with sqlglot 30
        return backend.create_table(f"held_{secrets.token_hex(8)}", expression, temp=True)
    expression.limit(0).to_pyarrow()  # moves tables of this process there, as caching does not
    return expression.cache()


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Rows(Data):
    """What comparisons and rankings in an engine have in common; ``rows`` are checked, with ``user`` as text."""

    rows: Relation
    people: People
    item_names: tuple[str, ...]
    source: Source
    roles: Any

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
        found = later("reader:KINDS")[self.roles.KIND].read(self.source.table(), self.roles)
        return dataclasses.replace(found, origin=self.origin)


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class ComparisonRows(_Rows):
    """N comparisons of m named items, checked, still in the engine; the twin of :class:`Comparisons`.

    Attributes:
        rows: Ibis table: ``code``, int32, 3(low m + high) + outcome, of two indices low < high into ``item_names`` and
            the outcome, 2 where low won, 1 for a tie, 0 where high won; and ``user``, text, where the data name users.
        people: the number of users and the most comparisons of one. Private, as are the next two.
        codes: (C,) int32, the codes that occur.
        number: (C,) int64, how often each of them does.
        source, roles: the table of the engine, and what was told of it.

    Other attributes are those of all data.
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
        found = each.aggregate(
            one=lambda t: t.user.min(), other=lambda t: t.user.max()
        ).to_pyarrow()
        codes, one, other = (column.to_numpy() for column in found.columns)
        _, users = np.unique(np.concatenate([one, other]).astype(str), return_inverse=True)
        ends = (np.tile(np.where(few[end], end, -1), 2) for end in self._decoded(codes)[:2])
        return named_once(self.item_names, users, *ends)

    def win_counts(self, max_per_user: int | None = None, salt: str | None = None) -> WinCounts:
        """Win counts of all rows, or of at most ``max_per_user`` of each user; JAX's default float.

        Args:
            max_per_user: L >= 1.
            salt: decides which rows stay; for a release ``secrets.token_hex()``.

        Raises:
            ValueError: a bound without a salt or users, or one that is not positive.
        """
        codes, number = self.codes, self.number
        if max_per_user is not None:
            if salt is None:
                raise ValueError("max_per_user needs a salt: secrets.token_hex() for a release.")
            if not self.has_users:
                raise ValueError(f"{self.name} does not say who compared: no users to bound.")
            rows = bounded_rows(self.rows, max_per_user, salt, ["code"])
            counted = rows.group_by("code").aggregate(number=rows.count()).to_pyarrow()
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
        source, roles: the table of the engine, and what was told of it.

    Other attributes are those of all data.
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
        counted = votes.mutate(ahead=votes.ahead.cast("int64")).to_pyarrow()
        low, high, number, more = (column.to_numpy() for column in counted.columns)
        both, twice = np.zeros((2, self.num_items, self.num_items), np.int64)
        both[low, high] = both[high, low] = number
        twice[low, high], twice[high, low] = number + more, number - more
        return both, twice


# --- reading ------------------------------------------------------------------------------------------


class _Distinct(NamedTuple):
    """The cells that differ, as a small table, and the rows in the engine, in which they are texts."""

    table: Table
    number: Int[np.ndarray, "cells"]
    texts: Relation
    met: Any

    def coded(self, cells: np.ndarray, codes: Mapping[str, np.ndarray]) -> Relation:
        """The rows that have some of these cells, with codes in the place of texts; int32."""
        import ibis
        import pyarrow

        own = [name for name in self.met.column_names if name != "number"]
        values = {name: pyarrow.array(code, pyarrow.int32()) for name, code in codes.items()}
        values |= {name: self.met.column(name).take(pyarrow.array(cells)) for name in own}
        joined = self.texts.inner_join(ibis.memtable(pyarrow.table(values)), own)
        return joined.select(*(name for name in ("user", *codes) if name in joined.columns))


def _distinct(source: Source, columns: Sequence[str], user: str | None) -> _Distinct:
    """The distinct cells of some columns."""
    # Columns of a table may have the names of those that are made here.
    own = {name: f"c{k}" for k, name in enumerate(columns)}
    renamed = {new: old for old, new in own.items()} | ({"user": user} if user else {})
    texts = source.texts(list(renamed.values())).rename(renamed)
    distinct = texts.group_by(*own.values()).aggregate(number=texts.count())
    met = distinct.order_by(*own.values()).limit(_MOST_CELLS + 1).to_pyarrow()
    if len(met) > _MOST_CELLS:
        raise DataError(f"{source.name}: more than {_MOST_CELLS:,} different rows, too many")

    def read(names: Sequence[str]) -> list[Column]:
        return [of_arrow(name, met.column(own[name]), source.name) for name in names]

    header = [column for column in source.header if column != user]
    table = Table(source.name, header, read, lambda _: "a row")
    return _Distinct(table, met.column("number").to_numpy(), texts, met)


def scan(source: Source, roles: Roles) -> Any:
    """Comparisons, or rankings with a row for each user and item, checked in the engine; None for all other data.

    Raises:
        DataError: as of tables in memory; too many items for a table of all pairs.
    """
    name, header = source.name, without(source.name, source.header, roles.ignore)
    user = None if roles.user is None else spelled_in(header, roles.user)
    user = user if user in header else None
    if isinstance(roles, ComparisonRoles) and plan_of(name, header, roles).by_cells:
        return _scan_comparisons(source, roles, user)
    if type(roles) is RankingRoles and user is not None and not roles.blank:
        form, columns = shape_of(name, header, roles)
        if form == "long":
            return _scan_long(source, roles, columns, user)
    return None


def _about(source: Source, roles: Roles, read: Any, user: str | None) -> dict[str, Any]:
    """What data in an engine say of themselves: as their distinct cells do, with users."""
    fields = [field.name for field in dataclasses.fields(Data)]
    return {
        **{one: getattr(read, one) for one in (*fields, "item_names")},
        "user_names": (),
        "people": People(0, 1) if user is None else check_users(source, user),
        "source": source,
        "roles": roles,
        "origin": source.origin,
    }


def _scan_comparisons(source: Source, roles: ComparisonRoles, user: str | None) -> ComparisonRows:
    plan = plan_of(source.name, source.header, roles)
    cells = _distinct(source, list(dict.fromkeys(plan.columns.values())), user)
    read = read_planned(
        cells.table, dataclasses.replace(plan, roles=dataclasses.replace(roles, user=None))
    )
    _check_items(source.name, read.num_items, MOST_ITEMS)
    low, high = np.minimum(read.winners, read.losers), np.maximum(read.winners, read.losers)
    outcome = np.where(read.tied, 1, np.where(read.winners < read.losers, 2, 0))
    codes = 3 * (low * read.num_items + high) + outcome
    different, at = np.unique(codes, return_inverse=True)
    about = _about(source, roles, read, user)
    if user is not None:
        about["notes"] = tuple(note for note in about["notes"] if "names no users" not in note)
        about["users_are"] = of_column(str(roles.user))
    return ComparisonRows(
        rows=cells.coded(np.arange(codes.size), {"code": codes}),
        codes=different,
        number=np.bincount(at, cells.number).astype(np.int64),
        **about,
    )


def _scan_long(
    source: Source, roles: RankingRoles, columns: Mapping[str, str], user: str
) -> RankingRows:
    name = source.name
    cells = _distinct(source, list(columns.values()), user)
    reading = Reading(cells.table, dataclasses.replace(roles, user=None), columns)
    codes, some = read_items(reading)
    levels = levels_of(reading, [reading.cells["rank"]], None)[0][:, 0]
    reading.stop(codes.size)
    order, place = reading.items.in_order()
    codes = np.array(place, np.int64)[codes]
    rows = held(cells.coded(some, {"item": codes, "rank": levels}))
    _check_once(source, rows, reading.columns["item"], order)
    people = check_users(source, user)
    users = number_of_users(name, roles, people.users)
    _check_items(name, len(order), MOST_RANKED_ITEMS)
    rows = rows.filter(rows["rank"] >= 0)
    each = rows.group_by("user").aggregate(number=rows.count())
    full = one_row(each.aggregate(full=each.count(where=each.number == len(order))))["full"]
    if levels.max(initial=-1) >= 0 and not roles.ranks:
        ranks = _some_ranks(rows, each, len(order))
        check_ranks(name, [reading.columns["rank"]], ranks, largest=int(levels.max()))
    known = levels >= 0
    said = reading.facts(order, notes=[note_of(roles)], seen_users=roles.num_users is None)
    said |= {"user_names": (), "users_are": of_column(str(roles.user))}
    said["notes"] = tuple(note for note in said["notes"] if "names no users" not in note)
    return RankingRows(
        rows=rows,
        people=people,
        num_users=users,
        partial_users=users - full,
        ranked=np.bincount(codes[known], cells.number[some][known], len(order)).astype(np.int64),
        missing=roles.missing or "last",
        source=source,
        roles=roles,
        origin=source.origin,
        **said,
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


def _some_ranks(rows: Relation, each: Relation, items: int) -> np.ndarray:
    """The ranks of all users, or of as many as memory holds, chosen by hash."""
    lot = each.user.hexdigest("sha256")
    some = each.order_by(lot).limit(max(_MOST_SEEN // items, 1)).select("user")
    found = rows.semi_join(some, "user").to_pyarrow()
    users = found["user"].combine_chunks().dictionary_encode()
    ranks = np.full((len(users.dictionary), items), -1, np.int32)
    ranks[users.indices.to_numpy(), found["item"].to_numpy()] = found["rank"].to_numpy()
    return ranks


# --- users --------------------------------------------------------------------------------------------


class People(NamedTuple):
    """The number of users of a table, the most rows of one, and pairs of names that differ by case alone."""

    users: int
    most: int
    alike: tuple[tuple[str, str], ...] = ()


def check_users(source: Source, column: str) -> People:
    """Check the users of a table: names are compared in the engine, but for those with blanks or non-ASCII letters.

    Raises:
        DataError: a user is missing or named twice.
    """
    table = source.texts([column]).rename(user=column)
    counted = table.group_by("user").aggregate(rows=table.count())
    name = counted.user
    capitals = name != name.lower()
    odd = (name == "") | name.re_search("[^!-~]") | name.lower().isin(sorted(MISSING))
    odd = odd | (capitals & name.contains("@"))  # case makes no other user of an e-mail address
    counts = {"odd": odd.sum(), "capitals": capitals.sum()}
    found = one_row(counted.aggregate(users=counted.count(), most=counted.rows.max(), **counts))
    if found["odd"]:
        _check_odd(source, column, counted, odd)
    alike = []
    if found["capitals"]:
        both = counted.group_by(low=name.lower()).aggregate(one=name.min(), other=name.max())
        pairs = both.filter(both.one != both.other).order_by("low").limit(_MOST_NAMED)
        alike = [(pair["one"], pair["other"]) for pair in pairs.to_pyarrow().to_pylist()]
    return People(found["users"], found["most"] or 0, tuple(alike))


def _check_odd(source: Source, column: str, counted: Relation, odd: Expression) -> None:
    """Check names that are not plain words: of two spellings of a name, at least one is not in its normal form."""
    import ibis
    import pyarrow

    names, normal = Names("user"), {}
    try:
        for batch in (
            counted.filter(odd).order_by("user").to_pyarrow().to_batches(max_chunksize=65536)
        ):
            for name in batch.column("user").to_pylist():
                _ = names[name]
                if person(name) != name:
                    normal[person(name)] = name
        suspects = ibis.memtable(pyarrow.table({"user": pyarrow.array(normal, pyarrow.string())}))
        for twin in counted.semi_join(suspects, "user").limit(1).to_pyarrow().to_pylist():
            raise named_twice("user", twin["user"], normal[twin["user"]])
    except BadCell as error:
        raise DataError(f"{source.name}, column {column!r}: {error}") from None


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
