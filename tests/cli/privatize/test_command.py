"""``privrank privatize``: what it writes, what depends on the answer, and what it refuses."""

from __future__ import annotations

import csv
import itertools
import math

import numpy as np
import openpyxl
import pytest
from scipy import stats

import privrank_jax as pr
from tests.cli.results import items
from tests.data.readers import read_reports
from tests.parquet import as_parquet

REHEARSAL = ("--simulate", "--seed", 1)
COLUMNS = ["user", "item_1", "item_2", "report", "epsilon"]
ALARM = 1e-5  # false-alarm rate of a test of the law on fresh noise; releases can't be seeded


def rows(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


@pytest.fixture
def private(privrank, tmp_path):
    """Privatize: the result, and the rows of the file as lists of text."""

    def run(source, *options, name="private.csv"):
        out = tmp_path / name
        result = privrank("privatize", source, "--out", out, "--force", *options)
        assert result.code == 0, result.err
        return result, rows(out)

    return run


def test_the_file_holds_reports_and_no_answers(private, write):
    path = write("u2,b,a,w1", "u1,a,c,w2", "u1,c,b,w3", header="user,winner,loser,weather")
    result, (header, *found) = private(path, "--epsilon", 40, "--json")  # hardly ever flips
    assert header == COLUMNS
    assert found == [
        ["u1", "a", "c", "1", "40.0"], ["u1", "b", "c", "0", "40.0"], ["u2", "a", "b", "0", "40.0"],
    ]  # fmt: skip
    document = result.json()
    assert document["columns"] == COLUMNS
    assert document["counts"] == {"reports": 3, "users": 2, "items": 3}
    assert document["file"].endswith("private.csv")
    assert "hardly" not in result.err
    assert "gives almost no protection" in result.err
    guarantee = document["guarantee"]
    assert (guarantee["epsilon"], guarantee["unit"], guarantee["trust"]) == (
        40,
        "comparison",
        "local",
    )
    assert (guarantee["numerics"], guarantee["adjacency"]) == ("exact", "flip")
    assert (guarantee["also"][0]["epsilon"], guarantee["also"][0]["unit"]) == (80, "user")


@pytest.mark.parametrize("how", [(), REHEARSAL])
def test_reports_have_the_law_of_randomized_response(private, write, how):
    # The likelihood ratio of a report under both answers is e^ε: both flip rates are 1/(1 + e^ε).
    size, epsilon = 6000, 1.0
    lines = [f"u{k},a,b" if k % 2 else f"u{k},b,a" for k in range(size)]
    _, (_, *found) = private(write(*lines), "--epsilon", epsilon, *how)
    assert len(found) == size
    asked = 1 / (1 + math.exp(epsilon))
    for odd in (0, 1):
        reports = [int(row[3]) for row in found if int(row[0][1:]) % 2 == odd]
        flips = sum(report != odd for report in reports)
        assert stats.binomtest(flips, len(reports), asked).pvalue > ALARM
        assert stats.binomtest(flips, len(reports), 1.25 * asked).pvalue < ALARM


def test_nothing_but_the_report_depends_on_the_answers(private, write):
    pairs = list(itertools.combinations("abcd", 2))
    answers = [(f"u{k}", *pair) for k, pair in enumerate(pairs * 3)]
    flipped = [(user, second, first) for user, first, second in answers]
    # Sorted by winner, as a careless export may be: the order of the rows tells the answers.
    found = []
    for data in (
        answers,
        flipped,
        sorted(answers, key=lambda row: row[1]),
        sorted(flipped, key=lambda r: r[1]),
    ):
        path = write(*(",".join(row) for row in data))
        found.append(private(path, "--epsilon", 1, *REHEARSAL)[1])
    without = [[row[:3] + row[4:] for row in file] for file in found]
    assert all(other == without[0] for other in without)
    # Under the same coins an answer that is turned turns its report, and no other.
    pairs_of_reports = zip((row[3] for row in found[0][1:]), (row[3] for row in found[1][1:]))
    assert all({one, other} == {"0", "1"} for one, other in pairs_of_reports)


def test_rows_that_look_alike_do_not_keep_the_order_of_the_file(private, write):
    # Without users, rows of one pair are told apart by their report alone, by which they are sorted.
    path = write(*(f"u{k},a,b" for k in range(9)), *(f"v{k},b,a" for k in range(9)))
    _, (header, *found) = private(path, "--epsilon", 0.5, "--drop-user", *REHEARSAL)
    assert header == COLUMNS[1:]
    reports = [row[2] for row in found]
    assert reports == sorted(reports)
    assert len(set(reports)) == 2


def test_items_stand_in_the_order_of_the_list(private, write):
    path = write("u1,a,b", "u2,c,a")
    _, (_, *found) = private(path, "--epsilon", 40, "--items", "c,b,a", *REHEARSAL)
    assert [row[1:4] for row in found] == [["b", "a", "0"], ["c", "a", "1"]]


def test_personal_budgets_come_from_the_file(private, write):
    lines = [f"u{k},{'a,b'},{0.5 if k < 2000 else 3}" for k in range(4000)]
    path = write(*lines, "u0,a,c,2", header="user,winner,loser,budget")
    result, (_, *found) = private(path, "--epsilon-column", "budget", "--json")
    document = result.json()
    assert document["guarantee"]["epsilon"] == 3
    assert document["guarantee"]["also"][0]["epsilon"] == 3  # u0 spends 0.5 + 2 only
    for epsilon in ("0.5", "3.0"):
        reports = [int(row[3]) for row in found if row[4] == epsilon]
        assert len(reports) == 2000
        asked = 1 / (1 + math.exp(-float(epsilon)))
        assert stats.binomtest(sum(reports), 2000, asked).pvalue > ALARM


def test_a_user_spends_the_sum(private, write):
    path = write("u0,a,b,2", "u0,a,c,1.5", "u1,a,b,3", header="user,winner,loser,e")
    guarantee = private(path, "--epsilon-column", "e", "--json")[0].json()["guarantee"]
    assert guarantee["epsilon"] == 3
    assert guarantee["also"][0]["epsilon"] == 3.5


def test_ties(privrank, private, write, tmp_path):
    ties = [f"u{k},a,b,1" for k in range(3000)]
    path = write(*ties, "v,a,b,0", header="user,winner,loser,tie")
    refused = privrank("privatize", path, "--epsilon", 1, "--out", tmp_path / "no.csv")
    assert refused.code == 2
    assert "--ties coin" in refused.err
    assert not (tmp_path / "no.csv").exists()
    for how in ((), REHEARSAL):
        result, (_, *found) = private(path, "--epsilon", 4, "--ties", "coin", "--json", *how)
        ones = sum(int(row[3]) for row in found if row[0] != "v")
        assert stats.binomtest(ones, 3000, 0.5).pvalue > ALARM  # 4% or 98% without the coin
        assert "3000" not in result.out  # how many ties there were is for the holder alone
        assert "3000 of 3001" in result.err
    result, (_, *found) = private(path, "--epsilon", 4, "--ties", "drop", "--json")
    assert [row[0] for row in found] == ["v"]
    assert result.json()["guarantee"]["public"] == ["ties"]
    assert "were left out" in result.err


def test_a_seed_repeats_a_rehearsal_and_a_release_never_repeats(private, votes):
    run = ("--epsilon", 0.1)
    assert private(votes, *run, *REHEARSAL)[1] == private(votes, *run, *REHEARSAL)[1]
    released = [private(votes, *run)[1] for _ in range(4)]
    assert any(other != released[0] for other in released[1:])  # all equal by chance below 1e-15
    result, _ = private(votes, *run, *REHEARSAL, "--json")
    assert result.json()["guarantee"]["numerics"] == "simulation"
    assert "rehearsal" in result.json()["guarantee"]["note"]
    assert "who knows the seed" in result.err


def test_every_format_holds_the_same(privrank, private, write, tmp_path):
    path = write('"u,1",a b,"c""d"', "u2,\u00e9,a b")
    tables = []
    for name in ("p.csv", "p.tsv", "p.parquet"):
        out = tmp_path / name
        run = ("privatize", path, "--epsilon", 2.5, "--out", out, *REHEARSAL)
        assert privrank(*run).code == 0
        tables.append(read_reports(out))
        assert not list(tmp_path.glob(".*"))
    for table in tables:
        assert table.item_names == ("a b", 'c"d', "\u00e9")
        assert table.user_names == ("u,1", "u2")
        assert table.epsilon.tolist() == [2.5, 2.5]
        np.testing.assert_array_equal(table.first, [0, 0])
        np.testing.assert_array_equal(table.second, [1, 2])
        np.testing.assert_array_equal(table.reports, tables[0].reports)


def test_cemspc_keeps_london_first(privrank, private, data_folder, tmp_path):
    result, (_, *found) = private("cemspc", "--epsilon", 3, "--ties", "coin")
    assert len(found) == 4454
    assert "epsilon = 45" in result.out
    document = privrank("rank", tmp_path / "private.csv", "--json").json()
    # London leads by five standard errors and more, at any coins.
    assert items(document)[0] == "London"
    assert document["ranking"][0]["low"] > document["ranking"][1]["high"]


def test_personal_budgets_are_those_of_the_sheet_or_the_table(privrank, write, tmp_path):
    def drawn(path, *options):
        out = tmp_path / "o.csv"
        run = ("privatize", path, "--epsilon-column", "budget", "--out", out, "--force")
        done = privrank(*run, *options)
        assert done.code == 0, done.err
        return [row.split(",")[-1] for row in out.read_text().splitlines()[1:]]

    header, rows = "user,winner,loser,budget", ["p,a,b,0.5", "q,b,a,2"]
    path = write(*rows, header=header)
    assert sorted(drawn(path)) == ["0.5", "2.0"]
    assert sorted(drawn(as_parquet(path))) == ["0.5", "2.0"]
    book = openpyxl.Workbook()
    book.active.append(header.split(","))
    book.active.append(["r", "a", "b", 9])
    sheet = book.create_sheet("two")
    for row in (header, *rows):
        sheet.append(row.split(","))
    book.save(tmp_path / "two.xlsx")
    assert sorted(drawn(tmp_path / "two.xlsx", "--sheet", "two")) == ["0.5", "2.0"]
    ranks = ("u,a,1,3", "u,b,2,3", "v,a,2,1", "v,b,1,1")
    long = write(*ranks, header="user,item,rank,budget", name="long.csv")
    out = tmp_path / "s.csv"
    for source in (long, as_parquet(long)):
        run = ("privatize", source, "--epsilon-column", "budget", "--out", out, "--force")
        assert privrank(*run).code == 0
        found = dict(row.split(",")[:2] for row in out.read_text().splitlines()[1:])
        assert found == {"u": "3.0", "v": "1.0"}


def test_what_is_randomized_is_never_taken_for_answers(privrank, write, tmp_path):
    synthetic = write("u,2,1,2", "v,2,2,1", header="user,synthetic_epsilon,a,b", name="s.csv")
    reports = write("u,a,b,1,2", header="user,item_1,item_2,report,epsilon", name="r.csv")
    out = ("--out", tmp_path / "o.csv")
    sides = ("--left", "item_1", "--right", "item_2", "--outcome", "report")
    for run in (
        ("aggregate", synthetic, "--ranks"),
        ("aggregate", synthetic, "--ignore", "synthetic_epsilon"),
        ("privatize", synthetic, "--ranks", *out),
        ("privatize", reports, *sides, *out),
        ("rank", reports, *sides),
    ):
        assert privrank(*run, "--epsilon", 1).code == 2
    with pytest.raises(ValueError, match="Reports"):
        pr.randomize(pr.read(reports), 1.0)
    with pytest.raises(ValueError, match="one number, or one for each of 1 answers"):
        pr.randomize(pr.read({"user": ["u"], "winner": ["a"], "loser": ["b"]}), np.ones(3))
