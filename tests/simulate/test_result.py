from __future__ import annotations

import csv
import math
import sys

import duckdb
import numpy as np
import pytest

from privrank_jax.simulate import StudyResult, write_csv, write_parquet
from privrank_jax.simulate.moments import BLOCK, Moments
from tests import reference


def row(**changes):
    base = {
        "study": "s",
        "epsilon": 0.5,
        "link": "logistic",
        "private": True,
        "num_items": 30,
        "metric": "error",
        "mean": 0.1 + 0.2,
        "standard_error": 0.01,
        "replicates": 100,
        "nonfinite": 0,
    }
    return {**base, **changes}


RESULT = StudyResult(
    "s",
    [row(), row(metric="time", mean=math.nan), row(epsilon=math.inf, link='pro"bit, 2')],
)


@pytest.mark.parametrize("count", [2, BLOCK, 3 * BLOCK + 17])
def test_moments_match_the_naive_ones(count):
    values = np.random.default_rng(0).normal(1e3, 1.0, (2, count))
    values[1, ::2] = np.nan
    values[1, -1] = np.inf if count > 2 else values[1, -1]
    values[1, 0] = 7.0
    moments = Moments(1, 2, count)
    for part in np.array_split(values, 5, axis=1):
        moments.add(part)
    for series, found in zip(
        values, moments.rows(0, {"study": "s"}, [{"metric": "a"}, {"metric": "b"}]), strict=True
    ):
        mean, error, nonfinite = reference.mean_and_error(series)
        assert found["mean"] == pytest.approx(mean, rel=1e-14)
        assert found["standard_error"] == pytest.approx(error, rel=1e-10)
        assert (found["replicates"], found["nonfinite"]) == (count, nonfinite)


def test_moments_without_enough_finite_values_are_nan():
    moments = Moments(1, 2, 2)
    moments.add(np.array([[3.0, np.nan], [np.nan, np.inf]]))
    one, none = moments.rows(0, {}, [{"metric": "one"}, {"metric": "none"}])
    assert (one["mean"], one["nonfinite"], none["nonfinite"]) == (3.0, 1, 2)
    assert all(math.isnan(v) for v in (one["standard_error"], none["mean"]))


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


def test_tables_of_several_studies_join(tmp_path):
    rows = [row(), {"study": "t", "users": 5, "metric": "error", "mean": 1.0}]
    write_csv(rows, tmp_path / "both.csv")
    write_parquet(rows, tmp_path / "both.parquet")
    assert (tmp_path / "both.csv").read_text().splitlines()[0].endswith("nonfinite,users")
    users = duckdb.read_parquet(str(tmp_path / "both.parquet")).project("users").fetchall()
    assert users == [(None,), (5,)]


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
    assert repr(RESULT) == str(RESULT)


def test_a_long_table_prints_its_beginning():
    text = str(StudyResult("long", [row(num_items=index) for index in range(1000)]))
    assert "long: 1,000 rows" in text
    assert text.endswith("... and 960 more rows")
    assert len(text.splitlines()) == 43
    assert str(StudyResult("none", [])) == "none: 0 rows"


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
    with pytest.raises(ImportError, match="pip install pandas"):
        RESULT.to_pandas()
