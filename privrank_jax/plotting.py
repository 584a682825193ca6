"""Tidy tables to figures: error curves with bands, rankings with intervals (extra ``plot``).

Figures are built without pyplot and without its global state. Colours are Okabe and Ito's palette,
and every group also has its own marker and line style, so that a picture survives colour blindness
and a black-and-white printer.
"""

from __future__ import annotations

import math
import os
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe-Ito without its yellow, too faint on white paper.
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
_LINES = ("-", "--", "-.", ":", (0, (5, 1)), (0, (3, 1, 1, 1)), (0, (1, 1)))
_BAND = 2.0  # standard errors

Row = Mapping[str, Any]


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
    title: str | None = None,
    log_x: bool = False,
    log_y: bool = False,
    columns: int = 3,
) -> Figure:
    """Curves of a metric against a parameter, with bands of ± 2 standard errors.

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
        title: title of the figure.
        log_x: logarithmic horizontal axis.
        log_y: logarithmic vertical axes.
        columns: most panels side by side.

    Returns:
        A figure; see :func:`save`.

    Raises:
        ValueError: no rows, an unknown column, an x that is not a finite number, or two rows for
            one point.
        ImportError: matplotlib is not installed.
    """
    _check_curves(rows, x, y, group, panel)
    groups = _distinct(rows, group)
    panels = _distinct(rows, panel)
    wide = min(columns, len(panels))
    tall = math.ceil(len(panels) / wide)
    figure = _new_figure(3.4 * wide, 2.7 * tall + 0.5)
    axes = figure.subplots(tall, wide, squeeze=False)
    for position, axis in enumerate(axes.flat):
        if position >= len(panels):
            axis.set_axis_off()
            continue
        value = panels[position]
        inside = [row for row in rows if panel is None or row[panel] == value]
        for index, name in enumerate(groups):
            label = None if group is None else _written(name)
            curve = [row for row in inside if group is None or row[group] == name]
            _draw_curve(axis, curve, x, y, index, label)
        axis.set_xlabel(x_label or _spelled(x))
        axis.set_ylabel(_y_label(y_label, y, panel, value))
        if panel is not None and (panel != "metric" or panel_titles):
            default = f"{_spelled(panel)} = {_written(value)}"
            axis.set_title((panel_titles or {}).get(value, default), fontsize=10)
        _style(axis, log_x, log_y)
    if group is not None:
        banded = any(math.isfinite(row.get("standard_error", math.nan)) for row in rows)
        bands = f" (bands: ± {_BAND:g} standard errors)" if banded else ""
        handles = {}
        for axis in axes.flat:
            handles.update(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
        figure.legend(
            list(handles.values()),
            list(handles),
            title=(group_label or _spelled(group)) + bands,
            loc="outside lower center",
            ncols=min(len(handles), 2 * wide),
            frameon=False,
            fontsize=9,
            title_fontsize=9,
            handlelength=3.2,
        )
    if title:
        figure.suptitle(title, fontsize=11)
    return figure


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
    """A ranking as dots with intervals, the best item on top.

    Args:
        names: item names.
        values: scores, high = best.
        lower: lower ends of the intervals, NaN for none.
        upper: upper ends.
        guarantee_text: the privacy guarantee in words, written below the picture.
        x_label: what the score is, with its unit.
        title: title of the figure.

    Returns:
        A figure; see :func:`save`.

    Raises:
        ValueError: lengths differ, there are no items, or an interval does not hold its value.
        ImportError: matplotlib is not installed.
    """
    _check_intervals(names, values, lower, upper)
    order = sorted(range(len(names)), key=lambda item: values[item])
    figure = _new_figure(6.0, 0.9 + 0.28 * max(len(names), 3))
    axis = figure.subplots()
    for height, item in enumerate(order):
        if math.isfinite(lower[item]) and math.isfinite(upper[item]):
            axis.hlines(height, lower[item], upper[item], color=PALETTE[0], linewidth=1.8)
        axis.plot(values[item], height, "o", color=PALETTE[0], markersize=6)
    places = range(len(names), 0, -1)
    labels = [f"{place}. {names[item]}" for place, item in zip(places, order, strict=True)]
    axis.set_yticks(range(len(names)), labels)
    axis.set_ylim(-0.7, len(names) - 0.3)
    axis.set_ylabel("rank and item")
    axis.set_xlabel(x_label)
    _style(axis, False, False)
    if title:
        axis.set_title(title, fontsize=11)
    if guarantee_text:
        caption = "\n".join(textwrap.wrap(guarantee_text, 88))
        figure.supxlabel(caption, fontsize=8, color="#333333")
    return figure


def event_probabilities(
    frequencies: Sequence[Sequence[float]],
    epsilon: float,
    *,
    delta: float = 0.0,
    chosen: Sequence[float] | None = None,
    title: str | None = None,
) -> Figure:
    """Probabilities of events under two neighbouring data sets, and the band that (ε, δ) allows.

    Args:
        frequencies: ``(events, 2)``, of each event under one data set and under its neighbour; events never seen
            under either are left out.
        epsilon: ε that is claimed, > 0.
        delta: δ that is claimed.
        chosen: ``(2,)``, the event that was tested, marked.
        title: title of the figure.

    Returns:
        A figure, both axes logarithmic; see :func:`save`.

    Raises:
        ValueError: no event was seen under both.
        ImportError: matplotlib is not installed.
    """
    seen = [(float(p), float(q)) for p, q in frequencies if p > 0 and q > 0]
    if not seen:
        raise ValueError("no event was seen under both data sets: take more draws")
    low = min(map(min, seen)) / 1.5
    figure = _new_figure(5.2, 5.0)
    axis = figure.subplots()
    ends = [low * (1.3 / low) ** (step / 200) for step in range(201)]
    factor = math.exp(epsilon)
    upper = [min(factor * p + delta, 2.0) for p in ends]
    lower = [max((p - delta) / factor, low / 10) for p in ends]
    slack = f" + {delta:g}" if delta else ""
    axis.fill_between(ends, lower, upper, color=PALETTE[0], alpha=0.12, linewidth=0)
    for edge, label in ((upper, f"a factor of e^{epsilon:g}{slack}, either way"), (lower, None)):
        axis.plot(ends, edge, color=PALETTE[0], linestyle="--", linewidth=1.2, label=label)
    xs, ys = zip(*seen, strict=True)
    axis.plot(xs, ys, "o", color=PALETTE[6], markersize=3, alpha=0.6, label="events")
    if chosen is not None and min(chosen) > 0:
        axis.plot(*chosen, "D", color=PALETTE[1], markersize=8, label="the event tested")
    _style(axis, True, True)
    axis.set_xlim(low, 1.3)
    axis.set_ylim(low, 1.3)
    axis.set_xlabel("probability with the data")
    axis.set_ylabel("probability with the neighbouring data")
    axis.legend(frameon=False, fontsize=9, loc="upper left")
    if title:
        figure.suptitle("\n".join(textwrap.wrap(title, 52)), fontsize=11)
    return figure


def save(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write a figure in the format that the suffix names (png, pdf, svg), whole or not at all.

    Raises:
        ValueError: a suffix that matplotlib does not write.
    """
    target = Path(path)
    kind = _format(figure, target)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        figure.savefig(temporary, format=kind, dpi=200)
        os.replace(temporary, target)
    finally:
        temporary.unlink(missing_ok=True)


def check_picture(path: str | os.PathLike[str]) -> None:
    """Raise, before the work, what :func:`save` would after it: ``ValueError`` or ``ImportError``; see there."""
    _format(_new_figure(1.0, 1.0), Path(path))


def _format(figure: Figure, target: Path) -> str:
    kind = target.suffix.lstrip(".").lower()
    if kind not in figure.canvas.get_supported_filetypes():
        raise ValueError(f"can't write a picture as {target.name!r}: use .png, .pdf or .svg")
    return kind


def _new_figure(width: float, height: float) -> Figure:
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'privrank-jax[plot]'") from error
    return Figure(figsize=(width, height), layout="constrained")


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
        # Past one round of the palette the line styles shift, so that no two curves look alike.
        linestyle=_LINES[(look + index // len(PALETTE)) % len(_LINES)],
        marker=_MARKERS[look],
        markersize=4.5,
        linewidth=1.5,
        label=label,
    )
    low = [v - _BAND * e for v, e in zip(value, error, strict=True)]
    high = [v + _BAND * e for v, e in zip(value, error, strict=True)]
    if any(math.isfinite(end) for end in high):
        axis.fill_between(at, low, high, color=PALETTE[look], alpha=0.2, linewidth=0)


def _style(axis: Axes, log_x: bool, log_y: bool) -> None:
    if log_x:
        axis.set_xscale("log")
    if log_y:
        axis.set_yscale("log")
    axis.grid(color="#DDDDDD", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=9)


def _distinct(rows: Sequence[Row], column: str | None) -> list[Any]:
    return [None] if column is None else list(dict.fromkeys(row[column] for row in rows))


def _y_label(label: str | Mapping[Any, str] | None, y: str, panel: str | None, value: Any) -> str:
    if isinstance(label, str):
        return label
    if label is not None and value in label:
        return label[value]
    return _spelled(str(value) if panel == "metric" else y)


def _spelled(name: str) -> str:
    return name.replace("_", " ")


def _written(value: Any) -> str:
    if isinstance(value, float):
        return "∞" if value == math.inf else f"{value:g}"
    return str(value)


def _check_curves(
    rows: Sequence[Row], x: str, y: str, group: str | None, panel: str | None
) -> None:
    if not rows:
        raise ValueError("no rows to draw: the selection is empty")
    seen = set()
    for row in rows:
        for column in (x, y, group, panel):
            if column is not None and column not in row:
                raise ValueError(f"no column {column!r} in these rows; they have {list(row)}")
        if not isinstance(row[x], int | float) or not math.isfinite(row[x]):
            raise ValueError(f"{x} = {row[x]!r} has no place on an axis; draw it as a group")
        point = tuple(row[column] for column in (x, group, panel) if column is not None)
        if point in seen:
            raise ValueError(
                f"two rows for {x}, {group}, {panel} = {point}: select one value of every other "
                "parameter, and of the metric"
            )
        seen.add(point)


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
