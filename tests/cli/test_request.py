"""Options in groups: what cells are, and what a release promises unless its command says."""

from __future__ import annotations

import pytest

from privrank_jax.cli.console import Refusal
from privrank_jax.cli.request import Budget, RankingColumns, Release


def test_cells_are_one_thing_or_not_said():
    assert RankingColumns().cells is None
    assert RankingColumns(ranks=True).cells == "ranks"
    assert RankingColumns(higher_is_better=True).cells == "ratings"
    assert RankingColumns(lower_is_better=True).cells == "costs"
    for other in ("ranks", "lower_is_better"):
        with pytest.raises(Refusal, match="not more than one"):
            _ = RankingColumns(higher_is_better=True, **{other: True}).cells


def test_no_group_of_options_chooses_a_budget():
    assert Budget().epsilon is None
    assert "epsilon" in Budget.names()
    assert "unit" not in Budget.names()


def test_releases_are_private_and_promise_what_their_command_says():
    request = Release(source="votes.csv")
    assert request.private
    assert request.promised is None
