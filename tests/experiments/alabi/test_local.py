"""Every local method on a small crowd, and the worlds of the study."""

from __future__ import annotations

import dataclasses
import functools

import jax
import numpy as np
import pytest

from privrank_jax.experiments.alabi import crowds, local
from privrank_jax.experiments.alabi.common import EXCESS, KENDALL, PLAIN
from tests.experiments.alabi.shared import KEY

CONFIG = local.LocalConfig("small", sizes=((4, 40), (5, 30)), epsilons=(1.0, 2.0), flips=0, data=())


def test_every_method_is_there_and_pairs_are_of_methods():
    found = local.methods(jax.numpy.zeros((3, 4), int))
    assert tuple(found) == local.METHODS
    more = local.methods(jax.numpy.zeros((3, 21), int))
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


def test_studies_have_a_cell_for_each_size_and_epsilon_and_sizes_are_static():
    (study,) = local.build(CONFIG)
    assert set(study.static) == {"num_items", "num_users"}
    cells = [(c["num_items"], c["num_users"], c["epsilon"]) for c in study.cells]
    assert cells == [(4, 40, 1.0), (4, 40, 2.0), (5, 30, 1.0), (5, 30, 2.0)]
    hard = local.build(local.LocalConfig("s", sizes=((4, 40),), flips=2, buffer=3, data=()))
    assert {c["num_items"] for c in hard[0].cells if c["world"] == 1} == {7}


def test_worlds_of_one_size_share_a_program_and_keep_their_rankings_and_centers():
    config = dataclasses.replace(CONFIG, sizes=((7, 30),), flips=2, buffer=3, worst_users=30)
    (study,) = local.build(config)
    assert len(study.groups()) == 1
    assert isinstance(study.trial, functools.partial)
    draws = study.trial.keywords["draws"][7, 30]
    for cell in study.cells:
        one = draws[cell["world"],](KEY, cell)
        either = crowds.world_of(KEY, cell, draws)
        np.testing.assert_array_equal(either.ranks, one.ranks)
        np.testing.assert_array_equal(either.weights.matrix, one.weights.matrix)
        assert bool(either.centered) == (one.truth is not None)
        if one.truth is not None:
            np.testing.assert_array_equal(either.truth, one.truth)
