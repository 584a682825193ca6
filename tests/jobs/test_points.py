"""``pr.consensus`` of approvals and points: totals, their intervals, what is public, and the best alone."""

from __future__ import annotations

import re

import jax
import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import Ratings
from tests.jobs.released import read
from tests.parquet import as_parquet


def user(epsilon=1000.0, adjacency="replace", delta=0.0):
    return pr.Privacy(epsilon, unit="user", adjacency=adjacency, delta=delta)


@pytest.fixture
def approvals(write):
    """Of 30 users all approve of Tea, 20 of Milk and 9 of Water."""
    rows = [f"u{k},{'x' if k < 20 else ''},yes,{'no' if k < 21 else 1}" for k in range(30)]
    return write(*rows, header="user,Milk,Tea,Water", name="approvals.csv")


@pytest.fixture
def stars(write):
    """Of 20 users; Bo has no rating of one half, Cy is beyond the scale."""
    rows = [f"u{k},{4 + k % 2},{'' if k < 10 else 3},9" for k in range(20)]
    return write(*rows, header="user,Ann,Bo,Cy", name="stars.csv")


def test_approvals_are_ranked_by_the_share_of_users(approvals):
    for path in (approvals, as_parquet(approvals)):
        found = pr.consensus(read(path, kind="approvals"), user())
        assert found.names == ["Tea", "Milk", "Water"]
        assert found.scores == pytest.approx(np.array([20, 30, 9]) / 30, abs=1e-9)
        assert found.facts["method"] == "scores"
        assert found.guarantee.numerics == "exact"


def test_the_number_of_users_is_private_where_they_are_added(approvals):
    data = read(approvals, kind="approvals")
    found = pr.consensus(data, user(adjacency="add-remove"))
    assert found.scores == pytest.approx([5, 15, -6])
    assert found.guarantee.adjacency == "add-remove"
    assert "users" not in found.facts
    said = " ".join([found.title, *found.notes, found.certainty.words])
    assert not re.search(r"\b30\b", said)


def test_points_are_cut_to_the_scale_and_blanks_get_the_least(stars):
    data = Ratings.read(stars, ratings="1:9", items="seen")
    found = pr.consensus(data, user(), method="scores", points="1-5")
    assert found.scores == pytest.approx([4.5, 2.0, 5.0])
    assert found.facts["points"] == [1, 5]
    assert any("20 ratings" in warning for warning in found.warnings)
    assert not any("20" in note for note in found.notes)


def test_a_ballot_with_too_many_items_counts_as_blank(approvals):
    data = read(approvals, kind="approvals")
    found = pr.consensus(data, user(), limit=1)
    assert found.scores == pytest.approx(
        [0.0, 1 / 30, 0.0]
    )  # that of the user who is for Tea alone
    assert any("29 ballots" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("adjacency", "noise", "delta", "limit", "simulated"),
    [
        ("replace", "k-norm", 0.0, None, False),
        ("replace", "laplace", 0.0, 1, True),
        ("replace", "gaussian", 1e-4, None, True),
        ("add-remove", "k-norm", 0.0, None, True),
        ("add-remove", "laplace", 0.0, 1, False),
        ("add-remove", "gaussian", 1e-4, None, False),
    ],
)
def test_intervals_hold_all_scores_as_often_as_said(
    approvals, adjacency, noise, delta, limit, simulated, key
):
    """Of 30 releases at 95 %, fewer than 23 hold all with probability 9e-5."""
    data, held = read(approvals, kind="approvals"), 0
    true = np.array([0, 1, 0] if limit else [20, 30, 9])  # of those who are for one thing alone
    true = true / 30 if adjacency == "replace" else true - (0 if limit else 15)
    for number in range(30):
        drawn = jax.random.fold_in(key, number) if simulated else None
        asked = {"noise": noise, "limit": limit, "key": drawn}
        found = pr.consensus(data, user(0.5, adjacency, delta), **asked)
        low, high = (found.certainty.intervals[end] for end in ("low", "high"))
        held += bool(np.all((low - 1e-9 <= true) & (true <= high + 1e-9)))
    assert held >= 23


def test_the_default_noise_is_the_smaller_one(write):
    """Of 101 items K-norm noise has the variance 3,502, and Laplace noise 8 for one vote each, 20,402 otherwise."""
    items = ",".join(f"i{number}" for number in range(101))
    path = write("u1,x" + 100 * ",", header=f"user,{items}", name="approvals.csv")
    data = read(path, kind="approvals")
    for limit, noise in ((None, "K-norm"), (1, "Laplace")):
        assert noise in pr.consensus(data, user(), limit=limit).facts["noise"]


def test_a_scale_may_fall(stars):
    costs = Ratings.read(stars, ratings="9:1", items="seen")
    found = pr.consensus(costs, user(), method="scores", points="1-9")
    assert found.scores == pytest.approx([5.5, 4.0, 1.0])  # of 1 the most points, 9


# --- the best alone ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("adjacency", "simulated"), [("replace", False), ("add-remove", True)])
@pytest.mark.parametrize(
    ("method", "limit", "scale"),
    [
        ("one-shot", None, {"replace": 3, "add-remove": 1.5}),
        ("canonical", 1, {"replace": 3, "add-remove": 2}),
        ("top-k", None, {"replace": 4, "add-remove": 2}),
        ("auto", None, {"replace": 4, "add-remove": 2}),
    ],
)
def test_only_the_best_are_published(approvals, method, limit, scale, simulated, adjacency, key):
    """The scale is that of the constants for three items, of whom the two best are wanted."""
    data, drawn = read(approvals, kind="approvals"), key if simulated else None
    asked = {"method": method, "limit": limit, "top_k": 2, "key": drawn}
    found = pr.consensus(data, user(1000.0, adjacency), **asked)
    listed = method == "one-shot"
    assert found.facts["noise_scale"] == pytest.approx(scale[adjacency] / 1000)
    assert limit or found.names == (["Tea", "Milk"] if listed else ["Milk", "Tea"])
    assert [row["rank"] for row in found.rows] == ([1, 2] if listed else [None, None])
    assert (found.scores, found.certainty.words, found.in_order) == (None, "", listed)
    assert found.guarantee.adjacency == adjacency
    assert found.guarantee.numerics == ("simulation" if simulated else "exact")
    assert ("users" in found.facts) == (adjacency == "replace") == ("30 users" in found.title)


def test_of_ballots_that_may_name_few_items_the_best_are_those_of_the_totals(approvals):
    data = read(approvals, kind="approvals")
    found = pr.consensus(data, user(), method="top-k", top_k=2, limit=1)
    assert (found.facts["method"], found.facts["selected_by"]) == ("top-k", "scores")
    assert len(found.names) == 2
    assert found.scores is not None
    one = pr.consensus(data, user(), method="top-k", top_k=1, limit=1)
    assert one.facts["selected_by"] == "canonical"
    every = pr.consensus(data, user(), top_k=3)  # of which a set says nothing
    assert (every.facts["selected_by"], every.scores is None) == ("scores", False)


def test_points_of_a_scale_have_noise_in_its_range(stars):
    data, asked = (
        Ratings.read(stars, ratings="1:9", items="seen"),
        {"method": "canonical", "points": "1-5"},
    )
    found = pr.consensus(data, user(), top_k=2, **asked)
    assert found.names == ["Ann", "Cy"]
    assert found.facts["noise_scale"] == pytest.approx(4 * 4 / 1000)
    assert pr.consensus(data, user(), top_k=1, **asked).facts["noise_scale"] == 8 / 1000


def test_ties_blank_ballots_and_a_tiny_budget_leave_a_random_choice(write):
    path = write("u1,,", "u2,,", header="user,a,b", name="approvals.csv")
    data = read(path, kind="approvals")
    seen = {pr.consensus(data, user(0.01), top_k=1).names[0] for _ in range(30)}
    assert seen == {"a", "b"}  # misses one with probability 2e-9
