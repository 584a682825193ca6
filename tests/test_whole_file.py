"""A file is written completely or not at all, and nothing stays beside it."""

from __future__ import annotations

import pytest

from privrank_jax._whole_file import beside, leftovers, whole_file


def test_a_whole_file_replaces_the_old_one_and_a_failure_leaves_it(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")

    def half():
        with whole_file(path) as temporary:
            temporary.write_text("half")
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        half()
    with whole_file(path) as temporary:
        temporary.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("name", ["a", "ε" * 127, "a[1]*", "b" * 255])
def test_names_of_any_length_have_room_for_a_mark(tmp_path, name):
    path = tmp_path / name
    with whole_file(path) as temporary:
        temporary.touch()
        other = beside(path)
        other.touch()
        assert set(leftovers(path)) == {temporary, other}
        assert not list(leftovers(tmp_path / "other"))
    assert sorted(tmp_path.iterdir()) == sorted([path, other])
