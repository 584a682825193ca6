"""Every local method on a small crowd, and the worlds of the study."""

from __future__ import annotations

import dataclasses
import functools

import jax
import numpy as np
import pytest

from privrank_jax.aggregation import PairWeights
from privrank_jax.experiments.alabi import common, crowds, local, reports
from privrank_jax.experiments.alabi.common import EXCESS, KENDALL, PLAIN
from tests.experiments.alabi.shared import KEY

CONFIG = local.LocalConfig("small", sizes=((4, 40), (5, 30)), epsilons=(1.0, 2.0), flips=0, data=())


def test_every_method_is_there_and_pairs_are_of_methods():
    found = common.names_of(local.methods(4))
    assert set(found) == set(local.METHODS)
    more = common.names_of(local.methods(21))
    assert set(local.METHODS) - set(more) == {local.BORDA_SETS}
    for one, other in local.PAIRS:
        assert one != other
        assert {one, other} <= set(local.METHODS)


@pytest.mark.slow
def test_a_trial_judges_every_method():
    config = dataclasses.replace(CONFIG, sizes=((4, 200),), epsilons=(8.0,))
    (study,) = local.build(config)
    found = jax.jit(lambda key: study.trial(key, study.cells[0]))(KEY)
    for name in (*local.METHODS, PLAIN):
        assert 0 <= float(found[name][KENDALL]) <= 1
        assert np.isfinite(float(found[name][EXCESS]))
    for one, other in local.PAIRS:
        gap = float(found[one][EXCESS]) - float(found[other][EXCESS])
        assert float(found[f"{one} minus {other}"][EXCESS]) == pytest.approx(gap, abs=1e-6)


def test_studies_have_a_cell_for_each_size_and_epsilon_and_items_are_static():
    (study,) = local.build(CONFIG)
    assert set(study.static) == {"num_items", "max_users"}
    cells = [(c["num_items"], c["num_users"], c["epsilon"]) for c in study.cells]
    assert cells == [(4, 40, 1.0), (4, 40, 2.0), (5, 30, 1.0), (5, 30, 2.0)]
    hard = local.build(local.LocalConfig("s", sizes=((4, 40),), flips=2, buffer=3, data=()))
    assert {c["num_items"] for c in hard[0].cells if c["world"] == 1} == {7}


def test_worlds_of_as_many_items_share_a_program_and_keep_their_rankings_and_centers():
    """Crowds of fewer users are the first ones of larger crowds."""
    sizes = ((7, 30), (7, 20))
    config = dataclasses.replace(
        CONFIG, sizes=sizes, epsilons=(1.0,), flips=2, buffer=3, worst_users=25
    )
    weigh = jax.jit(reports.weighed)
    (study,) = local.build(config)
    assert len(study.groups()) == 1
    assert isinstance(study.trial, functools.partial)
    draws = study.trial.keywords["draws"][7]
    world_of = jax.jit(
        lambda cell, **held: crowds.world_of(KEY, {**cell, **held}, draws),
        static_argnames=study.static,
    )
    seen = set()
    for cell in study.cells:
        assert cell["max_users"] == 30
        (draw,) = [draw for draw, numbers in draws.items() if cell["world"] in numbers]
        one = jax.jit(lambda key, draw=draw, cell=cell: draw(key, cell))(KEY)
        held = {name: cell[name] for name in study.static}
        either = world_of({name: cell[name] for name in cell if name not in held}, **held)
        np.testing.assert_array_equal(either.ranks, one.ranks)
        assert bool(either.centered) == (one.truth is not None)
        if one.truth is not None:
            np.testing.assert_array_equal(either.truth, one.truth)
        users = cell["num_users"]
        seen.add((cell["world"], users))
        alone = PairWeights.from_ranks(np.asarray(one.ranks)[:users]).matrix
        weighed = weigh(either).weights
        np.testing.assert_allclose(weighed.matrix, alone, atol=1e-6)
        assert int(weighed.num_users) == users
    assert seen == {(0, 30), (0, 20), (1, 25)}


def test_a_data_set_is_padded_to_the_users_of_its_program():
    ranks = np.array([[0, 1, -1], [2, 1, 0]])
    cell = {"num_items": 3, "num_users": 2, "max_users": 5}
    found = reports.weighed(local.data_draw(KEY, cell, ranks=ranks))
    assert found.ranks is not None
    assert found.ranks.shape == (5, 3)
    np.testing.assert_allclose(found.weights.matrix, PairWeights.from_ranks(ranks).matrix)
