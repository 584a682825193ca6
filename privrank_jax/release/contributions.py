"""Which comparisons of a user are kept in a release: chosen by entropy from the operating system."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import ArrayLike, Bool

from privrank_jax._validate import check_positive
from privrank_jax.release.entropy import random_words


def exact_bound(users: ArrayLike | Sequence[object], max_per_user: int) -> Bool[np.ndarray, "rows"]:
    """Choose at most ``max_per_user`` rows of each user, at random and not by content.

    The twin of :func:`privrank_jax.comparisons.bound_contributions`. Each row gets 64 random bits of its own, and of
    each user's rows those with the smallest stay. So the choice among one user's rows is independent of all other
    rows, whatever these are and wherever they stand: a bound of L makes the sensitivity of every additive statistic
    that of L rows.

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
