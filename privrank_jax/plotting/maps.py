"""Maps over two parameters: how good a private ranking is, and which method is the best one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from privrank_jax.plotting.frame import (
    BAND,
    MARKERS,
    PALETTE,
    Row,
    check_rows,
    distinct,
    finished,
    legend_below,
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

_BETTER = ("low", "high")
_SIDE = 3.1  # inches of a panel


def utility_map(
    rows: Sequence[Row],
    x: str,
    y: str,
    *,
    value: str = "mean",
    panel: str | None = None,
    better: str = "low",
    target: float | None = None,
    x_label: str | None = None,
    y_label: str | None = None,
    value_label: str | None = None,
    panel_titles: Mapping[Any, str] | None = None,
    guarantee_text: str = "",
    title: str | None = None,
    log_x: bool = True,
    log_y: bool = True,
    columns: int = 3,
) -> Figure:
    """Draw a privacy-utility map: one field per pair of parameter values, colored by the value; bright is good.

    Colors are matplotlib's cividis, which looks the same to the color-blind and gets evenly lighter in gray. All
    panels share them.

    Args:
        rows: rows of a :class:`~privrank_jax.simulate.StudyResult`, selected so that (x, y, panel)
            names each of them. Fields without a row, or with a value that is not finite, are hatched.
        x: column on the horizontal axis, finite numbers, for instance ``"epsilon"``.
        y: column on the vertical axis, finite numbers, for instance ``"num_users"``.
        value: column with the value.
        panel: column with one panel per value, for instance the method.
        better: ``"low"`` where the value is an error, ``"high"`` where it is a success.
        target: a line is drawn where the value, interpolated between the fields, equals this.
        x_label: what x is, with its unit (default: its name).
        y_label: what y is, with its unit.
        value_label: what the value is, with its unit.
        panel_titles: title by panel value (default: "column = value").
        guarantee_text: what is private and how, written below the picture.
        title: title of the figure.
        log_x: logarithmic horizontal axis.
        log_y: logarithmic vertical axis.
        columns: maximum number of panels side by side.

    Returns:
        A figure; see :func:`save`.

    Raises:
        ValueError: no rows, no finite value, an unknown column, an x or y that is not a finite number (or not positive
            on a logarithmic axis), two rows for one field, or an unknown ``better``.
        ImportError: matplotlib is not installed.
    """
    _check_map(rows, x, y, value, (panel,), better, log_x, log_y)
    finite = [row[value] for row in rows if math.isfinite(row[value])]
    if not finite:
        raise ValueError(f"no finite value of {value!r} to draw")
    panels = distinct(rows, panel)
    figure = _map_figure(len(panels), columns, 0.9, 0.0 if target is None else 0.3)
    axes = panel_grid(figure, len(panels), columns)
    mesh: Any = None
    for axis, name in zip(axes, panels, strict=True):
        inside = [row for row in rows if panel is None or row[panel] == name]
        xs, ys, values = _fields(rows, inside, x, y, value)
        axis.set_facecolor("#EEEEEE")
        axis.patch.set(hatch="///", edgecolor="#999999")
        mesh = axis.pcolormesh(
            _edges(xs, log_x),
            _edges(ys, log_y),
            values,
            cmap="cividis" if better == "high" else "cividis_r",
            vmin=min(finite),
            vmax=max(finite),
            rasterized=True,
        )
        if target is not None:
            _target_line(axis, xs, ys, values, target)
        _dress(axis, x_label or spelled(x), y_label or spelled(y), log_x, log_y)
        if panel is not None:
            axis.set_title(panel_title(panel, name, panel_titles), fontsize=10)
    label = value_label or spelled(value)
    bar = figure.colorbar(mesh, ax=axes, label=label)
    bar.ax.tick_params(labelsize=9)
    if target is not None:
        bar.ax.axhline(target, color="white", linewidth=3.5)
        bar.ax.axhline(target, color="black", linewidth=1.6)
        _line_legend(figure, f"{label} = {target:g}")
    return finished(figure, title, guarantee_text)


def method_map(
    rows: Sequence[Row],
    x: str,
    y: str,
    group: str,
    *,
    value: str = "mean",
    panel: str | None = None,
    better: str = "low",
    x_label: str | None = None,
    y_label: str | None = None,
    group_label: str | None = None,
    panel_titles: Mapping[Any, str] | None = None,
    guarantee_text: str = "",
    title: str | None = None,
    log_x: bool = True,
    log_y: bool = True,
    columns: int = 3,
) -> Figure:
    """Draw a map of the best method: one field per pair of parameter values, in the method's color and marker.

    A field is pale and its marker hollow where the second best is within 2 standard errors of the difference, computed
    as if the methods were simulated independently. (With common random numbers the difference is more precise.)

    Args:
        rows: as :func:`utility_map`, selected so that (x, y, group, panel) names each of them. Rows without
            ``standard_error``, or with NaN there, count as exact; values that are not finite are ignored.
        x: column on the horizontal axis.
        y: column on the vertical axis.
        group: column that names the method.
        value: column with the value.
        panel: column with one panel per value.
        better: ``"low"`` or ``"high"``.
        x_label: what x is, with its unit.
        y_label: what y is, with its unit.
        group_label: title of the legend (default: the name of the column).
        panel_titles: title by panel value.
        guarantee_text: what is private and how, written below the picture.
        title: title of the figure.
        log_x: logarithmic horizontal axis.
        log_y: logarithmic vertical axis.
        columns: maximum number of panels side by side.

    Returns:
        A figure; see :func:`save`.

    Raises:
        ValueError: as :func:`utility_map`, or more methods than colors.
        ImportError: matplotlib is not installed.
    """
    _check_map(rows, x, y, value, (group, panel), better, log_x, log_y)
    groups, panels = distinct(rows, group), distinct(rows, panel)
    if len(groups) > len(PALETTE):
        raise ValueError(
            f"{len(groups)} values of {group!r}, but only {len(PALETTE)} colors that can be told apart"
        )
    figure = _map_figure(len(panels), columns, 0.2, 0.6)
    unclear = False
    for axis, name in zip(panel_grid(figure, len(panels), columns), panels, strict=True):
        inside = [row for row in rows if panel is None or row[panel] == name]
        xs, ys = _places(rows, x), _places(rows, y)
        x_edges, y_edges = _edges(xs, log_x), _edges(ys, log_y)
        for column, at_x in enumerate(xs):
            for line, at_y in enumerate(ys):
                here = [row for row in inside if row[x] == at_x and row[y] == at_y]
                winner, clear = _winner(here, group, value, better)
                if winner is None:
                    continue
                unclear |= not clear
                corners = x_edges[column : column + 2], y_edges[line : line + 2]
                _field(axis, *corners, at_x, at_y, groups.index(winner), clear)
        axis.set_xlim(x_edges[0], x_edges[-1])
        axis.set_ylim(y_edges[0], y_edges[-1])
        _dress(axis, x_label or spelled(x), y_label or spelled(y), log_x, log_y)
        if panel is not None:
            axis.set_title(panel_title(panel, name, panel_titles), fontsize=10)
    label = group_label or spelled(group)
    if unclear:
        label += f" (pale: lead below {BAND:g} standard errors)"
    _method_legend(figure, [written(name) for name in groups], label)
    return finished(figure, title, guarantee_text)


def _winner(rows: Sequence[Row], group: str, value: str, better: str) -> tuple[Any, bool]:
    """The best method and whether its lead is clear; None where there is no finite value."""
    sign = 1 if better == "low" else -1
    ranked = sorted(
        (row for row in rows if math.isfinite(row[value])), key=lambda row: sign * row[value]
    )
    if not ranked:
        return None, False
    if len(ranked) == 1:
        return ranked[0][group], True
    first, second = ranked[:2]
    errors = [row.get("standard_error", 0.0) for row in (first, second)]
    spread = math.hypot(*(error if math.isfinite(error) else 0.0 for error in errors))
    lead = abs(second[value] - first[value])
    return first[group], lead > BAND * spread


def _field(
    axis: Axes,
    x_edges: Sequence[float],
    y_edges: Sequence[float],
    at_x: float,
    at_y: float,
    index: int,
    clear: bool,
) -> None:
    axis.fill_between(
        x_edges,
        y_edges[0],
        y_edges[1],
        facecolor=PALETTE[index],
        alpha=0.75 if clear else 0.25,
        edgecolor="white",
        linewidth=1.0,
    )
    axis.plot(
        at_x,
        at_y,
        MARKERS[index],
        markersize=5,
        color="black",
        markerfacecolor="black" if clear else "none",
    )


def _method_legend(figure: Figure, names: Sequence[str], title: str) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [], [], linestyle="", marker=MARKERS[index], markersize=9, color="black",
            markerfacecolor=PALETTE[index],
        )
        for index in range(len(names))
    ]  # fmt: skip
    legend_below(
        figure, handles, names, title=title, ncols=max(1, int(figure.get_figwidth() / 1.6))
    )


def _target_line(
    axis: Axes, xs: Sequence[float], ys: Sequence[float], values: Any, target: float
) -> None:
    import numpy as np

    finite = values[np.isfinite(values)]
    inside = finite.size and finite.min() < target < finite.max()
    if min(len(xs), len(ys)) < 2 or not inside:  # matplotlib would warn
        return
    for color, width in (("white", 3.5), ("black", 1.6)):
        axis.contour(xs, ys, values, [target], colors=color, linewidths=width)


def _line_legend(figure: Figure, text: str) -> None:
    from matplotlib.lines import Line2D

    line = Line2D([], [], color="black", linewidth=1.6)
    legend_below(figure, [line], [text])


def _map_figure(panels: int, columns: int, bar: float, legend: float) -> Figure:
    wide = min(columns, panels)
    tall = math.ceil(panels / wide)
    return new_figure(max(_SIDE * wide + bar, 4.2), 0.9 * _SIDE * tall + 0.2 + legend)


def _dress(axis: Axes, x_label: str, y_label: str, log_x: bool, log_y: bool) -> None:
    style(axis, log_x, log_y)
    axis.grid(False)
    axis.set_xlabel(x_label)
    place = axis.get_subplotspec()
    if place is None or place.is_first_col():
        axis.set_ylabel(y_label)


def _places(rows: Sequence[Row], column: str) -> list[float]:
    return sorted({float(row[column]) for row in rows})


def _fields(
    rows: Sequence[Row], inside: Sequence[Row], x: str, y: str, value: str
) -> tuple[list[float], list[float], Any]:
    """Places of all panels on both axes, and the values of one panel, NaN where there are none."""
    import numpy as np

    xs, ys = _places(rows, x), _places(rows, y)
    values = np.full((len(ys), len(xs)), np.nan)
    for row in inside:
        if math.isfinite(row[value]):
            values[ys.index(row[y]), xs.index(row[x])] = row[value]
    return xs, ys, values


def _edges(places: Sequence[float], log: bool) -> list[float]:
    """Edges halfway between neighbors (their geometric mean on a logarithmic axis)."""
    at = [math.log(place) for place in places] if log else list(places)
    if len(at) == 1:
        edges = [at[0] - 0.5, at[0] + 0.5]
    else:
        middle = [(a + b) / 2 for a, b in itertools.pairwise(at)]
        edges = [2 * at[0] - middle[0], *middle, 2 * at[-1] - middle[-1]]
    return [math.exp(edge) for edge in edges] if log else edges


def _check_map(
    rows: Sequence[Row],
    x: str,
    y: str,
    value: str,
    others: Sequence[str | None],
    better: str,
    log_x: bool,
    log_y: bool,
) -> None:
    check_rows(rows, value, (x, y), others)
    if better not in _BETTER:
        raise ValueError(f"better must be one of {_BETTER}, got {better!r}")
    for column, log in ((x, log_x), (y, log_y)):
        least = min(row[column] for row in rows)
        if log and least <= 0:
            raise ValueError(f"{column} = {least!r} has no place on a logarithmic axis")
