from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest

from privrank_jax.aggregation.integer_programs import PairProgram
from privrank_jax.aggregation.triangle_bounds import (
    pair_places,
    pairs,
    triangle_bounds,
    triple_places,
    triples,
)
from tests.reference import aggregation as reference


def random_prices(number: int, items: int, top: int = 1000) -> np.ndarray:
    upper = np.triu(np.random.default_rng(items).integers(-top, top, (number, items, items)), 1)
    return upper - np.swapaxes(upper, 1, 2)


def bounds(prices: np.ndarray, signs: np.ndarray, multipliers: np.ndarray, steps: int):
    """The batch in front, as the tests have it."""
    scale = float(np.abs(prices).mean())
    with jax.enable_x64(True):
        batch = np.moveaxis(prices, 0, -1).astype(float)
        found = triangle_bounds(batch, scale, signs.T, multipliers.T, steps)
        return [np.asarray(part).T for part in found], scale


@pytest.mark.parametrize("items", [4, 7])
def test_bounds_are_those_of_the_formula_to_the_last_unit(items):
    prices, rng = random_prices(3, items), np.random.default_rng(1)
    signs = np.zeros((3, len(pairs(items)[0])), np.float16)
    multipliers = rng.normal(size=(3, len(triples(items)[0]))).astype(np.float16)
    (own, without, *_), scale = bounds(prices, signs, multipliers, 0)
    for n, problem in enumerate(prices):
        whole = np.rint(multipliers[n].astype(float) * scale)
        triple = [tuple(int(i) for i in one) for one in triples(items).T]
        given = dict(zip(triple, whole))
        assert own[n] == reference.triangle_bound(problem, given)
        for item in range(items):
            rest = [other for other in range(items) if other != item]
            new = {old: place for place, old in enumerate(rest)}
            fewer = {tuple(new[i] for i in t): mu for t, mu in given.items() if item not in t}
            part = reference.triangle_bound(problem[np.ix_(rest, rest)], fewer)
            assert without[n, item] == part


def test_no_order_is_below_the_bounds_at_any_number_of_steps():
    prices = random_prices(8, 6)
    signs, multipliers = np.zeros((8, 15), np.float16), np.zeros((8, 20), np.float16)
    for steps in (0, 1, 5, 200):
        (own, without, *_), _ = bounds(prices, signs, multipliers, steps)
        assert np.all(np.isfinite(own))
        assert np.all(np.isfinite(without))
        for n, problem in enumerate(prices):
            orders = itertools.permutations(range(6))
            assert own[n] <= min(reference.price_of_order(problem, order) for order in orders)
            for item in range(6):
                orders = itertools.permutations([i for i in range(6) if i != item])
                least = min(reference.price_of_order(problem, order) for order in orders)
                assert without[n, item] <= least


def test_many_steps_reach_the_linear_program_and_few_continue_from_there():
    weights = reference.tournaments("majority", 4, 14, seed=1)
    prices = np.swapaxes(weights, 1, 2) - weights
    signs = np.zeros((4, len(pairs(14)[0])), np.float16)
    multipliers = np.zeros((4, len(triples(14)[0])), np.float16)
    (own, _, _, signs, multipliers), _ = bounds(prices * 2.0**20, signs, multipliers, 1000)
    (again, _, last, *_), _ = bounds(prices * 2.0**20, signs, multipliers, 5)
    for n, w in enumerate(weights):
        program = PairProgram(w)
        program.relax()
        value = 2 * program.lower_bound - (w + w.T)[np.triu_indices(14, 1)].sum()
        assert own[n] / 2**20 == pytest.approx(value, abs=0.05)
        assert again[n] / 2**20 == pytest.approx(value, abs=0.1)
        before = program.relaxed if program.solved else None
        if before is not None:  # the signs are those of the ranking
            assert reference.kemeny_score(np.argsort(np.argsort(last[n])), w) < program.cost * 1.2


def test_bounds_of_prices_too_large_for_exact_sums_are_refused():
    prices = random_prices(1, 5) * 2**45
    signs, multipliers = np.zeros((1, 10), np.float16), np.zeros((1, 10), np.float16)
    (own, without, *_), _ = bounds(prices, signs, multipliers, 1)
    assert own[0] == -np.inf
    assert np.all(without == -np.inf)


def test_tables_of_pairs_and_triples():
    assert pairs(5).T.tolist() == [list(p) for p in itertools.combinations(range(5), 2)]
    assert triples(5).T.tolist() == [list(t) for t in itertools.combinations(range(5), 3)]
    assert pair_places(5)[tuple(pairs(5))].tolist() == list(range(10))
    assert triple_places(5)[tuple(triples(5))].tolist() == list(range(10))
