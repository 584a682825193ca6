"""Files as streams of rows: CSV and Parquet, and what can't be read."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from privrank_jax.datasets import DataError, read_comparisons
from tests.datasets.votes import GOOD, HEAD, written
from tests.parquet import parquet


def test_line_numbers_count_lines_of_the_file_not_rows(tmp_path):
    text = HEAD + 'a,"x\nX",y,0\n\na,y,y,0\n'
    with pytest.raises(DataError, match="line 5, column 'loser'"):
        read_comparisons(written(tmp_path, text))


def test_a_cell_may_be_as_long_as_a_conversation(tmp_path):
    text = "user,winner,loser,said\nu,x,y," + "hello " * 50_000 + "\n"
    assert len(read_comparisons(written(tmp_path, text))) == 1


def test_paths_that_are_no_readable_file(tmp_path):
    with pytest.raises(DataError, match="no such file"):
        read_comparisons(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="is a folder"):
        read_comparisons(tmp_path)
    with pytest.raises(DataError, match=r"unknown kind of file \(\.ods\).* save the sheet as CSV"):
        read_comparisons(written(tmp_path, GOOD, "votes.ods"))
    with pytest.raises(DataError, match="no suffix"):
        read_comparisons(written(tmp_path, GOOD, "votes"))


def test_a_file_that_may_not_be_read(tmp_path, monkeypatch):
    path = written(tmp_path, GOOD)

    def denied(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", denied)
    with pytest.raises(DataError, match="cannot be read: Permission denied"):
        read_comparisons(path)


def test_parquet_many_rows_keep_their_order(tmp_path):
    select = 'SELECT i AS "user", i % 97 AS winner, i % 97 + 1 AS loser FROM range(200000) t(i)'
    table = read_comparisons(parquet(tmp_path, select))
    assert table.user_names == tuple(map(str, range(200_000)))
    winners = np.array(table.item_names)[table.winners].astype(int)
    np.testing.assert_array_equal(winners, np.arange(200_000) % 97)


def test_text_that_only_claims_to_be_parquet(tmp_path):
    with pytest.raises(DataError, match="not a Parquet file that DuckDB can read"):
        read_comparisons(written(tmp_path, GOOD * 10, "votes.parquet"))


def test_parquet_cut_short(tmp_path):
    whole = parquet(tmp_path, "SELECT 1 AS \"user\", 'x' AS winner, 'y' AS loser").read_bytes()
    with pytest.raises(DataError, match="not a Parquet file that DuckDB can read"):
        read_comparisons(written(tmp_path, whole[: len(whole) // 2], "half.parquet"))


def test_without_duckdb_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(DataError, match=r'pip install "privrank-jax\[tables\]"'):
        read_comparisons(written(tmp_path, "PAR1", "votes.parquet"))
