"""Files of a result: what is written, and what is refused before a budget is spent."""

from __future__ import annotations

import csv
import json
import sys
from typing import Any

import duckdb
import openpyxl
import pytest
from typer.testing import CliRunner

from privrank_jax import __version__
from privrank_jax.cli import app

REHEARSED = ("rank", "coffee", "--epsilon", "1", "--simulate", "--seed", "1")


def run(*words: str):
    return CliRunner().invoke(app, words, catch_exceptions=False)


def test_all_files_hold_what_is_printed(tmp_path):
    out, plot, report = (str(tmp_path / name) for name in ("r.csv", "r.svg", "r.html"))
    document = tmp_path / "r.json"
    options = ("--out", plot, "--out", report)
    assert run(*REHEARSED, "--out", out, *options).exit_code == 0
    printed = run(*REHEARSED, "--json", "--out", str(document)).stdout
    assert json.loads(document.read_text()) == json.loads(printed)

    ranking = json.loads(printed)["ranking"]
    with (tmp_path / "r.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert rows == [{name: str(value) for name, value in row.items()} for row in ranking]

    parquet = tmp_path / "r.parquet"
    assert run(*REHEARSED, "--out", str(parquet)).exit_code == 0
    names = ", ".join(ranking[0])
    rows = duckdb.sql(f"SELECT {names} FROM '{parquet}'").fetchall()
    assert rows == [tuple(row.values()) for row in ranking]
    parquet.unlink()

    book = tmp_path / "r.xlsx"
    assert run(*REHEARSED, "--out", str(book)).exit_code == 0
    header, *rows = openpyxl.load_workbook(book).worksheets[0].iter_rows(values_only=True)
    for row, shown in zip(rows, ranking, strict=True):  # numbers to 16 digits
        assert dict(zip(header, row, strict=True)) == {
            name: pytest.approx(value, rel=1e-15) if type(value) is float else value
            for name, value in shown.items()
        }
    book.unlink()

    page = (tmp_path / "r.html").read_text()
    assert [page.count(f">{row['item']}<") for row in ranking] == [1] * 6
    assert "<svg" in page
    assert (tmp_path / "r.svg").read_text().startswith("<?xml")
    assert {path.name for path in tmp_path.iterdir()} == {"r.csv", "r.svg", "r.html", "r.json"}


@pytest.mark.parametrize(
    ("method", "heads", "pictures"),
    [("weights", "rank\titem\trank_low\trank_high", 1), ("kwiksort", "rank\titem", 0)],
)
def test_an_order_without_scores_has_files_too(method, heads, pictures, tmp_path):
    """A page has a picture if it shows more than the table does."""
    out, plot, report = (str(tmp_path / name) for name in ("r.tsv", "r.png", "r.html"))
    words = ("aggregate", "coffee-rankings", "--epsilon", "1", "--simulate", "--seed", "1")
    result = run(*words, "--method", method, "--out", out, "--out", plot, "--out", report)
    assert result.exit_code == 0, result.output
    assert (tmp_path / "r.tsv").read_text().splitlines()[0] == heads
    assert (tmp_path / "r.html").read_text().count("<svg") == pictures


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--out", "r.txt"), "--out r.txt: give a file that ends in .csv, .tsv, .json, .parquet"),
        (("--out", "r.doc"), "give a file that ends in"),
        (("--out", "a/r.csv"), "there is no folder a"),
        (("--out", "r.html/../r.csv", "--out", "folder.html"), "folder.html cannot be written"),
    ],
)
def test_what_could_not_be_written_is_refused_before_the_budget_is_spent(
    options, words, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder.html").mkdir()
    (tmp_path / "r.html").mkdir()
    run("ledger", "l", "--data", "coffee", "--budget", "2")
    result = run("rank", "coffee", "--epsilon", "1", "--ledger", "l", *options)
    assert result.exit_code == 2
    assert words in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert "Spent: epsilon 0." in run("ledger", "l").stdout


@pytest.mark.parametrize(
    ("file", "package", "extra"),
    [("r.parquet", "duckdb", "tables"), ("r.xlsx", "openpyxl", "excel")],
)
def test_without_its_package_a_table_is_refused_before_the_budget_is_spent(
    file, package, extra, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    run("ledger", "l", "--data", "coffee", "--budget", "2")
    monkeypatch.setitem(sys.modules, package, None)
    result = run("rank", "coffee", "--epsilon", "1", "--ledger", "l", "--out", file)
    assert result.exit_code == 2
    assert f"pip install 'privrank-jax[{extra}]', or write CSV" in result.stderr
    assert "Spent: epsilon 0." in run("ledger", "l").stdout


def sheets(path) -> Any:
    return openpyxl.load_workbook(path).worksheets


def test_a_workbook_says_what_is_promised_and_what_its_columns_mean(tmp_path):
    path = tmp_path / "r.xlsx"
    result = run(*REHEARSED, "--out", str(path))
    assert result.exit_code == 0, result.output
    ranking, about = sheets(path)
    assert [cell.font.bold for cell in ranking[1]] == [True] * len(ranking[1])
    for row in ranking.iter_rows(min_row=2):
        cells = {head.value: cell for head, cell in zip(ranking[1], row, strict=True)}
        assert cells["rank"].number_format == "General"
        assert -1 < cells["score"].value < 1
        assert cells["score"].value != round(cells["score"].value, 3)  # more digits than are shown

    assert about.title == "guarantee"
    assert all(cell.data_type == "s" for row in about.iter_rows() for cell in row)
    words = dict(about.iter_rows(values_only=True))
    flat = " ".join(result.stdout.split())
    assert words["guarantee"] in flat
    meaning = next(line for line in result.stdout.splitlines() if line.startswith("Intervals: "))
    meaning = meaning.removeprefix("Intervals: ").rstrip(".")
    assert words["low, high"] == f"ends of 95% intervals of the score: {meaning}"
    assert words["rank_low, rank_high"] == f"ends of 95% intervals of the rank, 1 = best: {meaning}"
    notes = [text for subject, text in about.iter_rows(values_only=True) if subject == "note"]
    assert notes
    assert all(note in flat for note in notes)
    assert "rehearsal" in words["caution"]
    assert words["command"].startswith("privrank rank coffee --epsilon 1")
    assert words["written by"] == f"privrank_jax {__version__}"


def test_names_of_items_are_text_in_a_workbook(tmp_path):
    (tmp_path / "v.csv").write_text("user,winner,loser\nu,=1+1,Škoda\nv,Škoda,=1+1\n", "utf-8")
    out = tmp_path / "r.xlsx"
    result = run(
        "rank", str(tmp_path / "v.csv"), *REHEARSED[2:], "--items", "seen", "--out", str(out)
    )
    assert result.exit_code == 0, result.output
    _, *rows = openpyxl.load_workbook(out).worksheets[0].iter_rows()
    assert sorted((row[1].value, row[1].data_type) for row in rows) == [
        ("=1+1", "s"),
        ("Škoda", "s"),
    ]


def test_the_data_and_the_ledger_are_never_overwritten(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = "user,winner,loser\nu,a,b\nv,b,a\n"
    for name, command in (("v.csv", "rank"), ("v.html", "aggregate")):
        (tmp_path / name).write_text(text)
        result = run(command, name, "--epsilon", "1", "--out", str(tmp_path / name))
        assert result.exit_code == 2
        assert "it would be lost" in " ".join(result.stderr.split())
        assert (tmp_path / name).read_text() == text
    run("ledger", "l.csv", "--data", "coffee", "--budget", "2")
    before = (tmp_path / "l.csv").read_bytes()
    result = run("rank", "coffee", "--epsilon", "1", "--ledger", "l.csv", "--out", "l.csv")
    assert result.exit_code == 2
    assert (tmp_path / "l.csv").read_bytes() == before
