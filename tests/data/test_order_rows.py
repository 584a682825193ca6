"""Order lists and texts of orders, held against a plain reading of the same rows."""

from __future__ import annotations

import pytest

from privrank_jax.data import DataError
from tests.data.files import written
from tests.data.readers import read_rankings

LISTS = "user,rank_2,rank_1,rank_3,note\nann,Rome,Oslo,Paris,x\nbob,,Paris,,y\ncy,,,,z\n"
TEXTS = "user,order\nann,Oslo > Rome > Paris\nbob,Paris\ncy,\n"
NAMES = ("Oslo", "Paris", "Rome")
RANKS = [[0, 2, 1], [-1, 0, -1], [-1, -1, -1]]


@pytest.mark.parametrize("text", [LISTS, TEXTS, LISTS.replace("user", "USER ")])
def test_orders_become_ranks(tmp_path, text):
    table = read_rankings(written(tmp_path, text))
    assert (table.item_names, table.ranks.tolist()) == (NAMES, RANKS)
    assert table.user_names == ("ann", "bob", "cy")
    assert table.public == ("items",)
    assert len(table.reading) == 1
    assert table.notes[0] == table.reading[0]
    listed = read_rankings(written(tmp_path, text), items=["Rome", "Bonn", "Oslo", "Paris"])
    assert listed.ranks.tolist() == [[1, -1, 0, 2], [-1, -1, -1, 0], [-1] * 4]
    assert listed.public == ()


def test_what_is_said_depends_on_the_columns_alone(tmp_path):
    said = read_rankings(written(tmp_path, LISTS)).reading
    assert said == (
        "columns 'rank_1' to 'rank_3' are places, so their cells are items, the best in 'rank_1'",
    )
    assert read_rankings(written(tmp_path, TEXTS)).reading == (
        "column 'order' holds orders such as A>B=C or A;B;C, the best first, = for ties",
    )


FORMS = (
    "id,email,Rank the topics\n1,x,Pay;Hours;Light food;\n2,x,Hours;Pay;Light food;\n3,x,Light food;\n",
    "id,Rank the topics\n1,Pay|Hours|Light food\n2,Hours|Pay|Light food\n3,Light food\n",
    "id\tRank the topics\n1\tPay, Hours, Light food\n2\tHours, Pay, Light food\n3\tLight food\n",
    "id,Rank the topics\n1,Pay≻Hours≻Light food\n2,Hours≻Pay≻Light food\n3,Light food\n",
    'id,Rank the topics\n1,"Pay\nHours\nLight food"\n2,"Hours\nPay\nLight food\n"\n3,Light food\n',
)


@pytest.mark.parametrize("text", FORMS)
def test_what_survey_tools_put_between_items(tmp_path, text):
    path = written(tmp_path, text)
    for items in (None, ["Hours", "Light food", "Pay"]):
        table = read_rankings(path, user="id", order="Rank the topics", items=items)
        assert table.item_names == ("Hours", "Light food", "Pay")
        assert table.ranks.tolist() == [[1, 2, 0], [0, 2, 1], [-1, 0, -1]]
        assert "A>B=C or A;B;C" in table.reading[-1]  # whatever the cells have


def test_codes_between_blanks_and_signs_that_are_said(tmp_path):
    path = written(tmp_path, "user,order\n1,c a b\n2,a b c\n")
    assert read_rankings(path).ranks.tolist() == [[1, 2, 0], [0, 1, 2]]
    path = written(tmp_path, "user,order\n1,a b/c\n2,c/a b\n")
    assert read_rankings(path, order_separator="/").ranks.tolist() == [[0, 1], [1, 0]]
    path = written(tmp_path, "user,order\n1,New York\n2,Rome\n")
    with pytest.raises(DataError, match="these are no orders such as A>B>C"):
        read_rankings(path)
    assert read_rankings(path, order_separator=">").item_names == ("New York", "Rome")
    frame = {"user": [1, 2], "order": ["a;b", "b;a;"]}
    assert read_rankings(frame, order_separator=";").ranks.tolist() == [[0, 1], [1, 0]]


def test_ties_gaps_and_columns_that_are_named(tmp_path):
    text = "voter,age,said\n1,7,b=c>a\n2,8,a>b\n"
    table = read_rankings(written(tmp_path, text), user="voter", order="said", missing="unknown")
    assert table.ranks.tolist() == [[2, 0, 0], [0, 1, -1]]
    assert table.missing == "unknown"
    assert "columns not used: age" in table.notes
    skipped = "user,1st,2nd,3rd\nann,a,,b\n"
    assert read_rankings(written(tmp_path, skipped)).ranks.tolist() == [[0, 1]]
    each = read_rankings(written(tmp_path, "rank1,rank2\na,b\na,b\n"), user=None)
    assert (each.num_users, each.user_names) == (2, ())


def test_numbers_as_items_must_be_listed(tmp_path):
    path = written(tmp_path, "user,rank_1,rank_2\nann,2,1\n")
    with pytest.raises(DataError, match=r"all their cells are numbers.*list the items"):
        read_rankings(path)
    assert read_rankings(path, items=["1", "2"]).ranks.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (LISTS.replace(",Rome", ",Oslo"), {}, "line 2, column 'rank_2': 'Oslo' stands twice"),
        (LISTS.replace("Rome", "oslo"), {}, "item named twice: 'Oslo' and 'oslo'"),
        (LISTS.replace("bob", "ann"), {}, "line 3, column 'user': user 'ann' has two rows"),
        (LISTS.replace("user", "voter"), {}, "no column 'user'"),
        (LISTS, {"items": ["Oslo", "Paris"]}, "column 'rank_2': 'Rome' is not in the list"),
        (LISTS, {"cells": "ratings"}, "its cells are items, best first: leave out cells="),
        (LISTS, {"num_users": 7}, "a row is a user.*leave out num_users=7"),
        (TEXTS.replace("bob,", "bob,Paris >>"), {}, "line 3, column 'order': .* is no order"),
        (
            TEXTS.replace(">", "/"),
            {},
            "column 'order': these are no orders such as A>B>C.*order_separator",
        ),
        (LISTS, {"order_separator": ";"}, "leave out order_separator=';'"),
        ("user,a,b\nann,1,2\n", {"order_separator": ";"}, "leave out order_separator"),
        ("user,item,rank\nann,a,1\n", {"order_separator": ";"}, "leave out order_separator"),
        (TEXTS.replace("Rome", "Oslo"), {}, "line 2, column 'order': 'Oslo' stands twice"),
        (TEXTS, {"order": "vote"}, "no column 'vote'"),
        ("user,order\n", {}, "no rows below its header"),
        ("user,order\nann,a\n", {}, "needs at least two items, found 1"),
    ],
)
def test_refusals(tmp_path, text, options, message):
    with pytest.raises(DataError, match=message) as error:
        read_rankings(written(tmp_path, text), **options)
    assert "votes.csv" in str(error.value)


def test_a_bad_count_is_said_before_signs_are_compared(tmp_path):
    path = written(tmp_path, "n,order\n2,a>b\nx,c/d\n")
    with pytest.raises(DataError, match="line 3, column 'n': 'x' does not say how"):
        read_rankings(path, user=None, count="n")
