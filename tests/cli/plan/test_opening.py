"""The first lines of a plan: who sees which answers, what ε counts for, and what it makes for a user."""

from __future__ import annotations

import pytest

BASE = ("plan", "--items", 6, "--epsilon", 1, "--users", 500)
DELTA = ("--shuffled", "--delta", 1e-6)


def first_line(result):
    assert result.code == 0, result.err
    return result.out.splitlines()[0]


def test_a_survey_says_that_users_randomize_and_what_epsilon_counts(privrank):
    line = first_line(privrank(*BASE))
    assert "users randomize their own answers" in line
    assert "epsilon = 1 counts for one answer" in line
    assert "about 15 answers has epsilon = 15 in all" in line
    assert "--trust central if a curator" in line
    shuffled = first_line(privrank(*BASE, *DELTA))
    assert "a shuffler hides who sent which" in shuffled
    assert "epsilon = 1 counts for a user" in shuffled


@pytest.mark.parametrize("share", [1 / 15, 0.0667, 0.01])
def test_nobody_is_told_to_answer_less_than_one_pair(privrank, share):
    several = privrank(*BASE, "--share-observed", 0.2)
    assert "a smaller --share-observed" in several.out
    assert "about 3 answers has epsilon = 3 in all" in several.out
    alone = privrank(*BASE, "--share-observed", share)
    assert "which is all that a user answers" in first_line(alone)
    assert "smaller --share-observed" not in alone.out
    assert privrank(*BASE, "--share-observed", share, "--json").json()[
        "epsilon_per_user"
    ] == pytest.approx(1, rel=1e-3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "a curator sees all rankings and publishes only a noisy consensus (--trust central)"),
        (("--trust", "local"), "users randomize their own rankings"),
        (DELTA, "a shuffler hides who sent which (--trust shuffled)"),
    ],
)
def test_a_consensus_says_who_sees_the_rankings(privrank, options, words):
    line = first_line(privrank(*BASE, "--rankings", *options))
    assert words in line
    assert "epsilon counts for a user" in line
