"""Debiased pairs and scores of synthetic rankings: weighted, unbiased, with correct standard errors."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import aggregation, mallows
from tests.mallows.crowd import CROWD
from tests.reference import debias as twins


def all_rankings(num_items: int) -> np.ndarray:
    return np.array(list(itertools.permutations(range(num_items))), np.int32)


def chances(center: np.ndarray, epsilon: float) -> np.ndarray:
    """Exact probabilities of all rankings around a center."""
    ranks, m = all_rankings(len(center)), len(center)
    first, second = np.triu_indices(m, 1)
    wrong = (ranks[:, first] < ranks[:, second]) != (center[first] < center[second])
    weight = np.exp(-epsilon / (m - 1) * wrong.sum(axis=1))
    return weight / weight.sum()


@pytest.mark.parametrize("weights", ["variance", "equal"])
def test_agrees_with_the_twin_with_personal_budgets_and_missing_items(weights: str) -> None:
    synthetic = np.array(
        [[0, 1, 2, 3], [2, 0, 1, -1], [1, 0, -1, -1], [3, 2, 1, 0], [-1, -1, 0, -1], [1, 0, 2, -1]]
    )
    epsilon = np.array([1.0, 2.0, 1.0, 6.0, 1.0, 2.0])
    sizes = (synthetic >= 0).sum(axis=1)
    with jax.enable_x64(True):
        kernels = [
            np.asarray(mallows.debiasing_kernel(int(size), jnp.float64(one)))
            for size, one in zip(sizes, epsilon, strict=True)
        ]
        squares = [
            np.sum(kernel**2) / max(size * (size - 1), 1)
            for kernel, size in zip(kernels, sizes, strict=True)
        ]
        own = np.array([1 / square if square else 0 for square in squares])
        own = np.where(sizes > 1, 1.0, 0) if weights == "equal" else own
        found = mallows.debiased_pairs(synthetic, epsilon, weights=weights)
        traced = jax.jit(lambda e: mallows.debiased_pairs(synthetic, e, weights=weights).value)(
            epsilon
        )
    expected = twins.debiased_wins(synthetic, kernels, own)
    np.testing.assert_allclose(found.value, np.where(np.eye(4), 0, expected), atol=1e-12)
    np.testing.assert_allclose(traced, found.value, atol=1e-12)
    np.testing.assert_allclose(
        found.diagnostics.variance, [max(s - 1, 0) for s in squares], rtol=1e-9
    )
    largest = max(size**2 * np.abs(kernel).max() for kernel, size in zip(kernels, sizes))
    assert found.diagnostics.rounding == pytest.approx(np.finfo(float).eps * largest)
    for i, j in ((0, 1), (2, 0)):
        held = [u for u, row in enumerate(synthetic) if min(row[i], row[j]) >= 0]
        said = [(1 + kernels[u][synthetic[u, i], synthetic[u, j]]) / 2 for u in held]
        like = own[held].sum() ** 2 / (own[held] ** 2).sum()
        spread = own[held] ** 2 @ (said - expected[i, j]) ** 2 * like / (like - 1)
        assert found.diagnostics.total[i, j] == pytest.approx(like)
        error = math.sqrt(spread) / own[held].sum()
        assert found.diagnostics.standard_errors[i, j] == pytest.approx(error)
    assert float(found.guarantee.epsilon) == 6.0
    assert float(found.guarantee.also[0].epsilon) == 12.0
    wins = np.asarray(mallows.debiased_pairs([[0, 1, -1], [1, 0, -1]], 1.0).value)
    assert wins[0, 2] == 0.5 == wins[2, 1]  # nobody ranked the third


@pytest.mark.parametrize("missing", ["last", "unknown"])
def test_borda_scores_are_unbiased_and_need_no_large_epsilon(missing: str) -> None:
    """Exactly, over all draws of two users, one of whom ranked three of the four items."""
    centers = np.array([[2, 0, 3, 1], [1, -1, 0, 2]])
    epsilon = np.array([0.05, 0.2])
    truth = aggregation.borda_scores(aggregation.PairWeights.from_ranks(centers, missing=missing))
    full, three = all_rankings(4), np.insert(all_rankings(3), 1, -1, axis=1)
    law = [chances(centers[0], 0.05), chances(centers[1][centers[1] >= 0], 0.2)]
    both = np.array([*itertools.product(full, three)])

    @jax.jit
    @jax.vmap
    def run(ranks):
        told = {"weights": "equal", "missing": missing}
        return mallows.debiased_borda(ranks, epsilon, **told).value

    found = np.outer(*law).ravel() @ run(both)
    np.testing.assert_allclose(found, truth, atol=1e-9)


def test_borda_errors_weights_and_total() -> None:
    users = 300
    ranks = jnp.asarray(CROWD[np.arange(users) % 2])
    keys = jax.random.split(jax.random.key(3), users)
    epsilon = jnp.where(jnp.arange(users) < 150, 1.0, 6.0)
    synthetic = jax.vmap(mallows.sample)(keys, ranks, epsilon)
    found = mallows.debiased_borda(synthetic, epsilon)
    own = 4 - np.asarray(jax.vmap(mallows.unbiased_ranks)(synthetic, epsilon))
    weight = 1 / np.mean((own - 2) ** 2, axis=1)
    assert len(np.unique(weight.round(9))) == 2  # by a user's budget, not by the answers
    np.testing.assert_allclose(found.value, np.average(own, axis=0, weights=weight), rtol=1e-9)
    like = weight.sum() ** 2 / (weight**2).sum()
    assert found.diagnostics.total == pytest.approx(like)
    # The few users with most weight pull the mean toward themselves: n/(n-1) with n = like, not the number of all
    # users.
    squares = (weight**2) @ (own - np.asarray(found.value)) ** 2 * like / (like - 1)
    np.testing.assert_allclose(
        found.diagnostics.standard_errors, np.sqrt(squares) / weight.sum(), rtol=1e-6
    )
    assert np.all(np.isinf(mallows.debiased_borda([[0, 1]], 1.0).diagnostics.standard_errors))
    outweighed = mallows.debiased_borda(synthetic, epsilon.at[0].set(900.0).at[1:].set(1e-9))
    assert np.all(np.isinf(outweighed.diagnostics.standard_errors))


def test_users_who_ranked_nothing_and_ranks_without_a_sign() -> None:
    crowd = np.array([[0, 1, 2], [-1, -1, -1], [2, 1, 0]])
    for find in (mallows.debiased_borda, mallows.debiased_pairs):
        found = find(crowd, 3.0)
        np.testing.assert_allclose(found.value, np.flip(found.value), rtol=1e-6)
        assert found.guarantee is not None
        assert found.guarantee.also[0].epsilon == 4.5
    crowd[1] = 0, 2, 1
    found, unsigned = (
        mallows.debiased_borda(ranks, 3.0) for ranks in (crowd, crowd.astype(np.uint8))
    )
    np.testing.assert_array_equal(unsigned.value, found.value)
    tiny = mallows.debiased_borda(crowd, jnp.float32(1e-12))
    assert tiny.diagnostics.total == pytest.approx(3)  # weights of 1e-24 don't underflow
