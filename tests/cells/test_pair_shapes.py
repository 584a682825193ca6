"""Comparisons in several columns of a row: known by the header alone, refused where it may mean two things."""

from __future__ import annotations

import pytest

from privrank_jax._cells.outcomes import Battle
from privrank_jax._cells.pair_shapes import OneHot, Pair, Pairs, one_hot_of, pairs_of, shape_of
from privrank_jax.datasets import DataError

ARENA = ["id", "model_a", "model_b", "winner_model_a", "winner_model_b", "winner_tie"]


def test_pairs_are_known_by_their_columns():
    found = pairs_of(
        "f", ["user", "Oslo vs Rome", "Rome  VS.  São Paulo", "x_versus_y", "canvas", "vs b"]
    )
    assert found == Pairs(
        (
            Pair("Oslo vs Rome", "Oslo", "Rome"),
            Pair("Rome  VS.  São Paulo", "Rome", "São Paulo"),
            Pair("x_versus_y", "x", "y"),
        ),
        ("Oslo", "Rome", "São Paulo", "x", "y"),
    )
    assert "'Oslo vs Rome' hold the preferred one" in found.reading
    assert pairs_of("f", ["user", "winner", "loser"]) is None


def test_one_hot_columns_are_known_by_usual_names():
    both_bad = [*ARENA, "winner_tie_bothbad"]
    assert one_hot_of(ARENA) == OneHot("model_a", "model_b", *ARENA[3:5], ("winner_tie",))
    assert one_hot_of(both_bad) == OneHot("model_a", "model_b", *ARENA[3:5], tuple(both_bad[5:]))
    assert one_hot_of(ARENA[:-1]).ties == ()
    for header in (ARENA[:4], [*ARENA, "winner_model_a"], ARENA[3:], [*ARENA, "left", "right"]):
        assert one_hot_of(header) is None


def test_a_header_of_one_shape_is_that_shape():
    battle = ["model_a", "model_b", "winner"]
    assert shape_of("f", battle) == Battle(*battle)
    assert isinstance(shape_of("f", ARENA), OneHot)
    assert isinstance(shape_of("f", ["a vs b"]), Pairs)
    assert shape_of("f", ["Winner", "loser", "a vs b"]) is None
    assert shape_of("f", ["user", "a", "b"]) is None


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ([*ARENA, "a vs b"], "it is unclear which columns say who was preferred"),
        ([*ARENA, "winner"], "it is unclear which columns"),
        (["a vs b vs c"], "'a vs b vs c' compares"),
        (["a vs A "], "compares an item with itself"),
        (["a vs b", "A vs c"], "item named twice"),
    ],
)
def test_what_may_mean_two_things_is_refused(header, words):
    with pytest.raises(DataError, match=words):
        shape_of("f", header)
