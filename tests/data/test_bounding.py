"""Contributions bounded by a keyed hash: without a look at who won, or at other users."""

from __future__ import annotations

import collections

import ibis
import numpy as np

from privrank_jax.data.engine_counts import bounded_rows
from tests.data.rows import kept


def bounded(rows, limit, salt="pepper") -> collections.Counter:
    table = ibis.memtable(rows, columns=["user", "low", "high", "outcome"])
    return kept(bounded_rows(table, limit, salt, ["low", "high", "outcome"]))


def random_rows(seed: int, users: int = 5, rows: int = 60) -> list[tuple[str, int, int, int]]:
    """Users with between none and some twenty rows, duplicates among them."""
    rng = np.random.default_rng(seed)
    low = rng.integers(3, size=rows)
    high = low + rng.integers(1, 3, size=rows)
    who = np.minimum(rng.integers(users, size=rows), rng.integers(users, size=rows))
    outcome = rng.integers(3, size=rows)
    return [(f"u{u}", *map(int, r)) for u, *r in zip(who, low, high, outcome)]


def test_at_most_the_bound_of_each_user_and_of_others_all():
    rows = random_rows(0)
    number = collections.Counter(user for user, *_ in rows)
    for limit in (1, 7, 100):
        stay = bounded(rows, limit)
        assert stay <= collections.Counter(rows)
        users = collections.Counter(user for user, *_ in stay.elements())
        assert users == {user: min(limit, count) for user, count in number.items()}


def test_a_row_without_a_user_belongs_to_nobody_and_is_left_out():
    rows = [(None, 0, 1, 2)] * 5 + [("u0", 0, 1, 2)] * 3
    for limit in (2, 4, 6):
        assert bounded(rows, limit) == {("u0", 0, 1, 2): min(limit, 3)}


def test_the_choice_depends_on_the_rows_and_the_salt_alone():
    rows = random_rows(1)
    stay = bounded(rows, 4)
    assert bounded(rows[::-1], 4) == stay
    assert bounded(rows, 4, "salt") != stay


def test_who_won_does_not_matter_for_which_pairs_stay():
    rows = random_rows(2)
    turned = [(*row[:3], 2 - row[3]) if k % 3 else (*row[:3], 1) for k, row in enumerate(rows)]
    pairs = [
        collections.Counter(row[:3] for row in bounded(version, 4).elements())
        for version in (rows, turned)
    ]
    assert pairs[0] == pairs[1]


def test_other_users_rows_stay_whatever_one_user_does():
    rows = random_rows(3)
    others = [row for row in rows if row[0] != "u0"]
    stay = [
        collections.Counter({row: n for row, n in bounded(version, 3).items() if row[0] != "u0"})
        for version in (rows, others, [*others, *(("u0", 0, 1, 2),) * 50])
    ]
    assert stay[0] == stay[1] == stay[2]


def test_every_row_is_as_likely_to_stay_as_any_other():
    # Each of 3,000 users gave the same six rows; five standard deviations of a binomial count are 137.
    content = [(0, 1, 0), (0, 1, 2), (0, 2, 1), (1, 2, 0), (1, 2, 0), (1, 2, 2)]
    rows = [(f"u{k}", *row) for k in range(3000) for row in content]
    found = collections.Counter(row[1:] for row in bounded(rows, 3).elements())
    for row, number in collections.Counter(content).items():
        assert abs(found[row] - 1500 * number) < 137 * number
