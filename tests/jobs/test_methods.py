"""Each method of ``privrank rank`` on votes whose order is known, with next to no noise."""

from __future__ import annotations

import pytest

from privrank_jax.data import load
from tests.jobs.released import released
from tests.quick import thorough


def found(votes, method, **options):
    return released(votes, method=method, seed=3, **{"epsilon": 1e6, "most": 2, **options})


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("counts", {}),
        ("counts", {"adjacency": "flip"}),
        ("counts", {"noise": "gaussian", "delta": 1e-6}),
        ("scores", {"adjacency": "flip"}),
        ("scores", {}),
        ("scores", {"adjacency": "add-remove"}),
        thorough("scores", {"noise": "gaussian", "delta": 1e-6}),
        thorough("scores", {"link": "laplace"}),
        ("one-shot", {"top_k": 1}),
        ("canonical", {"top_k": 2}),
        thorough("top-k", {"top_k": 1}),
        ("top-k", {"top_k": 2}),
    ],
)
def test_with_next_to_no_noise_the_order_is_that_of_the_votes(votes, method, options):
    result = found(votes, method, **options)
    # a beats b and b beats c by 6 to 3, but b is compared twice as often.
    wanted = {"scores": ["a", "b", "c"], "canonical": ["a", "b"]}
    assert result.names == wanted.get(method, ["b", "a", "c"][: result.top_k])
    assert result.guarantee.epsilon == 1e6
    assert result.guarantee.unit == "user"
    assert result.facts["method"] == method
    assert (result.scores is None) == ("top_k" in options)
    assert result.in_order == (result.facts.get("selected_by", method) != "canonical")


def test_the_best_mechanism_for_a_list_is_chosen_by_public_facts(votes):
    def chosen(**options):
        result = found(votes, "top-k", epsilon=1.0, **options)
        return result.facts["selected_by"], result.facts["noise_scale"]

    # Users of L = 2 comparisons: λ = 2s for one item, one-shot's 2 min(ks, L), canonical's 2s + min(2s, L).
    assert chosen(top_k=1) == ("canonical", 4.0)
    assert chosen(top_k=2) == ("one-shot", 4.0)
    assert chosen(top_k=2, max_per_item=1) == ("canonical", 4.0)
    assert chosen(top_k=1, max_per_item=1) == ("canonical", 2.0)
    assert chosen(top_k=3, max_per_item=1) == ("one-shot", 4.0)


# --- users who were asked the same pairs -----------------------------------------------------------

REHEARSAL = ("--simulate", "--seed", 1)


@pytest.mark.parametrize(("adjacency", "sensitivity"), [("flip", 18), ("replace", 24)])
def test_noise_knows_the_questionnaire(data_folder, adjacency, sensitivity):
    """Of 15 questions, of which a user may answer less."""
    for most in (None, 9):
        asked = {"adjacency": adjacency, "noise": "laplace", "most": most, "seed": 1}
        found = released(load("cemspc", data_folder), method="counts", **asked)
        expected = 18 if most else sensitivity
        assert found.facts["sensitivity"] == expected
        public = found.guarantee.attained.public  # under flip all pairs are, by the adjacency
        assert ("questionnaire" in public) == (expected == 24)


@pytest.mark.parametrize(
    ("name", "options", "deviation", "reach"),
    [
        # By a closed form under flips, else from 6,000 exact draws. Laplace noise: 18√2 = 25.5, 24√2 = 33.9 and reaches
        # of 115 and 44. What is stated is on the safe side.
        ("cemspc", ("--adjacency", "flip"), 16.5, None),
        ("cemspc", (), 20.5, None),
        ("cemspc", ("--method", "counts"), 20.5, 52.5),
        thorough("immig", ("--max-per-user", 9, "--method", "counts"), 8.7, 22.0),
    ],
)  # fmt: skip
@pytest.mark.parametrize("how", [(), thorough(REHEARSAL)])
def test_noise_has_the_shape_of_the_questionnaire(
    privrank, data_folder, name, options, deviation, reach, how
):
    document = privrank("rank", name, "--epsilon", 1, "--json", *options, *how).json()
    facts = document["diagnostics"]
    assert "sensitivity" not in facts
    assert facts["noise"] == ("K-norm" if how else "discrete K-norm")
    assert facts["noise_scale"] == 1.0
    assert 0.995 * deviation < facts["noise_deviation"] < 1.05 * deviation
    flips = "flip" in options
    assert document["guarantee"].get("public", []) == ([] if flips else ["questionnaire"])
    assert document["guarantee"]["numerics"] == ("simulation" if how else "exact")
    if reach is not None:
        best = document["ranking"][0]
        assert 0.97 * reach < best["high"] - best["score"] < 1.2 * reach


@pytest.mark.parametrize(
    ("options", "law"),
    [
        thorough(("--max-per-user", 14), "discrete Laplace"),  # keeps less than is asked
        (("--max-per-user", 14, "--noise", "k-norm"), "discrete K-norm"),
        (("--unit", "comparison"), "Laplace"),  # real numbers, in the objective
        (("--adjacency", "add-remove"), "Laplace"),
        (("--adjacency", "add-remove", "--method", "counts"), "discrete Laplace"),
        thorough(("--noise", "gaussian", "--delta", "1e-6"), "rounded Gaussian"),
    ],
)  # fmt: skip
def test_other_noise_where_the_questionnaire_gives_none(privrank, data_folder, options, law):
    run = ("rank", "cemspc", "--epsilon 1 --intervals none --json", *options)
    assert privrank(*run).json()["diagnostics"]["noise"] == law


@pytest.mark.parametrize("more", [(), thorough(REHEARSAL)])
def test_ties_cost_less_where_all_are_asked_the_same(privrank, data_folder, more):
    """Of six items: 15 questions and a cut of 9, where two for each question would be 30."""
    run = ("rank", "cemspc", "--ties davidson --adjacency flip --epsilon 2")
    found = privrank(*run, "--json", *more).json()
    facts, guarantee = found["diagnostics"], found["guarantee"]
    assert facts["noise"] == ("Laplace" if more else "discrete Laplace")
    assert facts["noise_scale"] == 24 / 2
    assert facts["tie_parameter_low"] < facts["tie_parameter"] < facts["tie_parameter_high"]
    assert "noise_deviation" not in facts
    assert (guarantee["epsilon"], guarantee["unit"], guarantee["adjacency"]) == (2, "user", "flip")
