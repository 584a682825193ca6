from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation import PairWeights, kemeny, kemeny_score
from privrank_jax.aggregation.certificate import _components, _cycle_bound
from privrank_jax.aggregation.integer_programs import integer_program
from tests.reference import aggregation as reference

pytestmark = pytest.mark.usefixtures("optimized_bounds")
SOLVERS = (
    "local search",
    "dynamic program",
    "linear program",
    "integer program",
    "bounded dynamic program",
)


@pytest.mark.parametrize("kind", reference.KINDS)
@pytest.mark.parametrize("xi", [0.0, 0.02, 0.5])
def test_proofs_hold_on_random_tournaments(kind, xi):
    layers = reference.subset_layers(7)
    for w in reference.tournaments(kind, 12, 7):
        least = reference.subset_program_by_layers(w, layers)[0]
        found = kemeny(w, xi)
        assert found.cost == pytest.approx(reference.kemeny_score(found.ranks, w))
        assert found.lower_bound <= least + 1e-9
        assert least - 1e-9 <= found.cost <= (1 + xi) * least + 1e-9
        assert 1.0 <= found.ratio <= 1 + xi
        assert found.solver in SOLVERS


@pytest.mark.parametrize("kind", reference.KINDS)
def test_components_and_cycles_bound_what_they_say(kind):
    layers = reference.subset_layers(7)
    for w in reference.tournaments(kind, 60, 7, seed=1):
        least = reference.subset_program_by_layers(w, layers)[0]
        apart = np.minimum(w, w.T).sum() / 2
        assert apart + _cycle_bound(w, math.inf) <= least + 1e-9
        parts = _components(w)
        assert sorted(np.concatenate(parts)) == list(range(7))
        for before, after in itertools.combinations(parts, 2):
            assert np.all(w[np.ix_(before, after)] >= w[np.ix_(after, before)].T)


def test_components_split_what_can_be_split():
    cycle = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], float)
    w = np.zeros((7, 7))
    w[:3, :3], w[4:, 4:] = cycle, cycle
    w[4:, :4], w[3, :3] = 1, 1
    assert [part.tolist() for part in _components(w)] == [[4, 5, 6], [3], [0, 1, 2]]
    found = kemeny(w)
    assert (found.cost, found.lower_bound, found.solver) == (2.0, 2.0, "local search")


def test_the_cheapest_sufficient_solver_is_used():
    """The same weights at smaller ξ: each solver in turn, and every bound below every score."""
    w = reference.tournaments("uniform", 1, 24, seed=3)[0]
    found = [kemeny(w, xi, time_limit=5) for xi in (1.0, 0.02, 0.0)]
    assert found[0].solver == "local search"
    assert [SOLVERS.index(f.solver) for f in found] == sorted(
        SOLVERS.index(f.solver) for f in found
    )
    assert found[-1].solver in SOLVERS[2:]
    assert max(f.lower_bound for f in found) <= min(f.cost for f in found) * (1 + 1e-9)
    small = reference.tournaments("uniform", 12, 11, seed=4)
    assert "dynamic program" in {kemeny(w).solver for w in small}


def test_up_to_twenty_items_never_need_the_integer_program():
    found = [kemeny(w) for w in reference.tournaments("majority", 6, 14)]
    assert {f.ratio for f in found} == {1.0}
    assert "integer program" not in {f.solver for f in found}
    assert "dynamic program" in {f.solver for f in found}


def test_tournaments_without_any_order():
    """Where the linear program leaves a gap of more than a percent, prefixes close it; HiGHS agrees."""
    w = reference.tournaments("majority", 3, 26)[2]
    found = kemeny(w)
    assert (found.ratio, found.solver) == (1.0, "bounded dynamic program")
    assert found.cost == reference.kemeny_score(found.ranks, w) == integer_program(w).cost == 84


def test_small_gaps_are_left_to_the_integer_program():
    """Votes of 25 users: the linear program ends 1.5 votes below the optimum."""
    rng = np.random.default_rng([0, 40])
    scores = rng.normal(size=40) * 0.3 + rng.gumbel(size=(25, 40))
    found = kemeny(PairWeights.from_ranks(np.argsort(np.argsort(-scores, axis=1), axis=1)))
    assert (found.ratio, found.solver) == (1.0, "integer program")


def test_time_that_does_not_suffice_is_admitted():
    w = reference.tournaments("uniform", 1, 30)[0]
    found = kemeny(w, 0.0, time_limit=0.05)
    assert found.ratio > 1
    assert found.cost == pytest.approx(found.ratio * found.lower_bound)
    assert found.lower_bound <= found.cost


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
    assert kemeny(w).ranks.tolist() == list(range(items))[::-1]


def test_float32_weights_of_jax_and_what_comes_back():
    ranks = np.argsort(np.random.default_rng(0).random((11, 6)), axis=1)
    w = jnp.asarray(PairWeights.from_ranks(ranks).matrix, jnp.float32)
    found = kemeny(w)
    assert found.ranks.dtype == np.int32
    assert float(kemeny_score(found.ranks, w)) == pytest.approx(found.cost, rel=1e-6)
    with pytest.raises(AttributeError):
        found.cost = 0.0


@pytest.mark.parametrize(
    ("w", "settings", "message"),
    [
        (np.zeros((2, 3)), {}, "square"),
        (np.zeros((0, 0)), {}, "no items"),
        ([[0, math.nan], [1, 0]], {}, "finite and at least 0"),
        ([[0, math.inf], [1, 0]], {}, "finite and at least 0"),
        ([[0, -1.0], [1, 0]], {}, "finite and at least 0"),
        (np.zeros((2, 2)), {"xi": -0.1}, "xi must be finite and at least 0"),
        (np.zeros((2, 2)), {"xi": math.nan}, "xi must be finite and at least 0"),
        (np.zeros((2, 2)), {"time_limit": -1.0}, "time_limit must be positive"),
    ],
)
def test_bad_arguments_are_refused(w, settings, message):
    with pytest.raises(ValueError, match=message):
        kemeny(w, **settings)


def test_traced_weights_are_refused():
    with pytest.raises(ValueError, match="runs on the host"):
        jax.jit(lambda w: kemeny(w).cost)(np.zeros((3, 3)))
