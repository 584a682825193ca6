"""Plans of points and of labels: two give the third, as exact noise and simulated training have it."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privrank_jax import plan
from privrank_jax.aggregation import PointTotals, dp_scores
from privrank_jax.jobs.plan_labels import worth
from privrank_jax.privacy import Privacy

POINTS = {"items": 4, "points": "0-2"}


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize(("limit", "noise"), [(None, "k-norm"), (1, "laplace")])
def test_the_error_of_points_is_that_of_exact_noise(adjacency, limit, noise):
    """Of 800 releases, the noise of a share of 0.95 at least stays within, and of far less within a little less."""
    found = plan(**POINTS, limit=limit, users=10, epsilon=1, adjacency=adjacency).facts
    assert found["noise"] == noise
    assert found["error"] == found["error_of_total"] / 10
    data = PointTotals(np.array([9, 3, 0, 7]), 10, 2, limit)
    promise = Privacy(1.0, unit="user", adjacency=adjacency)
    true = data.totals - 10 * found["middle"]
    errors = [
        np.abs(dp_scores.release(data, promise, noise=noise).value - true).max() for _ in range(800)
    ]
    within = np.mean(np.array(errors) <= found["error_of_total"])
    assert within > 0.95 - 5 * math.sqrt(0.95 * 0.05 / 800)
    assert np.mean(np.array(errors) <= 0.8 * found["error_of_total"]) < 0.95


def test_two_of_points_give_the_third():
    needed = plan(**POINTS, epsilon=0.5, target=0.1).facts
    users = needed["users_needed"]
    assert needed["error"] <= 0.1
    assert plan(**POINTS, epsilon=0.5, users=users - 1).facts["error"] > 0.1
    epsilon = plan(**POINTS, users=users, target=0.1).facts["epsilon"]
    assert epsilon == pytest.approx(0.5, rel=0.03)  # errors are whole numbers of points
    more = plan(**POINTS, epsilon=0.5, users=5, target=0.1)
    assert more.facts["more_users"] == users - 5
    assert f"{users - 5:,} more users" in more.paragraphs[0]
    surer = plan(**POINTS, epsilon=0.5, users=users, confidence=0.99).facts
    assert surer["error"] > needed["error"]


@pytest.mark.parametrize("chance", [0.5, 0.9])
def test_a_label_is_worth_what_its_debiased_mean_says(chance):
    """The variance of a debiased label against that of the label itself, over both of its values."""
    for epsilon in (0.1, 1.0, 4.0):
        kept = 1 / (1 + math.exp(-epsilon))
        one = kept * chance + (1 - kept) * (1 - chance)
        debiased = one * (1 - one) / (2 * kept - 1) ** 2
        assert worth(epsilon, chance) == pytest.approx(chance * (1 - chance) / debiased)


def test_two_of_labels_give_the_third_and_one_label_of_each_user_is_worth_more():
    needed = plan(labels=True, epsilon=1, target=500, max_per_user=4).facts
    assert needed["worth"] >= 500
    users = needed["users"]
    assert plan(labels=True, epsilon=1, users=users - 1, max_per_user=4).facts["worth"] < 500
    back = plan(labels=True, users=users, target=500, max_per_user=4)
    assert back.facts["epsilon"] == pytest.approx(1, rel=2e-3)
    assert needed["best_labels_per_user"] == 1
    assert needed["best_worth"] == pytest.approx(users * math.tanh(0.5) ** 2)
    assert "1 label of each user would be worth more" in back.paragraphs[0]
    assert plan(labels=True, epsilon=20, users=9, max_per_user=2).facts["best_labels_per_user"] > 2


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"points": "0-1", "epsilon": 1, "users": 9}, "number of items"),
        ({"points": "many", "items": 3, "epsilon": 1, "users": 9}, "is no scale"),
        ({"points": "0-1", "items": 3, "epsilon": 1, "users": 9, "limit": 0}, "limit"),
        (
            {"points": "0-1", "items": 3, "epsilon": 1, "users": 9, "adjacency": "flip"},
            "replace or",
        ),
        ({"points": "0-1", "items": 3, "epsilon": 1, "users": 9, "trust": "local"}, "central"),
        ({"points": "0-1", "items": 3, "epsilon": 1, "users": 9, "spread": 2}, "spread"),
        ({"points": "0-1", "items": 3, "users": 9}, "give two of"),
        ({"labels": True, "items": 3, "epsilon": 1, "users": 9}, "items"),
        ({"labels": True, "epsilon": 1, "users": 9, "trust": "central"}, "local"),
        ({"labels": True, "users": 9, "target": 10}, "take more users"),
        ({"items": 3, "epsilon": 1, "users": 9, "limit": 2}, "limit"),
    ],
)
def test_refusals(asked, said):
    with pytest.raises(ValueError, match=said):
        plan(**asked)
