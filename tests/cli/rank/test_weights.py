"""``privrank rank --weight``: comparisons that do not all count the same."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from privrank_jax.cli.rank.input import read_input
from privrank_jax.cli.rank.methods import release
from privrank_jax.cli.rank.none import fit_without_privacy
from privrank_jax.cli.rank.request import Request

from privrank_jax.cli.console import Refusal
from privrank_jax.cli.rank import input as rank_input
from privrank_jax.pairwise import clustered_covariance, standard_errors
from tests import reference
from tests.cli import replaying
from tests.parquet import as_parquet


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


def fit(path, **options):
    request = Request(source=str(path), method="none", **options)
    request.check()
    data = read_input(request)
    return data, fit_without_privacy(data, request)


@pytest.mark.parametrize(("weight", "most"), [("p", np.inf), ("p:3", 3.0)])
@pytest.mark.parametrize("user", [None, "none"])
def test_the_fit_and_its_errors_are_weighted(games, weight, most, user):
    data, found = fit(games, weight=weight, user=user)
    table = data.table
    weights = np.minimum(table.weights, most)
    wins = np.zeros((3, 3))
    half = np.where(table.tied, 0.5, 1.0)
    np.add.at(wins, (table.winners, table.losers), weights * half)
    np.add.at(wins, (table.losers, table.winners), weights * (1 - half))
    np.testing.assert_allclose(found.scores, reference.fit("logistic", wins), atol=1e-7)
    users = table.users if user is None else np.arange(300)
    outcomes = clustered_covariance(
        found.scores, users, table.winners, table.losers, tied=table.tied, weights=weights
    )
    errors = standard_errors(found.scores, wins + wins.T, outcomes=outcomes).standard_errors
    ends = found.certainty.intervals
    np.testing.assert_allclose(ends["high"] - ends["low"], 2 * 1.959964 * errors, rtol=1e-6)
    assert found.diagnostics["weight"] == "p"
    assert found.diagnostics.get("weight_most", np.inf) == most
    assert ("clusters" in found.diagnostics) == (user is None)


def test_the_scale_of_weights_does_not_matter(write, games):
    larger = [
        f"{line.rpartition(',')[0]},{1000 * float(line.rpartition(',')[2])}" for line in lines()
    ]
    path = write(*larger, header=HEADER, name="larger.csv")
    for options in ({}, {"gamma": 5.0}):
        one, other = (fit(one, weight="p", **options)[1] for one in (games, path))
        np.testing.assert_allclose(one.scores, other.scores, atol=1e-9)
        np.testing.assert_allclose(
            one.certainty.intervals["low"], other.certainty.intervals["low"], atol=1e-8
        )


def test_equal_weights_are_none(games, write):
    equal = [f"{line.rpartition(',')[0]},7" for line in lines()]
    path = write(*equal, header=HEADER, name="equal.csv")
    ends = fit(path, weight="p")[1].certainty.intervals, fit(games)[1].certainty.intervals
    np.testing.assert_allclose(ends[0]["low"], ends[1]["low"], atol=1e-9)


def test_a_parquet_file_is_held_in_memory(games):
    np.testing.assert_allclose(
        fit(as_parquet(games), weight="p")[1].scores, fit(games, weight="p")[1].scores, atol=1e-12
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": "p:0"}, "MOST must be positive and finite"),
        ({"weight": "p:inf"}, "MOST must be positive and finite"),
        ({"weight": "p", "ties": "davidson"}, "does not go with --ties davidson"),
        ({"weight": "p", "covariate": ["x"]}, "does not go with covariates"),
        ({"weight": "p", "source": "coffee"}, "named data set without weights"),
    ],
)
def test_what_is_not_weighted_is_refused(games, options, message):
    with pytest.raises(Refusal, match=message):
        fit(options.pop("source", games), **options)


def test_other_shapes_of_files_and_weights_of_0_are_refused(write, privrank):
    for header, row, message in (
        ("user,chosen,shown,p", "u,a,a|b,1", "not for choices"),
        ("user,rank_1,rank_2,p", "u,a,b,1", "not for rankings"),
        ("user,winner,loser,p", "u,a,b,0", "all weights in votes.csv are 0"),
    ):
        path = write(row, header=header)
        ignored = ("--ignore", "p") if "rank_1" in header else ()
        refused = privrank("rank", path, "--method", "none", "--weight", "p", *ignored)
        assert refused.code == 2
        assert message in refused.err


def test_names_with_colons_are_names():
    assert Request(source="f", weight="a:b").weights == ("a:b", None)
    assert Request(source="f", weight="a:b:2").weights == ("a:b", 2.0)
    assert Request(source="f").weights == (None, None)


# --- under privacy ---------------------------------------------------------------------------------


def test_a_rehearsal_fits_bounded_weights_in_units_of_the_bound(games):
    """At a huge budget the noise is nothing, and scores are those of the weighted fit with the least ridge."""
    request = Request(
        source=str(games), epsilon=1e6, weight="p:4", max_per_user=6, simulate=True, seed=1
    )
    request.check()
    data = read_input(request)
    assert data.weights is not None
    assert sorted(set(data.weights.tolist())) == [0.125, 0.5, 1.0]
    found = release(data, request)
    wanted = reference.fit("logistic", np.asarray(data.wins.matrix), ridge=1.0)
    np.testing.assert_allclose(found.scores, wanted, atol=1e-3)
    assert found.diagnostics["weight_most"] == 4.0
    assert found.diagnostics["noise_scale"] == pytest.approx(4 * 6 / 1e6)
    assert found.certainty.intervals == {}
    assert "squared weights" in found.certainty.notes[0]


@pytest.mark.parametrize(
    "words",
    [
        "rank --max-per-user 2 --weight weight_of_row:2",
        "rank --max-per-user 2 --weight weight_of_row:2 --adjacency add-remove",
        "rank --unit comparison --weight weight_of_row:2 --noise gaussian --delta 1e-6",
    ],
)
def test_weighted_releases_lose_what_they_promise_at_most(words, tmp_path):
    """Whole commands on neighboring files, where each row has a weight by what it says."""
    command = replaying.Command(words, rankings=False)
    largest = replaying.hold(tmp_path, command, "csv")
    assert 0.99 < max(largest.values()) <= 1 + 1e-9


def test_weights_beyond_their_bound_would_be_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(
        rank_input, "bounded_weights", lambda weights, most: jnp.floor(1024 * weights / most) / 1024
    )
    command = replaying.Command("rank --max-per-user 2 --weight weight_of_row:2", rankings=False)
    with pytest.raises(AssertionError):
        replaying.hold(tmp_path, command, "csv")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weight": "p"}, "a largest weight that is known without looking"),
        ({"weight": "p:3", "method": "counts"}, "for --method scores"),
        ({"weight": "p:3", "method": "one-shot", "top_k": 1}, "for --method scores"),
        ({"weight": "p:3", "adjacency": "flip"}, "replace or add-remove"),
    ],
)
def test_private_weights_have_a_public_bound_and_one_method(options, message):
    with pytest.raises(Refusal, match=message):
        Request(source="f", epsilon=1.0, **options).check()
