"""Tables of rankings, ratings and approvals.

*Wide*: a row for each user, a column for each item. *Long*: a row for each user and item. *Places*: a row for each
user, a column for each place, cells are items. *Orders*: a row for each user, one text such as ``A>B=C``, or one list,
best first. Cells of wide and long tables are ranks (1 = best, equal ones are ties), ratings on a scale that is said, or
approvals. Of any form, what is read is one level for each user and item.

Ratings read as ranks would reverse the order. So ranks must look like ranks: none exceeds the number of items, and not
more than half of the users who ranked something have cells unlike ranks. The cells of a user without ties are like
ranks if one of them is 1 (where columns are left out, the 1 may be there). With ties there are three ways:

- each cell is one more than the number of items before it (1, 2, 2, 4);
- each cell is the number of items up to it (1, 3, 3, 4);
- the cells count without gaps (1, 2, 2, 3), with more different ones than half of the items.

At least 56 % of the users who give one to five stars equally often are unlike, whatever the number of items, and 80 %
where four stars are most frequent.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Container, Mapping, Sequence
from typing import Any

import numpy as np

from privrank_jax.data import header as heads
from privrank_jax.data.cells import approval_of, rank_of, rating_reader, scale_of
from privrank_jax.data.columns import Column, Reading, Table
from privrank_jax.data.errors import BadCell, DataError, listed, quoted
from privrank_jax.data.file import SEPARATORS
from privrank_jax.data.header import places_of, remainder, span_of, spelled_in, without
from privrank_jax.data.names import form, public_items
from privrank_jax.data.rankings import Approvals, Rankings, Ratings, before, check_size
from privrank_jax.data.roles import SEEN, RankingRoles, RatingRoles

SYNTHETIC = "synthetic_epsilon"
"""Column of ε that marks synthetic rankings, never an item."""
_SIGNS = {**SEPARATORS, "newline": "\n", "\\n": "\n", "blank": " ", "≻": ">"}
_NUMBER = re.compile(r"\s*\d+(\.\d*)?\s*")
_NO_ITEM = "; where a column is no item, list the `items`, `ignore` it, or name their `question`"
_TWICE = "{} stands twice in one order: keep one place for each item"
_BY_RATINGS = "give the scale of ratings, as ratings='1:5'; if they are ranks, say ranks=True"


def read_ballots(table: Table, roles: RankingRoles) -> Rankings:
    """Read rankings, ratings or approvals from an opened table.

    Raises:
        DataError: what is wrong, where (file, line, column), and how to fix it.
    """
    name, kind = table.name, roles.KIND
    shape, columns = shape_of(name, without(name, table.header, roles.ignore), roles)
    fits = {"num_users": shape == "long", "count": shape != "long", "ranks": kind == "rankings"}
    fits["order_separator"] = shape == "order"
    for one, useful in fits.items():
        if one in roles.told and not useful:
            raise DataError(f"{name}: leave out `{one}`, for which {kind} of this form have no use")
    if shape == "long":
        return _long(table, roles, columns)
    if shape == "wide":
        return read_wide(table, roles, columns)[0]
    if kind == "ratings" or (shape == "places" and kind == "approvals"):
        raise DataError(f"{name}: its cells are items, best first: these are rankings, not {kind}")
    return _orders(table, roles, columns)


def shape_of(name: str, header: Sequence[str], roles: RankingRoles) -> tuple[str, dict[str, str]]:
    """How a table is written, ``"long"``, ``"order"``, ``"places"`` or ``"wide"``, and its columns by role or item."""
    long = roles.find(header, "item", "rank")
    if {"item", "rank"} & roles.told.keys() or len(long) == 2:
        for lacks in {"item", "rank"} - long.keys():
            raise DataError(
                f"{name}: name the column of {lacks}s by `{lacks}`; the columns are {listed(header, 40)}"
            )
        return "long", long
    if roles.order is not None:
        return "order", {"order": roles.order}
    if roles.span or (roles.public is not None and set(roles.public) <= set(header)):
        return "wide", wide_items(name, header, roles)
    if found := places_of(header, roles.question):
        return "places", {f"place {k}": column for k, column in enumerate(found)}
    usual = {} if roles.question is not None else roles.find(header, "order")
    return ("order", usual) if usual else ("wide", wide_items(name, header, roles))


def wide_items(name: str, header: Sequence[str], roles: RankingRoles) -> dict[str, str]:
    """The columns of a wide table that hold the ranks of an item, by the names of the items."""
    beside = {spelled_in(header, one) for one in (roles.user, roles.count) if one is not None}
    columns = span_of(name, header, roles.span) if roles.span else header
    found = {one: one for one in columns if one not in {*beside, SYNTHETIC}}
    if roles.question is not None:
        parts = [(remainder(one, roles.question), one) for one in found]
        found = {item: one for item, one in parts if item}
        if not found or len(found) < sum(bool(item) for item, _ in parts):
            raise DataError(
                f"{name}: no columns, or two of one item, begin with the question {roles.question!r}; the columns are "
                f"{listed(header, 40)}"
            )
    elif roles.public is None and len(several := heads.questions_of(found)) > 1:
        raise DataError(f"{name} has several questions, {listed(several)}: name one by `question`")
    items = roles.public or (tuple(found) if roles.span else tuple(sorted(found)))
    for item in items:
        if item not in found:
            raise DataError(
                f"{name}: no column for the item {item!r}, but for {listed(found, 40)}; where names of columns begin "
                "with a question, name it by `question`"
            )
    return {item: found[item] for item in public_items(items, f"{name}: columns of items")}


# --- tables of levels ------------------------------------------------------------------------------------


def note_of(roles: RankingRoles) -> str:
    """What cells are taken for, in words; nothing of it depends on the data."""
    if roles.KIND == "ratings":
        worst, *_, best = (f"{one:g}" if isinstance(one, float) else one for one in _scale(roles))
        return f"the cells are ratings from {worst}, the worst, to {best}, the best; equal ones are ties"
    if roles.KIND == "approvals":
        return "the cells say whether the user approves of the item; a blank one does not"
    return "the cells are ranks, 1 = best"


def _scale(roles: RankingRoles) -> tuple[Any, ...]:
    return scale_of(roles.ratings) if isinstance(roles, RatingRoles) else (0.0, 1.0)


def levels_of(
    reading: Reading, columns: Sequence[Column], most: int | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Ranks from 0 (at most so many), or places on the scale of ratings, -1 for none; and that scale, best first."""
    roles, blank = reading.roles, reading.items.blank
    read, nothing = functools.partial(rank_of, most=most), -1.0
    if roles.KIND == "ratings":
        read, nothing = rating_reader(_scale(roles)), np.nan
    elif roles.KIND == "approvals":
        read, nothing = approval_of, 0.0

    def value(word: Any) -> float:
        return nothing if blank and form(str(word or "")) in blank else read(word)

    ranked = roles.KIND == "rankings"
    dtype = np.int32 if ranked else float
    found = np.stack([reading.faults.read(one, value, dtype) for one in columns], axis=1)
    if ranked:
        return found, None
    scale = np.unique(found[~np.isnan(found)])[::-1]
    scale = np.array([1.0, 0.0]) if roles.KIND == "approvals" else scale
    levels = np.searchsorted(-scale, -found).astype(np.int32)
    return np.where(np.isnan(found), np.int32(-1), levels), scale


def _made(
    reading: Reading, levels: np.ndarray, scale: np.ndarray | None, items: Sequence[str], *how: str
) -> Rankings:
    """The data, of ranks or of places on a scale; ``how`` is what was recognized of a table of items."""
    roles, long = reading.roles, not reading.whole
    fixed = reading.table.form and not long and not how
    notes = [] if how else [note_of(roles)]
    if fixed and roles.public is None:
        notes.append(
            "the items are columns of the file, which is taken for a form that does not depend on anyone's answers"
        )
    seen_users = long and roles.num_users is None
    said = reading.facts(tuple(items), *how, notes=notes, fixed=fixed, seen_users=seen_users)
    said["missing"] = roles.missing or ("last" if roles.KIND == "rankings" else "unknown")
    said["user_names"] = said["user_names"] if roles.num_users is None else ()
    levels = levels if long else levels[reading.repeated()]
    if scale is None:
        if not (how or roles.ranks):
            columns = [one for role, one in reading.columns.items() if role[:4] in ("rank", "cell")]
            largest = int(levels.max()) if long else 0
            left_out = bool(reading.unused) and not long
            check_ranks(reading.table.name, columns, levels, largest, left_out)
        return Rankings(levels, **said)
    ends = _scale(roles)
    ends = (0.0, len(ends) - 1.0) if isinstance(ends[0], str) else ends
    turned = sum(ends) * (ends[0] > ends[1])  # these were read as minus the rating
    kind = Ratings if isinstance(roles, RatingRoles) else Approvals
    said["ends"] = min(ends), max(ends)
    return kind(levels, levels=levels, scale=scale + turned, **said)


def read_wide(
    table: Table, roles: RankingRoles, columns: Mapping[str, str], *, counted: bool = True
) -> tuple[Rankings, np.ndarray]:
    """A table with a column for each item, and the ranks as they stand in it, from 0, which rankings renumber."""
    cells = {f"cell {k}": one for k, one in enumerate(columns.values())}
    reading = _whole(table, roles, cells, counted)
    if counted and roles.items in (None, SEEN):
        heads.check_no_counts(table.name, list(columns))
    possible = len(table.header) - len({"user", "count"} & reading.columns.keys())
    most = None if roles.ranks else possible
    levels, scale = levels_of(reading, reading.several("cell"), most)
    try:
        reading.stop()
    except DataError as error:
        raise DataError(f"{error}{_NO_ITEM * (roles.public is None and counted)}") from None
    check_size(table.name, reading.repeated().size, len(columns))
    return _made(reading, levels, scale, tuple(columns)), levels


def _whole(
    table: Table, roles: RankingRoles, columns: Mapping[str, str], counted: bool = True
) -> Reading:
    """The cells of a table in which a row is all that one user said."""
    reading = Reading(table, roles, columns, whole=True, counted=counted)
    reading.faults.some_key([reading.cells[role] for role in columns])
    if (users := reading.read_users()) is not None:
        reading.once("user", users, "user {} has two rows: keep one ranking per user")
    return reading


def _long(table: Table, roles: RankingRoles, columns: Mapping[str, str]) -> Rankings:
    name = table.name
    if roles.user is None or spelled_in(table.header, roles.user) not in table.header:
        raise DataError(f"{name}: name one of these columns by `user`: {listed(table.header, 40)}")
    reading = Reading(table, roles, columns)
    item, rank = reading.cells["item"], reading.cells["rank"]
    reading.faults.some_key([item, rank])
    all_users = reading.read_users()
    reading.take(rows := np.flatnonzero(~(item.among({""}) & rank.among({""}))))
    (codes,) = reading.faults.named([reading.cells["item"]], reading.items)
    reading.take(known := np.flatnonzero(codes >= 0))
    codes, users = codes[known], np.asarray(all_users)[rows[known]]
    levels, scale = levels_of(reading, [reading.cells["rank"]], None)
    pairs = users * np.int64(max(len(reading.items), 1)) + codes
    reading.once("item", pairs, "{} is ranked twice by one user: keep one row")
    reading.faults.stop()
    total = len(reading.people) if roles.num_users is None else roles.num_users
    if not isinstance(total, int | np.integer) or total < len(reading.people):
        raise DataError(
            f"{name}: `num_users` must be the number of all users, those included who ranked nothing; got {total!r}"
        )
    check_size(name, total, len(reading.items))
    order, place = reading.items.in_order()
    ranks = np.full((total, len(order)), -1, np.int32)
    ranks[users, np.array(place, np.int64)[codes]] = levels[:, 0]
    return _made(reading, ranks, scale, order)


# --- tables of items -------------------------------------------------------------------------------------

_Entries = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, codes of items, places


def _orders(table: Table, roles: RankingRoles, columns: Mapping[str, str]) -> Rankings:
    """A table of items: best first, a column for each place or one of texts or lists; or lists of those approved of."""
    approved, places = roles.KIND == "approvals", "order" not in columns
    reading = _whole(table, roles, columns)
    reading.faults.stop()  # of users and counts, before texts are compared
    cells = [reading.cells[role] for role in columns]
    rows, codes, at = _places(reading, cells) if places else _texts(reading, cells[0])
    reading.stop()
    check_size(table.name, reading.repeated().size, len(reading.items))
    if places and not roles.public and all(_NUMBER.fullmatch(item) for item in reading.items):
        raise DataError(
            f"{table.name}: {cells[0].name!r} is named like a place, but all cells are numbers: list the `items` if "
            "these are some, or name columns of ranks after the items"
        )
    order, place = reading.items.in_order()
    levels = np.full((reading.size, len(order)), 1 if approved else -1, np.int32)
    levels[rows, np.array(place, np.int64)[codes]] = 0 if approved else at
    scale = np.array([1.0, 0.0]) if approved else None
    how = f"columns {cells[0].name!r} to {cells[-1].name!r} are places, and cells items, best first"
    if not places:
        held = "items, in any order" if approved else "orders, the best first"
        how = f"column {cells[0].name!r} holds {held}"
    return _made(reading, levels, scale, order, how)


def _places(reading: Reading, columns: Sequence[Column]) -> _Entries:
    """The items of a column for each place."""

    def code_of(word: Any) -> int:
        blank = word is None or (isinstance(word, str) and not word.strip())
        return -1 if blank else reading.items[word]

    codes = np.stack([reading.faults.read(one, code_of) for one in columns], axis=1)
    for k, column in enumerate(columns[1:], start=1):
        again = (codes[:, k] >= 0) & np.any(codes[:, :k] == codes[:, k : k + 1], axis=1)
        reading.faults.where(again, column, _TWICE)
    rows, at = np.nonzero(codes >= 0)
    return rows, codes[rows, at], at


def _texts(reading: Reading, column: Column) -> _Entries:
    """The items of texts or lists."""
    roles, names = reading.roles, reading.items
    sign = sign_of(roles.order_separator)
    if not names.closed:
        _check_orders(reading.table.name, column, sign)

    def ranked(cell: Any) -> list[tuple[int, int]]:
        found: dict[int, int] = {}
        for place, group in enumerate(groups_of(cell, sign, names if names.closed else ())):
            for name in group:
                if (code := names[name]) in found:
                    raise BadCell(_TWICE.format(quoted(name)))
                if code >= 0:
                    found[code] = place
        return list(found.items())

    of_words = [one or [] for one in reading.faults.values(column, ranked, object)]
    sizes = np.array([len(one) for one in of_words], np.int64)[column.codes]
    pairs = [pair for code in column.codes.tolist() for pair in of_words[code]]
    flat = np.array(pairs, np.int64).reshape(-1, 2)
    return np.repeat(np.arange(len(column)), sizes), flat[:, 0], flat[:, 1]


def sign_of(said: str | None) -> str:
    """What stands between the items of an order."""
    sign = ">" if said is None else _SIGNS.get(said.strip().casefold(), said.strip() or said)
    if not sign or any(letter.isalnum() for letter in sign):
        raise DataError(
            f"order_separator={said!r} is none: give what stands between the items, such as > or 'newline'"
        )
    return sign


def _check_orders(name: str, column: Column, sign: str) -> None:
    """Refuse texts that are no orders by a sign: each must have it, or be an item of one that has it."""
    words = [word for _, _, word in column.in_order() if isinstance(word, str) and word.strip()]
    have = {word: groups for word in words if sum(map(len, groups := _split(word, sign))) > 1}
    known = {item for groups in have.values() for group in groups for item in group}
    wrong = [word for word in words if word not in have and word.strip() not in known]
    others = [other for other in ";|\n," if other != sign and wrong and other in wrong[0]]
    if wrong and (have or len(words) > 1 or others):
        advice = (others or [";"])[0].replace("\n", "newline")
        raise DataError(
            f"{name}, column {column.name!r}: {quoted(min(wrong))} is no order with {sign!r}: say what stands between "
            f"its items, such as order_separator={advice!r}, or list the `items`"
        )


def _split(text: str, sign: str) -> list[list[str]]:
    """Items of a text, best first, those that are tied together; only > has = for ties."""
    parts = (text.replace("≻", ">") if sign == ">" else text).split(None if sign == " " else sign)
    groups = [[one.strip() for one in part.split("=" if sign == ">" else sign)] for part in parts]
    if sign == "\n":  # lines may be blank
        groups = [group for group in groups if group[0]]
    return groups[:-1] if sign != ">" and len(groups) > 1 and not groups[-1][0] else groups


def groups_of(cell: Any, sign: str, known: Container[str] = ()) -> list[list[str]]:
    """The items of a cell, those of each place; a cell may be a list, and a known item have a sign in its name."""
    if isinstance(cell, tuple):
        return [[one] if one is not None and one.strip() else [] for one in cell]
    text = (cell or "").strip()
    if not text or text in known:
        return [[text]] * bool(text)
    groups = _split(cell, sign)
    if not all(name for group in groups for name in group):
        raise BadCell(
            f"{quoted(cell)} is no order: write items, best first, with {sign!r} between them, as A>B=C with >"
        )
    return groups


# --- whether ranks look like ranks -----------------------------------------------------------------------


_RATED = re.compile(
    r"(?i)(?<![a-z])(scores?|ratings?|rated|stars?|points?|grades?|likes|marks?)(?![a-z])"
)


def check_ranks(
    name: str, columns: Sequence[str], ranks: np.ndarray, largest: int = 0, left_out: bool = False
) -> None:
    """Refuse ranks from 0, -1 for none, that are named or look like ratings, as this module's head says.

    ``largest`` is the largest rank of a long file; of wide ones other columns may hold ranks too (``left_out``).
    """
    if all(map(_RATED.search, columns)):
        raise DataError(
            f"{name}: columns such as {columns[0]!r} are named like ratings, and read as ranks: {_BY_RATINGS}"
        )
    if largest >= ranks.shape[1]:
        raise DataError(
            f"{name}, column {columns[0]!r}: {largest + 1} is not a rank of {ranks.shape[1]} items: {_BY_RATINGS}"
        )
    some = ranks[np.any(ranks >= 0, axis=1)]
    unlike = int(np.sum(~_like_ranks(some, left_out))) if some.size else 0
    if 2 * unlike > len(some):
        raise DataError(
            f"{name}: the cells of {unlike:,} of {len(some):,} users don't look like ranks, 1 = best: {_BY_RATINGS}"
        )


def _like_ranks(ranks: np.ndarray, left_out: bool) -> np.ndarray:
    """Whether each row is like ranks, (n,) bool; every row has a rank."""
    known = ranks >= 0
    number, last = np.sum(known, axis=1), np.max(ranks, axis=1)
    ordered = np.sort(np.where(known, ranks, last[:, None]), axis=1)
    different = 1 + np.sum(np.diff(ordered, axis=1) > 0, axis=1)
    behind = before(np.where(known, last[:, None] - ranks, -1))
    by_those_before = np.all(ranks == before(ranks), axis=1, where=known)
    by_those_up_to = np.all(ranks + 1 + behind == number[:, None], axis=1, where=known)
    counted = (last == different - 1) & (2 * different > number)
    tied = by_those_before | by_those_up_to | counted
    return np.where(different == number, (ordered[:, 0] == 0) | left_out, tied)
