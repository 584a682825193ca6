"""What is said of how sure an order is: scores in their intervals, and a word where it is noise."""

from __future__ import annotations

import dataclasses
import itertools

import jax
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.data import load
from privrank_jax.jobs import ways
from privrank_jax.jobs.answers import prepared
from privrank_jax.jobs.asked import Asked
from privrank_jax.jobs.mechanisms import Randomness
from privrank_jax.privacy import Privacy
from tests.cli.results import assert_schema
from tests.quick import thorough

ITEMS = "abc"


def comparisons(write, votes, upsets, seed):
    """Every pair equally often; the first item of the alphabet wins but for some upsets."""
    draw = np.random.default_rng(seed)
    rows = []
    for number, (best, other) in enumerate(itertools.combinations(ITEMS, 2)):
        for vote in range(votes):
            pair = (other, best) if draw.random() < upsets else (best, other)
            rows.append(f"u{number}-{vote},{','.join(pair)}")
    return write(*rows)


COUNTS = ("--method", "counts")
FITTED = ("--method", "scores", "--adjacency", "flip")


def told_apart(privrank, *run):
    """What is said of how sure the order is, and the rows."""
    document = privrank(*run, "--json").json()
    assert_schema(document)
    return document["diagnostics"]["told_apart"], document["ranking"]


@pytest.mark.parametrize("options", [COUNTS, thorough(FITTED)])
def test_noise_is_called_noise(privrank, write, options):
    """Each says by chance that two items can be told apart in at most 5% of runs: more than 6 of 25 in 2e-4."""
    run = ("rank", comparisons(write, 2, 0.0, 0), *options, "--epsilon", 0.01, "--simulate")
    said = [told_apart(privrank, *run, "--seed", seed)[0]["any_two"] for seed in range(25)]
    assert sum(said) <= 6


@pytest.mark.parametrize("options", [COUNTS, (*COUNTS, "--adjacency", "add-remove"), FITTED])
def test_a_clear_order_needs_no_word(privrank, write, options):
    """Gaps of totals are above 100, and noise of scale 2 moves one by 50 with probability below 1e-8."""
    run = ("rank", comparisons(write, 150, 0.1, 5), *options, "--epsilon", 1)
    told, rows = told_apart(privrank, *run)
    assert told == {"from_next": 2, "of": 2, "any_two": True, "words": ""}
    assert [(row["rank_low"], row["rank_high"]) for row in rows] == [(k, k) for k in range(1, 4)]


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
