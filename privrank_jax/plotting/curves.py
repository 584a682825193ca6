"""Curves of a metric against a parameter, with bands."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from privrank_jax.plotting.frame import (
    BAND,
    LINES,
    MARKERS,
    PALETTE,
    Row,
    caption,
    check_rows,
    distinct,
    heading,
    new_figure,
    panel_grid,
    panel_title,
    spelled,
    style,
    written,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def error_curves(
    rows: Sequence[Row],
    x: str,
    *,
    y: str = "mean",
    group: str | None = None,
    panel: str | None = None,
    x_label: str | None = None,
    y_label: str | Mapping[Any, str] | None = None,
    group_label: str | None = None,
    panel_titles: Mapping[Any, str] | None = None,
    guarantee_text: str = "",
    title: str | None = None,
    log_x: bool = False,
    log_y: bool = False,
    columns: int = 3,
) -> Figure:
    """Draw curves of a metric against a parameter, with bands of ± 2 standard errors.

    Args:
        rows: rows of a :class:`~privrank_jax.simulate.StudyResult`, selected so that (x, group,
            panel) names each of them. A point whose ``y`` is not finite leaves a gap; a row without
            ``standard_error``, or with NaN there, has no band.
        x: column on the horizontal axis, finite numbers.
        y: column on the vertical axis.
        group: column with one curve per value (None: one curve); ∞ is written as such.
        panel: column with one panel per value, for instance ``"metric"``.
        x_label: what x is, with its unit (default: its name).
        y_label: what y is, with its unit; a mapping from panel value if panels differ (default:
            the panel's value where panels are metrics, else ``y``).
        group_label: title of the legend (default: the name of the column).
        panel_titles: title by panel value (default: "column = value").
        guarantee_text: what is private and how, written below the picture.
        title: title of the figure.
        log_x: logarithmic horizontal axis.
        log_y: logarithmic vertical axes.
        columns: maximum number of panels side by side.

    Returns:
        A figure; see :func:`save`.

    Raises:
        ValueError: no rows, an unknown column, an x that is not a finite number, or two rows for
            one point.
        ImportError: matplotlib is not installed.
    """
    check_rows(rows, y, (x,), (group, panel))
    groups, panels = distinct(rows, group), distinct(rows, panel)
    wide = min(columns, len(panels))
    tall = math.ceil(len(panels) / wide)
    figure = new_figure(max(3.4 * wide, 4.2), 2.7 * tall + 0.5)
    for axis, value in zip(panel_grid(figure, len(panels), columns), panels, strict=True):
        inside = [row for row in rows if panel is None or row[panel] == value]
        for index, name in enumerate(groups):
            label = None if group is None else written(name)
            curve = [row for row in inside if group is None or row[group] == name]
            _draw_curve(axis, curve, x, y, index, label)
        axis.set_xlabel(x_label or spelled(x))
        axis.set_ylabel(_y_label(y_label, y, panel, value))
        if panel is not None and (panel != "metric" or panel_titles):
            axis.set_title(panel_title(panel, value, panel_titles), fontsize=10)
        style(axis, log_x, log_y)
    if group is not None:
        _legend(figure, rows, group_label or spelled(group), 2 * wide)
    heading(figure, title)
    caption(figure, guarantee_text)
    return figure


def _draw_curve(
    axis: Axes, rows: Sequence[Row], x: str, y: str, index: int, label: str | None
) -> None:
    if not rows:
        return
    rows = sorted(rows, key=lambda row: row[x])
    at = [float(row[x]) for row in rows]
    value = [float(row[y]) if math.isfinite(row[y]) else math.nan for row in rows]
    error = [float(row.get("standard_error", math.nan)) for row in rows]
    look = index % len(PALETTE)
    axis.plot(
        at,
        value,
        color=PALETTE[look],
        # After each pass through the palette the line styles shift, so that no two curves look alike.
        linestyle=LINES[(look + index // len(PALETTE)) % len(LINES)],
        marker=MARKERS[look],
        markersize=4.5,
        linewidth=1.5,
        label=label,
    )
    low = [v - BAND * e for v, e in zip(value, error, strict=True)]
    high = [v + BAND * e for v, e in zip(value, error, strict=True)]
    if any(math.isfinite(end) for end in high):
        axis.fill_between(at, low, high, color=PALETTE[look], alpha=0.2, linewidth=0)


def _legend(figure: Figure, rows: Sequence[Row], title: str, columns: int) -> None:
    banded = any(math.isfinite(row.get("standard_error", math.nan)) for row in rows)
    handles = {}
    for axis in figure.axes:
        handles.update(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
    figure.legend(
        list(handles.values()),
        list(handles),
        title=title + (f" (bands: ± {BAND:g} standard errors)" if banded else ""),
        loc="outside lower center",
        ncols=min(len(handles), columns),
        frameon=False,
        fontsize=9,
        title_fontsize=9,
        handlelength=3.2,
    )


def _y_label(label: str | Mapping[Any, str] | None, y: str, panel: str | None, value: Any) -> str:
    if isinstance(label, str):
        return label
    if label is not None and value in label:
        return label[value]
    return spelled(str(value) if panel == "metric" else y)
