"""Comparisons in several columns of a row: known by the header alone, refused where it may mean two things."""

from __future__ import annotations

import pytest

from privrank_jax.data import DataError
from privrank_jax.data.shapes import Battle, OneHot, Pairs, one_hot_of, pairs_of, shape_of

ARENA = ["id", "model_a", "model_b", "winner_model_a", "winner_model_b", "winner_tie"]


def test_pairs_are_known_by_their_columns():
    header = ["user", "Oslo vs Rome", "Rome  VS.  São Paulo", "x_versus_y", "canvas", "vs b"]
    found = pairs_of("f", header)
    assert found is not None
    assert found.columns == (
        ("Oslo vs Rome", "Oslo", "Rome"),
        ("Rome  VS.  São Paulo", "Rome", "São Paulo"),
        ("x_versus_y", "x", "y"),
    )
    assert "'Oslo vs Rome' hold the preferred one" in found.reading
    assert pairs_of("f", ["user", "winner", "loser"]) is None


def test_one_hot_columns_are_known_by_usual_names():
    both_bad = [*ARENA, "winner_tie_bothbad"]
    assert one_hot_of(ARENA) == OneHot("model_a", "model_b", tuple(ARENA[3:]))
    assert one_hot_of(both_bad) == OneHot("model_a", "model_b", tuple(both_bad[3:]))
    for header in (ARENA[:4], [*ARENA, "winner_model_a"], ARENA[3:], [*ARENA, "left", "right"]):
        assert one_hot_of(header) is None


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ([*ARENA, "a vs b"], "it is unclear which columns say who was preferred"),
        ([*ARENA, "winner"], "it is unclear which columns"),
        (["a vs b vs c"], "'a vs b vs c' compares"),
        (["a vs A "], "name it by two different items"),
        (["a vs b", "A vs c"], "item named twice"),
    ],
)
def test_what_may_mean_two_things_is_refused(header, words):
    with pytest.raises(DataError, match=words):
        shape_of("f", header, "winner", "loser")


def test_a_header_of_one_shape_is_that_shape():
    battle = ["model_a", "model_b", "winner"]
    assert shape_of("f", battle, "winner", "loser") == Battle(*battle)
    assert isinstance(shape_of("f", ARENA, "winner", "loser"), OneHot)
    assert isinstance(shape_of("f", ["a vs b"], "winner", "loser"), Pairs)
    assert shape_of("f", ["Winner", "loser", "a vs b"], "winner", "loser") is None
    assert shape_of("f", ["user", "a", "b"], "winner", "loser") is None
