"""A ranking with its intervals."""

from __future__ import annotations

import math

import pytest

from privrank_jax import plotting


def test_ranking_has_the_best_on_top_and_the_guarantee_below():
    figure = plotting.ranking_intervals(
        ["low", "high", "middle"],
        [-1.0, 1.0, 0.0],
        [-1.5, 0.5, math.nan],
        [-0.5, 1.5, math.nan],
        "ε = 1 for each user",
        title="Private ranking",
    )
    (axis,) = figure.axes
    assert [t.get_text() for t in axis.get_yticklabels()] == ["3. low", "2. middle", "1. high"]
    assert [text.get_text() for text in figure.texts] == ["Private ranking", "ε = 1 for each user"]
    assert len(axis.get_lines()) == 3
    assert len(axis.collections) == 2  # no interval where its ends are NaN
    for scores, low, word in (([1.0, 2.0], [0.0], "one entry"), ([1.0], [2.0], "not hold")):
        with pytest.raises(ValueError, match=word):
            plotting.ranking_intervals(["a"], scores, low, [3.0])


def test_rank_intervals_have_a_panel_and_a_given_order_stays():
    figure = plotting.ranking_intervals(
        ["a", "b"], [1.0, 2.0], [0.0, 1.0], [2.0, 3.0], best=[1, 1], worst=[2, 2], ranks=[1, 2]
    )
    scores, ranks = figure.axes
    assert [t.get_text() for t in scores.get_yticklabels()] == ["2. b", "1. a"]
    assert [line.get_xdata()[0] for line in ranks.get_lines()] == [2, 1]
    assert len(ranks.collections) == 2


@pytest.mark.parametrize(
    ("items", "ticks"),
    [(1, [1]), (12, [*range(1, 13)]), (13, [1, 5, 10]), (41, [1, 10, 20, 30, 40])],
)
def test_ranks_are_marked_from_1_on(items, ticks):
    ends = [1] * items, [items] * items
    ranks = [*range(1, items + 1)]
    figure = plotting.ranking_intervals(["x"] * items, ranks, *ends, x_label="rank", ranks=ranks)
    assert figure.axes[0].get_xticks().tolist() == ticks
