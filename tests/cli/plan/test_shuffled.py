"""``privrank plan --shuffled``: one answer per user, whose sender a shuffler hides."""

from __future__ import annotations

import jax.numpy as jnp
import pytest

from privrank_jax import privacy
from privrank_jax.pairwise import planner

BASE = ("plan", "--items", 6, "--shuffled", "--delta", 1e-6, "--json")


@pytest.mark.parametrize("question", ["secret", "public"])
def test_the_error_is_that_of_one_answer_at_the_local_epsilon(privrank, question):
    found = privrank(*BASE, "--epsilon", 0.8, "--users", 3000, "--question", question).json()
    among = 3000 if question == "secret" else 200
    local = privacy.shuffled_local_epsilon(among, 0.8, 1e-6, question=question)
    assert found["local_epsilon"] == pytest.approx(local)
    plan = planner.planned_error(jnp.linspace(-1, 1, 6), local, 3000.0, share_observed=1 / 15)
    assert found["error"]["expected"] == pytest.approx(float(plan.expected), rel=1e-5)
    assert (found["answers_per_user"], found["trust"]) == (1, "shuffled")
    assert found["epsilon_per_user"] == 0.8


@pytest.mark.parametrize("question", ["secret", "public"])
def test_users_epsilon_and_error_agree(privrank, question):
    base = (*BASE, "--question", question)
    needed = privrank(*base, "--epsilon", 0.8, "--target", 0.2).json()
    users = needed["users_needed"]
    assert needed["error"]["expected"] <= 0.2 * (1 + 1e-5)
    fewer = privrank(*base, "--epsilon", 0.8, "--users", int(0.99 * users)).json()
    assert fewer["error"]["expected"] > 0.2
    assert needed["users_needed_without_privacy"] < users
    alone = privrank("plan", "--items", 6, "--json", "--epsilon", 0.8, "--target", 0.2,
                     "--share-observed", 1 / 15).json()  # fmt: skip
    assert users < alone["users_needed"] / 2  # without a shuffler
    back = privrank(*base, "--users", users, "--target", 0.2).json()
    assert back["epsilon"]["min"] == pytest.approx(0.8, rel=0.01)


def test_in_words(privrank):
    result = privrank("plan", "--items", 6, "--trust", "shuffled", "--delta", 1e-6, "--epsilon", 1,
                      "--users", 900)  # fmt: skip
    assert result.code == 0, result.err
    assert "tells nobody which" in result.out
    assert "epsilon of the answer itself" in result.out
    public = privrank("plan", "--items", 6, "--shuffled", "--delta", 1e-6, "--epsilon", 1, "--users", 900,
                      "--question", "public")  # fmt: skip
    assert "is assigned one of the pairs, publicly" in public.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--shuffled",), "needs a --delta"),
        (("--shuffled", "--delta", 1.0), "--delta must be"),
        (("--shuffled", "--delta", 1e-6, "--trust", "local"), "leave --trust local out"),
        (("--shuffled", "--delta", 1e-6, "--share-observed", 0.5), "leave --share-observed"),
        (("--shuffled", "--delta", 1e-6, "--question", "open"), "--question"),
        (("--delta", 1e-6), "--delta is for shuffled"),
        (("--trust", "central"), "--trust central needs --max-per-user"),
        (("--method", "borda"), "--method does not apply"),
    ],
)
def test_refusals(privrank, options, message):
    result = privrank("plan", "--items", 6, "--users", 900, "--epsilon", 1, *options)
    assert (result.code, result.out) == (2, "")
    assert message.lower() in result.err.lower()


def test_targets_beyond_the_largest_crowd(privrank):
    result = privrank("plan", "--items", 6, "--shuffled", "--delta", 1e-6, "--epsilon", 1,
                      "--target", 1e-6)  # fmt: skip
    assert result.code == 2
    assert "takes more than" in result.err
