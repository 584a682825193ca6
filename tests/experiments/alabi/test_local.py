"""Every local method on a small crowd, and the worlds of the study."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax import aggregation, experiments
from privrank_jax.experiments.alabi import local
from privrank_jax.experiments.alabi.common import MALLOWS, WORST
from tests.experiments.alabi.shared import KEY
from tests.experiments.rows import p_of
from tests.quick import quick_jit, thorough

SMALL = {"sizes": ((4, 40), (5, 30)), "epsilons": (1.0, 2.0), "flips": 0, "data": ()}


def studied(**changes):
    (study,) = experiments.get("alabi-local").configured(**{**SMALL, **changes}).studies()
    return study


def test_every_method_is_there_and_pairs_are_of_methods():
    assert set(local.methods(4)) == set(local.METHODS)
    assert set(local.METHODS) - set(local.methods(21)) == {local.BORDA_SETS}
    assert {name for pair in local.PAIRS for name in pair} <= set(local.METHODS)


def test_there_is_a_cell_for_each_world_and_epsilon():
    cells = [(c["num_items"], c["num_users"], c["epsilon"]) for c in studied().cells]
    assert cells == [(4, 40, 1.0), (4, 40, 2.0), (5, 30, 1.0), (5, 30, 2.0)]
    hard = studied(sizes=((4, 40),), flips=2, buffer=3)
    assert {c["num_items"] for c in hard.cells if c["world"] == WORST} == {7}


@pytest.mark.parametrize("world", [MALLOWS, thorough(WORST), "given"])
def test_worlds_have_the_weights_of_their_rankings(world):
    ranks = np.array([[0, 1, -1], [2, 1, 0]])
    sizes = (
        {"num_items": 3, "num_users": 2} if world == "given" else {"num_items": 7, "num_users": 30}
    )
    prepared = {"given": {"given": ranks}}
    p = p_of("alabi-local", prepared, world=world, flips=2, buffer=3, **sizes)
    found = quick_jit(lambda key: local.drawn(key, p))(KEY)
    expected = aggregation.PairWeights.from_ranks(np.asarray(found.ranks))
    np.testing.assert_allclose(found.weights.matrix, expected.matrix, atol=1e-6)
    assert found.ranks.shape == (sizes["num_users"], sizes["num_items"])
    assert (found.truth is None) == (world != MALLOWS)
    assert bool(found.mask.all())
