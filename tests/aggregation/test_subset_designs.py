"""Types and designs of subset selection against enumeration, and their errors against what others need."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from privrank_jax.aggregation.subset_designs import designs
from privrank_jax.privacy.vectors import report_norm
from tests.reference import local_reports as naive

naive_type = functools.cache(naive.share_and_mean)


def types_of(table, row):
    """(k, l, t, v) and q of the types of one design."""
    columns = (table.ahead, table.behind, table.threshold, table.weight, table.share)
    return [tuple(column[row, i].item() for column in columns) for i in range(table.share.shape[1])]


@pytest.mark.parametrize("items", [2, 3, 4, 5])
def test_each_design_is_unbiased_with_the_shares_counted(items):
    table = designs(items)
    scores = tuple(range(items))
    for row in range(len(table.share)):
        total = np.zeros(items)
        for ahead, behind, threshold, weight, share in types_of(table, row):
            counted, mean = naive_type(scores, ahead, behind, threshold)
            assert share == pytest.approx(counted)
            total += weight * mean
        np.testing.assert_allclose(total, naive.centered(items), atol=1e-12)


@pytest.mark.parametrize("epsilon", [0.3, 1.1, 2.3, 5.0])
def test_designs_are_nearly_the_best_of_all(epsilon):
    """Against a linear program over all types of 4 items by enumeration."""
    items, costs, means = 4, [], []
    for ahead in range(1, items):
        for behind in range(1, items - ahead + 1):
            for threshold in range(1 - 2 * items, 2 * items + 1):
                share, _ = _reached(ahead, behind, threshold)
                if not 0 < share < 1:
                    continue
                share, mean = naive_type(tuple(range(items)), ahead, behind, threshold)
                strength = share * (1 - math.exp(-epsilon))
                strength /= math.exp(-epsilon) + strength
                costs.append(math.sqrt(1 / ahead + 1 / behind) / strength)
                means.append(mean)
    means = np.array(means).T
    best = linprog(np.tile(costs, 2), A_eq=np.hstack([means, -means]), b_eq=naive.centered(items))
    norm = designs(items).costs(epsilon).sum(axis=1).min()
    assert best.fun <= norm * (1 + 1e-9) <= 1.01 * best.fun


def _reached(ahead, behind, threshold):
    leads = [naive.lead(range(4), *pair) for pair in naive.set_pairs(4, ahead, behind)]
    return np.mean(np.array(leads) >= threshold), leads


@pytest.mark.parametrize(("items", "epsilon"), [(3, 0.5), (3, 1.0), (3, 4.0), (4, 0.5), (4, 2.0)])
def test_the_error_is_near_the_least_of_any_mechanism(items, epsilon):
    low, high = naive.least_square(items, epsilon, number=5)
    square = designs(items).costs(epsilon).sum(axis=1).min() ** 2
    size = naive.centered(items) @ naive.centered(items)
    assert high == pytest.approx(low, rel=1e-3)
    assert low * (1 - 1e-9) <= square
    excess = (square - size) / (low - size)
    assert excess < (1.04 if (items, epsilon) == (4, 2.0) else 1 + 1e-6)
    assert square <= naive.one_pair_square(items, epsilon) * (1 + 1e-9)
    if epsilon == 0.5:
        assert square == pytest.approx(naive.one_pair_square(items, epsilon))


@pytest.mark.parametrize("items", [3, 4, 7, 10])
def test_the_error_is_below_that_of_privunit(items):
    radius = np.linalg.norm(naive.centered(items))
    for epsilon in (0.5, 1.0, 2.0, 3.0, 4.0, 5.0):
        norm = designs(items).costs(epsilon).sum(axis=1).min()
        assert norm < float(report_norm("privunit", items - 1, epsilon, radius))
