"""Composition by privacy loss distributions, against sums over all outcomes."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

from privrank_jax.privacy.loss_distribution import Budget, delta_at, epsilon_at


def exact_delta(epsilon, pure):
    """δ at ε of independent bits with odds e^±ε_i: the sum over all outcomes."""
    total = 0.0
    for signs in itertools.product((1, -1), repeat=len(pure)):
        p = math.prod(1 / (1 + math.exp(-s * float(e))) for s, e in zip(signs, pure))
        q = math.prod(1 / (1 + math.exp(s * float(e))) for s, e in zip(signs, pure))
        total += max(0.0, p - math.exp(epsilon) * q)
    return total


@pytest.mark.parametrize(
    "pure", [[Fraction(1, 2)] * 4, [Fraction(1, 10), Fraction(3, 10), Fraction(1)]]
)
def test_pure_releases_compose_to_the_sum_over_all_outcomes(pure):
    budgets = [Budget(epsilon) for epsilon in pure]
    for target in (Fraction(1, 4), Fraction(1)):
        exact = exact_delta(float(target), pure)
        found = delta_at(budgets, target)
        assert exact <= found <= exact * 1.001 + 1e-11
    delta = Fraction(1, 100)
    least = epsilon_at(budgets, delta)
    assert exact_delta(least, pure) <= float(delta)
    assert exact_delta(least * 0.99, pure) > float(delta) * 0.999


def test_the_ends():
    budgets = [Budget(Fraction(1), Fraction(1, 10))]
    assert epsilon_at(budgets, Fraction(0)) == math.inf
    assert epsilon_at(budgets, Fraction(1, 10)) == 1.0
    assert delta_at(budgets, Fraction(1)) == pytest.approx(0.1)
    assert epsilon_at([], Fraction(0)) == 0.0
