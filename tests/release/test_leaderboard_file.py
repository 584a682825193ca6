"""The file of a leaderboard: whole after any kill, no step drawn twice, rows that stay."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import time

import pytest

from privrank_jax.release.leaderboard_file import LeaderboardError, StateFile, Step, stored_terms

TERMS = {"steps": "100000", "items": "'a'"}

# A publisher prints each step and what was drawn for it, after it is on disk; it needs no JAX, so it starts at once.
PUBLISHER = """
import os, secrets, sys
from privrank_jax.release.leaderboard_file import StateFile, Step
os.write(1, b"ready\\n")
sys.stdin.read(1)
board = StateFile(sys.argv[1], {"steps": "100000", "items": "'a'"})
for place, step in enumerate(board.steps()):
    os.write(1, b"%d %d\\n" % (place, step.noisy[0]))
while True:
    place = None
    def draw(before):
        global place
        place = len(before)
        return [Step((1,), (secrets.randbits(60),), "")]
    (step,) = board.extend(draw)
    os.write(1, b"%d %d\\n" % (place, step.noisy[0]))
"""


def publisher(path):
    run = [sys.executable, "-c", PUBLISHER, str(path)]
    process = subprocess.Popen(run, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    process.stdin.write(b"g")
    process.stdin.flush()
    return process


def killed_at_random(path, rounds, seed):
    """Kill two publishers at a time; every line that any of them printed must tell what the file holds."""
    chance, shown = random.Random(seed), {}
    for _ in range(rounds):
        processes = [publisher(path) for _ in range(2)]
        time.sleep(chance.choice([0, chance.uniform(0, 0.05)]))
        for process in processes:
            process.send_signal(signal.SIGKILL)
        for process in processes:
            printed = process.communicate(timeout=60)[0].decode()
            whole = printed[: printed.rfind("\n") + 1]
            for line in whole.splitlines():
                place, noisy = map(int, line.split())
                assert shown.setdefault(place, noisy) == noisy
    board = StateFile(path, TERMS)
    steps = board.steps()
    assert set(shown) <= set(range(len(steps)))
    for place, noisy in shown.items():
        assert steps[place].noisy == (noisy,)
    board.close()
    return len(shown), len(steps)


def test_no_step_is_drawn_twice_whatever_kills(tmp_path):
    shown, steps = killed_at_random(tmp_path / "board", rounds=6, seed=1)
    assert 0 < shown <= steps


@pytest.mark.slow
def test_two_hundred_kills(tmp_path):
    shown, steps = killed_at_random(tmp_path / "board", rounds=100, seed=2)
    assert 100 < shown <= steps


def test_a_creation_that_was_cut_short_is_made_good(tmp_path):
    path = tmp_path / "board"
    assert stored_terms(path) is None
    path.touch()  # what a kill before the first transaction leaves
    assert stored_terms(path) is None
    board = StateFile(path, TERMS)
    assert stored_terms(path) == TERMS
    assert board.steps() == []
    identifier = board.identifier
    board.close()
    again = StateFile(path, TERMS)
    assert again.identifier == identifier
    again.close()
    assert len(identifier) == 16


def test_a_draw_that_fails_leaves_nothing(tmp_path):
    board = StateFile(tmp_path / "board", TERMS)
    board.extend(lambda before: [Step((1, 2), (3, -4), "x")])

    def failing(before):
        raise RuntimeError("no noise")

    with pytest.raises(RuntimeError, match="no noise"):
        board.extend(failing)
    board.extend(lambda before: [Step((0, 0), (len(before), 0), "y")] * 2)
    assert board.steps() == [
        Step((1, 2), (3, -4), "x"),
        Step((0, 0), (1, 0), "y"),
        Step((0, 0), (1, 0), "y"),
    ]
    board.close()


def test_rows_stay_and_only_the_owner_reads(tmp_path):
    path = tmp_path / "board"
    board = StateFile(path, TERMS)
    board.extend(lambda before: [Step((1,), (2,), "")])
    board.close()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with sqlite3.connect(path) as connection:
        for statement in (
            "DELETE FROM steps",
            "UPDATE steps SET noisy = '[5]'",
            "DELETE FROM board",
            "UPDATE board SET terms = '{}'",
            "INSERT INTO steps VALUES (1, '[]', '[]', '')",
        ):
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute(statement)
    connection.close()


def test_other_files_are_refused(tmp_path):
    text, other = tmp_path / "text", tmp_path / "other.db"
    text.write_text("winner,loser\n" * 100)
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE ledger (one)")
    connection.close()
    for path in (text, other, tmp_path, tmp_path / "no" / "board"):
        with pytest.raises(LeaderboardError, match=r"can't be used|is not a leaderboard"):
            StateFile(path, TERMS)
    with pytest.raises(LeaderboardError, match="is not a leaderboard"):
        stored_terms(other)
