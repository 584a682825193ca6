"""Exact release of pairwise weights from the order of a few items by each user; local, or of pairs, shuffled.

The twins of :mod:`privrank_jax.aggregation.sub_rankings` and :mod:`privrank_jax.aggregation.shuffled_pairs`, with the
same theorems, errors and demands on the shuffler. Who is asked about which items, the orders of ties and all other
orders are uniform integers from the operating system. A user tells the own order with probability f = ⌊2^64 F⌋/2^64,
F = (1 - e^-ε)/(1 - e^-ε + k! e^-ε), e^-ε bounded from above by a ball: one word against an integer; else
any of the k! orders is as likely. So the own order is 1 + f k!/(1 - f) ≤ e^ε times as likely as another one: the loss
is at most ε, and falls short of it by about 2^-64 (k! + e^ε)²/(k! e^ε) at most. Weights are debiased by this f, so that
they are unbiased. Everything after the reports is post-processing.
"""

from __future__ import annotations

import functools
import math
from fractions import Fraction

import jax
import numpy as np
from jaxtyping import Float, Int, Integer

from privrank_jax._balls import exp_above
from privrank_jax._quickly import quickly
from privrank_jax._types import RankingsLike
from privrank_jax.aggregation.diagnostics import PairDiagnostics, ShuffledDiagnostics
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.shuffled_pairs import AGAINST_THE_SHUFFLER, promise_of_shuffled
from privrank_jax.aggregation.sub_rankings import best_size, checked_for_pairs, weights_of_leads
from privrank_jax.estimate import Estimate
from privrank_jax.exact.entropy import random_words, uniform_integers
from privrank_jax.exact.integer_noise import exact_estimate, exact_promise
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.shuffling import shuffled_local_epsilon
from privrank_jax.release.local_borda import strict_scores, uniform_places

_CHUNK = 1 << 20  # answers about pairs at once: bounds memory


def exact_sub_ranking_weights(
    ranks: RankingsLike, privacy: Privacy, *, size: int | None = None, missing: str = "last"
) -> Estimate:
    """Unbiased pairwise weights from the order of a few items by each user, exactly randomized, for releases.

    **Guarantee.** Exactly ε-DP in the local model, unit user, adjacency replace, for users who answer as this function
    answers for them.

    Arguments, results and errors: as for :func:`~privrank_jax.aggregation.sub_ranking_weights` and all exact releases
    (:mod:`privrank_jax.release`).

    >>> ranks = np.tile(np.arange(3), (300, 1))
    >>> exact_sub_ranking_weights(ranks, Privacy(60.0, unit="user", adjacency="replace")).value.tolist()
    [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    attained = exact_promise(of_rankings(privacy, "exact_sub_ranking_weights"))
    given, size = _checked(ranks, missing, size)
    users, items = given.shape
    if size is None:
        size = int(quickly(functools.partial(best_size, items), users, attained.epsilon))
    asked = np.empty(users, np.int64)
    asked[np.argsort(random_words(users), kind="stable")] = np.arange(users) % math.comb(items, 2)
    value, least = _weights(given, asked, size, attained.epsilon, missing)
    about = PairDiagnostics(least, size)
    return exact_estimate(value, privacy, attained, about, trust="local")


def exact_shuffled_pair_weights(
    ranks: RankingsLike, privacy: Privacy, *, missing: str = "last"
) -> Estimate:
    """Pairwise weights from shuffled, exactly randomized reports of one pair per user, for releases.

    **Guarantee.** (ε, δ)-DP, exactly, for those who see shuffled reports, unit user, adjacency replace, for users who
    answer as this function answers for them.

    Arguments, results and errors: as for :func:`~privrank_jax.aggregation.shuffled_pair_weights` and all exact releases
    (:mod:`privrank_jax.release`).

    >>> ranks = np.tile(np.arange(2), (300, 1))
    >>> privacy = Privacy(60.0, unit="user", adjacency="replace", delta=1e-6)
    >>> exact_shuffled_pair_weights(ranks, privacy).value.tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    attained = exact_promise(promise_of_shuffled(privacy, "exact_shuffled_pair_weights"))
    told, _ = _checked(ranks, missing, 2)
    users, pairs = len(told), math.comb(told.shape[1], 2)
    local = shuffled_local_epsilon(users, attained.epsilon, attained.delta)
    value, _ = _weights(told, uniform_integers(users, pairs), 2, local, missing)
    about = ShuffledDiagnostics(local, users / pairs)
    return exact_estimate(
        value, privacy, attained, about, trust="shuffled", note=AGAINST_THE_SHUFFLER
    )


_LARGEST_EPSILON = 1e5  # far beyond log k!; a larger ε is kept as well, and no word differs


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


def sub_ranking_reports(
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


def _checked(ranks: RankingsLike, missing: str, size: int | None) -> tuple[np.ndarray, int | None]:
    """The ranks, and the size."""
    on_host = isinstance(ranks, np.ndarray)
    given, size = checked_for_pairs(jax.device_put(ranks) if on_host else ranks, missing, size)
    return np.asarray(given), size


def _weights(
    ranks: Integer[np.ndarray, "users items"],
    asked: Integer[np.ndarray, "users"],
    size: int,
    epsilon: float,
    missing: str,
) -> tuple[Float[np.ndarray, "items items"], int]:
    """The weights, and the smallest number of users asked about one pair."""
    users, items = ranks.shape
    counts = np.zeros((2, math.comb(items, 2)), np.int64)
    first, second = np.triu_indices(size, 1)
    rows = max(1, _CHUNK // len(first))
    for start in range(0, users, rows):
        part = slice(start, start + rows)
        held, told = sub_ranking_reports(ranks[part], asked[part], size, epsilon, missing)
        one, other = held[:, first], held[:, second]
        low, high = np.minimum(one, other), np.maximum(one, other)
        pair = low * (2 * items - low - 1) // 2 + high - low - 1
        ahead = (told[:, first] > told[:, second]) == (one < other)
        counts += [
            np.bincount(which, minlength=counts.shape[1]) for which in (pair[ahead], pair.ravel())
        ]
    chance = float(Fraction(int(told_below(size, epsilon)), 2**64))
    of_leads = functools.partial(weights_of_leads, num_items=items)
    weights = quickly(of_leads, *counts, np.float64(chance))
    return np.asarray(weights), int(counts[1].min())
