"""Minimax rates and thresholds."""

from __future__ import annotations

import math

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise import theory
from tests import reference

CASES = [(50, 0.3, 0.5), (300, 1.0, 2.5), (700, 0.05, 0.1)]


@pytest.mark.parametrize(("m", "p", "epsilon"), CASES)
def test_edge_rates_are_the_printed_formulas(m, p, epsilon):
    statistical = math.sqrt(math.log(m) / (m * p))
    private = math.log(m) / (m * p * epsilon)
    assert float(theory.edge_rate(m, p, epsilon)) == pytest.approx(statistical + private, rel=1e-12)
    lower = float(theory.edge_lower_bound(m, p, epsilon))
    assert lower == pytest.approx(statistical + 1 / (m * p * epsilon), rel=1e-12)
    threshold = theory.top_k_threshold(m, epsilon, probability=p)
    assert float(threshold) == pytest.approx(statistical + private, rel=1e-12)


@pytest.mark.parametrize(("m", "n", "epsilon"), [(16, 1000, 0.5), (100, 50, 3.0)])
def test_user_rates_are_the_printed_formulas(m, n, epsilon):
    statistical = math.sqrt(m * math.log(m) / n)
    private = m * math.log(m) / (n * epsilon)
    assert float(theory.user_rate(m, n, epsilon)) == pytest.approx(statistical + private, rel=1e-12)
    threshold = theory.top_k_threshold(m, epsilon, num_users=n)
    assert float(threshold) == pytest.approx(statistical + private, rel=1e-12)


@pytest.mark.parametrize("link", ["logistic", "normal", "laplace"])
def test_average_win_probability_is_the_mean_over_opponents(link):
    scores = np.array([1.0, 0.2, -0.4, -0.8])
    expected = [np.mean([reference.link(link, a - b)[0] for b in scores]) for a in scores]
    np.testing.assert_allclose(theory.average_win_probability(scores, link), expected, rtol=1e-12)


def test_gap_with_tolerance_skips_that_many_items_on_either_side():
    average_wins = jnp.array([0.30, 0.70, 0.55, 0.50, 0.10, 0.45])
    assert float(theory.top_k_gap(average_wins, 3)) == pytest.approx(0.50 - 0.45)
    assert float(theory.top_k_gap(average_wins, 3, 1)) == pytest.approx(0.55 - 0.30)
    assert float(theory.top_k_gap(average_wins, 3, 2)) == pytest.approx(0.70 - 0.10)
    for k, tolerance in ((0, 0), (6, 0), (3, 3), (1, 1), (3, -1)):
        with pytest.raises(ValueError, match="must lie in"):
            theory.top_k_gap(average_wins, k, tolerance)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: theory.edge_rate(1, 0.5, 1.0), "num_items must be at least 2"),
        (lambda: theory.edge_rate(10, 0.0, 1.0), "probability must be positive"),
        (lambda: theory.edge_rate(10, 1.5, 1.0), "at most 1"),
        (lambda: theory.edge_rate(10, 0.5, 0.0), "epsilon must be positive"),
        (lambda: theory.user_rate(10, 0, 1.0), "num_users must be positive"),
        (lambda: theory.top_k_threshold(10, 1.0), "exactly one"),
        (lambda: theory.top_k_threshold(10, 1.0, probability=0.5, num_users=5), "exactly one"),
    ],
)
def test_refusals_explain_themselves(call, message):
    with pytest.raises(ValueError, match=message):
        call()
