"""Plans of a curator's scores: equal to the naive twin, near to what releases have, and solved for users and ε."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import metrics, pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.release_planner import (
    CRITERIA,
    _checked,
    epsilon_for_release,
    planned_release,
    users_for_release,
)
from privrank_jax.privacy import Privacy
from privrank_jax.rankings import ranks_from_scores
from tests.reference import release_planner as naive

USER = Privacy(1.0, unit="user", adjacency="replace", contributions=10)
SPREAD = np.linspace(-1, 1, 10)


@pytest.mark.parametrize("adjacency", ["replace", "add-remove", "flip"])
@pytest.mark.parametrize(("exposure", "near"), [(0.0, False), (1.5, False), (1.0, True)])
def test_as_by_loops(adjacency, exposure, near):
    asked = dataclasses.replace(USER, adjacency=adjacency)
    with jax.enable_x64(True):
        plan = planned_release(SPREAD, asked, 700, exposure=exposure, near=near)
        shares = np.asarray(_checked(SPREAD, asked, exposure, near, 0.95)[1])
    scale = {"replace": 40, "add-remove": 20, "flip": 20}[adjacency]
    assert float(plan.noise_scale) == pytest.approx(scale)
    assert shares.sum() == pytest.approx(2)
    gamma = scale if adjacency != "flip" else 1 + 2 * scale**2 / (2 * 7000 / 10 / 5)
    assert float(plan.gamma) == pytest.approx(gamma)
    mean, covariance = naive.first_order(SPREAD, 7000 * shares, scale, gamma)
    mean -= mean.mean()
    squared = np.diag(covariance) + (mean - SPREAD) ** 2
    assert float(plan.rms) == pytest.approx(math.sqrt(squared.mean()), rel=1e-6)
    wrong = naive.wrong_pairs(SPREAD, mean, covariance)
    assert float(plan.wrong_pairs) == pytest.approx(wrong, rel=1e-6)
    assert plan.rms < plan.expected < plan.upper


@pytest.mark.parametrize(
    ("adjacency", "exposure", "near", "users"),
    [("replace", 1.0, True, 1500), ("flip", 0.0, False, 500)],
)
def test_releases_have_about_the_planned_errors(adjacency, exposure, near, users, key):
    asked = dataclasses.replace(USER, adjacency=adjacency)
    plan = planned_release(SPREAD, asked, users, exposure=exposure, near=near)
    scores, shares = _checked(SPREAD, asked, exposure, near, 0.95)
    met = jnp.round(jnp.triu(10 * users * shares))
    chance = jax.nn.sigmoid(scores[:, None] - scores)

    def errors(key):
        data_key, noise_key = jax.random.split(key)
        won = jax.random.binomial(data_key, met, chance)
        wins = WinCounts(won + (met - won).T)
        found = pairwise.perturbed_mle(noise_key, wins, asked).value
        ranks = ranks_from_scores(found), ranks_from_scores(scores)
        off = jnp.abs(found - scores)
        return off.max(), jnp.sqrt(jnp.mean(off**2)), metrics.kendall_distance(*ranks, normalized=True)  # fmt: skip

    found = [x.mean() for x in jax.jit(jax.vmap(errors))(jax.random.split(key, 600))]
    assert found[0] == pytest.approx(float(plan.expected), rel=0.15)
    assert found[1] == pytest.approx(float(plan.rms), rel=0.15)
    assert found[2] == pytest.approx(float(plan.wrong_pairs), rel=0.35)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_users_and_epsilon_have_the_error_that_was_asked_for(criterion):
    told = {"exposure": 1.0, "confidence": 0.9}
    with jax.enable_x64(True):
        target = float(getattr(planned_release(SPREAD, USER, 3000, **told), criterion))
        users = users_for_release(SPREAD, USER, target, criterion=criterion, **told)
        assert float(users) == pytest.approx(3000, rel=1e-4)
        found = epsilon_for_release(SPREAD, USER, 3000, target, criterion=criterion, **told)
        assert float(found) == pytest.approx(1.0, rel=1e-4)
        never = epsilon_for_release(SPREAD, USER, 3000, 1e-9 * target, criterion=criterion, **told)
        assert math.isnan(never)


def test_opponents_are_as_in_the_crowds_of_studies():
    """Shares are those of worlds.exposed_comparisons; far items are met however far they are."""
    scores = np.array([-1.0, -0.4, 0.0, 0.3, 1.1])
    shares = np.asarray(_checked(scores, USER, 0.0, True, 0.95)[1])
    close = np.exp(-2 * (scores[:, None] - scores) ** 2) * (1 - np.eye(5))
    first = close / close.sum(1, keepdims=True)
    expected = first + first.T
    np.testing.assert_allclose(shares, 2 * expected / expected.sum(), rtol=1e-5)
    far = np.asarray(_checked(100 * scores, USER, 0.0, True, 0.95)[1])
    assert np.all(far.sum(1) > 0.1)


def test_it_is_traced_and_batched():
    plans = jax.vmap(lambda n, e: planned_release(SPREAD, dataclasses.replace(USER, epsilon=e), n))(
        jnp.array([500.0, 5000.0]), jnp.array([1.0, 1.0])
    )
    assert plans.expected[0] > 2 * plans.expected[1]
    free = planned_release(SPREAD, dataclasses.replace(USER, epsilon=math.inf), 500)
    assert (float(free.noise_scale), float(free.gamma)) == (0, 1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: planned_release([1.0], USER, 5), "m >= 2"),
        (lambda: planned_release(SPREAD, USER, 0), "num_users"),
        (lambda: planned_release(SPREAD, USER, 5, exposure=-1), "exposure"),
        (lambda: planned_release(SPREAD, USER, 5, exposure=math.nan), "exposure"),
        (lambda: planned_release(SPREAD, USER, 5, confidence=1.0), "confidence"),
        (lambda: users_for_release(SPREAD, USER, 0.0), "target"),
        (lambda: users_for_release(SPREAD, USER, 0.1, criterion="mean"), "criterion"),
        (
            lambda: planned_release(SPREAD, dataclasses.replace(USER, contributions=None), 5),
            "contributions",
        ),
    ],
)
def test_bad_input_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()
