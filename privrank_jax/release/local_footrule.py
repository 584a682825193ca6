r"""Exact local release of footrule costs: each user's ranking as a cut and a set of items, drawn by integers.

The twin of :func:`privrank_jax.aggregation.ldp_footrule`, with the same types, theorems and error
(:mod:`privrank_jax.aggregation.local_footrule`). Given the cut k, of the M = C(m, a) sets of a items Q have at least t
items among the user's first k, and Q is the same for all rankings; R = M - Q others have fewer.

*Which of the two*: the set is one of the Q with probability p = ⌊2^64 Q/(Q + R e^-ε)⌋/2^64, bounded by interval
arithmetic from below, one word against an integer. So one of the Q sets is p/(1-p)·R/Q ≤ e^ε times as likely as one of
the R; and at least as likely, or ε is refused as too small. The loss is at most ε, and falls short of it by less than
2^-64/(p(1-p)) until ε = 60, where it stays.

*Which set*: it has s items among the first k with probability C(k, s) C(m-k, a-s)/Q or /R, by a uniform integer below Q
or R; then orders of the items by exchanges (:func:`~privrank_jax.release.local_borda.uniform_places`) give a uniform
set of s of the first k items and a - s others. So all of the Q sets are equally likely, and all of the R.

Ties are broken before, by orders of the same kind; cuts don't depend on the ranking.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import secrets
from decimal import Decimal
from fractions import Fraction

import numpy as np
from jaxtyping import Bool, Int

from privrank_jax._host.evaluate import quickly
from privrank_jax._types import RankingsLike
from privrank_jax.aggregation.diagnostics import FootruleDiagnostics
from privrank_jax.aggregation.footrule_cuts import check_items, cut_design
from privrank_jax.aggregation.local_footrule import costs_of_counts, footrule_deviation
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.entropy import random_words, uniform_integers
from privrank_jax.release.exact_aggregation import checked_rankings
from privrank_jax.release.integer_noise import exact_estimate, exact_promise
from privrank_jax.release.intervals import DIGITS, exp, up
from privrank_jax.release.local_borda import drawn_kinds, strict_scores, uniform_places

_CHUNK = 1 << 20  # words drawn at once: bounds memory
_LARGEST = 60  # ε beyond which the odds stay


def exact_ldp_footrule(ranks: RankingsLike, privacy: Privacy, *, missing: str = "last") -> Estimate:
    """Unbiased footrule costs from one exactly randomized report per user, for releases.

    **Guarantee.** Exactly ε-DP in the local model, unit user, adjacency replace, for users who report as this function
    reports for them; proof at the head of this module.

    Arguments, results and errors: as for :func:`~privrank_jax.aggregation.ldp_footrule` and all exact releases
    (:mod:`privrank_jax.release`).

    >>> ranks = np.tile([1, 0, 2], (4000, 1))
    >>> costs = exact_ldp_footrule(ranks, Privacy(4.0, unit="user", adjacency="replace")).value
    >>> costs.argmin(axis=1).tolist()
    [1, 0, 2]
    """
    attained = exact_promise(of_rankings(privacy, "exact_ldp_footrule"))
    users, items = checked_rankings(ranks, missing)
    cuts, chosen = footrule_reports(np.asarray(ranks), attained.epsilon, missing)
    counts = np.stack([chosen[cuts == cut].sum(axis=0) for cut in range(1, items)])
    reports = np.bincount(cuts - 1, minlength=items - 1)
    value = np.asarray(quickly(costs_of_counts, counts, reports, np.float64(attained.epsilon)))
    of_users = functools.partial(footrule_deviation, items)
    deviation = float(quickly(of_users, users, attained.epsilon))
    about = FootruleDiagnostics(deviation)
    return exact_estimate(value, privacy, attained, about, trust="local")


def footrule_reports(
    ranks: Int[np.ndarray, "users items"], epsilon: float, missing: str
) -> tuple[Int[np.ndarray, " users"], Bool[np.ndarray, "users items"]]:
    """The cut of each user, from 1 to m - 1, and the set."""
    users, items = ranks.shape
    check_items(items)
    design = cut_design(items, epsilon)
    kind = drawn_kinds(np.asarray(design.odds, np.float64), users)
    size, threshold = (np.asarray(part) for part in (design.size, design.threshold))
    held = np.empty(users, np.int64)
    for place in np.unique(kind):
        whose = np.flatnonzero(kind == place)
        number = int(size[place]), int(threshold[place])
        held[whose] = _held(items, int(place) + 1, *number, epsilon, whose.size)
    chosen = np.empty((users, items), bool)
    rows = max(1, _CHUNK // items)
    for start in range(0, users, rows):
        part = slice(start, start + rows)
        cut = kind[part, None] + 1
        ahead = strict_scores(ranks[part], missing) >= items - cut
        chosen[part] = _uniform_sets(ahead, cut, held[part, None], size[kind[part], None])
    return kind + 1, chosen


def accepted_below(accepted: int, others: int, epsilon: float) -> np.uint64:
    """⌊2^64 Q/(Q + R e^-ε)⌋, or less: a word below it says that the set is one of the Q.

    Raises:
        ValueError: ε is too small for words of 64 bits.

    >>> int(accepted_below(1, 3, math.log(3))) / 2**64
    0.5
    """
    other = Fraction(exp(Decimal(-min(epsilon, _LARGEST)), up(DIGITS)))
    words = math.floor(2**64 * accepted / (accepted + others * other))
    if words * (accepted + others) < 2**64 * accepted:
        raise ValueError(f"epsilon = {epsilon!r} is too small for words of 64 bits.")
    return np.uint64(words)


def _held(
    items: int, cut: int, size: int, threshold: int, epsilon: float, users: int
) -> Int[np.ndarray, " users"]:
    """How many of the first ``cut`` items the set of each user holds."""
    ways = [math.comb(cut, held) * math.comb(items - cut, size - held) for held in range(size + 1)]
    accepted, others = sum(ways[threshold:]), sum(ways[:threshold])
    likely = random_words(users) < accepted_below(accepted, others, epsilon)
    held = np.empty(users, np.int64)
    held[likely] = threshold + _by_ways(ways[threshold:], int(likely.sum()))
    held[~likely] = _by_ways(ways[:threshold], int((~likely).sum()))
    return held


def _by_ways(ways: list[int], count: int) -> Int[np.ndarray, " count"]:
    """Independent places in ``ways``, by these numbers, exactly."""
    upto = list(itertools.accumulate(ways))
    if upto[-1] <= 2**62:
        return np.searchsorted(np.array(upto), uniform_integers(count, upto[-1]), side="right")
    drawn = (bisect.bisect_right(upto, secrets.randbelow(upto[-1])) for _ in range(count))
    return np.fromiter(drawn, np.int64, count)


def _uniform_sets(
    ahead: Bool[np.ndarray, "users items"],
    cut: Int[np.ndarray, "users 1"],
    held: Int[np.ndarray, "users 1"],
    size: Int[np.ndarray, "users 1"],
) -> Bool[np.ndarray, "users items"]:
    """A uniform set of ``held`` of the items ahead and of others, up to ``size`` in all."""
    users, items = ahead.shape
    order = np.argsort(np.where(ahead, 0, items) + uniform_places(users, items), axis=1)
    place = np.argsort(order, axis=1)
    return np.where(ahead, place < held, place - cut < size - held)
