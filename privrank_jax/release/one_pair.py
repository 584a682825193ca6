"""Exact release of pairwise weights from one bit per user, by exact randomized response; local, or shuffled.

The twins of :mod:`privrank_jax.aggregation.one_pair` and :mod:`privrank_jax.aggregation.shuffled_pairs`, with the same
theorems, errors and demands on the shuffler. The assignment of pairs to users and the coins of ties come from the
operating system; the bit is flipped by OpenDP's exact Bernoulli sampler
(:func:`~privrank_jax.release.exact_randomized_response`). Everything after that is post-processing.
"""

from __future__ import annotations

import functools
import secrets

import jax
import numpy as np
from jaxtyping import Bool, Float, Integer

from privrank_jax._host.evaluate import quickly
from privrank_jax._types import RankingsLike
from privrank_jax.aggregation.counting import order_lead
from privrank_jax.aggregation.diagnostics import PairDiagnostics, ShuffledDiagnostics
from privrank_jax.aggregation.one_pair import checked_for_pairs, weights_of_answers
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.shuffled_pairs import AGAINST_THE_SHUFFLER, promise_of_shuffled
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.shuffling import shuffled_local_epsilon
from privrank_jax.release.entropy import random_words, uniform_integers
from privrank_jax.release.integer_noise import exact_estimate, exact_promise
from privrank_jax.release.randomized_response import exact_randomized_response


def exact_one_pair_weights(
    ranks: RankingsLike, privacy: Privacy, *, missing: str = "last"
) -> Estimate:
    """Unbiased pairwise weights from one exactly randomized answer per user, for releases.

    **Guarantee.** Exactly ε-DP in the local model, unit user, adjacency replace, for users who answer as this function
    answers for them.

    Arguments, results and errors: as for :func:`~privrank_jax.aggregation.one_pair_weights` and all exact releases
    (:mod:`privrank_jax.release`).

    >>> ranks = np.tile(np.arange(3), (300, 1))
    >>> exact_one_pair_weights(ranks, Privacy(40.0, unit="user", adjacency="replace")).value.tolist()
    [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    attained = exact_promise(of_rankings(privacy, "exact_one_pair_weights"))
    told, pairs = _checked(ranks, missing)
    users = len(told)
    asked = np.empty(users, np.int64)
    asked[np.argsort(random_words(users), kind="stable")] = np.arange(users) % pairs
    value = _weights(told, asked, attained.epsilon, missing)
    return exact_estimate(value, privacy, attained, PairDiagnostics(users // pairs), trust="local")


def exact_shuffled_pair_weights(
    ranks: RankingsLike, privacy: Privacy, *, missing: str = "last"
) -> Estimate:
    """Pairwise weights from shuffled, exactly randomized reports of one pair per user, for releases.

    **Guarantee.** (ε, δ)-DP, exactly, for those who see shuffled reports, unit user, adjacency replace, for users who
    answer as this function answers for them.

    Arguments, results and errors: as for :func:`~privrank_jax.aggregation.shuffled_pair_weights` and all exact releases
    (:mod:`privrank_jax.release`).

    >>> ranks = np.tile(np.arange(2), (300, 1))
    >>> privacy = Privacy(40.0, unit="user", adjacency="replace", delta=1e-6)
    >>> exact_shuffled_pair_weights(ranks, privacy).value.tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    attained = exact_promise(promise_of_shuffled(privacy, "exact_shuffled_pair_weights"))
    told, pairs = _checked(ranks, missing)
    users = len(told)
    local = shuffled_local_epsilon(users, attained.epsilon, attained.delta)
    value = _weights(told, uniform_integers(users, pairs), local, missing)
    about = ShuffledDiagnostics(local, users / pairs)
    return exact_estimate(
        value, privacy, attained, about, trust="shuffled", note=AGAINST_THE_SHUFFLER
    )


def _checked(ranks: RankingsLike, missing: str) -> tuple[np.ndarray, int]:
    """The ranks, and the number of pairs."""
    on_host = isinstance(ranks, np.ndarray)
    given, pairs = checked_for_pairs(jax.device_put(ranks) if on_host else ranks, missing)
    return np.asarray(given), pairs


def _weights(
    ranks: Integer[np.ndarray, "users items"],
    asked: Integer[np.ndarray, " users"],
    epsilon: float,
    missing: str,
) -> Float[np.ndarray, "items items"]:
    answers = _answers(ranks, asked, epsilon, missing)
    of_answers = functools.partial(weights_of_answers, num_items=ranks.shape[1], epsilon=epsilon)
    return quickly(of_answers, answers, asked)


def _answers(
    ranks: Integer[np.ndarray, "users items"],
    asked: Integer[np.ndarray, " users"],
    epsilon: float,
    missing: str,
) -> Bool[np.ndarray, " users"]:
    """What users send when asked about these pairs: whether the first item is ahead, randomized exactly at ε."""
    users, items = ranks.shape
    first, second = (side[asked] for side in np.triu_indices(items, 1))
    people = np.arange(users)
    lead = order_lead(ranks[people, first], ranks[people, second], missing)
    coins = np.frombuffer(secrets.token_bytes(users), np.uint8) & 1
    return exact_randomized_response(np.where(lead == 0, coins, lead > 0), epsilon)
