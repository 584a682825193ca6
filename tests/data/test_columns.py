"""Columns of a header by their roles."""

from __future__ import annotations

import pytest

from privrank_jax.data import DataError
from privrank_jax.data.header import find_columns
from tests.data.readers import read_comparisons
from tests.data.votes import GOOD, written


def test_one_column_cannot_have_two_roles(tmp_path):
    with pytest.raises(DataError, match="column 'winner' has two roles"):
        read_comparisons(written(tmp_path, GOOD), loser="winner")


def test_a_tie_column_asked_for_by_name_must_exist(tmp_path):
    with pytest.raises(DataError, match="no column 'even'"):
        read_comparisons(written(tmp_path, GOOD), tie="even")


ROLES = {"user": "user", "winner": "winner", "loser": "loser", "tie": "tie"}


def test_columns_are_found_wherever_they_stand_and_ties_may_be_absent():
    header = ["loser", "note", "user", "winner"]
    found, ignored = find_columns("votes.csv", header, ROLES)
    assert found == {"user": "user", "winner": "winner", "loser": "loser"}
    assert ignored == ["note"]


@pytest.mark.parametrize(
    ("header", "roles", "message"),
    [
        (["user", "winner", "winner", "loser"], ROLES, "2 columns are named 'winner'"),
        (["user", "winer", "loser"], ROLES, r"no column 'winner' \(did you mean 'winer'\?\)"),
        (["winner", "loser"], ROLES, r"or say user=None \(--user none\) if there is none"),
        (["user;winner;loser"], ROLES, "no column 'user'"),
        (["user", "winner", "loser", "Is_Tied"], ROLES, "'Is_Tied' looks like a mark of ties"),
        (["user", "a", "b", "result"], {**ROLES, "winner": "won"}, "no column 'won'"),
    ],
)
def test_headers_that_are_refused(header, roles, message):
    with pytest.raises(DataError, match=message):
        find_columns("votes.csv", header, roles)
