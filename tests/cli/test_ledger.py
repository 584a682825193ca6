"""``privrank ledger``, releases that spend from one, and series of files under one budget."""

from __future__ import annotations

import sys
from decimal import Decimal

import pytest

from privrank_jax.jobs import consensus
from privrank_jax.privacy import Neighbors, compose
from privrank_jax.release.ledger import Ledger, Privacy, content_sha256
from tests.cli.results import ledger_of, refused, spends
from tests.parquet import as_parquet


@pytest.fixture
def budget(privrank, tmp_path):
    """Make a ledger of a file with a budget; its path."""
    return ledger_of(privrank, tmp_path)


@pytest.fixture
def rankings(write):
    """Twelve users rank a, b, c."""
    return write(*(f"u{k},{'1,2,3' if k % 3 else '2,1,3'}" for k in range(12)), header="user,a,b,c")


def test_a_consensus_spends_until_the_budget_is_exhausted(privrank, budget, rankings):
    path = budget(rankings, "0.3")
    run = ("aggregate", rankings, "--method", "borda", "--ledger", path, "--epsilon")
    rehearsed = privrank(*run, "0.3", "--simulate")
    assert (rehearsed.code, "spends nothing" in rehearsed.err, spends(path)) == (0, True, [])
    first = privrank(*run, "0.1", "--json")
    assert first.code == 0, first.err
    assert "epsilon 0.2 is left of epsilon 0.3" in first.json()["diagnostics"]["ledger"]
    assert "epsilon 0 is left of epsilon 0.3" in privrank(*run, "0.2").out
    refused(privrank(*run, "0.1"), "epsilon 0 left", "epsilon 0.1")
    found = spends(path)
    assert [(one.privacy.epsilon, one.state) for one in found] == [
        (Decimal("0.1"), "printed"),
        (Decimal("0.2"), "printed"),
    ]
    assert (found[0].command, found[0].method) == ("aggregate", "borda")
    words = "unit user (column 'user'), adjacency replace"
    assert found[0].privacy.neighbors.in_words() == words
    assert (found[0].trust, found[0].numerics) == ("central", "exact")


def test_a_ranking_spends(privrank, budget, votes):
    path = budget(votes, 1, "--budget-delta", "1e-6", "--unit", "user", "--adjacency", "flip")
    run = ("rank", votes, "--max-per-user 2 --intervals none --epsilon 0.3 --ledger", path)
    for more in ((), ("--method one-shot --top-k 1 --adjacency flip",)):
        assert privrank(*run, *more).code == 0
    assert privrank(*run, "--noise gaussian --delta 1e-6").code == 0
    refused(privrank(*run, "--noise gaussian --delta 1e-7"), "delta 0 left")
    assert [(one.method, one.privacy.adjacency) for one in spends(path)] == [
        ("scores", "replace"), ("one-shot", "flip"), ("scores", "replace")
    ]  # fmt: skip
    assert [str(one.privacy.epsilon) for one in spends(path)] == ["0.3"] * 3


def test_what_no_ledger_allows_is_refused_before_the_work(
    privrank, budget, votes, write, monkeypatch
):
    path, other = budget(votes, 1), write("u1,a,b", name="other.csv")
    monkeypatch.setattr("privrank_jax.jobs.rank.ranked", None)
    run = ("--max-per-user 2", "--ledger", path, "--epsilon")
    advice = "--unit user --adjacency replace"
    for options, word in (
        ("--unit comparison", advice),
        ("--adjacency flip", advice),
        ("--adjacency add-remove", advice),
        ("--method none", "no ledger covers"),
    ):
        refused(privrank("rank", votes, *run[1:], "0.1", options), word)
    refused(privrank("rank", votes, *run, 2), "epsilon 2")
    refused(privrank("rank", votes, *run, 2, "--simulate"), "epsilon 2")
    result = privrank("rank", other, *run, "0.1")
    refused(result, "other content")
    assert content_sha256(other)[:8] not in result.err
    assert spends(path) == []


def test_data_are_known_by_their_content_also_if_it_changes_during_the_work(
    privrank, budget, rankings, monkeypatch
):
    path, agreed = budget(rankings, 1), consensus.agreed
    same = rankings.rename(rankings.with_name("renamed.csv"))
    run = ("aggregate", same, "--epsilon 0.1 --method borda --ledger", path)
    assert privrank(*run).code == 0

    def slow(*given):
        same.write_text(same.read_text() + "u99,1,2,3\n")
        return agreed(*given)

    monkeypatch.setattr(consensus, "agreed", slow)
    refused(privrank(*run), "other content")
    assert len(spends(path)) == 1


def test_files_for_others_spend_too(privrank, budget, rankings, tmp_path):
    """Three items: epsilon 1 of a rank is epsilon 1.5 of a user."""
    path, out = budget(rankings, 3), tmp_path / "synthetic.csv"
    run = ("privatize", rankings, "--epsilon 1 --ledger", path, "--force --drop-user --out")
    result = privrank(*run, out)
    assert result.code == 0, result.err
    assert "epsilon 1.5 is left" in result.err
    assert privrank(*run, out).code == 0
    refused(privrank(*run, tmp_path / "third.csv"), "epsilon 0 left")
    assert not (tmp_path / "third.csv").exists()
    spent = [(str(one.privacy.epsilon), one.privacy.unit, one.state) for one in spends(path)]
    assert spent == [("1.5", "user", "printed")] * 2
    assert [one.trust for one in spends(path)] == ["local"] * 2
    refused(privrank("aggregate", out, "--ledger", path), "other content")


def test_making_and_showing(privrank, budget, rankings):
    path = budget(rankings, "2.50", "--budget-delta", "1e-6")
    assert "time (UTC)" not in privrank("ledger", path).out  # no table without rows
    run = ("aggregate", rankings, "--epsilon 0.5 --method borda --ledger", path)
    assert [privrank(*run).code for _ in range(2)] == [0, 0]
    result = privrank("ledger", path, "--json")
    assert content_sha256(rankings)[:8] not in result.out
    document = result.json()
    assert document["budget"] == {"epsilon": 2.5, "delta": 1e-6}
    assert document["spent"] == {"epsilon": 1.0, "delta": 0.0}
    assert document["left"] == {"epsilon": 1.5, "delta": 1e-6}
    assert (document["users"], document["public"]) == ("column 'user'", ["items"])
    assert [one["number"] for one in document["releases"]] == [1, 2]
    assert "together" not in document
    shown = privrank("ledger", path).out
    assert "epsilon 1.5, delta 1e-6 of epsilon 2.5, delta 1e-6" in shown
    assert "time (UTC)" in shown


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("ledger made --data votes.csv --budget 1", "never replaced"),
        ("ledger made --budget 1", "give both"),
        ("ledger made --unit user", "give both"),
        ("ledger new", "no ledger"),
        ("ledger new --data no.csv --budget 1", "neither a"),
        ("ledger new --data votes.csv --budget lots", "--budget must"),
        ("ledger new --data votes.csv --budget 1 --slack 1e-6", "slack 1e-6"),
        ("ledger new --data votes.csv --budget 1 --adjacency x", "adjacency must"),
        ("ledger new --data prefs.jsonl --budget 2", "--unit comparison"),
        ("aggregate votes.csv --epsilon 1 --ledger new", "no ledger"),
        ("aggregate votes.csv --epsilon 1 --series years", "--ledger FILE"),
        ("ledger made --delta 1", "delta must"),
        ("ledger made --delta some", "--delta must"),
        ("ledger made --delta 1e-6 --data votes.csv --budget 1", "--budget-delta"),
        ("ledger made --count other", "--series NAME"),
        ("ledger made --series years --count other", "not of"),
    ],
)
def test_refusals(privrank, budget, rankings, monkeypatch, command, words):
    monkeypatch.chdir(rankings.parent)
    (rankings.parent / "prefs.jsonl").write_text(PREFERENCES % "")
    budget(rankings, 1, "--series", "others", name="made")
    budget(rankings, 1, name="other")
    before = sorted(rankings.parent.iterdir())
    refused(privrank(*command.split()), words)
    assert sorted(rankings.parent.iterdir()) == before


def test_what_the_releases_come_to_together(privrank, budget, rankings, monkeypatch):
    path = budget(rankings, 50, "--budget-delta", "1e-5", "--adjacency", "flip")
    run = ("ledger", path, "--delta", "1e-6")
    assert privrank(*run, "--json").json()["together"]["epsilon"] == 0
    with Ledger(path) as ledger:
        for number in range(30):
            adjacency, trust = (("flip", "local"), ("replace", "central"))[number % 2]
            release = Privacy(0.1, unit="user", adjacency=adjacency, users="column 'user'")
            ledger.spend(release, trust=trust)
    alone = compose([(0.1, 0)] * 30, delta=1e-6, neighbors=Neighbors("user", "flip"))
    shown = privrank(*run).out
    assert "Left: epsilon 47" in shown
    assert f"{alone.epsilon:.6g} at delta 1e-06" in shown
    assert alone.epsilon < 0.9 * 3
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    refused(privrank(*run), "[accounting]")


PREFERENCES = '{"prompt": "p", "chosen": "a", "rejected": "b"%s}\n'


@pytest.mark.parametrize("unit", ["user", "comparison"])
def test_preferences_have_the_adjacency_of_the_command_that_releases_them(
    privrank, budget, tmp_path, unit
):
    """Without users they are protected one by one; other files of JSON Lines keep replacement."""
    data, votes, out = (tmp_path / f"{name}.jsonl" for name in ("prefs", "votes", "out"))
    data.write_text(PREFERENCES % (', "user": "u"' if unit == "user" else ""))
    path = budget(data, 2, "--unit", unit)
    run = ("privatize", data, "--epsilon", 1, "--unit", unit, "--out", out, "--ledger", path)
    assert privrank(*run).code == 0
    assert [one.privacy.kind for one in spends(path)] == [(unit, "flip")]
    votes.write_text('{"user": "u", "winner": "a", "loser": "b"}\n')
    with Ledger(budget(votes, 2, "--unit", unit, name="replaced")) as ledger:
        assert ledger.account.budget.kind == (unit, "replace")


def test_named_data_are_known_by_their_files(privrank, budget, data_folder):
    with Ledger(budget("sushi", 1)) as ledger:
        ledger.check_data(content_sha256(data_folder / "sushi/sushi_rankings.csv"), "sushi")
    path = budget("cars", 1, name="cars.ledger")
    with Ledger(path) as ledger:
        assert ledger.account.budget.public == ("questionnaire",)
    run = ("--method counts --noise laplace --epsilon 1 --ledger",)
    refused(privrank("rank", "cars2", *run, path), "ledger of cars")
    assert privrank("rank", "cars", *run, path, "--json").code == 0
    path = budget("cars", 1, "--public", "none", name="none.ledger")
    refused(privrank("rank", "cars", *run, path), "which pairs each user")


def test_users_are_those_of_the_column_however_a_file_spells_it(privrank, budget, write):
    path = as_parquet(write(*(f"u{k},1,2,3" for k in range(9)), header="User,a,b,c"))
    done = privrank("aggregate", path, "--epsilon", 1, "--ledger", budget(path, 3))
    assert done.code == 0, done.err


def test_a_slack_adds_up_what_noise_really_reveals(privrank, budget, rankings):
    path = budget(rankings, 2, "--budget-delta", "0.1", "--slack", "0.1")
    run = ("aggregate", rankings, "--method", "noise-all", "--ledger", path, "--epsilon", "0.8")
    for _ in range(4):  # two more than the plain sum allows
        result = privrank(*run, "--noise", "laplace")
        assert result.code == 0, result.err
    assert [one.changes for one in spends(path)] == [(2, 2, 2)] * 4  # one for each of three pairs
    refused(privrank(*run), "epsilon 0.8")  # with K-norm noise: only epsilon counts
    facts = privrank("ledger", path, "--json", "--delta", "0.1").json()
    assert (facts["slack"], facts["spent"]["epsilon"]) == (0.1, 3.2)
    assert [one["changes"] for one in facts["releases"]] == ["2*3"] * 4
    assert 0 < facts["left"]["epsilon"] < 0.8
    assert facts["together"]["epsilon"] < 2


# --- series: files of several years under one budget ---------------------------------------------


@pytest.mark.parametrize("more", [("--series", ""), ("--series", "a", "--count", "none.ledger")])
def test_what_is_refused_makes_no_ledger(privrank, votes, tmp_path, more):
    ledger = tmp_path / "new.ledger"
    found = privrank("ledger", ledger, "--data", votes, "--budget", "1", *more)
    assert (found.code, ledger.exists()) == (2, False)


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


def sums(path):
    with Ledger(path) as found:
        return {one.data: float(found.spent(one.number)[0]) for one in found.data_sets()}


def test_every_command_that_spends_adds_its_file(privrank, budget, years, write, tmp_path):
    ranks = [write(*(f"u{k},{1 + k % n},{2 - k % n}" for k in range(9)), header="user,a,b", name=f"{n}.csv")
             for n in (1, 2)]  # fmt: skip
    votes, other, third = years
    path = budget(votes, 9, *NAMED, "--user user")
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


def test_what_is_spent_is_shown_file_by_file(privrank, budget, years):
    path = budget(years[0], 2, *NAMED)
    run = ("--method counts --ledger", path, "--epsilon")
    assert f"the series {NAME!r}" in privrank("rank", years[0], *run, "0.5").out
    refused(privrank("rank", years[1], *run, "0.5"), f"--series {NAME!r}")
    rehearsed = privrank("rank", years[1], *run, "0.5", *NAMED, "--simulate")
    assert (rehearsed.code, sums(path)) == (0, {"2024.csv": 0.5})
    for source, epsilon in ((years[1], "0.25"), (years[2], 1), (years[2], "0.25")):
        assert privrank("rank", source, *run, epsilon, *NAMED).code == 0
    refused(privrank("rank", years[0], *run, "0.1"), "0 left")
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
