from __future__ import annotations

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from privrank_jax.aggregation import bounded_program as module
from privrank_jax.aggregation.bounded_program import bounded_program, integer_prices
from privrank_jax.aggregation.dynamic_program import exact_kemeny
from privrank_jax.aggregation.iterated_search import BestOrder
from tests.reference import aggregation as reference

pytestmark = pytest.mark.usefixtures("optimized_bounds")


@pytest.fixture
def without_search(monkeypatch):
    """Only the start, which may be poor, and what the states suggest: the proof has more to do."""
    monkeypatch.setattr(BestOrder, "search", lambda self, deadline: None)
    monkeypatch.setattr(module, "descend_orders", lambda prices, orders: orders)


def score(w: np.ndarray, value: float, unit: float) -> float:
    return (w + w.T)[np.triu_indices(len(w), 1)].sum() / 2 + value * unit / 2


@pytest.mark.parametrize("kind", reference.KINDS)
@pytest.mark.parametrize("items", [3, 7, 12])
def test_optimal_from_the_worst_start(kind, items, without_search):
    layers = reference.subset_layers(items)
    for w in reference.tournaments(kind, 4, items, seed=5):
        prices, unit = integer_prices(w)
        least, order = reference.subset_program_by_layers(w, layers)
        found = bounded_program(prices, np.array(order[::-1]))
        assert found.bound == found.value == reference.price_of_order(prices, found.order)
        assert score(w, found.value, unit) == pytest.approx(least, rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("kind", ["majority", "uniform"])
def test_optimal_with_18_items_and_many_states(kind, without_search):
    w = reference.tournaments(kind, 1, 18, seed=2)[0]
    prices, _ = integer_prices(w)
    best = np.argsort(np.asarray(exact_kemeny(w)))
    found = bounded_program(prices, best[::-1])
    assert found.bound == found.value
    if kind == "majority":  # whose integers float32 holds
        assert found.value == reference.price_of_order(prices, best)
        assert found.states > 20
    assert found.value <= reference.price_of_order(prices, best)


@pytest.mark.parametrize("batches", [0, 3])
def test_when_time_is_up_the_bound_is_honest(batches, without_search, monkeypatch):
    """The optimum of 18 items lies between the bound and the value, wherever the search stops."""
    clock = itertools.count(1)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    for w in reference.tournaments("majority", 2, 18, seed=6):
        prices, _ = integer_prices(w)
        least = reference.price_of_order(prices, np.argsort(np.asarray(exact_kemeny(w))))
        found = bounded_program(prices, np.arange(18), batches)
        assert -np.abs(prices).sum() // 2 <= found.bound <= least <= found.value
        assert (found.value - found.bound) % 2 == 0


def test_when_memory_is_full_the_bound_is_honest(monkeypatch, without_search):
    w = reference.tournaments("majority", 1, 18, seed=2)[0]
    prices, _ = integer_prices(w)
    whole = bounded_program(prices, np.arange(18))
    monkeypatch.setattr(module, "_BYTES", 2**14)
    least = reference.price_of_order(prices, np.argsort(np.asarray(exact_kemeny(w))))
    found = bounded_program(prices, np.arange(18))
    assert found.bound <= least <= found.value
    assert found.states < whole.states


def test_blocks_that_gain_at_the_end():
    rng = np.random.default_rng(0)
    prices = integer_prices(reference.tournaments("votes", 1, 8)[0])[0]
    padded = np.zeros((9, 9))
    padded[:8, :8] = prices
    seen = set()
    for _ in range(60):
        order = rng.permutation(8)
        prefix, rest = order[:4], order[4:]
        start = reference.price_of_order(prices, order)
        gains = False
        for low, high in itertools.combinations(range(5), 2):
            moved = [*prefix[:low], *prefix[high:], *rest, *prefix[low:high]]
            gains |= reference.price_of_order(prices, moved) < start
        layer = module._Layer(
            prefix[None], np.append(rest, 8)[None], np.zeros(1), np.zeros(1), np.zeros((1, 0)), np.zeros((1, 0))
        )  # fmt: skip
        assert module._block_gains(layer, padded).tolist() == [gains]
        seen.add(gains)
    assert seen == {False, True}


def test_prices_of_shares_are_the_counts_they_come_from():
    ranks = np.argsort(np.random.default_rng(0).random((35, 6)), axis=1)
    count = (ranks[:, :, None] < ranks[:, None]).sum(0)
    prices, unit = integer_prices(count / 35)
    common = np.gcd.reduce((count.T - count).ravel())
    np.testing.assert_array_equal(prices, (count.T - count) // common)
    assert unit == pytest.approx(common / 35)


def test_prices_of_other_weights_are_rounded_in_the_48th_bit():
    w = reference.tournaments("uniform", 1, 9)[0]
    prices, unit = integer_prices(w)
    assert math.frexp(unit)[0] == 0.5  # a power of two
    assert 2**44 < np.abs(prices).sum() / 2 <= 2**46 + 36
    lead = [[Fraction(w[j, i] - w[i, j]) for j in range(9)] for i in range(9)]
    for i, j in itertools.product(range(9), repeat=2):
        assert abs(lead[i][j] - int(prices[i, j]) * Fraction(unit)) <= Fraction(unit) / 2
    np.testing.assert_array_equal(prices, -prices.T)


@pytest.mark.parametrize("items", [1, 2, 3])
def test_few_items_and_ties(items):
    prices, unit = integer_prices(np.full((items, items), 0.5))
    found = bounded_program(prices, np.arange(items))
    assert (found.order.tolist(), found.value, found.bound) == (list(range(items)), 0, 0)
    assert (unit, prices.any()) == (1.0, False)
    upper = np.triu(np.ones((items, items)), 1)
    found = bounded_program(integer_prices(upper)[0], np.arange(items)[::-1])
    assert found.order.tolist() == list(range(items))
    assert found.value == found.bound == -items * (items - 1) // 2
