"""Kamishima's order files, and what each refusal says."""

from __future__ import annotations

import pytest

from privrank_jax.data import DataError
from tests.data.files import written
from tests.data.readers import read_rankings


def test_the_order_files_of_sushi(tmp_path):
    text = "10 1\n0 10 5 0 3 4 6 9 8 1 7 2\n0 10 0 9 6 3 7 2 8 1 5 4\n"
    table = read_rankings(written(tmp_path, text, "sushi3a.order"))
    # Ids of set A: 5 is salmon roe, 6 egg; the first row begins with salmon roe and shrimp.
    assert table.item_names[5:7] == ("salmon roe", "egg")
    assert table.ranks[0].tolist() == [1, 7, 9, 2, 3, 0, 4, 8, 6, 5]
    assert (table.missing, table.complete) == ("last", True)


def test_items_of_set_b_are_named_by_their_ids(tmp_path):
    table = read_rankings(written(tmp_path, "12 1\n0 2 11 3\n0 2 0 1\n", "sushi3b.order"))
    assert table.item_names[11] == "item 11"
    assert (table.missing, table.ranks[0, 11], table.ranks[0, 3]) == ("unknown", 0, 1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10 1\n0 10 0 1 2 3 4 5 6 7 8 8\n", "line 2"),
        ("10 1\n0 10 0 1 2 3 4 5 6 7 8 10\n", "line 2"),
        ("10 1\n0 9 0 1 2 3 4 5 6 7 8 9\n", "line 2"),
        ("10 1\n0 2 0 1\n0 3 0 1 2\n", "line 3"),
        ("0 10 0 1 2\n", "0 ballots"),
        ("10 1\n", "0 ballots of 10 items"),
        ("10 1\nshrimp first\n", "line 2"),
        ("many 1\n0 1 1\n", "line 1"),
        ("\n", "0 ballots"),
    ],
)
def test_order_file_refusals(tmp_path, text, message):
    with pytest.raises(DataError, match=message):
        read_rankings(written(tmp_path, text, "sushi3a.order"))
