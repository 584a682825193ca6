"""Marks in rows, one row for each of several things with names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from privrank_jax.plotting.words import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Marks(NamedTuple):
    """Marks of one kind: its entry in the legend, (value, row from the top) of each, and how they look."""

    label: str
    points: Sequence[tuple[float, int]]
    marker: str
    color: str
    look: Mapping[str, Any]


def draw_marks(
    axis: Axes, names: Sequence[str], lines: Sequence[tuple[float, float]], marks: Sequence[Marks]
) -> None:
    """Draw a thin line for each name, the first on top, and the marks; a kind without points is not in the legend."""
    top = len(names) - 1
    for place, (low, high) in enumerate(lines):
        axis.hlines(top - place, low, high, color="#BBBBBB", linewidth=1.2)
    for kind in marks:
        if kind.points:
            at, places = zip(*((value, top - place) for value, place in kind.points))
            look = {"linestyle": "", "color": kind.color, "clip_on": False, **kind.look}
            axis.plot(at, places, kind.marker, label=kind.label, **look)
    axis.set_yticks(range(top, -1, -1), [label(name) for name in names])
    axis.set_ylim(-0.7, top + 0.7)
