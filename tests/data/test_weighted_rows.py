"""Weights of rows: each comparison of a row has that of the row."""

from __future__ import annotations

import pytest

from privrank_jax.data import DataError
from tests.data.readers import read_comparisons

WINNERS = "user,winner,loser,p\nu,a,b,0.5\nv,b,c,2\n"
BATTLES = "user,model_a,model_b,winner,p\nu,a,b,tie,0.5\nv,b,c,model_b,2\n"
PAIRS = "user,a vs b,b vs c,p\nu,a,c,0.5\nv,tie,,2\n"
ONE_HOT = "user,model_a,model_b,winner_model_a,winner_model_b,p\nu,a,b,1,0,0.5\nv,a,c,0,1,2\n"
GOALS = "user,left,right,home,away,p\nu,a,b,2,1,0.5\nv,b,c,0,0,2\n"
WINS = "user,left,right,home,away,p\nu,a,b,2,1,0.5\nv,b,c,0,1,2\n"
SCORED = {"left_score": "home", "right_score": "away"}
TALLIED = {"left_wins": "home", "right_wins": "away"}


@pytest.mark.parametrize(
    ("text", "options", "weights"),
    [
        (WINNERS, {}, [0.5, 2]),
        (BATTLES, {}, [0.5, 2]),
        (PAIRS, {}, [0.5, 0.5, 2]),
        (ONE_HOT, {}, [0.5, 2]),
        (GOALS, SCORED, [0.5, 2]),
        (WINS, TALLIED, [0.5, 0.5, 0.5, 2]),
    ],
)
@pytest.mark.parametrize("user", ["user", None])
def test_each_comparison_has_the_weight_of_its_row(tmp_path, text, options, weights, user):
    path = tmp_path / "votes.csv"
    path.write_text(text)
    if user is None:
        options = {**options, "ignore": ["user"]}
    table = read_comparisons(path, weight="p", user=user, **options)
    assert table.weights is not None
    assert table.weights.tolist() == weights
    assert "each row has the weight in column 'p'" in table.notes
    assert read_comparisons(path, user=user, **options).weights is None


def test_rows_that_count_have_their_weight_each_time():
    frame = {"winner": list("aab"), "loser": list("bcc"), "n": [2, 0, 1], "p": [0.5, 1, 3]}
    table = read_comparisons(frame, user=None, count="n", weight="p")
    assert table.weights is not None
    assert table.weights.tolist() == [0.5, 0.5, 3]


def test_weights_that_are_none(tmp_path):
    path = tmp_path / "votes.csv"
    path.write_text(WINNERS.replace("0.5", "half"))
    with pytest.raises(DataError, match="line 2, column 'p': 'half' is no weight"):
        read_comparisons(path, weight="p")
    with pytest.raises(DataError, match="no column 'q'"):
        read_comparisons(path, weight="q")
