"""Weighted, debiased sums of reports, against loops over reports."""

from __future__ import annotations

import itertools
import math

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise.debiased_fit import (
    coefficients,
    debiased_sums,
    kept_pairs,
    num_items,
    total,
)
from tests.reference.local import debias, pairs_of

ITEMS, USERS = 4, 6
RNG = np.random.default_rng(8)
REPORTS = RNG.integers(0, 2, (USERS, 6))
OBSERVED = RNG.uniform(size=(USERS, 6)) < 0.7
EPSILON = np.array([0.3, 0.5, 1.0, 2.0, 4.0, 9.0])


@pytest.mark.parametrize(("weighted", "debiased"), list(itertools.product((True, False), repeat=2)))
def test_sums_are_those_of_a_loop_over_reports(weighted, debiased):
    wins, weights = np.zeros((2, ITEMS, ITEMS))
    for user, (place, (i, j)) in itertools.product(range(USERS), enumerate(pairs_of(ITEMS))):
        if not OBSERVED[user, place]:
            continue
        tanh = math.tanh(EPSILON[user] / 2)
        weight = tanh**2 if weighted else 1.0
        report = REPORTS[user, place]
        target = debias(report, EPSILON[user]) if debiased else report
        for first, second, value in ((i, j, target), (j, i, 1 - target)):
            wins[first, second] += weight * value
            weights[first, second] += weight
    found = debiased_sums(REPORTS, OBSERVED, EPSILON, weighted, debiased)
    np.testing.assert_allclose(found.weights, weights, atol=1e-12)
    np.testing.assert_allclose(found.wins, wins, atol=1e-12)
    np.testing.assert_allclose(found.margins, -found.margins.T, atol=0)


def test_sums_of_parts_are_the_whole():
    parts = [debiased_sums(REPORTS[p], OBSERVED[p], EPSILON[p]) for p in (slice(2), slice(2, None))]
    whole = debiased_sums(REPORTS, OBSERVED, EPSILON)
    np.testing.assert_allclose((parts[0] + parts[1]).wins, whole.wins, atol=1e-12)


def test_masked_items_have_no_pairs():
    mask = np.array([True, False, True, True])
    kept = np.asarray(kept_pairs(jnp.ones((1, 6), bool), mask))[0]
    assert kept.tolist() == [mask[i] and mask[j] for i, j in pairs_of(ITEMS)]
    found = debiased_sums(REPORTS, OBSERVED, EPSILON, mask=mask)
    assert not np.any(np.asarray(found.weights)[1])


def test_coefficients_of_numbers_grow_with_epsilon_to_one():
    lean, weight = coefficients(jnp.array([0.5, 2.0, 1e6]), True, True, "laplace")
    np.testing.assert_array_equal(lean, weight)
    np.testing.assert_allclose(weight, [1 / 33, 1 / 3, 1.0], rtol=1e-6)


def test_items_are_told_from_pairs_and_totals_keep_their_digits():
    assert [num_items(pairs) for pairs in (1, 3, 6, 10, 5)] == [2, 3, 4, 5, 0]
    weights, values = RNG.normal(size=100), RNG.normal(size=(100, 3))
    np.testing.assert_allclose(total(jnp.asarray(weights), jnp.asarray(values)), weights @ values)
