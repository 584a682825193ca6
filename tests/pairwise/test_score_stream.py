"""Wins, losses and pair counts over time: what they hold, the law of their noise, and scores fitted to them."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from scipy.special import expit

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.continual import (
    ContinualDiagnostics,
    fit_all_sums,
    fit_score_sums,
    product_design,
    score_sums,
    shrunk_design,
)

fitted, summed = jax.jit(fit_score_sums, static_argnums=1), jax.jit(score_sums)
STEPS, ITEMS = 4, 3
STREAM = np.random.default_rng(0).integers(0, 9, (STEPS, ITEMS, ITEMS)) * (1.0 - np.eye(ITEMS))


def crowd(near, items=8, total=4e7):
    """Expected counts of items that are shown ∝ 1/rank, of opponents at random or near in strength, and true scores."""
    theta = np.random.default_rng(1).normal(size=items)
    shown = 1 / np.random.default_rng(2).permutation(np.arange(1, items + 1))
    met = np.outer(shown, shown)
    if near:
        met *= np.exp(-((theta[:, None] - theta) ** 2) / 0.5)
    np.fill_diagonal(met, 0)
    met *= total / met.sum()
    return met * expit(theta[:, None] - theta), theta - theta.mean()


@pytest.mark.parametrize("near", [False, True])
def test_scores_are_those_of_the_crowd_where_noise_is_little(near):
    matrix, theta = crowd(near)
    with jax.enable_x64(True):
        sums = np.asarray(summed(WinCounts.from_matrix(matrix)))
        found = fitted(sums, len(theta), 1e-3, 1e-3)
        # Pairs that hardly ever meet are held at a twentieth of the product design.
        np.testing.assert_allclose(found, theta, atol=0.12 if near else 0.02)
        hidden = fitted(sums, len(theta), 1e-3, 1e9)  # pair counts tell nothing
        assert np.abs(hidden - theta).max() > (0.2 if near else 0.0)
        assert np.all(np.isfinite(fitted(-sums, len(theta), 1.0, 1.0)))
        wins = np.argsort(matrix.sum(1))
        assert list(wins) != list(np.argsort(theta))  # exposure rules the win totals


def test_designs():
    seen = np.array([9.0, 5.0, 7.0, 3.0])
    with jax.enable_x64(True):
        usual = np.asarray(jax.jit(product_design)(seen))
    np.testing.assert_allclose(usual.sum(1), seen, rtol=1e-9)
    outer = usual / (usual[0][:, None] * usual[0] + 1e-300)
    assert np.ptp(outer[1:, 1:][~np.eye(3, dtype=bool)]) < 1e-9  # a product, off its diagonal
    moved = jax.jit(shrunk_design)(usual, -1e3 * usual, 1e-9)
    np.testing.assert_allclose(moved, 0.05 * usual, rtol=1e-5)


def test_steps_are_fitted_one_by_one():
    sums = np.cumsum(summed(WinCounts.from_matrix(STREAM)), axis=0)
    told = ContinualDiagnostics(1.0, np.arange(1.0, 5), 1.0, np.arange(2.0, 6))
    found = fit_all_sums(sums, ITEMS, told, 2.0)
    for step in range(STEPS):
        expected = fitted(sums[step], ITEMS, step + 1.0, step + 2.0, 2.0)
        np.testing.assert_allclose(found[step], expected, atol=1e-6)
