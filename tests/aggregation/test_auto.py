"""The choice of a method, from public facts alone."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest

from privrank_jax.aggregation import (
    borda_scores,
    choose_method,
    ldp_borda_subsets,
    sub_ranking_weights,
)
from privrank_jax.aggregation.auto import NEGLIGIBLE_NOISE, choose_report
from privrank_jax.aggregation.noisy_weights import noise_all
from privrank_jax.aggregation.subset_selection import subset_norm
from privrank_jax.jobs.methods import CONSENSUS
from privrank_jax.mechanism import Facts
from tests.promises import user


@pytest.mark.parametrize("trust", ["central", "local"])
def test_the_choice_is_a_method_of_the_command(trust):
    for items in (2, 10, 100):
        for users in (1, 100, 10**6):
            for epsilon in (0.01, 1.0, 10.0):
                method = choose_method(items, users, user(epsilon), trust=trust)
                assert trust in CONSENSUS[method].trusts


def test_noise_that_decides_leads_to_borda():
    assert choose_method(30, 500, user(0.5)) == "borda"
    assert choose_method(30, 500, user(0.5), trust="local") == "borda"


def test_noise_that_is_negligible_leads_to_a_solver():
    users = noise_all.noise(user(1.0), Facts(10, 1), "laplace").deviation() / NEGLIGIBLE_NOISE
    assert choose_method(10, math.ceil(users), user(1.0), noise="laplace") == "noise-all"
    assert choose_method(10, math.floor(users), user(1.0), noise="laplace") == "borda"
    assert choose_method(3, 10**6, user(4.0), trust="local") == "noise-all"


def test_weights_are_chosen_wherever_pairs_get_a_share_of_the_budget():
    users = noise_all.noise(user(1.0), Facts(10, 1)).deviation() / 0.25
    assert choose_method(10, math.ceil(users), user(1.0)) == "weights"
    assert choose_method(10, math.floor(users), user(1.0)) == "borda"
    for number in (3, 10**6):
        assert choose_method(10, number, user(1.0, 1e-6), noise="gaussian") == "weights"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_items": 1}, "num_items must be at least 2"),
        ({"num_users": 0}, "num_users"),
        ({"noise": "gaussian"}, "needs delta > 0"),
        ({"noise": "uniform"}, "noise must be one of"),
        ({"trust": "shared"}, "trust must be one of"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        choose_method(**{"num_items": 3, "num_users": 10, "privacy": user(1.0)} | arguments)


def test_reports_are_of_the_kind_with_the_smaller_error():
    """One pair while ε is small, and for more than 20 items; two sets where pairs outnumber users."""
    for items in (5, 10, 20):
        chosen = [choose_report(items, 10**5, user(epsilon)) for epsilon in (0.5, 1.0, 2.0, 5.0)]
        assert chosen == ["one-pair"] * 2 + ["subset-selection"] * 2
    assert choose_report(10, 44, user(0.5)) == "subset-selection"
    assert choose_report(21, 10**5, user(5.0)) == "one-pair"
    assert choose_report(21, 10, user(5.0)) == "one-pair"


@pytest.mark.parametrize(("num_items", "num_users"), [(1, 10), (3, 0)])
def test_reports_need_users_and_items(num_items, num_users):
    with pytest.raises(ValueError, match=r"num_items|num_users"):
        choose_report(num_items, num_users, user(1.0))


def test_the_errors_behind_the_choice_are_those_of_reports(key):
    """Mean squared errors of 400 releases from 300 users, a quarter of whom reverse the others' ranking of 4 items.

    So (2w - 1)² = 1/4 on each pair. The means are within 6 standard errors of the formulas, which are further apart.
    """
    ranks = np.array([[0, 1, 2, 3]] * 225 + [[3, 2, 1, 0]] * 75)
    truth = (1.5 - ranks).mean(0) + 1.5
    epsilon, users, pairs, agreement = 3.0, 300, 6, 0.25
    keys = jax.random.split(key, 400)

    @jax.jit
    def sets(key):
        return ldp_borda_subsets(key, ranks, user(epsilon)).value

    @jax.jit
    def one_pair(key):
        return borda_scores(sub_ranking_weights(key, ranks, user(epsilon), size=2).value)

    errors = [
        np.sum((np.asarray(jax.lax.map(run, keys)) - truth) ** 2, axis=1)
        for run in (sets, one_pair)
    ]
    expected = [
        (float(subset_norm(4, epsilon)) ** 2 - 5) / users,
        pairs**2 / (2 * users) * (1 / np.tanh(epsilon / 2) ** 2 - agreement)
        - 5 * (1 - agreement) / users,
    ]
    for error, mean in zip(errors, expected):
        assert abs(error.mean() - mean) < 6 * error.std() / 20
    assert abs(expected[0] - expected[1]) > 8 * errors[1].std() / 20
