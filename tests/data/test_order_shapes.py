"""Columns of places and texts of orders: which are recognized, and what they say."""

from __future__ import annotations

import contextlib
import itertools
import re

import pytest

from privrank_jax.data.errors import BadCell, DataError
from privrank_jax.data.orders import said_sign, sign_of
from privrank_jax.data.questions import places_of_questions
from privrank_jax.data.shapes import order_columns


@pytest.mark.parametrize(
    ("header", "places"),
    [
        ("user,rank_1,rank_2,rank_3", "rank_1,rank_2,rank_3"),
        ("2nd choice,age,1st choice", "1st choice,2nd choice"),
        *(
            (both, both)
            for both in (
                *(
                    "rank_0,rank_1",
                    "rank1,rank2",
                    "Rank 1,Rank 2",
                    "1st,2nd",
                    "choice-1,choice-2",
                    "top1,top2",
                ),
                *(
                    "First choice,Second choice",
                    "rank (1),rank (2)",
                    "1. place,2. place",
                    "pref#1,pref#2",
                ),
            )
        ),
        *(
            (f"user,{names}", "")
            for names in (
                "P1,P2",
                "Place de la Paix,Top Gun",
                "rank,ranking",
                "item_1x,item_2x",
                "1,2",
            )
        ),
        ("rank_1,rank_3", ""),
        ("rank_2,rank_3", ""),
        ("rank_1,rank_1,rank_2", ""),
        ("rank_1,top 1,rank_2", ""),
        ("rank_1", ""),
        ("user,a,b", ""),
    ],
)
def test_places(header, places):
    found = places_of_questions(header.split(","))
    assert found == ({"": tuple(places.split(","))} if places else {})


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
    with pytest.raises(DataError, match=r"f: no column 'vote'; the columns are.*by order"):
        order_columns("f", ["user", "a"], "user", "vote", None)


@pytest.mark.parametrize(
    ("said", "text", "groups"),
    [
        (">", "A>B=C", [["A"], ["B", "C"]]),
        ("≻", " A  B ≻ c ", [["A  B"], ["c"]]),
        (">", "A", [["A"]]),
        (";", "Pay; E=mc2 ;Food;", [["Pay"], ["E=mc2"], ["Food"]]),
        ("semicolon", "A", [["A"]]),
        ("|", "A|B", [["A"], ["B"]]),
        ("comma", "A, B,", [["A"], ["B"]]),
        ("newline", "Light, blue\r\n\r\nRed\n", [["Light, blue"], ["Red"]]),
        ("blank", " a  b\tc ", [["a"], ["b"], ["c"]]),
        (" ", "a b", [["a"], ["b"]]),
        ("\n", "a\nb c", [["a"], ["b c"]]),
        ("->", "a -> b", [["a"], ["b"]]),
    ],
)
def test_texts(said, text, groups):
    assert said_sign(said).groups_of(text) == groups


@pytest.mark.parametrize(
    ("said", "text"),
    [(">", ">"), (">", "A>"), (">", "A>>B"), (">", "=A"), (">", "A= >B"), (";", "A;;B"), (";", ";A;"), (",", ",")],
)  # fmt: skip
def test_texts_that_are_no_orders(said, text):
    with pytest.raises(BadCell, match=f"is no order: write the items, best first, with .*{said}"):
        said_sign(said).groups_of(text)


@pytest.mark.parametrize("said", ["a", "1", "semi colon", "A>B"])
def test_what_separates_no_items(said):
    with pytest.raises(DataError, match=r"order_separator=.* is none: give what stands between"):
        said_sign(said)


@pytest.mark.parametrize(
    ("sign", "cells"),
    [
        (">", ["A>B", "B"]),
        (">", ["New York > Oslo, Norway", "New York"]),
        (">", ["A=B", "B"]),
        (">", ["A≻B>C", "C"]),
        (">", ["A;B>C", "C>A;B", "C"]),  # ; is part of an item
        (";", ["Pay;Hours;Food;", "Hours;Pay;", "Pay;"]),
        (";", ["Light, blue;Red", "Red"]),
        ("|", ["A b|C", "C"]),
        ("newline", ["Light, blue\nRed", "Red\nLight, blue"]),
        (",", ["A, B b, C", "C, A, B b", "C"]),
        ("blank", ["a b c", "c a b", "b"]),
        (">", ["A"]),
    ],
)
def test_one_sign_separates_all(sign, cells):
    assert sign_of("f", "c", cells, None).name == sign


@pytest.mark.parametrize(
    "cells",
    [
        ["A", "B"],
        ["A/B", "B/A"],
        ["A->B", "C"],
        ["A>B", "C"],
        ["A>B;C", "C;A>B"],
        ["A;B", "A,B", "B,A"],
        ["A;B", "A|B"],
        ["A,B,C", "B,A,C", "A;B"],
        ["Washington, DC", "Paris, France"],
        ["New York", "New Orleans"],
        ["a b c"],
        ["a,b", "b,a,d"],
    ],
)
def test_unclear_signs(cells):
    with pytest.raises(DataError, match=r"f, column 'c': these are no orders such as A>B>C.*order"):
        sign_of("f", "c", cells, None)


@pytest.mark.parametrize(
    ("sign", "cells", "items"),
    [
        (",", ["A,B,C"], "ABC"),
        ("blank", ["a b"], "ab"),
        (";", ["A;B", "C"], "ABC"),
        (">", ["A", "B"], "AB"),
        (",", ["A,b c", "D"], ["A", "b c", "D"]),
        (",", ["A;b,D"], ["A;b", "D"]),
        (";", ["A;X"], "AB"),  # reading it says that X is not listed
    ],
)
def test_a_list_of_items_decides(sign, cells, items):
    assert sign_of("f", "c", cells, list(items)).name == sign


def test_a_list_in_which_items_have_all_signs():
    with pytest.raises(DataError, match="items of the list have all signs that may, as in 'x'"):
        sign_of("f", "c", ["x"], ["a>b;c|d\ne, f", "x"])


def test_other_rows_say_the_same_whatever_the_sign():
    """Of all pairs of columns that differ in one cell and have the same items: the claim of :func:`sign_of`."""
    texts = ["".join(one) for n in (1, 3) for one in itertools.product("ab>;, ", repeat=n)]
    texts = [one.strip() for one in texts if re.search("[ab]", one)]
    compared = 0
    for others in itertools.combinations(["a", "b", "a;b", "a,b", "b a", "a>b", "b,a", "b;a"], 2):
        readings = {}
        for cell in texts:
            for public in (None, ["a", "b"], ["a", "b", "a;b"], ["a", "b", "a,b", "a b", "b a"]):
                with contextlib.suppress(DataError, BadCell):
                    sign = sign_of("f", "c", {*others, cell}, public)
                    found = [sign.groups_of(one) for one in (*others, cell)]
                    names = {name for groups in found for group in groups for name in group}
                    if public is None or names <= set(public):
                        shared = tuple(sorted(names)) if public is None else (..., *public)
                        readings.setdefault(shared, set()).add(str(found[:-1]))
        compared += len(readings)
        assert all(len(one) == 1 for one in readings.values())
    assert compared > 50
