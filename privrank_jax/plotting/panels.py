"""Parts of figures with many panels: curves with bands, ticks at the values, one legend for colors and line styles."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from privrank_jax.plotting import frame
from privrank_jax.plotting.words import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

_ROW = 0.2  # inches, of a legend


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


def _thinned(values: list[float], ratio: float = 1.45) -> list[float]:
    """Ticks that do not overlap: the largest value, and those at least a factor below the next one kept."""
    kept: list[float] = []
    for value in reversed(values):
        if not kept or kept[-1] / value >= ratio:
            kept.append(value)
    return kept[::-1]
