"""How often rows count and what items score: read or refused, never left out by the way."""

from __future__ import annotations

import pytest

from privrank_jax._cells import counts
from privrank_jax._cells.counts import (
    CountCodes,
    WeightCodes,
    check_no_counts,
    higher,
    repeated,
)
from privrank_jax._cells.errors import BadCell, DataError


@pytest.mark.parametrize(
    "column", ["count", "Counts", "n", "N", "freq", "Frequency", "weight", "votes", "n_votes", "ballots", "how often"]
)  # fmt: skip
def test_columns_that_look_like_counts(column):
    with pytest.raises(DataError, match=f"f: column '{column}' looks like .* say count='{column}'"):
        check_no_counts("f", ["id", column])
    with pytest.raises(DataError, match="if it is an item, list the `items`"):
        check_no_counts("f", [column], items=True)


def test_other_columns_do_not():
    check_no_counts("f", ["country", "account", "word_count", "weight_a", "number", "id", "Norway"])


def test_cells_of_counts():
    codes = CountCodes()
    assert [codes[cell] for cell in ("7", " 0 ", "3.0", "+2")] == [7, 0, 3, 2]
    for cell in ("", None, "NA", "-1", "1.5", "x", "1e3", str(counts.MOST_COUNTED + 1)):
        with pytest.raises(BadCell, match="does not say how often the row counts"):
            codes[cell]


def test_cells_of_weights():
    codes = WeightCodes()
    assert [codes[cell] for cell in ("7", " 0 ", "0.25", "1e3")] == [7, 0, 0.25, 1000]
    for cell in ("", None, "NA", "-1", "x", "1,5", "inf", "nan", "1e999"):
        with pytest.raises(BadCell, match="is no weight: write a number of at least 0"):
            codes[cell]


def test_counts_that_are_too_many(monkeypatch):
    assert repeated("f", []).tolist() == []
    monkeypatch.setattr(counts, "MOST_COUNTED", 5)
    assert repeated("f", [0, 2, 3]).tolist() == [1, 1, 2, 2, 2]
    with pytest.raises(DataError, match="f: its counts add up to more than 5 rows"):
        repeated("f", [3, 3])


def test_the_higher_score_wins():
    pairs = [("2", "1"), ("-1", "0.5"), (" 3", "3.0"), ("0", "-0")]
    assert [higher(*pair) for pair in pairs] == ["left", "right", "tie", "tie"]
    for pair in (("", "1"), ("1", None), ("1", "2:1"), ("1", "inf")):
        with pytest.raises(BadCell, match="is no score: write a number"):
            higher(*pair)
