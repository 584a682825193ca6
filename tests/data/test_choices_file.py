"""Files of choices from sets: both shapes, and faults with the place where they stand."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.data import DataError
from tests.data.readers import read_choices

ROWS = ["u1,b,a|b", "u2,a,c|a|b", "u1,c,b|c"]
WIDE = ["u1,b,a,b,", "u2,a,c,a,b", "u1,c,b,,c"]


def write(tmp_path, rows, header="user,chosen,shown"):
    path = tmp_path / "choices.csv"
    path.write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("rows", "header"),
    [(ROWS, "user,chosen,shown"), (WIDE, "user,chosen,option_1,option_2,option_3")],
)
def test_both_shapes_are_the_same_choices(tmp_path, rows, header):
    table = read_choices(write(tmp_path, rows, header))
    assert table.item_names == ("a", "b", "c")
    assert table.user_names == ("u1", "u2")
    assert table.users.tolist() == [0, 1, 0]
    assert [sorted(s[s >= 0].tolist()) for s in table.sets] == [[0, 1], [0, 1, 2], [1, 2]]
    assert table.sets[:, 0].tolist() == [1, 0, 2]
    assert table.public == ("items",)
    assert table.comparisons_per_user == 2
    assert "is the item chosen" in table.reading[0]
    assert "users and answers not shown" in repr(table)
    choices = table.choices(np.array([True, True, False]))
    assert choices.totals.tolist() == [1, 1, 0]
    assert choices.offered.sum(1).tolist() == [2, 3, 2]
    assert choices.public_sets


def test_a_public_list_of_items_keeps_its_order_and_refuses_others(tmp_path):
    path = write(tmp_path, ROWS)
    table = read_choices(path, user=None, items=["c", "b", "a", "d"])
    assert table.item_names == ("c", "b", "a", "d")
    assert table.sets[:, 0].tolist() == [1, 2, 0]
    assert not table.has_users
    assert table.public == ()
    with pytest.raises(DataError, match="'c' is not in the list of items"):
        read_choices(path, items=["a", "b"])


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("u3,d,a|b", "line 5, column 'chosen': 'd' was chosen, but is not among the items shown"),
        ("u3,a,a", "line 5, column 'shown': fewer than two items are shown"),
        ("u3,a,a|b|a", "line 5, column 'shown': 'a' is shown twice"),
        ("u3,,a|b", "line 5, column 'chosen': the item is missing"),
        (",a,a|b", "line 5, column 'user': the user is missing"),
        ("u3,A,A|b", "line 5, column 'shown': item named twice"),
    ],
)
def test_faults_are_refused_with_their_place(tmp_path, row, message):
    with pytest.raises(DataError, match=message):
        read_choices(write(tmp_path, [*ROWS, row]))


def test_other_columns_must_be_named(tmp_path):
    path = write(tmp_path, ROWS, "user,y,seen")
    with pytest.raises(DataError, match=r"name them by chosen='COLUMN' .* and shown='COLUMN'"):
        read_choices(path)
    assert len(read_choices(path, chosen="y", shown=["seen"])) == 3
    with pytest.raises(DataError, match="no rows below its header"):
        read_choices(write(tmp_path, []))
