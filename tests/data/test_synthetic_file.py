"""Files of synthetic rankings: what is written is what is read, in every format; sums of budgets."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pytest

from privrank_jax.data import DataError, Rankings, SyntheticRankings, write_synthetic_rankings
from privrank_jax.data.randomized import largest_sum
from privrank_jax.data.reader import read
from tests.data.readers import read_synthetic_rankings

NAMES = ("a b", 'c"d', "\u00e9")


@pytest.fixture
def rankings():
    ranks = np.array([[2, 0, 1], [-1, 1, 0], [-1, -1, -1], [0, 1, 2]])
    table = Rankings(ranks, NAMES, user_names=("u,2", "u1", "u4", "u3"))
    return SyntheticRankings(table, np.array([0.5, 2.0, 1 / 3, 4.0]))


@pytest.mark.parametrize("name", ["s.csv", "s.tsv", "s.parquet"])
def test_what_is_written_is_read(rankings, tmp_path, name):
    path = tmp_path / name
    assert write_synthetic_rankings(path, rankings) == ("user", "synthetic_epsilon", *NAMES)
    found = read_synthetic_rankings(path)
    order = [0, 1, 3, 2]  # sorted by user
    assert found.table.user_names == ("u,2", "u1", "u3", "u4")
    assert found.table.item_names == NAMES
    np.testing.assert_array_equal(found.table.ranks, rankings.table.ranks[order])
    np.testing.assert_array_equal(found.epsilon, rankings.epsilon[order])
    assert found.lengths.tolist() == [3, 2, 3, 0]
    # Readers of rankings take the ranks, and no budget for an item.
    np.testing.assert_array_equal(read_synthetic_rankings(path).table.ranks, found.table.ranks)
    assert not list(tmp_path.glob(".*"))


def test_the_order_of_the_rows_is_not_kept(rankings, tmp_path):
    table = rankings.table
    turned = Rankings(table.ranks[::-1], NAMES, user_names=table.user_names[::-1])
    paths = tmp_path / "a.csv", tmp_path / "b.csv"
    for users in (True, False):
        write_synthetic_rankings(paths[0], rankings, users=users)
        write_synthetic_rankings(
            paths[1], SyntheticRankings(turned, rankings.epsilon[::-1]), users=users
        )
        assert paths[0].read_text() == paths[1].read_text()
    assert paths[0].read_text().startswith("synthetic_epsilon,a b")


HEAD = "user,synthetic_epsilon,a,b,c\n"
REFUSED = [
    ("user,epsilon,a,b\nu,2,1,2\n", {}, "no column 'synthetic_epsilon'"),
    ("user,synthetic_epsilon,a,b\nu,2,1,1\n", {}, "ties"),
    (f"{HEAD}u,2,1,2,\nv,2,1,,3\n", {}, "row 2 below the header"),
    (f"{HEAD}u,2,1,2,\nv,2,1,3,2\n", {"items": ("b", "a")}, "`items` has no 'c'"),
    ("user,item,rank,synthetic_epsilon\nu,a,1,2\n", {}, "column 'item': 'a' is not a rank"),
    ("user,synthetic_epsilon,a,b\nu,-2,2,1\n", {}, "'-2' is not a usable epsilon"),
]


@pytest.mark.parametrize(("text", "options", "words"), REFUSED)
def test_what_is_no_such_file(tmp_path, text, options, words):
    path = tmp_path / "plain.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=words):
        read_synthetic_rankings(path, **options)


def test_listed_items_and_the_case_of_the_column_of_budgets(tmp_path):
    path = tmp_path / "plain.csv"
    path.write_text(f"{HEAD.title()}u,2,1,2,\nv,2,1,3,2\n")
    found = read(path, items=("C", "B", "A"))
    assert found.table.ranks.tolist() == [[-1, 1, 0], [1, 2, 0]]
    assert found.epsilon.tolist() == [2.0, 2.0]
    for item in ("user", "synthetic_epsilon"):
        table = Rankings(np.array([[0, 1]]), ("a", item))
        with pytest.raises(DataError, match="rename it"):
            write_synthetic_rankings(path, SyntheticRankings(table, np.ones(1)))


def test_epsilons_of_a_user_are_added_as_decimals():
    """Ten times 0.1 is 1, not an ulp less; sums that no float has are rounded up."""
    users = np.array([0] * 10 + [1] * 3 + [2] * 2)
    assert largest_sum(users, np.array([0.1] * 10 + [0.3] * 3 + [0.2, 0.7])) == 1.0
    assert largest_sum(np.zeros(3, int), np.array([0.1, 0.1, 0.1])) == 0.3
    assert largest_sum(np.zeros(2, int), np.array([0.1, 0.2])) == 0.3
    rng = np.random.default_rng(0)
    for _ in range(200):
        users, levels = rng.integers(0, 4, 12), rng.choice(rng.random(5) * 3, 12)
        exact = max(
            sum((Decimal(repr(float(x))) for x in levels[users == user]), Decimal(0))
            for user in range(4)
        )
        found = largest_sum(users, levels)
        assert Decimal(repr(found)) >= exact
        assert found <= float(exact) * (1 + 1e-15)
