"""Randomized answers: which item is which, how often it is flipped, what becomes of ties, and what is promised."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import Comparisons, Rankings, Reports, SyntheticRankings
from privrank_jax.jobs.reports import reports_guarantee
from privrank_jax.jobs.synthetic import rankings_guarantee


def table(count=4, ties=()):
    winners = np.arange(count) % 2 * 2  # a or c
    return Comparisons(
        np.arange(count), winners, np.full(count, 1), np.isin(np.arange(count), ties),
        ("a", "b", "c"), user_names=tuple(f"u{k}" for k in range(count)), name="votes",
    )  # fmt: skip


def reports(rows, epsilon, **options):
    found = pr.randomize(rows, epsilon, key=jax.random.key(2), **options)
    return found.data, [one for one in found.warnings if "protection" not in one]


def test_a_report_says_whether_the_first_item_of_the_pair_won():
    found, _ = reports(table(), 1e6)
    assert found.first.tolist() == [0, 1, 0, 1]
    assert found.second.tolist() == [1, 2, 1, 2]
    assert found.reports.tolist() == [True, False, True, False]


def test_ties_are_refused_decided_by_a_coin_or_dropped():
    rows = table(4000, ties=range(0, 4000, 2))
    with pytest.raises(ValueError, match="2000 of 4000"):
        reports(rows, 1e6)
    coins, remark = reports(rows, 1e6, ties="coin")
    assert len(coins.reports) == 4000
    assert "coin" in remark[0]
    assert abs(np.mean(coins.reports[::2]) - 0.5) < 0.06
    rest, _ = reports(rows, 1e6, ties="drop")
    assert len(rest.reports) == 2000
    with pytest.raises(ValueError, match="nothing"):
        reports(table(4, ties=range(4)), 1.0, ties="drop")


def test_reports_promise_the_largest_epsilon_and_the_largest_sum_of_a_user():
    answers = Reports(
        users=np.array([0, 0, 1]), first=np.array([0, 0, 1]), second=np.array([1, 2, 2]),
        reports=np.array([True, False, True]), epsilon=np.array([0.5, 1.0, 1.25]),
        item_names=("a", "b", "c"), user_names=("u", "v"), name="reports.csv",
    )  # fmt: skip
    found = reports_guarantee(answers, "exact", "n")
    assert (found.epsilon, found.unit, found.adjacency, found.trust) == (
        1.25, "comparison", "flip", "local",
    )  # fmt: skip
    (user,) = found.also
    assert (user.epsilon, user.unit, user.adjacency) == (1.5, "user", "flip")


def test_rankings_promise_each_rank_and_all_of_a_user_and_say_what_is_public():
    def told(ranks, epsilon):
        rows = Rankings(np.array(ranks), item_names=("a", "b", "c"))
        return SyntheticRankings(rows, np.array(epsilon))

    whole = rankings_guarantee(told([[0, 1, 2], [2, 1, 0]], [1.0, 1.0]), "exact")
    assert (whole.epsilon, whole.unit) == (1.0, "rank")
    assert whole.attained.public == ()
    (user,) = whole.also
    assert (user.unit, user.epsilon) == ("user", 1.5)  # ε k/2 for k = 3
    some = rankings_guarantee(told([[0, 1, -1], [2, 1, 0]], [1.0, 2.0]), "exact")
    assert some.attained.public == ("budgets", "ranked-items")
    assert some.epsilon == 2.0
