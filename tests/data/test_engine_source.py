"""A raw table: that it stays the same while it is read, and where in it something is wrong."""

from __future__ import annotations

import ibis
import pytest

from privrank_jax.data import DataError, engine_counts
from privrank_jax.data.engine import Source, check_users
from tests.data.readers import read_comparisons
from tests.data.rows import VOTES
from tests.parquet import parquet


def test_a_file_that_changed_is_not_counted(tmp_path):
    path = parquet(tmp_path, VOTES.format("('w', 'a', 'b', '0')"))
    rows = read_comparisons(path)
    parquet(tmp_path, VOTES.format("('w', 'a', 'b', '0'), ('w', 'a', 'b', '0')"))
    for again in (lambda: rows.win_counts(1, "salt"), rows.in_memory):
        with pytest.raises(DataError, match="changed while it was read"):
            again()


def test_a_file_that_changes_between_its_cells_and_its_users_is_refused(tmp_path, monkeypatch):
    path = parquet(tmp_path, VOTES.format("('w', 'a', 'b', '0')"))

    def changed(source, column):
        found = check_users(source, column)
        parquet(tmp_path, VOTES.format("('w', 'a', 'b', '0'), ('w', 'a', 'b', '0')"))
        return found

    monkeypatch.setattr(engine_counts, "check_users", changed)
    with pytest.raises(DataError, match="changed while it was read"):
        read_comparisons(path)


def test_users_are_counted_and_spellings_of_one_are_refused():
    def table(*users):
        rows = [(user, "a", "b") for user in users]
        return Source(ibis.memtable(rows, columns=["user", "winner", "loser"]), "votes")

    assert check_users(table("u", "v", "u", "é x"), "user") == (3, 2, ())
    with pytest.raises(DataError, match="user named twice: 'u' and 'u '"):
        check_users(table("u", "v", "u "), "user")
    with pytest.raises(DataError, match="marks a missing value"):
        check_users(table("u", "NaN"), "user")
    for one, other in (
        ("a@x.org", "A@x.org"),
        ("A@x.org", "a@X.org"),
        ("u", "u\u200b"),
        ("\uff41", "a"),
    ):
        with pytest.raises(DataError, match="user named twice"):
            check_users(table("w", other, one, "z@x.org"), "user")
    assert check_users(table("u", "U", "V", "v", "w", "X"), "user") == (
        6,
        1,
        (("U", "u"), ("V", "v")),
    )
    assert len(check_users(table(*"aAbBcCdDeE"), "user").alike) == 3
