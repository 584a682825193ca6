"""The best items by exact one-shot noise: scales, the law of the list, its proven epsilon, refusals."""

from __future__ import annotations

import functools
import math

import jax
import numpy as np
import pytest
from scipy import stats

from privrank_jax.comparisons import WinCounts
from privrank_jax.exact import integer_noise
from privrank_jax.pairwise import one_shot_top_k
from privrank_jax.pairwise.whole_counts import doubled_totals
from privrank_jax.release import exact_top_k
from tests.exact.laws import laplace_pmf
from tests.promises import promise


@pytest.mark.parametrize(
    ("adjacency", "k", "total", "scale"),
    [
        ("replace", 1, 24.0, 10.0),  # 2ks/ε with s = 5
        ("replace", 3, 24.0, 24.0),  # never above the noise of all totals
        ("add-remove", 1, 15.0, 10.0),  # numbers may move in both directions
        ("add-remove", 4, 15.0, 15.0),
    ],
)
def test_top_k_takes_the_smaller_of_both_scales(adjacency, k, total, scale):
    estimate = exact_top_k(
        np.array([900.0, 0.0, 700.0, 300.5]),
        promise(1.0, adjacency=adjacency),
        k,
        sensitivity=5.0,
        total_sensitivity=total,
    )
    assert estimate.diagnostics.noise_scale == pytest.approx(scale)
    # Gaps of 199.5 and more against Laplace noise of scale 24: another order has probability below 2e-3.
    assert estimate.value.tolist() == [0, 2, 3, 1][:k]
    assert estimate.guarantee.adjacency == adjacency


def test_win_counts_of_who_comes_or_goes_move_in_one_direction():
    wins, asked = WinCounts.from_matrix([[0, 900], [0, 0]]), promise(1.0, adjacency="add-remove")
    for k, scale in ((1, 5.0), (2, 10.0)):
        found = exact_top_k(wins, asked, k, sensitivity=5.0, total_sensitivity=15.0)
        assert found.diagnostics.noise_scale == scale


@pytest.mark.parametrize("adjacency", ["flip", "replace"])
def test_top_one_for_users_of_three_comparisons_has_the_noise_of_three(adjacency):
    asked = promise(0.5, unit="user", adjacency=adjacency, contributions=3)
    estimate = exact_top_k(np.array([900.0, 0.0, 700.0]), asked, 1)
    assert estimate.diagnostics.noise_scale == pytest.approx(2 * 3 / 0.5)


def discrete_top_one(totals, scale):
    """P(item 0 is selected) of two items by direct summation, ties to item 0; noise on the halves."""
    grid = np.arange(-2000, 2001)
    pmf = laplace_pmf(grid, 2 * scale)
    gap = round(2 * (totals[1] - totals[0]))
    upper = np.cumsum(pmf[::-1])[::-1]  # P(g_0 >= x)
    index = np.clip(grid + gap + 2000, 0, 4000)
    return float(np.sum(pmf * upper[index]))


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_top_one_of_two_items_has_the_privacy_that_is_claimed(epsilon):
    # One replaced comparison, s = 1, k = 1: λ = 2/ε; neighbors of all kinds, both outcomes. The loss nears ε as
    # 1 - λ/gap only, hence 0.9.
    scale, worst = 2 / epsilon, 0.0
    for first in range(-30, 61, 5):
        base = discrete_top_one((0.0, first), scale)
        for low in (-1, -0.5, 0, 0.5, 1):
            for high in (-1, -0.5, 0, 0.5, 1):
                other = discrete_top_one((low, first + high), scale)
                worst = max(worst, abs(math.log(base / other)))
                worst = max(worst, abs(math.log((1 - base) / (1 - other))))
    assert 0.9 * epsilon < worst <= epsilon * (1 + 1e-9)


def test_lists_have_the_law_of_the_simulation(key, monkeypatch):
    """2,000 lists against 20,000 by χ², false-alarm rate 1e-6; half of the noise is rejected."""
    mechanism = functools.cache(integer_noise.discrete_laplace)
    monkeypatch.setattr(integer_noise, "discrete_laplace", mechanism)
    totals = np.array([80.0, 60.0, 50.0, 0.0])
    exact = [
        exact_top_k(totals, promise(1.0), 2, sensitivity=10.0, total_sensitivity=40.0).value
        for _ in range(2000)
    ]

    def p_value(epsilon):
        run = jax.vmap(
            lambda k: one_shot_top_k(k, totals, promise(epsilon), 2, sensitivity=10.0).value
        )
        lists = exact, run(jax.random.split(key, 20_000))
        counts = [np.bincount(np.asarray(one) @ [4, 1], minlength=16) for one in lists]
        return stats.chi2_contingency(np.stack(counts)[:, np.sum(counts, axis=0) > 0]).pvalue

    assert p_value(1.0) > 1e-6
    assert p_value(2.0) < 1e-6


def test_top_k_out_of_range():
    with pytest.raises(ValueError, match="k must be an integer from 1 to m = 2"):
        exact_top_k([1.0, 2.0], promise(1.0), 3, sensitivity=1, total_sensitivity=2)


@pytest.mark.parametrize(
    ("totals", "words"),
    [
        ([0.25, 1.0], "multiples of 1/2"),
        ([math.nan], "multiples of 1/2"),
        ([2.0**60], "float64 holds none beyond"),
        ([2**60], "int64 holds none beyond"),
        (np.float32([2.0**23 + 1]), "float32 holds none beyond"),
        (WinCounts.from_matrix(np.float32([[0, 2**23 + 1], [0, 0]])), "float32 holds none"),
        ([math.inf], "holds none beyond"),
        ([], "shape"),
        ([[1.0, 2.0]], "shape"),
    ],
)
def test_totals_that_are_not_exact_are_refused(totals, words):
    with pytest.raises(ValueError, match=words):
        doubled_totals(totals)
    with pytest.raises(ValueError, match=words):
        exact_top_k(totals, promise(1.0), 1)
