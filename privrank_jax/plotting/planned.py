"""Plans, before there are data: errors by the number of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from privrank_jax.plotting.frame import (
    LINES,
    PALETTE,
    Row,
    check_rows,
    finished,
    legend_below,
    new_figure,
    style,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def planned_errors(
    rows: Sequence[Row],
    lines: Mapping[str, str],
    plan: tuple[float, float],
    *,
    target: float | None = None,
    y_label: str = "largest error of a score",
    guarantee_text: str = "",
    title: str | None = None,
) -> Figure:
    """Draw errors against the number of users, a plan as a star, and what was asked as a horizontal line.

    Args:
        rows: one per number of users, with the columns ``users`` and those of ``lines``.
        lines: from columns to what they hold.
        plan: number of users, and the error that the target is about.
        target: error that was asked for. Default: none was.
        y_label: what the error is.
        guarantee_text: what is protected, written below the figure.
        title: title of the figure.

    Returns:
        A figure with logarithmic axes; see :func:`save`.

    Raises:
        ValueError: no rows, or a column is missing.
        ImportError: matplotlib is not installed.

    >>> rows = [{"users": 100, "error": 0.2}, {"users": 400, "error": 0.1}]
    >>> planned_errors(rows, {"error": "expected"}, (400, 0.1), target=0.15).axes[0].get_yscale()
    'log'
    """
    for column in ("users", *lines):
        check_rows(rows, column, ("users",), ())
    figure = new_figure(6.4, 3.9)
    axis = figure.subplots()
    at = [row["users"] for row in rows]
    for index, (column, label) in enumerate(lines.items()):
        errors = [row[column] for row in rows]
        axis.plot(at, errors, color=PALETTE[index], linestyle=LINES[index], label=label)
    if target is not None:
        axis.axhline(target, color="black", linewidth=1.0, linestyle=":", label="asked for")
    axis.plot(*plan, "*", color="black", markersize=12, label="this plan")
    style(axis, True, True)
    axis.set_xlabel("users")
    axis.set_ylabel(y_label)
    legend_below(figure, ncols=2, handlelength=3.2)
    return finished(figure, title, guarantee_text)
