"""Debiased pairs and scores of synthetic rankings, the debiasing kernel, unbiased ranks, and Laplace noise on ranks."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import aggregation, mallows
from privrank_jax.mallows.kernel import mean_square
from privrank_jax.mallows.laplace import laplace_ranks
from tests.mallows.crowd import CROWD
from tests.quick import thorough
from tests.reference import debias as twins
from tests.reference import mallows as naive


@pytest.mark.parametrize("weights", ["variance", thorough("equal")])
def test_agrees_with_the_twin_with_personal_budgets_and_missing_items(weights: str) -> None:
    synthetic = np.array(
        [[0, 1, 2, 3], [2, 0, 1, -1], [1, 0, -1, -1], [3, 2, 1, 0], [-1, -1, 0, -1], [1, 0, 2, -1]]
    )
    epsilon = np.array([1.0, 2.0, 1.0, 6.0, 1.0, 2.0])
    sizes = (synthetic >= 0).sum(axis=1)
    kernels = [
        np.array(twins.exact_kernel(int(size), Fraction(math.exp(-one / max(size - 1, 1)))), float)
        for size, one in zip(sizes, epsilon, strict=True)
    ]
    with jax.enable_x64(True):
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
    rankings, law = zip(*(naive.pmf(*one) for one in zip(centers, epsilon)))
    both = np.array([*itertools.product(*rankings)])

    @jax.jit
    @jax.vmap
    def run(ranks):
        told = {"weights": "equal", "missing": missing}
        return mallows.debiased_borda(ranks, epsilon, **told).value

    found = np.outer(*law).ravel() @ run(both)
    np.testing.assert_allclose(found, truth, atol=1e-9)


def test_borda_errors_weights_and_total() -> None:
    users = 300
    keys = jax.random.split(jax.random.key(3), users)
    epsilon = np.where(np.arange(users) < 150, 1.0, 6.0)
    draw, unbiased = (jax.jit(jax.vmap(one)) for one in (mallows.sample, mallows.unbiased_ranks))
    synthetic = draw(keys, CROWD[np.arange(users) % 2], epsilon)
    found = mallows.debiased_borda(synthetic, epsilon)
    own = 4 - np.asarray(unbiased(synthetic, epsilon))
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
    outweighed = mallows.debiased_borda(synthetic, np.append(900.0, np.full(users - 1, 1e-9)))
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


def kernel64(num_items: int, epsilon: float) -> np.ndarray:
    with jax.enable_x64(True):
        return np.asarray(mallows.debiasing_kernel(num_items, jnp.float64(epsilon)))


@pytest.mark.parametrize(("num_items", "q"), [thorough(2, 0.3), thorough(5, 0.5), (9, 0.9)])
def test_kernel_is_the_exact_recurrence(num_items: int, q: float) -> None:
    exact = twins.exact_kernel(num_items, Fraction(q))
    epsilon = -math.log(q) * (num_items - 1)
    np.testing.assert_allclose(
        kernel64(num_items, epsilon), np.array(exact, float), rtol=1e-12, atol=1e-13
    )
    single = np.asarray(mallows.debiasing_kernel(num_items, jnp.float32(epsilon)))
    assert single.dtype == np.float32
    size = np.abs(np.array(exact, float)).max()
    np.testing.assert_allclose(single, np.array(exact, float), atol=2e-6 * size)


def test_printed_values() -> None:
    q = 0.6
    assert kernel64(2, -math.log(q))[0, 1] == pytest.approx((1 + q) / (1 - q), rel=1e-13)
    three = kernel64(3, -2 * math.log(q))
    assert three[0, 2] == pytest.approx((1 - q**3) / (1 + q**3), rel=1e-13)
    near = (1 + q**2) * (1 + q + q**2) / ((1 - q) * (1 + q**3))
    assert three[0, 1] == pytest.approx(near, rel=1e-13) == three[1, 2]
    variances = [
        float(mean_square(mallows.debiasing_kernel(5, epsilon), 5)) - 1
        for epsilon in (1.0, 2.0, 4.0, 8.0)
    ]
    assert variances == pytest.approx([171.8, 29.2, 3.4, 0.37], rel=0.02)


def test_mean_is_the_sign_and_variance_the_mean_square_for_more_items() -> None:
    m, epsilon = 9, 4.0
    law = twins.inserted_pairs(m, math.exp(-epsilon / (m - 1)))
    kernel = kernel64(m, epsilon)
    pairs = list(itertools.combinations(range(m), 2))
    means = [np.sum(law[:, :, c, d] * kernel) for c, d in pairs]
    np.testing.assert_allclose(means, 1, atol=1e-11)
    squares = [np.sum(law[:, :, c, d] * kernel**2) for c, d in pairs]
    with jax.enable_x64(True):
        variance = float(mean_square(mallows.debiasing_kernel(m, jnp.float64(epsilon)), m)) - 1
    assert variance == pytest.approx(np.mean(squares) - 1, rel=1e-11)


def test_row_sums_are_the_unbiased_ranks() -> None:
    m, epsilon = 12, 5.0
    with jax.enable_x64(True):
        ranks = np.asarray(mallows.unbiased_ranks(jnp.arange(m), jnp.float64(epsilon)))
    np.testing.assert_allclose(kernel64(m, epsilon).sum(axis=1), m - 1 - 2 * ranks, atol=1e-10)


def test_symmetries_and_limits() -> None:
    kernel = kernel64(8, 3.0)
    np.testing.assert_array_equal(kernel, -kernel.T)
    np.testing.assert_allclose(kernel, kernel[::-1, ::-1].T, rtol=1e-12)
    signs = np.sign(np.arange(8)[None] - np.arange(8)[:, None])
    np.testing.assert_array_equal(mallows.debiasing_kernel(8, math.inf), signs)
    np.testing.assert_allclose(mallows.debiasing_kernel(8, 1000.0), signs, atol=1e-6)
    assert mallows.debiasing_kernel(1, 1.0).tolist() == [[0.0]]


def test_what_rounding_has_spoilt_is_nan_where_traced() -> None:
    assert np.all(np.isfinite(kernel64(8, 0.01)))
    assert np.isnan(jax.jit(lambda e: mallows.debiasing_kernel(8, e))(jnp.float32(0.01))).any()


def test_the_mean_is_the_users_own_rank():
    """Over all draws around two rankings of five items, at three ε."""
    unbiased = jax.jit(jax.vmap(mallows.unbiased_ranks, in_axes=(0, None)))
    for center, epsilon in itertools.product(([0, 1, 2, 3, 4], [2, 4, 0, 3, 1]), (0.03, 2.0, 40.0)):
        rankings, mass = naive.pmf(center, epsilon)
        np.testing.assert_allclose(mass @ unbiased(rankings, epsilon), center, rtol=0, atol=1e-9)


def test_limits_and_missing_items():
    np.testing.assert_allclose(mallows.unbiased_ranks([2, 0, 1], jnp.inf), [2, 0, 1])
    part = mallows.unbiased_ranks([2, -1, 0, 1, -7], 3.0)
    part, three = np.asarray(part), mallows.unbiased_ranks([2, 0, 1], 3.0)
    np.testing.assert_allclose(part[[0, 2, 3]], three)
    assert np.isnan(part[[1, 4]]).all()
    assert mallows.unbiased_ranks([0], 0.1).tolist() == [0.0]
    assert mallows.unbiased_ranks([1, 0], jnp.float32(1)).dtype == jnp.float32
    assert mallows.unbiased_ranks(np.uint8([1, 0]), 9.0)[0] > 0.9  # -1 is not an unsigned number
    wide = mallows.unbiased_ranks(np.arange(1000), jnp.float32(1e-3))
    wide = np.asarray(wide)
    np.testing.assert_allclose(wide + wide[::-1], 999.0, atol=40)  # of values up to 7e6


def test_scale_is_two_places_for_every_other_item(key):
    """Mean |noise| is the scale and its standard deviation too: within five standard errors, for users of two sizes."""
    centers = np.array([[2, 0, 1, 3], [1, -1, -1, 0]])
    epsilon = np.array([3.0, 0.5])
    keys = jax.random.split(key, (5000, 2))
    draw = jax.jit(jax.vmap(jax.vmap(laplace_ranks), (0, None, None)))
    size = np.abs(np.asarray(draw(keys, centers, epsilon)) - centers)
    for user, scale in enumerate((2 * 3 / 3.0, 2 * 1 / 0.5)):
        mine = size[:, user][:, centers[user] >= 0]
        assert abs(mine.mean() - scale) < 5 * scale / np.sqrt(mine.size)
        assert abs((mine**2).mean() - 2 * scale**2) < 5 * np.sqrt(20 / mine.size) * scale**2
    assert np.isnan(size[:, 1, 1:3]).all()
