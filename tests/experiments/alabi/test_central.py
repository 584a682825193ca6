"""Every central method on a small world: which there are, and that without noise they find good rankings."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.experiments.alabi import central, common
from privrank_jax.experiments.alabi.common import EXCESS, PLAIN
from tests.experiments.alabi.shared import KEY

CONFIG = central.CentralConfig("small", epsilons=(0.5, 1e6))


def test_the_exponential_mechanism_is_computed_for_few_items_only():
    few, many = central.methods(CONFIG, 10), central.methods(CONFIG, 11)
    assert set(few) == {*central.PURE, *central.GAUSSIAN, *central.SHAPED}
    assert set(few) - set(many) == {central.EXPONENTIAL}


@pytest.mark.slow
def test_a_trial_judges_every_method_at_every_epsilon_and_finds_the_best_without_noise():
    cell = {"num_items": 4, "max_items": 4, "num_users": 300, "max_users": 300}
    found = jax.jit(lambda key: central.mallows_trial(key, cell, config=CONFIG))(KEY)
    assert {*central.PURE, *central.GAUSSIAN, *central.SHAPED, PLAIN} <= set(found)
    for name, errors in found.items():
        values = errors[EXCESS]
        assert set(values) == set(CONFIG.epsilons), name
        assert all(np.isfinite(jnp.asarray(value)) for value in values.values())
    assert float(found[central.ALL][EXCESS][1e6]) == pytest.approx(0, abs=1e-6)


def test_pairs_that_are_compared_are_methods():
    known = {*central.PURE, *central.GAUSSIAN, *central.SHAPED}
    for one, other in central.PAIRS:
        assert {one, other} <= known
        assert one != other


def test_studies_are_the_worlds_that_the_settings_ask_for():
    plain = central.CentralConfig("s", items=(4, 20), users=(20, 50), flips=0, data=())
    studies = central.build(plain)
    cells = [(c["num_items"], c["num_users"]) for study in studies for c in study.cells]
    assert {(4, 20), (4, 50), (20, 20), (20, 50)} <= set(cells)
    assert len(cells) == len(set(cells))
    hard = central.build(central.CentralConfig("s", items=(4,), flips=2, buffer=3, data=()))
    (worst,) = (study for study in hard if study.name == common.WORST)
    assert {cell["num_items"] for cell in worst.cells} == {7}
