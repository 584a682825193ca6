"""Claims on bounds, and the least number of users."""

from __future__ import annotations

import itertools
import math

import pytest

from privrank_jax.experiments.alabi import bounds as alabi_bounds
from privrank_jax.simulate.result import StudyResult
from tests.experiments.alabi.shared import row


def race(costs_by_users, items=10, estimator="Borda"):
    return [
        row(
            mean, study="unanimous", metric="cost_over_m2", estimator=estimator, num_users=users,
            num_items=items, least_users=5.0, allowed=0.05,
        )
        for users, mean in costs_by_users
    ]  # fmt: skip


def test_claims_on_bounds():
    table = StudyResult("t", race([(3, 0.2), (100, 0.01), (1000, 0.001)]))
    assert alabi_bounds.bound_holds(table).holds is True
    assert alabi_bounds.promises_kept(table).holds is False  # 0.2 against 0.05
    assert alabi_bounds.users_reached(table)["Borda"][10] == pytest.approx(100)
    assert alabi_bounds.bound_holds(StudyResult("t", race([(3, 0.001)]))).holds is False
    doubling = [race([(3, 0.2), (10 * m, 0.01), (1000 * m, 0.0)], items=m) for m in (10, 20, 40)]
    table = StudyResult("t", list(itertools.chain(*doubling)))
    assert alabi_bounds.grows(table, estimator="Borda", expected=1.0).holds is True
    assert alabi_bounds.grows(table, estimator="Borda", expected=2.0).holds is False
    assert alabi_bounds.grows(table, estimator="Hay et al.", expected=1.0).holds is None


def test_least_users_are_the_larger_bound():
    found = alabi_bounds.users_needed_by_any(100, 0.5)
    assert found == 2 * alabi_bounds.users_needed_by_any(100, 1.0)
    assert math.isfinite(found)
    assert found > 100
