"""Plans of leaderboards of ballots: the noise of the last step is that of the release itself."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest
from scipy import stats

from privrank_jax import plan
from privrank_jax._limits import SMALLEST_EPSILON
from privrank_jax.aggregation.continual import continual_ballots
from privrank_jax.privacy import Privacy
from privrank_jax.release import Leaderboard
from privrank_jax.release.entropy import SYSTEM
from privrank_jax.release.exact_strategy import part_of_ballots, strategy_of

BALLOTS = {"borda": {"rankings": True}, "approvals": {"points": "0-1"}}
STEPS, ITEMS = 5, 4


def promised(adjacency, delta, epsilon=1.0):
    return Privacy(epsilon, unit="user", adjacency=adjacency, delta=delta)


@pytest.mark.parametrize("ballots", BALLOTS)
@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize("delta", [0.0, 1e-5])
def test_the_error_of_the_last_step_is_that_of_the_release(ballots, adjacency, delta, tmp_path):
    """Of 400 draws of the noise; and their deviations are those of the simulated twin."""
    way = {"adjacency": adjacency, "delta": delta, "steps": STEPS, **BALLOTS[ballots]}
    found = plan(ITEMS, **way, users=10, epsilon=1).facts
    assert found["error"] == found["error_of_total"] / 10
    noise = "gaussian" if delta else "laplace"
    assert found["noise"] == noise
    promise = promised(adjacency, delta)
    given = {"noise": noise, "publishes": ballots, "steps": STEPS, "items": tuple("abcd")}
    with Leaderboard(tmp_path / "board", promise, **given) as board:
        stated = board.diagnostics.deviations
    parts = (part_of_ballots(ballots, ITEMS, promise, noise),)
    moving = dataclasses.replace(promise, contributions=1)
    strategy = strategy_of(moving, STEPS, noise, parts)
    blank = np.zeros((STEPS, ITEMS), np.int64)
    drawn = [strategy.drawn(blank, 0, [SYSTEM] * STEPS) for _ in range(400)]
    errors = [strategy.decoded(one)[-1] for one in drawn]
    assert found["deviation"] == stated[-1]
    assert found["largest_deviation"] == max(stated)
    assert np.std(errors) == pytest.approx(found["deviation"], rel=0.15)
    within = int(np.sum(np.abs(errors).max(axis=1) <= found["error_of_total"] + 1e-9))
    assert stats.binomtest(within, 400, 0.95, alternative="less").pvalue > 1e-6
    assert np.mean(np.abs(errors).max(axis=1) <= 0.7 * found["error_of_total"]) < 0.95
    twin = continual_ballots(
        jax.random.key(0), np.zeros((STEPS, ITEMS)), promised(adjacency, delta), ballots=ballots, noise=noise
    )  # fmt: skip
    assert found["deviation"] == pytest.approx(float(twin.diagnostics.deviations[-1]), rel=4e-3)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_two_give_the_third(delta):
    way = {"items": 10, "rankings": True, "steps": 52, "delta": delta}
    needed = plan(**way, epsilon=1, target=0.5)
    users = needed.facts["users_needed"]
    assert needed.facts["error"] <= 0.5
    assert plan(**way, epsilon=1, users=users - 1).facts["error"] > 0.5
    assert plan(**way, users=users, target=0.5).facts["epsilon"] == pytest.approx(1, rel=2e-3)
    half = plan(**way, epsilon=1, target=0.5, adjacency="add-remove").facts["users_needed"]
    assert half == pytest.approx(users / 2, rel=2e-3)
    assert f"{users:,} users" in needed.paragraphs[0]
    assert needed.plot().axes


def test_more_steps_and_more_certainty_take_more_users():
    def users(**more):
        return plan(8, points="0-1", epsilon=1, target=0.05, **{"steps": 30, **more}).facts["users"]

    assert users() < users(steps=365) < 4 * users()
    assert users() < users(confidence=0.999)
    assert users(steps=1) > 0.99 * 8 / 0.05  # Laplace noise of scale 8 on any of 8 totals


def test_the_ends_of_what_is_planned():
    """An epsilon is looked for among those at which noise can be drawn; little noise is not nothing."""
    many = {"items": 10, "rankings": True, "steps": 10_000}
    assert plan(**many, target=1.0, users=100_000).facts["error"] <= 1
    with pytest.raises(ValueError, match="no exact noise"):
        plan(**many, epsilon=SMALLEST_EPSILON, users=10)
    assert plan(**many, epsilon=20, users=10).facts["error"] > 0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({}, "leaderboards of ballots: say rankings"),
        ({"trust": "central", "max_per_user": 3}, "leaderboards of ballots: say rankings"),
        ({"rankings": True, "points": "0-1"}, "leave one of them out"),
        ({"points": "0-5"}, "no other points"),
        ({"points": "0-1", "limit": 1}, "limit"),
        ({"rankings": True, "steps": 0}, "steps"),
        ({"rankings": True, "steps": 10_001}, "steps"),
        ({"rankings": True, "adjacency": "flip"}, "replace or add-remove"),
        ({"rankings": True, "trust": "local"}, "central"),
        ({"rankings": True, "method": "borda"}, "method"),
        ({"rankings": True, "spread": 2}, "spread"),
        ({"rankings": True, "confidence": 1 - 1e-9}, "at most"),
        ({"labels": True, "items": None}, "steps"),
    ],
)
def test_refusals(asked, said):
    with pytest.raises(ValueError, match=said):
        plan(**{"items": 5, "users": 900, "epsilon": 1, "steps": 12, **asked})
