from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.datasets import ComparisonTable, DataError

ROWS = {"users": [0, 0, 2], "winners": [0, 1, 0], "losers": [1, 2, 2], "tied": [False, False, True]}
NAMES = {"item_names": ("a", "b", "c"), "user_names": ("u", "v", "w")}


def test_counts_include_users_without_comparisons():
    table = ComparisonTable(**ROWS, **NAMES)
    assert table.counts_per_user.tolist() == [2, 0, 1]
    assert (table.comparisons_per_user, table.num_users, table.num_items) == (2, 3, 3)
    assert (len(table), table.ties, table.has_users, table.missing) == (3, 1, True, None)
    assert [a.dtype for a in (table.users, table.winners, table.losers)] == [np.int32] * 3
    assert table.tied.dtype == np.bool_


def test_missing_counts_the_questions_without_answer():
    table = ComparisonTable(**ROWS, **NAMES, questionnaire=np.array([[0, 1], [0, 2], [1, 2]]))
    assert table.missing == 3 * 3 - 3


def test_without_user_names_each_row_is_a_user():
    table = ComparisonTable(**{**ROWS, "users": [0, 1, 2]}, item_names=("a", "b", "c"))
    assert not table.has_users
    assert table.num_users == 3


def test_the_table_is_its_own_copy_and_read_only():
    winners = np.array([0, 1, 0], dtype=np.int32)
    table = ComparisonTable(**{**ROWS, "winners": winners}, **NAMES)
    winners[0] = 2
    assert table.winners[0] == 0
    with pytest.raises(ValueError, match="read-only"):
        table.winners[0] = 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"users": [0, 0]}, "share one shape"),
        ({"winners": [0, 1, 3]}, "indices 0 to 2"),
        ({"losers": [1, 2, -1]}, "indices 0 to 2"),
        ({"losers": [1, 1, 2]}, "compared with itself"),
        ({"users": [0, 0, 3]}, "users must be indices"),
        ({"users": [0, 0, -1]}, "users must be indices"),
        ({"item_names": ("a", "b", "b")}, "named twice"),
        ({"item_names": ("a",)}, "at least two items"),
        ({"questionnaire": np.array([[0, 3]])}, "indices 0 to 2"),
        ({"weights": [1.0, 2.0]}, "weights must be finite numbers of at least 0"),
        ({"weights": [1.0, 2.0, -1.0]}, "weights must be finite numbers of at least 0"),
        ({"weights": [1.0, 2.0, np.inf]}, "weights must be finite numbers of at least 0"),
    ],
)
def test_refusals(change, message):
    with pytest.raises(DataError, match=message):
        ComparisonTable(**{**ROWS, **NAMES, **change})


def test_comparisons_carry_the_same_rows_to_jax():
    table = ComparisonTable(**ROWS, **NAMES)
    rows = table.comparisons()
    for name in ("users", "winners", "losers", "tied"):
        np.testing.assert_array_equal(getattr(rows, name), getattr(table, name))
    assert bool(np.all(rows.mask))
    wins = rows.win_counts().matrix
    np.testing.assert_array_equal(wins, [[0, 1, 0.5], [0, 0, 1], [0.5, 0, 0]])
