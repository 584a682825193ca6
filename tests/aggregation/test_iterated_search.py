from __future__ import annotations

import math

import numpy as np
import pytest

from privrank_jax.aggregation.bounded_program import integer_prices
from privrank_jax.aggregation.iterated_search import BestOrder, descend_orders, order_values
from tests.reference import aggregation as reference


@pytest.mark.parametrize("kind", reference.KINDS)
def test_no_insertion_improves_and_values_are_those_of_the_orders(kind):
    rng = np.random.default_rng(2)
    for w in reference.tournaments(kind, 5, 8):
        prices = integer_prices(w)[0]
        starts = rng.permuted(np.tile(np.arange(8), (6, 1)), axis=1)
        found = descend_orders(prices, starts)
        for start, order, value in zip(starts, found, order_values(prices, found)):
            assert sorted(order) == list(range(8))
            assert value == reference.price_of_order(prices, order)
            assert value <= reference.price_of_order(prices, start)
            for ranks in reference.insertion_neighbors(np.argsort(order)):
                assert value <= reference.price_of_order(prices, np.argsort(ranks))


def test_the_search_finds_optima_of_small_tournaments():
    layers = reference.subset_layers(11)
    for w in reference.tournaments("majority", 6, 11):
        prices, unit = integer_prices(w)
        best = BestOrder(prices, np.arange(11))
        best.search(math.inf)
        middle = (w + w.T)[np.triu_indices(11, 1)].sum() / 2
        least = reference.subset_program_by_layers(w, layers)[0]
        assert middle + best.value * unit / 2 == pytest.approx(least)
        assert best.value == reference.price_of_order(prices, best.order)


def test_only_better_orders_are_taken():
    prices = np.array([[0, -2, -1], [2, 0, -3], [1, 3, 0]])
    best = BestOrder(prices, np.array([0, 1, 2]))
    assert best.value == -6
    best.offer(np.array([[2, 1, 0], [1, 0, 2]]))
    assert (best.order.tolist(), best.value) == ([0, 1, 2], -6)
    worst = BestOrder(prices, np.array([2, 1, 0]))
    worst.offer(np.array([[1, 0, 2], [0, 1, 2]]))
    assert (worst.order.tolist(), worst.value) == ([0, 1, 2], -6)


def test_a_deadline_in_the_past_keeps_the_start():
    prices = integer_prices(reference.tournaments("uniform", 1, 9)[0])[0]
    best = BestOrder(prices, np.arange(9))
    best.search(-math.inf)
    assert best.order.tolist() == list(range(9))
