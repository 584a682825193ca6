"""Whether the cells of rankings in an engine are ranks, counted user by user there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from privrank_jax._cells.ranks import (
    RankCodes,
    RatingCodes,
    check_like_ranks,
    check_no_numbers_of_raters,
    check_no_numbers_of_rows,
    check_ranks_of_few,
)
from privrank_jax._cells.unlike_items import beside_rankings, is_beside
from privrank_jax.tables.backend import Table, one_row

_BITS = 31  # largest number of ranks whose powers of 2 are added up


def each_user(rows: Table) -> Table:
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


def count_rankings(each: Table, items: int, *, ranks: bool) -> dict[str, Any]:
    """The number of ``full`` rankings, and for ``ranks`` of ``users`` and ``whole`` ones, and the ``largest`` rank."""
    counts = {"full": each.count(where=each.number == items)}
    if ranks:
        whole = each.count(where=each.whole)
        counts |= {"users": each.count(), "whole": whole, "largest": each["last"].max()}
    return one_row(each.aggregate(**counts))


def check_ranks(
    name: str,
    rows: Table,
    each: Table,
    found: dict[str, Any],
    column: str | None,
    items: int,
    left_out: bool,
) -> None:
    """Apply the rule of :mod:`privrank_jax._cells.ranks`.

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
    name: str, rows: Table, found: dict[str, Any], columns: Sequence[str]
) -> None:
    """Apply the rule of :mod:`privrank_jax._cells.unlike_items` to the ranks of a wide table.

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


def _unlike(rows: Table, left_out: bool) -> int:
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


def check_no_numbers(
    name: str, rows: Table, names: tuple[str, ...], users: int, codes: RankCodes | RatingCodes
) -> None:
    """Refuse a wide table of ``users`` rows in which a column numbers the rows."""
    facts = facts_of_items(rows, names)
    if isinstance(codes, RatingCodes):
        check_no_numbers_of_raters(name, facts, codes, users)
    elif any(number == different == users for number, different, *_ in facts.values()):
        # Then there are no more users than ranks, which are no more than columns.
        ranks = np.full((users, len(names)), -1, np.int32)
        cells = rows.to_pyarrow()
        _, user = np.unique(cells["user"].to_numpy(), return_inverse=True)
        ranks[user, cells["item"].to_numpy()] = cells["rank"].to_numpy()
        check_no_numbers_of_rows(name, names, ranks, codes)


def facts_of_items(rows: Table, names: tuple[str, ...]) -> dict[str, tuple[int, int, int, int]]:
    """Of each item that somebody ranked the number of ranks, and of different ones, the largest and the smallest."""
    place = rows["rank"]
    found = rows.group_by("item").aggregate(
        number=rows.count(), different=place.nunique(), worst=place.max(), best=place.min()
    )
    facts = {row.pop("item"): tuple(row.values()) for row in found.to_pyarrow().to_pylist()}
    return {names[k]: facts[k] for k in sorted(facts)}
