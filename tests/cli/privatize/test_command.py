"""``privrank privatize`` on comparisons and rankings: what it writes, what depends on the answer, and its law."""

from __future__ import annotations

import csv
import itertools
import math

import openpyxl
import pytest
from scipy import stats

from tests.cli.results import items
from tests.parquet import as_parquet

REHEARSAL = ("--simulate", "--seed", 1)
COLUMNS = ["user", "item_1", "item_2", "report", "epsilon"]
ALARM = 1e-6  # false-alarm rate of a test of the law on fresh noise; releases can't be seeded


@pytest.fixture
def private(privrank, tmp_path):
    """Privatize: the result, and the rows of the file as lists of text."""

    def run(source, *options):
        out = tmp_path / "private.csv"
        result = privrank("privatize", source, "--out", out, "--force", *options)
        assert result.code == 0, result.err
        with open(out, encoding="utf-8", newline="") as file:
            return result, list(csv.reader(file))

    return run


def told(guarantee):
    """Of a promise: what is protected how much, where, and drawn how."""
    return tuple(guarantee.get(name) for name in ("epsilon", "unit", "trust", "numerics"))


# --- comparisons -----------------------------------------------------------------------------------


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
    assert "almost no protection" in result.err
    guarantee = document["guarantee"]
    assert told(guarantee) == (40, "comparison", "local", "exact")
    assert guarantee["adjacency"] == "flip"
    assert (guarantee["also"][0]["epsilon"], guarantee["also"][0]["unit"]) == (80, "user")
    _, (_, *listed) = private(path, "--epsilon", 40, "--items", "c,b,a", *REHEARSAL)
    assert [row[1:4] for row in listed] == [["c", "b", "1"], ["c", "a", "0"], ["b", "a", "1"]]


def test_each_report_is_drawn_at_the_budget_that_stands_beside_it(private, write):
    """Those of 40 are true, and half of the others; a user spends the sum."""
    lines = [f"u{k},{('b,a', 'a,b')[k % 2]},{(0.001, 40)[k // 2 % 2]}" for k in range(4000)]
    path = write(*lines, "u1,a,c,1.75", header="user,winner,loser,budget")
    result, (_, *found) = private(path, "--epsilon-column", "budget", "--json")
    guarantee = result.json()["guarantee"]
    assert told(guarantee) == (40, "comparison", "local", "exact")
    assert guarantee["also"][0]["epsilon"] == 40
    true = {
        epsilon: [int(row[0][1:]) % 2 == int(row[3]) for row in found if row[4] == epsilon]
        for epsilon in ("0.001", "40.0")
    }
    assert [len(one) for one in true.values()] == [2000, 2000]
    assert all(true["40.0"])
    assert stats.binomtest(sum(true["0.001"]), 2000, 0.5).pvalue > ALARM


def test_nothing_but_the_report_depends_on_the_answers(private, write):
    """Also where a careless export is sorted by winner: the order of the rows tells the answers."""
    pairs = list(itertools.combinations("abcd", 2))
    answers = [(f"u{k}", *pair) for k, pair in enumerate(pairs * 3)]
    flipped = [(user, second, first) for user, first, second in answers]
    by_winner = [sorted(data, key=lambda row: row[1]) for data in (answers, flipped)]
    found = [
        private(write(*map(",".join, data)), "--epsilon", 1, *REHEARSAL)[1]
        for data in (answers, flipped, *by_winner)
    ]
    without = [[row[:3] + row[4:] for row in file] for file in found]
    assert all(other == without[0] for other in without)
    # Under the same coins an answer that is turned turns its report, and no other.
    assert all(one[3] != other[3] for one, other in zip(found[0][1:], found[1][1:]))


def test_how_many_ties_there_were_is_for_the_holder_alone(private, write):
    """Ties are decided by coins, or left out."""
    path = write(*(f"u{k},a,b,1" for k in range(60)), "v,a,b,0", header="user,winner,loser,tie")
    run = (path, "--epsilon", 40, "--drop-user", "--json", "--ties")
    result, (header, *found) = private(*run, "coin")
    assert "60" not in result.out
    assert "60 of 61" in result.err
    assert header == COLUMNS[1:]
    reports = [row[2] for row in found]
    assert reports == sorted(reports)  # rows of one pair are told apart by their report alone
    assert 8 < reports.count("1") < 54  # all or none by chance in 1e-9
    result, (_, *found) = private(*run, "drop")
    assert [row[2] for row in found] == ["1"]
    assert result.json()["guarantee"]["public"] == ["ties"]


def test_a_seed_repeats_a_rehearsal_and_a_release_never_repeats(private, votes):
    run = (votes, "--epsilon", 0.1, "--json")
    result, rows = private(*run, *REHEARSAL)
    assert private(*run, *REHEARSAL)[1] == rows
    assert "rehearsal" in result.json()["guarantee"]["note"]
    assert "the seed" in result.err
    released = [private(*run)[1] for _ in range(4)]
    assert any(other != released[0] for other in released[1:])  # all equal by chance below 1e-15


def test_personal_budgets_are_those_of_the_sheet_or_the_table(private, write, tmp_path):
    def drawn(path, *options):
        return sorted(row[-1] for row in private(path, "--epsilon-column budget", *options)[1][1:])

    header, rows = "user,winner,loser,budget", ["p,a,b,0.5", "q,b,a,2"]
    assert drawn(as_parquet(write(*rows, header=header))) == ["0.5", "2.0"]
    book = openpyxl.Workbook()
    for row in (header, "r,a,b,9"):
        book.active.append(row.split(","))
    sheet = book.create_sheet("two")
    for row in (header, *rows):
        sheet.append(row.split(","))
    book.save(tmp_path / "two.xlsx")
    assert drawn(tmp_path / "two.xlsx", "--sheet", "two") == ["0.5", "2.0"]
    ranks = ("u,a,1,900", "u,b,2,900", "v,a,2,800", "v,b,1,800")
    _, (_, *found) = private(
        write(*ranks, header="user,item,rank,budget"), "--epsilon-column budget"
    )
    assert found == [["u", "900.0", "1", "2"], ["v", "800.0", "2", "1"]]


# --- rankings --------------------------------------------------------------------------------------


def test_the_file_holds_synthetic_rankings_that_aggregate_reads(privrank, private, write, tmp_path):
    path = write("u2,2,1,3", "u1,1,3,2", "u3,,2,1", header="user,tea,age,rum")
    known = ("--public ranked-items --ranks", "--epsilon", 2000)  # never turns a pair
    result, rows = private(path, "--json", *known)
    assert rows == [
        ["user", "synthetic_epsilon", "age", "rum", "tea"],
        ["u1", "2000.0", "3", "2", "1"], ["u2", "2000.0", "1", "3", "2"], ["u3", "2000.0", "2", "1", ""],
    ]  # fmt: skip
    document = result.json()
    assert document["columns"] == rows[0]
    assert document["counts"] == {"rankings": 3, "items": 3}
    assert told(document["guarantee"]) == (2000, "rank", "local", "exact")
    also = document["guarantee"]["also"][0]
    assert (also["epsilon"], also["unit"]) == (3000, "user")
    found = privrank("aggregate", tmp_path / "private.csv", "--method", "none", "--json").json()
    assert set(items(found)) == {"tea", "age", "rum"}
    assert found["diagnostics"]["users"] == 3
    # Without users the rows are told apart by what they say, by which they are sorted.
    result, rows = private(path, "--drop-user", *known)
    assert [row[1:] for row in rows[1:]] == [["1", "3", "2"], ["2", "1", ""], ["3", "2", "1"]]
    assert "epsilon = 3000" in result.out


def test_each_ranking_is_drawn_at_the_budget_that_stands_beside_it(private, write):
    path = write(
        *(f"{(0.001, 2000)[k % 2]},u{k},2,3,1" for k in range(4000)), header="e,user,a,b,c"
    )
    result, (_, *rows) = private(path, "--epsilon-column", "e", "--json")
    assert told(result.json()["guarantee"])[::3] == (2000, "exact")
    drawn = {e: [row[2:] for row in rows if row[1] == e] for e in ("0.001", "2000.0")}
    assert drawn["2000.0"] == [["2", "3", "1"]] * 2000
    counts = [drawn["0.001"].count(list(ranks)) for ranks in itertools.permutations("123")]
    assert sum(counts) == 2000
    assert stats.chisquare(counts).pvalue > ALARM


def test_ties_of_rankings_are_broken_by_coins_in_the_budget_of_the_items_ranked(private, write):
    """The three items ranked, not all five; how many ties there were is for the holder alone."""
    rows = (f"u{k},1,,2,,1" for k in range(4000))
    path = write(*rows, "v,1,2,3,4,5", header="user,a,b,c,d,e")
    result, (_, *rows) = private(path, "--epsilon 2 --ties coin --public ranked-items")
    rows = [row for row in rows if row[0] != "v"]
    last = sum(row[4] == "3" for row in rows)  # both pairs with it kept
    q = math.exp(-1)
    assert stats.binomtest(last, 4000, 1 / (1 + q + q * q)).pvalue > ALARM
    first = sum(row[2] < row[6] for row in rows)
    assert stats.binomtest(first, 4000, 0.5).pvalue > ALARM
    assert "4,000 of 4,001 users" in result.err
    assert "4,000" not in result.out
