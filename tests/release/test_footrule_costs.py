"""Exact footrule costs: what one user changes on integers, the law of the noise, and its budget in fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import jax
import numpy as np
import pytest

from privrank_jax.aggregation import PositionHistograms
from privrank_jax.aggregation.footrule import footrule_costs
from privrank_jax.aggregation.private_footrule import dp_footrule_deviation
from privrank_jax.privacy.gaussian import gaussian_budget
from privrank_jax.privacy.noise import SHAPED_NOISES
from privrank_jax.release.footrule_costs import CHANGE, deviation, exact_footrule
from tests.exact.laws import assert_mean
from tests.promises import user
from tests.reference import footrule as reference

RANKS = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [0, 1, -1], [0, 0, 1]])
DRAWS = 400


def promised(noise, epsilon=1.0):
    return user(epsilon, 1e-5 if noise == "gaussian" else 0.0)


@pytest.mark.parametrize("items", [2, 3, 4])
def test_one_user_changes_integers_by_at_most_what_is_stated(items):
    """All pairs of users, ties and gaps under both rules, on four times the prefix counts."""
    rows = reference.weak_orders(items, gaps=True)
    values = [
        np.cumsum(reference.histograms([row], rule), axis=1)[:, :-1].ravel()
        for row in rows
        for rule in ("last", "unknown")
    ]
    values = np.array(values, np.int64)
    moved = values[:, None] - values
    assert np.abs(moved).max() == CHANGE
    assert np.abs(moved).sum(-1).max() == CHANGE * (items**2 // 2)
    square = (moved**2).sum(-1).max()
    assert square == CHANGE**2 * (items**2 // 2)
    budget = gaussian_budget(0.7, 1e-6)
    spent = Fraction(int(square)) / deviation(items, budget) ** 2
    assert budget**2 * (1 - Fraction(1, 10**9)) < spent <= budget**2


@pytest.mark.parametrize("noise", SHAPED_NOISES)
def test_noise_has_the_deviation_of_the_simulated_twin(noise):
    items = 7
    ranks = np.random.default_rng(2).integers(-1, items, (5, items))
    histograms = PositionHistograms.from_ranks(ranks, missing="unknown")
    costs = reference.costs(ranks, "unknown")
    wanted = float(dp_footrule_deviation(items, 5, promised(noise), noise=noise))
    squares = []
    for _ in range(DRAWS):
        found = exact_footrule(histograms, promised(noise), noise=noise)
        assert found.diagnostics.cost_deviation == pytest.approx(wanted, rel=1e-5)
        error = found.value - costs
        squares.append(np.mean((error - error.mean(1, keepdims=True)) ** 2))
    # The lattice changes the variance a little.
    assert_mean(np.array(squares) / wanted**2, 1, 1.05 * np.std(squares) / wanted**2)


@pytest.mark.parametrize("noise", SHAPED_NOISES)
def test_values_and_guarantee(noise):
    for missing in ("last", "unknown"):
        histograms = PositionHistograms.from_ranks(RANKS, missing=missing)
        for data in (RANKS, histograms):
            found = exact_footrule(data, promised(noise, 1e5), noise=noise, missing=missing)
            np.testing.assert_allclose(found.value, footrule_costs(histograms), atol=1e-3)
    rough = exact_footrule(RANKS, promised(noise), noise=noise)
    assert rough.value.dtype == np.float64
    kept: Any = rough.guarantee
    assert kept.numerics == "exact"
    assert (kept.epsilon, kept.delta) == (1.0, promised(noise).delta)


def test_refusals():
    refused: list[dict[str, Any]] = [
        {"noise": "tree"},
        {"noise": "gaussian"},
        {"missing": "first"},
    ]
    for wrong in refused:
        with pytest.raises(ValueError, match=next(iter(wrong))):
            exact_footrule(RANKS, user(1.0), **wrong)
    with pytest.raises(ValueError, match="epsilon"):
        exact_footrule(RANKS, user(math.inf))
    for noise in ("k-norm", "laplace"):
        with pytest.raises(ValueError, match="epsilon"):
            exact_footrule(RANKS, user(1e-300), noise=noise)
    with pytest.raises(ValueError, match="fewer than 2"):
        exact_footrule([[0], [0]], user(1.0))
    good = PositionHistograms.from_ranks(RANKS)
    with pytest.raises(ValueError, match="not the histograms"):
        exact_footrule(PositionHistograms(good.counts, 7), user(1.0))
    with pytest.raises(ValueError, match="traced"):
        jax.jit(lambda one: exact_footrule(one, user(1.0)).value)(good)
