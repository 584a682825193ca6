"""Tables in DuckDB: what it is asked, and its errors in words."""

from __future__ import annotations

import sys

import pytest

from privrank_jax.data import DataError
from tests.data.readers import read_comparisons
from tests.parquet import parquet


def test_no_file_and_no_parquet(tmp_path, backend):
    with pytest.raises(DataError, match="no such file"):
        read_comparisons(tmp_path / "no.parquet")
    text = tmp_path / "votes.parquet"
    text.write_text("user,winner,loser")
    with pytest.raises(DataError, match="not a Parquet file that DuckDB can read"):
        read_comparisons(text)


def test_without_ibis_the_extra_is_named(tmp_path, monkeypatch):
    path = tmp_path / "votes.parquet"
    path.write_text("PAR1")
    monkeypatch.setitem(sys.modules, "ibis", None)
    with pytest.raises(DataError, match=r'pip install "privrank-jax\[tables\]"'):
        read_comparisons(path)


@pytest.mark.parametrize("cells", ["['x']", "'x'::BLOB"])
def test_columns_that_hold_no_text_are_named(tmp_path, cells):
    select = f"SELECT 'a' AS \"user\", {cells} AS winner, 'y' AS loser"
    with pytest.raises(DataError, match="'winner'"):
        read_comparisons(parquet(tmp_path, select))
