"""The exact leaderboard without a last step: goes on as it was, whatever it publishes; and states of before go on."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import shutil
import sqlite3

import numpy as np
import pytest

from privrank_jax.pairwise.continual import continual_totals
from privrank_jax.release import Leaderboard, Ledger, leaderboard_file
from privrank_jax.release.leaderboard_file import LeaderboardError, stored_terms
from privrank_jax.release.ledger import create
from tests.promises import promise

ASKED = {
    "gaussian": promise(1.0, "user", "flip", 2, delta=1e-4),
    "laplace": promise(1.0, "user", "flip", 2),
}
LITTLE = {
    "gaussian": promise(3000.0, "user", "flip", 1, delta=0.1),
    "laplace": promise(3000.0, "user", "flip", 1),
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
@pytest.mark.parametrize("adjacency", ["flip", "replace"])
def test_little_noise_shows_all_that_it_publishes(tmp_path, adjacency, noise):
    asked, stream = dataclasses.replace(LITTLE[noise], adjacency=adjacency), STREAM
    if adjacency == "replace":
        stream = np.array([[5.0, 3, 1, 1, 3, 5, 2, 4, 3]] * 70)
    with endless(tmp_path / "board", noise, asked) as board:
        found = board.publish(stream)
        if adjacency == "replace":
            assert np.all(np.diff(found.value[1:], axis=1) < 0)
            np.testing.assert_allclose(board.totals[-1], [350, 210, 70], atol=2)
            assert found.diagnostics.pair_deviations.shape == (70,)
        else:
            np.testing.assert_allclose(found.value, np.cumsum(STREAM, 0), atol=2.5)


def test_a_restored_state_publishes_the_same_or_nothing(tmp_path):
    path, older = tmp_path / "board", tmp_path / "older"
    create(
        tmp_path / "ledger",
        promise(2.0, "user", "flip", 2, delta=1e-3),
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
        endless(tmp_path / "third", "laplace", promise(9e-10, "user", "flip", 2))


FORMER = {
    "epsilon": "1.0", "delta": "0.0001", "unit": "user", "adjacency": "flip", "contributions": "2", "public": "",
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
        ({"adjacency": "replace", "publishes": "centered Borda scores"}, "centered Borda scores"),
        ({"adjacency": "add-remove", "publishes": "centered approvals"}, "centered approvals"),
        ({"adjacency": "replace"}, "a leaderboard of win totals"),
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
        ("gaussian", 5, [[1690400, -1719336, -446342], [-1629790, 86988, -1629852], [1578801, -208094, 1175095]]),
        ("laplace", 5, [[0, 0, -10], [11, -1, -4], [1, 29, -16]]),
        ("laplace", 1000, [[91, 133, 100], [-44, 33, 247], [15, 230, -65]]),
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


SUMS = [[3, 1, 0.5, 1, 2, 1.5, 2.5, 1, 1], [0, 2, 7.5, 4, 3.5, 2, 2, 2, 5.5]]
DRAWN = {
    ("gaussian", 5): [
        [-1593869, -1394787, -401631, 68085, 2743990, 1448535, -2432717, -4938792, -270983],
        [-1879970, 4191033, -982919, -559992, 3010025, -1472276, -2543786, 137837, 1161144],
    ],
    ("gaussian", None): [
        [-671541, 793625, 1872746, -80672, 2702752, -137895, 1061949, 260674, 1895334],
        [695936, -59285, 1207055, -3995929, 1472133, 3000381, -1953575, -1077504, 1496799],
    ],
    ("laplace", None): [
        [-4, 2, 30, -32, 16, -63, 99, -62, -25],
        [-34, -7, 27, -27, -5, -4, 65, -48, 11],
    ],
}


@pytest.mark.parametrize(("noise", "steps"), DRAWN)
def test_states_of_scores_of_before_go_on(tmp_path, noise, steps):
    """The same, of wins, losses and pair counts."""
    asked = dataclasses.replace(ASKED[noise], adjacency="replace")
    terms = {"adjacency": "replace", "publishes": leaderboard_file.SCORES, "noise": noise}
    terms |= {"steps": str(steps or "without end"), "delta": str(float(asked.delta))}
    with endless(former(tmp_path / "board", **terms), noise, asked, steps=steps) as board:
        board.publish(SUMS)
        held = [list(step.noisy) for step in board._file.steps()]
    assert held == DRAWN[noise, steps]


def test_most_of_the_budget_is_left_for_the_steps_to_come(tmp_path):
    """One user in the first 40 steps loses what the columns hold there, less than half of what was promised of Δ²."""
    with endless(tmp_path / "board") as board:
        strategy = board._strategy
    column = [int(strategy.encoding(step)[0]) for step in range(40)]
    spent = 4 * 2 * 2**2 * sum(one**2 for one in column)
    assert 0.4 < spent / strategy.squared_sensitivity < 0.8
    assert math.isclose(strategy.squared_sensitivity, 4 * 2 * 2**2 * strategy.unit**2)
    assert all(one >= other for one, other in itertools.pairwise(column))
