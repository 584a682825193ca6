"""Marks in rows: the first name on top, and no entry in the legend for what is not there."""

from __future__ import annotations

from privrank_jax.plotting.frame import new_figure
from privrank_jax.plotting.marks import Marks, draw_marks


def test_marks_stand_in_the_rows_of_their_names():
    axis = new_figure(3, 2).subplots()
    kinds = (
        Marks("here", [(0.5, 0), (2.0, 1)], "o", "black", {"markersize": 4}),
        Marks("nowhere", [], "x", "black", {}),
    )
    draw_marks(axis, ["top", "below"], [(0, 1), (1, 2)], kinds)
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["top", "below"]
    assert axis.get_lines()[0].get_xydata().tolist() == [[0.5, 1.0], [2.0, 0.0]]
    assert axis.get_legend_handles_labels()[1] == ["here"]
