"""``privrank privatize`` on rankings: what it writes, its law, what it takes for rankings, and what it refuses."""

from __future__ import annotations

import csv
import itertools
import math

import numpy as np
import pytest
from scipy import stats

from tests.data.readers import read_synthetic_rankings

REHEARSAL = ("--simulate", "--seed", 1)
ALARM = 1e-6  # false-alarm rate of a test of the law on fresh draws; releases can't be seeded


@pytest.fixture
def private(privrank, tmp_path):
    """Privatize: the result, and the rows of the file as lists of text."""

    def run(source, *options, name="synthetic.csv"):
        out = tmp_path / name
        result = privrank("privatize", source, "--out", out, "--force", *options)
        assert result.code == 0, result.err
        with open(out, encoding="utf-8", newline="") as file:
            return result, list(csv.reader(file))

    return run


def test_the_file_holds_synthetic_rankings_that_aggregate_reads(privrank, private, write, tmp_path):
    lines = ("u2,2,1,3", "u1,1,3,2", "u3,,2,1")
    path = write(*lines, header="user,tea,milk,rum")
    known = ("--public", "ranked-items")
    result, rows = private(path, "--epsilon", 2000, "--json", *known)  # never turns a pair
    assert rows == [
        ["user", "synthetic_epsilon", "milk", "rum", "tea"],
        ["u1", "2000.0", "3", "2", "1"], ["u2", "2000.0", "1", "3", "2"], ["u3", "2000.0", "2", "1", ""],
    ]  # fmt: skip
    document = result.json()
    assert document["columns"] == rows[0]
    assert document["counts"] == {"rankings": 3, "items": 3}
    guarantee = document["guarantee"]
    facts = (guarantee["epsilon"], guarantee["unit"], guarantee["trust"], guarantee["numerics"])
    assert facts == (2000, "rank", "local", "exact")
    assert (guarantee["also"][0]["epsilon"], guarantee["also"][0]["unit"]) == (3000, "user")
    assert "gives almost no protection" in result.err
    found = privrank("aggregate", tmp_path / "synthetic.csv", "--method", "none", "--json").json()
    assert {line["item"] for line in found["ranking"]} == {"tea", "milk", "rum"}
    assert found["diagnostics"]["users"] == 3
    again = privrank(
        "privatize", tmp_path / "synthetic.csv", "--epsilon", 1, "--out", tmp_path / "b.csv"
    )
    assert (again.code, "already" in again.err) == (2, True)
    # Without users the rows are told apart by what they say, by which they are sorted.
    result, rows = private(path, "--epsilon", 2000, "--drop-user", *known)
    assert [row[1:] for row in rows[1:]] == [["1", "3", "2"], ["2", "1", ""], ["3", "2", "1"]]
    assert "epsilon = 3000" in result.out


@pytest.mark.parametrize("how", [(), REHEARSAL])
def test_rankings_have_the_mallows_law_at_personal_budgets(private, write, how):
    size, budgets = 6000, ("1.5", "4")
    path = write(*(f"{budgets[k % 2]},u{k},2,3,1" for k in range(2 * size)), header="e,user,a,b,c")
    result, (_, *rows) = private(path, "--epsilon-column", "e", "--json", *how)
    assert result.json()["guarantee"]["numerics"] == ("simulation" if how else "exact")
    assert result.json()["guarantee"]["epsilon"] == 4
    every = list(itertools.permutations((1, 2, 3)))
    turned = [sum((x < y) != (a < b) for (x, y), (a, b) in zip(
        itertools.combinations(ranks, 2), itertools.combinations((2, 3, 1), 2))) for ranks in every
    ]  # fmt: skip
    for budget in budgets:
        drawn = [tuple(map(int, row[2:])) for row in rows if float(row[1]) == float(budget)]
        assert len(drawn) == size
        observed = [drawn.count(ranks) for ranks in every]
        for factor, right in ((1.0, True), (0.75, False), (1.35, False)):
            odds = np.exp(-factor * float(budget) / 2 * np.array(turned))
            agrees = stats.chisquare(observed, size * odds / odds.sum()).pvalue > ALARM
            assert agrees == right


def test_long_files_have_one_budget_per_user(privrank, private, write, tmp_path):
    lines = ["u1,a,1,900", "u2,b,1,800", "u1,b,2,900", "u2,a,2,800"]
    path = write(*lines, header="user,item,rank,e")
    _, rows = private(path, "--epsilon-column", "e", *REHEARSAL)
    assert rows[1:] == [["u1", "900.0", "1", "2"], ["u2", "800.0", "2", "1"]]
    path = write(*lines, "u2,c,3,700", header="user,item,rank,e")
    result = privrank("privatize", path, "--epsilon-column", "e", "--out", tmp_path / "no.csv")
    assert (result.code, "line 6" in result.err, "one epsilon" in result.err) == (2, True, True)


def test_ties(privrank, private, tmp_path):
    path = tmp_path / "votes.toc"
    path.write_text(
        "# DATA TYPE: toc\n# NUMBER ALTERNATIVES: 3\n# NUMBER VOTERS: 2000\n# NUMBER UNIQUE ORDERS: 1\n"
        "# ALTERNATIVE NAME 1: a\n# ALTERNATIVE NAME 2: b\n# ALTERNATIVE NAME 3: c\n2000: {1,3},2\n"
    )
    refused = privrank("privatize", path, "--epsilon", 1, "--out", tmp_path / "no.csv")
    assert (refused.code, "--ties coin" in refused.err) == (2, True)
    dropped = privrank(
        "privatize", path, "--epsilon", 1, "--out", tmp_path / "no.csv", "--ties", "drop"
    )
    assert (dropped.code, "--ties" in dropped.err) == (2, True)
    for how in ((), REHEARSAL):
        result, (_, *rows) = private(path, "--epsilon", 500, "--ties", "coin", *how)
        first = sum(row[1:] == ["1", "3", "2"] for row in rows)
        assert first + sum(row[1:] == ["2", "3", "1"] for row in rows) == 2000
        assert stats.binomtest(first, 2000, 0.5).pvalue > ALARM
        assert "2,000 of 2,000 users" in result.err
        assert "items equal" not in result.out  # how many ties there were is for the holder alone


def test_rehearsals_of_users_who_tie_some_items_and_leave_out_others(private, write):
    """A budget is that of the three items ranked, not of all five."""
    path = write(*(f"u{k},1,,2,,1" for k in range(4000)), header="user,a,b,c,d,e")
    _, (_, *rows) = private(
        path, "--epsilon", 2, "--ties", "coin", "--public", "ranked-items", *REHEARSAL
    )
    last = sum(row[4] == "3" for row in rows)  # both pairs with it kept
    q = math.exp(-1)
    assert stats.binomtest(last, 4000, 1 / (1 + q + q * q)).pvalue > ALARM


def test_named_sets_and_repeated_rehearsals(private, data_folder, tmp_path):
    result, rows = private("potato", "--epsilon", 4, "--json", *REHEARSAL)
    assert result.json()["guarantee"]["also"][0]["epsilon"] == 40
    assert "who knows the seed" in result.err
    assert private("potato", "--epsilon", 4, *REHEARSAL)[1] == rows
    result, released = private("sushi", "--epsilon", 4)
    assert "epsilon = 20" in result.out
    assert private("sushi", "--epsilon", 4)[1] != released
    found = read_synthetic_rankings(tmp_path / "synthetic.csv", user=None)
    assert found.table.ranks.shape == (5000, 10)
    assert set(found.epsilon) == {4.0}
    # Fatty tuna leads the data by far, and cucumber roll comes last: by many standard errors.
    mean = dict(zip(found.table.item_names, found.table.ranks.mean(axis=0)))
    ends = (min(mean, key=mean.__getitem__), max(mean, key=mean.__getitem__))
    assert ends == ("fatty tuna", "cucumber roll")


def test_an_item_may_have_the_name_of_a_fact_on_users(privrank, private, write, tmp_path):
    path = write("u,2,1,3", "v,3,3,1", "w,1,2,1", header="user,age,Ann,Bo")
    private(path, "--epsilon 1 --items age,Ann,Bo --ranks --ties coin")
    assert privrank("aggregate", tmp_path / "synthetic.csv").code == 0
