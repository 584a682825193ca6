"""All curves of a study at once: a panel per metric, or a row of panels per metric."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from privrank_jax.plotting.frame import (
    Row,
    check_rows,
    finished,
    new_figure,
    panel_grid,
    spelled,
    written,
)
from privrank_jax.plotting.panels import draw_curve, dress, legend, level_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from privrank_jax.simulate.result import StudyResult

_WIDTH, _HEIGHT = 3.2, 2.7  # inches of a panel
_NARROWEST = 5.5  # for the legend


def study_curves(
    result: StudyResult | Sequence[Row],
    x: str,
    metrics: str | Sequence[str] | Mapping[str, str] | None = None,
    *,
    curve: str | None = None,
    style: str | None = None,
    panel: str | Sequence[str] = (),
    x_label: str | None = None,
    curve_label: str | None = None,
    names: Mapping[Any, str] | None = None,
    log_x: bool = False,
    log_y: bool = False,
    from_zero: bool = False,
    guarantee_text: str = "",
    title: str | None = None,
    columns: int = 3,
) -> Figure:
    """Draw every metric of a study against a parameter, with bands of ± 2 standard errors.

    Each metric has a panel of its own; with ``panel`` it has a row of them, one for each value of that column.

    >>> rows = [
    ...     {"scale": x, "estimator": e, "metric": "error", "mean": m, "standard_error": 0.1}
    ...     for e, values in (("mean", (1, 2)), ("median", (2, 3))) for x, m in zip((0.5, 1.0), values)
    ... ]
    >>> [(axis.get_ylabel(), len(axis.get_lines())) for axis in study_curves(rows, "scale").axes]
    [('error', 2)]

    Args:
        result: a :class:`~privrank_jax.simulate.StudyResult`, or rows of it.
        x: column on the horizontal axis; on a logarithmic axis ∞ is drawn separately, at the right.
        metrics: metrics to draw, in this order, or a mapping from metric to the label of its vertical axis; None for
            all that have curves.
        curve: column with one curve, of its own color and marker, per value; by default ``"estimator"``, or
            ``"study"`` in a table without estimators. Rows without a value in it, such as metrics that all estimators
            share, are left out; the same holds for ``style`` and ``panel``.
        style: column with one line style per value.
        panel: column (or columns) with one panel per value for each metric.
        x_label, curve_label: what x and the curves are (default: the names of the columns).
        names: how values of ``curve``, ``style`` and ``panel`` are written, and their order.
        log_x, log_y: logarithmic axes; curves and bands that reach 0 run to the lower edge.
        from_zero: vertical axes start at 0.
        guarantee_text, title: what is private and how, below the picture, and words above it.
        columns: maximum number of panels side by side, where there is one for each metric.

    Returns:
        A figure; see :func:`save`.

    Raises:
        ValueError: no rows, an unknown column or metric, a metric without means above 0 on a logarithmic axis, or
            two rows for one point of a curve: then name the column that tells them apart, or select one value of it.
    """
    panel = (panel,) if isinstance(panel, str) else panel
    rows = list(result) if isinstance(result, Sequence) else result.rows
    if curve is None:
        curve = "estimator" if any("estimator" in row for row in rows) else "study"
    told_apart = [column for column in (curve, style, *panel) if column is not None]
    known = list(dict.fromkeys(column for row in rows for column in row))
    if unknown := [column for column in told_apart if column not in known]:
        raise ValueError(f"no column {unknown[0]!r} in this table; its columns are {known}")
    rows = [row for row in rows if all(row.get(column) is not None for column in told_apart)]
    check_rows(rows, (x,), ("metric", *told_apart), infinite=log_x)
    labels = _labels(metrics, rows)
    rows = [row for row in rows if row["metric"] in labels]
    if log_y and from_zero:
        raise ValueError("a logarithmic axis has no 0: leave out log_y or from_zero")
    for metric in labels if log_y else ():
        if not any(row["mean"] > 0 for row in rows if row["metric"] == metric):
            raise ValueError(f"no mean of {metric!r} is above 0, as log_y needs: leave it out")
    names = names or {}
    places = list(itertools.product(*(_values(rows, column, names) for column in panel)))
    places = [p for p in places if any(_at(row, panel) == p for row in rows)]
    colors = _values(rows, curve, names)
    styles = [None] if style is None else _values(rows, style, names)
    figure, axes = _axes(len(labels), len(places), bool(panel), columns)
    for axis, (metric, place) in zip(axes, itertools.product(labels, places), strict=True):
        inside = [r for r in rows if r["metric"] == metric and _at(r, panel) == place]
        # The last style is drawn last, so that it stays visible where curves coincide.
        for (look, line), (index, color) in itertools.product(enumerate(styles), enumerate(colors)):
            wanted = (color,) if style is None else (color, line)
            chosen = [r for r in inside if _at(r, told_apart[: len(wanted)]) == wanted]
            draw_curve(axis, chosen, x, index, look)
        dress(axis, x, rows, log_x, log_y)
        first, last = metric == next(iter(labels)), metric == list(labels)[-1]
        if panel and first:
            said = (_said(column, value, names) for column, value in zip(panel, place))
            axis.set_title(", ".join(said), fontsize=10)
        if not panel or last:
            axis.set_xlabel(x_label or spelled(x))
        if not panel or place == places[0]:
            axis.set_ylabel(labels[metric])
    if from_zero:  # after all curves: it ends the scaling of axes that panels share
        for axis in axes:
            axis.set_ylim(bottom=0)
    shown = [names.get(color, level_name(curve, color)) for color in colors]
    lines = [] if style is None else [names.get(line, level_name(style, line)) for line in styles]
    label = f"color: {curve_label or spelled(curve)}"
    legend(figure, label, shown, "" if style is None else spelled(style), lines)
    return finished(figure, title, guarantee_text)


def _labels(
    metrics: str | Sequence[str] | Mapping[str, str] | None, rows: Sequence[Row]
) -> dict[str, str]:
    """Labels of the vertical axes by metric."""
    found = list(dict.fromkeys(row["metric"] for row in rows))
    if metrics is None:
        metrics = found
    metrics = [metrics] if isinstance(metrics, str) else metrics
    labels = dict(metrics) if isinstance(metrics, Mapping) else {m: spelled(m) for m in metrics}
    if unknown := [metric for metric in labels if metric not in found]:
        raise ValueError(f"no metric {unknown} in these rows; their metrics are {found}")
    return labels


def _values(rows: Sequence[Row], column: str, names: Mapping[Any, str]) -> list[Any]:
    """Values of a column: first those named, in that order, then numbers by size and words in order of appearance."""
    found = list(dict.fromkeys(row[column] for row in rows))
    if all(isinstance(value, Real) for value in found):
        found.sort()
    return [v for v in names if v in found] + [v for v in found if v not in names]


def _at(row: Row, columns: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[column] for column in columns)


def _axes(metrics: int, places: int, paneled: bool, columns: int) -> tuple[Figure, list[Axes]]:
    if not paneled:
        wide = min(columns, metrics)
        high = math.ceil(metrics / wide)
        figure = new_figure(max(_WIDTH * wide, _NARROWEST), _HEIGHT * high + 0.6)
        return figure, panel_grid(figure, metrics, columns)
    figure = new_figure(max(_WIDTH * places, _NARROWEST), _HEIGHT * metrics + 0.6)
    axes = figure.subplots(metrics, places, sharey="row", sharex=True, squeeze=False)
    return figure, list(axes.flat)


def _said(column: str, value: Any, names: Mapping[Any, str]) -> str:
    if value in names:
        return names[value]
    return written(value) if isinstance(value, str) else f"{spelled(column)} = {written(value)}"
