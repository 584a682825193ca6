"""``privrank rank --every day``: steps, resumption, refusals, the ledger, and a replay on neighboring files."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from privrank_jax import datasets
from privrank_jax.privacy_audit import replay
from privrank_jax.privacy_audit.doors import DOORS
from privrank_jax.release import Ledger
from privrank_jax.release.leaderboard_file import stored_terms
from tests.cli import replaying

HEADER = "user,winner,loser,when"
ROWS = (
    "u1,a,b,2024-01-01", "u2,b,c,2024-01-01", "u3,a,c,2024-01-02", "u1,c,b,2024-01-02",
    "u4,a,b,2024-01-03", "u2,a,c,2024-01-05",
)  # fmt: skip
LITTLE = ("--epsilon", 1000, "--noise", "gaussian", "--delta", 0.1)
USUAL = ("--epsilon", 1, "--noise", "gaussian", "--delta", "1e-6")
SCHEDULE = ("--every", "day", "--time", "when", "--start", "2024-01-01", "--steps", 5)


@pytest.fixture
def run(privrank, tmp_path):
    def rank(
        *rows, until="2024-01-04", budget=USUAL, more=("--max-per-user", 2), state="board.state"
    ):
        path = tmp_path / "votes.csv"
        path.write_text("\n".join((HEADER, *rows)) + "\n")
        words = ("--state", tmp_path / state) if state else ()
        return privrank("rank", path, *SCHEDULE, *budget, *more, *words, "--until", until, "--json")

    return rank


def scores(result):
    """Scores of each step, by item."""
    assert result.code == 0, result.err
    return [
        {row["item"]: row["score"] for row in step["ranking"]}
        for step in result.json()["diagnostics"]["steps"]
    ]


def test_steps_are_prefix_sums_of_what_arrived(run):
    found = scores(run(*ROWS, budget=LITTLE))
    expected = [[1, 1, 0], [2, 1, 1], [3, 1, 1]]
    for step, wins in zip(found, expected):
        np.testing.assert_allclose([step[item] for item in "abc"], wins, atol=1)
    many = [f"v{user},c,b,2024-01-04" for user in range(9)]
    later = scores(run(*ROWS, *many, until="2024-01-09", budget=LITTLE))
    assert later[:3] == found
    assert len(later) == 5
    for step, wins in zip(later[3:], [[3, 1, 10], [4, 1, 10]]):
        np.testing.assert_allclose([step[item] for item in "abc"], wins, atol=1)


def test_a_second_run_shows_what_was_drawn(run):
    first = run(*ROWS[:4], until="2024-01-03")
    assert scores(run(*ROWS[:4], until="2024-01-03")) == scores(first)
    assert scores(run(*ROWS, until="2024-01-02")) == scores(first)
    more = scores(run(*ROWS))
    assert more[:2] == scores(first)
    assert len(more) == 3
    told = first.json()
    assert told["guarantee"]["numerics"] == "exact"
    assert "It covers all 5 steps together (every day from 2024-01-01)" in told["guarantee"]["note"]
    assert told["guarantee"]["public"] == ["items"]
    assert told["diagnostics"]["noise_deviation"] > 0


def test_rows_of_published_steps_stay_as_they_are(run):
    run(*ROWS)
    late = run(*ROWS, "u9,a,b,2024-01-02T12:00")
    assert late.code == 2
    assert "rows dated in 1 of the 3 published steps are not those that were counted" in late.err
    new = run(*ROWS, "u9,a,d,2024-01-04", until="2024-01-05")
    assert new.code == 2
    assert "'d'" in new.err


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"budget": ("--epsilon", 2, "--noise", "gaussian", "--delta", "1e-6")},
            "epsilon: 1.0, not 2.0",
        ),
        ({"more": ("--max-per-user", 3)}, "contributions: 2, not 3"),
        ({"more": ("--max-per-user", 2, "--adjacency", "flip")}, "adjacency: replace, not flip"),
        ({"budget": ("--epsilon", 1)}, "noise: gaussian, not laplace"),
    ],
)
def test_other_terms_are_refused(run, changed, words):
    run(*ROWS)
    found = run(*ROWS, **changed)
    assert found.code == 2
    assert words in " ".join(found.err.split())


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"until": "2024-01-01T12:00"}, "no step has ended: the first ends at 2024-01-02"),
        ({"state": None}, "needs --state"),
        ({"more": ()}, "--every needs --max-per-user"),
        (
            {"more": ("--max-per-user", 2, "--method", "one-shot", "--top-k", 1), "budget": ("--epsilon", 1)},
            "--every is for --method counts, or mle",
        ),
        ({"more": ("--max-per-user", 2, "--method", "mle")}, "needs --adjacency flip"),
        (
            {"more": ("--max-per-user", 2, "--method", "mle", "--adjacency", "flip", "--side", "first")},
            "--every fits no covariates",
        ),
        ({"more": ("--max-per-user", 2), "budget": ("--epsilon", 1, "--noise", "k-norm")}, "serves one release"),
    ],
)  # fmt: skip
def test_refusals(run, changed, words):
    found = run(*ROWS, **changed)
    assert found.code == 2
    assert words in " ".join(found.err.split())
    assert found.out == ""


def test_named_data_sets_have_no_column_of_times(privrank, tmp_path):
    name = datasets.available()[0]
    words = ("--state", tmp_path / "board", "--max-per-user", 1)
    found = privrank("rank", name, *SCHEDULE, *USUAL, *words)
    assert found.code == 2
    assert "is a named data set, and --every reads times" in " ".join(found.err.split())


def test_scores_and_tables(run, privrank, tmp_path):
    found = run(*ROWS, more=("--max-per-user", 2, "--method", "mle", "--adjacency", "flip"))
    for step in scores(found):
        assert sum(step.values()) == pytest.approx(0, abs=1e-9)
    assert found.json()["diagnostics"]["gamma"] > 1
    shown = privrank(
        "rank", tmp_path / "votes.csv", *SCHEDULE, "--epsilon", 1, "--unit", "comparison", "--state",
        tmp_path / "other.state", "--until", "2024-01-04",
    )  # fmt: skip
    assert shown.code == 0, shown.err
    words = " ".join(shown.out.split())
    assert "published steps (every day from 2024-01-01)" in words
    assert "step 3 of 5, until 2024-01-04" in words
    assert "no intervals: sums of Laplace noise" in words


def test_a_rehearsal_leaves_no_state(run, tmp_path):
    more = ("--max-per-user", 2, "--simulate", "--seed", 3)
    found = run(*ROWS, more=more, state=None)
    assert scores(found) == scores(run(*ROWS, more=more, state=None))
    assert found.json()["guarantee"]["numerics"] == "simulation"
    assert "rehearsal" in found.json()["guarantee"]["note"]
    run(*ROWS, more=more)
    assert stored_terms(tmp_path / "board.state") is None


def test_one_spend_pays_for_all_steps(run, privrank, tmp_path):
    """The file grows, which a ledger refuses elsewhere; another state pays again, or is refused."""
    path, ledger = tmp_path / "votes.csv", tmp_path / "votes.ledger"
    path.write_text("\n".join((HEADER, *ROWS[:4])) + "\n")
    made = privrank(
        "ledger",
        ledger,
        "--data",
        path,
        "--budget",
        1.5,
        "--budget-delta",
        "1e-5",
        "--public",
        "items",
    )
    assert made.code == 0, made.err
    more = ("--max-per-user", 2, "--ledger", ledger)
    assert run(*ROWS[:4], until="2024-01-03", more=more).code == 0
    later = run(*ROWS, more=more)
    assert len(scores(later)) == 3
    assert "an earlier run has paid for all steps" in later.out
    with Ledger(ledger) as book:
        (spend,) = book.spends()
    assert (float(spend.privacy.epsilon), spend.state) == (1.0, "printed")
    assert spend.method.startswith("counts every day from 2024-01-01, 5 steps, leaderboard ")
    other = run(*ROWS[:4], more=more, state="other.state")
    assert other.code == 2
    assert "0.5" in other.err
    assert other.out == ""


def test_a_replay_loses_no_more_than_was_promised(tmp_path):
    """A user of 2 comparisons turns them over, on the first day or on two; the state itself is private."""
    others = [row for row in ROWS if not row.startswith("u1")]
    pairs = [
        (("u1,a,b,2024-01-01",) * 2, ("u1,b,a,2024-01-01",) * 2, 0.8),
        (("u1,a,b,2024-01-01", "u1,c,b,2024-01-03"), ("u1,b,a,2024-01-01", "u1,b,c,2024-01-03"), 0.4),
    ]  # fmt: skip
    for number, (*sides, least) in enumerate(pairs):
        runs = []
        for side, own in enumerate(sides):
            folder = tmp_path / f"{number}{side}"
            folder.mkdir()
            (folder / "votes.csv").write_text("\n".join((HEADER, *own, *others)) + "\n")
            state = ("--max-per-user", 2, "--until", "2024-01-04", "--state", f"{folder}.state")
            words = map(str, ("rank", "votes.csv", *SCHEDULE, *USUAL, *state))
            runs.append(replaying.running(folder, list(words)))
        found = replay.audit(runs[0], runs[1], DOORS)
        assert found.violations(1.0) == ()
        assert least < found.measured < 1 + 1e-6


@pytest.mark.slow
def test_killed_runs_show_one_noise_for_a_step(tmp_path):
    """Whole commands, killed at random times: whatever they printed agrees with what a last run prints."""
    path, chance = tmp_path / "votes.csv", random.Random(4)
    path.write_text("\n".join((HEADER, *ROWS)) + "\n")
    words = [*SCHEDULE, *USUAL, "--max-per-user", 2, "--state", tmp_path / "board", "--json"]
    command = [sys.executable, "-m", "privrank_jax", "rank", path, *words]
    seen, usual = [], 0.0
    for number in range(9):
        last = number == 8
        until = "2024-01-06" if last else chance.choice(["2024-01-03", "2024-01-04"])
        begun = time.monotonic()
        run = [*map(str, command), "--until", until]
        process = subprocess.Popen(run, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if number and not last:
            time.sleep(usual * chance.uniform(0.3, 1.1))
            process.send_signal(signal.SIGKILL)
        printed = process.communicate(timeout=200)[0]
        usual = usual or time.monotonic() - begun
        with contextlib.suppress(json.JSONDecodeError):
            seen.append(json.loads(printed)["diagnostics"]["steps"])
    assert len(seen[-1]) == 5
    assert len(seen) > 1
    for steps in seen:
        assert steps == seen[-1][: len(steps)]
