"""The theorem on scores with errors, on random weights."""

from __future__ import annotations

import numpy as np
import pytest

from tests.reference import borda as reference_borda


def _costs(items, upper):
    """Kemeny scores of all orders (columns: instances) from the entries w_ij, i < j."""
    all_orders = reference_borda.orders(items)
    places = np.argsort(all_orders, axis=1)
    first, second = np.triu_indices(items, 1)
    against = (places[:, first] > places[:, second]).astype(float)
    return all_orders, against @ upper + (1 - against) @ (1 - upper)


def _scores(items, upper):
    first, second = np.triu_indices(items, 1)
    w = np.zeros((items, items, upper.shape[1]))
    w[first, second], w[second, first] = upper, 1 - upper
    return w.sum(1).T


@pytest.mark.parametrize("items", [3, 5, 7])
def test_theorem_on_random_weights_and_noise(items):
    """K(σ, w) ≤ 5 OPT + 2 min_c ‖e - c‖₁ on 2,000 instances: even, nearly transitive, and one-sided weights."""
    rng = np.random.default_rng(items)
    pairs = items * (items - 1) // 2
    upper = rng.uniform(size=(pairs, 2000))
    upper[:, 500:1000] = 1 - 0.1 * upper[:, 500:1000]
    upper[:, 1000:] = upper[:, 1000:] < 0.1
    all_orders, costs = _costs(items, upper)
    scores = _scores(items, upper)
    errors = rng.laplace(size=scores.shape) * rng.uniform(0, items / 2, (2000, 1))
    order = np.argsort(-(scores + errors), axis=1, kind="stable")
    number = {tuple(row): place for place, row in enumerate(all_orders.tolist())}
    cost = np.array([costs[number[tuple(row)], i] for i, row in enumerate(order.tolist())])
    apart = np.abs(errors - np.median(errors, axis=1, keepdims=True)).sum(1)
    assert np.all(cost <= 5 * costs.min(0) + 2 * apart + 1e-9)
    assert np.any(cost > costs.min(0) + 0.5)  # here the noise increases the cost
