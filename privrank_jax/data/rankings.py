"""Rankings and ratings of items by users, and their reader; a faulty file is refused as a whole.

Several shapes are read. *Wide*: one row per user, one column per item, cells are ranks, 1 = best, blank = not ranked.
*Long*: columns ``user``, ``item`` and ``rank``, one row per user and item. *Orders*: one row per user, cells are items,
in a column per place, or one text such as ``A>B=C`` or one list (:mod:`privrank_jax.data.orders`). Equal ranks of one
user are ties. For what counts as a rank, see :mod:`privrank_jax.data.ranks`.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from jaxtyping import Float, Int

from privrank_jax._neighbors import NO_COLUMN, of_column, of_count
from privrank_jax._validate import check_choice
from privrank_jax.data.cells import count_of
from privrank_jax.data.columns import Column, Faults, Table, repeated
from privrank_jax.data.errors import BadCell, DataError, quoted, say
from privrank_jax.data.file import Origin
from privrank_jax.data.header import (
    but,
    check_no_counts,
    column_of,
    find_columns,
    spelled_in,
    without,
)
from privrank_jax.data.kinds import (
    SEEN_ITEMS,
    Data,
    Meetings,
    counted_note,
    meetings_of_sets,
    public_facts,
)
from privrank_jax.data.metadata import check_no_metadata, is_metadata
from privrank_jax.data.names import (
    MISSING,
    Names,
    check_names,
    did_you_mean,
    form,
    is_blank,
    item_list,
    place_of,
    public_items,
)
from privrank_jax.data.orders import (
    SIGNS,
    check_no_ranks,
    orders_note,
    places_in,
    said_sign,
    sign_of,
)
from privrank_jax.data.places import places
from privrank_jax.data.questions import grid_of
from privrank_jax.data.ranks import (
    CELLS,
    Ends,
    approval_of,
    cells_note,
    check_like_ranks,
    check_no_numbers_of_raters,
    check_no_numbers_of_rows,
    check_not_named_ratings,
    check_ranks_of_few,
    check_ranks_of_items,
    check_ratings_of_items,
    meaning_of_blanks,
    perhaps_no_item,
    rank_of,
    rating_of,
    unlike_ranks,
)
from privrank_jax.data.shapes import SYNTHETIC, battle_of, order_columns

_YES_OR_NO = np.array([1.0, 0.0])  # the scale of approvals
MOST_CELLS = 2**28  # users times items: a GiB of ranks
COLUMNS_ARE_ITEMS = (
    "the items are the columns of the file, which is taken for a form that does not depend on anyone's "
    "answers"
)
ONE_ROW_EACH = "the file names no users: each row is taken for all that one user ranked"


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Rankings(Data):
    """The rankings of m named items by n users, one row each, as NumPy arrays that nothing writes to.

    The list of items is public: it appears in the output of every release.

    Attributes:
        ranks: (n, m) int32: how many items the user ranked strictly before item i, so 0 = best; equal ranks
            are ties; -1: not ranked. Any whole numbers in this order may be given: they are renumbered.
        item_names: the m names, in the order of a public list, else sorted.
        user_names: the n original user ids, or () when the data name no users; each row is one user anyway.
        name: name of the data set or file.
        missing: how these data treat an item that was not ranked: ``"last"`` (behind all that were) or
            ``"unknown"`` (nothing is known of it), as in :meth:`~privrank_jax.aggregation.PairWeights.from_ranks`.
        notes: what the reader did, one sentence each; on the form of the data only, so that a private release may show
            them.
        reading: what was detected in the form of a file, rather than said by the caller; part of the notes, unless
            rows of users decide it, as the keys of JSON objects do.
        remarks: what was counted in the data or depends on rows, for the data holder only.
        public: facts that this reading takes as public, by their names in a
            :class:`~privrank_jax.privacy.Guarantee`: ``"items"`` where the list of items was read off the rows,
            ``"participation"`` where users who ranked nothing leave no trace.
        users_are: what one user is, such as ``"column 'user'"``.
        whole: whether it is public, by the kind of file or the data set, that users rank all items.
        origin: where the data come from.

    Raises:
        DataError: no users, fewer than two items, an item named twice, or arrays that don't fit together.

    >>> found = Rankings([[1, 5, 2], [3, 3, -1]], item_names=("a", "b", "c"))
    >>> found.ranks.tolist(), found.num_users, found.complete, found.tied
    ([[0, 2, 1], [0, 0, -1]], 2, False, True)
    """

    ranks: Int[np.ndarray, "users items"]
    item_names: tuple[str, ...]
    user_names: tuple[str, ...] = ()
    name: str = ""
    missing: str = "last"
    notes: tuple[str, ...] = ()
    reading: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    public: tuple[str, ...] = ()
    users_are: str = ""
    whole: bool = False
    origin: Origin | None = None

    def __post_init__(self) -> None:
        ranks = np.array(self.ranks)
        if ranks.ndim != 2 or not ranks.size or not np.issubdtype(ranks.dtype, np.integer):
            raise DataError(
                f"ranks must be whole numbers of shape (users, items), got {ranks.dtype} {ranks.shape}"
            )
        for field in ("item_names", "user_names", "notes", "reading", "remarks", "public"):
            object.__setattr__(self, field, tuple(getattr(self, field)))
        if ranks.shape[1] != len(self.item_names):
            raise DataError(f"{ranks.shape[1]} columns of ranks, {len(self.item_names)} item names")
        check_names(self.item_names)
        if self.user_names and len(self.user_names) != len(ranks):
            raise DataError(f"{len(ranks)} rows of ranks, {len(self.user_names)} user names")
        if self.missing not in ("last", "unknown"):
            raise DataError(f"missing must be 'last' or 'unknown', got {self.missing!r}")
        ranks = places(ranks).before
        ranks.setflags(write=False)
        object.__setattr__(self, "ranks", ranks)

    @property
    def num_users(self) -> int:
        """Number n of users, including those who ranked nothing."""
        return len(self.ranks)

    @property
    def partial_users(self) -> int:
        """Number of users who did not rank all items. Private."""
        return int(np.sum(np.any(self.ranks < 0, axis=1)))

    @property
    def complete(self) -> bool:
        """Whether every user ranked every item."""
        return bool(np.all(self.ranks >= 0))

    def meetings(self, items: Sequence[int]) -> Meetings:
        """How many users ranked each of these items together with each item, and how many would by chance.

        Args:
            items: k places of items.

        Returns:
            Two ``(k, m)`` arrays. Private.
        """
        return meetings_of_sets(self.ranks >= 0, items)

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone ranked. Private."""
        once = np.flatnonzero(np.sum(self.ranks >= 0, axis=0) == 1)
        return tuple(self.item_names[k] for k in once)

    @property
    def tied(self) -> bool:
        """Whether some user gave two items the same rank."""
        known = np.sum(self.ranks >= 0, axis=1)
        return bool(np.any(places(self.ranks).different < known))


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Ratings(Rankings):
    """Ratings of m named items by n users; as rankings, equal ratings of one user are ties.

    Attributes:
        levels: (n, m) int32, place of each rating on the scale; -1: not rated.
        scale: (k,) float64, the distinct ratings, best first.
    """

    levels: Int[np.ndarray, "users items"] = dataclasses.field(
        default_factory=lambda: np.zeros((0, 0), int)
    )
    scale: Float[np.ndarray, "levels"] = dataclasses.field(default_factory=lambda: np.zeros(0))

    def __post_init__(self) -> None:
        super().__post_init__()
        self.levels.setflags(write=False)
        self.scale.setflags(write=False)

    @classmethod
    def of_levels(
        cls, levels: Int[np.ndarray, "users items"], scale: Float[np.ndarray, "levels"], **said: Any
    ) -> Self:
        """Ratings by their places on the scale; ``said`` are the other attributes of rankings."""
        return cls(levels, levels=levels, scale=scale, **said)

    @property
    def ratings(self) -> Float[np.ndarray, "users items"]:
        """The ratings, (n, m) float64; NaN: not rated. Private."""
        return np.append(self.scale, np.nan)[self.levels]


class Approvals(Ratings):
    """Approvals of m named items by n users: ratings of 1 and 0, where that is public."""

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone approves of. Private."""
        once = np.flatnonzero(np.sum(self.levels == 0, axis=0) == 1)
        return tuple(self.item_names[k] for k in once)


def ranks_from_orders(
    orders: Int[np.ndarray, "users places"], num_items: int
) -> Int[np.ndarray, "users items"]:
    """Order lists, item codes best first, into ranks; negative codes are places that were not filled.

    Args:
        orders: codes.
        num_items: m.

    Raises:
        DataError: an item in two places of one row, or a code out of range; says in which row.

    >>> ranks_from_orders(np.array([[2, 0, -1]]), 3).tolist()
    [[1, -1, 0]]
    """
    orders = np.asarray(orders)
    ranks = np.full((len(orders), num_items + 1), -1, np.int32)
    if orders.size and orders.max() >= num_items:
        row = int(np.argmax(orders.max(axis=1) >= num_items))
        raise DataError(
            f"row {row + 1} of the orders names an item beyond the {num_items} there are"
        )
    at = np.broadcast_to(np.arange(orders.shape[1], dtype=np.int32), orders.shape)
    np.put_along_axis(ranks, np.where(orders < 0, num_items, orders), at, axis=1)
    ranks = ranks[:, :num_items]
    twice = np.sum(ranks >= 0, axis=1) != np.sum(orders >= 0, axis=1)
    if np.any(twice):
        raise DataError(f"row {int(np.argmax(twice)) + 1} of the orders names an item twice")
    return ranks


# --- reading ------------------------------------------------------------------------------------------


def read_rankings(
    table: Table,
    *,
    long: Callable[[Table, Long], Any] | None = None,
    user: str | None = "user",
    item: str | None = None,
    rank: str | None = None,
    order: str | None = None,
    order_separator: str | None = None,
    items: Iterable[str] | None = None,
    missing: str | None = None,
    ignore: Iterable[str] = (),
    blank: Iterable[str] = (),
    num_users: int | None = None,
    cells: str | None = None,
    count: str | None = None,
) -> Any:
    """Read rankings from an opened table; :func:`privrank_jax.read` explains the other arguments.

    Args:
        table: the columns.
        long: what reads a table with a row for each user and item; default: :func:`read_long`.

    Returns:
        :class:`Rankings`, or what ``long`` returns.

    Raises:
        DataError: what is wrong, where (file, line, column), and how to fix it: a rank that is not a whole number from
            1 to the number of items, ranks like ratings, no column of users where none was ruled out, one that numbers
            the rows, a user with two rows (wide) or two ranks for one item (long), an item named twice, columns that
            hold places ("Rank_1", ...) instead of items.
        ValueError: unknown ``cells``.
    """
    check_choice("cells", cells or "ranks", CELLS)
    public, name, blank = None if items is None else public_items(items), table.name, tuple(blank)
    missing = missing or meaning_of_blanks(cells)
    check_choice("missing", missing, ("last", "unknown"))
    header = without(name, table.header, ignore)
    if order is None and is_long(name, header, item, rank):
        if item is None and rank is None:
            _check_keys(table, header, ("item", "rank", user))
        _leave_out(name, "its cells are ranks", order_separator=order_separator, count=count)
        if user is None:
            raise DataError(
                f"{name}: rows of one item each need a column of users, or it is unclear which belong together"
            )
        roles = {"user": user, "item": item or "item", "rank": rank or "rank"}
        check_not_named_ratings(name, [roles["rank"]], cells)
        columns, unused = find_columns(name, header, roles)
        check_no_counts(name, unused)
        found = Long(columns, user, public, missing, num_users, cells, blank)
        return (long or read_long)(table, found)
    _leave_out(name, "a row is a user, also of those who ranked nothing", num_users=num_users)
    named = user
    user, count = spelled_in(header, user), spelled_in(header, count)
    if count is not None and user is not None:
        raise DataError(
            f"{name}: {say('count', count)} says how many users gave the ranking of a row, and a user has one ranking: "
            f"say {say('user', None)}, for a file with a whole ranking in each row, or leave it out"
        )
    header = but(header, {SYNTHETIC, count})
    others = but(header, {user})
    if table.form and (grid := grid_of(name, others, order, public)):
        table, header = _of_grid(table, header, grid, user)
    elif columns := _list_columns(table, header, user, order, public, cells):
        if order is None:
            _check_keys(table, others, columns)
        if len(columns) > 1:
            _leave_out(name, "its columns are places", order_separator=order_separator)
        if len(columns) > 1 or cells != "approvals":
            _leave_out(name, "its cells are items, best first", cells=cells)
        asked = (user, count, public, missing, order_separator, blank, cells == "approvals")
        return _of_users(_orders(table, header, columns, *asked), named)
    _leave_out(name, "its cells are no items", order_separator=order_separator, blank=blank or None)
    found, _ = wide_rankings(table, header, user, public, missing, cells, count)
    return _of_users(found, named)


def _check_keys(table: Table, header: Sequence[str], used: Collection[str | None]) -> None:
    """Raise :class:`DataError` where a shape was detected in keys of JSON objects, others of which may be items.

    A single user can add keys. Were these enough for a shape in which all others ranked nothing, the list of items
    could be the same with and without them, and yet each answer read in another way.
    """
    read = set(map(form, filter(None, used)))
    left = [key for key in header if form(key) not in read and not is_metadata(key)]
    if left and not table.form:
        raise DataError(
            f"{table.name}: keys such as {left[0]!r} may be items too, and would be left out: say so by "
            f"{say('ignore', left)}"
        )


def _list_columns(
    table: Table,
    header: Sequence[str],
    user: str | None,
    order: str | None,
    public: tuple[str, ...] | None,
    cells: str | None,
) -> tuple[str, ...]:
    """As :func:`~privrank_jax.data.shapes.order_columns`; of approvals also the only column beside that of users."""
    others = tuple(column for column in header if column != user)
    alone = len(others) == 1 and public != others
    if table.form and cells == "approvals" and order is None and alone:
        return others
    return order_columns(table.name, header, user, order, public)


def _of_grid(
    table: Table, header: Sequence[str], grid: Mapping[str, str], user: str | None
) -> tuple[Table, list[str]]:
    """The same table with options for the names of their columns, and its columns of users and options."""
    if user is not None:
        check_rows_of_users(table.name, header, user, listed=True)
        column_of(table.name, header, "user", user)
    columns = dict(zip(map(grid.get, table.header, table.header), table.header))
    first, *_, last = grid
    note = f"columns {first!r} to {last!r} are items, which brackets name"
    renamed = dataclasses.replace(
        table,
        header=list(map(grid.get, table.header, table.header)),
        columns=lambda names: table.columns([columns[name] for name in names]),
        reading=(*table.reading, note),
    )
    return renamed, [grid.get(one, one) for one in header if one in grid or one == user]


def _of_users(found: Rankings, user: str | None) -> Rankings:
    """The same, with users of the column as it was asked for: ledgers know it by that, however the file spells it."""
    return found if user is None else dataclasses.replace(found, users_are=of_column(user))


def _leave_out(name: str, why: str, **given: Any) -> None:
    """Refuse arguments that a table of this shape has no use for."""
    said = [say(one, value) for one, value in given.items() if value is not None]
    if said:
        raise DataError(f"{name}: {why}: leave out {', '.join(said)}")


def is_long(name: str, header: Sequence[str], item: str | None, rank: str | None) -> bool:
    """Whether a table has a row for each user and item; :class:`DataError` where it holds comparisons."""
    forms = set(map(form, header))
    if {"winner", "loser"} <= forms:
        raise DataError(
            f"{name} holds comparisons (columns winner and loser), not rankings: `privrank rank` ranks its items"
        )
    return item is not None or rank is not None or {"item", "rank"} <= forms


def wide_columns(
    name: str,
    header: Sequence[str],
    user: str | None,
    public: tuple[str, ...] | None,
    cells: str | None,
    *,
    by_form: bool = False,
) -> tuple[str, ...]:
    """The columns of a wide table that hold the ranks of an item.

    Args:
        name: of the file.
        header: its columns, without those that are not to be used.
        user: column of users.
        public: the list of items.
        cells: what the cells hold, if that was said.
        by_form: whether all columns are known to be items, whatever their names.

    Raises:
        DataError: there are none, or some hold something else, by their names.
    """
    others = [column for column in header if column != user]
    if not by_form:
        unlisted = [one for one in others if one not in (public or ())]
        check_no_counts(name, unlisted, items=public is None)
        check_not_named_ratings(name, public or others, cells)
    if public is None:
        _check_shape(name, header)
    check_rows_of_users(name, header, user, listed=public is not None)
    if public is not None:
        for column in public:
            if column not in header:
                raise DataError(
                    f"{name}: no column for the item {column!r}{did_you_mean(column, header)}; the columns are "
                    f"{', '.join(map(repr, header))}"
                )
        return public
    if not by_form:
        check_no_metadata(name, others, user)
    columns = item_list(others)
    if not all(column.strip() for column in columns):
        raise DataError(
            f"{name}: a column has no name (row numbers that a program wrote?): name or remove it, or list the "
            f"{say('items')}"
        )
    if len(columns) < 2:
        raise DataError(
            f"{name}: a ranking needs at least two items; the columns are {', '.join(map(repr, header))}. A file of "
            "rankings has one column per item with ranks in it, or columns user, item and rank; a column of lists of "
            f"items is named by {say('order')} if they stand best first, and read by {say('cells', 'approvals')} if "
            "the user approves of them"
        )
    try:
        return public_items(columns)
    except DataError as error:
        raise DataError(f"{name}: {str(error).removeprefix('items: ')}") from None


def _check_shape(name: str, header: Sequence[str]) -> None:
    """Raise :class:`DataError` where columns are places, one that nothing separates, or of comparisons."""
    found = {column: place_of(column) for column in header}
    numbered = [column for column, place in found.items() if place is not None]
    if {1, 2} <= set(found.values()) or {0, 1} <= set(found.values()):
        raise DataError(
            f"{name}: its columns {', '.join(map(repr, numbered[:3]))}, ... are places, so its cells are items, best "
            "first, and they are read so where each place from the first on has one column; here they are not. If the "
            f"columns are items nevertheless, list the {say('items')}"
        )
    if len(header) == 1:
        raise DataError(
            f"{name}: the only column is {header[0]!r}; a file of rankings has one column per item with ranks in "
            "it, or columns user, item and rank. Separate cells by commas, semicolons or tabs, or say "
            f"{say('separator', '|')}"
        )
    if battle := battle_of(header):
        raise DataError(
            f"{name} seems to hold comparisons (columns {', '.join(map(repr, battle))}), not rankings: `privrank rank` "
            f"ranks its items. If its columns are items, list the {say('items')}"
        )


def check_rows_of_users(name: str, header: Sequence[str], user: str | None, listed: bool) -> None:
    """A table with a row per user must name them, unless the caller says that each row is a different user."""
    if user == "user" and "user" not in header:
        near = did_you_mean(user, [c for c in header if user in c.casefold()])
        raise DataError(
            f"{name}: no column 'user'{near}; the columns are {', '.join(map(repr, header))}. Name the column that "
            f"says who ranked, {say('user', 'COLUMN')}, or say {say('user', None)}: then each row is a different user"
        )
    if user is None and "user" in header and not listed:
        raise DataError(
            f"{name}: its column 'user' would be ranked as an item: leave out {say('user', None)}, or list the "
            f"{say('items')}"
        )


def wide_rankings(
    table: Table,
    header: Sequence[str],
    user: str | None,
    public: tuple[str, ...] | None,
    missing: str,
    cells: str | None = None,
    count: str | None = None,
    *,
    by_form: bool = False,
) -> tuple[Rankings, np.ndarray]:
    """A table with a column per item, and the ranks as they stand in it, from 0, which rankings renumber."""
    name, user = table.name, spelled_in(header, user)
    columns = wide_columns(name, header, user, public, cells, by_form=by_form)
    roles = {"user": user, "count": count}
    roles |= {f"item {k}": one for k, one in enumerate(columns)}
    named, unused = find_columns(name, table.header, roles)
    faults, found, people, often = _rows_of_users(table, named)
    most = sum(column != user for column in header)
    of_items = [found[f"item {k}"] for k in range(len(columns))]
    levels, scale = _levels(
        faults, of_items, cells, most, lambda column: perhaps_no_item(column, user, public)
    )
    faults.stop()
    users = len(of_items[0])
    if often is not None:
        users = int(often.sum())
    _check_size(name, users, len(columns))
    ranks = (
        np.stack(levels, axis=1) if often is None else np.stack(levels, 1)[repeated(name, often)]
    )
    if cells is None:
        check_like_ranks(name, *unlike_ranks(ranks, left_out=most > len(columns)))
    if public is None:
        _check_columns(name, columns, ranks, scale, cells, users_named=user is not None)
    notes = (SEEN_ITEMS if not table.form else COLUMNS_ARE_ITEMS,) * (public is None)
    notes = (cells_note(cells), *_notes(notes, user, named.get("count")))
    made = _made(ranks, scale, cells)
    rankings = made(
        item_names=columns,
        user_names=tuple(people),
        name=name,
        missing=missing,
        public=public_facts(seen_items=public is None and not table.form),
        users_are=_users_are(user, count),
        **table.said(notes=notes, unused=unused),
    )
    return rankings, ranks


def _made(
    ranks: np.ndarray, scale: np.ndarray | None, cells: str | None
) -> Callable[..., Rankings]:
    """What rankings, ratings or approvals are made by, of names and notes."""
    if scale is None:
        return functools.partial(Rankings, ranks)
    kind = Approvals if cells == "approvals" else Ratings
    return functools.partial(kind.of_levels, ranks, scale)


def _rows_of_users(
    table: Table, named: dict[str, str]
) -> tuple[Faults, dict[str, Column], Names, np.ndarray | None]:
    """The columns of a table with a row for each user, the users, and how many users a row is."""
    found = dict(zip(named, table.columns(list(named.values()))))
    faults, people, often = Faults(table), Names("user", False), None
    beside = ("user", "count")
    faults.some_key([column for role, column in found.items() if role not in beside])
    if "user" in found:
        column = found["user"]
        users = faults.read(column, people.__getitem__)
        again = np.ones(len(column), bool)
        again[np.unique(users, return_index=True)[1]] = False
        faults.where(
            again,
            column.name,
            lambda row: (
                f"user {quoted(column.words[column.codes[row]])} has two rows: keep one ranking per user"
            ),
        )
    if "count" in found:
        often = faults.read(found["count"], count_of, np.int64)
        faults.rows = np.flatnonzero(often)
        found = {role: column.take(faults.rows) for role, column in found.items()}
        often = often[faults.rows]
    return faults, found, people, often


def _levels(
    faults: Faults,
    columns: Sequence[Column],
    cells: str | None,
    most: int | None,
    hint: Callable[[str], str] = lambda _: "",
) -> tuple[list[np.ndarray], np.ndarray | None]:
    """Ranks of each column from 0, or places on the scale of all ratings, -1 for none; and that scale, best first."""

    def told(read: Callable[[Any], Any], column: Column) -> Callable[[Any], Any]:
        def run(word: Any) -> Any:
            try:
                return read(word)
            except BadCell as error:
                raise BadCell(f"{error}{hint(column.name)}") from None

        return run

    if cells in (None, "ranks"):
        read = functools.partial(rank_of, most=most if cells is None else None)
        return [faults.read(column, told(read, column)) for column in columns], None
    rating = approval_of if cells == "approvals" else rating_of
    rated = [faults.values(column, told(rating, column), float) for column in columns]
    used = [values[np.unique(column.codes)] for values, column in zip(rated, columns)]
    scale = np.unique(np.concatenate(used)) if used else np.zeros(0)
    scale = scale[~np.isnan(scale)]
    sign = 1.0 if cells == "costs" else -1.0
    scale = scale if cells == "costs" else scale[::-1]
    if cells == "approvals":
        scale = _YES_OR_NO
    found = []
    for values, column in zip(rated, columns):
        at = np.searchsorted(sign * scale, sign * values).astype(np.int32)
        found.append(np.where(np.isnan(values), np.int32(-1), at)[column.codes])
    return found, scale


def _check_columns(
    name: str,
    columns: Sequence[str],
    ranks: np.ndarray,
    scale: np.ndarray | None,
    cells: str | None,
    *,
    users_named: bool,
) -> None:
    """Refuse columns that are no items, by what their cells hold."""
    if scale is None:
        if not users_named and cells != "ranks":
            check_no_numbers_of_rows(name, columns, ranks)
        if cells is None:
            check_ranks_of_items(name, columns, ranks)
        return
    if cells == "approvals":
        return
    ends = {}
    for column, levels in zip(columns, ranks.T):
        known = levels[levels >= 0]
        if known.size:
            least, largest = sorted((float(scale[known.min()]), float(scale[known.max()])))
            ends[column] = Ends(known.size, np.unique(known).size, least, largest)
    if not users_named:
        check_no_numbers_of_raters(name, ends, len(ranks))
    if cells == "ratings":
        check_ratings_of_items(name, ends)


@dataclasses.dataclass(frozen=True)
class Long:
    """A table with a row for each user and item, as its header and the arguments say; one without both names a user.

    Attributes:
        columns: the columns of ``user``, ``item`` and ``rank``.
        user, missing, num_users, cells, blank: as for :func:`read_rankings`.
        public: the list of items, if there is one.
    """

    columns: dict[str, str]
    user: str
    public: tuple[str, ...] | None
    missing: str
    num_users: int | None
    cells: str | None
    blank: tuple[str, ...]

    def read(self, faults: Faults, item: Column, rank: Column) -> LongCells:
        """Read cells of items and ranks, of all rows or, in an engine, of those that differ."""
        empty = [
            np.array(
                [not isinstance(word, tuple) and not (word or "").strip() for word in one.words],
                bool,
            )[one.codes]
            for one in (item, rank)
        ]
        rows = np.flatnonzero(~(empty[0] & empty[1]))
        faults.rows = rows
        names = Names("item", True, self.public, blank=self.blank)
        codes = faults.read(item.take(rows), names.__getitem__)
        rows, codes = rows[codes >= 0], codes[codes >= 0]
        faults.rows = rows
        levels, scale = _levels(faults, [rank.take(rows)], self.cells, None)
        return LongCells(rows, codes, levels[0], scale, names)

    def users(self, name: str, seen: int) -> int:
        """The number of all users, of whom so many have rows in the file of this name."""
        if self.num_users is not None and seen > self.num_users:
            raise DataError(
                f"{name} has rows of more users than the {self.num_users:,} that were stated: give the number of all "
                "users who were asked, those included who ranked nothing"
            )
        return seen if self.num_users is None else self.num_users

    def facts(self, table: Table, items: tuple[str, ...]) -> dict[str, Any]:
        """Attributes of the rankings, but for ranks and users."""
        seen = self.public is None
        return {
            "item_names": items,
            "name": table.name,
            "missing": self.missing,
            "public": public_facts(seen_items=seen, seen_users=self.num_users is None),
            "users_are": of_column(self.user),
            **table.said(
                notes=(cells_note(self.cells), *((SEEN_ITEMS,) * seen)),
                unused=[one for one in table.header if one not in self.columns.values()],
            ),
        }


class LongCells(NamedTuple):
    """Cells that name an item: their rows, codes of items, ranks from 0 (-1: none), scale of ratings, and items."""

    rows: np.ndarray
    codes: np.ndarray
    levels: np.ndarray
    scale: np.ndarray | None
    names: Names


def read_long(table: Table, form: Long) -> Rankings:
    """Read a table with a row for each user and item."""
    user, item, rank = table.columns(list(form.columns.values()))
    faults, people = Faults(table), Names("user", False)
    faults.some_key([item, rank])
    users = faults.read(user, people.__getitem__)
    rows, codes, levels, scale, names = form.read(faults, item, rank)
    users = users[rows]
    _, first = np.unique(np.stack([users, codes]), axis=1, return_index=True)
    again = np.ones(codes.size, bool)
    again[first] = False
    faults.where(
        again,
        item.name,
        lambda row: (
            f"{quoted(item.words[item.codes[rows[row]]])} is ranked twice by one user: keep one row"
        ),
    )
    faults.stop()
    total = form.users(table.name, len(people))
    _check_size(table.name, total, len(names))
    order, place = names.in_order()
    ranks = np.full((total, len(order)), -1, np.int32)
    ranks[users, np.array(place, np.int64)[codes]] = levels
    if form.cells is None:
        check_ranks_of_few(table.name, rank.name, int(ranks.max()), len(order))
        check_like_ranks(table.name, *unlike_ranks(ranks, left_out=False))
    user_names = tuple(people) if form.num_users is None else ()
    return _made(ranks, scale, form.cells)(user_names=user_names, **form.facts(table, order))


def _orders(
    table: Table,
    header: Sequence[str],
    columns: Sequence[str],
    user: str | None,
    count: str | None,
    public: tuple[str, ...] | None,
    missing: str,
    separator: str | None,
    blank: Iterable[str],
    approved: bool,
) -> Rankings:
    """A table of items: best first, a column per place or one of texts or lists; or lists of those approved of."""
    if user is not None:
        check_rows_of_users(table.name, header, user, listed=public is not None)
    roles = {"user": user, "count": count}
    roles |= {f"place {k}": one for k, one in enumerate(columns)}
    named, unused = find_columns(table.name, table.header, roles)
    check_no_counts(table.name, [one for one in header if one != user and one not in columns])
    faults, found, people, often = _rows_of_users(table, named)
    names = Names("item", True, public, blank=[*MISSING, *blank])
    of_places = [found[f"place {k}"] for k in range(len(columns))]
    if len(columns) == 1:
        faults.stop()  # of users and counts, before texts are compared
        rows, items, at = _texts(faults, of_places[0], names, public, separator)
    else:
        rows, items, at = _cells_of_places(faults, of_places, names)
    faults.stop()
    users = len(of_places[0])
    _check_size(table.name, users if often is None else int(often.sum()), len(names))
    if len(columns) > 1 and public is None:
        check_no_ranks(table.name, columns, names)
    order, place = names.in_order()
    ranks = np.full((users, len(order)), 1 if approved else -1, np.int32)
    ranks[rows, np.array(place, np.int64)[items]] = 0 if approved else at
    notes = (SEEN_ITEMS,) * (public is None)
    ranks = ranks if often is None else ranks[repeated(table.name, often)]
    made = _made(ranks, _YES_OR_NO if approved else None, "approvals" if approved else None)
    return made(
        item_names=order,
        user_names=tuple(people),
        name=table.name,
        missing=missing,
        public=public_facts(seen_items=public is None),
        users_are=_users_are(user, count),
        **table.said(
            orders_note(columns, approved=approved),
            notes=_notes(notes, user, named.get("count")),
            unused=unused,
        ),
    )


_Entries = tuple[np.ndarray, np.ndarray, np.ndarray]  # rows, codes of items, places


def _texts(
    faults: Faults,
    column: Column,
    names: Names,
    public: tuple[str, ...] | None,
    separator: str | None,
) -> _Entries:
    """The items of texts or lists."""
    used = (word for _, _, word in column.in_order())
    texts = {word for word in used if isinstance(word, str) and not is_blank(word)}
    if separator is not None:
        sign = said_sign(separator)
    else:
        sign = sign_of(faults.table.name, column.name, texts, public) if texts else SIGNS[0]
    ranked: list[list[tuple[int, int]]] = [[] for _ in column.words]
    for row, code, word in column.in_order():
        try:
            ranked[code] = _ranked(places_in(word, sign, names if names.closed else ()), names)
        except BadCell as error:
            faults.add(row, column.name, error)
            break
    sizes = np.array([len(one) for one in ranked], np.int64)[column.codes]
    rows = np.repeat(np.arange(len(column)), sizes)
    pairs = [ranked[code] for code in column.codes.tolist()]
    flat = np.array([pair for one in pairs for pair in one], np.int64).reshape(-1, 2)
    return rows, flat[:, 1], flat[:, 0]


def _ranked(items: Iterable[tuple[int, str]], names: Names) -> list[tuple[int, int]]:
    """Places and codes of the items of an order, each of which stands there once."""
    found: dict[int, int] = {}
    for place, name in items:
        code = names[name]
        if code in found:
            raise BadCell(f"{quoted(name)} stands twice in one order: keep one place for each item")
        if code >= 0:
            found[code] = place
    return [(place, code) for code, place in found.items()]


def _cells_of_places(faults: Faults, columns: Sequence[Column], names: Names) -> _Entries:
    """The items of a column for each place."""

    def code_of(word: Any) -> int:
        if word is None or (isinstance(word, str) and not word.strip()):
            return -1
        return names[word]

    codes = np.stack(faults.together(columns, code_of), axis=1)
    for k, column in enumerate(columns[1:], start=1):
        again = (codes[:, k] >= 0) & np.any(codes[:, :k] == codes[:, k : k + 1], axis=1)
        words = column.words
        faults.where(
            again,
            column.name,
            lambda row, words=words, column=column: (
                f"{quoted(words[column.codes[row]])} stands twice in one order: keep one "
                "place for each item"
            ),
        )
    rows, at = np.nonzero(codes >= 0)
    return rows, codes[rows, at], at


def _notes(notes: tuple[str, ...], user: str | None, count: str | None) -> tuple[str, ...]:
    """Notes on a table with a row for each user, with whether it has users, and counts."""
    each = ONE_ROW_EACH if count is None else ONE_ROW_EACH.replace("row", "ranking")
    notes = (*notes, *((each,) * (user is None)))
    return notes if count is None else (counted_note(count), *notes)


def _users_are(user: str | None, count: str | None) -> str:
    if user is not None:
        return of_column(user)
    return NO_COLUMN if count is None else of_count(count)


def _check_size(name: str, users: int, items: int) -> None:
    if not users:
        raise DataError(f"{name} has no rows below its header: there is nothing to rank")
    if items < 2:
        raise DataError(f"{name}: a ranking needs at least two items, found {items}")
    if users * items > MOST_CELLS:
        raise DataError(
            f"{name}: {users:,} users times {items:,} items is more than is held in memory ({MOST_CELLS:,}): write "
            "Parquet with a row for each user and item (columns user, item, rank), which an engine counts"
        )
