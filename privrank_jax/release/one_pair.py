"""Exact local release of pairwise weights: one bit per user, by exact randomized response.

The twin of :func:`privrank_jax.aggregation.one_pair_weights`, with the same theorem and error. The assignment of pairs
to users and the coins of ties come from the operating system; the bit is flipped by OpenDP's exact Bernoulli sampler
(:func:`~privrank_jax.release.exact_randomized_response`). Everything after that is post-processing.
"""

from __future__ import annotations

import functools
import secrets

import jax
import numpy as np
from jaxtyping import Bool, Integer

from privrank_jax._host.evaluate import quickly
from privrank_jax._types import RankingsLike
from privrank_jax.aggregation.counting import order_lead
from privrank_jax.aggregation.diagnostics import PairDiagnostics
from privrank_jax.aggregation.one_pair import checked_for_pairs, weights_of_answers
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.entropy import random_words
from privrank_jax.release.exact_aggregation import exact_promise
from privrank_jax.release.randomized_response import exact_randomized_response


def exact_one_pair_weights(
    ranks: RankingsLike, privacy: Privacy, *, missing: str = "last"
) -> Estimate:
    """Unbiased pairwise weights from one exactly randomized answer per user, for releases.

    **Guarantee.** Exactly ε-DP in the local model, unit user, adjacency replace, for users who answer as this function
    answers for them. Runs on the host: no tracing, no key.

    Args: as :func:`privrank_jax.aggregation.one_pair_weights`, without a key; ε finite.

    Returns:
        The same as there, with numerics ``"exact"``.

    Raises:
        ValueError: as there, and if ε is infinite or given per user.
        ImportError: OpenDP is not installed, or unsound.

    >>> ranks = np.tile(np.arange(3), (300, 1))
    >>> exact_one_pair_weights(ranks, Privacy(40.0, unit="user", adjacency="replace")).value.tolist()
    [[0.0, 1.0, 1.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]]
    """
    attained = exact_promise(privacy, "exact_one_pair_weights")
    on_host = isinstance(ranks, np.ndarray)
    given, pairs = checked_for_pairs(jax.device_put(ranks) if on_host else ranks, missing)
    told = np.asarray(given)
    users, items = told.shape
    words = random_words(users)
    asked = np.empty(users, np.int64)
    asked[np.argsort(words, kind="stable")] = np.arange(users) % pairs
    answers = exact_answers(told, asked, attained.epsilon, missing)
    of_answers = functools.partial(weights_of_answers, num_items=items, epsilon=attained.epsilon)
    value = quickly(of_answers, answers, asked)
    guarantee = Guarantee(privacy, attained, trust="local", numerics="exact")
    return Estimate(value, guarantee, PairDiagnostics(users // pairs))


def exact_answers(
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
