from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize

from privrank_jax.aggregation import kemeny
from privrank_jax.aggregation.kemeny_rule import ProvenRanking, _Component
from tests.quick import thorough
from tests.reference import aggregation as reference

SOLVERS = ("local search", "linear program", "integer program")
ROUNDING = 1 + 1e-12


@pytest.mark.parametrize("kind", reference.KINDS)
@pytest.mark.parametrize("xi", [0.0, 0.02, 0.5])
def test_proofs_hold_on_random_tournaments(kind, xi):
    layers = reference.subset_layers(7)
    for w in reference.tournaments(kind, 12, 7):
        least = reference.subset_program_by_layers(w, layers)[0]
        found = kemeny(w, xi)
        assert found.cost == pytest.approx(reference.kemeny_score(found.ranks, w))
        assert found.lower_bound <= least * ROUNDING
        assert least <= found.cost * ROUNDING
        assert 1.0 <= found.ratio <= 1 + xi
        assert found.cost <= (1 + xi) * least * (1 + 1e-9)
        assert found.solver in SOLVERS
        assert (found.ranks.dtype, sorted(found.ranks)) == (np.int32, list(range(7)))


def test_the_integer_program_closes_what_the_linear_program_leaves():
    """Tournaments of zeros and ones; some of their linear programs have fractional optima, below the integer ones."""
    layers = reference.subset_layers(9)
    solvers = []
    for w in reference.tournaments("majority", 30, 9, seed=2):
        least = reference.subset_program_by_layers(w, layers)[0]
        found = kemeny(w)
        assert (found.cost, found.ratio) == (least, 1.0)
        assert found.lower_bound <= least
        solvers.append(found.solver)
    assert set(solvers) >= {"linear program", "integer program"}


@pytest.mark.parametrize("search", [True, thorough(False)])
def test_no_bound_relies_on_the_tolerances_of_the_solver(monkeypatch, search):
    """Multipliers that are wrong, and bounds that are too high by the tolerance of each price, with the search for
    rankings, whose scores cut bounds off, and without."""
    linear, integer = scipy.optimize.linprog, scipy.optimize.milp

    def careless_linear(*arguments, **settings):
        found = linear(*arguments, **settings)
        if found.success:
            found.ineqlin.marginals *= 1.01
        return found

    def careless_integer(price, **settings):
        found = integer(price, **settings)
        found.mip_dual_bound += 1e-7 * len(price)
        return found

    def backwards(program, order):
        program.order, program.excess = order[::-1], float(np.abs(program.lead).sum())

    monkeypatch.setattr(scipy.optimize, "linprog", careless_linear)
    monkeypatch.setattr(scipy.optimize, "milp", careless_integer)
    if not search:
        monkeypatch.setattr(_Component, "_try", backwards)
    layers = reference.subset_layers(9)
    solvers = set()
    for w in reference.tournaments("majority", 15, 9, seed=2):
        least = reference.subset_program_by_layers(w, layers)[0]
        found = kemeny(w)
        assert found.lower_bound <= least * ROUNDING
        assert not search or found.cost == least
        solvers.add(found.solver)
    assert "integer program" in solvers


@pytest.mark.parametrize("xi", [0.0, 0.01, 0.1])
def test_several_hard_components_share_what_xi_leaves(xi):
    """Each block would be 3 % above its linear bound; scores and bounds add up."""
    blocks = reference.tournaments("majority", 30, 9, seed=2)[:4]
    layers = reference.subset_layers(9)
    least = sum(reference.subset_program_by_layers(w, layers)[0] for w in blocks)
    w = np.triu(np.ones((36, 36)), 1)
    for n, block in enumerate(blocks):
        w[9 * n : 9 * n + 9, 9 * n : 9 * n + 9] = block
    found = kemeny(w, xi)
    assert found.lower_bound <= least <= found.cost <= (1 + xi) * least * ROUNDING
    assert found.ratio <= 1 + xi
    assert found.cost == reference.kemeny_score(found.ranks, w)


def test_the_cheapest_sufficient_solver_is_used():
    """The same weights at smaller ξ: each solver in turn, and every bound below every score."""
    w = 0.5 + reference.tournaments("majority", 30, 9, seed=2)[4]
    found = [kemeny(w, xi) for xi in (1.0, 0.05, 0.0)]
    places = [SOLVERS.index(f.solver) for f in found]
    assert places == sorted(places)
    assert [places[0], places[-1]] == [0, 2]
    assert [f.ratio <= 1 + xi for f, xi in zip(found, (1.0, 0.05, 0.0))] == [True] * 3
    assert max(f.lower_bound for f in found) <= min(f.cost for f in found)


def test_time_that_does_not_suffice_is_admitted():
    w = reference.tournaments("uniform", 1, 30)[0]
    stopped, longer = kemeny(w, time_limit=1e-3), kemeny(w, time_limit=0.3)
    for found in (stopped, longer):
        assert found.ratio > 1
        assert found.cost == pytest.approx(found.ratio * found.lower_bound)
        assert found.cost == pytest.approx(reference.kemeny_score(found.ranks, w))
    apart = np.minimum(w, w.T).sum() / 2
    assert apart <= stopped.lower_bound * ROUNDING
    assert stopped.lower_bound <= longer.lower_bound <= longer.cost <= stopped.cost


@pytest.mark.parametrize("items", [1, 2, 3])
def test_few_items_and_ties(items):
    found = kemeny(np.zeros((items, items)))
    assert found.ranks.tolist() == list(range(items))
    assert found.ratio == 1.0
    w = np.triu(np.full((items, items), 0.3), 1) + np.tril(np.full((items, items), 0.7), -1)
    found = kemeny(w)
    assert found.ranks.tolist() == list(range(items))[::-1]
    assert found.cost == pytest.approx(0.3 * items * (items - 1) / 2)


def test_the_ratio_of_a_proof():
    def ratio(cost, bound):
        return ProvenRanking(np.arange(2), cost, bound, "local search").ratio

    assert ratio(3.0, 2.0) == 1.5
    assert ratio(0.0, 0.0) == 1.0
    assert ratio(2.0, 2.0) == ratio(2.0, 2.0 - 1e-9) == 1.0
    assert ratio(2.0, 2.0 - 1e-8) > 1
    assert ratio(1.0, 0.0) == math.inf
