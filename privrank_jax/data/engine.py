r"""Tables of engines, through Ibis: comparisons and rankings of any number, bounded and counted where they are.

What runs in a DuckDB of this process runs on a cluster of Spark as well. All rows with the same cells say the same. So
the distinct cells of items, outcomes and ranks are read by the reader of tables in memory like a small file, with its
checks and messages, and what they say is joined to the rows in the engine.

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
its seed: every L rows of a user are equally likely to stay, whatever their outcomes.

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
from typing import TYPE_CHECKING, Any, NamedTuple

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
from privrank_jax.data.kinds import NO_USERS, Data, named_once
from privrank_jax.data.names import MISSING, Names, named_twice, person
from privrank_jax.data.reading import Reading
from privrank_jax.data.roles import ComparisonRoles, RankingRoles, Roles, later
from privrank_jax.data.table import of_arrow

if TYPE_CHECKING:
    from privrank_jax.aggregation.weights import PairWeights

Relation = Any  # of Ibis, which knows columns and what can be done with them only at run time

MOST_ITEMS, MOST_RANKED_ITEMS = 10_000, 2_000  # for which a table of all pairs is made
_MOST_CELLS = 20_000_000  # distinct cells of two items and an outcome, or of an item and a rank
_LARGE = 2**20  # rows, from which on an engine is faster than memory
_MOST_SEEN = 2**20  # ranks of which is seen whether they look like any
_MOST_NAMED = 3  # pairs of users that a remark names
_DIGITS = 16  # hexadecimal digits of the hash that are kept; equal lots are ordered by number


class Source:
    """A table of an engine.

    Args:
        relation: Ibis table.
        name: of the data.
        origin: of a file.
    """

    def __init__(self, relation: Relation, name: str, origin: Origin | None = None) -> None:
        self.relation, self.name, self.origin = relation, name, origin or Origin(None)
        self.header = list(relation.columns)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}; rows not shown>"

    def texts(self, columns: Mapping[str, str]) -> Relation:
        """Some columns, under other names, as text, by which names are compared; a null is a blank."""
        cells = {new: self.relation[old].cast("string") for new, old in columns.items()}
        return self.relation.select(**{new: cell.fill_null("") for new, cell in cells.items()})

    def table(self) -> Table:
        """The rows in memory, as columns are asked for."""

        def columns(names: Sequence[str]) -> list[Column]:
            found = self.relation.select(*names or self.header[:1]).to_pyarrow()
            return [of_arrow(name, found.column(name), self.name) for name in names]

        return Table(self.name, self.header, columns, lambda row: f"row {row + 1}")


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


def _columns(expression: Relation) -> list[np.ndarray]:
    return [column.to_numpy() for column in expression.to_pyarrow().columns]


def _held(expression: Relation) -> Relation:
    """The rows of a table, computed once and held by the engine."""
    backend = expression.get_backend()
    if backend.name == "duckdb":  # Ibis 12 can't drop what it caches there, with sqlglot 30
        return backend.create_table(f"held_{secrets.token_hex(8)}", expression, temp=True)
    expression.limit(0).to_pyarrow()  # moves tables of this process there, as caching does not
    return expression.cache()


@dataclasses.dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class _Rows(Data):
    """What comparisons and rankings in an engine have in common; ``rows`` are checked, with ``user`` as text."""

    item_names: tuple[str, ...]
    rows: Relation
    source: Source
    roles: Any
    num_users: int
    alike: tuple[tuple[str, str], ...]

    @property
    def has_users(self) -> bool:
        """Whether the data name users."""
        return self.num_users > 0

    @property
    def users_alike(self) -> tuple[tuple[str, str], ...]:
        """Up to three pairs of users whose names differ by case alone. Private."""
        return self.alike

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
        num_users: the number of users, 0 if the data name none.
        comparisons_per_user: the most comparisons of one. Private, as are the next two.
        codes: (C,) int32, the codes that occur.
        number: (C,) int64, how often each of them does.
        source, roles, alike: the table of the engine, what was told of it, names of users that are alike.

    Other attributes are those of all data.
    """

    comparisons_per_user: int
    codes: Int[np.ndarray, "codes"]
    number: Int[np.ndarray, "codes"]
    questionnaire = weights = covariates = times = None  # of these nothing is known

    def __len__(self) -> int:
        return int(self.number.sum())

    @property
    def ties(self) -> int:
        """Number of ties. Private."""
        return int(self.number[self.codes % 3 == 1].sum())

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone was shown, or one row where the data name no users. Private."""
        if self.has_users:
            users = {"one": self.rows.user.min(), "other": self.rows.user.max()}
            codes, one, other = _columns(self.rows.group_by("code").aggregate(**users))
            codes, users = np.tile(codes, 2), np.concatenate([one, other]).astype(str)
        else:
            codes = np.repeat(self.codes, np.minimum(self.number, 2))
            users = np.arange(codes.size)
        low, high, _ = self._decoded(codes)
        return named_once(self.item_names, np.unique(users, return_inverse=True)[1], low, high)

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
            if salt is None or not self.has_users:
                raise ValueError(
                    "max_per_user needs users, and a salt: secrets.token_hex() for a release."
                )
            rows = bounded_rows(self.rows, max_per_user, salt, ["code"])
            codes, number = _columns(rows.group_by("code").aggregate(number=rows.count()))
        low, high, outcome = self._decoded(codes)
        won, tied, dtype = outcome > 0, outcome == 1, default_float()
        first, second = np.where(won, low, high), np.where(won, high, low)
        matrix = count_on_host(first, second, self.num_items, number, tied)
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
        num_users: n, including users who ranked nothing.
        partial_users: number of users who did not rank all items. Private.
        ranked: (m,) int64, how many users ranked each item. Private.
        missing: how an unranked item is treated, ``"last"`` or ``"unknown"``.
        source, roles, alike: the table of the engine, what was told of it, names of users that are alike.

    Other attributes are those of all data.
    """

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
        ahead = (met.rank_2 - met["rank"]).sign().sum().cast("int64")
        votes = met.group_by("item", "item_2").aggregate(both=met.count(), ahead=ahead)
        low, high, number, more = _columns(votes)
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
    own = {name: f"c{k}" for k, name in enumerate(columns)}  # no column has the name of another
    texts = source.texts({new: old for old, new in own.items()} | ({"user": user} if user else {}))
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
    user = None if user == "user" and user not in header else user
    columns, read = {}, _scan_long
    if isinstance(roles, ComparisonRoles):
        plan = plan_of(name, header, roles)
        columns, read = (plan.columns if plan.by_cells else {}), _scan_comparisons
    elif type(roles) is RankingRoles and user is not None and not roles.blank:
        form, shape = shape_of(name, header, roles)
        columns = shape if form == "long" else {}
    columns = {one: spelled_in(header, column) for one, column in columns.items()}
    asked = [*columns.values(), *filter(None, [user])]
    if not columns or not set(asked) <= set(header):
        return None  # of a column that is not there memory says so
    types = [source.relation[one].type() for one in asked]
    if any(one.is_nested() or one.is_binary() or one.is_json() for one in types):
        return None
    return read(source, roles, columns, user)


def _about(
    source: Source, roles: Roles, user: str | None, said: Mapping[str, Any]
) -> dict[str, Any]:
    """What data in an engine say of themselves: as their distinct cells do, with users."""
    fields = [field.name for field in dataclasses.fields(_Rows) if field.name in said]
    about = {one: said[one] for one in fields} | {"user_names": (), "origin": source.origin}
    if user is not None:
        about["notes"] = tuple(note for note in about["notes"] if note != NO_USERS)
        about["users_are"] = of_column(str(roles.user))
    return about | {"source": source, "roles": roles}


def _scan_comparisons(source: Source, roles: Any, columns: Mapping[str, str], user: Any) -> Any:
    cells = _distinct(source, list(dict.fromkeys(columns.values())), user)
    plan = plan_of(source.name, source.header, roles)
    alone = dataclasses.replace(plan, roles=dataclasses.replace(roles, user=None))
    read = read_planned(cells.table, alone)
    _check_items(source.name, read.num_items, MOST_ITEMS)
    low, high = np.minimum(read.winners, read.losers), np.maximum(read.winners, read.losers)
    outcome = np.where(read.tied, 1, np.where(read.winners < read.losers, 2, 0))
    codes = 3 * (low * read.num_items + high) + outcome
    different, at = np.unique(codes, return_inverse=True)
    users, most, alike = (0, 1, ()) if user is None else check_users(source, user)
    return ComparisonRows(
        rows=cells.coded(np.arange(codes.size), {"code": codes}),
        num_users=users,
        comparisons_per_user=most,
        alike=alike,
        codes=different,
        number=np.bincount(at, cells.number).astype(np.int64),
        **_about(source, roles, user, vars(read)),
    )


def _scan_long(source: Source, roles: Any, columns: Mapping[str, str], user: Any) -> RankingRows:
    name = source.name
    cells = _distinct(source, list(columns.values()), user)
    reading = Reading(cells.table, dataclasses.replace(roles, user=None), columns)
    codes, some = read_items(reading)
    levels = levels_of(reading, [reading.cells["rank"]], None)[0][:, 0]
    reading.stop(codes.size)
    order, place = reading.items.in_order()
    _check_items(name, len(order), MOST_RANKED_ITEMS)
    codes = np.array(place, np.int64)[codes]
    rows = _held(cells.coded(some, {"item": codes, "rank": levels}))
    number = rows.group_by("user", "item").aggregate(rows=rows.count())
    for twice in number.filter(number.rows > 1).limit(1).to_pyarrow().to_pylist():
        who, item = quoted(twice["user"]), quoted(order[twice["item"]])
        raise DataError(
            f"{name}, column {reading.columns['item']!r}: user {who} ranks {item} twice: keep one row"
        )
    seen, _, alike = check_users(source, user)
    users = number_of_users(name, roles, seen)
    rows = rows.filter(rows["rank"] >= 0)
    each = rows.group_by("user").aggregate(number=rows.count())
    full = int(each.count(where=each.number == len(order)).to_pyarrow().as_py())
    if levels.max(initial=-1) >= 0 and not roles.ranks:
        ranks = _some_ranks(rows, each, len(order))
        check_ranks(name, [reading.columns["rank"]], ranks, largest=int(levels.max()))
    known = levels >= 0
    said = reading.facts(order, notes=[note_of(roles)], seen_users=roles.num_users is None)
    said["notes"] = tuple(note for note in said["notes"] if "names no users" not in note)
    return RankingRows(
        rows=rows,
        num_users=users,
        alike=alike,
        partial_users=users - full,
        ranked=np.bincount(codes[known], cells.number[some][known], len(order)).astype(np.int64),
        missing=roles.missing or "last",
        **_about(source, roles, user, said),
    )


def _check_items(name: str, items: int, most: int) -> None:
    if not 2 <= items <= most:
        raise DataError(
            f"{name} has {items:,} items: a ranking needs at least two, and a table of all pairs is kept of at most "
            f"{most:,}"
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


def check_users(source: Source, column: str) -> tuple[int, int, tuple[tuple[str, str], ...]]:
    """The number of users of a table, the most rows of one, and up to three pairs of names that differ by case alone.

    Names are compared in the engine, but for those with blanks or non-ASCII letters.

    Raises:
        DataError: a user is missing or named twice.
    """
    import ibis
    import pyarrow

    table = source.texts({"user": column})
    counted = _held(table.group_by("user").aggregate(rows=table.count()))
    name = counted.user
    capitals = name != name.lower()
    odd = (name == "") | name.re_search("[^!-~]") | name.lower().isin(sorted(MISSING))
    odd = odd | (capitals & name.contains("@"))  # case makes no other user of an e-mail address
    names, normal = Names("user"), dict[str, str]()
    try:
        for one in counted.filter(odd).order_by("user").to_pyarrow()["user"].to_pylist():
            _ = names[one]
            if person(one) != one:
                normal[person(one)] = one
        # Of two spellings of a name, one at least is odd.
        suspects = ibis.memtable(pyarrow.table({"user": pyarrow.array(normal, pyarrow.string())}))
        twins = counted.semi_join(suspects, "user").limit(1).to_pyarrow()["user"].to_pylist()
        for twin in twins:
            raise named_twice("user", twin, normal[twin])
    except BadCell as error:
        raise DataError(f"{source.name}, column {column!r}: {error}") from None
    both = counted.group_by(low=name.lower()).aggregate(one=name.min(), other=name.max())
    pairs = both.filter(both.one != both.other).order_by("low").limit(_MOST_NAMED).to_pyarrow()
    found = counted.aggregate(users=counted.count(), most=counted.rows.max()).to_pyarrow()
    users, most = (column[0].as_py() or 0 for column in found.columns)
    return users, most, tuple((one["one"], one["other"]) for one in pairs.to_pylist())


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
