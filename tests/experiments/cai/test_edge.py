"""The study of single comparisons against the public estimators, one by one."""

from __future__ import annotations

import functools
import math

import jax
import numpy as np
import pytest

from privrank_jax import rankings
from privrank_jax.experiments.cai import edge as cai_edge
from privrank_jax.experiments.cai.common import (
    AXES,
    CALIBRATIONS,
)
from privrank_jax.simulate import worlds
from tests.experiments.cai.shared import COMPARISON, KEY, LEVELS, naive_errors, same_tables
from tests.experiments.estimates import placed


@pytest.fixture(scope="module")
def edge_trial():
    run = functools.partial(cai_edge.trial, epsilons=LEVELS, dtype="float32")
    return jax.jit(lambda key, p: run(key, {"num_items": 5, "max_items": 6, "probability": p}))


def test_edge_trial_is_the_public_estimators_one_by_one(edge_trial):
    ours = placed(edge_trial(KEY, 0.7), AXES)
    data_key, noise_key, tie_key = jax.random.split(KEY, 3)
    world_key, game_key = jax.random.split(data_key)
    theta, mask = worlds.cai_scores(world_key, 5, 6, "float32")
    wins = worlds.tournament(game_key, theta, 0.7, mask=mask)
    np.testing.assert_allclose(np.asarray(theta).sum(), 0, atol=1e-6)  # centered
    same_tables(ours, naive_errors((noise_key, tie_key), wins, theta, 1, COMPARISON))


def test_without_missing_pairs_and_at_equal_noise_both_methods_are_one(edge_trial):
    """The identity of the specification: at p = 1 the private MLE ranks by the noisy totals that it is given."""
    found = [edge_trial(key, 1.0) for key in jax.random.split(KEY, 30)]
    gaps = {
        c.name: [float(one["top_k_error"]["mle minus counts"][c.name][1.0]) for one in found]
        for c in CALIBRATIONS
    }
    assert not any(gaps["tight flip"])
    assert any(gaps["tight replace"])
    assert any(gaps["published"])


def test_ties_of_counts_without_privacy_are_broken_at_random(edge_trial):
    """By the coins of the replicate: by index they would always fall for the truth."""
    by_coin, by_index = [], []
    for key in jax.random.split(KEY, 30):
        ours = float(edge_trial(key, 1.0)["top_k_error"]["counts"]["published"][math.inf])
        data_key, _, tie_key = jax.random.split(key, 3)
        world_key, game_key = jax.random.split(data_key)
        theta, mask = worlds.cai_scores(world_key, 5, 6, "float32")
        totals = worlds.tournament(game_key, theta, 1.0, mask=mask).totals
        for errors, coins in ((by_coin, tie_key), (by_index, None)):
            best = int(np.argmin(rankings.ranks_from_scores(totals, mask, coins)))
            errors.append(float(best != 0))
        assert ours == by_coin[-1]
    assert sum(by_coin) > sum(by_index)
