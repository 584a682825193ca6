"""Plans, before there are data: errors by the number of users, and what methods are proven and expected to cost."""

from __future__ import annotations

import math
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
from privrank_jax.plotting.marks import Marks, draw_marks

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def planned_costs(
    rows: Sequence[Row],
    *,
    most: float,
    least: float = 1e-3,
    target: float | None = None,
    label: str = "method",
    x_label: str = "cost above the best order, pairs per user",
    guarantee_text: str = "",
    title: str | None = None,
) -> Figure:
    """Draw the proven cost of each method as a bar, the expected one as a dot, and what was asked as a vertical line.

    Args:
        rows: one per method, with the columns ``proven_cost`` and ``expected_cost`` (None where it is unknown).
        most: the largest cost that there is; a bound of at least as much says nothing and is drawn as a triangle there.
        least: cost below which an expected one is not known exactly; it is drawn as a triangle there.
        target: cost that was asked for. Default: none was.
        label: column with the name of each method.
        x_label: what the cost is, with its unit.
        guarantee_text: what is protected, and what the numbers mean, written below the figure.
        title: title of the figure.

    Returns:
        A figure with a logarithmic axis, the first row on top; see :func:`save`.

    Raises:
        ValueError: no rows, or a column is missing.
        ImportError: matplotlib is not installed.

    >>> rows = [{"method": "borda", "proven_cost": 3.0, "expected_cost": 0.2}]
    >>> planned_costs(rows, most=10.0, target=0.5).axes[0].get_xscale()
    'log'
    """
    if not rows:
        raise ValueError("no methods to draw")
    for row in rows:
        for column in (label, "proven_cost", "expected_cost"):
            if column not in row:
                raise ValueError(f"no column {column!r} in these rows; they have {list(row)}")
    proven = {place: row["proven_cost"] for place, row in enumerate(rows)}
    known = {place: row["expected_cost"] for place, row in enumerate(rows)}
    expected = {place: cost for place, cost in known.items() if cost is not None}
    figure = new_figure(6.4, 1.6 + 0.3 * max(len(rows), 2))
    axis = figure.subplots()
    bar = {"markersize": 13, "markeredgewidth": 2}
    marks = (
        Marks("proven", _points(proven, 0, most), "|", "black", bar),
        Marks("nothing is proven", _points(proven, most, math.inf, at=most), ">", "black", {"fillstyle": "none"}),
        Marks("expected", _points(expected, least, math.inf), "o", PALETTE[0], {"markersize": 5}),
        Marks(f"expected, below {least:g}", _points(expected, -math.inf, least, at=least), "<", PALETTE[0], {}),
    )  # fmt: skip
    ends = {place: min(cost, most) for place, cost in proven.items()}
    lines = [(max(expected.get(place, end), least), end) for place, end in ends.items()]
    draw_marks(axis, [str(row[label]) for row in rows], lines, marks)
    if target is not None:
        # Below the marks, as a plan that was asked for by what is proven meets one of them.
        look = {"color": PALETTE[1], "linestyle": "--", "linewidth": 1.4, "zorder": 1}
        axis.axvline(target, label="asked for", **look)
    drawn = [low for low, _ in lines] + ([] if target is None else [target])
    axis.set_xlim(min(drawn) / 1.4, 1.1 * most)
    style(axis, True, False)
    axis.set_xlabel(x_label)
    legend_below(figure, ncols=3, handletextpad=0.6)
    return finished(figure, title, guarantee_text)


def planned_errors(
    rows: Sequence[Row],
    lines: Mapping[str, str],
    plan: tuple[float, float],
    *,
    target: float | None = None,
    x_label: str = "users",
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
        x_label: what the users are.
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
    axis.set_xlabel(x_label)
    axis.set_ylabel(y_label)
    legend_below(figure, ncols=2, handlelength=3.2)
    return finished(figure, title, guarantee_text)


def _points(
    costs: dict[int, float], low: float, high: float, at: float | None = None
) -> list[tuple[float, int]]:
    """The costs from ``low`` to below ``high``, each in its row; all at one place where that is given."""
    return [
        (cost if at is None else at, place) for place, cost in costs.items() if low <= cost < high
    ]
