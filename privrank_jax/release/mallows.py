r"""Exact Mallows sampler, without floating-point probabilities: synthetic rankings for real releases.

A synthetic ranking of a user's m items inserts them in the order of the user's ranking, each of them v places ahead of
the last place, P(v) = e^{-γv} / Σ_{w≤t} e^{-γw} for v = 0..t at step t = 0..m-1, independently. Each such place
reverses one pair, so P(ranking) ∝ e^{-γ·pairs}, the Mallows law.

**Privacy.** Moving one item changes the number of reversed pairs by at most m-1 and leaves the normalizer unchanged:
the loss is at most (m-1)γ. γ = g/2^48 with g = ⌊2^48 ε/(m-1)⌋, computed in integers (a double is a fraction), so (m-1)γ
≤ ε, and falls short of ε by less than (m-1)/2^48, which is why an ε below that is refused. Beyond ε/(m-1) = 2^14 γ
stays at 2^14.

**Sampling** (Canonne, Kamath, Steinke 2020, algorithms 1 and 2), only by integers from the operating system:

1. A with P(A) = e^{-u/d} for integers 0 ≤ u < d: draw A_k with P(A_k) = u/(dk), k = 1, 2, ..., until one fails; A
   says that the k of the failure is odd. Indeed P(no failure before k+1) = (u/d)^k/k!, and Σ (-u/d)^k/k! = e^{-u/d}.
2. Y with P(Y = y) = (1-e^{-γ})e^{-γy}: draw U uniform on 0..2^48-1 until A of e^{-U/2^48} holds, and Z, the number of
   times in a row that A of e^{-1} holds. X = U + 2^48 Z has P(X = x) ∝ e^{-x/2^48}, and Y = ⌊X/g⌋.
3. v = Y mod (t+1): P(v) = Σ_j P(Y = v + j(t+1)) ∝ e^{-γv}. Nothing is rejected, so a small γ takes no longer.

Bernoulli draws of integer odds compare a uniform integer with the numerator; uniform integers below b are 64-bit words
mod b, those at or beyond the last multiple of b drawn again. Displacements don't depend on the ranks, so neither does
the time it takes to draw them.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from jaxtyping import Bool, Float, Int, Int32, UInt64

from privrank_jax._types import NumbersLike, RankingsLike
from privrank_jax._validate import check_epsilon, check_positive
from privrank_jax.release.entropy import random_words

_BITS = 48
_ONE = 1 << _BITS
_CHUNK = 1 << 20  # cells drawn at once: bounds memory


def exact_mallows(ranks: RankingsLike, epsilon: NumbersLike) -> Int32[np.ndarray, "users items"]:
    """A synthetic ranking for each user, for releases; the twin of :func:`privrank_jax.mallows.sample`.

    **Guarantee.** ε-ranking DP for each user (unit rank, adjacency replace: moving one item), εm/2-local DP for the
    whole ranking, exactly; proof at the head of this module. Which items a user ranked is taken as public.

    Arguments, results and errors: as for the twin, with ranks ``(n, m)`` of n users, of which a NumPy array comes back,
    and ε ``(n,)`` or one number, finite and at least 2^-48 times the number of places that an item can move.

    >>> exact_mallows([[2, 0, 1], [-1, 5, 3]], 500.0).tolist()
    [[2, 0, 1], [-1, 1, 0]]
    """
    epsilon = check_epsilon(epsilon)
    check_positive("epsilon", epsilon, infinite=False)
    ranks = _checked_ranks(ranks)
    users, items = ranks.shape
    if np.shape(epsilon) not in ((), (users,)):
        raise ValueError(
            f"epsilon must be one number or have shape ({users},), got shape {np.shape(epsilon)}."
        )
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
    back[user, step] = _geometric(_rates(epsilon, lengths)[user]) % (step.astype(np.uint64) + 1)
    places = np.empty((users, items), np.int32)
    for t in range(items):
        at = t - back[:, t]
        places[:, :t] += places[:, :t] >= at[:, None]
        places[:, t] = at
    found = np.full((users, items), -1, np.int32)
    np.put_along_axis(found, order, np.where(np.arange(items) < lengths[:, None], places, -1), 1)
    return found


def _rates(
    epsilon: Float[np.ndarray, "users"], lengths: Int[np.ndarray, "users"]
) -> UInt64[np.ndarray, "users"]:
    """g = ⌊2^48 ε/(k-1)⌋ of each user, ``(n,)`` uint64; 1 if k < 2, where nothing is drawn."""
    pairs, which = np.unique(np.stack([epsilon, lengths]), axis=1, return_inverse=True)
    rates = np.ones(pairs.shape[1], np.uint64)
    for index, (budget, length) in enumerate(pairs.T):
        if length < 2:
            continue
        rate = Fraction(float(budget)) * _ONE // (int(length) - 1)
        if not rate:
            raise ValueError(
                f"epsilon = {float(budget)!r} is too small for {int(length)} items: at least "
                f"{(int(length) - 1) / _ONE:.3g} is needed."
            )
        rates[index] = min(rate, 1 << 62)
    return rates[which.reshape(-1)]


def _geometric(rates: UInt64[np.ndarray, "cells"]) -> UInt64[np.ndarray, "cells"]:
    """Y with P(Y = y) ∝ e^{-γy}, γ = rates/2^48: ``(N,)`` uint64."""
    fraction = np.empty(rates.size, np.uint64)
    pending = np.arange(rates.size)
    while pending.size:
        drawn = _below(np.full(pending.size, _ONE, np.uint64))
        kept = _bernoulli_exp(drawn)
        fraction[pending[kept]] = drawn[kept]
        pending = pending[~kept]
    whole = np.zeros(rates.size, np.uint64)
    pending = np.arange(rates.size)
    while pending.size:
        pending = pending[_bernoulli_exp(np.full(pending.size, _ONE, np.uint64))]
        whole[pending] += np.uint64(1)
    # No overflow: 2^16 times in a row would take e^65536 trials.
    return (fraction + (whole << np.uint64(_BITS))) // rates


def _bernoulli_exp(numerators: UInt64[np.ndarray, "trials"]) -> Bool[np.ndarray, "trials"]:
    """True with probability exp(-numerator/2^48), numerators 0..2^48: ``(N,)`` bool."""
    odd = np.ones(numerators.size, bool)
    going = np.arange(numerators.size)
    trial = 1
    while going.size:
        uniform = _below(np.full(going.size, trial * _ONE, np.uint64))
        going = going[uniform < numerators[going]]
        trial += 1
        odd[going] = trial % 2 == 1
    return odd


def _below(bounds: UInt64[np.ndarray, "words"]) -> UInt64[np.ndarray, "words"]:
    """Uniform integers below positive bounds, ``(N,)`` uint64."""
    found = np.empty(bounds.size, np.uint64)
    # 2^64 mod b, in 64 bits: (2^64 - b) mod b.
    excess = (np.uint64(0) - bounds) % bounds
    pending = np.arange(bounds.size)
    while pending.size:
        words = random_words(pending.size)
        top = excess[pending]
        kept = words <= ~np.uint64(0) - top  # the first 2^64 - excess words, a multiple of b
        found[pending[kept]] = words[kept] % bounds[pending[kept]]
        pending = pending[~kept]
    return found
