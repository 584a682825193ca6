"""Pictures of what is revealed of one person."""

from __future__ import annotations

import pytest

from privrank_jax.plotting.revealed import Guess, best_guesses, changed_leaderboards

FOUND = [Guess("first", 0.5, 0.6, 0.7, 1.0), Guess("all", 0.1, 0.2, 0.3, 0.9)]


def test_leaderboards_are_drawn_on_one_scale():
    figure = changed_leaderboards(
        ["a", "b"], [2, 0], [-5.0, 1.5], epsilon=0.5, guarantee_text="words", title="one"
    )
    left, right = figure.axes
    assert [bar.get_width() for bar in left.patches] == [2, 0]
    assert [bar.get_width() for bar in right.patches] == [-5.0, 1.5]
    assert left.get_xlim() == right.get_xlim()
    assert left.get_xlim()[0] < -5
    assert [text.get_text() for text in left.texts] == ["+2", "0"]
    assert left.patches[0].get_y() > left.patches[1].get_y()  # the first is on top
    with pytest.raises(ValueError, match="one change"):
        changed_leaderboards(["a"], [1, 2], [1], epsilon=1)


def test_guesses_are_drawn_in_percent():
    figure = best_guesses(FOUND, epsilon=2.0, title="two")
    (axis,) = figure.axes
    points = {line.get_label(): line.get_xydata().tolist() for line in axis.get_lines()}
    assert points == {
        "blind guess": [[50, 1], [10, 0]],
        "best guess, private (ε = 2)": [[60, 1], [20, 0]],
        "the promise: never beyond": [[70, 1], [30, 0]],
        "exact results": [[100, 1], [90, 0]],
    }
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["first", "all"]
    with pytest.raises(ValueError, match="no guesses"):
        best_guesses([], epsilon=1)
