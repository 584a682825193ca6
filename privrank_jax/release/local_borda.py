"""Exact local release of Borda scores: each user's ranking as two sets of items, drawn by integers.

The twin of :func:`privrank_jax.aggregation.ldp_borda` with ``mechanism="subset-selection"``, with the same designs,
theorems and error (:mod:`privrank_jax.aggregation.subset_selection`). There, proposals (A, B) must be equally likely
whatever the ranking, and one below the threshold must be accepted with probability e^-ε at least, always with the same.

*Proposals*: items are ordered by exchanges, each with one of those before or with itself, by uniform integers from the
operating system. So each order has the same probability, and the first k and the next l items are a uniform pair of
sets. Leads and thresholds are integers.

*Acceptance*: with probability ⌈2^64 e^-ε⌉/2^64, one word against an integer, with e^-ε bounded from above by a ball.
The loss is at most ε, and below it by at most 2^-64 e^ε, until at ε = 44.4 it stays at 64 log 2. The share of the
reports that are biased thereby is at most 2^-64/q.

Ties are broken before, by orders of the same kind; which type, side and number of proposals a user draws doesn't depend
on the ranking.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
from jaxtyping import Float, Int

from privrank_jax._balls import exp_above
from privrank_jax._types import RankingsLike
from privrank_jax._validate import check_choice
from privrank_jax.aggregation.diagnostics import ReportDiagnostics
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.subset_designs import check_items, designs
from privrank_jax.aggregation.weights import MISSING, ranks_of_users
from privrank_jax.estimate import Estimate
from privrank_jax.exact.entropy import random_words, uniform_integers
from privrank_jax.exact.integer_noise import exact_estimate, exact_promise
from privrank_jax.privacy.privacy import Privacy

_CHUNK = 1 << 20  # words drawn at once: bounds memory


def exact_ldp_borda(
    ranks: RankingsLike,
    privacy: Privacy,
    *,
    mechanism: str = "subset-selection",
    missing: str = "last",
) -> Estimate:
    """Unbiased Borda scores from one exactly randomized report per user, for releases.

    **Guarantee.** Exactly ε-DP in the local model, unit user, adjacency replace, for users who report as this function
    reports for them; proof at the head of this module.

    Arguments, results and errors: as for :func:`~privrank_jax.aggregation.ldp_borda` and all exact releases
    (:mod:`privrank_jax.release`); ``mechanism`` is ``"subset-selection"``, the only one that is drawn exactly, for 2 to
    20 items.

    >>> ranks = np.tile(np.arange(3), (4000, 1))
    >>> scores = exact_ldp_borda(ranks, Privacy(5.0, unit="user", adjacency="replace")).value
    >>> bool(scores[0] > scores[1] > scores[2])
    True
    """
    check_choice("mechanism", mechanism, ("subset-selection",))
    attained = exact_promise(of_rankings(privacy, "exact_ldp_borda"))
    check_choice("missing", missing, MISSING)
    users, items = ranks_of_users(ranks).shape
    reports, norm = subset_reports(np.asarray(ranks), attained.epsilon, missing)
    value = reports.mean(axis=0) + (items - 1) / 2
    spread = reports.std(axis=0, ddof=1) if users > 1 else np.full(items, np.inf)
    about = ReportDiagnostics(norm, spread / users**0.5)
    return exact_estimate(value, privacy, attained, about, trust="local")


def subset_reports(
    ranks: Int[np.ndarray, "users items"], epsilon: float, missing: str
) -> tuple[Float[np.ndarray, "users items"], float]:
    """The report of each user, as unbiased centered scores, and B."""
    users, items = ranks.shape
    check_items(items)
    table = designs(items)
    with np.errstate(divide="ignore"):  # refused below
        costs = table.costs(epsilon)
    design = int(np.argmin(costs.sum(axis=1)))
    used = np.flatnonzero(table.weight[design])
    kind = used[drawn_kinds(costs[design, used], users)]
    ahead, behind, threshold, weight, length = (
        column[design, kind]
        for column in (table.ahead, table.behind, table.threshold, table.weight, table.length)
    )
    norm = float(costs[design].sum())
    side = 1 - 2 * (random_words(users) & np.uint64(1)).astype(np.int64)
    pairs = np.empty((users, items), np.int64)
    rows = max(1, _CHUNK // items)
    for start in range(0, users, rows):
        part = slice(start, start + rows)
        position = side[part, None] * strict_scores(ranks[part], missing)
        pairs[part] = _pairs(position, ahead[part], behind[part], threshold[part], epsilon)
    factor = side * np.sign(weight) * norm / (ahead * behind * length)
    return pairs * factor[:, None], norm


def drawn_kinds(odds: Float[np.ndarray, "kinds"], users: int) -> Int[np.ndarray, "users"]:
    """A kind for each user, by odds, all positive; as near to them as 64 bits are.

    Raises:
        ValueError: odds that are infinite, at an ε that is too small for doubles.

    >>> drawn_kinds(np.array([1.0]), 2).tolist()
    [0, 0]
    """
    if not np.isfinite(np.sum(odds)):
        raise ValueError(
            "epsilon is so small that the reports say nothing in double precision: choose a value closer to usual "
            "ones, such as 1."
        )
    upto = [Fraction(float(cost)) for cost in np.cumsum(odds)]
    bounds = [int(part / upto[-1] * 2**64) for part in upto[:-1]]
    return np.searchsorted(np.array(bounds, np.uint64), random_words(users), side="right")


def _pairs(
    position: Int[np.ndarray, "users items"],
    ahead: Int[np.ndarray, "users"],
    behind: Int[np.ndarray, "users"],
    threshold: Int[np.ndarray, "users"],
    epsilon: float,
) -> Int[np.ndarray, "users items"]:
    """One accepted pair for each user: l on items of A, -k on those of B."""
    last = last_accepted(epsilon)
    found = np.empty_like(position)
    pending = np.arange(len(position))
    while pending.size:
        place = uniform_places(pending.size, position.shape[1])
        first, second = ahead[pending, None], behind[pending, None]
        value = second * (place < first) - first * ((place >= first) & (place < first + second))
        lead = np.sum(position[pending] * value, axis=1)
        kept = (lead >= threshold[pending]) | (random_words(pending.size) <= last)
        found[pending[kept]] = value[kept]
        pending = pending[~kept]
    return found


@functools.lru_cache(maxsize=64)
def last_accepted(epsilon: float) -> np.uint64:
    """⌈2^64 e^-ε⌉ - 1, never less: a word up to it is accepted.

    >>> int(last_accepted(1e-30)) == 2**64 - 1, int(last_accepted(1.0)) / 2**64
    (True, 0.36787944117144233)
    """
    if epsilon > 45:  # e^-ε < 2^-64
        return np.uint64(0)
    return np.uint64(min(math.ceil(2**64 * exp_above(-epsilon)), 2**64) - 1)


def uniform_places(users: int, items: int) -> Int[np.ndarray, "users items"]:
    """Independent permutations of 0, ..., m - 1, all equally likely: each item is exchanged with one before or itself.

    >>> uniform_places(2, 1).tolist()
    [[0], [0]]
    """
    found = np.tile(np.arange(items), (users, 1))
    row = np.arange(users)
    for item in range(1, items):
        place = uniform_integers(users, item + 1)
        found[row, item] = found[row, place]
        found[row, place] = item
    return found


def strict_scores(
    ranks: Int[np.ndarray, "users items"], missing: str
) -> Int[np.ndarray, "users items"]:
    """Scores 0, ..., m - 1 of each ranking, high = preferred, ties and gaps broken at random.

    >>> strict_scores(np.array([[1, 0, -1]]), "last").tolist()
    [[1, 2, 0]]
    """
    users, items = ranks.shape
    gap = ranks < 0
    block = gap.astype(np.int8)
    if missing == "unknown":
        first = (random_words(users) & np.uint64(1)).astype(bool)
        block[gap & first[:, None]] = -1
    order = np.lexsort((uniform_places(users, items), np.where(gap, 0, ranks), block), axis=1)
    return items - 1 - np.argsort(order, axis=1)
