"""Two items and an outcome: recognized by usual names, read by a fixed list of words, else refused."""

from __future__ import annotations

import re

import numpy as np
import pytest

from privrank_jax.data.errors import DataError
from privrank_jax.data.shapes import (
    LEFT,
    RIGHT,
    TIE,
    Battle,
    battle_of,
    check_outcomes,
    shape_of,
)
from tests.data.readers import read_comparisons
from tests.parquet import as_parquet

ITEMS = "columns 'model_b' and 'model_a' look like the two items of a comparison, and 'winner' like its outcome"
SIDES = (
    "columns 'left model' and 'right model' look like the two items of a comparison, and 'verdict'"
)


@pytest.mark.parametrize(
    ("header", "winner", "loser", "message"),
    [
        ("model_a,model_b,winner", "winner", "model_b", ITEMS),
        ("model_a,model_b,winner_model_a", "model_a", "model_b", "'winner_model_a' looks like the outcome"),
        ("left model,right model,verdict", "verdict", "left model", SIDES),
        ("model_a,model_b,said", "said", "model_b", "'model_a' is the name of a column"),
        ("Model_A,other,said", "said", "other", "'model_a' is the name of a column"),
        ("home,away,Result", None, None, "If 'Result' says which of two items is preferred"),
        ("dish a,dish b,result", None, None, "If 'dish a' and 'dish b' are the items and 'result' says which"),
    ],
)  # fmt: skip
def test_battles_are_refused_not_misread(tmp_path, header, winner, loser, message):
    path = tmp_path / "votes.csv"
    path.write_text(f"{header}\ngpt,phi,model_a\nphi,llama,tie\n")
    for file in (path, as_parquet(path)):
        with pytest.raises(DataError, match=message) as error:
            read_comparisons(file, user=None, winner=winner, loser=loser)
        assert re.search(r"(by|say) left.* right.* outcome", str(error.value))


@pytest.mark.parametrize(
    ("header", "winner", "loser"),
    [
        (["winner", "loser", "result"], "winner", "loser"),
        (["user", "liked", "other"], "liked", "other"),
        (["better", "worse", "weight_a", "weight_b"], "better", "worse"),
        (["preferred", "rejected"], "preferred", "rejected"),
    ],
)
def test_columns_of_items_are_not_taken_for_outcomes(header, winner, loser):
    check_outcomes("votes.csv", [c for c in header if c not in (winner, loser)], winner, loser)


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("judge,model_a,model_b,winner,turn", ("model_a", "model_b", "winner")),
        ("Left,Right ,Winner", ("Left", "Right ", "Winner")),
        ("user,item_1,item_2,outcome", ("item_1", "item_2", "outcome")),
        ("option a,option b,preference", ("option a", "option b", "preference")),
        ("home,away,result", None),  # whose side comes first must be said
        ("left,right,winner,loser", None),
        ("left,right,winner,outcome", None),
        ("left,right,model_a,model_b,winner", None),
        ("left,left,right,winner", None),
        ("user,item_1,item_2,report", None),
    ],
)
def test_battles_are_known_by_usual_names_alone(header, columns):
    assert battle_of(header.split(",")) == columns


def test_named_columns_are_completed_by_usual_ones():
    header = ["left", "right", "said", "winner"]
    usual = ("winner", "loser")
    assert shape_of("f", header, *usual, outcome="said") == ("left", "right", "said")
    named = {"left": "home", "right": "away", "outcome": "r"}
    assert shape_of("f", ["home", "away", "r"], *usual, **named) == ("home", "away", "r")
    with pytest.raises(DataError, match="name the columns of the two items by left"):
        shape_of("f", ["home", "away", "r"], *usual, left="home")


BATTLE = Battle("model_a", "model_b", "winner")


def read(*cells, battle=BATTLE):
    """Outcomes of rows of a cell and two items each."""
    columns = dict(zip((battle.outcome, battle.left, battle.right), map(list, zip(*cells))))
    named = {"left": battle.left, "right": battle.right, "outcome": battle.outcome}
    table = read_comparisons(columns, user=None, **named)
    names = np.array(table.item_names)
    won = np.where(names[table.winners] == columns[battle.left], LEFT, RIGHT)
    return np.where(table.tied, TIE, won).tolist()


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("a", "A", "left", " Left ", "model_a", "MODEL A", "1", "1.0", "gpt"), LEFT),
        (("W", "win", "Won", "1-0"), LEFT),
        (("b", "B", "right", "model_b", "Model B", "0", "0.0", "phi"), RIGHT),
        (("L", "loss", "lost", "0-1"), RIGHT),
        (("tie", "Tie", "draw", "0.5", "tie (bothbad)", "both bad", "both_bad", "bothbad"), TIE),
        (("D", "1/2-1/2", "½-½"), TIE),
    ],
)
def test_words_for_outcomes(cells, expected):
    assert read(*((cell, "gpt", "phi") for cell in cells)) == [expected] * len(cells)


@pytest.mark.parametrize(
    ("left", "right", "words"),
    [
        ("response_0", "response_1", {"0": LEFT, "1": RIGHT, "0.0": LEFT, "1.0": RIGHT}),
        ("Response 0 source", "Response 1 source", {"0": LEFT, "1": RIGHT, "B": RIGHT}),
        ("answer_1", "answer_0", {"0": RIGHT, "1": LEFT}),
        ("item_1", "item_2", {"1": LEFT, "2": RIGHT, "0": RIGHT, "2.0": RIGHT}),
        ("item_2", "item_1", {"1": LEFT, "0": RIGHT}),
        ("gpt_0", "phi_1", {"0": LEFT, "1": RIGHT}),
        ("v0_model_0", "v1_model_1", {"0": LEFT, "1": RIGHT}),
        ("v0_model_1", "v1_model_0", {"1": LEFT, "0": RIGHT}),
        ("gpt_3", "gpt_4", {"1": LEFT, "0": RIGHT}),
        ("HomeTeam", "AwayTeam", {"H": LEFT, "A": RIGHT, "D": TIE, "1": LEFT, "X": TIE, "away": RIGHT}),
        ("home", "away", {"h": LEFT, "a": RIGHT, "home": LEFT, "0": RIGHT}),
    ],
)  # fmt: skip
def test_words_by_the_names_of_columns(left, right, words):
    battle = Battle(left, right, "won")
    found = read(*((word, "gpt", "phi") for word in words), battle=battle)
    assert found == list(words.values())
    assert ("H, W" in battle.reading) == ("H" in words or "h" in words)
    if words.get("0") == LEFT:
        assert f" or 0 for {left!r}, right, B, L or 1 for {right!r};" in battle.reading


def test_letters_of_games_are_items_where_these_stand_in_the_row():
    assert read(("D", "D", "E"), ("W", "E", "W")) == [LEFT, RIGHT]
    with pytest.raises(DataError, match=r"outcome 'D'.*also the name"):
        read(("D", "D", "E"), ("W", "E", "W"), ("D", "E", "F"))


@pytest.mark.parametrize(
    "cell", ["2", "-1", "GPT", "yi", "skip", "winner", "ignore", "both", "0.25"]
)
def test_other_words_are_no_outcomes(cell):
    with pytest.raises(DataError, match="does not say which of the two items is preferred"):
        read((cell, "gpt", "phi"))


@pytest.mark.parametrize("cell", [None, "", " "])
def test_a_blank_outcome_is_no_tie(cell):
    with pytest.raises(DataError, match="the outcome is missing"):
        read((cell, "gpt", "phi"))


def test_items_named_like_outcomes_are_never_guessed():
    assert read(("A", "A", "B")) == [LEFT]  # whichever is meant
    for row in (("A", "B", "A"), ("tie", "tie", "B"), ("1", "2", "1")):
        with pytest.raises(DataError, match="rename the item"):
            read(row)
    with pytest.raises(DataError, match=r"outcome 'a'.*also the name"):
        read(("A", "A", "B"), ("a", "C", "D"))
