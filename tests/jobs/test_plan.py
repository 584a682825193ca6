"""Plans: the three questions of each kind, their answers against the library and one another, refusals."""

from __future__ import annotations

import math

import jax.numpy as jnp
import pytest

from privrank_jax import aggregation, plan, privacy
from privrank_jax.aggregation import bounds
from privrank_jax.aggregation.auto import choose_method
from privrank_jax.aggregation.error_proofs import least_proven_error
from privrank_jax.aggregation.planned_errors import Setting
from privrank_jax.pairwise import planner
from tests import of_rankings
from tests.promises import user

CENTRAL = {"trust": "central", "items": 10, "max_per_user": 10}
SHUFFLED = {"items": 6, "trust": "shuffled", "delta": 1e-6}
CONSENSUS = {"rankings": True, "items": 6}


def test_the_error_of_a_survey():
    found = plan(
        8, epsilon=1, epsilon_max=3, users=500, share_observed=0.5, spread=1.5, link="normal"
    ).to_dict()
    scores, budgets = jnp.linspace(-1.5, 1.5, 8), planner.uniform_budgets(1.0, 3.0)
    error = planner.planned_error(scores, budgets, 500, share_observed=0.5, link="normal")
    for name in ("expected", "upper", "rms"):
        assert found["error"][name] == pytest.approx(float(getattr(error, name)), rel=1e-6)
        assert found["error_without_privacy"][name] < found["error"][name]
    assert found["effective_users"] == pytest.approx(float(error.effective_users), rel=1e-6)
    assert (found["answers_per_user"], found["epsilon_per_user"]) == (14, 42)
    assert found["rate"] == pytest.approx(1 / math.sqrt(8 * 0.5 * found["effective_users"]))
    assert found["users_needed"] is found["more_users"] is found["target"] is None


def test_users_epsilon_and_error_of_a_survey_agree():
    common = {"items": 8, "confidence": 0.9, "target": 0.15}
    needed = plan(**common, epsilon=1.2).facts
    users = needed["users"]
    assert users == needed["users_needed"] == needed["more_users"]
    assert needed["users_needed_without_privacy"] < users / 3
    assert 0.1485 < needed["error"]["upper"] <= 0.15 * (1 + 1e-5)
    more = plan(**common, epsilon=1.2, users=100).facts
    assert (more["users_needed"], more["more_users"]) == (users, users - 100)
    budget = plan(**common, users=users).facts["epsilon"]
    assert budget["min"] == budget["max"] == pytest.approx(1.2, rel=0.01)


@pytest.mark.parametrize("question", ["secret", "public"])
def test_shuffled_answers_have_the_error_of_one_answer_at_the_local_epsilon(question):
    common = {**SHUFFLED, "question": question, "epsilon": 0.8}
    found = plan(**common, users=3000).facts
    among = 3000 if question == "secret" else 200
    local = privacy.shuffled_local_epsilon(among, 0.8, 1e-6, question=question)
    assert found["local_epsilon"] == pytest.approx(local)
    error = planner.planned_error(jnp.linspace(-1, 1, 6), local, 3000.0, share_observed=1 / 15)
    assert found["error"]["expected"] == pytest.approx(float(error.expected), rel=1e-5)
    assert (found["answers_per_user"], found["trust"], found["epsilon_per_user"]) == (
        1,
        "shuffled",
        0.8,
    )
    needed = plan(**common, target=0.2).facts
    users = needed["users_needed"]
    assert needed["error"]["expected"] <= 0.2 * (1 + 1e-5)
    assert plan(**common, users=int(0.99 * users)).facts["error"]["expected"] > 0.2
    alone = plan(6, epsilon=0.8, target=0.2, share_observed=1 / 15).facts["users_needed"]
    assert needed["users_needed_without_privacy"] < users < alone / 2  # without a shuffler
    back = plan(**SHUFFLED, question=question, users=users, target=0.2).facts
    assert back["epsilon"]["min"] == pytest.approx(0.8, rel=0.01)


def test_two_give_the_third_of_scores_that_a_curator_publishes():
    first = plan(**CENTRAL, epsilon=1, target=0.1).facts
    users = first["users_needed"]
    assert (first["users"], first["trust"], first["adjacency"]) == (users, "central", "replace")
    assert first["error"]["expected"] == pytest.approx(0.1, rel=1e-3)
    assert 0 < first["users_needed_without_privacy"] < users
    second = plan(**CENTRAL, users=users, target=0.1).facts
    assert second["epsilon"] == pytest.approx(1, rel=1e-2)
    third = plan(**CENTRAL, users=users, epsilon=1).facts
    assert third["error"] == pytest.approx(first["error"])
    pairs = plan(**CENTRAL, epsilon=1, target=0.02, error="pairs", exposure=1, near=True)
    assert pairs.facts["error"]["wrong_pairs"] == pytest.approx(0.02, rel=5e-3)
    assert "at most 0.02 of all pairs in the wrong order" in pairs.paragraphs[0]


@pytest.mark.parametrize(
    ("adjacency", "scale"), [("flip", 20), ("replace", 40 / 0.9), ("add-remove", 20 / 0.9)]
)
def test_the_promise_decides_the_noise(adjacency, scale):
    found = plan(**CENTRAL, users=900, epsilon=1, adjacency=adjacency)
    assert found.facts["noise_scale"] == pytest.approx(scale)


def test_the_methods_of_a_consensus_are_the_librarys():
    found = plan(**CONSENSUS, users=400, epsilon=0.5, optimum=3).facts
    rows = aggregation.proven_errors(6, 400, user(0.5))
    for one, row in zip(found["methods"], rows, strict=True):
        assert (one["method"], one["noise"]) == (row.method, row.noise)
        assert one["proven_cost"] == pytest.approx(row.cost(3), rel=1e-5)
        planned = aggregation.planned_costs(row, 6, [Setting(400, user(0.5))])
        assert one["expected_cost"] == (
            planned if planned is None else pytest.approx(planned[0], rel=1e-3)
        )
    least = least_proven_error(6, 400, user(0.5), optimum=3)
    assert found["proven_best"].split()[0] == least.method
    assert found["auto"] == choose_method(6, 400, user(0.5))
    assert (found["pairs"], found["trust"], found["quantity"]) == (15, "central", None)
    assert found["proven_needed"] is found["expected_needed"] is None


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"method": "borda", "optimum": 0.1},
        {"trust": "local", "confidence": 0.9},
        {"trust": "shuffled", "delta": 1e-6},
    ],
)
def test_users_for_a_target_suffice_and_few_less_do_not(options):
    found = plan(**CONSENSUS, epsilon=1, target=0.8, **options).facts

    def cost(kind, needed, users):
        methods = plan(**CONSENSUS, epsilon=1, users=int(users), **options).facts["methods"]
        same = (needed["method"], needed["noise"])
        return next(one[f"{kind}_cost"] for one in methods if (one["method"], one["noise"]) == same)

    proven, expected = found["proven_needed"], found["expected_needed"]
    assert found["users"] == proven["value"] == int(proven["value"])
    below = cost("proven", proven, 0.99 * proven["value"])
    assert cost("proven", proven, proven["value"]) <= 0.8 < below
    assert 0 < expected["value"] < proven["value"]
    assert 0.4 < cost("expected", expected, expected["value"]) <= 0.8 * (1 + 1e-6)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_users_who_come_or_go_take_half_as_many_for_the_same_target(delta):
    """Where all of the budget is for pairs in both, and for Borda whatever the number of users."""
    for method, target in (("borda", 12.0), ("weights", 0.4)):
        options = {**CONSENSUS, "epsilon": 1, "target": target, "method": method, "delta": delta}
        options["optimum"] = 1 if method == "borda" else None
        whole, half = (
            plan(**options, adjacency=one).facts["proven_needed"]
            for one in ("replace", "add-remove")
        )
        assert whole["method"] == half["method"] == method
        assert half["value"] == pytest.approx(whole["value"] / 2, rel=0.01, abs=1)


def test_a_consensus_of_users_who_come_or_go():
    added = {name for name, one in of_rankings.CONSENSUS.items() if "add-remove" in one.adjacencies}
    assert set(bounds.SUMMED) == added
    found = plan(**CONSENSUS, users=200, epsilon=1, adjacency="add-remove")
    assert {one["method"] for one in found.facts["methods"]} == {"borda", "weights"}
    assert (found.facts["auto"], found.facts["adjacency"]) == ("borda", "add-remove")
    assert "users added or removed" in found.title
    assert "is not published" in found.opening


def test_epsilon_for_the_target_of_a_consensus():
    found = plan(**CONSENSUS, users=2000, target=0.5).facts
    assert found["quantity"] == "epsilon"
    assert found["epsilon"] == found["proven_needed"]["value"] > found["expected_needed"]["value"]
    assert 0.499 < min(one["proven_cost"] for one in found["methods"]) <= 0.5
    enough = plan(**CONSENSUS, users=2000, epsilon=1, target=0.5).facts
    assert (enough["users"], enough["epsilon"], enough["quantity"]) == (2000, 1, "users")
    assert enough["proven_needed"]["value"] <= 2000


@pytest.mark.parametrize("share", [1 / 15, 0.0667, 0.01])
def test_nobody_is_told_to_answer_less_than_one_pair(share):
    several = plan(6, epsilon=1, users=500, share_observed=0.2)
    assert "about 3 answers has epsilon = 3 in all" in several.opening
    assert "a smaller --share-observed" in several.paragraphs[-1]
    alone = plan(6, epsilon=1, users=500, share_observed=share)
    assert "which is all that a user answers" in alone.opening
    assert "smaller --share-observed" not in str(alone)
    assert alone.facts["epsilon_per_user"] == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "users randomize their own answers"),
        (
            {"trust": "shuffled", "delta": 1e-6},
            "a shuffler hides who sent which (--trust shuffled)",
        ),
        ({"trust": "central", "max_per_user": 2}, "a curator sees all answers"),
        ({"rankings": True}, "a curator sees all rankings"),
        ({"rankings": True, "trust": "local"}, "users randomize their own rankings"),
        ({"rankings": True, "trust": "shuffled", "delta": 1e-6}, "a shuffler hides who sent which"),
    ],
)
def test_a_plan_says_first_who_sees_the_answers(options, words):
    found = plan(6, epsilon=1, users=500, **options)
    assert words in found.opening
    assert str(found).startswith(found.opening)
    assert all(one in found._repr_html_() for one in (found.title, "<table>"))
    frame = found.to_frame()
    assert len(frame) == len(found.rows)
    assert found.plot().axes


def test_what_a_plan_warns_of():
    assert "too large for the theory" in plan(8, epsilon=0.5, users=20).warnings[0]
    usual = {**CONSENSUS, "users": 100, "epsilon": 1}
    assert "number of users, 100:" in plan(**usual, delta=0.01).warnings[0]
    assert plan(**usual, delta=0.001).warnings == ()


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"users": 10}, "give two of"),
        ({"items": 1}, "items"),
        ({"epsilon": 0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"users": -1}, "users"),
        ({"epsilon_max": 0.5}, "epsilon_max"),
        ({"share_observed": 1.2}, "share_observed"),
        ({"confidence": 1.0}, "confidence"),
        ({"link": "logistc"}, "link"),
        ({"users": 20, "epsilon": None, "target": 0.1}, "20 users are too few"),
        ({"delta": 1e-6}, "delta"),
        ({"method": "borda"}, "method"),
        ({"exposure": 1}, "exposure"),
        ({"trust": "shuffled"}, "delta"),
        ({**SHUFFLED, "delta": 1.0}, "delta"),
        ({**SHUFFLED, "share_observed": 0.5}, "share_observed"),
        ({**SHUFFLED, "question": "open"}, "question"),
        ({**SHUFFLED, "users": None, "target": 1e-6}, "takes more than"),
        ({"trust": "central"}, "max_per_user"),
        ({**CENTRAL, "max_per_user": 0}, "max_per_user"),
        ({**CENTRAL, "target": 0.6, "error": "pairs"}, "target"),
        ({**CENTRAL, "error": "rms"}, "error"),
        ({**CENTRAL, "exposure": -1}, "exposure"),
        ({**CENTRAL, "adjacency": "rank"}, "adjacency"),
        ({**CENTRAL, "link": "laplace"}, "link"),
        ({**CENTRAL, "users": 3, "epsilon": None, "target": 0.01}, "3 users are too few"),
        ({**CENTRAL, "users": None, "epsilon": 1e-5, "target": 1e-9}, "takes more than"),
        ({**CONSENSUS, "max_per_user": 2}, "max_per_user"),
        ({**CONSENSUS, "items": 201}, "items"),
        ({**CONSENSUS, "items": 21, "method": "exponential"}, "no method fits"),
        ({**CONSENSUS, "trust": "shuffled", "delta": 1e-4, "users": 9}, "no method fits"),
        ({**CONSENSUS, "target": 0}, "target"),
        (
            {**CONSENSUS, "epsilon": None, "target": 1e-9, "method": "kwiksort"},
            "no method is proven",
        ),
        ({**CONSENSUS, "link": "normal"}, "link"),
        ({**CONSENSUS, "method": "bordo"}, "method"),
        ({**CONSENSUS, "optimum": -1}, "optimum"),
        ({**CONSENSUS, "adjacency": "flip"}, "replace or add-remove"),
        ({**CONSENSUS, "adjacency": "add-remove", "trust": "local"}, "by a curator alone"),
        ({**CONSENSUS, "adjacency": "add-remove", "method": "footrule"}, "method borda or weights"),
        ({"adjacency": "add-remove"}, "adjacency"),
        ({"rule": "copeland"}, "rule"),
    ],
)
def test_refusals(options, name):
    given = {"items": 8, "users": 900, "epsilon": 1, **options}
    if options == {"users": 10}:
        del given["epsilon"]
    with pytest.raises(ValueError, match=name):
        plan(**given)
