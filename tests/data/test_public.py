"""What a table shows of itself is the same for all users and answers, so that no log and no notebook holds them."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.data import Comparisons, Rankings
from privrank_jax.data.randomized import Reports, SyntheticRankings
from privrank_jax.data.reader import read

ITEMS = ("a", "b", "c")
TOLD = {"item_names": ITEMS, "name": "votes"}


def rows_of(users, rows):
    """The same comparison of each user, and what a number of rows may tell elsewhere."""
    owners, zeros = np.arange(rows) % len(users), np.zeros(rows, int)
    return owners, zeros, zeros + 2


def comparisons(users, rows):
    return Comparisons(*rows_of(users, rows), [False] * rows, user_names=users, **TOLD)


def arrays(users, rows):
    return comparisons(users, rows).arrays()


def rankings(users, rows):
    return Rankings([[rows, 1, 0]] * len(users), user_names=users, **TOLD)


def reports(users, rows):
    said = np.ones(rows, bool), np.full(rows, 7.25)
    return Reports(*rows_of(users, rows), *said, user_names=users, **TOLD)


def in_an_engine(users, rows):
    owners = [users[k % len(users)] for k in range(rows)]
    columns = {"user": owners, "winner": ["a"] * rows, "loser": ["c"] * rows}
    return read(pytest.importorskip("ibis").memtable(columns), items=ITEMS, name="votes")


@pytest.mark.parametrize(
    "make",
    [
        comparisons,
        arrays,
        rankings,
        reports,
        lambda users, rows: SyntheticRankings(rankings(users, rows), np.full(len(users), rows)),
        in_an_engine,
    ],
    ids=["comparisons", "arrays", "rankings", "reports", "synthetic", "engine"],
)
def test_a_table_shows_neither_users_nor_answers(make):
    table, other = make(("zoe", "yann"), 3), make(("abel", "britt", "carl"), 8)
    assert repr(table) == repr(other) == str(table)
    assert type(table).__name__ in repr(table)
    assert "3 items" in repr(table)
    assert ("'votes'" in repr(table)) == (make is not arrays)
