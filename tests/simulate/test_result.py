from __future__ import annotations

import html
import math
import sys

import duckdb
import numpy as np
import pytest

from privrank_jax.simulate import write_csv, write_parquet
from tests.simulate.rows import RESULT, row


def test_select_and_row():
    assert [r["metric"] for r in RESULT.select(epsilon=0.5)] == ["error", "time"]
    assert RESULT.row("error", epsilon=math.inf)["link"] == 'pro"bit, 2'
    assert RESULT.select("error", epsilon=7.0) == []
    with pytest.raises(ValueError, match="2 rows match"):
        RESULT.row("error")
    with pytest.raises(ValueError, match="no column 'eps'"):
        RESULT.select(eps=1)
    with pytest.raises(ValueError, match="no metric 'errors'"):
        RESULT.select("errors")


def test_tables_of_several_studies_join(tmp_path):
    rows = [row(), {"study": "t", "users": 5, "metric": "error", "mean": 1.0}]
    write_csv(rows, tmp_path / "both.csv")
    write_parquet(rows, tmp_path / "both.parquet")
    assert (tmp_path / "both.csv").read_text().splitlines()[0].endswith("nonfinite,users")
    users = duckdb.read_parquet(str(tmp_path / "both.parquet")).project("users").fetchall()
    assert users == [(None,), (5,)]


def test_a_table_prints_what_varies_and_says_what_does_not():
    lines = str(RESULT).splitlines()
    assert lines[0] == "s: 3 rows; private = True, num_items = 30, replicates = 100"
    assert lines[1].split() == ["epsilon", "link", "metric", "mean", "standard_error"]
    assert lines[2].split() == ["0.5", "logistic", "error", "0.3", "0.01"]
    assert lines[3].split() == ["0.5", "logistic", "time", "-", "0.01"]
    assert lines[4].startswith('        ∞  pro"bit, 2')
    # Numbers end, and words begin, where those above do.
    for word in ("mean", "standard_error"):
        end = lines[1].index(word) + len(word)
        assert all(len(line) >= end and line[end - 1] != " " for line in lines[1:])
    assert RESULT._repr_html_() == f"<pre>{html.escape(str(RESULT))}</pre>"
    assert "&quot;bit, 2" in RESULT._repr_html_()


def test_columns_values_and_what_rows_lack():
    assert RESULT.columns == list(row())
    assert RESULT.values("epsilon") == [0.5, math.inf]
    with pytest.raises(ValueError, match="no column 'x'"):
        RESULT.values("x")


def test_data_frames(monkeypatch):
    pandas = pytest.importorskip("pandas")
    frame = RESULT.to_pandas()
    assert list(frame.columns) == RESULT.columns
    assert frame["num_items"].dtype == np.int64
    assert frame["epsilon"].dtype == np.float64
    assert frame.groupby("metric")["mean"].count().to_dict() == {"error": 2, "time": 0}
    assert isinstance(frame, pandas.DataFrame)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError):
        RESULT.to_pandas()
