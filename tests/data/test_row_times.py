"""Times of rows: what is read as a time, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import DataError, Rankings
from privrank_jax.data.cells import parsed_time
from tests.data.readers import read_comparisons
from tests.parquet import as_parquet, parquet


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-05-31", "2024-05-31T00:00"),
        (" 2024-05-31T18:30:00 ", "2024-05-31T18:30"),
        ("2024-05-31T18:30:00Z", "2024-05-31T18:30"),
        ("2024-05-31 18:30:00+02:00", "2024-05-31T16:30"),
        ("20240531", "2024-05-31T00:00"),
        ("1717180200", "2024-05-31T18:30"),
        ("1717180200.5", "2024-05-31T18:30:00.5"),
        ("0", "1970-01-01T00:00"),
        ("noon", None),
        ("", None),
        ("2024-13-01", None),
        ("nan", None),
    ],
)
def test_what_a_text_denotes(text, expected):
    found = parsed_time(text)
    assert found == (None if expected is None else np.datetime64(expected, "us"))


def test_times_stand_in_the_order_of_the_file(tmp_path):
    path = tmp_path / "votes.tsv"
    path.write_text("winner\tloser\twhen\na\tb\t2024-05-31\nb\ta\t2024-05-30T12:00\n")
    assert read_comparisons(path, user=None, time="when").times.tolist() == [
        np.datetime64("2024-05-31", "us").item(),
        np.datetime64("2024-05-30T12:00", "us").item(),
    ]
    rows = "VALUES ('a', 'b', TIMESTAMP '2024-05-31'), ('b', 'a', TIMESTAMP '2024-05-30 12:00:00')"
    table = parquet(tmp_path, f'SELECT * FROM ({rows}) AS t(winner, loser, "when")')
    there, here = (read_comparisons(one, user=None, time="when").times for one in (table, path))
    np.testing.assert_array_equal(there, here)


TEA = {"user": ["u1", "u2"], "when": ["2024-05-31", "2024-05-30T12:00"]}
FORMS = {
    "ranks": ({"tea": [1, 2], "milk": [2, 1]}, {}),
    "approvals": ({"tea": ["x", ""], "milk": ["", "x"]}, {"cells": "approvals"}),
    "places": ({"rank_1": ["tea", "milk"], "rank_2": ["milk", "tea"]}, {}),
    "orders": ({"order": ["tea>milk", "milk>tea"]}, {}),
}


@pytest.mark.parametrize("form", FORMS)
def test_ballots_have_times_and_their_column_is_no_item(form, tmp_path):
    columns, given = FORMS[form]
    expected = np.array(["2024-05-31", "2024-05-30T12:00"], "datetime64[us]")
    path = tmp_path / "ballots.csv"
    cells = {**TEA, **columns}
    rows = [",".join(cells), *(",".join(map(str, row)) for row in zip(*cells.values()))]
    path.write_text("\n".join(rows) + "\n")
    for source in (cells, path, as_parquet(path)):
        found = pr.read(source, time="when", **given)
        np.testing.assert_array_equal(found.times, expected)
        assert sorted(found.item_names) == ["milk", "tea"]
        assert not any("not used" in note for note in found.notes)
        with pytest.raises(DataError, match="day"):
            pr.read(source, time="day", **given)
    assert pr.read(path, ignore=["when"], **given).times is None
    counted = {**columns, "n": [2, 1], "when": TEA["when"]}
    found = pr.read(counted, time="when", count="n", user=None, **given)
    np.testing.assert_array_equal(found.times, expected[[0, 0, 1]])
    wrong = {**cells, "when": ["2024-05-31", "noon"]}
    with pytest.raises(DataError, match=r"column 'when': 'noon' is no time"):
        pr.read(wrong, time="when", **given)


def test_only_rows_of_whole_ballots_have_times():
    long = {"user": ["u1"] * 2, "item": ["tea", "milk"], "rank": [1, 2], "when": ["2024-05-31"] * 2}
    with pytest.raises(DataError, match="a user has several rows here"):
        pr.read(long, time="when")
    with pytest.raises(DataError, match="leave out time"):
        pr.read("coffee-rankings", time="when")
    with pytest.raises(DataError, match="times of shape"):
        Rankings([[0, 1]], ("a", "b"), times=np.zeros(2, "datetime64[us]"))


def test_refusals(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("winner,loser,when\na,b,2024-05-31\nb,a,soon\n")
    with pytest.raises(DataError, match=r"votes.csv, line 3, column 'when': 'soon' is no time"):
        read_comparisons(path, user=None, time="when")
    with pytest.raises(DataError, match="day"):
        read_comparisons(path, user=None, time="day")
