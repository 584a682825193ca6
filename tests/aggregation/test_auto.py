"""The choice of a method, from public facts alone."""

from __future__ import annotations

import pytest

from privrank_jax.aggregation import choose_method
from privrank_jax.cli.aggregate.command import METHODS


@pytest.mark.parametrize("trust", ["central", "local"])
def test_the_choice_is_a_method_of_the_command(trust):
    for items in (2, 10, 100):
        for users in (1, 100, 10**6):
            for epsilon in (0.01, 1.0, 10.0):
                method = choose_method(items, users, epsilon, trust)
                assert method in set(METHODS) - {"auto", "none"}
                assert (method, trust) != ("exponential", "local")


def test_noise_that_decides_leads_to_borda():
    assert choose_method(30, 500, 0.5) == "borda"
    assert choose_method(30, 500, 0.5, "local") == "borda"


def test_noise_that_is_negligible_leads_to_a_solver():
    # Laplace scale m(m-1)/(2nε) = 0.01, and just above it.
    assert choose_method(10, 4500, 1.0) == "noise-all"
    assert choose_method(10, 4499, 1.0) == "borda"
    assert choose_method(10, 2000, 1.0, delta=1e-6) == "borda"
    assert choose_method(10, 4000, 1.0, delta=1e-6) == "noise-all"
    assert choose_method(3, 10**6, 4.0, "local") == "noise-all"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 10, 1.0), "num_items must be at least 2"),
        ((3, 0, 1.0), "num_users"),
        ((3, 10, 0.0), "epsilon must be positive"),
        ((3, 10, 1.0, "shared"), "trust must be one of"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(ValueError, match=message):
        choose_method(*arguments)
