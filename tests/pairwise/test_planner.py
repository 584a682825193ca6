"""The planner against a naive sandwich and against simulation, and its inverses against itself."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
import scipy.special

from privrank_jax.pairwise.planner import (
    effective_users,
    epsilon_needed,
    local_rate,
    planned_error,
    uniform_budgets,
    users_needed,
)
from tests.quick import quick_jit
from tests.reference import planner as twin

SCORES = np.array([1.2, 0.5, 0.1, -0.6, -1.2])
BUDGETS = np.array([0.3, 0.9, 1.0, 2.5, 6.0])


@pytest.mark.parametrize("link", ["logistic", "normal", "laplace"])
def test_it_is_the_sandwich(link):
    covariance = twin.planned_covariance(link, SCORES, BUDGETS, 0.4)
    spread = np.sqrt(np.diag(covariance))
    plan = functools.partial(planned_error, share_observed=0.4, link=link)
    found = quick_jit(functools.partial(plan, confidence=0.9))(SCORES, BUDGETS)
    np.testing.assert_allclose(found.standard_errors, spread, rtol=1e-9)
    assert float(found.rms) == pytest.approx(np.sqrt(np.trace(covariance) / 5))
    assert float(found.expected) == pytest.approx(twin.expected_maximum(spread), rel=1e-6)
    below = np.prod(scipy.special.erf(float(found.upper) / (spread * math.sqrt(2))))
    assert below == pytest.approx(0.9)
    assert float(found.effective_users) == pytest.approx(np.sum(np.tanh(BUDGETS / 2) ** 2))
    # Each budget may represent several users.
    twice = quick_jit(plan)(SCORES, np.repeat(BUDGETS, 2))
    again = quick_jit(plan)(SCORES, BUDGETS, 10)
    assert float(twice.expected) == pytest.approx(float(again.expected))


def test_two_items_and_no_privacy_are_the_textbook():
    """E|Z| of one binomial log-odds: variance 1/(n F(1-F)), half of it in each score."""
    gap, users = 0.8, 400
    chance = 1 / (1 + math.exp(-gap))
    deviation = math.sqrt(1 / (users * chance * (1 - chance))) / 2
    found = planned_error([gap / 2, -gap / 2], math.inf, users)
    assert float(found.rms) == pytest.approx(deviation)
    assert float(found.expected) == pytest.approx(deviation * math.sqrt(2 / math.pi), rel=1e-4)
    assert float(found.upper) == pytest.approx(1.959964 * deviation, rel=1e-6)


@pytest.mark.parametrize("criterion", ["expected", "upper", "rms"])
def test_inverses_give_the_target_back(criterion):
    present = np.array([0.5, 4.0, 8.0])
    arguments = {"share_observed": 0.3, "confidence": 0.8, "link": "normal"}
    mix = np.concatenate([present, np.tile(BUDGETS, 4)])
    plan = quick_jit(functools.partial(planned_error, **arguments))
    target = float(getattr(plan(SCORES, mix), criterion))
    arguments["criterion"] = criterion
    users = quick_jit(functools.partial(users_needed, present=present, **arguments))
    more = users(SCORES, BUDGETS, target)
    assert float(more) == pytest.approx(20, rel=1e-6)

    epsilon = quick_jit(functools.partial(epsilon_needed, **arguments))(SCORES, 800, 0.2)
    assert float(getattr(plan(SCORES, epsilon, 800), criterion)) == pytest.approx(0.2, rel=1e-6)


def test_limits_of_the_inverses():
    clear = planned_error(SCORES, math.inf, 100)
    assert np.isnan(epsilon_needed(SCORES, 100, 0.99 * float(clear.expected)))
    assert 3 < float(epsilon_needed(SCORES, 100, 1.01 * float(clear.expected))) < 10
    present = np.full(200, 3.0)
    reached = float(planned_error(SCORES, present).expected)
    assert float(users_needed(SCORES, 1.0, 1.001 * reached, present=present)) == 0
    assert 0 < float(users_needed(SCORES, 1.0, 0.999 * reached, present=present)) < 20
    # Against the rate: four times the users for half the error.
    few, many = (users_needed(SCORES, 1.0, target) for target in (0.2, 0.1))
    assert float(many / few) == pytest.approx(4, rel=1e-6)


def test_meter_rate_and_mix():
    assert float(effective_users(BUDGETS)) == pytest.approx(
        sum(((math.exp(e) - 1) / (math.exp(e) + 1)) ** 2 for e in BUDGETS)
    )
    assert float(local_rate(16, 100, 0.25, constant=2.0)) == pytest.approx(0.1)
    mean = np.mean(np.tanh(uniform_budgets(0.5, 4.0) / 2) ** 2)
    exact = 1 - 2 * (math.tanh(2.0) - math.tanh(0.25)) / 3.5
    assert float(mean) == pytest.approx(exact, rel=1e-4)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: planned_error(SCORES, 0.0, 10), "epsilon"),
        (lambda: planned_error(SCORES, 1.0, 10, share_observed=1.5), "share_observed"),
        (lambda: planned_error(SCORES, 1.0, 10, confidence=1.5), "confidence"),
        (lambda: planned_error([1.0], 1.0, 10), "m >= 2"),
        (lambda: users_needed(SCORES, 1.0, 0.1, criterion="mean"), "criterion"),
        (lambda: users_needed(SCORES, 1.0, 0.0), "target"),
        (lambda: epsilon_needed(SCORES, -1, 0.1), "num_users"),
        (lambda: uniform_budgets(2.0, 1.0), "below the smallest"),
    ],
)
def test_refusals(call, message):
    with pytest.raises(ValueError, match=message):
        call()
