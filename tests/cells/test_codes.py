"""Cells to codes: each spelling is checked once."""

from __future__ import annotations

import pytest

from privrank_jax._cells.codes import NameCodes, TieCodes
from privrank_jax._cells.errors import BadCell
from privrank_jax.datasets import DataError, read_comparisons
from tests.datasets.votes import GOOD, written


@pytest.mark.parametrize(
    ("cell", "tied"),
    [("1", True), ("true", True), ("Yes", True), (" TRUE ", True), ("0", False), ("", False),
     ("no", False), ("False", False), (" ", False)],
)  # fmt: skip
def test_tie_words(tmp_path, cell, tied):
    table = read_comparisons(written(tmp_path, f"user,winner,loser,tie\na,x,y,{cell}\n"))
    assert table.tied.tolist() == [tied]


@pytest.mark.parametrize(
    ("items", "message"),
    [
        (["Oslo", "Paris"], r"line 3, column 'loser': 'Rome' is not in the list of items"),
        (["Oslo", "Paris", "rome"], r"did you mean 'rome'\?"),
        (["Oslo", "Paris", "Rome", "Paris"], "named twice, 'Paris' and 'Paris'"),
        (["Oslo", "Paris", "Rome", "oslo "], "named twice, 'Oslo' and 'oslo '"),
        (["Oslo"], "at least two items"),
        ([], "at least two items"),
        (["Oslo", " "], "blank name"),
        ("Oslo", "must be a list of names"),
    ],
)
def test_refused_item_lists(tmp_path, items, message):
    with pytest.raises(DataError, match=message):
        read_comparisons(written(tmp_path, GOOD), items=items)


def test_names_are_numbered_as_they_first_appear():
    codes = NameCodes("item", True)
    assert [codes[name] for name in ("b", "a", "b", "c")] == [0, 1, 0, 2]
    assert tuple(codes) == ("b", "a", "c")


@pytest.mark.parametrize(
    ("codes", "name", "message"),
    [
        (NameCodes("item", True), None, "the item is missing"),
        (NameCodes("user", False), " ", "the user is missing"),
        (NameCodes("item", True), "NaN", "marks a missing value.*put it into `items`"),
        (NameCodes("user", False), "a\0", "NUL"),
        (NameCodes("item", True, ("Oslo", "Rome")), "Rom", r"did you mean 'Rome'\?"),
        (
            NameCodes("item", True, None, ["Model_A", "winner"]),
            "model_a",
            "is the name of a column",
        ),
    ],
)
def test_what_is_no_name(codes, name, message):
    with pytest.raises(BadCell, match=message):
        codes[name]


def test_spellings_of_one_name_are_refused_by_case_only_where_case_is_folded():
    items, users = NameCodes("item", True), NameCodes("user", False)
    assert (items["Ann"], users["Ann"], users["ann"]) == (0, 0, 1)
    with pytest.raises(BadCell, match="item named twice: 'Ann' and 'ann'"):
        items["ann"]
    with pytest.raises(BadCell, match="user named twice: 'ann' and ' ann'"):
        users[" ann"]
    users["a@x.org"]
    for other in ("A@x.org", "a@X.org ", "a@x.org\u200b", "\uff41@x.org"):
        with pytest.raises(BadCell, match=r"user named twice: 'a@x\.org' and "):
            users[other]
    with pytest.raises(BadCell, match="the user is missing"):
        users["\u200b"]


def test_columns_may_be_items_of_a_public_list():
    codes = NameCodes("item", True, ("winner", "loser"), ["winner", "loser"])
    assert codes["loser"] == 1


def test_what_says_no_tie():
    ties = TieCodes()
    with pytest.raises(BadCell, match="'2' does not say whether it is a tie"):
        ties["2"]
    assert ties[None] == 0
