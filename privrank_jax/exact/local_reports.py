r"""Messages of users in the local model, drawn by integers: two sets of items, and orders of a few items.

**Two sets** (:mod:`privrank_jax.aggregation.subset_selection`). Proposals (A, B) must be equally likely whatever the
ranking, and one below the threshold must be accepted with probability e^-ε at least, always with the same. *Proposals*:
items are ordered by exchanges, each with one of those before or with itself, by uniform integers. So each order has the
same probability, and the first k and the next l items are a uniform pair of sets. Leads and thresholds are integers.

*Acceptance*: with probability ⌈2^64 e^-ε⌉/2^64, one word against an integer, with e^-ε bounded from above by a ball.
The loss is at most ε, and below it by at most 2^-64 e^ε, until at ε = 44.4 it stays at 64 log 2. The share of the
reports that are biased thereby is at most 2^-64/q. Which type, side and number of proposals a user draws doesn't depend
on the ranking.

**Orders** (:mod:`privrank_jax.aggregation.sub_rankings`, :mod:`privrank_jax.aggregation.shuffled_pairs`). Who is asked
about which items, and all orders but the own, are uniform. A user tells the own order with probability f = ⌊2^64
F⌋/2^64, F = (1 - e^-ε)/(1 - e^-ε + k! e^-ε), e^-ε bounded from above by a ball: one word against an integer; else any
of the k! orders is as likely. So the own order is 1 + f k!/(1 - f) ≤ e^ε times as likely as another one: the loss is at
most ε, and falls short of it by about 2^-64 (k! + e^ε)²/(k! e^ε) at most.

Ties are broken before, by uniform orders.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import numpy as np
from jaxtyping import Float, Int, Integer

from privrank_jax._balls import exp_above
from privrank_jax.exact.entropy import random_words, uniform_integers
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.shuffling import shuffled_local_epsilon

_CHUNK = 1 << 20  # words, or answers about pairs, at once: bounds memory
_LARGEST_EPSILON = 1e5  # far beyond log k!; a larger ε is kept as well, and no word differs


def two_sets(
    ranks: Integer[np.ndarray, "users items"],
    missing: str,
    epsilon: float,
    odds: Float[np.ndarray, "kinds"],
    types: Int[np.ndarray, "three kinds"],
) -> tuple[Int[np.ndarray, "users"], Int[np.ndarray, "users"], Int[np.ndarray, "users items"]]:
    """The report of each user: type, side, and l on items of A, -k on those of B.

    Args:
        ranks: 0 = best, negative = not ranked.
        missing: ``"last"``, or ``"unknown"``: a fair coin for each user puts all items not ranked first or last.
        epsilon: ε.
        odds: of each type.
        types: k, l and the threshold of each.
    """
    users, items = ranks.shape
    kind = drawn_kinds(odds, users)
    ahead, behind, threshold = types[:, kind]
    side = 1 - 2 * (random_words(users) & np.uint64(1)).astype(np.int64)
    pairs = np.empty((users, items), np.int64)
    rows = max(1, _CHUNK // items)
    for start in range(0, users, rows):
        part = slice(start, start + rows)
        position = side[part, None] * strict_scores(ranks[part], missing)
        pairs[part] = _pairs(position, ahead[part], behind[part], threshold[part], epsilon)
    return kind, side, pairs


def leads(
    ranks: Integer[np.ndarray, "users items"], missing: str, epsilon: float, size: int
) -> Int[np.ndarray, "two pairs"]:
    """For each pair, how many users told its first item ahead, and how many were asked about it.

    Args:
        ranks, missing: as for :func:`two_sets`.
        epsilon: ε.
        size: k.
    """
    asked = np.empty(len(ranks), np.int64)
    dealt = np.arange(len(ranks)) % math.comb(ranks.shape[1], 2)
    asked[np.argsort(random_words(len(ranks)), kind="stable")] = dealt
    return _counts(ranks, asked, size, epsilon, missing)


def shuffled_leads(
    ranks: Integer[np.ndarray, "users items"], privacy: Privacy, missing: str
) -> tuple[float, Int[np.ndarray, "two pairs"]]:
    """ε₀ of the reports, and the counts of :func:`leads`, of users who each draw a pair in secret.

    Args:
        ranks, missing: as for :func:`two_sets`.
        privacy: ε and δ once the reports are shuffled.
    """
    users, items = ranks.shape
    local = shuffled_local_epsilon(users, privacy.epsilon, privacy.delta)
    asked = uniform_integers(users, math.comb(items, 2))
    return local, _counts(ranks, asked, 2, local, missing)


def _counts(
    ranks: Integer[np.ndarray, "users items"],
    asked: Integer[np.ndarray, "users"],
    size: int,
    epsilon: float,
    missing: str,
) -> Int[np.ndarray, "two pairs"]:
    users, items = ranks.shape
    pairs = math.comb(items, 2)
    counts = np.zeros((2, pairs), np.int64)
    first, second = np.triu_indices(size, 1)
    rows = max(1, _CHUNK // len(first))
    for start in range(0, users, rows):
        part = slice(start, start + rows)
        held, told = told_orders(ranks[part], asked[part], size, epsilon, missing)
        one, other = held[:, first], held[:, second]
        low, high = np.minimum(one, other), np.maximum(one, other)
        pair = low * (2 * items - low - 1) // 2 + high - low - 1
        ahead = (told[:, first] > told[:, second]) == (one < other)
        counts += [np.bincount(which, minlength=pairs) for which in (pair[ahead], pair.ravel())]
    return counts


def told_chance(size: int, epsilon: float) -> float:
    """f, as a double.

    >>> told_chance(2, math.log(3))
    0.5
    """
    return float(Fraction(int(told_below(size, epsilon)), 2**64))


def told_below(size: int, epsilon: float) -> np.uint64:
    """2^64 f: a word below it says that a user tells the own order of so many items.

    Raises:
        ValueError: ε is so small, or the items are so many, that nobody would.

    >>> int(told_below(2, math.log(3))) / 2**64
    0.5
    """
    other = exp_above(-min(epsilon, _LARGEST_EPSILON))
    words = math.floor(2**64 * (1 - other) / (1 - other + math.factorial(size) * other))
    if words <= 0:
        raise ValueError(
            f"epsilon = {epsilon!r} is too small for orders of {size} items in words of 64 bits."
        )
    return np.uint64(words)


def told_orders(
    ranks: Integer[np.ndarray, "users items"],
    asked: Integer[np.ndarray, "users"],
    size: int,
    epsilon: float,
    missing: str,
) -> tuple[Int[np.ndarray, "users size"], Int[np.ndarray, "users size"]]:
    """The items of each user, those of the pair with this number first, and the scores told, high = ahead."""
    users, items = ranks.shape
    held = np.stack([side[asked] for side in np.triu_indices(items, 1)], axis=1)
    for number in range(2, size):  # any item that is not among them
        item = uniform_integers(users, items - number)
        for before in np.sort(held, axis=1).T:
            item += item >= before
        held = np.concatenate([held, item[:, None]], axis=1)
    own = strict_scores(np.take_along_axis(ranks, held, axis=1), missing)
    tells = random_words(users) < told_below(size, epsilon)
    return held, np.where(tells[:, None], own, uniform_places(users, size))


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
