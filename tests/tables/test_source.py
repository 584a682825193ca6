"""A raw table: that it stays the same while it is read, and where in it something is wrong."""

from __future__ import annotations

import ibis
import pytest

from privrank_jax._cells.errors import BadCell
from privrank_jax.datasets import DataError
from privrank_jax.tables import scan_comparisons
from privrank_jax.tables.source import RawTable, check_users, is_name
from tests.parquet import parquet
from tests.tables.rows import VOTES


def test_a_file_that_changed_is_not_counted(tmp_path):
    path = parquet(tmp_path, VOTES.format("('w', 'a', 'b', '0')"))
    rows = scan_comparisons(path)
    parquet(tmp_path, VOTES.format("('w', 'a', 'b', '0'), ('w', 'a', 'b', '0')"))
    with pytest.raises(DataError, match="changed while it was read"):
        rows.win_counts()


def test_the_place_of_a_bad_cell_is_the_row_of_a_parquet_file_and_no_row_of_others(tmp_path):
    path = parquet(tmp_path, VOTES.format("('w', 'a', '', '0'), ('x', 'a', '', '0')"))
    raw = RawTable.open(path, None, "comparison")
    error = raw.refuse(BadCell("wrong"), "loser", is_name("loser", ""))
    assert str(error) == "votes.parquet, row 3, column 'loser': wrong"
    error = raw.refuse(BadCell("wrong"), "loser", is_name("loser", ""), occurrence=1)
    assert str(error) == "votes.parquet, row 4, column 'loser': wrong"
    text = tmp_path / "votes.csv"
    text.write_text("user,winner,loser\nw,a,\n")
    raw = RawTable.open(text, None, "comparison")
    error = raw.refuse(BadCell("wrong"), "loser", is_name("loser", None))
    assert str(error) == "votes.csv, column 'loser': wrong"


def test_users_are_counted_and_spellings_of_one_are_refused():
    def table(*users):
        rows = [(user, "a", "b") for user in users]
        return RawTable(ibis.memtable(rows, columns=["user", "winner", "loser"]), "votes", None)

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
