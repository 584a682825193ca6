"""Personal budgets over several releases."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.privacy import (
    Neighbors,
    compose,
    compose_personal,
    local_guarantee,
    personal_accounting,
)

FLIPS = {"neighbors": Neighbors("user", "flip")}


def test_each_user_as_if_alone():
    epsilons = np.array([[0.5, 1.0, 0.0], [1.0, 0.5, 0.0], [2.0, 0.3, 0.7], [0.0, 0.0, 0.0]])
    reports = np.array([[10, 4, 3], [4, 10, 0], [1, 0, 20], [5, 5, 5]])
    found = compose_personal(epsilons, delta=1e-5, reports=reports, **FLIPS)
    for user in range(4):
        own = [(e, 0) for e, s in zip(epsilons[user], reports[user]) for _ in range(s) if e]
        alone = compose(own, delta=1e-5, **FLIPS).epsilon
        assert found.epsilon[user] == pytest.approx(alone, rel=1e-12)
        assert found.basic[user] == pytest.approx(epsilons[user] @ reports[user], rel=1e-15)
    assert found.epsilon[0] == found.epsilon[1] < found.basic[0]
    assert found.epsilon[3] == 0
    guarantee = found.guarantee
    assert guarantee.epsilon == found.epsilon.max()
    assert (guarantee.delta, guarantee.unit, guarantee.trust) == (1e-5, "user", "local")
    assert "to each user, that user's own applies" in guarantee.note
    assert "The largest plain sum: epsilon 16" in guarantee.note


def test_who_took_no_part_counts_for_nothing():
    epsilons = np.array([[1.0, np.nan], [-1.0, 0.5], [np.inf, 2.0]])
    mask = np.array([[True, False], [False, True], [True, True]])
    found = compose_personal(epsilons, delta=0, mask=mask, **FLIPS)
    assert found.epsilon.tolist() == [1.0, 0.5, math.inf]
    assert found.guarantee.epsilon == math.inf
    with pytest.raises(ValueError, match="at least 0, and no NaN, where a user took part"):
        compose_personal(epsilons, delta=0, **FLIPS)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint64])
def test_numbers_of_reports_may_be_unsigned(dtype):
    found = compose_personal([[1.0, 2.0]], delta=0, reports=np.array([[1, 2]], dtype), **FLIPS)
    assert found.epsilon.tolist() == [5.0]


def test_many_users_with_few_budgets_cost_few_compositions(monkeypatch):
    calls = []
    composed = personal_accounting._composed
    monkeypatch.setattr(
        personal_accounting, "_composed", lambda *budget: calls.append(1) or composed(*budget)
    )
    rng = np.random.default_rng(0)
    choices = np.array([0.0, 0.5, 1.0], np.float32)
    epsilons = choices[rng.integers(0, 3, (100_000, 3))]
    found = compose_personal(jnp.asarray(epsilons), delta=1e-6, **FLIPS)
    assert found.epsilon.shape == (100_000,)
    assert len(calls) == 10  # multisets of three out of three
    np.testing.assert_allclose(found.basic, epsilons.sum(axis=1))
    assert np.all(found.epsilon <= found.basic)
    order = np.argsort(found.basic)
    assert np.all(np.diff(found.epsilon[order]) >= -1e-4)


def test_agrees_with_what_reports_are_promised():
    """One release: the plain sum is that of local_guarantee, and the grouping of reports far below it."""
    epsilon, reports = np.array([1.0, 2.0]), np.array([45, 10])
    user = local_guarantee(epsilon, reports).also[0]
    found = compose_personal(epsilon, delta=1e-6, reports=reports, **FLIPS)
    assert found.basic.max() == float(user.epsilon) == 45
    assert 42.9 < found.epsilon[0] < 43
    assert compose_personal(epsilon, delta=0, reports=reports, **FLIPS).guarantee.epsilon == 45


@pytest.mark.parametrize(
    ("epsilons", "settings", "message"),
    [
        ([[1.0]], {"neighbors": Neighbors("rank", "flip")}, "is not a valid combination"),
        ([[1.0]], {"trust": "none"}, "trust must be one of"),
        ([[1.0]], {"delta": 1}, "delta must be at least 0 and below 1"),
        ([[-1.0]], {}, "at least 0, and no NaN"),
        ([["a"]], {}, "epsilons must be numbers"),
        ([], {}, "not empty"),
        (1.0, {}, "of shape"),
        ([[1.0, 2.0]], {"mask": [1, 0]}, "mask must be bool"),
        ([[1.0, 2.0]], {"mask": [True, False, True]}, "must broadcast to epsilons"),
        ([[1.0, 2.0]], {"reports": [1.5, 1]}, "reports must be whole numbers"),
        ([[1.0, 2.0]], {"reports": [-1, 1]}, "reports must be whole numbers"),
    ],
)
def test_bad_input(epsilons, settings, message):
    with pytest.raises(ValueError, match=message):
        compose_personal(epsilons, **{"delta": 1e-6, **FLIPS, **settings})


def test_traced_budgets_are_refused():
    with pytest.raises(ValueError, match="runs on the host"):
        jax.jit(lambda e: compose_personal(e, delta=0, **FLIPS).epsilon)(jnp.ones(3))
