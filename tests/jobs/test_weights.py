"""``privrank rank --weight``: comparisons that do not all count the same."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.pairwise import standard_errors
from privrank_jax.pairwise.uncertainty import clustered_covariance
from tests import reference
from tests.cli import replaying
from tests.jobs.released import read, released
from tests.quick import thorough


def lines(seed=0):
    """Games of items a, b, c with ties, each of a user, and with a weight."""
    draw, found = np.random.default_rng(seed), []
    for row in range(300):
        one, other = sorted(draw.choice(3, 2, replace=False))
        pair = ("abc"[one], "abc"[other])
        winner, loser = pair if draw.random() < 0.65 else pair[::-1]
        weight = (0.5, 2, 10)[one + other - 1]
        found.append(f"u{row // 6},{winner},{loser},{int(draw.random() < 0.1)},{weight}")
    return found


HEADER = "user,winner,loser,tie,p"


@pytest.fixture
def games(write):
    return write(*lines(), header=HEADER)


def fit(path, most=None, gamma=None, **columns):
    data = read(path, **{"weight": "p", **columns})
    return data, released(data, epsilon=None, weight_most=most, gamma=gamma)


@pytest.mark.parametrize(("user", "most"), [("user", None), (None, 3.0)])
def test_the_fit_and_its_errors_are_weighted(games, user, most):
    table, found = fit(games, most, user=user)
    weights = np.minimum(table.weights, most or np.inf)
    wins = np.zeros((3, 3))
    half = np.where(table.tied, 0.5, 1.0)
    np.add.at(wins, (table.winners, table.losers), weights * half)
    np.add.at(wins, (table.losers, table.winners), weights * (1 - half))
    np.testing.assert_allclose(found.scores, reference.fit("logistic", wins), atol=1e-7)
    users = table.users if user else np.arange(300)
    outcomes = clustered_covariance(
        found.scores, users, table.winners, table.losers, tied=table.tied, weights=weights
    )
    errors = standard_errors(found.scores, wins + wins.T, outcomes=outcomes).standard_errors
    ends = found.certainty.intervals
    np.testing.assert_allclose(ends["high"] - ends["low"], 2 * 1.959964 * errors, rtol=1e-6)
    assert found.facts["weight"] == "p"
    assert found.facts.get("weight_most") == most
    assert ("clusters" in found.facts) == (user is not None)


def test_the_scale_of_weights_does_not_matter(write, games):
    """Nor where their sum is beyond the largest number."""
    larger = [
        f"{row},{1e307 * float(weight)}" for row, weight in (x.rsplit(",", 1) for x in lines())
    ]
    path = write(*larger, header=HEADER, name="larger.csv")
    for options in ({}, {"gamma": 5.0}):
        one, other = (fit(one, **options)[1] for one in (games, path))
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-9)
        np.testing.assert_allclose(
            one.certainty.intervals["low"], other.certainty.intervals["low"], atol=1e-8
        )


# --- under privacy ---------------------------------------------------------------------------------


def test_a_rehearsal_fits_bounded_weights_in_units_of_the_bound(games):
    """At a huge budget the noise is nothing, and scores are those of the weighted fit with the least ridge."""
    data = read(games, weight="p")
    found = released(data, epsilon=1e6, weight_most=4.0, most=6, seed=1)
    weights, half = np.minimum(data.weights, 4) / 4, np.where(data.tied, 0.5, 1)
    wins = np.zeros((3, 3))
    np.add.at(wins, (data.winners, data.losers), weights * half)
    np.add.at(wins, (data.losers, data.winners), weights * (1 - half))
    wanted = reference.fit("logistic", wins, ridge=1.0)
    np.testing.assert_allclose(found.scores, wanted, atol=1e-3)
    assert found.facts["weight_most"] == 4.0
    assert found.facts["noise_scale"] == pytest.approx(4 * 6 / 1e6)
    assert found.certainty.intervals == {}


WEIGHTED = "--weight weight_of_row:2"


@pytest.mark.parametrize("everything", [False, thorough(True)])
@pytest.mark.parametrize(
    "words",
    [
        f"rank --max-per-user 2 {WEIGHTED}",
        f"rank --max-per-user 2 {WEIGHTED} --adjacency add-remove",
        f"rank --unit comparison {WEIGHTED} --noise gaussian --delta 1e-6",
    ],
)
def test_weighted_releases_lose_what_they_promise_at_most(words, everything, tmp_path):
    """Whole commands on neighboring files, where each row has a weight by what it says."""
    command = replaying.Command(words, rankings=False)
    largest = replaying.hold(tmp_path, command, "csv", everything=everything)
    assert 0.99 < max(largest.values()) <= 1 + 1e-9
