"""What a table shows of itself is the same for all users and answers, so that no log and no notebook holds them."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.data import Comparisons, Rankings
from privrank_jax.data.randomized import Reports, SyntheticRankings
from privrank_jax.data.reader import read

ITEMS = ("a", "b", "c")


def comparison_table(users, rows):
    pairs = [0] * rows, [2] * rows, [False] * rows
    return Comparisons(np.arange(rows) % len(users), *pairs, ITEMS, user_names=users, name="votes")


def comparisons(users, rows):
    return comparison_table(users, rows).arrays()


def ranking_table(users, rows):
    return Rankings([[rows, 1, 0]] * len(users), ITEMS, user_names=users, name="votes")


def report_table(users, rows):
    zeros = np.zeros(rows, int)
    owners = np.arange(rows) % len(users)
    return Reports(
        owners, zeros, zeros + 2, zeros == 0, zeros + 7.25, ITEMS, user_names=users, name="votes"
    )


def synthetic_rankings(users, rows):
    return SyntheticRankings(ranking_table(users, rows), np.full(len(users), rows + 0.25))


def ranking_rows(users, rows):
    n = len(users)
    columns = {"user": [*users, *users], "item": ["a"] * n + ["c"] * n, "rank": [rows] * 2 * n}
    ibis = pytest.importorskip("ibis")
    return Rankings.read(ibis.memtable(columns), items=ITEMS, name="votes", ranks=True)


def comparison_rows(users, rows):
    owners = [users[k % len(users)] for k in range(rows)]
    return scanned({"user": owners, "winner": ["a"] * rows, "loser": ["c"] * rows})


def scanned(columns, **options):
    ibis = pytest.importorskip("ibis")
    return read(ibis.memtable(columns), items=ITEMS, name="votes", **options)


@pytest.mark.parametrize(
    "make",
    [
        comparison_table,
        comparisons,
        ranking_table,
        report_table,
        synthetic_rankings,
        comparison_rows,
        ranking_rows,
    ],
)
def test_a_table_shows_neither_users_nor_answers(make):
    table, other = make(("zoe", "yann"), 3), make(("abel", "britt", "carl"), 8)
    assert repr(table) == repr(other) == str(table)
    assert type(table).__name__ in repr(table)
    assert "3 items" in repr(table)
    if make is not comparisons:
        assert "'votes'" in repr(table)
