"""``privrank plan``: the three questions, their answers against the library and one another, refusals."""

from __future__ import annotations

import math

import jax.numpy as jnp
import pytest

from privrank_jax.pairwise import planner


def test_the_error_of_a_survey(privrank):
    found = privrank(
        "plan", "--items", 8, "--epsilon", 1, "--epsilon-max", 3, "--users", 500,
        "--share-observed", 0.5, "--spread", 1.5, "--link", "normal", "--json",
    ).json()  # fmt: skip
    plan = planner.planned_error(
        jnp.linspace(-1.5, 1.5, 8), planner.uniform_budgets(1.0, 3.0), 500, share_observed=0.5,
        link="normal",
    )  # fmt: skip
    for name in ("expected", "upper", "rms"):
        assert found["error"][name] == pytest.approx(float(getattr(plan, name)), rel=1e-6)
        assert found["error_without_privacy"][name] < found["error"][name]
    assert found["effective_users"] == pytest.approx(float(plan.effective_users), rel=1e-6)
    assert found["answers_per_user"] == 14
    assert found["epsilon_per_user"] == 42
    assert found["rate"] == pytest.approx(1 / math.sqrt(8 * 0.5 * found["effective_users"]))
    assert found["users_needed"] is found["more_users"] is found["target"] is None


def test_users_epsilon_and_error_agree(privrank):
    base = ("plan", "--items", 8, "--confidence", 0.9, "--json")
    needed = privrank(*base, "--epsilon", 1.2, "--target", 0.15).json()
    assert needed["users"] == needed["users_needed"] == needed["more_users"]
    assert needed["users_needed_without_privacy"] < needed["users"] / 3
    assert needed["error"]["upper"] == pytest.approx(0.15, rel=0.01)
    assert needed["error"]["upper"] <= 0.15 * (1 + 1e-5)
    users = needed["users"]
    more = privrank(*base, "--epsilon", 1.2, "--target", 0.15, "--users", 100).json()
    assert (more["users_needed"], more["more_users"]) == (users, users - 100)
    epsilon = privrank(*base, "--target", 0.15, "--users", users).json()["epsilon"]
    assert epsilon["min"] == epsilon["max"] == pytest.approx(1.2, rel=0.01)


def test_in_words(privrank):
    result = privrank("plan", "--items", 8, "--epsilon", 1, "--target", 0.15, "--users", 100)
    assert result.code == 0, result.err
    assert "more users" in result.out
    assert "users needed without privacy" in result.out
    assert "All answers of one user together" in result.out
    enough = privrank("plan", "--items", 8, "--epsilon", 1, "--target", 0.15, "--users", 10_000)
    assert "10,000 users are enough" in enough.out
    assert "users may each have epsilon" in privrank(
        "plan", "--items", 8, "--users", 10_000, "--target", 0.15
    ).out  # fmt: skip
    small = privrank("plan", "--items", 8, "--epsilon", 0.5, "--users", 20)
    assert small.code == 0
    assert "too large for the theory" in small.err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--items", 8, "--users", 10), "give two of"),
        (("--items", 1, "--users", 10, "--epsilon", 1), "at least 2 items"),
        (("--items", 8, "--users", 10, "--epsilon", 0), "--epsilon 0.0 must be"),
        (("--items", 8, "--users", 10, "--epsilon", "inf"), "--epsilon inf must be"),
        (("--items", 8, "--users", 10, "--epsilon", "nan"), "--epsilon nan must be"),
        (("--items", 8, "--users", -1, "--epsilon", 1), "--users -1 must be"),
        (("--items", 8, "--users", 9, "--target", 1, "--epsilon-max", 1), "needs --epsilon"),
        (("--items", 8, "--users", 9, "--epsilon", 2, "--epsilon-max", 1), "is below --epsilon"),
        (("--items", 8, "--users", 9, "--epsilon", 1, "--share-observed", 1.2), "--share-observed"),
        (("--items", 8, "--users", 9, "--epsilon", 1, "--confidence", 1.0), "--confidence"),
        (("--items", 8, "--users", 9, "--epsilon", 1, "--link", "logistc"), "Did you mean"),
        (("--items", 8, "--users", 20, "--target", 0.1), "20 users are too few"),
    ],
)
def test_refusals(privrank, options, message):
    result = privrank("plan", *options)
    assert (result.code, result.out) == (2, "")
    assert message.lower() in result.err.lower()
