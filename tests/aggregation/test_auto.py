"""The choice of a method, from public facts alone."""

from __future__ import annotations

import math

import pytest

from privrank_jax.aggregation import choose_method
from privrank_jax.aggregation.auto import NEGLIGIBLE_NOISE
from privrank_jax.aggregation.noise_all import noise_all_deviation
from privrank_jax.cli.aggregate.request import METHODS
from tests.promises import user


@pytest.mark.parametrize("trust", ["central", "local"])
def test_the_choice_is_a_method_of_the_command(trust):
    for items in (2, 10, 100):
        for users in (1, 100, 10**6):
            for epsilon in (0.01, 1.0, 10.0):
                method = choose_method(items, users, user(epsilon), trust=trust)
                assert method in set(METHODS) - {"auto", "none"}
                assert (method, trust) != ("exponential", "local")


def test_noise_that_decides_leads_to_borda():
    assert choose_method(30, 500, user(0.5)) == "borda"
    assert choose_method(30, 500, user(0.5), trust="local") == "borda"


def test_noise_that_is_negligible_leads_to_a_solver():
    for noise, delta in (("k-norm", 0.0), ("laplace", 0.0), ("gaussian", 1e-6)):
        promise = user(1.0, delta)
        users = noise_all_deviation(10, 1, promise, noise=noise) / NEGLIGIBLE_NOISE
        assert choose_method(10, math.ceil(users), promise, noise=noise) == "noise-all"
        assert choose_method(10, math.floor(users), promise, noise=noise) == "borda"
    assert choose_method(3, 10**6, user(4.0), trust="local") == "noise-all"


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
