r"""Rankings in an engine: checked, and counted pair by pair, without holding a user's ranking in Python.

**Contributions are bounded by the weight rule**, not by a choice of rows: of every pair of items each user gives 1 to
the item ranked first, or 1/2 to both (:mod:`privrank_jax.aggregation.weights`), however many items the user ranked.
For that each user must have one ranking; a second row (wide) or a second rank of an item (long) is refused. So
replacing one user moves every count by at most 1, as the mechanisms of :mod:`privrank_jax.aggregation` require.

**Counts.** Items that a user did not rank take no part in the join of the user's rows with themselves. With n users, of
whom c_i ranked i and b ranked both i and j, a of the latter with i before j and t with a tie, twice the count of i
before j is 2a + t + (n - b) if nothing is known of an item that was not ranked. If such an item comes last it is 2a +
t, and 2 for each of the c_i - b who ranked i alone, and 1 for each of the n - c_i - c_j + b who ranked neither.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from privrank_jax._neighbors import NO_COLUMN, of_column
from privrank_jax._validate import check_choice
from privrank_jax.data.engine import ROW, People, Relation, Source, check_users, held, one_row
from privrank_jax.data.errors import BadCell, DataError, quoted, say
from privrank_jax.data.file import Origin
from privrank_jax.data.header import check_no_counts, find_columns, spelled_in, without
from privrank_jax.data.kinds import SEEN_ITEMS, Meetings, public_facts
from privrank_jax.data.names import Names, form, public_items
from privrank_jax.data.rankings import (
    COLUMNS_ARE_ITEMS,
    ONE_ROW_EACH,
    Rankings,
    is_long,
    read_rankings,
    wide_columns,
)
from privrank_jax.data.ranks import (
    CELLS,
    Ends,
    beside_rankings,
    cells_note,
    check_like_ranks,
    check_no_numbers_of_raters,
    check_no_numbers_of_rows,
    check_not_named_ratings,
    check_ranks_of_few,
    check_ratings_of_items,
    is_beside,
    meaning_of_blanks,
    perhaps_no_item,
    rank_of,
    rating_of,
)
from privrank_jax.data.shapes import SYNTHETIC

if TYPE_CHECKING:
    from privrank_jax.aggregation.weights import PairWeights

MOST_ITEMS = 2_000  # for which a matrix of counts is made


@dataclass(frozen=True, eq=False)
class RankingRows:
    """The rankings of m named items by n users, checked, still in the engine; the twin of :class:`Rankings`.

    Attributes:
        rows: Ibis table, one row for each item that a user ranked: ``user``; ``item``, int32 index into
            ``item_names``; ``rank``, int32, the less the better, equal ranks ties.
        item_names: the m names, in the public order of a list, else sorted; public.
        num_users: n, including users who ranked nothing.
        partial_users: number of users who did not rank all items. Private.
        name: name of the file or table.
        missing: how an unranked item is treated, ``"last"`` or ``"unknown"``.
        notes: what was done to the data, one sentence each.
        public: facts that this reading takes as public, as of :class:`Rankings`.
        users_alike: up to three pairs of users whose names differ by case alone. Private.
    """

    rows: Relation
    item_names: tuple[str, ...]
    num_users: int
    partial_users: int
    name: str
    missing: str
    notes: tuple[str, ...]
    public: tuple[str, ...]
    users_alike: tuple[tuple[str, str], ...]
    users_are: str
    origin: Origin
    _source: Source
    _asked: dict[str, Any]

    reading = remarks = user_names = ()
    whole = False

    def in_memory(self) -> Rankings:
        """The same rankings as arrays, for methods that need users one by one."""
        found = read_rankings(self._source.table(), **self._asked)
        return replace(found, origin=self.origin)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}, {self.num_items} items; users and answers not shown>"

    @property
    def sha256(self) -> str:
        """Checksum of the file that was read; "" of a table of an engine."""
        return self.origin.sha256

    @property
    def num_items(self) -> int:
        """Number m of items, ranked or not."""
        return len(self.item_names)

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone ranked. Private."""
        with self._source.explained():
            each = self.rows.group_by("item").aggregate(rows=self.rows.count())
            once = each.filter(each.rows == 1).to_pyarrow()["item"].to_pylist()
        return tuple(self.item_names[k] for k in sorted(once))

    def meetings(self, items: Sequence[int]) -> Meetings:
        """As of :class:`Rankings`."""
        met = np.zeros((len(items), self.num_items))
        with self._source.explained():
            once = _users_of_items(self.rows, self.num_items)
            some = self.rows.filter(self.rows.item.isin(list(items))).select("user", some="item")
            both = some.inner_join(self.rows, "user").group_by("some", "item")
            found = both.aggregate(lambda rows: rows.count().name("users")).to_pyarrow()
        one, other, users = (column.to_numpy() for column in found.columns)
        met[np.searchsorted(items, one), other] = users
        return met, np.outer(once[list(items)], once) / max(self.num_users, 1)

    def weights(self) -> PairWeights:
        """The exact share of users who rank one item before another, under the rule ``missing``."""
        from privrank_jax.aggregation.weights import MISSING, PairWeights  # not for comparisons

        check_choice("missing", self.missing, MISSING)
        items, users = self.num_items, self.num_users
        with self._source.explained():
            votes = pair_votes(self.rows).to_pyarrow()
            once = _users_of_items(self.rows, items)
        low, high, both, ahead, behind = (votes[name].to_numpy() for name in votes.column_names)
        met, twice = np.zeros((2, items, items), np.int64)
        met[low, high] = met[high, low] = both
        twice[low, high] = both + ahead - behind
        twice[high, low] = both + behind - ahead
        if self.missing == "unknown":
            twice += users - met
        else:
            twice += 2 * (once[:, None] - met) + users - once[:, None] - once + met
        np.fill_diagonal(twice, 0)
        return PairWeights.from_counts(twice, users)


def _users_of_items(rows: Relation, items: int) -> np.ndarray:
    """How many users ranked each item, ``(items,)`` int64."""
    ranked = rows.group_by("item").aggregate(users=rows.count()).to_pyarrow()
    once = np.zeros(items, np.int64)
    once[ranked["item"].to_numpy()] = ranked["users"].to_numpy()
    return once


def pair_votes(rows: Relation) -> Relation:
    """Count votes on each pair over users who ranked both items, as an Ibis expression: one join, one group-by.

    Args:
        rows: columns ``user``, ``item`` and ``rank``, as in :class:`RankingRows`.

    Returns:
        Table with the columns ``low`` < ``high``, items; ``both``, users who ranked both; ``ahead`` and ``behind``,
        those who put ``low`` before ``high``, and after it; int64.
    """
    other = rows.view()
    met = rows.inner_join(other, ["user", rows.item < other.item], rname="{name}_2")
    ahead = (met["rank"] < met.rank_2).cast("int64").sum().cast("int64")
    behind = (met["rank"] > met.rank_2).cast("int64").sum().cast("int64")
    return met.group_by(low=met.item, high=met.item_2).aggregate(
        both=met.count(), ahead=ahead, behind=behind
    )


def scan_rankings(
    source: Source,
    *,
    user: str | None = "user",
    item: str | None = None,
    rank: str | None = None,
    items: Iterable[str] | None = None,
    missing: str | None = None,
    ignore: Iterable[str] = (),
    blank: Iterable[str] = (),
    num_users: int | None = None,
    cells: str | None = None,
) -> RankingRows:
    """Check a table of rankings, wide or long, in the engine; :func:`privrank_jax.read` explains the arguments.

    Returns:
        :class:`RankingRows`, not computed yet except for what the checks need.

    Raises:
        DataError: as :func:`~privrank_jax.data.rankings.read_rankings`; more items than a matrix of counts is made for;
            a file that changed while it was read.
        ValueError: unknown ``missing`` or ``cells``.
    """
    from privrank_jax.aggregation.weights import MISSING

    check_choice("cells", cells or "ranks", CELLS)
    missing = missing or meaning_of_blanks(cells)
    check_choice("missing", missing, MISSING)
    public, blank = None if items is None else public_items(items), tuple(blank)
    ignore = tuple([ignore] if isinstance(ignore, str) else ignore)
    asked = {"user": user, "item": item, "rank": rank, "items": public, "missing": missing}
    asked |= {"ignore": ignore, "blank": blank, "num_users": num_users, "cells": cells}
    header = without(source.name, source.header, ignore)
    long = is_long(source.name, header, item, rank)
    with source.explained():
        if long:
            named = (user, item or "item", rank or "rank")
            names, people, found, unused, place = _long(source, header, named, public, cells, blank)
            columns, most, left_out, hint = (place,) * len(names), None, False, lambda _: ""
            if num_users is not None and people.users > num_users:
                raise DataError(
                    f"{source.name} has rows of more users than the {num_users:,} that were stated: give the number of "
                    "all users who were asked, those included who ranked nothing"
                )
        else:
            given = {"num_users": num_users, "blank": blank or None}
            if said := [say(one, value) for one, value in given.items() if value is not None]:
                raise DataError(f"{source.name}: a row is a user: leave out {', '.join(said)}")
            user, kept = spelled_in(header, user), [one for one in header if one != SYNTHETIC]
            columns = names = wide_columns(source.name, kept, user, public, cells)
            most = sum(column != user for column in kept)
            left_out = most > len(names)
            hint = functools.partial(perhaps_no_item, user=user, public=public)
            people, found, unused = _wide(source, header, user, names)
        users = people.users if num_users is None else num_users
        _check_size(source.name, users, len(names))
        rows, scale = _ranked(source, found, cells, columns, most if cells is None else None, hint)
        each = each_user(rows)
        counts = count_rankings(each, len(names), ranks=cells is None)
        if cells is None:
            check_ranks(
                source.name, rows, each, counts, columns[0] if long else None, len(names), left_out
            )
        if not long and public is None:
            _check_columns(
                source.name, rows, names, users, counts, scale, cells, named=user is not None
            )
    source.check_unchanged()
    seen = public is None
    notes = (SEEN_ITEMS if long else COLUMNS_ARE_ITEMS,) * seen
    notes += (ONE_ROW_EACH,) * (user is None)
    left = ("columns not used: " + ", ".join(unused),) * bool(unused)
    return RankingRows(
        rows=rows,
        item_names=names,
        num_users=users,
        partial_users=users - counts["full"],
        name=source.name,
        missing=missing,
        notes=(cells_note(cells), *notes, *left),
        public=public_facts(seen_items=seen, seen_users=num_users is None) if long else (),
        users_alike=people.alike,
        users_are=NO_COLUMN if user is None else of_column(asked["user"]),
        origin=source.origin,
        _source=source,
        _asked=asked,
    )


def _check_size(name: str, users: int, items: int) -> None:
    if not users:
        raise DataError(f"{name} has no rows below its header: there is nothing to rank")
    if items < 2:
        raise DataError(f"{name}: a ranking needs at least two items, found {items}")
    if items > MOST_ITEMS:
        raise DataError(
            f"{name} has {items:,} items; a table of all pairs is kept, for at most {MOST_ITEMS:,}."
        )


def _refuse(source: Source, error: BadCell | str, column: Any, rows: Relation) -> DataError:
    """The error for the first of some rows, which have numbers where the source has."""
    place = ""
    if source.numbered:
        place = f", row {one_row(rows.aggregate(row=rows[ROW].min()))['row'] + 1}"
    return DataError(f"{source.name}{place}, column {column!r}: {error}")


def _long(
    source: Source,
    header: Sequence[str],
    named: tuple[str | None, str, str],
    public: tuple[str, ...] | None,
    cells: str | None,
    blank: Iterable[str],
) -> tuple[tuple[str, ...], People, Relation, list[str], str]:
    """Item names, users, and the cells: a row per user and item, each at most once."""
    if named[0] is None:
        raise DataError(
            f"{source.name}: rows of one item each need a column of users, or it is unclear which belong together"
        )
    check_not_named_ratings(source.name, [named[2]], cells)
    columns, unused = find_columns(source.name, header, dict(zip(("user", "item", "rank"), named)))
    check_no_counts(source.name, unused)
    people = check_users(source, columns["user"])
    texts = source.texts(list(columns.values())).rename(
        user=columns["user"], item=columns["item"], cell=columns["rank"]
    )
    nothing = (texts["item"].strip() == "") & (texts["cell"].strip() == "")
    rows = texts.filter(~nothing)  # otherwise a row only names a user
    names, marks = Names("item", True, public, blank=()), {form(word) for word in blank}
    distinct = rows.select("item").distinct().limit(MOST_ITEMS + 1).to_pyarrow()["item"].to_pylist()
    if no_items := [name for name in distinct if form(name) in marks and name not in names]:
        rows = rows.filter(~rows["item"].isin(no_items))
        distinct = [name for name in distinct if name not in no_items]
    if len(distinct) > MOST_ITEMS:
        _check_size(source.name, 1, one_row(rows.aggregate(items=rows["item"].nunique()))["items"])
    for name in sorted(distinct):
        try:
            names[name]
        except BadCell as error:
            raise _refuse(
                source, error, columns["item"], rows.filter(rows["item"] == name)
            ) from None
    number = rows.group_by("user", "item").aggregate(rows=rows.count())
    for twice in number.filter(number.rows > 1).limit(1).to_pyarrow().to_pylist():
        same = rows.filter((rows.user == twice["user"]) & (rows["item"] == twice["item"]))
        error = f"user {quoted(twice['user'])} ranks {quoted(twice['item'])} twice: keep one row"
        raise _refuse(
            source,
            error,
            columns["item"],
            same.order_by(ROW).limit(1, offset=1) if source.numbered else same,
        )
    order = names.in_order()[0]
    if not distinct and (public is None or not people.users):
        raise DataError(f"{source.name} has no rows below its header: there is nothing to rank")
    found = coded(rows, "item", {name: code for code, name in enumerate(order)})
    unused = [one for one in source.header if one not in columns.values()]
    return order, people, found, unused, columns["rank"]


def _wide(
    source: Source, header: Sequence[str], user: str | None, names: tuple[str, ...]
) -> tuple[People, Relation, list[str]]:
    """Users, and the cells as in :func:`_long`."""
    import ibis

    columns, _ = find_columns(
        source.name, header, {"user": user, **{f"item {k}": name for k, name in enumerate(names)}}
    )
    texts = source.texts(list(columns.values()))
    number = {ROW: texts[ROW]} if source.numbered else {}
    if "user" in columns:
        people = check_users(source, columns["user"])
        of_user = texts[columns["user"]]
        if people.most > 1:
            raise _second_row(source, columns["user"], texts)
    else:
        people = People(one_row(texts.aggregate(rows=texts.count()))["rows"], 1)
        of_user = ibis.row_number()
    wide = texts.select(
        user=of_user, **number, **{str(k): texts[name] for k, name in enumerate(names)}
    )
    items = [str(k) for k in range(len(names))]
    cells = wide.pivot_longer(items, names_to="item", values_to="cell", names_transform=int)
    unused = [one for one in source.header if one not in columns.values()]
    return people, cells.mutate(item=cells["item"].cast("int32")), unused


def _second_row(source: Source, column: str, texts: Relation) -> DataError:
    named = texts.select(user=texts[column])
    number = named.group_by("user").aggregate(rows=named.count())
    user = one_row(number.filter(number.rows > 1).limit(1))["user"]
    same = texts.filter(texts[column] == user)
    second = same.order_by(ROW).limit(1, offset=1) if source.numbered else same
    return _refuse(
        source, f"user {quoted(user)} has two rows: keep one ranking per user", column, second
    )


def _ranked(
    source: Source,
    cells: Relation,
    kind: str | None,
    columns: Sequence[str],
    most: int | None,
    hint: Callable[[str], str],
) -> tuple[Relation, np.ndarray | None]:
    """The cells that hold a rank, read once and kept in the engine, and the scale of ratings, best first.

    Args:
        source: the table.
        cells: ``user``, ``item``, ``cell``.
        kind: what the cells hold, if that was said.
        columns: the column of each item's ranks.
        most: the largest possible rank, if known.
        hint: what to add to the fault of a column.
    """
    rated = kind in ("ratings", "costs")
    values: dict[str, float] = {}
    for word in sorted(cells.select("cell").distinct().to_pyarrow()["cell"].to_pylist()):
        try:
            values[word] = rating_of(word) if rated else rank_of(word, most)
        except BadCell as error:
            wrong = cells.filter(cells.cell == word)
            column = columns[int(one_row(wrong.aggregate(item=wrong["item"].min()))["item"])]
            raise _refuse(source, f"{error}{hint(column)}", column, wrong) from None
    if not rated:
        known = {word: int(value) for word, value in values.items() if value >= 0}
        return held(coded(cells, "cell", known).rename(rank="cell")), None
    scale = np.unique([value for value in values.values() if not np.isnan(value)])
    sign = 1 if kind == "costs" else -1
    scale = scale[::sign]
    known = {
        word: int(np.searchsorted(sign * scale, sign * value))
        for word, value in values.items()
        if not np.isnan(value)
    }
    return held(coded(cells, "cell", known).rename(rank="cell")), scale


def coded(rows: Relation, column: str, codes: dict[str, int]) -> Relation:
    """Replace the texts of a column by their codes; rows with other texts are dropped."""
    import ibis
    import pyarrow

    values = {
        column: pyarrow.array(list(codes), pyarrow.string()),
        "_code": pyarrow.array(list(codes.values()), pyarrow.int32()),
    }
    dictionary = ibis.memtable(pyarrow.table(values))
    joined = rows.inner_join(dictionary, column)
    return joined.drop(column).rename({column: "_code"})


# --- checks of ranks, counted user by user in the engine -----------------------------------------------

_BITS = 31  # largest number of ranks whose powers of 2 are added up


def each_user(rows: Relation) -> Relation:
    """Of each user who ranked an item: ``number`` of ranks, the ``last`` of them, and whether they are ``whole``.

    Whole are k ranks from 0 to k - 1, so that k powers of 2 add up to 2^k - 1: most users', in one pass.
    """
    import ibis

    one = ibis.literal(1, "int64")
    powers = (one << rows["rank"].cast("int64").clip(upper=_BITS)).sum().cast("int64")
    users = rows.group_by("user").aggregate(
        number=rows.count(), last=rows["rank"].max(), powers=powers
    )
    all_powers = (one << users.number.clip(upper=_BITS)) - 1
    whole = (users.number <= _BITS) & (users.powers == all_powers)
    return users.select("user", "number", "last", whole=whole)


def count_rankings(each: Relation, items: int, *, ranks: bool) -> dict[str, Any]:
    """The number of ``full`` rankings, and for ``ranks`` of ``users`` and ``whole`` ones, and the ``largest`` rank."""
    counts = {"full": each.count(where=each.number == items)}
    if ranks:
        whole = each.count(where=each.whole)
        counts |= {"users": each.count(), "whole": whole, "largest": each["last"].max()}
    return one_row(each.aggregate(**counts))


def check_ranks(
    name: str,
    rows: Relation,
    each: Relation,
    found: dict[str, Any],
    column: str | None,
    items: int,
    left_out: bool,
) -> None:
    """Apply the rule of :mod:`privrank_jax.data.ranks`.

    Args:
        name: of the data.
        rows: ``user``, ``item``, ``rank``, from 0.
        each: of :func:`each_user`.
        found: of :func:`count_rankings`.
        column: of ranks in a long table; None if the table is wide.
        items: number of items.
        left_out: whether columns that could hold ranks are not read.

    Raises:
        DataError: the cells don't look like ranks.
    """
    if found["largest"] is None:
        return
    if column is not None:
        check_ranks_of_few(name, column, found["largest"], items)
    unlike = 0
    if found["whole"] < found["users"]:
        others = rows.anti_join(each.filter(each.whole), "user") if found["whole"] else rows
        unlike = _unlike(others, left_out)
    check_like_ranks(name, unlike, found["users"])


def check_ranks_beside(
    name: str, rows: Relation, found: dict[str, Any], columns: Sequence[str]
) -> None:
    """Apply the rule of :func:`~privrank_jax.data.ranks.is_beside` to the ranks of a wide table.

    Args:
        name: of the data.
        rows: ``user``, ``item``, ``rank``, from 0.
        found: of :func:`count_rankings`.
        columns: of items.

    Raises:
        DataError: rows are rankings but for one column.
    """
    users, unlike = found["users"], found["users"] - found["whole"]
    if not is_beside(len(columns), users, unlike):
        return
    place = rows["rank"].cast("int64")
    each = rows.group_by("user").aggregate(number=rows.count(), total=place.sum())
    over = each.total - ((each.number - 1) * (each.number - 2)) // 2
    rows_with = rows.inner_join(each.select("user", over=over.cast("int64")), "user")
    fits = rows_with.filter(rows_with["rank"] == rows_with["over"])
    fitting = fits.group_by("item").aggregate(users=fits.count()).to_pyarrow().to_pylist()
    beside: list[int] = []
    for item in (row["item"] for row in fitting if row["users"] == users):
        others = each_user(rows.filter(rows.item != item))
        counted = one_row(
            others.aggregate(users=others.count(), whole=others.count(where=others.whole))
        )
        if counted["users"] == counted["whole"]:
            beside.append(item)
    if len(beside) == 1:
        raise beside_rankings(name, columns[beside[0]], unlike)


def _unlike(rows: Relation, left_out: bool) -> int:
    """The number of users whose ranks do not look like ranks."""
    import ibis

    ties = rows.group_by("user", "rank").aggregate(tied=rows.count())
    to_here = ibis.cumulative_window(group_by="user", order_by="rank")
    ties = ties.mutate(up_to=ties.tied.sum().over(to_here))
    place = ties["rank"]
    user = ties.group_by("user").aggregate(
        first=place.min(),
        last=place.max(),
        number=ties.tied.sum(),
        different=ties.count(),
        by_those_before=(place == ties.up_to - ties.tied).all(),
        by_those_up_to=(place == ties.up_to - 1).all(),
    )
    counted = (user["last"] == user.different - 1) & (2 * user.different > user.number)
    tied = user.by_those_before | user.by_those_up_to | counted
    strict = (user["first"] == 0) | ibis.literal(left_out)
    unlike = ibis.ifelse(user.different == user.number, ~strict, ~tied)
    return one_row(user.aggregate(unlike=user.count(where=unlike)))["unlike"]


def _check_columns(
    name: str,
    rows: Relation,
    names: tuple[str, ...],
    users: int,
    counts: dict[str, Any],
    scale: np.ndarray | None,
    cells: str | None,
    *,
    named: bool,
) -> None:
    """Refuse columns of a wide table that are no items, by what their cells hold."""
    if scale is None and cells is None:
        if not named and 3 <= users <= len(names):
            ranks = np.full((users, len(names)), -1, np.int32)
            found = rows.to_pyarrow()
            _, user = np.unique(found["user"].to_numpy(), return_inverse=True)
            ranks[user, found["item"].to_numpy()] = found["rank"].to_numpy()
            check_no_numbers_of_rows(name, names, ranks)
        check_ranks_beside(name, rows, counts, names)
    if scale is None:
        return
    place = rows["rank"]
    found = rows.group_by("item").aggregate(
        number=rows.count(), different=place.nunique(), worst=place.max(), best=place.min()
    )
    ends = {}
    for row in sorted(found.to_pyarrow().to_pylist(), key=lambda row: row["item"]):
        least, largest = sorted((float(scale[row["worst"]]), float(scale[row["best"]])))
        ends[names[row["item"]]] = Ends(row["number"], row["different"], least, largest)
    if not named:
        check_no_numbers_of_raters(name, ends, users)
    if cells == "ratings":
        check_ratings_of_items(name, ends)
