"""The choice of a method, from public facts alone."""

from __future__ import annotations

import math

import pytest

from privrank_jax.aggregation import (
    choose_method,
)
from privrank_jax.aggregation.auto import NEGLIGIBLE_NOISE, choose_report
from privrank_jax.aggregation.noisy_weights import noise_all
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


def test_reports_are_of_the_kind_with_the_smaller_error():
    """One pair while ε is small, and for more than 20 items; two sets where pairs outnumber users."""
    for items in (5, 10, 20):
        chosen = [choose_report(items, 10**5, user(epsilon)) for epsilon in (0.5, 1.0, 2.0, 5.0)]
        assert chosen == ["one-pair"] * 2 + ["subset-selection"] * 2
    assert choose_report(10, 44, user(0.5)) == "subset-selection"
    assert choose_report(21, 10**5, user(5.0)) == "one-pair"
    assert choose_report(21, 10, user(5.0)) == "one-pair"
