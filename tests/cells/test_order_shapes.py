"""Columns of places and texts of orders: which are recognized, and what they say."""

from __future__ import annotations

import pytest

from privrank_jax._cells.errors import BadCell, DataError
from privrank_jax._cells.order_shapes import groups_of, order_columns, place_columns


@pytest.mark.parametrize(
    ("header", "places"),
    [
        ("user,rank_1,rank_2,rank_3", "rank_1,rank_2,rank_3"),
        ("2nd choice,age,1st choice", "1st choice,2nd choice"),
        ("rank_0,rank_1", "rank_0,rank_1"),
        ("rank_1,rank_3", ""),
        ("rank_2,rank_3", ""),
        ("rank_1,rank_1,rank_2", ""),
        ("rank_1,top 1,rank_2", ""),
        ("rank_1", ""),
        ("user,a,b", ""),
    ],
)
def test_places(header, places):
    assert ",".join(place_columns(header.split(","))) == places


@pytest.mark.parametrize(
    ("header", "order", "public", "columns"),
    [
        ("user,order", None, None, ("order",)),
        ("user, Ranking ", None, None, (" Ranking ",)),
        ("user,order,age", None, None, ()),
        ("user,a", None, None, ()),
        ("user,age,said", "Said", None, ("said",)),
        ("user,rank1,rank2", None, ("a", "b"), ("rank1", "rank2")),
        ("user,rank1,rank2", None, ("rank1", "rank2"), ()),  # named as items
    ],
)
def test_columns_of_orders(header, order, public, columns):
    assert order_columns("f", header.split(","), "user", order, public) == columns


def test_a_column_that_is_not_there():
    with pytest.raises(DataError, match="f: no column 'vote', of order='vote'; the columns are"):
        order_columns("f", ["user", "a"], "user", "vote", None)


@pytest.mark.parametrize(
    ("text", "groups"),
    [
        ("A>B=C", [["A"], ["B", "C"]]),
        (" A  B > c ", [["A  B"], ["c"]]),
        ("A", [["A"]]),
        ("", []),
        (None, []),
        ("NA", []),
    ],
)
def test_texts(text, groups):
    assert list(groups_of(text)) == groups


@pytest.mark.parametrize("text", [">", "A>", "A>>B", "=A", "A= >B"])
def test_texts_that_are_no_orders(text):
    with pytest.raises(BadCell, match="is no order: write the items, best first"):
        list(groups_of(text))
