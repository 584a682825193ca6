"""Pictures of the Cai studies: small multiples, calibrations side by side, color-blind safe."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from privrank_jax.experiments.cai.common import CALIBRATIONS, COUNTS, L2, LINF, MLE, TOP
from privrank_jax.plotting import PALETTE
from privrank_jax.simulate.result import Row, StudyResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_BAND = 2.0  # standard errors
_MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*", "<")
_LINES = ("-", (0, (4, 2)), (0, (1, 1.5)))
_COLUMN_TITLES = {
    "published": "published noise",
    "tight replace": "tight noise, replacement",
    "tight flip": "tight noise, flips",
}
_ROWS = (
    ((LINF,), "log relative ℓ∞ error of θ"),
    ((L2,), "log relative ℓ₂ error of θ"),
    ((TOP,), "top-k error"),
)
_ESTIMATORS = {MLE: "MLE", COUNTS: "counts"}


def errors_by_epsilon(table: StudyResult, *, x: str, x_label: str) -> Figure:
    """Errors against x, one color per ε: a row per metric, a column per calibration."""
    return _calibrations(table, x, x_label, curve="epsilon", label="color: ε", log_x=False)


def errors_against_epsilon(table: StudyResult, *, curve: str, curve_label: str) -> Figure:
    """Errors against ε (∞ at the right as "no privacy"), one color per value of ``curve``."""
    return _calibrations(
        table, "epsilon", "ε", curve=curve, label=f"color: {curve_label}", log_x=True
    )


def _calibrations(
    table: StudyResult, x: str, x_label: str, *, curve: str, label: str, log_x: bool
) -> Figure:
    figure = new_figure(9.6, 8.2)
    axes = figure.subplots(len(_ROWS), len(CALIBRATIONS), sharey="row", sharex=True, squeeze=False)
    colors = sorted({row[curve] for row in table.rows if row["calibration"]})
    for line, (metrics, y_label) in enumerate(_ROWS):
        for column, calibration in enumerate(CALIBRATIONS):
            axis = axes[line, column]
            inside = [
                row
                for row in table.rows
                if row["metric"] in metrics and row["calibration"] == calibration.name
            ]
            for style, estimator in enumerate(
                _ESTIMATORS
            ):  # counts last: where they coincide they show
                for index, color in enumerate(colors):
                    chosen = [
                        r for r in inside if r[curve] == color and r["estimator"] == estimator
                    ]
                    draw_curve(axis, chosen, x, index, style)
            dress(axis, x, table.rows, log_x)
            if line == 0:
                axis.set_title(_COLUMN_TITLES[calibration.name], fontsize=10)
            if line == len(_ROWS) - 1:
                axis.set_xlabel(x_label)
        axes[line, 0].set_ylabel(y_label)
    names = [written(curve, color) for color in colors]
    legend(figure, label, names, "line", list(_ESTIMATORS.values()))
    return figure


def one_shot(table: StudyResult) -> Figure:
    """Top-k error of all methods against the number of items at each ε, then against ε."""
    # Of each method its estimator, its calibration and the style of its line.
    methods = {
        "counts, 2/ε": (COUNTS, "published", 2),
        "MLE, published 8/ε": (MLE, "published", 0),
        "MLE, tight 4/ε (replace)": (MLE, "tight replace", 0),
        "MLE, tight 2/ε (flip)": (MLE, "tight flip", 0),
        "one-shot, published 2k/ε": ("one-shot pure", "published", 1),
        "one-shot, published (ε, δ)": ("one-shot (ε, δ)", "published", 1),
        "one-shot spectral (not private)": ("one-shot spectral", "published", 1),
        "rank centrality, no privacy": ("rank centrality", "published", 1),
        "one-shot, tight 2/ε": ("one-shot pure", "tight replace", 1),
    }
    against_items = [row for row in table.rows if row["study"] == "items" and row["estimator"]]
    against_epsilon = [row for row in table.rows if row["study"] == "epsilon" and row["estimator"]]
    levels = sorted({row["epsilon"] for row in against_items})
    figure = new_figure(9.6, 7.4)
    panels = [(f"ε = {level:g}", "num_items", level) for level in levels if level < math.inf]
    panels += [("no privacy", "num_items", level) for level in levels if level == math.inf]
    sizes = ", ".join(str(size) for size in sorted({row["num_items"] for row in against_epsilon}))
    panels.append((f"{sizes} items", "epsilon", None))
    axes = figure.subplots(math.ceil(len(panels) / 2), 2, sharey=True, squeeze=False).ravel()
    for axis, (title, x, level) in zip(axes, panels, strict=False):
        rows = [
            row
            for row in (against_items if x == "num_items" else against_epsilon)
            if level is None or row["epsilon"] == level
        ]
        for index, (estimator, calibration, style) in reversed([*enumerate(methods.values())]):
            chosen = [
                row
                for row in rows
                if (row["estimator"], row["calibration"]) == (estimator, calibration)
            ]
            draw_curve(axis, chosen, x, index, style)
        dress(axis, x, rows, x == "epsilon")
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("items n" if x == "num_items" else "ε")
        axis.set_ylabel("top-k error")
    for axis in axes[len(panels) :]:
        axis.set_axis_off()
    legend(figure, "", list(methods), "", [], [style for *_, style in methods.values()])
    return figure


def surveys(table: StudyResult) -> Figure:
    """Mean rank difference against ε: a row per survey, a column per family of calibrations."""
    rows = [row for row in table.rows if row.get("ties") == "half" and row["estimator"]]
    names = list(dict.fromkeys(row["data"] for row in rows))
    columns = (
        ("published noise", (("published", 0),)),
        ("tight noise, L questions", (("tight replace", 0), ("tight flip", 1))),
        (
            "noise that knows the questionnaire",
            (("questionnaire replace", 0), ("questionnaire flip", 1)),
        ),
    )
    figure = new_figure(9.6, 3.1 * len(names) + 0.6)
    axes = figure.subplots(len(names), len(columns), sharey="row", squeeze=False)
    for line, name in enumerate(names):
        for column, (title, kinds) in enumerate(columns):
            axis = axes[line, column]
            for calibration, style in kinds:
                for color, estimator in enumerate(_ESTIMATORS):
                    chosen = [
                        row
                        for row in rows
                        if (row["data"], row["calibration"], row["estimator"])
                        == (name, calibration, estimator)
                    ]
                    draw_curve(axis, chosen, "epsilon", color, style)
            dress(axis, "epsilon", rows, True)
            axis.set_ylim(bottom=0)
            axis.set_title(f"{name}: {title}", fontsize=9.5)
            axis.set_xlabel("ε")
        axes[line, 0].set_ylabel("mean rank difference")
    legend(figure, "", list(_ESTIMATORS.values()), "adjacency", ["replace (and published)", "flip"])
    return figure


def new_figure(width: float, height: float) -> Figure:
    """A figure without pyplot.

    Raises:
        ImportError: matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("pictures need matplotlib: pip install 'privrank-jax[plot]'") from error
    return Figure(figsize=(width, height), layout="constrained")


def draw_curve(axis: Axes, rows: Iterable[Row], x: str, color: int, style: int) -> None:
    """One curve with its band of ± 2 standard errors; ∞ on the horizontal axis stands apart, as a marker."""
    rows = sorted(rows, key=lambda row: row[x])
    inner = [row for row in rows if math.isfinite(row[x])]
    look = _look(color, style)
    if inner:
        at = [row[x] for row in inner]
        axis.plot(at, [row["mean"] for row in inner], **look)
        low = [row["mean"] - _BAND * row["standard_error"] for row in inner]
        high = [row["mean"] + _BAND * row["standard_error"] for row in inner]
        axis.fill_between(at, low, high, color=look["color"], alpha=0.2, linewidth=0)
    for row in rows:
        if not math.isfinite(row[x]):
            place = _infinity(rows, x)
            error = _BAND * row["standard_error"]
            axis.errorbar(place, row["mean"], error, capsize=2, **{**look, "linestyle": "none"})


def dress(axis: Axes, x: str, rows: Sequence[Row], log_x: bool) -> None:
    """Grid, spines, and ticks at the values of x, "no privacy" among them."""
    axis.grid(color="#DDDDDD", linewidth=0.6)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(labelsize=8.5)
    if log_x:
        axis.set_xscale("log")
        values = sorted({row[x] for row in rows if row[x] == row[x]})
        finite = _thinned([value for value in values if math.isfinite(value)])
        places, labels = list(finite), [f"{value:.2g}" for value in finite]
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
    """One legend below the picture: colors with their markers, then line styles in black.

    With ``style_of_each`` every color has a line style of its own.
    """
    from matplotlib.lines import Line2D

    handles = [Line2D([], [], linestyle="none", label=label)] if label else []
    for index, name in enumerate(colors):
        style = style_of_each[index] if style_of_each else 0
        handles.append(Line2D([], [], label=name, **_look(index, style)))
    if len(styles) > 1:
        handles.append(Line2D([], [], linestyle="none", label=f"   {style_label}:"))
        for style, name in enumerate(styles):
            look = {**_look(0, style), "color": "black"}
            look["markerfacecolor"] = "black" if style == 0 else "white"
            handles.append(Line2D([], [], label=name, **look))
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=3 if style_of_each else len(handles),
        frameon=False,
        fontsize=9,
        handlelength=3.0,
        columnspacing=1.2,
        title=f"bands: ± {_BAND:g} standard errors",
        title_fontsize=8,
    )


def _look(color: int, style: int) -> dict[str, Any]:
    paint = PALETTE[color % len(PALETTE)]
    return {
        "color": paint,
        "linestyle": _LINES[style],
        "marker": _MARKERS[color % len(_MARKERS)],
        "markersize": 4,
        "linewidth": 1.4,
        "markerfacecolor": paint if style == 0 else "white",
    }


def written(column: str, value: Any) -> str:
    """A value in the legend."""
    if column == "epsilon":
        return "no privacy" if value == math.inf else f"{value:.2g}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _infinity(rows: Sequence[Row], x: str) -> float:
    """Where ∞ stands on a logarithmic axis: past the largest finite value."""
    return 2.2 * max((row[x] for row in rows if math.isfinite(row[x])), default=1.0)


def _thinned(values: list[float], ratio: float = 1.45) -> list[float]:
    """Ticks that don't touch: the largest value, and those a factor apart from the next one kept."""
    kept: list[float] = []
    for value in reversed(values):
        if not kept or kept[-1] / value >= ratio:
            kept.append(value)
    return kept[::-1]
