"""The file beside a state that remembers published steps."""

from __future__ import annotations

import stat

from privrank_jax.release.published_steps import FileBeside


def test_witnesses_are_kept_for_one_leaderboard(tmp_path):
    beside = FileBeside(tmp_path / "board")
    assert (beside.board(), beside.any(), beside.witnesses("1f")) == (None, False, [])
    beside.remember("1f", [])
    assert (beside.board(), beside.any(), beside.witnesses("1f")) == ("1f", False, [])
    beside.remember("1f", ["aa", "bb"])
    again = FileBeside(tmp_path / "board")
    assert (again.board(), again.any(), again.witnesses("1f")) == ("1f", True, ["aa", "bb"])
    assert again.witnesses("2e") == []
    assert again.path == tmp_path / "board.published"
    assert stat.S_IMODE(again.path.stat().st_mode) == 0o600


def test_what_killed_processes_left_is_removed(tmp_path):
    beside = FileBeside(tmp_path / "board")
    (tmp_path / f".{beside.path.name}.0123.tmp").touch()
    beside.remember("1f", ["aa"])
    assert [path.name for path in tmp_path.iterdir()] == ["board.published"]


def test_an_emptied_file_tells_of_no_leaderboard(tmp_path):
    beside = FileBeside(tmp_path / "board")
    beside.path.touch()
    assert (beside.board(), beside.any()) == ("", False)
