r"""Tables of engines, through Ibis: comparisons of any number, bounded and counted where they are.

An expression runs in a DuckDB of this process as on a cluster of Spark. All rows with the same cells say the same. So
the distinct cells of items and outcomes are read by the reader of tables in memory like a small file, with its checks
and messages, and what they say is joined to the rows in the engine.

**At most L comparisons of each user** (:func:`bounded_rows`) are chosen by a keyed hash of the user, never by the
answers. Every user's rows are put in order by their content (which items met, then who won) and numbered 0, 1, ...; row
k of user u draws the lot SHA-256(salt : k : u), and the L rows with the smallest lots stay.

*Sensitivity.* For every salt, known or not, the rows kept of one user are a function of that user's rows alone: no lot
and no number depends on another user, on the order of the rows or on the engine. So a data set and its neighbor, which
differ in the rows of one user, keep the same rows of all other users, and at most L of that user in either.

A statistic that adds up over rows hence moves as if one user had given L rows and replaced them, or come or gone with
them. The noise calibrated for L rows makes the release private for every fixed salt, and so for a salt drawn without
looking at the data. The argument uses neither the quality of the hash nor the secrecy of the salt.

*Flips.* Where who compared what is public (adjacency ``flip``), the number of *kept* comparisons of each pair must be
public too. It is: a user's rows are ordered by pair before outcome, so that other outcomes leave row k the same pair,
and the lots do not depend on the row. For a given salt the pairs kept are a function of the pairs given.

*Fairness* is the purpose of the salt, which a release takes from the operating system's entropy and a rehearsal from
its seed: every L rows of a user are equally likely to stay, whatever their outcomes.
"""

from __future__ import annotations

import dataclasses
import glob
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from privrank_jax._counting import count_on_host
from privrank_jax._neighbors import of_column
from privrank_jax._validate import check_positive
from privrank_jax.comparisons import WinCounts, default_float
from privrank_jax.data.columns import Column, Table
from privrank_jax.data.comparisons import Comparisons, plan_of, read_comparisons
from privrank_jax.data.errors import BadCell, DataError
from privrank_jax.data.file import File
from privrank_jax.data.header import spelled_in, without
from privrank_jax.data.kinds import NO_USERS, Data, named_once
from privrank_jax.data.names import MISSING, Names, named_twice, person
from privrank_jax.data.roles import ComparisonRoles, Roles
from privrank_jax.data.table import of_arrow

Relation = Any  # of Ibis, which knows columns and what can be done with them only at run time

MOST_ITEMS = 10_000  # for which a table of all pairs is made
_MOST_CELLS = 20_000_000  # distinct cells of two items and an outcome
_LARGE = 2**20  # rows, from which on an engine is faster than memory
_MOST_NAMED = 3  # pairs of users that a remark names
_DIGITS = 16  # hexadecimal digits of the hash that are kept; equal lots are ordered by number


def of_relation(relation: Relation, name: str) -> Table:
    """A table of an engine, whose columns come into memory as they are asked for."""

    def columns(names: Sequence[str]) -> list[Column]:
        found: Any = relation.select(*names).to_pyarrow() if names else None
        return [of_arrow(one, found.column(one), name) for one in names]

    header = list(relation.columns)
    return Table(name, header, columns, lambda row: f"row {row + 1}", relation=relation)


def _texts(relation: Relation, columns: Mapping[str, str]) -> Relation:
    """Some columns, under other names, as text, by which names are compared; a null is a blank."""
    cells = {new: relation[old].cast("string") for new, old in columns.items()}
    return relation.select(**{new: cell.fill_null("") for new, cell in cells.items()})


def of_parquet(file: File) -> Relation | None:
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
    return None if renamed else relation


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
class ComparisonRows(Data):
    """N comparisons of m named items, checked, still in the engine; the twin of :class:`Comparisons`.

    Attributes:
        rows: Ibis table: ``code``, int32, 3(low m + high) + outcome, of two indices low < high into ``item_names`` and
            the outcome, 2 where low won, 1 for a tie, 0 where high won; and ``user``, text, where the data name users.
        num_users: the number of users, 0 if the data name none.
        comparisons_per_user: the most comparisons of one. Private, as are the next two.
        codes: (C,) int32, the codes that occur.
        number: (C,) int64, how often each of them does.
        table, roles, alike: that was read, what was told of it, names of users that are alike.

    Other attributes are those of all data.
    """

    item_names: tuple[str, ...]
    rows: Relation
    table: Table
    roles: ComparisonRoles
    num_users: int
    comparisons_per_user: int
    alike: tuple[tuple[str, str], ...]
    codes: Int[np.ndarray, "codes"]
    number: Int[np.ndarray, "codes"]
    questionnaire = weights = covariates = times = None  # of these nothing is known

    def __len__(self) -> int:
        return int(self.number.sum())

    @property
    def has_users(self) -> bool:
        """Whether the data name users."""
        return self.num_users > 0

    @property
    def users_alike(self) -> tuple[tuple[str, str], ...]:
        """Up to three pairs of users whose names differ by case alone. Private."""
        return self.alike

    def in_memory(self) -> Comparisons:
        """The same data as arrays, for what needs rows one by one."""
        found = read_comparisons(self.table, self.roles)
        self._check_unchanged()
        return dataclasses.replace(found, origin=self.origin)

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

        The ``salt`` decides which rows stay; for a release it is ``secrets.token_hex()``.

        Raises:
            ValueError: a bound without a salt or users, or one that is not positive.
        """
        self._check_unchanged()
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
        found = count_on_host(low, high, self.num_items, self.number * (outcome == 1), None)
        return found + found.T

    def _check_unchanged(self) -> None:
        if self.origin is not None:
            self.origin.check_unchanged()

    def _decoded(self, codes: np.ndarray) -> tuple[np.ndarray, ...]:
        """The two items of each code, the first before the second, and the outcome."""
        return np.unravel_index(codes, (self.num_items, self.num_items, 3))


# --- reading ------------------------------------------------------------------------------------------


def scan(table: Table, roles: Roles) -> ComparisonRows | None:
    """Comparisons of which rows with the same cells say the same, checked in the engine; None for all other data."""
    import ibis
    import pyarrow

    name, relation = table.name, table.relation
    header = without(name, table.header, roles.ignore)
    user = None if roles.user is None else spelled_in(header, roles.user)
    user = None if user == "user" and user not in header else user
    plan = plan_of(name, header, roles) if isinstance(roles, ComparisonRoles) else None
    if plan is None or not plan.by_cells:
        return None
    columns = list(dict.fromkeys(spelled_in(header, one) for one in plan.columns.values()))
    asked = [*columns, *filter(None, [user])]
    if not set(asked) <= set(header):
        return None  # of a column that is not there memory says so
    types = [relation[one].type() for one in asked]
    if any(one.is_nested() or one.is_binary() or one.is_json() for one in types):
        return None
    own = {one: f"c{k}" for k, one in enumerate(columns)}  # no column has the name of another
    told = {new: old for old, new in own.items()} | ({"user": user} if user else {})
    texts = _texts(relation, told)
    distinct = texts.group_by(*own.values()).aggregate(number=texts.count())
    met = distinct.order_by(*own.values()).limit(_MOST_CELLS + 1).to_pyarrow()

    def cells(names: Sequence[str]) -> list[Column]:
        return [of_arrow(one, met.column(own[one]), name) for one in names]

    beside = [column for column in table.header if column != user]
    alone = dataclasses.replace(plan.roles, user=None)
    read = read_comparisons(Table(name, beside, cells, lambda _: "a row"), alone, plan)
    if len(met) > _MOST_CELLS or read.num_items > MOST_ITEMS:
        raise DataError(
            f"{name} has {read.num_items:,} items: a table of all pairs is kept, of at most {MOST_ITEMS:,}"
        )
    low, high = np.minimum(read.winners, read.losers), np.maximum(read.winners, read.losers)
    outcome = np.where(read.tied, 1, np.where(read.winners < read.losers, 2, 0))
    codes = 3 * (low * read.num_items + high) + outcome
    different, at = np.unique(codes, return_inverse=True)
    coded = met.drop_columns("number").append_column("code", pyarrow.array(codes, pyarrow.int32()))
    rows = texts.inner_join(ibis.memtable(coded), [*own.values()])
    said = read.about() | {"user_names": (), "item_names": read.item_names}
    users, most, alike = 0, 1, ()
    if user is not None:
        users, most, alike = check_users(name, relation, user)
        said["notes"] = tuple(note for note in read.notes if note != NO_USERS)
        said["users_are"] = of_column(str(roles.user))
    return ComparisonRows(
        rows=rows.select(*["user"] * (user is not None), "code"),
        table=table,
        roles=plan.roles,
        num_users=users,
        comparisons_per_user=most,
        alike=alike,
        codes=different,
        number=np.bincount(at, met.column("number").to_numpy()).astype(np.int64),
        **said,
    )


# --- users --------------------------------------------------------------------------------------------


def check_users(
    of: str, relation: Relation, column: str
) -> tuple[int, int, tuple[tuple[str, str], ...]]:
    """The number of users of a table, the most rows of one, and up to three pairs of names that differ by case alone.

    Names are compared in the engine, but for those with blanks or non-ASCII letters.
    """
    import ibis
    import pyarrow

    table = _texts(relation, {"user": column})
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
        raise DataError(f"{of}, column {column!r}: {error}") from None
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
