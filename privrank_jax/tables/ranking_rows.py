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

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from privrank_jax._cells.codes import public_items
from privrank_jax._cells.columns import spelled_in, without
from privrank_jax._cells.counts import check_no_counts
from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.meetings import Meetings
from privrank_jax._cells.names import form
from privrank_jax._cells.order_shapes import is_blank, order_columns
from privrank_jax._cells.public import not_used, notes_on_rankings, public_facts, public_repr
from privrank_jax._cells.ranking_shapes import (
    SYNTHETIC,
    check_enough,
    check_items_by_name,
    check_lists_users,
    check_no_words,
    could_be_items,
    count_users,
    is_long,
    item_columns,
    not_an_item,
    ranked_twice,
    two_rows,
    user_of_rows,
)
from privrank_jax._cells.ranks import (
    CELLS,
    RankCodes,
    RatingCodes,
    ZeroRank,
    cell_codes,
    cells_note,
    check_not_named_ratings,
    is_zero,
    meaning_of_blanks,
)
from privrank_jax._cells.unlike_items import check_ratings_of_items
from privrank_jax._validate import check_choice
from privrank_jax.tables.backend import Backend, Source, Table, explained, held, one_row
from privrank_jax.tables.rank_checks import (
    check_no_numbers,
    check_ranks,
    check_ranks_beside,
    count_rankings,
    each_user,
    facts_of_items,
)
from privrank_jax.tables.source import (
    People,
    RawTable,
    check_number,
    check_users,
    coded,
    in_order,
    is_name,
    item_names,
    shown_at_most,
)

if TYPE_CHECKING:
    from privrank_jax.aggregation.weights import PairWeights


@dataclass(frozen=True, eq=False)
class RankingRows:
    """The rankings of m named items by n users, checked, still in the engine; the twin of ``datasets.RankingTable``.

    Attributes:
        rows: Ibis table, one row for each item that a user ranked: ``user``; ``item``, int32 index into
            ``item_names``; ``rank``, int32, the less the better, equal ranks ties.
        item_names: the m names, in the public order of a list, else sorted; public.
        num_users: n, including users who ranked nothing.
        partial_users: number of users who did not rank all items. Private.
        name: name of the file or table.
        missing: how an unranked item is treated, ``"last"`` or ``"unknown"``.
        notes: what was done to the data, one sentence each.
        public: facts that this reading takes as public, as of ``datasets.RankingTable``.
        users_alike: up to three pairs of users whose names differ by case alone. Private.
    """

    rows: Table
    item_names: tuple[str, ...]
    num_users: int
    partial_users: int
    name: str
    missing: str
    notes: tuple[str, ...]
    public: tuple[str, ...]
    users_alike: tuple[tuple[str, str], ...]
    _raw: RawTable

    reading = remarks = ()
    __repr__ = public_repr

    @property
    def num_items(self) -> int:
        """Number m of items, ranked or not."""
        return len(self.item_names)

    @property
    def rare_items(self) -> tuple[str, ...]:
        """Items that one user alone ranked. Private."""
        with explained(self._raw.path):
            return tuple(self.item_names[k] for k in shown_at_most(self.rows, 1))

    def meetings(self, items: Sequence[int]) -> Meetings:
        """As of ``datasets.RankingTable``."""
        met = np.zeros((len(items), self.num_items))
        with explained(self._raw.path):
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
        with explained(self._raw.path):
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


def _users_of_items(rows: Table, items: int) -> np.ndarray:
    """How many users ranked each item, ``(items,)`` int64."""
    ranked = rows.group_by("item").aggregate(users=rows.count()).to_pyarrow()
    once = np.zeros(items, np.int64)
    once[ranked["item"].to_numpy()] = ranked["users"].to_numpy()
    return once


def pair_votes(rows: Table) -> Table:
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
    most_items: int = 2_000,
    name: str | None = None,
    backend: Backend = None,
) -> RankingRows:
    """Check a table of rankings, wide or long, in the engine.

    Args:
        source: path of a Parquet, CSV or TSV file, or an Ibis table.
        user, item, rank, items, missing: as for :func:`~privrank_jax.datasets.read_rankings`.
        ignore, blank, num_users, cells: likewise.
        most_items: largest number of items for which a matrix of counts is made.
        name: name of the data; default: the name of the file.
        backend: DuckDB through Ibis, for a file; default: a new one, within 1 GB of memory.

    Returns:
        :class:`RankingRows`, not computed yet except for what the checks need.

    Raises:
        DataError: as :func:`~privrank_jax.datasets.read_rankings`; of a Parquet file with the number of the row.
            More items than ``most_items``; a file that changed while it was read.
        ValueError: unknown ``missing`` or ``cells``.
    """
    from privrank_jax.aggregation.weights import MISSING

    check_choice("cells", "ranks" if cells is None else cells, CELLS)
    missing = meaning_of_blanks(cells) if missing is None else missing
    check_choice("missing", missing, MISSING)
    public = None if items is None else public_items(items)
    raw = RawTable.open(source, name, "ranking", backend)
    with explained(raw.path):
        header = without(raw.name, list(raw.table.columns), ignore)
        wide = not is_long(raw.name, header, item, rank)
        if not wide:
            roles = {
                "user": user_of_rows(raw.name, user),
                "item": item or "item",
                "rank": rank or "rank",
            }
            columns, ignored = raw.columns(roles)
            check_no_counts(raw.name, (one for one in ignored if one in header))
            check_not_named_ratings(raw.name, [columns["rank"]], cells)
            names, people, found = _long(raw, columns, public, most_items, blank)
            users = count_users(raw.name, people.users, num_users)
            facts = public_facts(seen_items=public is None, seen_users=num_users is None)
            places, hint, codes, left_out = (
                [columns["rank"]] * len(names),
                False,
                cell_codes(cells),
                False,
            )
        else:
            check_lists_users(raw.name, num_users)
            facts: tuple[str, ...] = ()
            kept = [column for column in header if column != SYNTHETIC]
            user = spelled_in(header, user)
            if order_columns(raw.name, kept, user, None, public):
                raise DataError(
                    f"{raw.name}: its cells are items, best first: read_rankings reads them"
                )
            check_no_words(raw.name, blank)
            others = [column for column in kept if column != user]
            unlisted = [column for column in others if column not in (public or ())]
            check_no_counts(raw.name, unlisted, items=public is None)
            check_not_named_ratings(raw.name, public or others, cells)
            if public is None:
                check_items_by_name(raw.name, kept, user)
            names = item_columns(raw.name, kept, user, public)
            check_number(raw, len(names), most_items)
            columns, ignored = raw.columns(
                {"user": user, **{f"item {k}": column for k, column in enumerate(names)}}
            )
            people, found = _wide(raw, columns, names)
            users = people.users
            most = could_be_items(kept, user)
            places, hint, codes, left_out = (
                list(names),
                public is None,
                cell_codes(cells, most),
                most > len(names),
            )
        check_enough(raw.name, users, len(names))
        rows = _ranked(
            raw,
            found,
            codes,
            places,
            (lambda error, c: not_an_item(error, c, user)) if hint else None,
        )
        each = each_user(rows)
        found = count_rankings(each, len(names), ranks=cells is None)
        if cells is None:
            check_ranks(raw.name, rows, each, found, columns.get("rank"), len(names), left_out)
        if "user" not in columns and public is None and cells != "ranks":
            check_no_numbers(raw.name, rows, names, users, codes)
        if wide and public is None and cells is None:
            check_ranks_beside(raw.name, rows, found, names)
        if wide and public is None and cells == "ratings" and isinstance(codes, RatingCodes):
            facts_of = facts_of_items(rows, names)
            ends = {
                one: (number, worst, best) for one, (number, _, worst, best) in facts_of.items()
            }
            check_ratings_of_items(raw.name, ends, codes)
    raw.check_unchanged()
    return RankingRows(
        rows=rows,
        item_names=names,
        num_users=users,
        partial_users=users - found["full"],
        name=raw.name,
        missing=missing,
        notes=(
            cells_note(cells),
            *notes_on_rankings(
                dict.fromkeys(columns, 0), seen_items=public is None, in_columns=wide
            ),
            *not_used(ignored),
        ),
        public=facts,
        users_alike=people.alike,
        _raw=raw,
    )


def _long(
    raw: RawTable,
    columns: dict[str, str],
    public: tuple[str, ...] | None,
    most: int,
    blank: Iterable[str],
) -> tuple[tuple[str, ...], People, Any]:
    """Item names, users, and the cells: a row per user and item, each at most once."""
    people = check_users(raw, columns["user"])
    item, rank = (raw.text(columns[role]) for role in ("item", "rank"))
    nothing = (item.coalesce("").strip() == "") & (rank.coalesce("").strip() == "")
    nothing = nothing | item.coalesce("").strip().lower().isin([form(word) for word in blank])
    rows = raw.table.filter(~nothing)  # otherwise a row only names a user
    names = item_names(raw, (columns["item"],), public, most, rows)
    cells = rows.select(
        user=raw.text(columns["user"]),
        item=raw.text(columns["item"]),
        cell=raw.text(columns["rank"]),
    )
    number = cells.group_by("user", "item").aggregate(rows=cells.count())
    for twice in number.filter(number.rows > 1).limit(1).to_pyarrow().to_pylist():
        error = ranked_twice(twice["user"], twice["item"])
        raise raw.refuse(error, columns["item"], _are(columns, twice), occurrence=1)
    return names, people, coded(cells, "item", {name: code for code, name in enumerate(names)})


def _are(columns: dict[str, str], cells: dict[str, str]) -> Callable[[Any], Any]:
    """A predicate on a table: the columns of users and items equal these texts."""
    of_user, of_item = (is_name(columns[role], cells[role]) for role in ("user", "item"))
    return lambda rows: of_user(rows) & of_item(rows)


def _wide(raw: RawTable, columns: dict[str, str], names: tuple[str, ...]) -> tuple[People, Any]:
    """Users, and the cells as in :func:`_long`."""
    import ibis

    if "user" in columns:
        people = check_users(raw, columns["user"])
        user = raw.text(columns["user"])
        if people.most > 1:
            raise _second_row(raw, columns["user"])
    else:
        number = one_row(raw.table.aggregate(rows=raw.table.count()))["rows"]
        user, people = ibis.row_number(), People(number, 1)
    wide = raw.table.select(user=user, **{str(k): raw.text(name) for k, name in enumerate(names)})
    items = [str(k) for k in range(len(names))]
    cells = wide.pivot_longer(items, names_to="item", values_to="cell", names_transform=int)
    return people, cells.mutate(item=cells["item"].cast("int32"))


def _second_row(raw: RawTable, column: str) -> Exception:
    table = raw.table.select(user=raw.text(column))
    number = table.group_by("user").aggregate(rows=table.count())
    user = one_row(number.filter(number.rows > 1).limit(1))["user"]
    return raw.refuse(two_rows(user), column, is_name(column, user), occurrence=1)


def _ranked(
    raw: RawTable,
    cells: Any,
    codes: RankCodes | RatingCodes,
    places: list[str],
    hint: Callable[[BadCell, str], BadCell] | None,
) -> Any:
    """The cells that hold a rank, read once and kept in the engine, as row numbers may differ between reads.

    Args:
        raw: the table.
        cells: ``user``, ``item``, ``cell``.
        codes: reader of the cells.
        places: the column of ranks of each item.
        hint: adds advice where a cell is not a rank because its column may not hold ranks.
    """
    found = cells.select("cell").distinct().to_pyarrow().to_pylist()
    for cell in in_order(row["cell"] for row in found):
        try:
            codes[cell]
        except BadCell as error:
            if isinstance(error, ZeroRank):
                error = error.advised(*_zeros_of_users(cells, [row["cell"] for row in found]))
            wrong = cells.filter(cells.cell == cell)
            column = places[one_row(wrong.aggregate(item=wrong["item"].min()))["item"]]
            said = hint(error, column) if hint else error
            raise raw.refuse(said, column, is_name(column, cell)) from None
    ranks = codes.ranks(np.array(list(codes.values()), np.int32)).tolist()
    known = {cell: rank for cell, rank in zip(codes, ranks) if rank >= 0}
    return held(coded(cells, "cell", known).rename(rank="cell"))


def _zeros_of_users(cells: Any, found: list[str | None]) -> tuple[int, int]:
    """The smallest and the largest number of cells of a user that are 0, of those who ranked something."""
    zero = [cell for cell in found if cell and is_zero(cell)]
    blank = [cell for cell in found if not cell or is_blank(cell)]
    known = cells.filter(cells.cell.notnull() & ~cells.cell.isin([cell for cell in blank if cell]))
    each = known.group_by("user").aggregate(zeros=known.count(where=known.cell.isin(zero)))
    ends = one_row(each.aggregate(least=each.zeros.min(), most=each.zeros.max()))
    return ends["least"], ends["most"]
