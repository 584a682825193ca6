"""Regret against the better of two methods, and the worlds of the study."""

from __future__ import annotations

import dataclasses
import functools

import jax
import numpy as np
import pytest

from privrank_jax.experiments.alabi import common, crowds, regret
from privrank_jax.experiments.alabi.common import EXCESS, PLAIN
from privrank_jax.simulate.result import StudyResult
from tests.experiments.alabi.shared import KEY, row
from tests.quick import quick_jit

CONFIG = regret.RegretConfig("small", items=(6,), users=300, epsilons=(0.5, 1e6), data=())
SIZES = {"num_items": 12, "num_users": 300, "max_items": 12, "max_users": 300}


def table(**costs):
    rows = [row(mean, 0.001, estimator=name) for name, mean in costs.items()]
    return StudyResult("t", rows)


def test_regret_is_the_ratio_to_the_best_of_the_others():
    def holds(most, **costs):
        check = {"method": "m", "others": ("a", "b"), "most": most}
        return regret.regret_at_most(table(**costs), **check)

    assert holds(2.0, m=0.03, a=0.02, b=0.5).holds is True
    assert holds(2.0, m=0.05, a=0.02, b=0.5).holds is False
    assert "2.50 ± 0.05 at s, m = 5, ε = 1" in holds(2.0, m=0.05, a=0.02, b=0.5).evidence
    assert holds(2.0, m=0.041, a=0.02, b=0.5).holds is True  # within 3 standard errors
    assert holds(2.0, m=0.0009, a=0.0, b=0.5).holds is True  # costs below 0.001 count as this much
    assert holds(2.0, m=0.05).holds is None


def test_methods_and_the_pairs_that_are_compared():
    few, many = (common.names_of(regret.methods(CONFIG, items)) for items in (10, 11))
    assert set(few) == {*regret.PURE, *regret.GAUSSIAN, regret.EXPONENTIAL}
    assert set(few) - set(many) == {regret.EXPONENTIAL}
    for one, other in regret.PAIRS:
        assert {one, other} <= set(few)


def test_camps_have_cycles_that_no_scores_describe():
    """Of rotated orders Borda scores are almost equal, and a majority of two camps leads each third to the next."""
    world = quick_jit(lambda: crowds.camps_world(KEY, 300, 6, 1000.0))()
    scores = np.asarray(world.weights.matrix).sum(1)
    np.testing.assert_allclose(scores, 2.5, atol=1.01)
    w = np.asarray(world.weights.matrix)[~np.eye(6, dtype=bool)]
    np.testing.assert_allclose(np.unique(w.round(6)), [0, 1 / 3, 2 / 3, 1], atol=1e-5)
    borda = quick_jit(lambda world: common.cost(common.borda_ranks(KEY, world), world))
    best = quick_jit(lambda world: common.cost(common.best_of(None, world), world))
    assert float(borda(world)) > float(best(world))


def places(config):
    """(world, m, n) of each cell, and the number of programs."""
    (study,) = regret.build(config)
    rows = [{"study": "s", **cell} for cell in study.cells]
    named = crowds.by_world(regret.worlds(config), rows)
    assert all("world" not in row for row in named)
    found = [(row["study"], row["num_items"], row["num_users"]) for row in named]
    return found, len(study.groups())


def test_cells_are_the_worlds_that_the_settings_ask_for():
    small = [(common.MALLOWS, 6, 300), (regret.STRONG, 6, 300), (regret.CAMPS, 6, 300)]
    assert places(CONFIG) == (small, 1)
    found, programs = places(dataclasses.replace(CONFIG, items=(6, 12)))
    assert [place for place in found if place[0] == common.WORST] == [(common.WORST, 12, 300)]
    assert programs == 2


@functools.cache
def shared_program():
    """The world that the study draws, by its number."""
    (study,) = regret.build(dataclasses.replace(CONFIG, items=(12,)))

    def drawn(number):
        seen = []
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(common, "errors", lambda key, world, *rest: seen.append(world))
            study.trial(KEY, {**SIZES, "world": number})
        return seen[-1]

    return quick_jit(drawn)


@pytest.mark.parametrize("name", [common.MALLOWS, regret.STRONG, common.WORST, regret.CAMPS])
def test_a_shared_program_draws_the_world_of_the_cell(name):
    config = dataclasses.replace(CONFIG, items=(12,))
    seen = shared_program()(crowds.numbered(regret.worlds(config), name, 12))
    key = jax.random.split(KEY)[0]
    alone = {
        common.MALLOWS: lambda key: crowds.mallows_world(key, SIZES, config.strength),
        regret.STRONG: lambda key: crowds.mallows_world(key, SIZES, config.strong),
        common.WORST: lambda key: crowds.worst_world(key, 300, 300, 3, 6, config.lean),
        regret.CAMPS: lambda key: crowds.camps_world(key, 300, 12, config.camps),
    }
    expected = quick_jit(alone[name])(key)
    np.testing.assert_allclose(seen.weights.matrix, expected.weights.matrix, atol=1e-6)
    assert bool(seen.centered) == (expected.truth is not None)
    assert seen.weights.num_users == 300


def test_smaller_worlds_are_padded_behind_their_items():
    """Worlds of 12 and 16 items share a program, which pads the smaller ones to 16."""
    config = dataclasses.replace(CONFIG, items=(12, 16))
    (study,) = regret.build(config)
    assert len(study.groups()) == 1
    assert isinstance(study.trial, functools.partial)
    draws = study.trial.keywords["draws"][16]
    held = {name: study.cells[0][name] for name in study.static}
    world_of = quick_jit(lambda cell: crowds.world_of(KEY, {**cell, **held}, draws))
    for cell in study.cells:
        world = world_of({name: cell[name] for name in cell if name not in held})
        items = cell["num_items"]
        np.testing.assert_array_equal(world.mask, np.arange(16) < items)
        w = np.asarray(world.weights.matrix)
        assert np.all(w[items:] == 0)
        assert np.all(w[:, items:] == 0)
        both = (w + w.T)[:items, :items]
        np.testing.assert_allclose(both, 1 - np.eye(items), atol=1e-5)


@pytest.mark.slow
def test_a_trial_judges_every_method_and_finds_the_best_without_noise():
    (study,) = regret.build(CONFIG)
    (cell,) = (
        cell
        for cell in study.cells
        if cell["world"] == crowds.numbered(regret.worlds(CONFIG), regret.CAMPS, cell["num_items"])
    )
    found = jax.jit(lambda key: study.trial(key, cell))(KEY)
    assert {*regret.PURE, *regret.GAUSSIAN, regret.EXPONENTIAL, PLAIN} <= set(found)
    assert float(found[regret.WEIGHTS][EXCESS][1e6]) == pytest.approx(0, abs=1e-6)
