"""Rankings broken into pairs: those of the library, with ties, and a user for each row."""

from __future__ import annotations

import numpy as np

from privrank_jax import data as datasets
from privrank_jax.pairwise import break_rankings

ORDERS = [[2, 0, 1], [1, 2], [0, 3, 2, 1]]


def table(**settings):
    ranks = np.full((3, 4), -1)
    for user, order in enumerate(ORDERS):
        ranks[user, order] = np.arange(len(order))
    return datasets.Rankings(ranks, item_names=("a", "b", "c", "d"), **settings)


def test_pairs_are_those_that_the_library_breaks():
    found = datasets.broken(table(user_names=("x", "y", "z")))
    expected = break_rankings(ORDERS, num_items=4)
    columns = (found.users, found.winners, found.losers)
    own = (expected.users, expected.winners, expected.losers)
    rows, wanted = (sorted(zip(*(np.asarray(one).tolist() for one in x))) for x in (columns, own))
    assert rows == wanted
    assert found.user_names == ("x", "y", "z")
    assert found.comparisons_per_user == 6
    assert not found.tied.any()
    assert any("k(k - 1)/2" in note for note in found.notes)


def test_rows_without_names_are_users():
    found = datasets.broken(table())
    assert found.has_users
    assert found.num_users == 3
