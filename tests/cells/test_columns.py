"""Columns of a header by their roles."""

from __future__ import annotations

from pathlib import Path

import pytest

from privrank_jax._cells.columns import check_file, find_columns
from privrank_jax.datasets import DataError, read_comparisons
from tests.datasets.votes import GOOD, written


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
    assert found == {"user": 2, "winner": 3, "loser": 0}
    assert ignored == ["note"]


@pytest.mark.parametrize(
    ("header", "roles", "message"),
    [
        (["user", "winner", "winner", "loser"], ROLES, "2 columns are named 'winner'"),
        (["user", "winer", "loser"], ROLES, r"no column 'winner' \(did you mean 'winer'\?\)"),
        (["winner", "loser"], ROLES, "or user=None if it names no users"),
        (["user;winner;loser"], ROLES, "separated by another character"),
        (["user", "winner", "loser", "Is_Tied"], ROLES, "'Is_Tied' looks like a mark of ties"),
        (["user", "a", "b", "result"], {**ROLES, "winner": "won"}, "no column 'won'"),
    ],
)
def test_headers_that_are_refused(header, roles, message):
    with pytest.raises(DataError, match=message):
        find_columns("votes.csv", header, roles)


def test_a_file_is_known_by_its_suffix_and_must_hold_something(tmp_path):
    path = tmp_path / "VOTES.CSV"
    path.write_text("x")
    asked = [".csv"], "one file", "a header", "give a .csv file"
    assert check_file(path, *asked) == ".csv"
    path.write_text("")
    with pytest.raises(DataError, match=r"VOTES\.CSV is empty: it needs a header"):
        check_file(path, *asked)
    with pytest.raises(DataError, match="is a stream"):
        check_file(Path("/dev/null"), *asked)
