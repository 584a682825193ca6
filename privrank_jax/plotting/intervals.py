"""A ranking with its intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from privrank_jax.plotting.frame import PALETTE, caption, new_figure, style

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def ranking_intervals(
    names: Sequence[str],
    values: Sequence[float],
    lower: Sequence[float],
    upper: Sequence[float],
    guarantee_text: str = "",
    *,
    x_label: str = "score (log-odds)",
    title: str | None = None,
) -> Figure:
    """Draw a ranking as dots with intervals, the best item on top.

    Args:
        names: item names.
        values: scores, high = best.
        lower: lower ends of the intervals; NaN draws no interval.
        upper: upper ends.
        guarantee_text: the privacy guarantee in words, written below the picture.
        x_label: what the score is, with its unit.
        title: title of the figure.

    Returns:
        A figure; see :func:`save`.

    Raises:
        ValueError: lengths differ, there are no items, or an interval does not contain its value.
        ImportError: matplotlib is not installed.
    """
    _check_intervals(names, values, lower, upper)
    order = sorted(range(len(names)), key=lambda item: values[item])
    figure = new_figure(6.0, 0.9 + 0.28 * max(len(names), 3))
    axis = figure.subplots()
    for height, item in enumerate(order):
        if math.isfinite(lower[item]) and math.isfinite(upper[item]):
            # Above the dot, so that a short interval stays visible.
            axis.hlines(height, lower[item], upper[item], color=PALETTE[0], linewidth=2.2, zorder=3)
        axis.plot(
            values[item], height, "o", color=PALETTE[0], markersize=6.5, markerfacecolor="white"
        )
    places = range(len(names), 0, -1)
    labels = [f"{place}. {names[item]}" for place, item in zip(places, order, strict=True)]
    axis.set_yticks(range(len(names)), labels)
    axis.set_ylim(-0.7, len(names) - 0.3)
    axis.set_ylabel("rank and item")
    axis.set_xlabel(x_label)
    style(axis, False, False)
    if title:
        axis.set_title(title, fontsize=11)
    caption(figure, guarantee_text)
    return figure


def _check_intervals(
    names: Sequence[str], values: Sequence[float], lower: Sequence[float], upper: Sequence[float]
) -> None:
    lengths = {len(names), len(values), len(lower), len(upper)}
    if len(lengths) > 1 or not len(names):
        raise ValueError(
            f"names, values, lower and upper need one entry per item, got {len(names)}, "
            f"{len(values)}, {len(lower)} and {len(upper)}"
        )
    for name, value, low, high in zip(names, values, lower, upper, strict=True):
        if low > value or value > high:
            raise ValueError(f"the interval [{low}, {high}] of {name!r} does not hold {value}")
