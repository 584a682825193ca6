"""Tables of rankings, wide or long: roles of columns, and checks of the table as a whole."""

from __future__ import annotations

import pytest

from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.ranking_shapes import (
    check_enough,
    check_lists_users,
    could_be_items,
    count_users,
    is_long,
    item_columns,
    not_an_item,
    ranked_nothing,
    user_of_rows,
)


def test_a_table_is_long_by_its_columns_or_because_somebody_says_so():
    assert is_long("f", ["user", "item", "rank"], None, None)
    assert is_long("f", ["who", "dish", "place"], "dish", None)
    assert is_long("f", ["who", "dish", "place"], None, "place")
    assert not is_long("f", ["user", "item", "other"], None, None)
    with pytest.raises(DataError, match="holds comparisons"):
        is_long("f", ["user", "winner", "loser"], None, None)


def test_items_are_all_columns_but_the_user_or_those_listed():
    header = ["user", "Oslo", "Rome", "Bonn"]
    assert item_columns("f", header, "user", None) == ("Bonn", "Oslo", "Rome")
    assert item_columns("f", header, "user", ("Rome", "Oslo")) == ("Rome", "Oslo")
    assert could_be_items(header, "user") == 3
    assert could_be_items(header, None) == 4


@pytest.mark.parametrize(
    ("header", "user", "public", "message"),
    [
        (["who", "a", "b"], "user", None, "no column 'user'"),
        (["user", "a", "b"], None, None, "'user' would be ranked as an item"),
        (["user", "a", "b"], "user", ("a", "c"), "no column for the item 'c'"),
        (["user", "a", " "], "user", None, "a column has no name"),
        (["user", "a"], "user", None, "there is one item, 'a'"),
        (["user", "a", "A "], "user", None, "f: item named twice"),
        (["user", "Rank_1", "Rank_2"], "user", None, "are places"),
        (["user;a;b"], "user", None, "the only column is"),
    ],
)
def test_headers_that_are_refused(header, user, public, message):
    with pytest.raises(DataError, match=message):
        item_columns("f", header, user, public)


def test_users_are_counted_or_stated_but_never_fewer_than_seen():
    assert count_users("f", 3, None) == 3
    assert count_users("f", 3, 5) == 5
    with pytest.raises(DataError, match="more users than the 2"):
        count_users("f", 3, 2)
    check_lists_users("f", None)
    with pytest.raises(DataError, match="leave out the number of users"):
        check_lists_users("f", 3)
    assert user_of_rows("f", "who") == "who"
    with pytest.raises(DataError, match="need a column of users"):
        user_of_rows("f", None)


def test_there_must_be_something_to_rank():
    check_enough("f", 1, 2)
    with pytest.raises(DataError, match="no rows below its header"):
        check_enough("f", 0, 2)
    with pytest.raises(DataError, match="at least two items, found 1"):
        check_enough("f", 3, 1)


def test_a_row_of_neither_item_nor_rank_says_that_there_is_a_user():
    assert ranked_nothing("", None)
    assert ranked_nothing(" ", " ")
    assert not ranked_nothing("a", "")
    assert not ranked_nothing("", "1")


def test_advice_on_a_column_that_is_not_an_item_depends_on_whether_users_are_named():
    error = BadCell("'x' is not a rank")
    assert str(not_an_item(error, "age", None)).startswith(
        "'x' is not a rank. If it says who ranked"
    )
    assert "user='age'" in str(not_an_item(error, "age", None))
    assert "user=" not in str(not_an_item(error, "age", "who"))
    assert not_an_item(error, "age", "who").argument == "items"
