"""Tables of results in files."""

from __future__ import annotations

import csv
import math
import sys

import duckdb
import openpyxl
import pytest

from privrank_jax.simulate import write_csv, write_parquet
from privrank_jax.simulate.moments import BLOCK
from privrank_jax.simulate.table_files import write_workbook
from tests.simulate.rows import RESULT, row


def test_csv_round_trip(tmp_path):
    path = tmp_path / "table.csv"
    RESULT.to_csv(path)
    with path.open(newline="", encoding="utf-8") as file:
        read = list(csv.DictReader(file))
    assert list(read[0]) == list(RESULT.rows[0])
    assert float(read[0]["mean"]) == RESULT.rows[0]["mean"]
    other = {"study": "t", "users": 5, "metric": "error", "mean": 1.0}  # of another study
    write_csv([row(), other], tmp_path / "both.csv")
    assert (tmp_path / "both.csv").read_text().splitlines()[0].endswith("nonfinite,users")
    assert (read[2]["epsilon"], read[2]["link"]) == ("inf", 'pro"bit, 2')


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
    other = {"study": "t", "users": 5, "metric": "error", "mean": 1.0}
    rows = [*(row(num_items=index) for index in range(2 * BLOCK + 1)), other]
    write_parquet(rows, tmp_path / "many.parquet")
    counted = duckdb.read_parquet(str(tmp_path / "many.parquet")).aggregate(
        "sum(num_items), sum(users)"
    )
    assert counted.fetchall() == [(sum(range(2 * BLOCK + 1)), 5)]


def test_workbook_round_trip(tmp_path):
    path = tmp_path / "table.xlsx"
    write_workbook(RESULT.rows, path)
    sheet = openpyxl.load_workbook(path).worksheets[0]
    header, *read = sheet.iter_rows(values_only=True)
    assert header == tuple(RESULT.rows[0])
    known = dict(RESULT.rows[0])
    found = dict(zip(header, read[0], strict=True))
    assert found.pop("mean") == pytest.approx(known.pop("mean"), rel=1e-15)  # 16 digits
    assert found == known
    assert type(read[0][header.index("private")]) is bool
    assert read[1][header.index("mean")] == "nan"
    assert read[2][header.index("epsilon")] == "inf"


def test_nothing_in_a_workbook_is_computed(tmp_path):
    """And characters that it can't hold are replaced."""
    texts = ["=1+1", '=HYPERLINK("//x")', "+1", "-1", "@a", "#N/A", "1", "é=ß"]
    write_workbook([{text: text for text in texts} | {"score": 1}], tmp_path / "table.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "table.xlsx").worksheets[0]
    for place, text in enumerate(texts, 1):
        for cell in (sheet.cell(1, place), sheet.cell(2, place)):
            assert (cell.value, cell.data_type) == (text, "s")
            assert cell.quotePrefix  # so that Excel keeps it a text when it is edited
    assert (sheet["I2"].value, sheet["I2"].data_type) == (1, "n")
    write_workbook([{"item": "a\x1b[2Jb\n", "score": None}], tmp_path / "other.xlsx")
    sheet = openpyxl.load_workbook(tmp_path / "other.xlsx").worksheets[0]
    assert [cell.value for cell in sheet[2]] == ["a\ufffd[2Jb\n", None]


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


def test_empty_tables_and_missing_packages_are_explained(tmp_path, monkeypatch):
    with pytest.raises(ValueError, match="empty"):
        write_csv([], tmp_path / "a.csv")
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(ImportError, match=r"privrank-jax\[tables\]"):
        RESULT.to_parquet(tmp_path / "a.parquet")
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"privrank-jax\[excel\]"):
        write_workbook(RESULT.rows, tmp_path / "a.xlsx")
