"""``--series``: files of several years under one budget, on the command line and from Python."""

from __future__ import annotations

import pytest

import privrank_jax as pr
from privrank_jax.release.ledger import Ledger, LedgerError

NAME = "citizen survey"
NAMED = ("--series", NAME)


@pytest.fixture
def years(tmp_path):
    """Comparisons of nine users in three years, each year's file with a name of its own."""
    paths = []
    for year in range(2024, 2027):
        rows = [f"u{k},{'a,b' if (k + year) % 4 else 'b,a'},{year}-01-01" for k in range(9)]
        paths.append(tmp_path / f"{year}.csv")
        paths[-1].write_text("\n".join(("user,winner,loser,when", *rows)) + "\n")
    return paths


@pytest.fixture
def ledger(privrank, tmp_path):
    """Make a ledger of a file; its path."""

    def make(source, *options, name="survey.ledger"):
        path = tmp_path / name
        made = privrank("ledger", path, "--data", source, *options)
        assert made.code == 0, made.err
        return path

    return make


def sums(path):
    with Ledger(path) as found:
        return {one.data: float(found.spent(one.number)[0]) for one in found.data_sets()}


def refused(result, *words):
    assert (result.code, result.out) == (2, "")
    for one in words:
        assert one in result.err, result.err


def test_every_command_that_spends_adds_its_file(privrank, ledger, years, write, tmp_path):
    ranks = [write(*(f"u{k},{1 + k % n},{2 - k % n}" for k in range(9)), header="user,a,b", name=f"{n}.csv")
             for n in (1, 2)]  # fmt: skip
    votes, other, third = years
    path = ledger(votes, *NAMED, "--budget 9", "--user user")
    paying = ("--epsilon 1 --ledger", path, *NAMED)
    board = ("leaderboard", other, "--every day --time when --start 2025-01-01 --steps 3")
    board = (*board, "--until 2025-01-02 --max-per-user 1 --state", tmp_path / "s")
    for run in (
        ("rank", votes, "--method counts"),
        board,
        ("aggregate", ranks[0], "--method borda"),
        ("privatize", ranks[1], "--drop-user --out", tmp_path / "out.csv"),
    ):
        done = privrank(*run, *paying)
        assert done.code == 0, done.err
    refused(privrank("privatize", third, "--out", tmp_path / "more.csv", *paying), "not enough")
    assert sums(path) == {"2024.csv": 1, "2025.csv": 1, "1.csv": 1, "2.csv": 1}
    with other.open("a") as file:
        file.write("u3,b,a,2025-01-02\n")
    assert "earlier run" in privrank(*board, *paying).out
    assert len(sums(path)) == 4


def test_what_is_spent_is_shown_file_by_file(privrank, ledger, years):
    path = ledger(years[0], *NAMED, "--budget 2")
    run = ("--method counts --ledger", path, "--epsilon")
    assert f"the series {NAME!r}" in privrank("rank", years[0], *run, "0.5").out
    refused(privrank("rank", years[1], *run, "0.5"), f"--series {NAME!r}")
    rehearsed = privrank("rank", years[1], *run, "0.5", *NAMED, "--simulate")
    assert (rehearsed.code, sums(path)) == (0, {"2024.csv": 0.5})
    for source, epsilon in ((years[1], "0.25"), (years[2], 1), (years[2], "0.25")):
        assert privrank("rank", source, *run, epsilon, *NAMED).code == 0
    refused(privrank("rank", years[0], *run, "0.1"), NAME)
    shown = privrank("ledger", path).out
    assert "Left: epsilon 0" in shown
    assert "Spent: epsilon 2" in shown
    document = privrank("ledger", path, "--json", "--delta 1e-6").json()
    assert document["series"] == NAME
    assert [(one["data"], one["spent"]["epsilon"]) for one in document["data_sets"]] == [
        ("2024.csv", 0.5), ("2025.csv", 0.25), ("2026.csv", 1.25)
    ]  # fmt: skip
    assert [one["data_set"] for one in document["releases"]] == [1, 2, 3, 3]
    assert document["together"]["epsilon"] <= 2
    (row,) = (line.split() for line in shown.splitlines() if "2025.csv" in line)
    assert (row[:2], row[3:]) == (["2", "2025.csv"], ["1", "0.25", "0"])


def test_what_was_spent_alone_counts_toward_the_series(privrank, ledger, years):
    """A ledger that becomes that of the series, and another one that is counted in it."""
    path, other = (ledger(one, "--budget 2", name=f"{one.stem}.ledger") for one in years[:2])
    run = ("--method counts --epsilon 0.5 --ledger", path)
    assert privrank("rank", years[0], *run).code == 0
    assert privrank("ledger", path, *NAMED).err == ""
    refused(privrank("ledger", path, *NAMED, "--count", other), "epsilon 1.5")
    small = ledger(years[1], "--budget 1", name="small.ledger")
    assert privrank("ledger", path, *NAMED, "--count", small).code == 0
    refused(privrank("ledger", path, *NAMED, "--count", small), "counted before")
    assert privrank("rank", years[0], *run).code == 0
    refused(privrank("rank", years[2], *run, *NAMED), "epsilon 0 left")
    assert sums(path) == {"2024.csv": 1, "2025.csv (small.ledger)": 1}
    # Its own releases are in the budget that was counted.
    assert privrank("rank", years[1], *run[:-1], small).code == 0


def test_python_pays_for_a_series_too(ledger, years):
    path = ledger(years[0], *NAMED, "--budget 2")
    promise = pr.Privacy(1.0, unit="user", adjacency="replace", contributions=1)
    with pr.Ledger(path) as found, pytest.raises(LedgerError, match="series="):
        pr.rank(pr.read(years[1], items="seen"), promise, method="counts", ledger=found)
    with pr.Ledger(path, series=NAME) as found:
        assert found.series == NAME
        for year in years[:2]:
            ranking = pr.rank(pr.read(year, items="seen"), promise, method="counts", ledger=found)
        assert NAME in ranking.facts["ledger"]
    assert sums(path) == {"2024.csv": 1, "2025.csv": 1}
