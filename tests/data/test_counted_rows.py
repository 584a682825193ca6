"""A row that counts c times is c rows: what is read of a file with counts is what is read of the longer file."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from privrank_jax.data import DataError
from tests.data.files import written
from tests.data.readers import read_choices, read_comparisons, read_rankings
from tests.data.votes import CHOICES, SCORED, WINNERS, longer
from tests.parquet import as_parquet

BATTLES = "user,model_a,model_b,winner,n\nu,a,b,tie,2\nv,b,c,model_b,3\nw,c,a,left,0\nu,c,a,c,1\n"
PAIRS = "user,a vs b,b vs c,n\nu,a,,2\nv,tie,c,3\nw,b,b,0\n"
ONE_HOT = "user,model_a,model_b,winner_model_a,winner_model_b,n\nu,a,b,1,0,2\nv,a,c,0,1,1\n"
GOALS = "user,left,right,home,away,n\nu,a,b,2,1,2\nv,b,c,0,0,3\nw,c,a,1,4,0\nu,c,a,1.5,2,1\n"
WIDE = "n,a,b,c\n2,1,2,3\n0,3,2,1\n3,2,1,\n1,1,1,2\n"
ORDERS = "n,order\n2,a>b>c\n0,d>a\n3,b>a\n1,a=b>c\n"
FORMS = "n,order\n2,a;b;c;\n0,d;a;\n3,b;a;\n"
PLACES = "n,rank_1,rank_2\n2,a,b\n0,d,a\n3,b,a\n1,c,\n"
EACH = [
    (read_comparisons, WINNERS, {}),
    (read_comparisons, WINNERS, {"user": None, "items": ["c", "a", "b"]}),
    (read_comparisons, BATTLES, {}),
    (read_comparisons, PAIRS, {}),
    (read_comparisons, ONE_HOT, {}),
    (read_comparisons, GOALS, SCORED),
    (read_choices, CHOICES, {}),
    (read_choices, CHOICES, {"user": None}),
    (read_rankings, WIDE, {"user": None}),
    (read_rankings, WIDE, {"user": None, "cells": "ratings"}),
    (read_rankings, WIDE, {"user": None, "items": ["c", "b"]}),
    (read_rankings, ORDERS, {"user": None}),
    (read_rankings, FORMS, {"user": None}),
    (read_rankings, PLACES, {"user": None}),
]


def assert_same(one, other):
    """Two tables that differ in their notes alone, and in the order of rows where one has several comparisons."""
    if one.user_names and " vs " in str(one.reading):
        both = [
            sorted(zip(t.users.tolist(), t.winners.tolist(), t.losers.tolist(), t.tied.tolist()))
            for t in (one, other)
        ]
        assert both[0] == both[1]
        assert (one.item_names, one.user_names) == (other.item_names, other.user_names)
        return
    for field in dataclasses.fields(one):
        if field.name in ("notes", "reading", "remarks", "public", "users_are", "origin"):
            continue
        found, expected = getattr(one, field.name), getattr(other, field.name)
        if isinstance(expected, np.ndarray):
            assert found.dtype == expected.dtype
            found, expected = found.tolist(), expected.tolist()
        assert found == expected, field.name


@pytest.mark.parametrize(("read", "text", "options"), EACH)
def test_counted_rows_are_rows(tmp_path, read, text, options):
    path = written(tmp_path, text)
    expected = read(written(tmp_path, longer(text), "longer.csv"), **options)
    found = read(path, count="N", **options)
    assert any("'n' says" in note for note in found.notes)
    assert_same(dataclasses.replace(found, name="longer.csv"), expected)
    assert_same(
        read(as_parquet(path), count="n", **options),
        dataclasses.replace(expected, name="votes.parquet"),
    )
    with pytest.raises(
        DataError, match=r"votes.csv: column 'n' looks like how often.*say count='n'"
    ):
        read(path, **options)


@pytest.mark.parametrize(("read", "text", "options"), EACH)
def test_counts_that_are_none(tmp_path, read, text, options):
    header, first, *rest = text.split("\n")
    at = header.split(",").index("n")
    for cell in ("", "x", "-1", "2.5"):
        cells = first.split(",")
        cells[at] = cell
        path = written(tmp_path, "\n".join([header, ",".join(cells), *rest]))
        with pytest.raises(DataError, match=r"votes.csv, line 2, column 'n': .* does not say how"):
            read(path, count="n", **options)


def test_two_columns_of_wins_are_read_both(tmp_path):
    text = (
        "who,player1,player2,win1,win2\nu,Ann,Bob,1,0\nv,Ann,Cy,1,4\nu,Bob,Cy,0,0\nu,Dee,Ann,0,2\n"
    )
    wins = {"left": "player1", "right": "player2", "left_wins": "win1", "right_wins": "win2"}
    table = read_comparisons(written(tmp_path, text), user="who", **wins)
    rows = [
        ("u", "Ann", "Bob"),
        ("v", "Ann", "Cy"),
        *[("v", "Cy", "Ann")] * 4,
        *[("u", "Ann", "Dee")] * 2,
    ]
    plain = "user,winner,loser\n" + "".join(",".join(row) + "\n" for row in rows)
    expected = read_comparisons(written(tmp_path, plain, "plain.csv"))
    assert_same(dataclasses.replace(table, name="plain.csv"), expected)
    assert table.comparisons_per_user == 5
    assert table.reading == (
        "columns 'player1' and 'player2' hold the items, 'win1' and 'win2' how often each of them won: each win is a "
        "comparison",
    )
    usual = text.replace("player1,player2", "left,right")
    wins = {"left_wins": "win1", "right_wins": "win2"}
    assert len(read_comparisons(written(tmp_path, usual), user="who", **wins)) == 8


WINS = "player1,player2,win1,win2\nAnn,Bob,1,0\n"
HINT = "left_wins='win1' (--column left-wins=win1), right_wins='win2' (--column right-wins=win2)"
NAMED = {"left": "player1", "right": "player2"}


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        (WINS, {}, HINT),
        (WINS, {**NAMED, "outcome": "win1"}, HINT),
        (WINS, {**NAMED, "outcome": "win2"}, HINT),
        (WINS, {"winner": "player1", "loser": "player2"}, HINT),
        (WINS, {"winner": "player2", "loser": "player1"}, HINT),
        (WINS, {**NAMED, "left_wins": "win1"}, "name left_wins"),
        (WINS, {"left_wins": "win1", "right_wins": "win2"}, "name the columns of the two items by left"),
        (WINS, {**NAMED, "left_wins": "win1", "right_wins": "win2", "outcome": "x"}, "one of the three"),
        (WINS, {**NAMED, "left_wins": "win1", "right_wins": "win2", "count": "n"}, "wins are counts already"),
        (WINS, {**NAMED, "left_wins": "win1", "right_wins": "win3"}, "no column 'win3'"),
        (WINS.replace(",1,0", ",1,"), {**NAMED, "left_wins": "win1", "right_wins": "win2"}, "column 'win2': ''"),
        ("home,away,away_goals,home_goals\nx,y,1,2\n", {}, "right_score='away_goals'"),
        ("home,away,FTHG,FTAG\nx,y,1,2\n", {}, "right_score='FTAG'"),
        ("team_1,team_2,score_1,score_2\nx,y,1,2\n", {}, "left_score='score_1'"),
        ("team_1,team_2,score_1,score_2\nx,y,1,2\n", {"winner": "team_1", "loser": "team_2"}, "would not be used"),
        ("left,right,a,b\nx,y,1,\n", {"left_score": "a", "right_score": "b"}, "line 2, column 'b': '' is no"),
        ("left,right,a,b,tie\nx,y,1,2,0\n", {"left_score": "a", "right_score": "b"}, "column 'tie' marks ties"),
    ],
)  # fmt: skip
def test_one_of_two_numbers_is_never_an_outcome(tmp_path, text, options, words):
    with pytest.raises(DataError) as error:
        read_comparisons(written(tmp_path, text), user=None, **options)
    said = str(error.value)
    assert words in said
    assert "outcome='win" not in said


@pytest.mark.parametrize("text", [WIDE, ORDERS, PLACES])
def test_a_user_has_one_ranking(tmp_path, text):
    header, *rows = text.splitlines()
    rows = [f"{row},u{k}" for k, row in enumerate(rows)]
    path = written(tmp_path, "\n".join([f"{header},user", *rows]))
    for user in ("user", "id"):
        with pytest.raises(DataError, match="a user has one ranking: say user=None"):
            read_rankings(path, user=user, count="n")
    long = written(tmp_path, "user,item,rank,n\nu,a,1,2\nu,b,2,2\n")
    with pytest.raises(DataError, match="its cells are ranks: leave out count"):
        read_rankings(long, count="n")
    with pytest.raises(DataError, match="column 'n' looks like how often"):
        read_rankings(long)


def test_columns_that_are_ignored_or_listed_are_no_counts(tmp_path):
    path = written(tmp_path, WINNERS)
    assert len(read_comparisons(path, ignore=["n"])) == 5
    wide = written(tmp_path, "user,a,n\n1,1,2\n2,2,1\n")
    assert read_rankings(wide, items=["a", "n"]).ranks.tolist() == [[0, 1], [1, 0]]
    named = written(tmp_path, "user,winner,loser,first,weight\nu,a,b,a,1\nv,b,a,b,-1\n")
    assert len(read_comparisons(named, covariates=["weight"], side="first")) == 2
    long = written(tmp_path, "user,item,rank,votes\n1,a,1,7\n1,b,2,7\n")
    assert read_rankings(long, ignore=["votes"]).ranks.tolist() == [[0, 1]]


def test_frames_are_counted_too():
    frame = {"winner": ["a", "b"], "loser": ["b", "a"], "n": [2, 1]}
    assert len(read_comparisons(frame, user=None, count="n")) == 3
    assert (
        read_rankings({"n": [2, 1], "a": [1, 2], "b": [2, 1]}, user=None, count="n").num_users == 3
    )
