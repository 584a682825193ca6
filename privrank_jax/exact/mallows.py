r"""Exact Mallows sampler, without floating-point probabilities: synthetic rankings for real releases.

A synthetic ranking of a user's m items inserts them in the order of the user's ranking. Step t = 0..m-1 puts an item v
places ahead of the last place, v = 0..t with P(v) = e^{-γv} / Σ_{w≤t} e^{-γw}, independently. Each such place reverses
one pair, so P(ranking) ∝ e^{-γ·pairs}, the Mallows law.

**Privacy.** Moving one item changes the number of reversed pairs by at most m-1 and leaves the normalizer unchanged:
the loss is at most (m-1)γ = ε, as γ = ε/(m-1) is a rational (a double is one).

**Sampling.** v = G mod (t+1) with G of P(G = k) ∝ e^{-γk} on the whole numbers
(:mod:`privrank_jax.exact.integer_laplace`): P(v) = Σ_j P(G = v + j(t+1)) ∝ e^{-γv}. Nothing is rejected, so a small γ
takes no longer. Displacements don't depend on the ranks, so neither does the time it takes to draw them.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from jaxtyping import Float, Int, Int32

from privrank_jax._types import NumbersLike, RankingsLike
from privrank_jax._validate import check_epsilon, check_positive, check_shape
from privrank_jax.exact.integer_laplace import LARGEST, geometric

_CHUNK = 1 << 20  # cells drawn at once: bounds memory


def synthetic_ranks(ranks: RankingsLike, epsilon: NumbersLike) -> Int32[np.ndarray, "users items"]:
    """``privrank_jax.mallows.sample.release``: a synthetic ranking for each user.

    Args:
        ranks: ``(n, m)`` integers without ties, 0 = best, negative = not ranked.
        epsilon: ``(n,)`` or one number, finite and at least 2^-53 times the number of places that an item can move.

    >>> synthetic_ranks([[2, 0, 1], [-1, 5, 3]], 500.0).tolist()
    [[2, 0, 1], [-1, 1, 0]]
    """
    epsilon = check_epsilon(epsilon)
    check_positive("epsilon", epsilon, infinite=False)
    ranks = _checked_ranks(ranks)
    users, items = ranks.shape
    check_shape("epsilon", epsilon, (), (users,))
    found = np.empty((users, items), np.int32)
    budgets = np.broadcast_to(np.asarray(epsilon, np.float64), (users,))
    rows = max(1, _CHUNK // max(1, items))
    for start in range(0, users, rows):
        part = slice(start, start + rows)
        found[part] = _sample(ranks[part], budgets[part])
    return found


def _checked_ranks(ranks: RankingsLike) -> Int[np.ndarray, "users items"]:
    """``(n, m)`` integers, each row without equal ranks."""
    ranks = np.asarray(ranks)
    if ranks.ndim != 2 or ranks.dtype.kind not in "iu":
        raise ValueError(
            f"ranks must be integers of shape (users, items), got {ranks.dtype} of shape {ranks.shape}."
        )
    sorted_ranks = np.sort(ranks, axis=1)
    tied = (sorted_ranks[:, 1:] == sorted_ranks[:, :-1]) & (sorted_ranks[:, 1:] >= 0)
    if tied.any():
        row = int(np.flatnonzero(tied.any(axis=1))[0])
        raise ValueError(f"ranks must not be tied: row {row} holds a rank twice. Break ties first.")
    return ranks


def _sample(
    ranks: Int[np.ndarray, "users items"], epsilon: Float[np.ndarray, "users"]
) -> Int32[np.ndarray, "users items"]:
    """Synthetic ranks of a block of users."""
    users, items = ranks.shape
    ranked = ranks >= 0
    lengths = ranked.sum(axis=1)
    # order[u, t]: the item that user u ranks t-th; those not ranked come last.
    last = np.iinfo(np.int64).max
    order = np.argsort(np.where(ranked, ranks.astype(np.int64), last), axis=1, kind="stable")
    back = np.zeros((users, items), np.int64)
    cells = np.arange(items) < lengths[:, None]
    cells[:, :1] = False  # the first item has only one place
    user, step = np.nonzero(cells)
    drawn = geometric(
        _scales(epsilon, lengths)[user],
        lambda place: int(lengths[user[place]] - 1) / Fraction(float(epsilon[user[place]])),
    )
    back[user, step] = drawn % (step + 1)
    places = np.empty((users, items), np.int32)
    for t in range(items):
        at = t - back[:, t]
        places[:, :t] += places[:, :t] >= at[:, None]
        places[:, t] = at
    found = np.full((users, items), -1, np.int32)
    np.put_along_axis(found, order, np.where(np.arange(items) < lengths[:, None], places, -1), 1)
    return found


def _scales(
    epsilon: Float[np.ndarray, "users"], lengths: Int[np.ndarray, "users"]
) -> Float[np.ndarray, "users"]:
    """1/γ of each user."""
    places = np.maximum(lengths - 1, 0)
    small = np.flatnonzero(places > LARGEST * epsilon)
    if small.size:
        one = small[0]
        raise ValueError(
            f"epsilon = {float(epsilon[one])!r} is too small for {lengths[one]} items: at least "
            f"{places[one] / LARGEST:.3g} is needed."
        )
    return places / epsilon
