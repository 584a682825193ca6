"""Rules of a consensus: what each says, and that nothing false stands beside it."""

from __future__ import annotations

import jax
import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.aggregation.majority_rules import RULES as FUNCTIONS
from privrank_jax.jobs import beyond_noise
from privrank_jax.jobs.methods import KEMENY, RULES, scores_by
from privrank_jax.privacy import Privacy
from privrank_jax.rankings import ranks_from_scores
from tests.jobs.released import agreed, read
from tests.quick import thorough
from tests.reference import majority_rules as naive

NAMES = (KEMENY, *RULES)
SCORED = [name for name, rule in RULES.items() if rule.score_name]


@pytest.fixture
def unanimous(write):
    rows = [f"u{k},2,1,3" for k in range(60)]
    return write(*rows, header="user,Oslo,Rome,Bern", name="rankings.csv")


@pytest.fixture
def split(write):
    """A cycle: Oslo over Rome by 30 of 60, Rome over Bern by 20, Bern over Oslo by 10."""
    rows = ["1,2,3"] * 25 + ["3,1,2"] * 15 + ["2,3,1"] * 20
    rows = [f"u{k},{row}" for k, row in enumerate(rows)]
    return write(*rows, header="user,Oslo,Rome,Bern", name="rankings.csv")


def test_all_tables_have_the_same_rules():
    assert list(RULES) == list(FUNCTIONS) == list(naive.RULES)


@pytest.mark.parametrize(
    ("rule", "asked", "method"),
    [
        *((rule, {}, "weights") for rule in NAMES),
        *((rule, {"epsilon": None}, "none") for rule in NAMES),
        thorough("borda", {"method": "noise-all", "seed": 1}, "noise-all"),
        ("minimax", {"method": "weights", "noise": "gaussian", "delta": 1e-6}, "weights"),
        (KEMENY, {"trust": "local"}, "noise-all"),
        ("copeland", {"trust": "local"}, "noise-all"),
        ("borda", {"trust": "shuffled", "delta": 1e-6}, "noise-all"),
    ],
)
def test_each_rule_finds_what_all_say(unanimous, rule, asked, method):
    found = agreed(unanimous, rule=rule, **{"epsilon": 1000.0, **asked})
    assert found.names[0] == "Rome"
    # Minimax has both others beaten by all.
    assert rule == "minimax" or found.names == ["Rome", "Oslo", "Bern"]
    assert (found.facts["rule"], found.facts["method"]) == (rule, method)
    # Exact K-norm noise at this ε is next to none, answers of users have some.
    close = 0.2 if "trust" in asked else 0.1
    truth = [[0, 0, 0], [1, 0, 0], [1, 1, 0]]  # of Bern, Oslo and Rome
    np.testing.assert_allclose(found.matrix, truth, atol=close)
    said = " ".join((found.title, *found.notes))
    assert ("Kemeny" in said) == ("certificate" in found.facts) == (rule == KEMENY)
    assert ("expected_cost_bound" in found.facts) == (rule == KEMENY and method != "none")
    assert (found.scores is not None) == (rule in SCORED)
    if rule in SCORED:
        np.testing.assert_allclose(found.scores, naive.RULES[rule](found.matrix), atol=1e-9)
        expected = {"copeland": [0, 1, 2], "minimax": [-1, -1, 1], "borda": [0, 1, 2]}[rule]
        np.testing.assert_allclose(found.scores, expected, atol=2 * close)


def test_without_privacy_each_rule_is_its_naive_twin(split):
    for rule in RULES:
        found = agreed(split, epsilon=None, rule=rule)
        expected = naive.RULES[rule](found.matrix)
        assert np.argsort(found.order).tolist() == ranks_from_scores(expected).tolist()
        if rule in SCORED:
            np.testing.assert_allclose(found.scores, expected, atol=1e-12)
    assert agreed(split, epsilon=None, rule="schulze").names == ["Oslo", "Rome", "Bern"]
    plain, named = (agreed(split, epsilon=None, rule=rule).facts for rule in (None, KEMENY))
    assert {**plain, "rule": KEMENY} == named


def test_votes_that_are_tied_stand_in_the_order_of_the_list(write):
    """Users rank 5/3 others behind a on average, and as many behind d; sums of shares of thirds have d ahead of a."""
    path = write("2,4,1,3", "3,2,4,1", "2,4,1,3", header="a,b,c,d", name="rankings.csv")
    found = agreed(path, epsilon=None, rule="borda", read={"user": None})
    with jax.enable_x64(True):
        summed = scores_by("borda", found.matrix)
    assert summed[0] < summed[3]
    assert found.names == ["c", "a", "d", "b"]
    np.testing.assert_allclose(found.scores, [5 / 3, 2 / 3, 2, 5 / 3], atol=1e-12)


def test_of_a_private_number_of_users_leads_are_published(unanimous):
    """Sixty users agree: half of how many more have Rome ahead of Oslo is 30."""
    added = Privacy(100.0, unit="user", adjacency="add-remove")
    scores = {"copeland": [0, 1, 2], "minimax": [-60, -60, 60], "borda": [-60, 0, 60]}
    for rule in NAMES:
        found = pr.consensus(read(unanimous), added, rule=rule)
        truth = [[0, -30, -30], [30, 0, -30], [30, 30, 0]]  # of Bern, Oslo and Rome
        np.testing.assert_allclose(found.matrix, truth, atol=1)
        np.testing.assert_allclose(found.matrix, -found.matrix.T, atol=1e-9)
        assert (found.facts["method"], found.names[0]) == ("weights", "Rome")
        if rule in SCORED:
            np.testing.assert_allclose(found.scores, scores[rule], atol=3)
            ends = found.certainty.intervals
            assert np.all((ends["low"] <= scores[rule]) & (scores[rule] <= ends["high"]))
            assert np.all(ends["high"] - ends["low"] < 10)
            middle = (ends["low"] + ends["high"]) / 2
            assert rule != "borda" or found.scores.tolist() == pytest.approx(middle.tolist())


# --- what is certain -------------------------------------------------------------------------------


def moved(weights, reach, rng):
    """The same, no entry off by more than ``reach``."""
    errors = np.triu(rng.uniform(-reach, reach, weights.shape), 1)
    return weights + errors - errors.T


@pytest.mark.parametrize("rule", [thorough(x) if x == "ranked-pairs" else x for x in RULES])
def test_what_is_certain_is_true_wherever_the_noise_is_within_reach(rule):
    """Of all weights that may be those of the users: their scores, their ranks, and which item is better."""
    rng, told = np.random.default_rng(2), 0
    for trial in range(300):
        shares = rng.uniform(size=(5, 5))
        truth = np.where(np.triu(np.ones((5, 5), bool), 1), shares, 1 - shares.T)
        np.fill_diagonal(truth, 0)
        reach = (0.005, 0.05, 0.3)[trial % 3]
        released = moved(truth, reach, rng)
        shown = np.argsort(np.argsort(-scores_by(rule, released), kind="stable"))
        found = beyond_noise.of_weights(rule, released, shown, reach)
        scores = np.array(naive.RULES[rule](truth))
        ranks = np.asarray(ranks_from_scores(scores))
        if rule == "ranked-pairs":
            beats = truth > 0.5
            assert not np.any(found.better & ~beats)
            if len({*beats.sum(axis=1)}) < 5:  # a cycle, of which nothing is said
                continue
        else:
            assert not np.any(found.better & (scores[:, None] <= scores))
        told += int(found.better.sum())
        ends = found.intervals
        if "rank_low" in ends:
            assert np.all((ends["rank_low"] <= ranks) & (ranks <= ends["rank_high"]))
        if "low" in ends:
            assert np.all((ends["low"] <= scores + 1e-6) & (scores <= ends["high"] + 1e-6))
        assert ("low" in ends) == (rule in SCORED)
    assert told > 300


@pytest.mark.parametrize("rule", ["schulze", "minimax", "borda"])
def test_two_items_are_told_apart_no_later_than_the_noise_allows(rule):
    """Item 0 leads both others, by a little more or less than twice what scores or paths are off."""

    def better(lead, reach):
        weights = np.full((3, 3), 0.5)
        weights[0, 1:], weights[1:, 0] = 0.5 + lead / 2, 0.5 - lead / 2
        return beyond_noise.of_weights(rule, weights, np.arange(3), reach).better[0, 1]

    least = {"schulze": 2, "minimax": 2, "borda": 8 / 3}[rule]  # leads apart, in units of the reach
    assert better(least * 0.1 + 0.001, 0.1)
    assert not better(least * 0.1 - 0.001, 0.1)
