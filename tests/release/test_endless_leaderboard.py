"""The exact leaderboard without a last step: goes on as it was, whatever it publishes; and states of before go on."""

from __future__ import annotations

import itertools
import json
import math
import shutil
import sqlite3

import numpy as np
import pytest

from privrank_jax.pairwise.continual import continual_totals
from privrank_jax.release import Leaderboard, Ledger, leaderboard_file
from privrank_jax.release.leaderboard import PUBLISHED
from privrank_jax.release.leaderboard_file import LeaderboardError, stored_terms
from privrank_jax.release.ledger import create
from tests.promises import promise

ASKED = {
    "gaussian": promise(1.0, "user", "replace", 2, delta=1e-4),
    "laplace": promise(1.0, "user", "replace", 2),
}
LITTLE = {
    "gaussian": promise(3000.0, "user", "replace", 1, delta=0.1),
    "laplace": promise(3000.0, "user", "replace", 1),
}
STREAM = np.random.default_rng(2).integers(0, 9, (70, 3)) / 2


def endless(path, noise="gaussian", asked=None, **others):
    asked = asked or ASKED[noise]
    return Leaderboard(path, asked, items=("a", "b", "c"), noise=noise, **others)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_it_goes_on_as_it_was_for_any_number_of_steps(tmp_path, noise):
    """A step at a time over the first long interval of the tree; opened anew; earlier totals stay, bit for bit."""
    with endless(tmp_path / "board", noise) as board:
        assert (board.steps, board.published, board.diagnostics.deviations.size) == (None, 0, 0)
        first = [board.publish(one).value for one in STREAM[:5]]
    with endless(tmp_path / "board", noise) as board:
        board.publish(STREAM[5:31])
        shown = board.totals
        board.publish(STREAM[31:33])
        board.publish(STREAM[33:])
        np.testing.assert_array_equal(board.totals[:5], first)
        np.testing.assert_array_equal(board.totals[:31], shown)
        told = board.diagnostics
        assert told.deviations.shape == (70,)
        assert len(np.unique(board.totals - np.cumsum(STREAM, 0))) > 100
    assert stored_terms(tmp_path / "board")["steps"] == "without end"


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
def test_errors_are_those_of_the_simulation(tmp_path, noise, key):
    with endless(tmp_path / "board", noise) as board:
        board.publish(STREAM)
        told = board.diagnostics
    strategy = "unbounded-root" if noise == "gaussian" else "unbounded-tree"
    simulated = continual_totals(key, STREAM, ASKED[noise], noise=noise, strategy=strategy)
    found = simulated.diagnostics
    np.testing.assert_allclose(told.deviations, found.deviations, rtol=1e-3)
    assert told.noise_scale == pytest.approx(float(found.noise_scale), rel=1e-4)


@pytest.mark.parametrize("noise", ["gaussian", "laplace"])
@pytest.mark.parametrize("publishes", PUBLISHED)
def test_little_noise_shows_all_that_it_publishes(tmp_path, publishes, noise):
    asked, stream, sums = LITTLE[noise], STREAM, np.cumsum(STREAM, 0)
    if publishes == "scores":
        stream = np.array([[5.0, 3, 1, 1, 3, 5, 2, 4, 3]] * 70)
    with endless(tmp_path / "board", noise, asked, publishes=publishes) as board:
        found = board.publish(stream)
        if publishes == "scores":
            assert np.all(np.diff(found.value[1:], axis=1) < 0)
            np.testing.assert_allclose(board.totals[-1], [350, 210, 70], atol=2)
            assert found.diagnostics.pair_deviations.shape == (70,)
        else:
            np.testing.assert_allclose(found.value, sums, atol=2.5)


def test_a_restored_state_publishes_the_same_or_nothing(tmp_path):
    path, older = tmp_path / "board", tmp_path / "older"
    create(
        tmp_path / "ledger",
        promise(2.0, "user", "replace", 2, delta=1e-3),
        data="votes",
        sha256="ab" * 32,
    )
    with Ledger(tmp_path / "ledger") as ledger:
        with endless(path) as board:
            board.remember_in(ledger)
            board.publish(STREAM[:3])
            shutil.copy(path, older)
            later = board.publish(STREAM[3:6]).value
        shutil.copy(older, path)
        with endless(path) as board:
            board.remember_in(ledger)
            assert (board.published, board.remembered) == (3, 6)
            with pytest.raises(LeaderboardError, match="step 4 was published before"):
                board.publish(STREAM[3:6] + 1)
            np.testing.assert_array_equal(board.publish(STREAM[3:6]).value, later)


def test_a_last_step_is_no_later_choice(tmp_path):
    with endless(tmp_path / "board") as board:
        board.publish(STREAM[0])
    with pytest.raises(LeaderboardError, match="steps: without end, not 365"):
        endless(tmp_path / "board", steps=365)
    with endless(tmp_path / "other", steps=365) as board:
        board.publish(STREAM[0])
    with pytest.raises(LeaderboardError, match="steps: 365, not without end"):
        endless(tmp_path / "other")
    with pytest.raises(ValueError, match="leave steps out"):
        endless(tmp_path / "third", steps=20_000)
    with pytest.raises(ValueError, match="noise would be too large"):
        endless(tmp_path / "third", "laplace", promise(9e-10, "user", "replace", 2))


FORMER = {
    "epsilon": "1.0", "delta": "0.0001", "unit": "user", "adjacency": "replace", "contributions": "2", "public": "",
    "users": "", "items": '["a", "b", "c"]', "steps": "5", "noise": "gaussian", "schedule": "",
}  # fmt: skip


def former(path, **terms):
    """A state without steps as the version before wrote it."""
    with sqlite3.connect(path) as connection:
        for statement in leaderboard_file._SCHEMA:
            connection.execute(statement)
        row = ("cd" * 8, json.dumps(FORMER | terms), "ab" * 32)
        connection.execute("INSERT INTO board VALUES (1, ?, ?, ?)", row)
        assert connection.execute("PRAGMA user_version").fetchone() == (2,)
    connection.close()
    return path


@pytest.mark.parametrize(
    ("terms", "words"),
    [
        ({"spacing": "gap 2, at most 1 in a step, band 2"}, "steps that are a gap apart"),
        ({"publishes": "centered Borda scores"}, "centered Borda scores"),
        ({"publishes": "centered approvals"}, "centered approvals"),
    ],
)
def test_boards_of_kinds_that_are_gone_are_refused_and_stay(tmp_path, terms, words):
    """By the state and by the function alike; the file is what it was."""
    path = former(tmp_path / "board", **terms)
    before = path.read_bytes()
    for opened in (stored_terms, lambda path: endless(path, steps=5)):
        with pytest.raises(LeaderboardError, match=f"{words}.*go on with commit 48fdee4"):
            opened(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize(
    ("noise", "steps", "drawn"),
    [
        ("gaussian", 5, [[-453220, -756581, 1186317], [465201, -1387598, 228565], [-1051015, 1539166, 1967645]]),
        ("laplace", 5, [[11, 3, -1], [8, 1, 30], [-39, -5, -5]]),
        ("laplace", 1000, [[14, -13, 1], [33, -186, 67], [66, -60, 196]]),
    ],
)  # fmt: skip
def test_states_of_before_go_on(tmp_path, noise, steps, drawn):
    """Terms and a key as the version before wrote them, and what it drew from them for these counts."""
    delta = "0.0001" if noise == "gaussian" else "0.0"
    path = former(tmp_path / "board", steps=str(steps), noise=noise, delta=delta)
    counts = [[3.0, 1.0, 0.5], [0.0, 2.0, 7.5], [1.0, 1.0, 1.0]]
    with endless(path, noise, steps=steps) as board:
        board.publish(counts)
        held = [list(step.noisy) for step in board._file.steps()]
    assert held == drawn


def test_most_of_the_budget_is_left_for_the_steps_to_come(tmp_path):
    """One user in the first 40 steps loses what the columns hold there, less than half of what was promised of Δ²."""
    with endless(tmp_path / "board") as board:
        strategy = board._strategy
    column = [int(strategy.encoding(step)[0]) for step in range(40)]
    spent = 4 * 2 * 2**2 * sum(one**2 for one in column)
    assert 0.4 < spent / strategy.squared_sensitivity < 0.8
    assert math.isclose(strategy.squared_sensitivity, 4 * 2 * 2**2 * strategy.unit**2)
    assert all(one >= other for one, other in itertools.pairwise(column))
