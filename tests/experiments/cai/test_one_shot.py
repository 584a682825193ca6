"""One-shot selection against the public mechanism, one by one."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import rankings
from privrank_jax.experiments.cai import one_shot as cai_one_shot
from privrank_jax.experiments.cai.common import CALIBRATIONS
from privrank_jax.mechanism.selection import select_once
from privrank_jax.pairwise import one_shot_top_k
from privrank_jax.pairwise.published import published_one_shot_scale
from privrank_jax.pairwise.spectral import rank_centrality, transition_matrix
from privrank_jax.simulate import worlds
from tests import reference
from tests.experiments.cai.shared import COMPARISON, KEY
from tests.experiments.estimates import by_counts
from tests.experiments.rows import p_of
from tests.promises import promise

ITEMS, PADDED, TOP = 6, 9, 2
LOW = (0.15, 3.0, math.inf)  # the (ε, δ) theorem wants ε <= 0.2


# Compiled whole: operation by operation they are 84 programs more.
centrality_of = jax.jit(lambda wins: rank_centrality(wins).value)
walk_of = jax.jit(transition_matrix)
sensitivity_of = jax.jit(cai_one_shot.spectral_sensitivity)


@jax.jit
def one_shot_trial(key):
    cell = {"num_items": ITEMS, "max_items": PADDED, "study": "epsilon", "epsilons": LOW}
    return cai_one_shot.trial(key, p_of("cai-fig4", **cell))


@jax.jit
def one_shot_data(key):
    """Win counts, and the keys of noise and ties."""
    data_key, noise_key, tie_key = jax.random.split(key, 3)
    world_key, game_key = jax.random.split(data_key)
    theta, mask = worlds.cai_scores(world_key, ITEMS, PADDED)
    wins = worlds.tournament(game_key, theta, 1.0, mask=mask)
    return wins, noise_key, tie_key


def naive_spectral_sensitivity(wins):
    real = np.asarray(wins.item_mask)
    walk = np.asarray(walk_of(wins))[real][:, real]
    ergodicity = max(0.5 * abs(a - b).sum() for a in walk for b in walk)
    return 2 / (float(wins.degrees.max()) * (1 - ergodicity))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_one_shot_trial_is_the_public_mechanism_one_by_one(seed):
    """It returns errors of the top k alone, those of the edge study and of rank centrality among them."""
    key = jax.random.fold_in(KEY, seed)
    found = one_shot_trial(key)
    assert set(found) == {"top_k_error", "failed_fits"}
    ours, (wins, noise_key, tie_key) = found["top_k_error"], one_shot_data(key)
    centrality = centrality_of(wins)
    most = naive_spectral_sensitivity(wins)
    methods = {
        ("one-shot pure", "published"): (wins.totals, 1.0, False, LOW),
        ("one-shot pure", "tight replace"): (wins, None, False, LOW),
        ("one-shot (ε, δ)", "published"): (wins.totals, 1.0, True, LOW[:1]),
        ("one-shot spectral", "published"): (centrality, most, True, LOW[:1]),
    }
    for (name, calibration), (scores, most, approximate, levels) in methods.items():
        for epsilon in levels:
            asked = promise(epsilon, delta=ITEMS**-2.0)
            if most is None:
                chosen = one_shot_top_k(noise_key, scores, asked, TOP).value.tolist()
            else:
                scale = published_one_shot_scale(asked, TOP, ITEMS, most, approximate=approximate)
                drawn = select_once(noise_key, scores, wins.item_mask, scale, TOP, "laplace")
                chosen = drawn.tolist()
            missed = 1 - len({0, 1} & set(chosen)) / TOP
            assert abs(ours[name][calibration][epsilon] - missed) < 1e-6, (name, calibration)
            for other in ("mle", "counts"):
                gap = missed - ours[other][calibration][epsilon]
                assert abs(ours[f"{name} minus {other}"][calibration][epsilon] - gap) < 1e-6
    for calibration in CALIBRATIONS:
        totals = by_counts(noise_key, wins, COMPARISON, 0.15, calibration)
        ranks = rankings.ranks_from_scores(totals, wins.mask, tie_key)
        missed = reference.top_k_error(np.asarray(ranks[:ITEMS]), np.arange(ITEMS), TOP)
        assert abs(ours["counts"][calibration.name][0.15] - missed) < 1e-6
    ranks = rankings.ranks_from_scores(centrality, wins.mask, tie_key)
    missed = reference.top_k_error(np.asarray(ranks[:ITEMS]), np.arange(ITEMS), TOP)
    assert abs(ours["rank centrality"]["published"][math.inf] - missed) < 1e-6


def test_one_shot_runs_at_the_published_delta(monkeypatch):
    """δ = 1/n², which hardly shows in an error."""
    wins, noise_key, _ = one_shot_data(KEY)

    @jax.jit
    def asked(wins):
        found = []

        def recorded(privacy, k, items, most, *, approximate):
            found.append((k, items, privacy.delta if approximate else 0.0))
            return published_one_shot_scale(privacy, k, items, most, approximate=approximate)

        monkeypatch.setattr(cai_one_shot, "published_one_shot_scale", recorded)
        cai_one_shot.one_shot_errors(noise_key, wins, jnp.ones(PADDED), TOP, LOW)
        return found

    delta = pytest.approx(1 / 36)
    assert asked(wins) == [(TOP, 6, used) for used in (0.0, delta, delta)]


def test_spectral_sensitivity():
    sparse = worlds.tournament(KEY, jnp.zeros(20), 0.9)
    for each in (one_shot_data(KEY)[0], sparse):
        np.testing.assert_allclose(sensitivity_of(each), naive_spectral_sensitivity(each), 1e-5)
