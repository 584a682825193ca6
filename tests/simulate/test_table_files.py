"""Tables of results in files."""

from __future__ import annotations

import csv
import math
import sys

import duckdb
import pytest

from privrank_jax.simulate import write_csv, write_parquet
from privrank_jax.simulate.moments import BLOCK
from tests.simulate.rows import RESULT, row


def test_csv_round_trip(tmp_path):
    path = tmp_path / "table.csv"
    RESULT.to_csv(path)
    with path.open(newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert list(read[0]) == list(RESULT.rows[0])
    assert float(read[0]["mean"]) == RESULT.rows[0]["mean"]
    assert (read[2]["epsilon"], read[2]["link"]) == ("inf", 'pro"bit, 2')
    assert list(tmp_path.iterdir()) == [path]


def test_parquet_round_trip(tmp_path):
    path = tmp_path / "it's.parquet"
    RESULT.to_parquet(path)
    relation = duckdb.read_parquet(str(path))
    types = dict(zip(relation.columns, map(str, relation.types), strict=True))
    assert types["private"] == "BOOLEAN"
    assert types["num_items"] == types["nonfinite"] == "BIGINT"
    assert types["epsilon"] == types["mean"] == "DOUBLE"
    read = [dict(zip(relation.columns, record, strict=True)) for record in relation.fetchall()]
    assert read[0] == RESULT.rows[0]
    assert read[2] == RESULT.rows[2]
    assert math.isnan(read[1]["mean"])
    assert list(tmp_path.iterdir()) == [path]


def test_many_rows_reach_parquet(tmp_path):
    rows = [row(num_items=index) for index in range(2 * BLOCK + 1)]
    write_parquet(rows, tmp_path / "many.parquet")
    counted = duckdb.read_parquet(str(tmp_path / "many.parquet")).aggregate("sum(num_items)")
    assert counted.fetchall() == [(sum(range(2 * BLOCK + 1)),)]


def test_a_failed_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "table.csv"
    RESULT.to_csv(path)
    before = path.read_text()

    class Broken:
        def __str__(self):
            raise RuntimeError("half way")

    with pytest.raises(RuntimeError, match="half way"):
        write_csv([row(), row(mean=Broken())], path)
    assert path.read_text() == before
    assert list(tmp_path.iterdir()) == [path]


def test_empty_tables_and_missing_duckdb_are_explained(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="empty"):
        write_csv([], tmp_path / "a.csv")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ImportError, match=r"privrank-jax\[tables\]"):
        RESULT.to_parquet(tmp_path / "a.parquet")
