"""Exact reports of one pair per user for a shuffler, and the weights that follow from them.

The twin of :func:`privrank_jax.aggregation.shuffled_pair_weights`, with the same theorem, error and demands on the
shuffler. Pairs and the coins of ties come from the operating system; the bit is flipped by OpenDP's exact Bernoulli
sampler (:func:`~privrank_jax.release.exact_randomized_response`). Everything after that is post-processing.
"""

from __future__ import annotations

import functools

import jax
import numpy as np

from privrank_jax._host.evaluate import quickly
from privrank_jax._types import RankingsLike
from privrank_jax.aggregation.diagnostics import ShuffledDiagnostics
from privrank_jax.aggregation.one_pair import checked_for_pairs, weights_of_answers
from privrank_jax.aggregation.shuffled_pairs import AGAINST_THE_SHUFFLER, promise_of_shuffled
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.shuffling import shuffled_local_epsilon
from privrank_jax.release.entropy import uniform_integers
from privrank_jax.release.exact_aggregation import check_budget
from privrank_jax.release.one_pair import exact_answers


def exact_shuffled_pair_weights(
    ranks: RankingsLike, privacy: Privacy, *, missing: str = "last"
) -> Estimate:
    """Pairwise weights from shuffled, exactly randomized reports of one pair per user, for releases.

    **Guarantee.** (ε, δ)-DP, exactly, for those who see shuffled reports, unit user, adjacency replace, for users who
    answer as this function answers for them. Runs on the host: no tracing, no key.

    Args: as :func:`privrank_jax.aggregation.shuffled_pair_weights`, without a key.

    Returns:
        The same as there, with numerics ``"exact"``.

    Raises:
        ValueError: as there, and if ε is infinite.
        ImportError: OpenDP is not installed, or unsound.

    >>> ranks = np.tile(np.arange(2), (300, 1))
    >>> privacy = Privacy(40.0, unit="user", adjacency="replace", delta=1e-6)
    >>> exact_shuffled_pair_weights(ranks, privacy).value.tolist()
    [[0.0, 1.0], [0.0, 0.0]]
    """
    check_budget(privacy.epsilon)
    attained = promise_of_shuffled(privacy, "exact_shuffled_pair_weights")
    on_host = isinstance(ranks, np.ndarray)
    given, pairs = checked_for_pairs(jax.device_put(ranks) if on_host else ranks, missing)
    users, items = given.shape
    local = shuffled_local_epsilon(users, attained.epsilon, attained.delta)
    asked = uniform_integers(users, pairs)
    answers = exact_answers(np.asarray(given), asked, local, missing)
    of_answers = functools.partial(weights_of_answers, num_items=items, epsilon=local)
    value = quickly(of_answers, answers, asked)
    guarantee = Guarantee(
        privacy, attained, trust="shuffled", numerics="exact", note=AGAINST_THE_SHUFFLER
    )
    return Estimate(value, guarantee, ShuffledDiagnostics(local, users / pairs))
