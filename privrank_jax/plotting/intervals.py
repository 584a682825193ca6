"""A ranking with its intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from privrank_jax.plotting.frame import PALETTE, finished, new_figure, style
from privrank_jax.plotting.words import label

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_ALL = 12  # ranks that all have a tick


def ranking_intervals(
    names: Sequence[str],
    values: Sequence[float],
    lower: Sequence[float],
    upper: Sequence[float],
    guarantee_text: str = "",
    *,
    x_label: str = "score (log-odds)",
    title: str | None = None,
    best: Sequence[int] | None = None,
    worst: Sequence[int] | None = None,
    ranks: Sequence[int] | None = None,
) -> Figure:
    """Draw a ranking as dots with intervals, the best item on top.

    Args:
        names: item names; beside the axis they are cut after 32 characters.
        values: scores, high = best.
        lower, upper: ends of the intervals; NaN draws none.
        guarantee_text, title: written below and above the picture.
        x_label: what the score is, with its unit; ``"rank"`` for ranks, 1 = first.
        best, worst: ranks that each item may have, 1 = first, for a second panel. Default: no such panel.
        ranks: of the items, given in the order to show; tied ones share one. Default: sorted by ``values``.

    Returns:
        A figure; see :func:`save`.

    Raises:
        ValueError: lengths differ, there are no items, or an interval does not contain its value.
    """
    _check_lengths(names, values, lower, upper)
    for name, value, low, high in zip(names, values, lower, upper, strict=True):
        if low > value or value > high:
            raise ValueError(f"the interval [{low}, {high}] of {name!r} does not hold {value}")
    order = list(range(len(names)))[::-1]
    if ranks is None:
        order.sort(key=lambda item: values[item])
        ranks = [len(names) - order.index(item) for item in range(len(names))]
    _check_lengths(names, ranks)
    figure = new_figure(6.0 if best is None else 8.0, 0.9 + 0.28 * max(len(names), 3))
    if best is None or worst is None:
        axes = [figure.subplots()]
    else:
        _check_lengths(names, best, worst)
        axes = list(figure.subplots(1, 2, sharey=True, width_ratios=(3, 2)))
        _dots(axes[1], order, ranks, best, worst)
        _of_ranks(axes[1], len(names))
        axes[1].set_xlabel("rank")
        style(axes[1], False, False)
    _dots(axes[0], order, values, lower, upper)
    if x_label == "rank":
        _of_ranks(axes[0], len(names))
    labels = [label(names[item], f"{ranks[item]}. ") for item in order]
    axes[0].set_yticks(range(len(names)), labels)
    axes[0].set_ylim(-0.7, len(names) - 0.3)
    axes[0].set_ylabel("rank and item")
    axes[0].set_xlabel(x_label)
    style(axes[0], False, False)
    return finished(figure, title, guarantee_text)


def _dots(axis: Axes, order: Sequence[int], *columns: Sequence[float]) -> None:
    """A dot for each item, from the bottom up, and a line where its interval is finite; values and both ends."""
    values, lower, upper = columns
    for height, item in enumerate(order):
        if math.isfinite(lower[item]) and math.isfinite(upper[item]):
            # Above the dot, so that a short interval stays visible.
            axis.hlines(height, lower[item], upper[item], color=PALETTE[0], linewidth=2.2, zorder=3)
        look: Any = {"color": PALETTE[0], "markersize": 6.5, "markerfacecolor": "white"}
        axis.plot(values[item], height, "o", **look)


def _of_ranks(axis: Axes, number: int) -> None:
    """An axis of ranks: whole ones, all within."""
    axis.set_xlim(0.5, number + 0.5)
    axis.set_xticks(_places(number))


def _places(number: int) -> list[int]:
    """Ranks to mark: each of a dozen, otherwise the first and at most eight multiples of a round number.

    >>> _places(3), _places(17), _places(100)
    ([1, 2, 3], [1, 5, 10, 15], [1, 20, 40, 60, 80, 100])
    """
    if number <= _ALL:
        return list(range(1, number + 1))
    step = next(s * 10**k for k in range(1, 10) for s in (0.5, 1, 2) if number <= 8 * s * 10**k)
    return [1, *range(int(step), number + 1, int(step))]


def _check_lengths(names: Sequence[str], *columns: Sequence[float]) -> None:
    lengths = [len(names), *map(len, columns)]
    if len(set(lengths)) > 1 or not len(names):
        listed = f"{', '.join(map(str, lengths[:-1]))} and {lengths[-1]}"
        raise ValueError(f"names, values and ends need one entry per item, got {listed}")
