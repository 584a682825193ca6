"""Fits without privacy: groups that were never compared, items that never lost; and ties as an outcome of their own."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace as Facts

import numpy as np
import pytest

from privrank_jax.jobs import ways
from privrank_jax.jobs.certainty import of_errors
from privrank_jax.pairwise import confidence_intervals, standard_errors
from tests.jobs.released import released
from tests.quick import thorough


def fit(path, **options):
    return released(path, epsilon=None, **options)


def test_linked_votes_are_fitted_as_they_are(votes):
    found = fit(votes)
    assert found.guarantee is None
    assert found.warnings == ()
    assert found.facts["gamma"] == 0
    assert found.facts["components"] == 1
    assert found.order.tolist() == [0, 1, 2]


def test_items_that_never_lost_get_a_ridge_with_a_warning(write):
    found = fit(write("u,a,b", "v,b,c", "w,a,c"))
    assert found.facts["separated"]
    assert found.facts["gamma"] == 1.0
    assert "never lost" in found.warnings[0]
    assert found.order.tolist() == [0, 1, 2]


def test_groups_that_were_never_compared_are_said_to_be_unordered(write):
    found = fit(write("u,a,b", "v,b,a"), read={"items": list("abc")})
    assert found.facts["components"] == 2
    assert any("2 groups" in warning for warning in found.warnings)
    found = fit(write("u,a,b", "v,b,c"), gamma=0.25)  # a ridge that was asked for
    assert (found.facts["gamma"], found.warnings) == (0.25, ())


# Of every pair 12 ties, and 8 wins of the earlier letter to 4.
TIED = ("u,{0},{1},1",) * 12 + ("u,{0},{1},0",) * 8 + ("u,{1},{0},0",) * 4
PAIRS = ("ab", "ac", "bc")


def test_intervals_count_ties_as_they_vary(write):
    path = write(
        *(row.format(*pair) for pair in PAIRS for row in TIED), header="user,winner,loser,tie"
    )
    found = fit(path)
    met = 24 * (1 - np.eye(3))
    for ties, same in ((met / 2, True), (None, False)):
        wanted = confidence_intervals(standard_errors(found.scores, met, ties=ties))
        for name in ("low", "high"):
            ends = found.certainty.intervals[name]
            assert np.allclose(ends, getattr(wanted, name), rtol=1e-6) == same


@pytest.mark.slow
def test_intervals_with_covariates_count_ties_as_they_vary(write):
    """A covariate that says nothing leaves them as narrow as without one."""
    rows = [row.format(*pair) for pair in PAIRS for row in TIED]
    numbered = [f"{row},0,{(-1) ** place}" for place, row in enumerate(rows)]
    path = write(*numbered, header="user,winner,loser,tie,winner_length,loser_length")
    with_one = fit(path, read={"covariates": ("length",)}).certainty.intervals
    without = fit(path).certainty.intervals
    width = with_one["high"] - with_one["low"]
    np.testing.assert_allclose(width, without["high"] - without["low"], rtol=0.03)


# --- ties as an outcome of their own ----------------------------------------------------------------


@pytest.fixture
def games(tmp_path):
    """240 games of three teams, a third of them drawn."""
    rng, rows = np.random.default_rng(0), ["user,winner,loser,tie"]
    for number in range(240):
        first, second = rng.permutation(3)[:2]
        best, other = sorted((first, second), key=lambda team: team + rng.logistic())
        rows.append(f"u{number},{'abc'[best]},{'abc'[other]},{int(rng.random() < 1 / 3)}")
    path = tmp_path / "games.csv"
    path.write_text("\n".join(rows))
    return path


@pytest.mark.slow
def test_private_scores_come_with_the_tie_parameter(games):
    """Rehearsed, so that no sampler is needed; ν near the share of draws, about 1 between equal teams."""
    found = released(games, adjacency="flip", ties="davidson", seed=1)
    facts = found.facts
    assert facts["tie_model"] == "davidson"
    assert facts["tie_parameter_low"] < facts["tie_parameter"] < facts["tie_parameter_high"]
    assert 0.5 < facts["tie_parameter"] < 3
    assert facts["noise_scale"] == facts["sensitivity"] == 2.0  # one comparison of each user
    assert (found.guarantee.adjacency, found.guarantee.epsilon) == ("flip", 1.0)
    assert any("nu = " in note for note in found.notes)
    assert fit(games, ties="davidson").facts["gamma"] == 0


def test_where_nothing_is_tied_a_ridge_keeps_the_fit_finite(write):
    found = fit(write("u,a,b", "v,b,c", "w,c,a"), ties="davidson")
    assert found.facts["separated"]
    assert found.facts["gamma"] == 1.0
    assert found.facts["tie_parameter"] > 0.1
    assert "rare" in found.warnings[0]


def test_the_ends_of_a_coefficient_are_told_beside_it():
    table = {
        "counted": Facts(design=Facts(names=("length",))),
        "table": None,
        "model": "covariates",
    }
    ends = Facts(coefficients=Facts(low=[1.0], high=[3.0]))
    data, value = Facts(asked=Facts(ties="half", level=0.9), **table), Facts(coefficients=[2.0])
    found = ways._parts_of(data, value, ends, near=True)["covariates"]
    assert found == {"length": {"coefficient": 2.0, "low": 1.0, "high": 3.0}}


@pytest.mark.parametrize("items", [3, thorough(300)])
def test_errors_that_are_not_known_leave_intervals_out(items):
    """Also of so many items that no program is compiled for this size alone."""
    errors = standard_errors(np.zeros(items), 1 - np.eye(items))
    unknown = dataclasses.replace(errors, covariance=np.full((items, items), np.nan))
    found, _ = of_errors(unknown, level=0.95, words="")
    assert not found.intervals
