"""One replicate of each Cai study against the public estimators, called one by one, and plain NumPy."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import rankings
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments.cai import edge as cai_edge
from privrank_jax.experiments.cai import one_shot as cai_one_shot
from privrank_jax.experiments.cai.common import (
    AXES,
    CALIBRATIONS,
    Unit,
    noise_settings,
    private_scores,
    private_totals,
)
from privrank_jax.pairwise import mle, one_shot_top_k, perturbed_mle, rank_centrality
from privrank_jax.pairwise.rank_centrality import transition_matrix
from privrank_jax.simulate import worlds
from tests import reference
from tests.experiments.conftest import RUN_KEY
from tests.experiments.estimates import by_counts, by_mle, placed

KEY = jax.random.key(20251105)
LEVELS = (1.0, 2.5, math.inf)
COMPARISON, USER = Unit(), Unit("user", 5)


def naive_errors(keys, wins, theta, top, unit):
    """The table of one replicate, one estimate and one number at a time."""
    noise_key, tie_key = keys
    real = np.flatnonzero(np.asarray(wins.item_mask))
    truth = np.asarray(theta)[real]
    found = {}

    def missed(values):
        ranks = np.asarray(rankings.ranks_from_scores(values, wins.mask, tie_key))[real]
        return reference.top_k_error(ranks, np.arange(len(real)), top)

    for calibration in CALIBRATIONS:
        for epsilon in LEVELS:
            scores = by_mle(noise_key, wins, unit, epsilon, calibration).value
            totals = by_counts(noise_key, wins, unit, epsilon, calibration)
            gap = np.asarray(scores)[real] - truth
            tail = (calibration.name, epsilon)
            found["log_linf_error", "mle", *tail] = math.log(max(abs(gap)) / max(abs(truth)))
            found["log_l2_error", "mle", *tail] = math.log(
                math.sqrt(sum(gap**2)) / math.sqrt(sum(truth**2))
            )
            found["top_k_error", "mle", *tail] = missed(scores)
            found["top_k_error", "counts", *tail] = missed(totals)
            found["top_k_error", "mle minus counts", *tail] = missed(scores) - missed(totals)
        for metric, name in (
            ("log_linf_error", "mle"),
            ("log_l2_error", "mle"),
            ("top_k_error", "mle"),
            ("top_k_error", "counts"),
        ):
            one, near, none = (found[metric, name, calibration.name, epsilon] for epsilon in LEVELS)
            bend = f"{name}: gain up to 2.5 minus gain beyond"
            found[metric, bend, calibration.name, 2.5] = (one - near) - (near - none)
    return {**found, ("failed_fits", None, None, None): 0}


def same_tables(ours, naive):
    assert set(ours) == set(naive)
    for name, value in naive.items():
        np.testing.assert_allclose(ours[name], value, rtol=0, atol=1e-4, err_msg=name)


# --- edge DP -------------------------------------------------------------------------------------


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


# --- individual DP -------------------------------------------------------------------------------


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
    for row in users_result.table.select(num_items=5, num_users=20):
        ours[tuple(row[axis] for axis in AXES)] = row["mean"]
    same_tables(ours, {name: np.mean([one[name] for one in naive]) for name in naive[0]})


# --- calibrations --------------------------------------------------------------------------------


def complete(items, times=1):
    """Every pair met ``times`` times; the lower index wins."""
    return WinCounts.from_matrix(np.triu(np.full((items, items), float(times)), 1))


@pytest.mark.parametrize("items", [6, 200])
def test_edge_noise(items):
    epsilons = jnp.array([0.05, 1.0, 2.5, math.inf])
    ridge = 2 * math.sqrt((items - 1) * math.log(items))  # the published floor is 1/ε
    expected = {
        "published": 8 / epsilons,
        "tight replace": 4 / epsilons,
        "tight flip": 2 / epsilons,
    }
    for calibration in CALIBRATIONS:
        scale, gamma = noise_settings(complete(items), COMPARISON, epsilons, calibration)
        np.testing.assert_allclose(scale, expected[calibration.name], rtol=1e-12)
        if calibration.name == "published":
            np.testing.assert_allclose(gamma, np.maximum(ridge, 1 / epsilons), rtol=1e-6)
        elif calibration.name == "tight replace":
            assert np.all(gamma >= scale)
            np.testing.assert_allclose(gamma[-1], 1.0)
    assert (1 / epsilons[0] > ridge) == (items == 6)  # both branches of the maximum are met


def test_user_noise():
    epsilons, per_user = jnp.array([0.5, 2.0, math.inf]), 7
    unit = Unit("user", per_user)
    factor = {"published": 8, "tight replace": 4, "tight flip": 2}
    for calibration in CALIBRATIONS:
        scale, gamma = noise_settings(complete(6, 30), unit, epsilons, calibration)
        np.testing.assert_allclose(
            scale, factor[calibration.name] * per_user / epsilons, rtol=1e-12
        )
        if calibration.name == "published":
            np.testing.assert_allclose(gamma, 2 * per_user / epsilons, rtol=1e-12)
        elif calibration.name == "tight replace":
            assert np.all(gamma >= scale)


@pytest.mark.parametrize(
    ("unit", "factors"), [(COMPARISON, (2, 2, 2)), (USER, (5, 10, 10))], ids=["edge", "user"]
)
def test_noise_of_counts(unit, factors):
    wins = complete(6)
    epsilons = jnp.array([0.5, 4.0])
    for calibration, factor in zip(CALIBRATIONS, factors, strict=True):
        totals = private_totals(KEY, wins, unit, epsilons, calibration)
        unit_noise = jax.random.laplace(KEY, (6,), wins.matrix.dtype)
        expected = wins.totals - factor * unit_noise / epsilons[:, None]
        np.testing.assert_allclose(totals, expected, rtol=1e-10)
        for row, epsilon in enumerate((0.5, 4.0)):
            np.testing.assert_allclose(
                totals[row], by_counts(KEY, wins, unit, epsilon, calibration), rtol=1e-12
            )


def test_scores_at_a_scale_are_the_estimator_with_that_calibration():
    """Published noise under replacement, from the fit under flips at ε = 2/λ."""
    wins = WinCounts(jnp.asarray(complete(6, 9).matrix + 1, jnp.float32), jnp.ones(6, bool))
    wins = dataclasses.replace(wins, matrix=wins.matrix - jnp.diag(jnp.diag(wins.matrix)))
    scales, gammas = jnp.array([16.0, 0.0], jnp.float32), jnp.array([3.0, 1.5], jnp.float32)
    scores, codes = private_scores(KEY, wins, scales, gammas)
    noisy = perturbed_mle(KEY, wins, 0.5, adjacency="replace", gamma=3.0, calibration="published")
    exact = mle(wins, ridge=1.5)
    np.testing.assert_allclose(scores, [noisy.value, exact.value], rtol=1e-4, atol=1e-5)
    assert float(noisy.diagnostics.noise_scale) == 16.0
    assert codes.tolist() == [0, 0]


# --- one-shot ------------------------------------------------------------------------------------

ITEMS, TOP = 6, 2
LOW = (0.15, math.inf)  # the (ε, δ) theorem wants ε <= 0.2


@pytest.fixture(scope="module")
def one_shot_trial():
    run = functools.partial(cai_one_shot.trial, epsilons=LOW, dtype="float32")
    return jax.jit(lambda key: run(key, {"num_items": ITEMS}))


def one_shot_data(key):
    """Win counts, and the keys of noise and ties."""
    data_key, noise_key, tie_key = jax.random.split(key, 3)
    world_key, game_key = jax.random.split(data_key)
    theta, _ = worlds.cai_scores(world_key, ITEMS, ITEMS, "float32")
    wins = worlds.tournament(game_key, theta, 1.0, mask=jnp.ones(ITEMS, bool))
    return wins, noise_key, tie_key


@pytest.fixture(scope="module")
def one_shot(one_shot_trial):
    wins, noise_key, tie_key = one_shot_data(KEY)
    return one_shot_trial(KEY)["top_k_error"], wins, (noise_key, tie_key)


def naive_spectral_sensitivity(wins):
    walk = np.asarray(transition_matrix(wins))
    ergodicity = max(0.5 * abs(a - b).sum() for a in walk for b in walk)
    return 2 / ((ITEMS - 1) * (1 - ergodicity))


def test_one_shot_trial_is_the_public_mechanism_one_by_one(one_shot):
    ours, wins, (noise_key, _) = one_shot
    published: dict[str, Any] = {"calibration": "published"}
    approximate = {**published, "delta": ITEMS**-2.0}
    centrality = rank_centrality(wins).value
    sensitivity = naive_spectral_sensitivity(wins)
    methods = {
        ("one-shot pure", "published"): (wins, published, LOW),
        ("one-shot pure", "tight replace"): (wins, {}, LOW),
        ("one-shot (ε, δ)", "published"): (wins, approximate, LOW[:1]),
        ("one-shot spectral", "published"): (
            centrality, {**approximate, "sensitivity": sensitivity}, LOW[:1],
        ),
    }  # fmt: skip
    for (name, calibration), (scores, options, levels) in methods.items():
        for epsilon in levels:
            chosen = one_shot_top_k(noise_key, scores, TOP, epsilon, **options).value.tolist()
            missed = 1 - len({0, 1} & set(chosen)) / TOP
            assert abs(ours[name][calibration][epsilon] - missed) < 1e-6, (name, calibration)
            for other in ("mle", "counts"):
                gap = missed - ours[other][calibration][epsilon]
                assert abs(ours[f"{name} minus {other}"][calibration][epsilon] - gap) < 1e-6


def test_one_shot_trial_keeps_the_errors_of_the_edge_study_and_shows_rank_centrality(one_shot):
    ours, wins, (noise_key, tie_key) = one_shot
    for calibration in CALIBRATIONS:
        totals = by_counts(noise_key, wins, COMPARISON, 0.15, calibration)
        ranks = rankings.ranks_from_scores(totals, wins.mask, tie_key)
        missed = reference.top_k_error(np.asarray(ranks), np.arange(ITEMS), TOP)
        assert abs(ours["counts"][calibration.name][0.15] - missed) < 1e-6
    ranks = rankings.ranks_from_scores(rank_centrality(wins).value, None, tie_key)
    missed = reference.top_k_error(np.asarray(ranks), np.arange(ITEMS), TOP)
    assert abs(ours["rank centrality"]["published"][math.inf] - missed) < 1e-6


def test_one_shot_trial_returns_errors_of_the_top_k_alone(one_shot_trial):
    assert set(one_shot_trial(KEY)) == {"top_k_error", "failed_fits"}


def test_one_shot_errors_on_many_tournaments(one_shot_trial):
    for key in jax.random.split(KEY, 12):
        ours = one_shot_trial(key)["top_k_error"]
        wins, noise_key, _ = one_shot_data(key)
        for epsilon in LOW:
            chosen = one_shot_top_k(noise_key, wins, TOP, epsilon).value.tolist()
            missed = 1 - len({0, 1} & set(chosen)) / TOP
            assert abs(ours["one-shot pure"]["tight replace"][epsilon] - missed) < 1e-6


def test_one_shot_runs_at_the_published_delta(monkeypatch):
    """δ = 1/n², which hardly shows in an error."""
    asked = []

    def recorded(key, scores, k, epsilon, **options):
        asked.append((k, options.get("delta", 0.0), options["calibration"]))
        return one_shot_top_k(key, scores, k, epsilon, **options)

    monkeypatch.setattr(cai_one_shot, "one_shot_top_k", recorded)
    run = functools.partial(cai_one_shot.trial, epsilons=LOW, dtype="float32")
    jax.eval_shape(lambda key: run(key, {"num_items": ITEMS}), KEY)
    assert asked == [
        (TOP, 0.0, "published"), (TOP, 1 / 36, "published"), (TOP, 1 / 36, "published"), (TOP, 0.0, "tight"),
    ]  # fmt: skip


def test_spectral_sensitivity(one_shot):
    _, wins, _ = one_shot
    ours = cai_one_shot.spectral_sensitivity(wins)
    np.testing.assert_allclose(ours, naive_spectral_sensitivity(wins), rtol=1e-5)
