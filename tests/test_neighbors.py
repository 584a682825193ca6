"""Which promises imply which others, compared with enumerated neighbors of all small data sets."""

from __future__ import annotations

import itertools

import pytest

from privrank_jax._neighbors import COVERS, PUBLIC, Neighbors, check_public

ROWS = list(itertools.product((0, 1), ("ab", "cd"), (0, 1)))  # user, pair, answer
DATA = [tuple(sorted(rows)) for n in range(4) for rows in itertools.combinations(ROWS, n)]


def are_neighbors(kind, one, other):
    """Whether two data sets differ in one unit, in that way."""
    gone = [row for row in one if row not in other]
    come = [row for row in other if row not in one]
    changed = gone + come
    if not changed:
        return False
    asked = sorted(row[:2] for row in gone) == sorted(row[:2] for row in come)
    one_user = len({row[0] for row in changed}) == 1
    return {
        ("comparison", "flip"): len(gone) == len(come) == 1 and asked,
        ("comparison", "replace"): len(gone) == len(come) == 1,
        ("comparison", "add-remove"): len(changed) == 1,
        ("user", "flip"): one_user and asked,
        ("user", "replace"): one_user,
        ("user", "add-remove"): one_user
        and not {row[0] for row in changed} & {row[0] for row in set(one) & set(other)}
        and (not gone or not come),
    }[kind]


KINDS = [kind for kind in COVERS if kind[0] != "rank"]


@pytest.mark.parametrize("promised", KINDS)
def test_neighbors_that_are_promised_are_neighbors_of_what_covers_the_promise(promised):
    pairs = [pair for pair in itertools.combinations(DATA, 2) if are_neighbors(promised, *pair)]
    assert pairs
    for released in COVERS[promised]:
        assert all(are_neighbors(released, *pair) for pair in pairs)
    # What has fewer neighbors does not cover, but for users, who may not come and go where they are replaced.
    for released in set(KINDS) - COVERS[promised] - {("user", "replace")}:
        assert not all(are_neighbors(released, *pair) for pair in pairs)


def test_covering_is_reflexive_and_transitive():
    for kind, stronger in COVERS.items():
        assert kind in stronger
        for other in stronger:
            assert COVERS[other] <= stronger


def test_what_is_public_here_must_be_public_there():
    whole = Neighbors("user", "replace", users="each row")
    items = Neighbors("user", "replace", ("items",), "each row")
    assert whole.covers(items)
    assert not items.covers(whole)
    assert "list of items" in items.lacks(whole)
    assert items.covers(Neighbors("user", "flip", users="each row"))  # flips share the items anyway
    assert Neighbors("user", "flip", ("items", "ties")).public == ("ties",)


def test_users_must_be_the_same_unless_comparisons_are_promised():
    voters, rows = (Neighbors("user", "replace", users=name) for name in ("voters", "each row"))
    assert "voters, not" in voters.lacks(rows)
    flips = Neighbors("comparison", "flip", users="each row")
    assert voters.covers(flips)


def test_facts_are_known_sorted_and_said_once():
    assert check_public(["ties", "items", "ties"]) == ("items", "ties")
    words = Neighbors("comparison", "replace", tuple(PUBLIC)).in_words()
    assert all(words.count(fact) == 1 for fact in PUBLIC.values())
