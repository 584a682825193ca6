"""Parts of figures with many panels: curves with bands, ticks at the values, one legend for colors and line styles."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from privrank_jax.plotting.frame import BAND, PALETTE, Row, plain
from privrank_jax.plotting.words import literal

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.legend import Legend
    from matplotlib.lines import Line2D

_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<")
_LINES = ("-", (0, (4, 2)), (0, (1, 1.5)))


def draw_curve(axis: Axes, rows: Iterable[Row], x: str, color: int, style: int) -> None:
    """Draw a curve with its band of ± 2 standard errors; ∞ on the horizontal axis is a separate marker."""
    rows = sorted(rows, key=lambda row: row[x])
    inner = [row for row in rows if math.isfinite(row[x])]
    look = _look(color, style)
    if inner:
        at = [row[x] for row in inner]
        axis.plot(at, [row["mean"] for row in inner], **look)
        low = [row["mean"] - BAND * row["standard_error"] for row in inner]
        high = [row["mean"] + BAND * row["standard_error"] for row in inner]
        axis.fill_between(at, low, high, color=look["color"], alpha=0.2, linewidth=0)
    for row in rows:
        if not math.isfinite(row[x]):
            place = _infinity(rows, x)
            error = BAND * row["standard_error"]
            axis.errorbar(place, row["mean"], error, capsize=2, **{**look, "linestyle": "none"})


def dress(axis: Axes, x: str, rows: Sequence[Row], log_x: bool) -> None:
    """Set grid, spines, and ticks at the values of x, including "no privacy"."""
    axis.grid(color="#DDDDDD", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8.5)
    if log_x:
        axis.set_xscale("log")
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
    """Draw one legend below the figure: colors with markers, then line styles in black, on a second row if too wide.

    With ``style_of_each`` every color has its own line style.
    """
    from matplotlib.lines import Line2D

    first, second = [], []
    for index, name in enumerate(colors):
        style = style_of_each[index] if style_of_each else 0
        first.append(Line2D([], [], label=name, **_look(index, style)))
    for style, name in enumerate(styles if len(styles) > 1 else ()):
        look = {**_look(0, style), "color": "black"}
        look["markerfacecolor"] = "black" if style == 0 else "white"
        second.append(Line2D([], [], label=name, **look))
    handles = [*([_text(label)] if label else []), *first]
    if second:
        handles += [_text(f"   {style_label}:"), *second]
    bands = f"bands: ± {BAND:g} standard errors"
    found = _legend(figure, handles, 3 if style_of_each else len(handles), bands)
    if second and found.get_window_extent().width > figure.bbox.width:
        found.remove()
        columns = max(len(first), len(second))
        rows = [[*row, *(_text(" ") for _ in range(columns - len(row)))] for row in (first, second)]
        # A legend is filled column by column.
        handles = [handle for pair in zip(*rows, strict=True) for handle in pair]
        lines = f"line: {style_label}" if style_label else ""
        _legend(figure, handles, columns, "; ".join(part for part in (label, lines, bands) if part))


def _legend(figure: Figure, handles: Sequence[Line2D], columns: int, title: str) -> Legend:
    return figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        fontsize=9,
        handlelength=3.0,
        columnspacing=1.2,
        title=title,
        title_fontsize=8,
    )


def _text(label: str) -> Line2D:
    """An entry of a legend without a line."""
    from matplotlib.lines import Line2D

    return Line2D([], [], linestyle="none", label=label)


def _look(color: int, style: int) -> dict[str, Any]:
    """The index of a curve's color, and of its line style."""
    paint = PALETTE[color % len(PALETTE)]
    return {
        "color": paint,
        "linestyle": _LINES[style % len(_LINES)],
        "marker": _MARKERS[color % len(_MARKERS)],
        "markersize": 4,
        "linewidth": 1.4,
        "markerfacecolor": paint if style == 0 else "white",
    }


def level_name(column: str, value: object) -> str:
    """A value in the legend."""
    if column == "epsilon":
        return "no privacy" if value == math.inf else _short(value)
    return f"{value:g}" if isinstance(value, float) else literal(str(value))


def _short(value: Any) -> str:
    """Two digits of a number: 0.67, 100 rather than 1e+02."""
    return plain(float(f"{value:.2g}"))


def _infinity(rows: Sequence[Row], x: str) -> float:
    """Position of ∞ on a logarithmic axis: past the largest finite value."""
    return 2.2 * max((row[x] for row in rows if math.isfinite(row[x])), default=1.0)


def _thinned(values: list[float], ratio: float = 1.45) -> list[float]:
    """Ticks that do not overlap: the largest value, and those at least a factor below the next one kept."""
    kept: list[float] = []
    for value in reversed(values):
        if not kept or kept[-1] / value >= ratio:
            kept.append(value)
    return kept[::-1]
