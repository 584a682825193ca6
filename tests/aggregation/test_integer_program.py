from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest
import scipy.optimize

from privrank_jax.aggregation.integer_programs import PairProgram, ProvenRanking, integer_program
from tests.reference import aggregation as reference


@pytest.mark.parametrize("kind", reference.KINDS)
@pytest.mark.parametrize("items", [3, 6])
def test_optimal_on_random_tournaments(kind, items):
    layers = reference.subset_layers(items)
    for w in reference.tournaments(kind, 20, items):
        found = integer_program(w)
        assert found.cost == pytest.approx(reference.kemeny_score(found.ranks, w))
        assert found.cost == pytest.approx(reference.subset_program_by_layers(w, layers)[0])
        assert found.ratio == 1.0
        assert found.lower_bound == found.cost
        assert (found.ranks.dtype, sorted(found.ranks)) == (np.int32, list(range(items)))


def test_the_linear_program_bounds_and_the_integer_program_closes():
    """Tournaments of zeros and ones whose linear programs have fractional optima, below the integer ones."""
    layers, fractional = reference.subset_layers(9), 0
    for w in reference.tournaments("majority", 30, 9, seed=2):
        least = reference.subset_program_by_layers(w, layers)[0]
        program = PairProgram(w)
        program.relax()
        assert program.lower_bound <= least + 1e-9
        assert program.solved == math.isclose(program.lower_bound, least, abs_tol=1e-6)
        fractional += not program.solved
        found = integer_program(w)
        assert found.cost == pytest.approx(least)
        assert found.solver == ("linear program" if program.solved else "integer program")
    assert fractional  # there are such


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
        program = PairProgram(w)
        program.relax()
        value = whole.fun + w[first, second].sum()
        assert program.lower_bound == pytest.approx(value, abs=1e-6)


def test_forty_voted_items():
    """Condorcet's criterion: a majority winner is first, a majority loser last."""
    w = reference.tournaments("votes", 1, 40)[0]
    w[3], w[:, 3], w[5], w[:, 5] = 0.9, 0.1, 0.1, 0.9
    w[3, 5], w[5, 3] = 0.9, 0.1
    np.fill_diagonal(w, 0)
    found = integer_program(w)
    assert found.ratio == 1.0
    assert (found.ranks[3], found.ranks[5]) == (0, 39)


def test_when_time_is_up_the_bound_is_honest():
    w = reference.tournaments("uniform", 1, 30)[0]
    stopped = integer_program(w, time_limit=1e-3)
    longer = integer_program(w, time_limit=0.3)
    assert stopped.ratio > 1.0
    assert stopped.lower_bound <= longer.lower_bound <= longer.cost <= stopped.cost
    assert np.minimum(w, w.T).sum() / 2 <= stopped.lower_bound + 1e-9
    assert stopped.cost == pytest.approx(reference.kemeny_score(stopped.ranks, w))


@pytest.mark.parametrize("items", [1, 2])
def test_few_items(items):
    w = np.triu(np.full((items, items), 0.3), 1) + np.tril(np.full((items, items), 0.7), -1)
    found = integer_program(w)
    assert found.ranks.tolist() == list(range(items))[::-1]
    assert found.cost == pytest.approx(0.3 * (items - 1))
    assert found.ratio == 1.0


def test_the_ratio_of_a_proof():
    def ratio(cost, bound):
        return ProvenRanking(np.arange(2), cost, bound, "local search").ratio

    assert ratio(3.0, 2.0) == 1.5
    assert ratio(0.0, 0.0) == 1.0
    assert ratio(2.0, 2.0) == 1.0
    assert ratio(1.0, 0.0) == math.inf


@pytest.mark.parametrize(
    ("w", "settings", "message"),
    [
        (np.zeros((2, 3)), {}, "square"),
        (np.zeros((0, 0)), {}, "no items"),
        (np.zeros((2, 3, 3)), {}, "one problem at a time"),
        ([[0, np.nan], [1, 0]], {}, "finite and at least 0"),
        ([[0, -0.1], [1, 0]], {}, "finite and at least 0"),
        (np.zeros((2, 2)), {"time_limit": 0}, "time_limit must be positive"),
    ],
)
def test_bad_arguments_are_refused(w, settings, message):
    with pytest.raises(ValueError, match=message):
        integer_program(w, **settings)


def test_traced_weights_are_refused():
    with pytest.raises(ValueError, match="runs on the host"):
        jax.jit(integer_program)(np.zeros((3, 3)))
