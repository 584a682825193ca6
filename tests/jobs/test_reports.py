"""What files of randomized answers promise: the largest ε of a report, and of all that a user gave."""

from __future__ import annotations

import numpy as np

from privrank_jax.data import Rankings, Reports, SyntheticRankings
from privrank_jax.jobs.reports import reports_guarantee
from privrank_jax.jobs.synthetic import rankings_guarantee


def test_reports_promise_the_largest_epsilon_and_the_largest_sum_of_a_user():
    table = Reports(
        users=np.array([0, 0, 1]), first=np.array([0, 0, 1]), second=np.array([1, 2, 2]),
        reports=np.array([True, False, True]), epsilon=np.array([0.5, 1.0, 1.25]),
        item_names=("a", "b", "c"), user_names=("u", "v"), name="reports.csv",
    )  # fmt: skip
    found = reports_guarantee(table, "exact", "n")
    assert (found.epsilon, found.unit, found.adjacency, found.trust) == (
        1.25, "comparison", "flip", "local",
    )  # fmt: skip
    (user,) = found.also
    assert (user.epsilon, user.unit, user.adjacency) == (1.5, "user", "flip")


def test_rankings_promise_each_rank_and_all_of_a_user_and_say_what_is_public():
    def table(ranks, epsilon):
        rows = Rankings(np.array(ranks), item_names=("a", "b", "c"))
        return SyntheticRankings(rows, np.array(epsilon))

    whole = rankings_guarantee(table([[0, 1, 2], [2, 1, 0]], [1.0, 1.0]), "exact")
    assert (whole.epsilon, whole.unit) == (1.0, "rank")
    assert whole.attained.public == ()
    (user,) = whole.also
    assert (user.unit, user.epsilon) == ("user", 1.5)  # ε k/2 for k = 3
    some = rankings_guarantee(table([[0, 1, -1], [2, 1, 0]], [1.0, 2.0]), "exact")
    assert some.attained.public == ("budgets", "ranked-items")
    assert some.epsilon == 2.0
