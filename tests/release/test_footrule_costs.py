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
from privrank_jax.aggregation.footrule_levels import footrule_levels
from privrank_jax.aggregation.private_footrule import dp_footrule_deviation
from privrank_jax.release import footrule_costs as exact_costs
from privrank_jax.release.footrule_costs import CHANGE, deviation, exact_footrule
from privrank_jax.release.gaussian_budget import gaussian_budget
from tests.promises import user
from tests.reference import footrule as reference
from tests.release.laws import assert_mean

RANKS = np.array([[0, 1, 2], [0, 2, 1], [1, 0, 2], [0, 1, -1], [0, 0, 1]])
NOISES = ("tree", "k-norm", "gaussian")
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
    square = (moved**2).sum(-1).max()
    assert square == CHANGE**2 * (items**2 // 2)
    budget = gaussian_budget(0.7, 1e-6)
    spent = Fraction(int(square)) / deviation(items, budget) ** 2
    assert budget**2 * (1 - Fraction(1, 10**9)) < spent <= budget**2


def releases_of_levels(monkeypatch, ranks, missing):
    """Mechanisms that a release builds for its levels, with the integers that they receive, and the costs; no noise."""
    built: list[dict[str, Any]] = []

    def without_noise(rows, sizes, change, epsilon):
        def add_noise(values):
            values = np.asarray(values)
            assert values.dtype == np.int64
            built.append({"shape": (rows, sizes), "c": change, "eps": epsilon, "T": values})
            return values.astype(float)

        return add_noise, 1.0

    monkeypatch.setattr(exact_costs, "discrete_blocks", without_noise)
    return exact_footrule(ranks, user(0.7), missing=missing).value, built


@pytest.mark.parametrize("items", [5, 7, 9, 30])
def test_levels_of_a_tree_share_epsilon_and_hold_all_changes(monkeypatch, items):
    """Shares add up to ε as fractions; users with ties and gaps stay within c, and a reversal reaches c everywhere."""
    rng = np.random.default_rng(items)
    rows = rng.integers(-1, items, (40, items))
    rows[:2] = np.arange(items), np.arange(items)[::-1]
    levels = footrule_levels(items)
    assert len(levels) == (1 if items == 5 else 2)
    for missing in ("last", "unknown"):
        found = [releases_of_levels(monkeypatch, row[None], missing)[1] for row in rows]
        for place, level in enumerate(levels):
            first = found[0][place]
            rows_, sizes = first["shape"]
            assert (rows_, sizes) == (items, tuple(np.bincount(level.nodes).tolist()))
            values = np.array([one[place]["T"] for one in found]).reshape(len(rows), items, -1)
            moved = np.abs(values[:, None] - values)
            blocks = np.maximum.reduceat(moved, np.cumsum([0, *sizes[:-1]]), axis=-1)
            gauges = blocks.sum(-1).max(-1)
            assert gauges.max() == gauges[0, 1] == first["c"]
        assert sum(level["eps"] for level in found[0]) == Fraction(0.7)


@pytest.mark.parametrize("items", [2, 5, 7, 20, 50])
@pytest.mark.parametrize("missing", ["last", "unknown"])
def test_counts_of_a_tree_determine_the_costs(monkeypatch, items, missing):
    ranks = np.random.default_rng(0).integers(-1, items, (11, items))
    found, _ = releases_of_levels(monkeypatch, ranks, missing)
    np.testing.assert_allclose(found, reference.costs(ranks, missing), atol=1e-9)


@pytest.mark.parametrize("noise", NOISES)
def test_noise_has_the_deviation_of_the_simulated_twin(noise):
    items = 7  # whose tree has two levels
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


@pytest.mark.parametrize("noise", NOISES)
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
        {"noise": "laplace"},
        {"noise": "gaussian"},
        {"missing": "first"},
    ]
    for wrong in refused:
        with pytest.raises(ValueError, match=next(iter(wrong))):
            exact_footrule(RANKS, user(1.0), **wrong)
    with pytest.raises(ValueError, match="epsilon"):
        exact_footrule(RANKS, user(math.inf))
    with pytest.raises(ValueError, match="fewer than 2"):
        exact_footrule([[0], [0]], user(1.0))
    good = PositionHistograms.from_ranks(RANKS)
    with pytest.raises(ValueError, match="not the histograms"):
        exact_footrule(PositionHistograms(good.counts, 7), user(1.0))
    with pytest.raises(ValueError, match="traced"):
        jax.jit(lambda one: exact_footrule(one, user(1.0)).value)(good)
