"""Bounds on the comparisons per user in a release, with entropy from the operating system."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import ArrayLike, Bool, Shaped

from privrank_jax._validate import check_positive
from privrank_jax.release.entropy import random_words


def exact_bound(
    users: Shaped[ArrayLike, "rows"] | Sequence[object], max_per_user: int
) -> Bool[np.ndarray, "rows"]:
    """Choose at most ``max_per_user`` rows of each user at random, independently of their content.

    The twin of :func:`privrank_jax.comparisons.bound_contributions`. Each row gets 64 random bits of its own, and the
    rows of each user with the smallest bits stay. So the choice among one user's rows is independent of the contents
    and places of all other rows: with a bound of L, every additive statistic has the sensitivity of L rows.

    Args:
        users: ``(N,)`` integers, user of each row.
        max_per_user: L >= 1.

    Returns:
        ``(N,)`` bool NumPy array, True for the rows that stay.

    Raises:
        ValueError: L not positive, users of another shape.

    >>> kept = exact_bound([7, 7, 9, 7], 2)
    >>> int(kept.sum()), bool(kept[2])
    (3, True)
    """
    check_positive("max_per_user", max_per_user)
    users = np.asarray(users)
    if users.ndim != 1:
        raise ValueError(f"users must have shape (N,), got {users.shape}.")
    words = random_words(users.size)
    order = np.lexsort((words, users))
    fresh = np.diff(users[order], prepend=users[order][:1] - 1) != 0
    first = np.maximum.accumulate(np.where(fresh, np.arange(users.size), 0))
    kept = np.empty(users.size, bool)
    kept[order] = np.arange(users.size) - first < max_per_user
    return kept
