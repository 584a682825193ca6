"""Noise on the totals of three items, beside what one user can change, in the plane of totals that sum to 0."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import ArrayLike, Real

from privrank_jax.plotting.frame import PALETTE, finished, legend_below, new_figure, panel_grid
from privrank_jax.plotting.words import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_MOST_DRAWN = 4000
_BALL = "shape of the noise"
_SIDE = 3.2  # inches of a panel
_PLANE = np.array([[0.0, -1 / math.sqrt(2), 1 / math.sqrt(2)], [2.0, -1.0, -1.0] / np.sqrt(6)])
"""Orthonormal; the first item lies on top, the second at the left."""

Points = Real[ArrayLike, "points 3"]


def noise_shapes(
    draws: Mapping[str, Points],
    changes: Points,
    *,
    balls: Mapping[str, Points] | None = None,
    columns: int = 3,
    guarantee_text: str = "",
    title: str | None = None,
) -> Figure:
    """Draw noise on the totals of three items as points, one panel for each kind, and what one user can change.

    What all totals gain together is left out: it changes no ranking. A panel shows up to 4,000 draws, and its title the
    root of the mean square of one total. All panels have the same scale, which leaves out a few draws far away.

    Args:
        draws: kind of noise to ``(N, 3)`` draws.
        changes: ``(K, 3)`` differences of the totals of neighbors; their convex hull is filled.
        balls: kind of noise to the corners of the body that it has the shape of, as large as one user's changes need;
            the outline of its shadow in the plane is drawn.
        columns: panels in a row.
        guarantee_text: the promise of the noise, written below the figure.
        title: title of the figure.

    Returns:
        A figure; see :func:`save`.

    Raises:
        ValueError: no draws, or draws of other than three totals.
        ImportError: matplotlib is not installed.

    >>> figure = noise_shapes({"some": np.eye(3)}, [[2, 0, -2], [0, 2, -2], [-2, 0, 2], [0, -2, 2]])
    >>> figure.axes[0].get_title()
    'some: standard deviation 0.471'
    """
    found = {name: _centered(points) for name, points in draws.items()}
    if not found or any(len(points) == 0 for points in found.values()):
        raise ValueError("no draws to show")
    outlines = {name: _hull(_centered(points)) for name, points in (balls or {}).items()}
    hull = _hull(_centered(changes))
    reach = max(float(np.quantile(np.abs(points @ _PLANE.T), 0.97)) for points in found.values())
    reach = max(reach, *(1.1 * float(np.abs(o).max()) for o in (hull, *outlines.values())))
    rows = math.ceil(len(found) / columns)
    figure = new_figure(_SIDE * min(columns, len(found)), _SIDE * rows + 0.5)
    for axis, (name, points) in zip(panel_grid(figure, len(found), columns), found.items()):
        flat = points[:_MOST_DRAWN] @ _PLANE.T
        axis.plot(*flat.T, ".", color=PALETTE[0], markersize=2, alpha=0.35, rasterized=True)
        axis.fill(
            *hull.T, facecolor=PALETTE[4], alpha=0.75, zorder=3, label="what one user can change"
        )
        if name in outlines:
            closed = np.concatenate([outlines[name], outlines[name][:1]])
            axis.plot(*closed.T, "--", color="black", linewidth=1.4, zorder=4, label=_BALL)
        _frame(axis, reach)
        size = math.sqrt(float(np.mean(points**2)))
        axis.set_title(f"{literal(name)}: standard deviation {size:.3g}", fontsize=10)
    legend_below(figure, *figure.axes[0].get_legend_handles_labels(), ncols=2)
    return finished(figure, title, guarantee_text)


def _centered(points: Points) -> np.ndarray:
    found = np.asarray(points, float)
    if found.ndim != 2 or found.shape[1] != 3:
        raise ValueError(f"noise on three totals has shape (N, 3), got {found.shape}")
    return found - found.mean(axis=1, keepdims=True)


def _hull(points: np.ndarray) -> np.ndarray:
    """Corners of the convex hull in the plane, in order."""
    from scipy.spatial import ConvexHull

    flat = points @ _PLANE.T
    return flat[ConvexHull(flat).vertices]


def _frame(axis: Axes, reach: float) -> None:
    """No ticks: the directions in which a total grows, instead."""
    axis.set(xlim=(-reach, reach), ylim=(-reach, reach), aspect="equal", xticks=[], yticks=[])
    axis.spines[:].set_visible(False)
    for number, direction in enumerate(np.eye(3) @ _PLANE.T, 1):
        end = 0.9 * reach * direction / np.linalg.norm(direction)
        axis.plot([0, end[0]], [0, end[1]], color="#999999", linewidth=0.8, zorder=0)
        axis.annotate(f"item {number}", 1.06 * end, ha="center", va="center", fontsize=8)
