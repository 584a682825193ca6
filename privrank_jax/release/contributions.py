"""Bounds on the comparisons per user in a release, with entropy from the operating system."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import ArrayLike, Bool, Integer, Shaped

from privrank_jax._validate import check_positive, check_shape
from privrank_jax.exact.entropy import random_words


def exact_bound(
    users: Integer[ArrayLike, "rows"] | Sequence[int],
    max_per_user: int,
    *,
    items: tuple[Shaped[ArrayLike, "rows"], Shaped[ArrayLike, "rows"]] | None = None,
    max_per_item: int | None = None,
) -> Bool[np.ndarray, "rows"]:
    """Choose at most ``max_per_user`` rows of each user at random, whatever other users' rows say.

    The twin of :func:`privrank_jax.comparisons.bound_contributions`. Each row gets 64 random bits of its own, and the
    rows of each user with the smallest bits stay. So the choice among one user's rows is independent of the contents
    and places of all other rows: with a bound of L, every additive statistic has the sensitivity of L rows.

    With ``max_per_item`` each user's rows are taken in the order of their bits, those are left out that would be one
    more than c about one of their two items, and of the others the first L stay. Which of a user's rows stay depends on
    the items of this user's rows alone, not on their outcomes; Gaussian noise on win totals may then be smaller, see
    :func:`~privrank_jax.pairwise.questionnaire.totals_sensitivity`.

    Args:
        users: ``(N,)`` integers, user of each row.
        max_per_user: L >= 1.
        items: both items of each row, ``(N,)`` integers each, for ``max_per_item``.
        max_per_item: c >= 1, the most rows of one user about one item; default: any number.

    Returns:
        ``(N,)`` bool NumPy array, True for the rows that stay.

    Raises:
        ValueError: L or c not positive, users of another shape, c without items or with items of another shape.

    >>> kept = exact_bound([7, 7, 9, 7], 2)
    >>> int(kept.sum()), bool(kept[2])
    (3, True)
    """
    check_positive("max_per_user", max_per_user)
    users = np.asarray(users)
    check_shape("users", users, ("N",))
    words = random_words(users.size)
    order = np.lexsort((words, users))
    if max_per_item is not None:
        if items is None:
            raise ValueError(
                "max_per_item needs the two items of each row: give items=(winners, losers)."
            )
        return capped_rows(users, order, max_per_user, items, max_per_item)
    fresh = np.diff(users[order], prepend=users[order][:1] - 1) != 0
    first = np.maximum.accumulate(np.where(fresh, np.arange(users.size), 0))
    kept = np.empty(users.size, bool)
    kept[order] = np.arange(users.size) - first < max_per_user
    return kept


def capped_rows(
    users: Shaped[np.ndarray, "rows"],
    order: Integer[np.ndarray, "rows"],
    max_per_user: int,
    items: tuple[Shaped[ArrayLike, "rows"], Shaped[ArrayLike, "rows"]],
    max_per_item: int,
) -> Bool[np.ndarray, "rows"]:
    """The rows that :func:`exact_bound` keeps with ``max_per_item``, taken in this order.

    Args:
        users: ``(N,)``, user of each row.
        order: ``(N,)``, the rows, those of a user one after the other, in an order that does not depend on them.
        max_per_user: L >= 1.
        items: both items of each row, ``(N,)`` each.
        max_per_item: c >= 1.
    """
    check_positive("max_per_item", max_per_item)
    pair = [np.asarray(one) for one in items]
    if any(one.shape != users.shape for one in pair):
        raise ValueError(f"items must be two columns of shape {users.shape}, as users.")
    kept = np.zeros(users.size, bool)
    seen: Counter[int] = Counter()
    user, left = None, 0
    columns = (column[order].tolist() for column in (users, *pair))
    for row, who, one, other in zip(order.tolist(), *columns):
        if who != user:
            user, left = who, max_per_user
            seen.clear()
        if left and seen[one] < max_per_item and seen[other] < max_per_item:
            seen[one] += 1
            seen[other] += 1
            left -= 1
            kept[row] = True
    return kept
