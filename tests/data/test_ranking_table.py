"""Tables of rankings on the host."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.data import DataError, Rankings
from privrank_jax.data.rankings import ranks_from_orders


def test_the_table_renumbers_and_cannot_be_written_to():
    table = Rankings([[7, 7, 3, -2]], item_names="abcd")
    assert table.ranks.tolist() == [[1, 1, 0, -1]]
    assert table.tied
    with pytest.raises(ValueError, match="read-only"):
        table.ranks[0, 0] = 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"ranks": [[0.0, 1.0]]}, "whole numbers of shape"),
        ({"ranks": [0, 1]}, "whole numbers of shape"),
        ({"ranks": np.zeros((0, 2), int)}, "whole numbers of shape"),
        ({"item_names": ("a", "b", "c")}, "2 columns of ranks, 3 item names"),
        ({"item_names": ("a", "a")}, "named twice"),
        ({"user_names": ("u", "v")}, "1 rows of ranks, 2 user names"),
        ({"missing": "first"}, "missing must be"),
        ({"ranks": [[0]], "item_names": ("a",)}, "at least two items"),
    ],
)
def test_table_refusals(change, message):
    with pytest.raises(DataError, match=message):
        Rankings(**{"ranks": [[0, 1]], "item_names": ("a", "b"), **change})


def test_orders_with_an_item_twice_or_beyond():
    with pytest.raises(DataError, match="row 2 of the orders names an item twice"):
        ranks_from_orders(np.array([[0, 1], [1, 1]]), 3)
    with pytest.raises(DataError, match="row 1 of the orders names an item beyond the 3"):
        ranks_from_orders(np.array([[0, 3], [1, 2]]), 3)


def test_ties_and_blanks_are_told_from_whole_rankings():
    def table(*rows):
        return Rankings(np.array(rows), item_names=("a", "b", "c"))

    assert not table([0, 1, 2], [-1, 7, -1]).tied
    assert table([0, 1, 2], [4, -1, 4]).tied
    assert not table([-1, -1, -1]).tied
    assert table([0, 1, 1]).complete
    assert not table([0, 1, 2], [-1, 0, 1]).complete
