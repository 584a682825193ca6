"""The studies of tournaments and of users against the public estimators, one by one, and their claims."""

from __future__ import annotations

import functools
import math

import jax
import numpy as np
import pytest

from privrank_jax import rankings
from privrank_jax.experiments.cai import simulated
from privrank_jax.experiments.cai.common import AXES, CALIBRATIONS
from privrank_jax.simulate import worlds
from tests.experiments.cai.shared import COMPARISON, KEY, LEVELS, USER, naive_errors, same_tables
from tests.experiments.conftest import RUN_KEY
from tests.experiments.estimates import placed
from tests.experiments.rows import ONE, row, table


@pytest.fixture(scope="module")
def edge_trial():
    run = functools.partial(simulated.edge_trial, epsilons=LEVELS, dtype="float32")
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


def test_user_study_is_the_public_estimators_one_by_one(users_result):
    """A cell that is padded in items and users, replicate by replicate."""
    naive = []
    for replicate in range(users_result.replicates):
        key = jax.random.fold_in(RUN_KEY, replicate)
        world_key, data_key, noise_key, tie_key = jax.random.split(key, 4)
        theta, mask = worlds.cai_scores(world_key, 5, 6, "float32")
        wins = worlds.user_comparisons(data_key, theta, 20, 5, mask=mask, max_users=30)
        assert float(wins.matrix.sum()) == 5 * 20
        naive.append(naive_errors((noise_key, tie_key), wins, theta, 1, USER))
    ours = {}
    for at in users_result.table.select(num_items=5, num_users=20):
        ours[tuple(at[axis] for axis in AXES)] = at["mean"]
    same_tables(ours, {name: np.mean([one[name] for one in naive]) for name in naive[0]})


def levels(far, near_, best, error=0.1, **cell):
    return [
        row(m, error, epsilon=e, **cell) for e, m in ((1.0, far), (2.5, near_), (math.inf, best))
    ]


def closer(*curves):
    rows = [r for i, curve in enumerate(curves) for r in levels(*curve, num_items=i)]
    return simulated.closer(table(*rows), wanted=ONE)


def test_closer_to_no_privacy_by_more_than_the_slack():
    just = 3 * math.sqrt(6) * 0.1  # |far - near| - |near - best| has variance (1 + 4 + 1) SE²
    assert closer((3.0, 1.0, 1.0 - 2.0 + 1.01 * just)).holds is True
    assert closer((3.0, 1.0, 1.0 - 2.0 + 0.99 * just)).holds is None
    assert closer((3.0, 1.0, 1.0 - 2.0 - 0.99 * just)).holds is None
    assert closer((3.0, 1.0, 1.0 - 2.0 - 1.01 * just)).holds is False
    assert closer((3.0, 1.0, 0.5)).evidence.endswith(" 20% remains at ε = 2.5 (median)")


def test_the_paired_standard_error_is_taken_where_the_errors_fall():
    def ask(far, near_, best, paired, **cell):
        name = "mle: gain up to 2.5 minus gain beyond"
        bend = row(0.0, paired, estimator=name, epsilon=2.5, **cell)
        rows = [*levels(far, near_, best), bend]
        return simulated.closer(table(*rows), wanted=ONE).holds

    assert ask(1.5, 1.0, 0.9, paired=0.13) is True  # 0.4 = 3.08 SE; pooled it is 1.6 SE
    assert ask(1.5, 1.0, 0.9, paired=0.14) is None
    assert ask(1.1, 1.0, 0.5, paired=0.13) is False
    assert ask(1.5, 1.0, 0.9, paired=0.13, num_items=11) is None  # of another cell
    assert (
        ask(1.5, 1.0, 1.1, paired=0.001) is None
    )  # the error at 2.5 is below that without privacy


def test_three_quarters_of_the_cells():
    yes, no, tie = (3.0, 1.0, 0.9), (3.0, 2.9, 0.0), (3.0, 2.0, 1.0)
    assert closer(yes, yes, yes, no).holds is True
    assert closer(yes, yes, tie, tie).holds is None
    assert closer(yes, yes, tie, no).holds is None
    assert closer(yes, yes, no, no).holds is False
    assert closer(tie).holds is None
    assert closer((0.5, 1.0, 2.5)).holds is False  # errors that rise with ε count by their distance
    assert closer((1.0, 1.0, 1.0)).holds is None


def test_all_three_levels_are_needed():
    rows = levels(3.0, 1.0, 0.9)
    for left_out in rows:
        some = table(*(r for r in rows if r is not left_out))
        found = simulated.closer(some, wanted=ONE)
        assert found.holds is None
        assert "no cell has ε = 1, 2.5 and ∞" in found.evidence


def test_sets_of_claims_cover_every_calibration():
    texts = [claim.text for claim in simulated.trends("grow", "num_items", 1)]
    assert texts == [f"all errors grow ({c})" for c in ("published", "tight replace", "tight flip")]
    texts = " ".join(claim.text for claim in simulated.counts_against_mle("L/ε", "4L/ε", "2L/ε"))
    for noise in ("MLE 8L/ε, counts L/ε", "MLE 4L/ε, counts 2L/ε", "both 2L/ε"):
        assert noise in texts
    assert len(simulated.closeness()) == 3
