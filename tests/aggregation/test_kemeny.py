from __future__ import annotations

import dataclasses
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from privrank_jax.aggregation import PairWeights, kemeny, kemeny_score
from privrank_jax.aggregation.kemeny_rule import ProvenRanking, _Component, _components
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


def _relaxed(w: np.ndarray) -> _Component:
    program = _Component(w, math.inf)
    while program.open and not program.relaxed:
        program.advance(0.0)
    return program


def test_the_linear_bound_is_the_value_of_the_whole_linear_program():
    """All triangles at once, solved by SciPy."""
    first, second = np.triu_indices(9, 1)
    column = {pair: n for n, pair in enumerate(zip(first.tolist(), second.tolist()))}
    matrix = np.zeros((0, len(first)))
    for i, j, k in itertools.combinations(range(9), 3):
        row = np.zeros((1, len(first)))
        row[0, [column[i, j], column[j, k], column[i, k]]] = 1, 1, -1
        matrix = np.concatenate([matrix, row, -row])
    right = np.tile([1.0, 0.0], len(matrix) // 2)
    for w in reference.tournaments("majority", 15, 9, seed=2):
        price = (w.T - w)[first, second]
        whole = scipy.optimize.linprog(price, A_ub=matrix, b_ub=right, bounds=(0, 1))
        program = _relaxed(w)
        value = whole.fun + w[first, second].sum()
        assert program.apart + program.bound == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("search", [True, False])
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


def test_an_integer_solution_that_is_no_ranking_is_no_optimum():
    """The first integer program leaves triangles out that its solution violates."""
    w = reference.tournaments("uniform", 12, 14, seed=2)[11]
    found = kemeny(w)
    assert (found.ratio, found.solver) == (1.0, "integer program")


@pytest.mark.parametrize("limit", [1e4, None])
def test_every_program_is_told_what_time_is_left(monkeypatch, limit):
    told = []

    def recorded(solve):
        def run(*arguments, **settings):
            told.append(settings["options"].get("time_limit"))
            return solve(*arguments, **settings)

        return run

    monkeypatch.setattr(scipy.optimize, "linprog", recorded(scipy.optimize.linprog))
    monkeypatch.setattr(scipy.optimize, "milp", recorded(scipy.optimize.milp))
    w = reference.tournaments("majority", 30, 9, seed=2)[4]
    assert kemeny(w, time_limit=limit).solver == "integer program"
    assert len(told) > 1
    assert all(left is None if limit is None else 0 < left <= limit for left in told)


def test_components_split_what_can_be_split():
    cycle = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], float)
    w = np.zeros((7, 7))
    w[:3, :3], w[4:, 4:] = cycle, cycle
    w[4:, :4], w[3, :3] = 1, 1
    assert [part.tolist() for part in _components(w)] == [[4, 5, 6], [3], [0, 1, 2]]
    found = kemeny(w)
    assert (found.cost, found.ratio, found.solver) == (2.0, 1.0, "linear program")
    assert sorted(found.ranks[4:]) == [0, 1, 2]
    assert found.ranks[3] == 3


@pytest.mark.parametrize("kind", reference.KINDS)
def test_no_majority_points_backwards_between_components(kind):
    for w in reference.tournaments(kind, 60, 7, seed=1):
        parts = _components(w)
        assert sorted(np.concatenate(parts)) == list(range(7))
        for before, after in itertools.combinations(parts, 2):
            assert np.all(w[np.ix_(before, after)] >= w[np.ix_(after, before)].T)


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


def test_the_integer_program_ends_at_the_ratio_that_is_asked_for(monkeypatch):
    gaps, solve = [], scipy.optimize.milp

    def recorded(price, **settings):
        gaps.append(settings["options"]["mip_rel_gap"])
        return solve(price, **settings)

    monkeypatch.setattr(scipy.optimize, "milp", recorded)
    w = reference.tournaments("majority", 3, 20)[1]
    linear = _relaxed(w)
    xi = 0.5 * (linear.excess / linear.bound - 1)
    assert kemeny(w, xi).ratio <= 1 + xi
    assert gaps
    assert 0.9 * xi / (1 + xi) < min(gaps) <= max(gaps) < xi


def test_forty_voted_items():
    """Condorcet's criterion: a majority winner is first, a majority loser last."""
    w = reference.tournaments("votes", 1, 40)[0]
    w[3], w[:, 3], w[5], w[:, 5] = 0.9, 0.1, 0.1, 0.9
    w[3, 5], w[5, 3] = 0.9, 0.1
    np.fill_diagonal(w, 0)
    found = kemeny(w)
    assert found.ratio == 1.0
    assert (found.ranks[3], found.ranks[5]) == (0, 39)


def test_small_gaps_are_closed_by_the_integer_program():
    """Votes of 25 users: the linear program ends 1.5 votes below the optimum."""
    rng = np.random.default_rng([0, 40])
    scores = rng.normal(size=40) * 0.3 + rng.gumbel(size=(25, 40))
    found = kemeny(PairWeights.from_ranks(np.argsort(np.argsort(-scores, axis=1), axis=1)))
    assert (found.ratio, found.solver) == (1.0, "integer program")
    assert found.cost == pytest.approx(312.56, rel=1e-6)


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


def test_unanimous_rankings_cost_nothing():
    ranks = np.tile([2, 0, 3, 1], (5, 1))
    found = kemeny(PairWeights.from_ranks(ranks))
    assert found.ranks.tolist() == [2, 0, 3, 1]
    assert (found.cost, found.lower_bound, found.ratio) == (0.0, 0.0, 1.0)


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


def test_float32_weights_of_jax_and_what_comes_back():
    ranks = np.argsort(np.random.default_rng(0).random((11, 6)), axis=1)
    w = jnp.asarray(PairWeights.from_ranks(ranks).matrix, jnp.float32)
    found = kemeny(w)
    assert found.ranks.dtype == np.int32
    assert float(kemeny_score(found.ranks, w)) == pytest.approx(found.cost, rel=1e-6)
    with pytest.raises(AttributeError):
        found.cost = 0.0  # type: ignore[misc]


@pytest.mark.parametrize(
    ("w", "settings", "message"),
    [
        (np.zeros((2, 3)), {}, "square"),
        (np.zeros((0, 0)), {}, "no items"),
        (np.zeros((2, 3, 3)), {}, "one problem at a time"),
        ([[0, math.nan], [1, 0]], {}, "finite and at least 0"),
        ([[0, math.inf], [1, 0]], {}, "finite and at least 0"),
        ([[0, -1.0], [1, 0]], {}, "finite and at least 0"),
        (np.zeros((2, 2)), {"xi": -0.1}, "xi must be finite and at least 0"),
        (np.zeros((2, 2)), {"xi": math.nan}, "xi must be finite and at least 0"),
        (np.zeros((2, 2)), {"time_limit": -1.0}, "time_limit must be positive"),
        (np.zeros((2, 2)), {"time_limit": 0}, "time_limit must be positive"),
    ],
)
def test_bad_arguments_are_refused(w, settings, message):
    with pytest.raises(ValueError, match=message):
        kemeny(w, **settings)


def test_padded_items_are_refused():
    padded = dataclasses.replace(PairWeights.from_ranks([[0, 1]]), mask=np.array([True, False]))
    with pytest.raises(ValueError, match="leave padded items out"):
        kemeny(padded)


def test_traced_weights_are_refused():
    with pytest.raises(ValueError, match="runs on the host"):
        jax.jit(lambda w: kemeny(w).cost)(np.zeros((3, 3)))
