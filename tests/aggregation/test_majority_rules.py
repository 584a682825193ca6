from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.majority_rules import (
    RULES,
    ranked_pairs_scores,
    schulze_paths,
    schulze_scores,
)
from privrank_jax.rankings import ranks_from_scores
from tests.quick import thorough
from tests.reference import aggregation as reference
from tests.reference import majority_rules as naive

BY_MAJORITIES = ("copeland", "ranked-pairs", "schulze")


def order(scores, names):
    ranks = np.asarray(ranks_from_scores(scores))
    return "".join(names[item] for item in np.argsort(ranks))


def of_ballots(ballots):
    """Weights of ballots such as ``{"ACB": 5}``, and the items in the order of the alphabet."""
    names = sorted(next(iter(ballots)))
    ranks = [[ballot.index(name) for name in names] for ballot in ballots]
    return PairWeights.from_ranks(np.repeat(ranks, [*ballots.values()], axis=0)), names


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", reference.KINDS)
@pytest.mark.parametrize("items", [thorough(2), 5])
def test_scores_are_those_of_loops(rule, kind, items):
    batch = reference.tournaments(kind, 30, items, seed=4)
    if kind == "majority":  # of leads that are equal, but for their size
        batch = batch * np.round(1 + 2 * np.abs(batch[:, :1]))
    scores = jax.vmap(RULES[rule])(batch)
    expected = [naive.RULES[rule](w) for w in batch]
    np.testing.assert_allclose(scores, expected, atol=1e-6)
    if rule in BY_MAJORITIES:  # counts
        np.testing.assert_array_equal(scores, expected)
    assert RULES[rule](batch[0].astype(np.float32)).dtype == np.float32


# Of Schulze's paper, as of many textbooks: leads 21 (BD), 17 (ED), 15 (AD), 13 (CB), 11 (DC), 9 (EB), 7 (AC), 5 (BA),
# 3 (CE), 1 (EA). Ranked pairs leave out DC, BA and EA.
SCHULZE = {"ACBED": 5, "ADECB": 5, "BEDAC": 8, "CABED": 3, "CAEBD": 7, "CBADE": 2, "DCEBA": 7, "EBADC": 8}  # fmt: skip
# Memphis, Nashville, Knoxville and Chattanooga: Nashville leads all others.
TENNESSEE = {"MNCK": 42, "NCKM": 26, "CKNM": 15, "KCNM": 17}


@pytest.mark.parametrize(
    ("ballots", "rule", "expected"),
    [
        (SCHULZE, "schulze", "EACBD"),
        (SCHULZE, "ranked-pairs", "ACEBD"),
        (SCHULZE, "minimax", "EACBD"),
        (TENNESSEE, "schulze", "NCKM"),
        (TENNESSEE, "ranked-pairs", "NCKM"),
        (TENNESSEE, "copeland", "NCKM"),
        (TENNESSEE, "borda", "NCMK"),
    ],
)
def test_examples_of_textbooks(ballots, rule, expected):
    weights, names = of_ballots(ballots)
    assert order(RULES[rule](weights), names) == expected


def test_ties_go_by_the_order_of_the_items():
    equal = np.full((4, 4), 0.5)
    for rule in RULES:
        assert order(RULES[rule](equal), "ABCD") == "ABCD"
    # A cycle of equal leads: AB and CA, which are earlier in the list of pairs, are locked, BC is not.
    cycle = np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]], float)
    assert order(ranked_pairs_scores(cycle), "ABC") == "CAB"
    assert schulze_scores(cycle).tolist() == [1, 1, 1]


@pytest.mark.parametrize("rule", RULES)
def test_masked_items_count_for_nobody(rule):
    w = reference.tournaments("uniform", 1, 6)[0]
    mask = np.array([True, False, True, True, False, True])
    scores = RULES[rule](w, mask)
    np.testing.assert_allclose(scores[mask], RULES[rule](w[np.ix_(mask, mask)]), rtol=1e-6)
    assert scores[~mask].tolist() == [0, 0]
    assert aggregation.copeland(w, mask)[~mask].tolist() == [4, 5]
    assert RULES[rule]([[0.0]]).tolist() == [0]
    np.testing.assert_allclose(RULES[rule](w), naive.RULES[rule](w), rtol=1e-6)  # not traced


def test_what_errors_of_weights_make_of_scores_and_paths():
    """By the bounds at the head of the module, and no less: they are attained."""
    rng, reach, worst = np.random.default_rng(1), 0.05, dict.fromkeys(("minimax", "borda", "paths"), 0.0)  # fmt: skip
    for w in reference.tournaments("uniform", 200, 4):
        errors = np.triu(rng.choice([-reach, reach], (4, 4)), 1)
        noisy = w + errors - errors.T
        for name in ("minimax", "borda"):
            moved = np.abs(np.asarray(RULES[name](noisy) - RULES[name](w))).max()
            worst[name] = max(worst[name], float(moved))
        off = ~np.eye(4, dtype=bool)
        moved = np.abs(np.asarray(schulze_paths(noisy) - schulze_paths(w))[off]).max()
        worst["paths"] = max(worst["paths"], float(moved))
    assert worst == pytest.approx({"minimax": 2 * reach, "borda": 3 * reach, "paths": 2 * reach}, rel=1e-4)  # fmt: skip
