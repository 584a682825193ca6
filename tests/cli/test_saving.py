"""Files of a result: what is written, and what is refused before a budget is spent."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import duckdb
import openpyxl
import pytest

REHEARSED = ("rank", "coffee", "--epsilon", 1, "--simulate", "--seed", 1)


def test_all_files_hold_what_is_printed(privrank, tmp_path):
    paths = {
        end: tmp_path / f"r.{end}" for end in ("csv", "json", "parquet", "xlsx", "svg", "html")
    }
    options = (word for path in paths.values() for word in ("--out", path))
    result = privrank(*REHEARSED, *options, "--json")
    assert result.code == 0, result.err
    printed = result.json()
    assert {path.name for path in tmp_path.iterdir()} == {path.name for path in paths.values()}
    assert json.loads(paths["json"].read_text()) == printed
    ranking = printed["ranking"]
    with paths["csv"].open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [{name: str(value) for name, value in row.items()} for row in ranking]
    names = ", ".join(ranking[0])
    rows = duckdb.sql(f"SELECT {names} FROM '{paths['parquet']}'").fetchall()
    assert rows == [tuple(row.values()) for row in ranking]
    header, *rows = openpyxl.load_workbook(paths["xlsx"]).worksheets[0].iter_rows(values_only=True)
    for row, shown in zip(rows, ranking, strict=True):  # numbers to 16 digits
        assert dict(zip(header, row, strict=True)) == {
            name: pytest.approx(value, rel=1e-15) if type(value) is float else value
            for name, value in shown.items()
        }
    page = paths["html"].read_text()
    assert [page.count(f">{row['item']}<") for row in ranking] == [1] * 6
    assert "<svg" in page
    assert paths["svg"].read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("method", "heads", "pictures"),
    [("weights", "rank\titem\trank_low\trank_high", 1), ("kwiksort", "rank\titem", 0)],
)
def test_an_order_without_scores_has_files_too(privrank, method, heads, pictures, tmp_path):
    """A page has a picture if it shows more than the table does."""
    table, plot, page = (tmp_path / name for name in ("r.tsv", "r.png", "r.html"))
    words = ("aggregate", "coffee-rankings", *REHEARSED[2:], "--method", method)
    result = privrank(*words, "--out", table, "--out", plot, "--out", page)
    assert result.code == 0, result.err
    assert table.read_text().splitlines()[0] == heads
    assert page.read_text().count("<svg") == pictures
    assert plot.stat().st_size > 1000


@pytest.mark.parametrize(
    ("options", "word", "missing"),
    [
        (("--out", "r.txt"), ".tsv", None),
        (("--out", "a/r.csv"), "folder a", None),
        (("--out", "r.html/../r.csv", "--out", "folder.html"), "folder.html", None),
        (("--out", "r.parquet"), "privrank-jax[tables]", "duckdb"),
        (("--out", "r.xlsx"), "privrank-jax[excel]", "openpyxl"),
        (("--out", "v.csv"), "lost", None),
        (("--out", "l"), "lost", None),
    ],
)
def test_what_can_not_be_written_is_refused_before_the_budget_is_spent(
    privrank, options, word, missing, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for folder in ("folder.html", "r.html"):
        Path(folder).mkdir()
    Path("v.csv").write_text("user,winner,loser\nu,a,b\nv,b,a\n")
    assert privrank("ledger", "l", "--data", "v.csv", "--budget", 2).code == 0
    before = Path("v.csv").read_bytes(), Path("l").read_bytes()
    if missing:
        monkeypatch.setitem(sys.modules, missing, None)
    result = privrank("rank", "v.csv", "--epsilon", 1, "--ledger", "l", *options)
    assert (result.code, result.out) == (2, "")
    assert word in " ".join(result.err.split())
    assert (Path("v.csv").read_bytes(), Path("l").read_bytes()) == before


def test_a_workbook_says_what_is_promised_and_names_are_text(privrank, write, tmp_path):
    source, path = write("u,=1+1,Škoda", "v,Škoda,=1+1", "w,=1+1,Škoda"), tmp_path / "r.xlsx"
    result = privrank("rank", source, *REHEARSED[2:], "--method counts", "--out", path)
    assert result.code == 0, result.err
    ranking, about = openpyxl.load_workbook(path).worksheets
    head, *rows = ranking.iter_rows()
    assert all(cell.font.bold for cell in head)
    for row in rows:
        cells = {name.value: cell for name, cell in zip(head, row, strict=True)}
        assert (cells["item"].value in ("=1+1", "Škoda"), cells["item"].data_type) == (True, "s")
        assert cells["rank"].number_format == "General"
        assert cells["score"].number_format == "0.0000"
    assert all(cell.data_type == "s" for row in about.iter_rows() for cell in row)
    words = dict(about.iter_rows(values_only=True))
    assert words["guarantee"] in " ".join(result.out.split())
    assert {"low, high", "rank_low, rank_high", "note", "written by"} <= words.keys()
    assert "rehearsal" in words["caution"]
    assert words["command"].startswith("privrank rank ")
