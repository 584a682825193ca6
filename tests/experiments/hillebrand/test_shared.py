"""What the studies of fixed crowds share: tables by crowd, solvers, and limits from proven bounds."""

from __future__ import annotations

import math

import jax.numpy as jnp
import pytest

from privrank_jax.aggregation import PairWeights, borda_scores
from privrank_jax.aggregation.bounds import Bound
from privrank_jax.aggregation.dynamic_program import exact_kemeny
from privrank_jax.experiments.alabi import common
from privrank_jax.experiments.alabi.common import EXCESS
from privrank_jax.experiments.hillebrand import fixed_crowds as crowds
from privrank_jax.experiments.hillebrand import shared
from tests.by_numpy import by_numpy
from tests.experiments.rows import row, table


def made(mean):
    return row(mean, 0.0001, EXCESS, "footrule", study=crowds.CAMPS, num_users=300, optimum=0.3)


def bound(num_items, num_users, epsilon):
    assert (num_users, epsilon) == (300, 1.0)
    return Bound(1.9, 4.5)


def test_the_ratio_and_the_additive_error_are_the_limit():
    limit = 0.9 * 0.3 + 4.5 / math.comb(made(0.0)["num_items"], 2)
    assert shared.allowed(bound(10, 300, 1.0), made(0.0)) == pytest.approx(limit)
    for mean, holds in ((0.2, True), (limit - 1e-3, True), (limit + 1e-3, False)):
        verdict = shared.within(table(made(mean)), method="footrule", bound=bound)
        assert verdict.holds is holds
    assert shared.within(table(), method="footrule", bound=bound).holds is None
    both = table(made(0.1), made(0.9))
    assert "1 of 2 cells" in shared.within(both, method="footrule", bound=bound).evidence


def test_rows_get_the_name_and_the_optimum_of_their_crowd():
    places = [(crowds.TURNED, 4), (crowds.TURNED, 6)]
    rows = shared.by_crowd(places, [{"study": "s", "num_items": 6, "crowd": 1}])
    optimum = crowds.crowd(crowds.TURNED, 6).optimum / 15
    assert rows == [{"study": crowds.TURNED, "num_items": 6, "optimum": pytest.approx(optimum)}]


def test_methods_are_solved_and_judged_by_what_they_hold():
    weights = jnp.array([[0.0, 0.6, 0.3], [0.4, 0.0, 0.9], [0.7, 0.1, 0.0]])
    ranks = exact_kemeny(weights)
    costs = jnp.abs(ranks[:, None] - jnp.arange(3)).astype(float)

    def at(level):
        search = common.Search(weights, borda_scores(weights))
        return {"scores": -level * ranks, "weights": search, "costs": common.Placed(costs)}

    crowd, least = PairWeights(weights, 9, jnp.ones(3, bool)), jnp.asarray(1.0)
    pairs = [("costs", "plain"), ("plain", "absent")]
    judged = by_numpy(
        lambda: shared.judged(at, (1.0, -1.0), crowd, least, pairs, {"plain": least + 0.3})
    )
    found = judged()
    assert set(found) == {"scores", "weights", "costs", "plain", "costs minus plain"}
    for name in ("weights", "costs"):
        assert found[name][EXCESS] == {
            1.0: pytest.approx(0, abs=1e-6),
            -1.0: pytest.approx(0, abs=1e-6),
        }
    assert found["scores"][EXCESS][-1.0] == pytest.approx((3 - 2 * 1.0) / 3, abs=1e-6)
    assert found["costs minus plain"][EXCESS][1.0] == pytest.approx(-0.1, abs=1e-6)
