"""Files of pairs and one-hot files: a comparison for each answer, or a refusal that says where."""

from __future__ import annotations

import csv
import io

import pytest

from privrank_jax.data import DataError
from tests.data.readers import read_comparisons

PAIRS = (
    "user,Oslo vs Rome,Rome vs Bonn,note\nu1,Oslo,Bonn,x\nu2,, right ,x\nu3,tie,NA,x\nu4,B,Rome,x\n"
)
OF_PAIRS = [
    ("u1", "Oslo", "Rome", 0), ("u1", "Bonn", "Rome", 0), ("u2", "Bonn", "Rome", 0), ("u3", "Oslo", "Rome", 1),
    ("u4", "Rome", "Oslo", 0), ("u4", "Rome", "Bonn", 0),
]  # fmt: skip
ARENA = (
    "user,model_a,model_b,winner_model_a,winner_model_b,winner_tie,winner_tie_bothbad\n"
    "u1,gpt,phi,1,0,0,0\nu2,left,phi,0,1,,\nu3,phi,gpt,0.0,0,1,0\nu4,tie,gpt,no,0,0,yes\n"
)
OF_ARENA = [
    ("u1", "gpt", "phi", 0), ("u2", "phi", "left", 0), ("u3", "phi", "gpt", 1), ("u4", "tie", "gpt", 1),
]  # fmt: skip


def rows_of(table):
    names = table.item_names
    return [
        (table.user_names[u], names[w], names[v], int(t))
        for u, w, v, t in zip(table.users, table.winners, table.losers, table.tied, strict=True)
    ]


@pytest.mark.parametrize(("text", "expected"), [(PAIRS, OF_PAIRS), (ARENA, OF_ARENA)])
def test_each_answer_is_one_comparison(tmp_path, text, expected):
    path = tmp_path / "votes.csv"
    path.write_text(text, encoding="utf-8")
    table = read_comparisons(path)
    assert rows_of(table) == expected
    assert len(table.reading) == 1
    assert table.reading[0] in table.notes
    header, *rows = csv.reader(io.StringIO(text))
    frame = {name: [row[k] for row in rows] for k, name in enumerate(header)}
    assert rows_of(read_comparisons(frame)) == expected
    alone = read_comparisons(path, user=None)
    assert (alone.user_names, len(alone)) == ((), len(expected))


def test_items_of_pairs_are_those_of_the_header(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text("user,a vs b,b vs c\nu1,a,\n", encoding="utf-8")
    assert read_comparisons(path).item_names == ("a", "b", "c")
    assert read_comparisons(path, items=["d", "c", "b", "a"]).item_names == ("d", "c", "b", "a")
    with pytest.raises(
        DataError, match=r"votes.csv, column 'a vs b': 'a' is not in the list of items"
    ):
        read_comparisons(path, items=["b", "c"])


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("user,a vs b\nu1,c\n", r"line 2, column 'a vs b': 'c' does not say which of the two items"),
        ("user,right vs left\nu1,right\n", "rename the item"),
        ("user,a vs b\nu1,\n", "no answers"),
        ("user,a vs b,tie\nu1,a,1\n", "column 'tie' marks ties, and so may other columns"),
        ("who,a vs b\nu1,a\n", "no column 'user'"),
        (ARENA + "u5,gpt,phi,1,1,0,0\n", "line 6, column .*: one of the columns .* are '1', '1', '0', '0'"),
        (ARENA + "u5,gpt,phi,0,0,0,0\n", "must be 1 and the others 0"),
        (ARENA + "u5,gpt,phi,2,0,0,0\n", "they are '2', '0', '0', '0'"),
        (ARENA + "u5,gpt,gpt,1,0,0,0\n", "compared with itself"),
    ],
)  # fmt: skip
def test_what_says_nothing_or_two_things_is_refused(tmp_path, text, words):
    path = tmp_path / "votes.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(DataError, match=words):
        read_comparisons(path)


GAMES = "home,away,hs,as,res,draw\nOslo,Rome,2,1,H,0\nRome,Bonn,0,0,,1\nBonn,Oslo,3,10,A,\n"
PLAYED = [("Oslo", "Rome", False), ("Rome", "Bonn", True), ("Oslo", "Bonn", False)]


@pytest.mark.parametrize(
    "options",
    [{"outcome": "res", "tie": "draw"}, {"left_score": "hs", "right_score": "as", "tie": None}],
)
def test_games_are_read_by_outcome_or_by_score(tmp_path, options):
    path = tmp_path / "games.csv"
    path.write_text(GAMES, encoding="utf-8")
    table = read_comparisons(path, user=None, left="home", right="away", **options)
    names = table.item_names
    rows = zip(table.winners, table.losers, table.tied.tolist(), strict=True)
    assert [(names[w], names[v], tied) for w, v, tied in rows] == PLAYED


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (",,1", ",A,1", "line 3, column 'res': 'A' is no tie, and another column marks one"),
        (",,1", ",,0", "line 3, column 'res': the outcome is missing.*name the column that marks ties by tie "),
        ("H,0", "H,2", "line 2, column 'draw': '2' does not say"),
    ],
)  # fmt: skip
def test_an_outcome_and_a_mark_of_ties_must_agree(tmp_path, old, new, words):
    path = tmp_path / "games.csv"
    path.write_text(GAMES.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DataError, match=words):
        read_comparisons(path, user=None, left="home", right="away", outcome="res", tie="draw")


def test_an_index_is_read_by_the_numbers_of_its_columns(tmp_path):
    path = tmp_path / "safe.csv"
    rows = "user,response_0,response_1,better_response_id\nu,x,y,1\nv,x,z,0\n"
    path.write_text(rows, encoding="utf-8")
    sides = {"left": "response_0", "right": "response_1", "outcome": "better_response_id"}
    table = read_comparisons(path, **sides)
    assert rows_of(table) == [("u", "y", "x", 0), ("v", "x", "z", 0)]
    swapped = read_comparisons(path, **sides | {"left": "response_1", "right": "response_0"})
    assert rows_of(swapped) == rows_of(table)
    assert "0 for 'response_0', right, B, L or 1 for 'response_1'" in table.reading[0]
