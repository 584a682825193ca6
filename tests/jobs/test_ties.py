"""``pr.rank(ties="davidson")``: ties as an outcome of their own, with and without privacy."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from tests.jobs.released import released

PRIVATE: dict[str, Any] = {"adjacency": "flip", "ties": "davidson", "epsilon": 1.0}


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


def test_private_scores_come_with_the_tie_parameter(games):
    """Rehearsed, so that no sampler is needed; ν near the share of draws, about 1 between equal teams."""
    found = released(games, **PRIVATE, seed=1)
    facts: dict[str, Any] = found.facts
    assert facts["tie_model"] == "davidson"
    assert facts["tie_parameter_low"] < facts["tie_parameter"] < facts["tie_parameter_high"]
    assert 0.5 < facts["tie_parameter"] < 3
    assert facts["noise_scale"] == facts["sensitivity"] == 2.0  # one comparison of each user
    assert found.guarantee is not None
    assert (found.guarantee.adjacency, found.guarantee.epsilon) == ("flip", 1.0)
    assert any("nu = " in note for note in found.notes)
    json.dumps(facts)


def test_without_privacy_no_ridge_is_needed(games):
    found = released(games, epsilon=None, ties="davidson")
    facts: dict[str, Any] = found.facts
    assert found.guarantee is None
    assert facts["separated"] is False
    assert facts["gamma"] == 0


def test_where_nothing_is_tied_a_ridge_keeps_the_fit_finite(write):
    found = released(write("u,a,b", "v,b,a", "w,a,b"), epsilon=None, ties="davidson")
    assert found.facts["separated"]
    assert found.facts["gamma"] == 1.0
    assert "too rare" in found.warnings[0]
