"""The studies of tournaments and of users against the public estimators, one by one, and their claims."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest

from privrank_jax import experiments, rankings
from privrank_jax.experiments.cai import simulated
from privrank_jax.experiments.cai.common import AXES, CALIBRATIONS, NAMES
from privrank_jax.simulate import worlds
from tests.experiments.cai.shared import COMPARISON, KEY, LEVELS, USER, naive_errors, same_tables
from tests.experiments.conftest import RUN_KEY
from tests.experiments.estimates import placed
from tests.experiments.rows import cells, p_of


@pytest.fixture(scope="module")
def edge_trial():
    sizes = {"num_items": 5, "max_items": 6, "epsilons": LEVELS}
    return jax.jit(
        lambda key, chance: simulated.compared(key, p_of("cai-fig1", **sizes, probability=chance))
    )


def test_edge_trial_is_the_public_estimators_one_by_one(edge_trial):
    ours = placed(edge_trial(KEY, 0.7), AXES)
    data_key, noise_key, tie_key = jax.random.split(KEY, 3)
    world_key, game_key = jax.random.split(data_key)
    theta, mask = worlds.cai_scores(world_key, 5, 6)
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
        theta, mask = worlds.cai_scores(world_key, 5, 6)
        totals = worlds.tournament(game_key, theta, 1.0, mask=mask).totals
        for errors, coins in ((by_coin, tie_key), (by_index, None)):
            best = int(np.argmin(rankings.ranks_from_scores(totals, mask, coins)))
            errors.append(float(best != 0))
        assert ours == by_coin[-1]
    assert sum(by_coin) > sum(by_index)


@pytest.mark.slow
def test_user_study_is_the_public_estimators_one_by_one(users_result):
    """A cell that is padded in items and users, replicate by replicate."""
    naive = []
    for replicate in range(users_result.replicates):
        key = jax.random.fold_in(RUN_KEY, replicate)
        world_key, data_key, noise_key, tie_key = jax.random.split(key, 4)
        theta, mask = worlds.cai_scores(world_key, 5, 6)
        wins = worlds.user_comparisons(data_key, theta, 20, 5, mask=mask, max_users=30)
        assert float(wins.matrix.sum()) == 5 * 20
        naive.append(naive_errors((noise_key, tie_key), wins, theta, 1, USER))
    ours = {}
    for at in users_result.table.select(num_items=5, num_users=20):
        ours[tuple(at[axis] for axis in AXES)] = at["mean"]
    same_tables(ours, {name: np.mean([one[name] for one in naive]) for name in naive[0]})


def test_every_calibration_has_its_claims():
    texts = [claim.text for claim in experiments.get("cai-fig6").claims]
    for name in NAMES:
        assert sum(f"({name})" in text for text in texts) >= 2
    for noise in ("MLE 8L/ε, counts L/ε", "MLE 4L/ε, counts 2L/ε", "both 2L/ε"):
        assert any(noise in text for text in texts)


def test_cells_of_one_padded_size_share_a_program():
    def padded(programs):
        return [cell["max_items"] for cell in simulated.sized((8, 10, 12, 14), programs)]

    assert padded(1) == [14] * 4
    assert padded(2) == [10, 10, 14, 14]
    assert padded(9) == [8, 10, 12, 14]
    assert len({cell["max_items"] for cell in cells("cai-fig1")}) == 3
    assert experiments.get("cai-fig1").batch == simulated.BATCH
