"""Files of a result: what is written, and what is refused before a budget is spent."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import duckdb
import openpyxl
import pytest
import typer

from privrank_jax.cli import show
from privrank_jax.cli.console import busy, refusing, say, warn
from privrank_jax.release.ledger import Ledger
from tests.cli.results import refused
from tests.sources import ROOT

REHEARSED = ("rank", "coffee", "--epsilon", 1, "--simulate", "--seed", 1)


def test_all_files_hold_what_is_printed(privrank, tmp_path):
    paths = {
        end: tmp_path / f"r.{end}" for end in ("csv", "json", "parquet", "xlsx", "svg", "html")
    }
    options = (word for path in paths.values() for word in ("--out", path))
    result = privrank(*REHEARSED, "--method counts --noise laplace", *options, "--json")
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


def test_a_page_has_a_picture_if_it_shows_more_than_the_table(privrank, write, tmp_path):
    table, page = tmp_path / "r.tsv", tmp_path / "r.html"
    source = write(*(f"u{k},1,2,3" for k in range(60)), header="user,a,b,c")
    words = ("aggregate", source, *REHEARSED[2:], "--out", table, "--out", page)
    for method, heads, pictures in (("weights", 4, 1), ("kwiksort", 2, 0)):
        assert privrank(*words, "--method", method).code == 0
        names = ["rank", "item", "rank_low", "rank_high"][:heads]
        assert table.read_text().splitlines()[0] == "\t".join(names)
        assert page.read_text().count("<svg") == pictures


@pytest.mark.parametrize(
    ("options", "word", "missing"),
    [
        (("--out", "r.txt"), ".tsv", None),
        (("--out", "a/r.csv"), "folder a", None),
        (("--out", "r.html/../r.csv", "--out", "folder.html"), "folder.html", None),
        (("--out", "r.parquet"), "privrank-jax[tables]", "pyarrow"),
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
    refused(privrank("rank", "v.csv", "--epsilon", 1, "--ledger", "l", *options), word)
    assert (Path("v.csv").read_bytes(), Path("l").read_bytes()) == before


def test_a_workbook_says_what_is_promised_and_names_are_text(privrank, write, tmp_path):
    source, path = write("u,=1+1,Škoda", "v,Škoda,=1+1", "w,=1+1,Škoda"), tmp_path / "r.xlsx"
    result = privrank("rank", source, *REHEARSED[2:], "--method counts", "--out", path)
    assert result.code == 0, result.err
    ranking, about = openpyxl.load_workbook(path).worksheets
    names = [row[1] for row in ranking.iter_rows(min_row=2)]
    assert {cell.value for cell in names} == {"=1+1", "Škoda"}
    assert all(
        cell.data_type == "s" for cell in (*names, *(c for r in about.iter_rows() for c in r))
    )
    words = dict(about.iter_rows(values_only=True))
    assert words["guarantee"] in " ".join(result.out.split())
    assert {"low, high", "rank_low, rank_high", "note", "written by"} <= words.keys()
    assert "rehearsal" in words["caution"]
    assert words["command"].startswith("privrank rank ")


# --- output that takes no more, as a pipe to `head`


RELEASE = ("aggregate", "coffee-rankings", "--epsilon", "1", "--method", "kwiksort")
PAID = ("--ledger", "l")
ENTRY = "import sys; sys.path.insert(0, sys.argv.pop(1)); from privrank_jax.__main__ import main; main()"


@pytest.fixture
def ledger(privrank, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    privrank("ledger", "l", "--data", "coffee-rankings", "--budget", 9)
    return lambda: [one.state for one in Ledger("l").spends()]


def closed_pipe(*_, **__):
    raise BrokenPipeError(32, "Broken pipe")


@pytest.fixture
def closed(monkeypatch):
    """Let every table find the pipe closed."""
    monkeypatch.setattr("privrank_jax.cli.show.print_table", closed_pipe)


@pytest.fixture
def full(monkeypatch):
    """Let every file of a table find the disk full."""

    def write_table(*_):
        raise OSError(28, "No space left on device", "o.csv")

    monkeypatch.setattr("privrank_jax.cli.show.write_table", write_table)


def start(*words, stdout):
    return subprocess.run(
        [sys.executable, "-c", ENTRY, str(ROOT), *words],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )


def test_a_closed_pipe_leaves_all_files(privrank, ledger, tmp_path):
    reading, writing = os.pipe()
    os.close(reading)
    run = start(*RELEASE, *PAID, "--out", "o.csv", "--out", "o.html", stdout=writing)
    os.close(writing)
    assert run.returncode == 2, run.stderr
    assert "epsilon 1 was spent" in run.stderr
    assert run.stderr.count("o.csv, o.html") == len(run.stderr.splitlines())
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 7
    assert "Differentially private" in (tmp_path / "o.html").read_text()
    assert ledger() == ["spent"]
    assert "spent (1)" in privrank("ledger", "l").out


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no /dev/full")
def test_a_full_disk_below_stdout_leaves_all_files(ledger, tmp_path):
    with open("/dev/full", "w") as full:
        run = start(*RELEASE, "--json", "--out", "o.csv", stdout=full)
    assert (run.returncode, len(run.stderr.splitlines())) == (2, 1)
    assert "No space left" in run.stderr
    assert len((tmp_path / "o.csv").read_text().splitlines()) == 7


def test_what_cost_nothing_ends_quietly(privrank, ledger, closed, monkeypatch):
    run = privrank(*RELEASE, "--out", "o.csv")
    assert (run.code, run.err.count("o.csv")) == (1, 1)
    assert len(run.err.splitlines()) == 1
    monkeypatch.setattr("privrank_jax.cli.ledger.print_json", closed_pipe)
    run = privrank("ledger", "l", "--json")
    assert (run.code, run.err) == (1, "")


def test_a_full_disk_below_a_table_is_reported(privrank, ledger, full, monkeypatch):
    monkeypatch.setattr("privrank_jax.cli.show.print_table", show.write_table)
    refused(privrank(*RELEASE, "--out", "o.html"), "No space left", "o.html")


def test_what_is_lost_is_reported(privrank, ledger, closed, full):
    """What is spent is in the ledger before a byte is shown."""
    run = privrank(*RELEASE, *PAID)
    refused(run, "epsilon 1 was spent", "--out FILE")
    assert ledger() == ["spent"]
    run = privrank(*RELEASE, *PAID, "--out", "o.csv")
    first, second = run.err.splitlines()
    assert "o.csv" in first
    assert "epsilon 1 was spent" in second


def test_a_file_that_fails_leaves_the_result_on_stdout(privrank, ledger, full):
    run = privrank(*RELEASE, *PAID, "--out", "o.csv", "--out", "o.html", "--json")
    assert run.code == 2
    assert len(run.json()["ranking"]) == 6
    assert "o.csv" in run.err
    assert os.path.exists("o.html")
    assert ledger() == ["printed"]


def test_no_output_at_all_is_refused_before_anything_is_spent(monkeypatch, capsys):
    ran = []
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(typer.Exit) as found:
        refusing(lambda _: None)(lambda: ran.append(1))()
    assert (found.value.exit_code, ran) == (2, [])
    assert "standard output" in capsys.readouterr().err


class Full(io.StringIO):
    """A stream on a full disk."""

    def write(self, _):
        raise OSError(28, "No space left on device")

    flush = write


@pytest.mark.parametrize("stderr", [None, Full()])
def test_remarks_that_cannot_be_shown_raise_nothing(monkeypatch, stderr):
    monkeypatch.setattr(sys, "stderr", stderr)
    warn("a remark")
    say("another")
    with busy("working"):
        pass
