"""Times of rows: what is read as a time, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest

import privrank_jax as pr
from privrank_jax.data import DataError
from privrank_jax.data.cells import parsed_time
from tests.data.readers import read_comparisons
from tests.parquet import parquet


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


def test_rankings_have_no_times():
    table = {"user": ["u1", "u2"], "tea": [1, 2], "milk": [2, 1], "when": ["2024-05-31"] * 2}
    for source in (table, "coffee-rankings"):
        with pytest.raises(DataError, match="leave out time"):
            pr.read(source, time="when")


def test_refusals(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("winner,loser,when\na,b,2024-05-31\nb,a,soon\n")
    with pytest.raises(DataError, match=r"votes.csv, line 3, column 'when': 'soon' is no time"):
        read_comparisons(path, user=None, time="when")
    with pytest.raises(DataError, match="day"):
        read_comparisons(path, user=None, time="day")
