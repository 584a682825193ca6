"""One answer per user: unbiased, within its variance bound, private by construction, and its exact twin."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.one_pair import one_pair_report, one_pair_variance, weights_of_answers
from privrank_jax.release import exact_one_pair_weights
from tests.promises import user

RNG = np.random.default_rng(4)
RANKS = np.array([RNG.permutation(4) for _ in range(32)])
RANKS[:6, 2] = RANKS[:6, 1]  # ties
PAIRS = np.triu_indices(4, 1)


def naive(answers, asked, num_items, epsilon):
    """Share of "ahead" per pair, debiased, one pair at a time."""
    w = np.zeros((num_items, num_items))
    pairs = [(i, j) for i in range(num_items) for j in range(i + 1, num_items)]
    for number, (i, j) in enumerate(pairs):
        bits = [bit for bit, pair in zip(answers, asked) if pair == number]
        w[i, j] = 0.5 + (sum(bits) / len(bits) - 0.5) / np.tanh(epsilon / 2)
        w[j, i] = 1 - w[i, j]
    return w


def test_weights_of_answers_are_the_naive_ones():
    asked = RNG.permutation(32) % 6
    answers = RNG.random(32) < 0.4
    found = weights_of_answers(answers, asked, 4, 1.3)
    np.testing.assert_allclose(found, naive(answers, asked, 4, 1.3), atol=1e-12)


@pytest.mark.parametrize("missing", ["last", "unknown"])
def test_unbiased_and_within_the_variance_bound(missing, key):
    """4,000 runs of 32 users with ties and gaps: mean within 5 standard errors, variance at most the bound."""
    ranks = RANKS.copy()
    ranks[6:9, 3] = -1
    run = jax.jit(
        jax.vmap(lambda k: aggregation.one_pair_weights(k, ranks, user(1.5), missing=missing).value)
    )
    drawn = np.asarray(run(jax.random.split(key, 4000)))
    truth = np.asarray(PairWeights.from_ranks(ranks, missing=missing).matrix)[PAIRS]
    found = drawn[:, *PAIRS]
    bound = float(one_pair_variance(4, 32, 1.5))
    assert np.all(np.abs(found.mean(0) - truth) < 5 * (bound / 4000) ** 0.5)
    assert np.all(found.var(0) < 1.1 * bound)
    assert np.all(found.var(0) > 0.5 * bound)
    assert np.abs(drawn + drawn.transpose(0, 2, 1) - (1 - np.eye(4))).max() < 1e-12
    scores = drawn.sum(-1)
    assert np.all(scores.var(0) < 1.15 * 3 * bound)  # no covariance beyond that of the theorem


def test_guarantees_and_the_truth_without_noise(key):
    strict = np.tile([2, 0, 1], (9, 1))
    estimate = aggregation.one_pair_weights(key, strict, user(np.inf))
    np.testing.assert_allclose(estimate.value, PairWeights.from_ranks(strict).matrix)
    assert (estimate.guarantee.unit, estimate.guarantee.trust) == ("user", "local")
    assert estimate.diagnostics.users_per_pair == 3
    released = exact_one_pair_weights(strict, user(1.0))
    assert released.guarantee.numerics == "exact"
    assert (released.guarantee.unit, released.guarantee.trust) == ("user", "local")


def test_the_exact_twin_takes_one_epsilon():
    """With as many users as pairs, budgets per user could be mistaken for budgets per pair."""
    with pytest.raises(ValueError, match="epsilon must be one number"):
        exact_one_pair_weights(RANKS[:6], user(np.linspace(1, 2, 6)))


@pytest.mark.parametrize(
    ("ranks", "epsilon", "message"),
    [
        (RANKS[:5], 1.0, "5 users are too few"),
        (RANKS, 0.0, "epsilon must be positive"),
        (RANKS[:, :1], 1.0, "two items or more"),
        (RANKS * 0.5, 1.0, "integers"),
    ],
)
def test_refusals(ranks, epsilon, message, key):
    for call in (
        lambda: aggregation.one_pair_weights(key, ranks, user(epsilon)),
        lambda: exact_one_pair_weights(ranks, user(epsilon)),
    ):
        with pytest.raises(ValueError, match=message):
            call()


def test_no_such_pair(key):
    with pytest.raises(ValueError, match="from 0 to 5"):
        one_pair_report(key, RANKS[0], 6, 1.0)
