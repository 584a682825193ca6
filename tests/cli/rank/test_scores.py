"""``privrank rank`` by scores, its default: what is published, and how far it is from the truth."""

from __future__ import annotations

import dataclasses

import jax
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.data import load
from privrank_jax.jobs import ways
from privrank_jax.jobs.answers import prepared
from privrank_jax.jobs.asked import Asked
from privrank_jax.jobs.mechanisms import Randomness
from privrank_jax.pairwise.private_design import design_scale
from privrank_jax.privacy import Privacy

BOUND = ("--epsilon", 1, "--max-per-user", 10)
GAUSSIAN = ("--noise", "gaussian", "--delta", 1e-6)


@pytest.fixture
def answers(write):
    """Forty users with the same ten comparisons of three items each."""
    rows = [f"u{k},{pair}" for k in range(40) for pair in ("a,b", "b,c", "c,a", "a,c", "a,b") * 2]
    return write(*rows)


def test_a_public_questionnaire_shapes_the_noise_and_gives_the_design(privrank, data_folder):
    document = privrank("rank", "cemspc", "--epsilon", 1, "--json").json()
    facts, guarantee = document["diagnostics"], document["guarantee"]
    assert (facts["method"], facts["link"], facts["noise"]) == (
        "scores",
        "logistic",
        "discrete K-norm",
    )
    assert (guarantee["adjacency"], guarantee["public"]) == ("replace", ["questionnaire"])
    assert (guarantee["epsilon"], guarantee["numerics"]) == (1.0, "exact")
    assert "design_epsilon" not in facts  # the design is public: all of epsilon goes to the totals
    assert all(row["low"] < row["score"] < row["high"] for row in document["ranking"])
    assert document["ranking"][0]["item"] == "London"


@pytest.mark.parametrize(
    ("options", "law", "for_all"),
    [
        ((), "Laplace", 40),  # 4 L/epsilon
        (("--adjacency", "add-remove"), "Laplace", 20),
        (GAUSSIAN, "Gaussian", None),
    ],
)
def test_a_tenth_of_epsilon_buys_intervals(privrank, answers, options, law, for_all):
    document = privrank("rank", answers, *BOUND, *options, "--json").json()
    facts = document["diagnostics"]
    assert (facts["method"], facts["link"], facts["noise"]) == ("scores", "logistic", law)
    assert document["guarantee"]["numerics"] == "exact"
    assert document["guarantee"]["epsilon"] == 1.0
    assert facts["design_epsilon"] == pytest.approx(0.1)
    adjacency = "add-remove" if "add-remove" in options else "replace"
    part = Privacy(facts["design_epsilon"], unit="user", adjacency=adjacency, contributions=10)
    scale = design_scale(part, [row["score"] for row in document["ranking"]])
    assert facts["design_noise_scale"] == pytest.approx(float(scale))
    if for_all is not None:
        assert facts["noise_scale"] == pytest.approx(for_all / 0.9)
        assert facts["gamma"] >= facts["noise_scale"]

    alone = privrank("rank", answers, *BOUND, *options, "--intervals", "none", "--json").json()
    assert "design_epsilon" not in alone["diagnostics"]
    assert not any("low" in row for row in alone["ranking"])
    assert alone["guarantee"] == document["guarantee"]
    assert alone["diagnostics"]["noise_scale"] < facts["noise_scale"]
    if for_all is not None:
        assert alone["diagnostics"]["noise_scale"] == pytest.approx(for_all)


@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
def test_with_the_laplace_link_scores_are_exact_without_intervals(privrank, answers, adjacency):
    run = ("rank", answers, *BOUND, "--link", "laplace", "--adjacency", adjacency, "--json")
    document = privrank(*run).json()
    assert document["guarantee"]["numerics"] == "exact"
    assert document["guarantee"]["adjacency"] == adjacency
    facts = document["diagnostics"]
    assert (facts["link"], facts["noise"]) == ("laplace", "Laplace")
    assert "design_epsilon" not in facts
    assert all((2**40 * row["score"]).is_integer() for row in document["ranking"])
    assert privrank(*run).json()["ranking"] != document["ranking"]


def test_a_ridge_above_the_least_is_kept(privrank, answers):
    facts = privrank("rank", answers, *BOUND, "--gamma", 60, "--json").json()["diagnostics"]
    assert facts["gamma"] == 60


# --- how far from the truth


def kendall(order, truth):
    """Share of pairs in the wrong order."""
    place = {item: k for k, item in enumerate(order)}
    pairs = [(i, j) for k, i in enumerate(truth) for j in truth[k + 1 :]]
    return sum(place[i] > place[j] for i, j in pairs) / len(pairs)


def exposed_unequally(random, items, rows):
    """Comparisons of items shown in proportion to 1/place in a random order; the first item is the best."""
    strength = np.linspace(1.5, -1.5, len(items))
    shown = 1 / (1 + random.permutation(len(items)))
    for user in range(rows):
        i, j = random.choice(len(items), 2, replace=False, p=shown / shown.sum())
        if random.random() > 1 / (1 + np.exp(strength[j] - strength[i])):
            i, j = j, i
        yield f"u{user},{items[i]},{items[j]}"


def test_items_shown_unequally_often_are_ordered_by_how_good_they_are(privrank, write):
    """By win totals, what is shown most comes first: six crowds, each with its own order of exposure."""
    items, wrong = list("abcdefgh"), {"scores": [], "counts": []}
    for seed in range(6):
        source = write(*exposed_unequally(np.random.default_rng(seed), items, 2000))
        run = ("rank", source, "--epsilon", 1, "--max-per-user", 1, "--simulate", "--seed", seed)
        for method, shares in wrong.items():
            ranking = privrank(*run, "--method", method, "--json").json()["ranking"]
            shares.append(kendall([row["item"] for row in ranking], items))
    assert np.mean(wrong["scores"]) < 0.1
    assert np.mean(wrong["counts"]) > 0.25


@pytest.mark.slow
def test_intervals_of_a_public_questionnaire_cover(data_folder):
    """True scores lie in 93 % of 95 % intervals, though answers are missing at random, which nobody is told."""
    promise, source = Privacy(1.0, unit="user", adjacency="replace"), Randomness(jax.random.key(1))
    data = prepared(load("cemspc", data_folder), promise, Asked(), source)
    random = np.random.default_rng(41)
    assert data.design is not None
    first, second = np.nonzero(np.triu(data.design))
    covered = []
    for seed in range(150):
        truth = random.normal(0, 0.5, len(data.design))
        truth -= truth.mean()
        met = random.binomial(303, 0.98, len(first))
        won = random.binomial(met, 1 / (1 + np.exp(truth[second] - truth[first])))
        wins = np.zeros(data.design.shape)
        wins[first, second], wins[second, first] = won, met - won
        drawn = dataclasses.replace(
            data, counted=WinCounts.from_matrix(wins), source=Randomness(jax.random.key(seed))
        )
        with jax.enable_x64(True):
            ends = ways.ranking_of(drawn).certainty.intervals
        covered.append((ends["low"] <= truth) & (truth <= ends["high"]))
    assert 0.93 <= np.mean(covered) < 0.985  # and they are not wider than need be
