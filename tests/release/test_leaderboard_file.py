"""The file of a leaderboard: whole after any kill, no step drawn twice, rows that stay."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import time

import pytest

from privrank_jax.release.leaderboard_file import LeaderboardError, StateFile, Step, stored_terms
from privrank_jax.release.published_steps import FileBeside

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
        return [Step((1,), (secrets.randbits(60),), "", secrets.token_hex(4))]
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
            printed = process.communicate()[0].decode()
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
    assert board.steps() == []
    board.extend(lambda before: [Step((1,), (2,), "", "aa")])
    assert stored_terms(path) == TERMS
    identifier = board.identifier
    board.close()
    again = StateFile(path, TERMS)
    assert again.identifier == identifier
    again.close()
    assert len(identifier) == 16


def test_there_is_no_state_before_the_first_step(tmp_path):
    """So what is refused fixes no terms: neither opening, nor a draw that fails, nor one of nothing."""

    def failing(before):
        raise RuntimeError("no noise")

    board = StateFile(tmp_path / "board", TERMS)
    with pytest.raises(RuntimeError, match="no noise"):
        board.extend(failing)
    assert board.extend(lambda before: []) == board.steps() == []
    assert board.remembered == 0
    board.close()
    assert list(tmp_path.iterdir()) == []
    other = StateFile(tmp_path / "board", {"steps": "52"})
    other.extend(lambda before: [Step((1,), (2,), "", "aa")])
    other.close()
    assert stored_terms(tmp_path / "board") == {"steps": "52"}


def test_of_two_first_steps_one_is_published(tmp_path):
    one, other = (StateFile(tmp_path / "board", TERMS) for _ in range(2))
    one.extend(lambda before: [Step((1,), (2,), "", "aa")])
    with pytest.raises(LeaderboardError, match=r"another process began .* Nothing was published"):
        other.extend(lambda before: [Step((1,), (3,), "", "bb")])
    assert one.steps() == [Step((1,), (2,), "", "aa")]
    assert FileBeside(one.path).witnesses(one.identifier) == ["aa"]
    for board in (one, other):
        board.close()


def test_the_file_beside_is_there_before_a_step_is(tmp_path, monkeypatch):
    """A process killed right after the first step: the state is not one whose file beside it was lost."""
    with monkeypatch.context() as patch:
        patch.setattr(StateFile, "_tell", lambda self: None)
        further(tmp_path / "board", "aa")
    assert further(tmp_path / "board", "bb") == 2


def test_a_draw_that_fails_leaves_nothing(tmp_path):
    board = StateFile(tmp_path / "board", TERMS)
    board.extend(lambda before: [Step((1, 2), (3, -4), "x", "1f")])

    def failing(before):
        raise RuntimeError("no noise")

    with pytest.raises(RuntimeError, match="no noise"):
        board.extend(failing)
    board.extend(lambda before: [Step((0, 0), (len(before), 0), "y", "2e")] * 2)
    assert board.steps() == [
        Step((1, 2), (3, -4), "x", "1f"),
        Step((0, 0), (1, 0), "y", "2e"),
        Step((0, 0), (1, 0), "y", "2e"),
    ]
    assert FileBeside(board.path).witnesses(board.identifier) == ["1f", "2e", "2e"]
    board.close()


def further(path, *witnesses):
    """Publish these steps, and close the file."""
    board = StateFile(path, TERMS)
    try:
        board.extend(lambda before: [Step((1,), (2,), "", one) for one in witnesses])
        return board.remembered
    finally:
        board.close()


def test_an_older_state_publishes_what_was_published_or_nothing(tmp_path):
    path, older = tmp_path / "board", tmp_path / "older"
    further(path, "aa")
    shutil.copy(path, older)
    further(path, "bb", "cc")
    shutil.copy(older, path)
    for others in (("xx",), ("bb", "xx"), ("bb", "cc", "dd", "ee")[1:]):
        with pytest.raises(
            LeaderboardError,
            match=r"step [23] was published before, as .*board\.published remembers",
        ):
            further(path, *others)
    assert further(path, "bb") == 3
    assert further(path, "cc", "dd") == 4
    assert FileBeside(path).witnesses(StateFile(path, TERMS).identifier) == ["aa", "bb", "cc", "dd"]


def test_a_state_of_other_steps_is_refused_when_it_is_opened(tmp_path):
    """Such as one that went on from an older copy elsewhere."""
    path, elsewhere = tmp_path / "board", tmp_path / "elsewhere"
    further(path, "aa")
    for name in ("", ".published"):
        shutil.copy(f"{path}{name}", f"{elsewhere}{name}")
    further(path, "bb")
    further(elsewhere, "xx")
    shutil.copy(elsewhere, path)
    with pytest.raises(LeaderboardError, match="step 2 was published before"):
        StateFile(path, TERMS)


def test_the_file_beside_the_state_belongs_to_it(tmp_path):
    path, beside = tmp_path / "board", tmp_path / "board.published"
    FileBeside(path).remember("0" * 16, [])  # nothing was published of that one
    further(path, "aa")
    whole = beside.read_bytes()
    beside.unlink()
    with pytest.raises(
        LeaderboardError, match=r"has 1 published steps, and .*board\.published.* is missing"
    ):
        StateFile(path, TERMS)
    beside.write_bytes(b"")
    with pytest.raises(LeaderboardError, match="is missing"):
        StateFile(path, TERMS)
    beside.write_bytes(whole)
    path.unlink()
    with pytest.raises(LeaderboardError, match="remembers published steps of another leaderboard"):
        StateFile(path, TERMS)
    assert stored_terms(path) is None
    beside.write_bytes(b"\xff\n\xfe\n")
    with pytest.raises(LeaderboardError, match="of another leaderboard"):
        StateFile(path, TERMS)


def test_a_link_to_a_state_has_the_file_of_the_state(tmp_path):
    path, link = tmp_path / "board", tmp_path / "link"
    further(path, "aa")
    link.symlink_to(path)
    assert further(link, "bb") == further(path) == 2


def test_a_process_killed_before_it_told_is_caught_up_with(tmp_path, monkeypatch):
    path = tmp_path / "board"
    further(path, "aa")
    with monkeypatch.context() as patch:
        patch.setattr(StateFile, "_tell", lambda self: None)
        further(path, "bb")
    board = StateFile(path, TERMS)
    assert FileBeside(path).witnesses(board.identifier) == ["aa", "bb"]
    board.close()


def test_a_further_memory_is_told_and_watches(tmp_path):
    path, older = tmp_path / "board", tmp_path / "older"
    other = FileBeside(tmp_path / "other")
    further(path, "aa")
    for name in ("", ".published"):
        shutil.copy(f"{path}{name}", f"{older}{name}")
    board = StateFile(path, TERMS)
    board.remember_in(other)
    board.extend(lambda before: [Step((1,), (2,), "", "bb")])
    assert other.witnesses(board.identifier) == ["aa", "bb"]
    board.close()
    for name in ("", ".published"):  # all that lies beside the state was put back
        shutil.copy(f"{older}{name}", f"{path}{name}")
    board = StateFile(path, TERMS)
    assert board.remembered == 1
    board.remember_in(other)
    assert board.remembered == 2
    with pytest.raises(
        LeaderboardError, match=r"step 2 was published before, as .*other\.published"
    ):
        board.extend(lambda before: [Step((1,), (2,), "", "xx")])
    assert len(board.steps()) == 1
    board.close()


def test_a_step_is_drawn_once_and_only_the_owner_reads(tmp_path):
    path = tmp_path / "board"
    board = StateFile(path, TERMS)
    board.extend(lambda before: [Step((1,), (2,), "", "aa")])
    board.close()
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
    with sqlite3.connect(path) as connection, pytest.raises(sqlite3.IntegrityError):
        connection.execute("INSERT INTO steps VALUES (1, '[]', '[]', '', '')")
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
    former = tmp_path / "former"
    further(former, "aa")
    with sqlite3.connect(former) as connection:
        connection.execute("PRAGMA user_version = 1")
    connection.close()
    for opened in (stored_terms, lambda path: StateFile(path, TERMS)):
        with pytest.raises(
            LeaderboardError, match="of an earlier privrank, whose noise can't be drawn again"
        ):
            opened(former)
