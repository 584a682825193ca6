"""``privrank leaderboard``: steps, resumption, refusals, the ledger, and a replay on neighboring files."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sqlite3

import numpy as np
import pytest

from privrank_jax.jobs import arrivals
from privrank_jax.jobs.spending import Payment
from privrank_jax.release import Ledger
from privrank_jax.release.leaderboard import stored_board
from tests.cli import replaying
from tests.cli.results import refused, spends
from tests.quick import thorough
from tests.replays import replay
from tests.replays.doors import DOORS

HEADER = "user,winner,loser,when"
ROWS = (
    "u1,a,b,2024-01-01", "u2,b,c,2024-01-01", "u3,a,c,2024-01-02", "u1,c,b,2024-01-02",
    "u4,a,b,2024-01-03", "u2,a,c,2024-01-05",
)  # fmt: skip
LITTLE = ("--epsilon", 1000, "--noise", "gaussian", "--delta", 0.1)
USUAL = ("--epsilon", 1, "--noise", "gaussian", "--delta", "1e-6")
SCORES = ("--max-per-user", 2)
FLIP = (*SCORES, "--adjacency", "flip")
ENDLESS = ("--every", "day", "--time", "when", "--start", "2024-01-01")
SCHEDULE = (*ENDLESS, "--steps", 5)


@pytest.fixture
def run(privrank, tmp_path):
    def board(*rows, until="2024-01-04", budget=USUAL, more=SCORES, state="board.state", **changed):
        path = tmp_path / "votes.csv"
        path.write_text("\n".join((HEADER, *rows)) + "\n")
        words = ("--state", tmp_path / state) if state else ()
        asked = changed.get("command", "leaderboard"), changed.get("source", path)
        return privrank(*asked, *SCHEDULE, *budget, *more, *words, "--until", until, "--json")

    return board


def scores(result):
    """Scores of each step, by item."""
    assert result.code == 0, result.err
    return [
        {row["item"]: row["score"] for row in step["ranking"]}
        for step in result.json()["diagnostics"]["steps"]
    ]


def wins(state):
    """Exact wins of the three items until the end of each step, as the state keeps them."""
    with contextlib.closing(sqlite3.connect(state)) as connection:
        rows = connection.execute(
            "SELECT counts FROM steps WHERE step > 0 ORDER BY step"
        ).fetchall()
    return (np.cumsum([json.loads(row) for (row,) in rows], 0)[:, :3] / 2).tolist()


@pytest.mark.parametrize("more", [SCORES, thorough(FLIP)])
def test_steps_are_prefix_sums_of_what_arrived(run, tmp_path, more):
    first = run(*ROWS, budget=LITTLE, more=more)
    guarantee, found = first.json()["guarantee"], scores(first)
    assert "all 5 steps" in guarantee["note"]
    assert guarantee["numerics"] == "exact"
    assert guarantee.get("public") == (["items"] if more == SCORES else None)
    assert wins(tmp_path / "board.state") == [[1, 1, 0], [2, 1, 1], [3, 1, 1]]
    many = [f"v{user},c,b,2024-01-04" for user in range(9)]
    later = scores(run(*ROWS, *many, until="2024-01-09", budget=LITTLE, more=more))
    assert later[:3] == found
    assert len(later) == 5
    assert wins(tmp_path / "board.state")[3:] == [[3, 1, 10], [4, 1, 10]]
    assert scores(run(*ROWS, until="2024-01-02", budget=LITTLE, more=more)) == later


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ((*ROWS, *[f"v{n},c,b,2024-01-02T12:00" for n in range(99)]), "now has 101"),
        ((*ROWS, "u8,c,a,2023-05-01"), "1 rows are dated"),
        (ROWS[2:], "now has 0"),
        (("u1,b,a,2024-01-01", *ROWS[1:]), ""),  # changed, and counted as it was
    ],
)
def test_a_row_that_comes_too_late_or_goes_blocks_no_step(run, tmp_path, rows, words):
    """The steps that are due are published without it; only the holder hears of it."""
    usual = scores(run(*ROWS, budget=LITTLE))
    found = run(*rows, until="2024-01-06", budget=LITTLE)
    assert scores(found)[:3] == usual
    assert wins(tmp_path / "board.state")[4] == [4, 1, 1]
    assert words in " ".join(found.err.split())
    assert run(*ROWS, until="2024-01-06", budget=LITTLE).out == found.out


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"state": None}, "--state"),
        ({"more": (*SCORES, "--count", "n")}, "--count"),
        ({"more": (*SCORES, "--user", "none")}, "--user"),
        ({"budget": ("--epsilon", 1, "--noise", "gaussian")}, "--delta"),
        ({"source": "coffee"}, "--time"),
        ({"command": "rank"}, "--every"),
    ],
)
def test_refusals(run, tmp_path, changed, words):
    refused(run(*ROWS, **changed), words)
    assert not (tmp_path / "board.state").exists()


def test_without_steps_there_is_no_last_one_and_files_have_the_latest(privrank, tmp_path):
    path, page = tmp_path / "votes.csv", tmp_path / "board.html"
    path.write_text("\n".join((HEADER, *ROWS)) + "\n")
    run = ("leaderboard", path, *ENDLESS, *SCORES, *USUAL)
    shown = privrank(*run, "--until 2024-02-09 --state", tmp_path / "other.state", "--out", page)
    assert shown.code == 0, shown.err
    assert "step 39, until 2024-02-09" in " ".join(shown.out.split())
    assert "step 39" in page.read_text()


def paying(privrank, path, ledger, epsilon=1):
    path.write_text("\n".join((HEADER, *ROWS[:4])) + "\n")
    options = ("--budget", epsilon, "--budget-delta 1e-5 --public items")
    assert privrank("ledger", ledger, "--data", path, *options).code == 0
    return ("--max-per-user", 2, "--ledger", ledger)


@pytest.mark.parametrize("state", ["board.state", "votes.ledger"])
def test_one_spend_pays_for_all_steps(run, privrank, tmp_path, state):
    """The file grows, which a ledger refuses elsewhere; another state pays again, or is refused."""
    ledger = tmp_path / "votes.ledger"
    more = paying(privrank, tmp_path / "votes.csv", ledger, "1.5")
    first = run(*ROWS[:4], until="2024-01-03", more=more, state=state)
    later = run(*ROWS, more=more, state=state)
    assert scores(later)[:2] == scores(first)
    assert "epsilon 0.5" in first.out
    assert "an earlier run has paid" in later.out
    (spend,) = spends(ledger)
    assert (float(spend.privacy.epsilon), spend.state) == (1.0, "printed")
    assert spend.method.startswith("scores, every day from 2024-01-01, 5 steps, leaderboard ")
    refused(run(*ROWS[:4], more=more, state="other.state"), "0.5")


@pytest.mark.parametrize("state", ["board.state", "votes.ledger"])
def test_a_budget_that_goes_meanwhile_shows_nothing(run, privrank, tmp_path, state, monkeypatch):
    """Where the state is the ledger's file, no step is drawn either: it and its spend are one transaction."""
    ledger = tmp_path / "votes.ledger"
    more = paying(privrank, tmp_path / "votes.csv", ledger)
    monkeypatch.setattr(Payment, "check", lambda *_: None)
    with Ledger(ledger) as book:
        book.spend(dataclasses.replace(book.account.budget, epsilon=0.5))
    refused(run(*ROWS[:4], more=more, state=state), "epsilon 0.5")
    assert (stored_board(tmp_path / state) is None) == (state == "votes.ledger")


def test_the_key_of_all_noise_stays_with_the_owner(run, privrank, tmp_path):
    state, ledger = tmp_path / "board.state", tmp_path / "votes.ledger"
    found = run(*ROWS[:4], more=paying(privrank, tmp_path / "votes.csv", ledger))
    key = sqlite3.connect(state).execute("SELECT key FROM boards").fetchone()[0]
    assert len(bytes.fromhex(key)) == 32
    others = b"".join(one.read_bytes() for one in tmp_path.iterdir() if one != state)
    assert key.encode() not in others + (found.out + found.err).encode()
    for one in (state, tmp_path / "board.state.published"):
        assert one.stat().st_mode & 0o777 == 0o600


def test_an_old_export_spends_no_year(privrank, tmp_path, monkeypatch):
    """Weeks of a year, of which the file has half: nothing is published, until a time is said or the file is new."""
    path, state = tmp_path / "votes.csv", tmp_path / "board.state"
    today = np.datetime64("2026-11-29")
    monkeypatch.setattr(arrivals, "_now", lambda: today.astype("datetime64[us]"))
    dates = today - np.timedelta64(300, "D") + np.arange(300)

    def export(days):
        rows = (f"u{number},a,b,{date}" for number, date in enumerate(dates[:days]))
        path.write_text("\n".join((HEADER, *rows)) + "\n")

    export(140)
    words = ("leaderboard", path, "--every week --time when --start", dates[0], *USUAL)
    words = (*words, "--max-per-user 1 --state", state, "--json")
    refused(privrank(*words), f"--until {dates[139]}")
    assert list(tmp_path.iterdir()) == [path]
    words = (*words, "--steps 52")  # what was refused fixed no terms
    assert len(scores(privrank(*words, "--until", dates[139]))) == 19
    assert privrank(*words).code == 2  # still old
    for days in (300, 140):  # then nothing is due, so nothing is lost
        export(days)
        assert len(scores(privrank(*words))) == 42


LAPLACE = ("--epsilon", 1, "--noise", "laplace")


@pytest.mark.parametrize("adjacency", [thorough("flip"), "replace"])
@pytest.mark.parametrize(
    ("schedule", "budget", "least"),
    [
        (SCHEDULE, USUAL, (0.8, 0.4)),
        (SCHEDULE, LAPLACE, (0.99, 0.99)),
        (ENDLESS, USUAL, (0.6, 0.3)),
        (ENDLESS, LAPLACE, (0.49, 0.49)),
    ],
)
def test_a_replay_loses_no_more_than_was_promised(tmp_path, schedule, budget, adjacency, least):
    """A user of 2 comparisons gives other answers, or others, on the first day or on two; the state itself is private.

    Without a last step the tree keeps half of the budget for levels that end later, and the root some of it.
    """
    others = [row for row in ROWS if not row.startswith("u1")]
    seconds = {
        "flip": (("b,a", "b,a"), ("b,a", "b,c")),
        "replace": (("c,a", "c,a"), ("c,a", "b,a")),
    }
    for number, (first, days) in enumerate(((("a,b", "a,b"), "11"), (("a,b", "c,b"), "13"))):
        runs = []
        for said in (first, seconds[adjacency][number]):
            own = [f"u1,{pair},2024-01-0{day}" for pair, day in zip(said, days)]
            folder = tmp_path / f"{number}{len(runs)}"
            folder.mkdir()
            (folder / "votes.csv").write_text("\n".join((HEADER, *own, *others)) + "\n")
            asked = ("leaderboard", "votes.csv", "--items", "seen", *schedule, *budget, *SCORES)
            ends = ("--adjacency", adjacency, "--until", "2024-01-04", "--state", f"{folder}.state")
            words = (*asked, *ends)
            runs.append(replaying.running(folder, list(map(str, words))))
        found = replay.audit(*runs, DOORS)
        assert found.violations(1.0) == ()
        assert least[number] < found.measured < 1 + 1e-6
