"""Curves of a study, in a panel or a row of panels for each metric: bands, ticks at the values, and one legend."""

from __future__ import annotations

import itertools
import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from privrank_jax.plotting import frame
from privrank_jax.plotting.words import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

    from privrank_jax.simulate.result import StudyResult

_WIDTH, _HEIGHT = 3.2, 2.7  # inches of a panel
_NARROWEST = 5.5  # for the legend
_ROW = 0.2  # inches, of a legend


def study_curves(
    result: StudyResult | Sequence[frame.Row],
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

    Each metric has a panel of its own; with ``panel`` it has a row of them, one for each value of that column. Rows
    without a value of ``curve``, such as metrics that all estimators share, of ``style`` or of ``panel`` are left out.

    >>> rows = [
    ...     {"scale": x, "estimator": e, "metric": "error", "mean": m, "standard_error": 0.1}
    ...     for e, values in (("mean", (1, 2)), ("median", (2, 3))) for x, m in zip((0.5, 1.0), values)
    ... ]
    >>> [(axis.get_ylabel(), len(axis.get_lines())) for axis in study_curves(rows, "scale").axes]
    [('error', 2)]

    Args:
        result: a :class:`~privrank_jax.simulate.StudyResult`, or rows of it.
        x: column on the horizontal axis; on a logarithmic axis ∞ is drawn separately, at the right.
        metrics: to draw, in this order, or a mapping to labels of vertical axes; None: all that have curves.
        curve: column with a curve, of its own color and marker, per value; default: ``"estimator"``, or ``"study"``.
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
    frame.check_rows(rows, (x,), ("metric", *told_apart), infinite=log_x)
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
            axis.set_xlabel(x_label or frame.spelled(x))
        if not panel or place == places[0]:
            axis.set_ylabel(labels[metric])
    if from_zero:  # after all curves: it ends the scaling of axes that panels share
        for axis in axes:
            axis.set_ylim(bottom=0)
    shown = [names.get(color, level_name(curve, color)) for color in colors]
    lines = [] if style is None else [names.get(line, level_name(style, line)) for line in styles]
    label = f"color: {curve_label or frame.spelled(curve)}"
    legend(figure, label, shown, "" if style is None else frame.spelled(style), lines)
    return frame.finished(figure, title, guarantee_text)


def _labels(
    metrics: str | Sequence[str] | Mapping[str, str] | None, rows: Sequence[frame.Row]
) -> dict[str, str]:
    """Labels of the vertical axes by metric."""
    found = list(dict.fromkeys(row["metric"] for row in rows))
    if metrics is None:
        metrics = found
    metrics = [metrics] if isinstance(metrics, str) else metrics
    labels = (
        dict(metrics) if isinstance(metrics, Mapping) else {m: frame.spelled(m) for m in metrics}
    )
    if unknown := [metric for metric in labels if metric not in found]:
        raise ValueError(f"no metric {unknown} in these rows; their metrics are {found}")
    return labels


def _values(rows: Sequence[frame.Row], column: str, names: Mapping[Any, str]) -> list[Any]:
    """Values of a column: first those named, in that order, then numbers by size and words in order of appearance."""
    found = list(dict.fromkeys(row[column] for row in rows))
    if all(isinstance(value, Real) for value in found):
        found.sort()
    return [v for v in names if v in found] + [v for v in found if v not in names]


def _at(row: frame.Row, columns: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[column] for column in columns)


def _axes(metrics: int, places: int, paneled: bool, columns: int) -> tuple[Figure, list[Axes]]:
    if not paneled:
        wide = min(columns, metrics)
        high = math.ceil(metrics / wide)
        figure = frame.new_figure(max(_WIDTH * wide, _NARROWEST), _HEIGHT * high + 0.6)
        return figure, frame.panel_grid(figure, metrics, columns)
    figure = frame.new_figure(max(_WIDTH * places, _NARROWEST), _HEIGHT * metrics + 0.6)
    axes = figure.subplots(metrics, places, sharey="row", sharex=True, squeeze=False)
    return figure, list(axes.flat)


def _said(column: str, value: Any, names: Mapping[Any, str]) -> str:
    if value in names:
        return names[value]
    said = frame.written(value)
    return said if isinstance(value, str) else f"{frame.spelled(column)} = {said}"


# --- parts that other figures have too ------------------------------------------------------------------


def draw_curve(axis: Axes, rows: Iterable[frame.Row], x: str, color: int, style: int) -> None:
    """Draw a curve with its band of ± 2 standard errors; ∞ on the horizontal axis is a separate marker."""
    rows = sorted(rows, key=lambda row: row[x])
    inner = [row for row in rows if math.isfinite(row[x])]
    look = _look(color, style)
    if inner:
        at = [row[x] for row in inner]
        axis.plot(at, [row["mean"] for row in inner], **look)
        low = [row["mean"] - frame.BAND * row["standard_error"] for row in inner]
        high = [row["mean"] + frame.BAND * row["standard_error"] for row in inner]
        axis.fill_between(at, low, high, color=look["color"], alpha=0.2, linewidth=0)
    for row in rows:
        if not math.isfinite(row[x]):
            place = _infinity(rows, x)
            error = frame.BAND * row["standard_error"]
            axis.errorbar(place, row["mean"], error, capsize=2, **{**look, "linestyle": "none"})


def dress(axis: Axes, x: str, rows: Sequence[frame.Row], log_x: bool, log_y: bool = False) -> None:
    """Set scales, grid, spines, and ticks at the values of x, including "no privacy"."""
    frame.style(axis, log_x, log_y)
    if log_x:
        values = sorted({row[x] for row in rows if row[x] == row[x]})
        finite = _thinned([value for value in values if math.isfinite(value)])
        places, labels = list(finite), [_short(value) for value in finite]
        if math.inf in values:
            places.append(_infinity(rows, x))
            labels.append("no\nprivacy")
        axis.set_xticks(places, labels)
        axis.set_xticks([], minor=True)


def legend(
    figure: Figure,
    label: str,
    colors: Sequence[str],
    style_label: str,
    styles: Sequence[str],
    style_of_each: Sequence[int] = (),
) -> None:
    """Draw one legend below the figure: colors with markers, then line styles in black.

    They stand in one row where the figure is wide enough, else each in rows of their own, as many as they need; more
    than two rows extend the figure. With ``style_of_each`` every color has its own line style, and a row has three.
    """
    from matplotlib.lines import Line2D

    own = style_of_each or [0] * len(colors)
    looks = (_look(index, own[index]) for index in range(len(colors)))
    first = [Line2D([], [], label=name, **look) for name, look in zip(colors, looks)]
    second = []
    for index, name in enumerate(styles if len(styles) > 1 else ()):
        face = "white" if index else "black"
        look = {**_look(0, index), "color": "black", "markerfacecolor": face}
        second.append(Line2D([], [], label=name, **look))
    bands = f"bands: ± {frame.BAND:g} standard errors"
    if not style_of_each:
        handles = [*([_text(label)] if label else []), *first]
        handles += [_text(f"   {style_label}:"), *second] if second else []
        found = _legend(figure, handles, len(handles), bands)
        if found.get_window_extent().width <= figure.bbox.width:
            return
        found.remove()
    lines = f"line: {style_label}" if second and style_label else ""
    title = "; ".join(part for part in (label, lines, bands) if part)
    rows = []
    for columns in range(3 if style_of_each else max(len(first), len(second)), 0, -1):
        rows = [row for group in (first, second) for row in _rows_of(group, columns)]
        # A legend is filled column by column.
        handles = [handle for column in zip(*rows, strict=True) for handle in column]
        found = _legend(figure, handles, columns, title)
        if columns == 1 or found.get_window_extent().width <= figure.bbox.width:
            break
        found.remove()
    figure.set_figheight(figure.get_figheight() + _ROW * max(0, len(rows) - 2))


def _rows_of(handles: Sequence[Line2D], columns: int) -> list[list[Line2D]]:
    """Rows of a legend, the last one filled up by empty entries."""
    rows = [list(handles[start : start + columns]) for start in range(0, len(handles), columns)]
    return [[*row, *(_text(" ") for _ in range(columns - len(row)))] for row in rows]


def _legend(figure: Figure, handles: Sequence[Line2D], columns: int, title: str) -> Legend:
    said = "\n".join(textwrap.wrap(title, int(frame.CHARACTERS * figure.get_figwidth())))
    look: Any = {"handlelength": 3.0, "columnspacing": 1.2, "title_fontsize": 8}
    return frame.legend_below(figure, handles=handles, ncols=columns, title=said, **look)


def _text(label: str) -> Line2D:
    """An entry of a legend without a line."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none", label=label)


def _look(color: int, style: int) -> dict[str, Any]:
    """The index of a curve's color, and of its line style."""
    paint = frame.PALETTE[color % len(frame.PALETTE)]
    return {
        "color": paint,
        "linestyle": frame.LINES[style % len(frame.LINES)],
        "marker": frame.MARKERS[color % len(frame.MARKERS)],
        "markersize": 4,
        "linewidth": 1.4,
        "markerfacecolor": paint if style == 0 else "white",
    }


def level_name(column: str, value: object) -> str:
    """A value in the legend."""
    if column == "epsilon":
        return "no privacy" if value == math.inf else _short(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        return "∞" if value == math.inf else frame.plain(float(value))
    return literal(str(value))


def _short(value: Any) -> str:
    """Two digits of a number: 0.67, 100 rather than 1e+02."""
    return frame.plain(float(f"{value:.2g}"))


def _infinity(rows: Sequence[frame.Row], x: str) -> float:
    """Position of ∞ on a logarithmic axis: past the largest finite value."""
    return 2.2 * max((row[x] for row in rows if math.isfinite(row[x])), default=1.0)


def _thinned(values: list[float]) -> list[float]:
    """Ticks that do not overlap: the largest value, and those at least a factor below the next one kept."""
    kept: list[float] = []
    for value in reversed(values):
        if not kept or kept[-1] / value >= 1.45:
            kept.append(value)
    return kept[::-1]
