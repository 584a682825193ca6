"""A row that counts c times is c rows: what is read of a file with counts is what is read of the longer file."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from privrank_jax.data import Choices, Comparisons, DataError, Rankings, Ratings
from tests.data.files import frame, written
from tests.parquet import as_parquet

WINNERS = "user,winner,loser,tie,n\nu,a,b,0,3\nv,b,a,1,2\nu,c,a,,0\nw,c,b,,1\nu,b,a,,2\n"
CHOICES = "user,chosen,shown,n\nu,a,a|b,2\nv,c,a|b|c,3\nw,d,d|a,0\n"
SCORED = {"left_score": "home", "right_score": "away"}
BATTLES = "user,model_a,model_b,winner,n\nu,a,b,tie,2\nv,b,c,model_b,3\nw,c,a,left,0\nu,c,a,c,1\n"
PAIRS = "user,a vs b,b vs c,n\nu,a,,2\nv,tie,c,3\nw,b,b,0\n"
ONE_HOT = "user,model_a,model_b,winner_model_a,winner_model_b,n\nu,a,b,1,0,2\nv,a,c,0,1,1\n"
GOALS = "user,left,right,home,away,n\nu,a,b,2,1,2\nv,b,c,0,0,3\nw,c,a,1,4,0\nu,c,a,1.5,2,1\n"
WIDE = "n,a,b,c\n2,1,2,3\n0,3,2,1\n3,2,1,\n1,1,1,2\n"
ORDERS = "n,order\n2,a>b>c\n0,d>a\n3,b>a\n1,a=b>c\n"
PLACES = "n,rank_1,rank_2\n2,a,b\n0,d,a\n3,b,a\n1,c,\n"
EACH = [
    (Comparisons, WINNERS, {}),
    (Comparisons, WINNERS, {"user": None, "items": ["c", "a", "b"]}),
    (Comparisons, BATTLES, {}),
    (Comparisons, PAIRS, {}),
    (Comparisons, ONE_HOT, {}),
    (Comparisons, GOALS, SCORED),
    (Choices, CHOICES, {}),
    (Choices, CHOICES, {"user": None}),
    (Rankings, WIDE, {"user": None}),
    (Ratings, WIDE, {"user": None, "ratings": "1:5"}),
    (Rankings, WIDE, {"user": None, "items": ["c", "b"]}),
    (Rankings, ORDERS, {"user": None}),
    (Rankings, PLACES, {"user": None}),
]


def longer(text):
    """Each row as often as it counts."""
    header, *rows = (line.split(",") for line in text.splitlines())
    at = header.index("n")
    every = [header, *(row for row in rows for _ in range(int(row[at])))]
    return "".join(",".join(row[:at] + row[at + 1 :]) + "\n" for row in every)


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


@pytest.mark.parametrize(("kind", "text", "options"), EACH)
def test_counted_rows_are_rows(tmp_path, kind, text, options):
    path = written(tmp_path, text)
    expected = kind.read(written(tmp_path, longer(text), "longer.csv"), **options)
    found = kind.read(path, count="N", **options)
    assert any("'n' says" in note for note in found.notes)
    assert_same(dataclasses.replace(found, name="longer.csv"), expected)
    assert_same(
        kind.read(as_parquet(path), count="n", **options),
        dataclasses.replace(expected, name="votes.parquet"),
    )
    with pytest.raises(
        DataError, match=r"votes.csv: column 'n' looks like how often.*say count='n'"
    ):
        kind.read(path, **options)


@pytest.mark.parametrize("text", [WIDE, ORDERS, PLACES])
def test_a_user_has_one_ranking(tmp_path, text):
    header, *rows = text.splitlines()
    rows = [f"{row},u{k}" for k, row in enumerate(rows)]
    path = written(tmp_path, "\n".join([f"{header},user", *rows]))
    with pytest.raises(DataError, match="a user has one ranking: say user=None"):
        Rankings.read(path, count="n")
    long = written(tmp_path, "user,item,rank,n\nu,a,1,2\nu,b,2,2\n")
    with pytest.raises(DataError, match="`count`"):
        Rankings.read(long, count="n")
    with pytest.raises(DataError, match="column 'n' looks like how often"):
        Rankings.read(long)


def test_columns_that_are_listed_are_no_counts_and_wins_are_counts_already():
    wide = {"user": ["1", "2"], "a": ["1", "2"], "n": ["2", "1"]}
    assert Rankings.read(wide, items=["a", "n"]).ranks.tolist() == [[0, 1], [1, 0]]
    named = frame("user,winner,loser,first,weight", "u,a,b,a,1", "v,b,a,b,-1")
    assert len(Comparisons.read(named, covariates=["weight"], side="first")) == 2
    told = {"left": "a", "right": "b", "left_wins": "x", "right_wins": "y"}
    with pytest.raises(DataError, match="`count`"):
        Comparisons.read(frame("a,b,x,y,n", "p,q,1,2,3"), count="n", **told)
