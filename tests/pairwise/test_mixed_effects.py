"""The two-step mixed-effects fit against a general-purpose minimizer, its limits, and Table 3."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.pairwise.mixed_models import mixed_effects
from tests.reference import mixed_effects as twin


def world(seed, items, users, share=1.0):
    random = np.random.default_rng(seed)
    theta, gamma = random.uniform(-1, 1, items), random.normal(size=users)
    first, second = np.triu_indices(items, 1)
    chance = 1 / (1 + np.exp(-(gamma[:, None] + theta[first] - theta[second])))
    answers = (random.uniform(size=chance.shape) < chance).astype(float)
    return answers, random.uniform(size=chance.shape) < share


def test_it_is_the_minimizer():
    answers, observed = world(1, 5, 8, 0.8)
    found = mixed_effects(answers, observed, gamma=2 * 0.4 / 8)
    theta, gamma = twin.mixed_fit(answers, observed, 5, 0.4 / 8)
    assert not np.any(found.diagnostics.separated)
    np.testing.assert_allclose(found.value.scores, theta - theta.mean(), atol=1e-5)
    np.testing.assert_allclose(found.value.user_effects, gamma, atol=1e-5)
    assert float(found.value.sigma) == pytest.approx(np.std(gamma, ddof=1), abs=1e-5)
    assert int(found.diagnostics.code) == 0
    assert float(found.diagnostics.gradient_norm) < 1e-10


def test_debiased_reports_enter_linearly():
    answers, observed = world(2, 5, 8)
    reports = 0.5 + 1.1 * (answers - 0.5)
    found = mixed_effects(reports, observed).value
    theta, gamma = twin.mixed_fit(reports, observed, 5, 1 / 8)
    np.testing.assert_allclose(found.scores, theta - theta.mean(), atol=1e-5)
    np.testing.assert_allclose(found.user_effects, gamma, atol=1e-5)


def test_users_without_a_finite_effect_are_left_out():
    answers, observed = world(3, 5, 8)
    answers[0], answers[1], observed[2] = 1.0, 0.0, False
    found = mixed_effects(answers, observed, gamma=2 * 1.2 / 8)
    np.testing.assert_array_equal(np.flatnonzero(found.diagnostics.separated), [0, 1, 2])
    np.testing.assert_array_equal(found.value.user_effects[:3], [np.inf, -np.inf, np.nan])
    theta, gamma = twin.mixed_fit(answers[3:], observed[3:], 5, 1.2 / 8)
    np.testing.assert_allclose(found.value.scores, theta - theta.mean(), atol=1e-5)
    np.testing.assert_allclose(found.value.user_effects[3:], gamma, atol=1e-5)
    assert float(found.value.sigma) == pytest.approx(np.std(gamma, ddof=1), abs=1e-5)
    first, second = np.triu_indices(5, 1)
    chance = 1 / (1 + np.exp(-(gamma[:, None] + theta[first] - theta[second])))
    known = (chance * (1 - chance) * observed[3:]).sum(1)
    corrected = np.sqrt(max(np.var(gamma, ddof=1) - np.mean(1 / known), 0))
    assert float(found.value.sigma_corrected) == pytest.approx(corrected, abs=1e-5)
