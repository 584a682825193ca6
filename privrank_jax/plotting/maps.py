"""Maps over two parameters: how good a private ranking is, and which method is the best one."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privrank_jax._validate import check_choice
from privrank_jax.plotting import frame
from privrank_jax.plotting.words import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SIDE = 3.1  # inches of a panel


def utility_map(
    rows: Sequence[frame.Row],
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

    Fields without a row, or with a value that is not finite, are hatched.

    Args:
        rows: of a :class:`~privrank_jax.simulate.StudyResult`, selected so that (x, y, panel) names each of them.
        x, y: columns on the axes, finite numbers, for instance ``"epsilon"`` and ``"num_users"``.
        value: column with the value.
        panel: column with one panel per value, for instance the method.
        better: ``"low"`` where the value is an error, ``"high"`` where it is a success.
        target: a line is drawn where the value, interpolated between the fields, equals this.
        x_label, y_label, value_label: what they are, with their units (default: their names).
        panel_titles: title by panel value (default: "column = value").
        guarantee_text: what is private and how, written below the picture.
        title: of the figure.
        log_x, log_y: logarithmic axes.
        columns: maximum number of panels side by side.

    Returns:
        A figure; see :func:`save`.

    Raises:
        ValueError: no rows, no finite value, an unknown column, an x or y that is not a finite number (or not positive
            on a logarithmic axis), two rows for one field, or an unknown ``better``.
    """
    _check_map(rows, value, better, {x: log_x, y: log_y}, panel)
    finite = [row[value] for row in rows if math.isfinite(row[value])]
    if not finite:
        raise ValueError(f"no finite value of {value!r} to draw")
    below = 0.0 if target is None else 0.3
    figure, panels = _panels(rows, panel, panel_titles, columns, 0.9, below)
    xs, ys = _places(rows, x), _places(rows, y)
    labels = x_label or frame.spelled(x), y_label or frame.spelled(y)
    edges = _edges(xs, log_x), _edges(ys, log_y)
    mesh: Any = None
    for axis, subtitle, inside in panels:
        values = np.full((len(ys), len(xs)), np.nan)
        for row in inside:
            if math.isfinite(row[value]):
                values[ys.index(row[y]), xs.index(row[x])] = row[value]
        axis.set_facecolor("#EEEEEE")
        axis.patch.set(hatch="///", edgecolor="#999999")
        colors = {"cmap": "cividis" if better == "high" else "cividis_r"}
        ends = {"vmin": min(finite), "vmax": max(finite)}
        mesh = axis.pcolormesh(*edges, values, rasterized=True, **colors, **ends)
        if target is not None:
            _target_line(axis, xs, ys, values, target)
        _dress(axis, *labels, log_x, log_y, subtitle)
    label = value_label or frame.spelled(value)
    bar = figure.colorbar(mesh, ax=[axis for axis, _, _ in panels], label=label)
    bar.ax.tick_params(labelsize=9)
    if target is not None:
        bar.ax.axhline(target, color="white", linewidth=3.5)
        line = bar.ax.axhline(target, color="black", linewidth=1.6)
        frame.legend_below(figure, [line], [f"{label} = {target:g}"])
    return frame.finished(figure, title, guarantee_text)


def method_map(
    rows: Sequence[frame.Row],
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
    as if the methods were simulated independently. Rows without ``standard_error``, or with NaN there, count as exact;
    values that are not finite are ignored. Other arguments, results and errors are as :func:`utility_map`'s.

    Args:
        rows: selected so that (x, y, group, panel) names each of them.
        group: column that names the method, with no more values than there are colors.
        group_label: title of the legend (default: the name of the column).
    """
    _check_map(rows, value, better, {x: log_x, y: log_y}, group, panel)
    groups = list(dict.fromkeys(row[group] for row in rows))
    if len(groups) > len(frame.PALETTE):
        raise ValueError(
            f"{len(groups)} values of {group!r}, but only {len(frame.PALETTE)} colors that can be told apart"
        )
    figure, panels = _panels(rows, panel, panel_titles, columns, 0.2, 0.6)
    xs, ys = _places(rows, x), _places(rows, y)
    x_edges, y_edges = _edges(xs, log_x), _edges(ys, log_y)
    labels = x_label or frame.spelled(x), y_label or frame.spelled(y)
    unclear = False
    for axis, subtitle, inside in panels:
        for (column, at_x), (line, at_y) in itertools.product(enumerate(xs), enumerate(ys)):
            here = [row for row in inside if row[x] == at_x and row[y] == at_y]
            winner, clear = _winner(here, group, value, better)
            if winner is None:
                continue
            unclear |= not clear
            index = groups.index(winner)
            corners: Any = x_edges[column : column + 2], *y_edges[line : line + 2]
            look: Any = {"facecolor": frame.PALETTE[index], "alpha": 0.75 if clear else 0.25}
            axis.fill_between(*corners, edgecolor="white", linewidth=1.0, **look)
            look = {"color": "black", "markerfacecolor": "black" if clear else "none"}
            axis.plot(at_x, at_y, frame.MARKERS[index], markersize=5, **look)
        axis.set_xlim(x_edges[0], x_edges[-1])
        axis.set_ylim(y_edges[0], y_edges[-1])
        _dress(axis, *labels, log_x, log_y, subtitle)
    label = group_label or frame.spelled(group)
    if unclear:
        label += f" (pale: lead below {frame.BAND:g} standard errors)"
    _method_legend(figure, [frame.written(name) for name in groups], label)
    return frame.finished(figure, title, guarantee_text)


def _winner(rows: Sequence[frame.Row], group: str, value: str, better: str) -> tuple[Any, bool]:
    """The best method and whether its lead is clear; None where there is no finite value."""
    finite = [row for row in rows if math.isfinite(row[value])]
    ranked = sorted(finite, key=lambda row: row[value], reverse=better == "high")
    if len(ranked) < 2:
        return (ranked[0][group], True) if ranked else (None, False)
    first, second = ranked[:2]
    errors = [row.get("standard_error", 0.0) for row in (first, second)]
    spread = math.hypot(*(error if math.isfinite(error) else 0.0 for error in errors))
    lead = abs(second[value] - first[value])
    return first[group], lead > frame.BAND * spread


def _method_legend(figure: Figure, names: Sequence[str], title: str) -> None:
    from matplotlib.lines import Line2D

    look: Any = {"linestyle": "", "markersize": 9, "color": "black"}
    handles = [
        Line2D([], [], marker=marker, markerfacecolor=color, **look)
        for marker, color in zip(frame.MARKERS[: len(names)], frame.PALETTE)
    ]
    columns = max(1, int(figure.get_figwidth() / 1.6))
    frame.legend_below(figure, handles, names, title=title, ncols=columns)


def _target_line(
    axis: Axes, xs: Sequence[float], ys: Sequence[float], values: Any, target: float
) -> None:
    finite = values[np.isfinite(values)]
    inside = finite.size and finite.min() < target < finite.max()
    if min(len(xs), len(ys)) < 2 or not inside:  # matplotlib would warn
        return
    for color, width in (("white", 3.5), ("black", 1.6)):
        axis.contour(xs, ys, values, [target], colors=color, linewidths=width)


def _panels(
    rows: Sequence[frame.Row],
    panel: str | None,
    titles: Mapping[Any, str] | None,
    columns: int,
    bar: float,
    legend: float,
) -> tuple[Figure, list[tuple[Axes, str, list[frame.Row]]]]:
    """A figure, and for each panel its axis, its title and its rows."""
    inside: dict[Any, list[frame.Row]] = {}
    for row in rows:
        inside.setdefault(None if panel is None else row[panel], []).append(row)
    wide = min(columns, len(inside))
    tall = math.ceil(len(inside) / wide)
    figure = frame.new_figure(max(_SIDE * wide + bar, 4.2), 0.9 * _SIDE * tall + 0.2 + legend)
    head = "" if panel is None else f"{literal(frame.spelled(panel))} = "
    said = [(titles or {}).get(name, head and head + frame.written(name)) for name in inside]
    return figure, list(zip(frame.panel_grid(figure, len(inside), columns), said, inside.values()))


def _dress(axis: Axes, x_label: str, y_label: str, log_x: bool, log_y: bool, title: str) -> None:
    frame.style(axis, log_x, log_y)
    axis.set_title(title, fontsize=10)
    axis.grid(False)
    axis.set_xlabel(x_label)
    place = axis.get_subplotspec()
    if place is None or place.is_first_col():
        axis.set_ylabel(y_label)


def _places(rows: Sequence[frame.Row], column: str) -> list[float]:
    return sorted({float(row[column]) for row in rows})


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
    rows: Sequence[frame.Row],
    value: str,
    better: str,
    logs: Mapping[str, bool],
    *others: str | None,
) -> None:
    frame.check_rows(rows, tuple(logs), others, value=value)
    check_choice("better", better, ("low", "high"))
    for column, log in logs.items():
        least = min(row[column] for row in rows)
        if log and least <= 0:
            raise ValueError(f"{column} = {least!r} has no place on a logarithmic axis")
