"""Columns of a header by their roles."""

from __future__ import annotations

import pytest

import privrank_jax as pr
from privrank_jax.data import DataError
from privrank_jax.data.header import find_columns
from tests.data.files import GOOD, written
from tests.data.readers import read_comparisons


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


_PAIR = {"user": ["u", "v"], "winner": ["a", "b"], "loser": ["b", "a"], "n": ["CELL", "1"]}
_NUMBERS = {
    "count": (_PAIR, {"count": "n"}),
    "weight": (_PAIR, {"weight": "n"}),
    "covariate": ({**_PAIR, "first": ["a", "a"]}, {"covariates": ["n"], "side": "first"}),
    "time": (_PAIR, {"time": "n"}),
    "score": (
        {"left": ["a", "b"], "right": ["b", "a"], "n": ["CELL", "1"], "m": ["2", "2"]},
        {"left_score": "n", "right_score": "m", "user": None},
    ),
    "rank": ({"user": ["u", "v"], "a": ["CELL", "1"], "b": ["2", "2"]}, {}),
    "rating": ({"user": ["u", "v"], "a": ["CELL", "1"], "b": ["2", "2"]}, {"cells": "ratings"}),
    "epsilon": ({"item_1": ["a"], "item_2": ["b"], "report": ["1"], "epsilon": ["CELL"]}, {}),
}


@pytest.mark.parametrize("cell", ["1_0", "1_000", "\uff11", "0x1", "inf", "nan ", "1,5", ""])
@pytest.mark.parametrize("role", _NUMBERS)
def test_one_rule_for_numbers(role, cell):
    """Underscores and digits of other scripts are Python's, not the file's."""
    columns, options = _NUMBERS[role]
    filled = {
        name: [cell if one == "CELL" else one for one in cells] for name, cells in columns.items()
    }
    if role in ("rank", "rating") and cell in ("", "nan "):
        assert pr.read(filled, **options).ranks.tolist()[0] == [-1, 0]
        return
    with pytest.raises(DataError, match="row 1, column"):
        pr.read(filled, **options)
