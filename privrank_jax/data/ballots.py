"""Tables of rankings, ratings and approvals.

*Wide*: a row for each user, a column for each item. *Long*: a row for each user and item. *Places*: a row for each
user, a column for each place, cells are items. *Orders*: a row for each user, one text such as ``A>B=C``, or one list,
best first. Cells of wide and long tables are ranks (1 = best, equal ones are ties), ratings on a scale that is said, or
approvals.

Ratings read as ranks would reverse the order. So ranks must look like ranks: none exceeds the number of items, and not
more than half of the users who ranked something have cells unlike ranks. Without ties they are like ranks if one of
them is 1 (where columns are left out, the 1 may be there). With ties they are if each is one more than the number of
items before it (1, 2, 2, 4), or the number of items up to it (1, 3, 3, 4), or if they count without gaps (1, 2, 2, 3)
and there are more different ones than half of the items. One to five stars fail this test, whatever the number of
items: of users who give each star equally often at least 56 % are unlike, and 80 % where four stars are most frequent.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from privrank_jax.data.cells import approval_of, rank_of, rating_reader, scale_of
from privrank_jax.data.columns import Column, Table
from privrank_jax.data.errors import BadCell, DataError, listed, quoted
from privrank_jax.data.header import (
    Keys,
    check_no_counts,
    places_of_questions,
    remainder,
    span_of,
    spelled_in,
    without,
)
from privrank_jax.data.names import Names, form, item_list, public_items
from privrank_jax.data.places import places
from privrank_jax.data.rankings import MOST_CELLS, Approvals, Rankings, Ratings
from privrank_jax.data.reading import Reading
from privrank_jax.data.roles import SEEN, ApprovalRoles, RankingRoles, RatingRoles

_YES_OR_NO = np.array([1.0, 0.0])
_BLOCK = 2**20  # cells that are checked together
_SIGNS = {
    "newline": "\n",
    "\\n": "\n",
    "comma": ",",
    "semicolon": ";",
    "pipe": "|",
    "≻": ">",
    "blank": " ",
    "space": " ",
}
_COLUMNS_ARE_ITEMS = (
    "the items are columns of the file, which is taken for a form that does not depend on anyone's "
    "answers"
)


class Cells(NamedTuple):
    """What the cells of wide and long tables hold: ranks, ratings or approvals.

    Attributes:
        kind: ``"ranks"``, ``"ratings"`` or ``"approvals"``.
        scale: of ratings.
    """

    kind: str
    scale: tuple[Any, ...] = ()

    @classmethod
    def of(cls, roles: RankingRoles) -> Cells:
        """By the roles of a kind."""
        if isinstance(roles, ApprovalRoles):
            return cls("approvals")
        return (
            cls("ratings", _scale(roles.ratings))
            if isinstance(roles, RatingRoles)
            else cls("ranks")
        )

    @property
    def note(self) -> str:
        """What the cells are taken for, in words; nothing of it depends on the data."""
        if self.kind == "ranks":
            return "the cells are ranks, 1 = best"
        if self.kind == "approvals":
            return "the cells say whether the user approves of the item; a blank one does not"
        worst, best = (
            one if isinstance(one, str) else f"{one:g}" for one in (self.scale[0], self.scale[-1])
        )
        return f"the cells are ratings from {worst}, the worst, to {best}, the best; equal ones are ties"

    @property
    def ends(self) -> tuple[float, float] | None:
        """The least and the largest rating."""
        if self.kind != "ratings":
            return (0.0, 1.0) if self.kind == "approvals" else None
        words = isinstance(self.scale[0], str)
        return (0.0, len(self.scale) - 1.0) if words else (min(self.scale), max(self.scale))

    @property
    def missing(self) -> str:
        """What a blank means if nothing is said: behind all that were ranked; of ratings, nothing at all."""
        return "last" if self.kind == "ranks" else "unknown"

    def levels(
        self, reading: Reading, columns: Sequence[Column], most: int | None
    ) -> tuple[list[np.ndarray], np.ndarray | None]:
        """Ranks of each column from 0, or places on the scale of ratings, -1 for none; and that scale, best first."""
        blank = reading.items.blank

        def unless_blank(read: Callable[[Any], Any], nothing: Any) -> Callable[[Any], Any]:
            return lambda word: nothing if blank and form(str(word or "")) in blank else read(word)

        if self.kind == "ranks":
            read = unless_blank(functools.partial(rank_of, most=most), -1)
            return [reading.faults.read(column, read) for column in columns], None
        rating = approval_of if self.kind == "approvals" else rating_reader(self.scale)
        rating = unless_blank(rating, 0.0 if self.kind == "approvals" else np.nan)
        rated = [reading.faults.values(column, rating, float) for column in columns]
        used = [values[np.unique(column.codes)] for values, column in zip(rated, columns)]
        scale = np.unique(np.concatenate(used)) if used else np.zeros(0)
        scale = _YES_OR_NO if self.kind == "approvals" else scale[~np.isnan(scale)][::-1]
        found = []
        for values, column in zip(rated, columns):
            at = np.searchsorted(-scale, -values).astype(np.int32)
            found.append(np.where(np.isnan(values), np.int32(-1), at)[column.codes])
        return found, scale

    def made(self, levels: np.ndarray, scale: np.ndarray | None, **said: Any) -> Rankings:
        """The data, of ranks or of places on a scale."""
        if scale is None:
            return Rankings(levels, **said)
        kind = Approvals if self.kind == "approvals" else Ratings
        if (
            self.kind == "ratings"
            and not isinstance(self.scale[0], str)
            and self.scale[0] > self.scale[1]
        ):
            scale = scale + sum(self.scale)  # read as minus the rating
        return kind.of_levels(levels, scale, ends=self.ends, **said)


def _scale(said: Any) -> tuple[Any, ...]:
    if said is None:
        raise DataError(
            "ratings need their scale, such as ratings='1:5', or ratings='5:1' where 1 is the best"
        )
    try:
        return scale_of(said)
    except BadCell as error:
        raise DataError(str(error)) from None


def read_ballots(table: Table, roles: RankingRoles) -> Rankings:
    """Read rankings, ratings or approvals from an opened table.

    Args:
        table: the columns.
        roles: what was told.

    Raises:
        DataError: what is wrong, where (file, line, column), and how to fix it.
    """
    cells, name = Cells.of(roles), table.name
    if roles.ranks and cells.kind != "ranks":
        raise DataError(f"{name}: cells are ranks or {cells.kind}: leave out `ranks`")
    if roles.missing is not None and roles.missing not in ("last", "unknown"):
        raise DataError(f"`missing` must be 'last' or 'unknown', got {roles.missing!r}")
    header = without(name, table.header, roles.ignore)
    form_of, columns = shape_of(name, header, roles)
    other = {"num_users": "long", "order_separator": "order"}
    for one, only in other.items():
        if getattr(roles, one) is not None and form_of != only:
            raise DataError(f"{name}: leave out `{one}`, for which a table of this form has no use")
    if form_of == "long":
        return _long(table, roles, columns, cells)
    if form_of == "wide":
        return _wide(table, roles, columns, cells)
    if cells.kind == "ratings" or (form_of == "places" and cells.kind == "approvals"):
        raise DataError(
            f"{name}: its cells are items, best first: these are rankings, not {cells.kind}"
        )
    return _orders(table, roles, list(columns.values()), cells)


def shape_of(name: str, header: Sequence[str], roles: RankingRoles) -> tuple[str, dict[str, str]]:
    """How a table is written, ``"long"``, ``"order"``, ``"places"`` or ``"wide"``, and its columns by role or item."""
    long = roles.find(header, "item", "rank")
    if {"item", "rank"} & roles.told.keys() or len(long) == 2:
        if len(long) < 2:
            lacks = ({"item", "rank"} - long.keys()).pop()
            raise DataError(
                f"{name}: name the column of {lacks}s by `{lacks}`; the columns are {listed(header, 40)}"
            )
        return "long", long
    if roles.order is not None:
        return "order", {"order": roles.order}
    public = roles.public
    if (public is not None and set(public) <= set(header)) or (
        isinstance(roles.items, str) and roles.items != SEEN
    ):
        return "wide", wide_items(name, header, roles)
    questions = places_of_questions(header)
    if roles.question is not None:
        known = [one for one in questions if form(one) == form(roles.question)]
        if known:
            return "places", dict(enumerate(questions[known[0]]))  # type: ignore[arg-type]
        return "wide", wide_items(name, header, roles)
    if len(questions) > 1:
        raise DataError(
            f"{name} has several questions or contests, {listed(questions)}: say which one is ranked, such as "
            f"question={next(iter(questions))!r}"
        )
    if questions:
        return "places", dict(enumerate(next(iter(questions.values()))))  # type: ignore[arg-type]
    if usual := roles.find(header, "order"):
        return "order", usual
    return "wide", wide_items(name, header, roles)


def wide_items(name: str, header: Sequence[str], roles: RankingRoles) -> dict[str, str]:
    """The columns of a wide table that hold the ranks of an item, by the names of the items.

    Raises:
        DataError: there are none of those that were said.
    """
    beside = {spelled_in(header, one) for one in (roles.user, roles.count) if one is not None}
    others = [column for column in header if column not in {*beside, SYNTHETIC}]
    if roles.question is not None:
        parts = {column: remainder(column, roles.question) for column in others}
        found = {part: column for column, part in parts.items() if part}
        if len(found) < 2 or len(found) < sum(map(bool, parts.values())):
            raise DataError(
                f"{name}: no two columns begin with the question {roles.question!r} and go on with an item; the "
                f"columns are {listed(others, 40)}"
            )
        chosen = roles.public or item_list(found)
        if missing := [one for one in chosen if one not in found]:
            raise DataError(
                f"{name}: the question {roles.question!r} has no item {missing[0]!r}, but {listed(found)}"
            )
        return {one: found[one] for one in chosen}
    if roles.public is not None:
        return {item: _column_of_item(name, others, item) for item in roles.public}
    seen = roles.items in (None, SEEN)
    columns = others if seen else span_of(name, header, str(roles.items))
    if len(columns) < 2 or not all(column.strip() for column in columns):
        raise DataError(
            f"{name}: a ranking needs at least two items, and each has a name; the columns are {listed(header, 40)}"
        )
    try:
        found = public_items(item_list(columns) if seen else columns)
    except DataError as error:
        raise DataError(f"{name}: {error}") from None
    return dict(zip(found, found))


def _column_of_item(name: str, columns: Sequence[str], item: str) -> str:
    """The column of an item: of its name, or the only one whose name ends with it in brackets or after a mark."""
    if item in columns:
        return item
    ends = re.compile(
        rf".*(\[\s*{re.escape(item)}\s*\]|(!!|:|\s-)\s*{re.escape(item)})\s*", re.DOTALL
    )
    found = [column for column in columns if ends.fullmatch(column)]
    if len(found) != 1 or isinstance(columns, Keys):
        raise DataError(
            f"{name}: no column for the item {item!r}; the columns are {listed(columns, 40)}"
        )
    return found[0]


SYNTHETIC = "synthetic_epsilon"
"""Column of ε that marks synthetic rankings, never an item."""


def _wide(table: Table, roles: RankingRoles, columns: Mapping[str, str], cells: Cells) -> Rankings:
    rankings, _ = read_wide(table, roles, columns, cells)
    return rankings


def read_wide(
    table: Table,
    roles: RankingRoles,
    columns: Mapping[str, str],
    cells: Cells,
    *,
    counted: bool = True,
) -> tuple[Rankings, np.ndarray]:
    """A table with a column for each item, and the ranks as they stand in it, from 0, which rankings renumber.

    Args:
        table, roles: as for :func:`read_ballots`.
        columns: by item.
        cells: what they hold.
        counted: whether a column that looks like counts is refused.
    """
    name = table.name
    reading = Reading(
        table,
        roles,
        {f"item {k}": one for k, one in enumerate(columns.values())},
        whole=True,
        counted=counted,
    )
    if counted and roles.items in (None, SEEN):
        check_no_counts(name, list(columns))
    of_items = reading.several("item")
    reading.faults.some_key(of_items)
    reading.one_row_each()
    possible = len(table.header) - sum(one in reading.columns for one in ("user", "count"))
    levels, scale = cells.levels(reading, of_items, None if roles.ranks else possible)
    try:
        reading.stop(reading.size)
    except DataError as error:
        raise DataError(f"{error}{_NO_ITEM * (roles.public is None and counted)}") from None
    _check_size(
        name, int(reading.size if reading.number is None else reading.number.sum()), len(columns)
    )
    ranks = np.stack(levels, axis=1)
    each = reading.repeated()
    ranks = ranks if each is None else ranks[each]
    if cells.kind == "ranks" and not roles.ranks:
        check_not_rated(name, list(columns.values()))
        check_like_ranks(name, ranks, left_out=bool(reading.unused))
    fixed = table.form
    notes = [cells.note] + [_COLUMNS_ARE_ITEMS] * (fixed and roles.public is None)
    said = reading.facts(tuple(columns), notes=notes, fixed=fixed)
    return cells.made(ranks, scale, missing=roles.missing or cells.missing, **said), ranks


def _long(table: Table, roles: RankingRoles, columns: Mapping[str, str], cells: Cells) -> Rankings:
    name = table.name
    if roles.user is None:
        raise DataError(
            f"{name}: rows of one item each need a column of users, or it is unclear which belong together"
        )
    if roles.count is not None:
        raise DataError(f"{name}: rows are ranks of users, which count once: leave out `count`")
    if spelled_in(table.header, roles.user) not in table.header:
        raise DataError(
            f"{name}: name the column of users by `user`; the columns are {listed(table.header, 40)}"
        )
    reading = Reading(table, roles, columns)
    item, rank = reading.cells["item"], reading.cells["rank"]
    reading.faults.some_key([item, rank])
    users = reading.read_users()
    assert users is not None
    rows = np.flatnonzero(~(reading.blanks(item) & reading.blanks(rank)))
    reading.take(rows)
    (codes,) = reading.faults.named([reading.cells["item"]], reading.items)
    rows, codes = rows[codes >= 0], codes[codes >= 0]
    reading.faults.rows = rows
    levels, scale = cells.levels(reading, [rank.take(rows)], None)
    users = users[rows]
    again = np.ones(codes.size, bool)
    again[np.unique(np.stack([users, codes]), axis=1, return_index=True)[1]] = False
    what = functools.partial(item.take(rows).quoted, "{} is ranked twice by one user: keep one row")
    reading.faults.where(again, item.name, what)
    reading.stop(len(reading.people))
    total = number_of_users(name, roles, len(reading.people))
    _check_size(name, total, len(reading.items))
    order, place = reading.items.in_order()
    ranks = np.full((total, len(order)), -1, np.int32)
    ranks[users, np.array(place, np.int64)[codes]] = levels[0]
    if cells.kind == "ranks" and not roles.ranks:
        check_not_rated(name, [rank.name])
        check_ranks_of_few(name, rank.name, int(ranks.max()), len(order))
        check_like_ranks(name, ranks, left_out=False)
    said = reading.facts(order, notes=[cells.note], seen_users=roles.num_users is None)
    if roles.num_users is not None:
        said["user_names"] = ()
    return cells.made(ranks, scale, missing=roles.missing or cells.missing, **said)


def number_of_users(name: str, roles: RankingRoles, seen: int) -> int:
    """The number of all users, of whom so many have rows in the file of this name."""
    number = roles.num_users
    if number is None:
        return seen
    if not isinstance(number, int | np.integer) or number < seen:
        raise DataError(
            f"{name}: `num_users` must be a whole number, of all users who were asked, those included who ranked "
            f"nothing; got {number!r}"
        )
    return int(number)


def _check_size(name: str, users: int, items: int) -> None:
    if not users:
        raise DataError(f"{name} has no rows below its header: there is nothing to rank")
    if items < 2:
        raise DataError(f"{name}: a ranking needs at least two items, found {items}")
    if users * items > MOST_CELLS:
        raise DataError(
            f"{name}: {users:,} users times {items:,} items is more than is held in memory ({MOST_CELLS:,}): give a "
            "table of Ibis with a row for each user and item, which an engine counts"
        )


# --- orders --------------------------------------------------------------------------------------------


def _orders(table: Table, roles: RankingRoles, columns: Sequence[str], cells: Cells) -> Rankings:
    """A table of items: best first, a column for each place or one of texts or lists; or lists of those approved of."""
    name, approved, one = table.name, cells.kind == "approvals", len(columns) == 1
    reading = Reading(
        table, roles, {f"place {k}": column for k, column in enumerate(columns)}, whole=True
    )
    of_places = reading.several("place")
    reading.faults.some_key(of_places)
    reading.one_row_each()
    reading.faults.stop()  # of users and counts, before texts are compared
    rows, items, at = _texts(reading, of_places[0]) if one else _places(reading, of_places)
    reading.stop(reading.size)
    users = reading.size
    _check_size(
        name, int(users if reading.number is None else reading.number.sum()), len(reading.items)
    )
    if (
        not one
        and roles.public is None
        and all(re.fullmatch(r"\s*\d+(\.\d*)?\s*", item) for item in reading.items)
    ):
        raise DataError(
            f"{name}: its columns {listed(columns, 2)} are places, but all their cells are numbers: if these are "
            "items, best first, list the `items`; if they are ranks of items, name the columns after the items"
        )
    order, place = reading.items.in_order()
    ranks = np.full((users, len(order)), 1 if approved else -1, np.int32)
    ranks[rows, np.array(place, np.int64)[items]] = 0 if approved else at
    each = reading.repeated()
    ranks = ranks if each is None else ranks[each]
    if approved:
        how = f"column {columns[0]!r} holds the items that a user approves of, in any order"
    elif one:
        how = f"column {columns[0]!r} holds orders, the best first"
    else:
        how = f"columns {columns[0]!r} to {columns[-1]!r} are places, so their cells are items, best first"
    said = reading.facts(order, how)
    return cells.made(
        ranks,
        _YES_OR_NO if approved else None,
        missing=roles.missing or "last" * (not approved) or "unknown",
        **said,
    )


_NO_ITEM = "; if a column is no item, list the `items`, or leave it out by `ignore`"
_Entries = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, codes of items, places


def _texts(reading: Reading, column: Column) -> _Entries:
    """The items of texts or lists."""
    roles, names = reading.roles, reading.items
    assert isinstance(roles, RankingRoles)
    sign = _sign(roles.order_separator)
    words = [word for _, _, word in column.in_order() if isinstance(word, str) and word.strip()]
    if not names.closed:
        _check_orders(reading.table.name, column.name, words, sign)
    ranked: list[list[tuple[int, int]]] = [[] for _ in column.words]
    for row, code, word in column.in_order():
        try:
            ranked[code] = _ranked(places_in(word, sign, names if names.closed else ()), names)
        except BadCell as error:
            reading.faults.add(row, column.name, error)
            break
    sizes = np.array([len(one) for one in ranked], np.int64)[column.codes]
    rows = np.repeat(np.arange(len(column)), sizes)
    pairs = [pair for code in column.codes.tolist() for pair in ranked[code]]
    flat = np.array(pairs, np.int64).reshape(-1, 2)
    return rows, flat[:, 1], flat[:, 0]


def _sign(said: str | None) -> str:
    """What stands between the items of an order."""
    sign = ">" if said is None else _SIGNS.get(said.strip().casefold(), said.strip() or said)
    if not sign or any(letter.isalnum() for letter in sign):
        raise DataError(
            f"order_separator={said!r} is none: give what stands between the items of an order, without letters and "
            "digits, or 'newline' or 'blank'"
        )
    return sign


def _check_orders(name: str, column: str, words: Sequence[str], sign: str) -> None:
    """Refuse texts that are no orders by a sign: each must have it, or be an item of one that has it."""
    have = [word for word in words if len(_groups(word, sign)) > 1 or (sign == ">" and "=" in word)]
    known = {item for word in have for group in _groups(word, sign) for item in group}
    wrong = [word for word in words if word not in set(have) and word.strip() not in known]
    if not wrong or (
        not have and len(words) < 2 and not any(other in words[0] for other in ";|,\n")
    ):
        return
    others = [other for other in (";", "|", "\n", ",") if other != sign and other in wrong[0]]
    advice = (others or [";"])[0].replace("\n", "newline")
    raise DataError(
        f"{name}, column {column!r}: {quoted(min(wrong))} is no order with {sign!r} between its items: say what stands "
        f"between them, such as order_separator={advice!r}, or list the `items`"
    )


def _groups(cell: str, sign: str) -> list[list[str]]:
    """Items of a text, best first, those that are tied together; only > has = for ties.

    >>> _groups("a > b=c", ">"), _groups("a; b;", ";")
    ([['a'], ['b', 'c']], [['a'], ['b']])
    """
    if sign == ">":
        parts = cell.replace("≻", ">").split(">")
        return [[name.strip() for name in part.split("=")] for part in parts]
    groups = [[name.strip()] for name in (cell.split() if sign == " " else cell.split(sign))]
    if sign == "\n":  # lines of which some may be blank
        groups = [group for group in groups if group[0]]
    if len(groups) > 1 and not groups[-1][0]:
        del groups[-1]
    return groups


def places_in(cell: Any, sign: str, known: Container[str] = ()) -> Iterator[tuple[int, str]]:
    """The items of a cell with their places, from 0; a cell may be a list, and a known item have a sign in its name.

    Raises:
        BadCell: a sign without a name beside it.
    """
    if isinstance(cell, tuple):
        yield from (
            (place, one) for place, one in enumerate(cell) if one is not None and one.strip()
        )
    elif (cell or "").strip():
        if cell.strip() in known:
            yield 0, cell.strip()
            return
        groups = _groups(cell, sign)
        if not all(name for group in groups for name in group):
            ties = ", and = between ties, such as A>B=C" if sign == ">" else ""
            raise BadCell(
                f"{quoted(cell)} is no order: write the items, best first, with {sign!r} between them{ties}"
            )
        for place, group in enumerate(groups):
            yield from ((place, name) for name in group)


def _ranked(items: Iterator[tuple[int, str]], names: Names) -> list[tuple[int, int]]:
    """Places and codes of the items of an order, each of which stands there once."""
    found: dict[int, int] = {}
    for place, name in items:
        code = names[name]
        if code in found:
            raise BadCell(f"{quoted(name)} stands twice in one order: keep one place for each item")
        if code >= 0:
            found[code] = place
    return [(place, code) for code, place in found.items()]


def _places(reading: Reading, columns: Sequence[Column]) -> _Entries:
    """The items of a column for each place."""

    def code_of(word: Any) -> int:
        blank = word is None or (isinstance(word, str) and not word.strip())
        return -1 if blank else reading.items[word]

    codes = np.stack(reading.faults.together(columns, code_of), axis=1)
    for k, column in enumerate(columns[1:], start=1):
        again = (codes[:, k] >= 0) & np.any(codes[:, :k] == codes[:, k : k + 1], axis=1)
        what = functools.partial(
            column.quoted, "{} stands twice in one order: keep one place for each item"
        )
        reading.faults.where(again, column.name, what)
    rows, at = np.nonzero(codes >= 0)
    return rows, codes[rows, at], at


# --- whether ranks look like ranks -----------------------------------------------------------------------


_RATED = {
    "score", "scores", "rating", "ratings", "rated", "star", "stars", "point", "points", "grade", "grades", "likes",
    "mark", "marks",
}  # fmt: skip
_LETTERS = re.compile(r"[^\W\d_]+")


def check_not_rated(name: str, columns: Sequence[str]) -> None:
    """Raise :class:`DataError` where all columns of ranks are named as ratings are."""
    if all(_RATED & set(_LETTERS.findall(column.casefold())) for column in columns):
        raise DataError(
            f"{name}: columns such as {columns[0]!r} are named like ratings, and would be read as ranks, 1 = best: "
            "give the scale of ratings by `ratings`, such as ratings='1:5', or say ranks=True"
        )


def check_ranks_of_few(name: str, column: str, largest: int, items: int) -> None:
    """Raise :class:`DataError` where the largest rank of a long file, from 0, is too large for its items."""
    if largest >= items:
        raise DataError(
            f"{name}, column {column!r}: {largest + 1} is not a rank, 1 = best, of {items} items: if these are "
            "ratings, give their scale by `ratings`, such as ratings='1:5'; if they are ranks, say ranks=True"
        )


def check_like_ranks(name: str, ranks: np.ndarray, *, left_out: bool) -> None:
    """Raise :class:`DataError` where most users' ranks are unlike ranks, as this module's head says.

    Args:
        name: of the file.
        ranks: (n, m) int, from 0 as they stand in the file; -1: not ranked.
        left_out: whether other columns of the file may hold ranks too.
    """
    unlike = users = 0
    rows = max(1, _BLOCK // max(ranks.shape[1], 1))
    for start in range(0, len(ranks), rows):
        block = ranks[start : start + rows]
        block = block[np.any(block >= 0, axis=1)]
        users += len(block)
        unlike += int(np.sum(~_like_ranks(block, left_out)))
    if 2 * unlike > users:
        raise DataError(
            f"{name}: the cells of {unlike:,} of {users:,} users don't look like ranks, 1 = best (numbers repeat and "
            "skip as in no ranking with ties, or nothing comes first): if they are ratings, give their scale by "
            "`ratings`, such as ratings='1:5'; if they are ranks, say ranks=True"
        )


def _like_ranks(ranks: np.ndarray, left_out: bool) -> np.ndarray:
    """Whether each row is like ranks, (n,) bool; every row has a rank."""
    blank = ranks < 0
    before, up_to, different = places(ranks)
    number, last = np.sum(~blank, axis=1), np.max(ranks, axis=1)
    first = np.min(np.where(blank, last[:, None], ranks), axis=1)
    by_those_before = np.all(ranks == before, axis=1, where=~blank)
    by_those_up_to = np.all(ranks == up_to - 1, axis=1, where=~blank)
    counted = (last == different - 1) & (2 * different > number)
    tied = by_those_before | by_those_up_to | counted
    return np.where(different == number, (first == 0) | left_out, tied)
