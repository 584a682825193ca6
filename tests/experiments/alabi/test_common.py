"""Errors against a slow twin, and claims."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation import PairWeights
from privrank_jax.experiments.alabi import common as alabi_common
from privrank_jax.experiments.alabi.crowds import World
from privrank_jax.simulate.result import StudyResult
from tests.experiments.alabi.shared import KEY, row


def costs(w):
    """Kemeny scores of all rankings of w, slowly: ranks to score."""
    items = len(w)
    return {
        ranks: sum(w[j][i] for i in range(items) for j in range(items) if ranks[i] < ranks[j])
        for ranks in itertools.permutations(range(items))
    }


def test_errors_are_those_of_a_slow_twin():
    rng = np.random.default_rng(0)
    upper = np.triu(rng.uniform(size=(4, 4)), 1)
    w = upper + np.tril(1 - upper.T, -1)
    table = costs(w)
    least = min(table.values())
    fixed, truth = (2, 0, 3, 1), (0, 1, 2, 3)
    world = World(PairWeights(jnp.asarray(w), 10, jnp.ones(4, bool)), jnp.asarray(truth))
    costs_of_places = jnp.asarray(5 - 5 * np.eye(4)[list(fixed)])
    methods = {
        "fixed": lambda key, world, epsilon: jnp.asarray(fixed),
        "placed": lambda key, world, epsilon: alabi_common.Placed(costs_of_places),
    }
    run = jax.jit(lambda key: alabi_common.errors(key, world, methods, jnp.asarray(1.0), ()))
    found = run(KEY)
    assert found["placed"] == found["fixed"]
    assert found["fixed"]["excess_cost"] == pytest.approx((table[fixed] - least) / 6)
    apart = sum(fixed[i] > fixed[j] for i, j in itertools.combinations(range(4), 2))
    assert found["fixed"]["kendall_error"] == pytest.approx(apart / 6)
    borda = tuple(np.argsort(np.argsort(-w.sum(1))))
    assert found[alabi_common.PLAIN]["excess_cost"] == pytest.approx((table[borda] - least) / 6)


@pytest.mark.parametrize(
    ("means", "holds"),
    [([0.1, 0.0], True), ([0.1, -0.1], False), ([0.0005, 0.0], None), ([0.1, -0.0009], True)],
)
def test_cheaper_wants_a_gain_and_no_loss(means, holds):
    claim = alabi_common.cheaper("b never costs more than a", "b", "a", study="s")
    table = StudyResult("t", [row(mean) for mean in means] + [row(-1.0, study="other")])
    assert claim.check(table).holds is holds
    assert claim.check(StudyResult("t", [row(1.0, study="other")])).holds is None
