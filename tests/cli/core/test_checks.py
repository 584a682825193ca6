"""Options that are refused before any data are read."""

from __future__ import annotations

import math

import pytest

from privrank_jax.cli.console import Refusal
from privrank_jax.cli.core import checks
from privrank_jax.cli.core.request import Budget, Release


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "--epsilon is missing"),
        ({"epsilon": 0.0}, "--epsilon must be a positive number"),
        ({"epsilon": math.nan}, "--epsilon must be a positive number"),
        ({"epsilon": math.inf}, "--epsilon must be a positive number"),
        ({"epsilon": 1e-10}, "so small that the result would be noise alone"),
        ({"epsilon": 2e9}, "so large that almost no noise is left"),
        ({"epsilon": 1.0, "noise": "normal"}, "--noise 'normal' is unknown"),
        ({"epsilon": 1.0, "delta": 1.0}, "--delta must be at least 0 and below 1"),
        ({"epsilon": 1.0, "delta": 1e-6}, "--delta is for Gaussian noise"),
        ({"epsilon": 1.0, "noise": "gaussian"}, "--noise gaussian needs a --delta"),
    ],
)
def test_budgets_that_are_refused(options, message):
    with pytest.raises(Refusal, match=message):
        checks.check_budget(Budget(**options))


def test_usual_budgets_pass_in_silence_and_large_ones_with_a_warning(capsys):
    checks.check_budget(Budget(epsilon=1.0))
    checks.check_budget(Budget(epsilon=1.0, noise="gaussian", delta=1e-6))
    assert capsys.readouterr().err == ""
    checks.check_budget(Budget(epsilon=11.0))
    assert "gives almost no protection" in capsys.readouterr().err


@pytest.mark.parametrize("units", [1, 3, 49, 200, 10**6])
def test_deltas_of_1_over_the_units_are_warned_of(units):
    assert checks.about_delta(0.0, units, "user") == ()
    assert checks.about_delta(math.nextafter(1 / units, 0), units, "user") == ()
    (said,) = checks.about_delta(1 / units, units, "user")
    assert f"number of users, {units:,}" in said


def test_a_seed_is_for_rehearsals():
    checks.check_rehearsal(Release(source="x", simulate=True, seed=3))
    with pytest.raises(Refusal, match="makes the noise predictable"):
        checks.check_rehearsal(Release(source="x", seed=3))


def test_items_are_neither_too_few_nor_too_many():
    checks.check_items("votes", 5, 10, top_k=5)
    for count, top_k, message in (
        (5, 6, "--top-k 6 is more than there are items"),
        (11, None, "takes at most 10"),
        (1, None, "at least two items"),
    ):
        with pytest.raises(Refusal, match=message):
            checks.check_items("votes", count, 10, top_k=top_k)
