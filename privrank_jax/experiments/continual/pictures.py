"""The picture of the study ``continual``: deviations of noise, and errors against T and over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from privrank_jax.experiments.continual import common
from privrank_jax.experiments.old_claims import selected
from privrank_jax.plotting.frame import new_figure
from privrank_jax.plotting.panels import draw_curves, dress, legend
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_NOISY = (common.ROOT, common.TREE, common.INDEPENDENT, common.ADDED)
_LOOKS = {
    name: (color, 0) for color, name in enumerate((*_NOISY, common.ONE, common.PLAIN, common.BOUND))
}
_LOOKS[common.ENDLESS] = (len(_LOOKS), 2)
_LABELS = {common.SCORE: "error of scores", common.KENDALL: "Kendall's distance"}


def over_time(table: StudyResult) -> Figure:
    """Deviations of the noise, then for each number of comparisons a column of errors: against T, and over time."""
    studies = list(
        dict.fromkeys(row["study"] for row in table.rows if row["metric"] == common.SCORE)
    )
    wide = max(len(studies), 3)
    figure = new_figure(3.2 * wide, 12.0)
    axes = figure.subplots(5, wide, squeeze=False)
    steps = sorted({row["steps"] for row in table.rows if row["metric"] == common.SCORE})
    shown = steps[-2:][0]  # the last but one, if there are several
    _deviations(axes[0, 0], table.rows, "", "largest deviation, Gaussian noise")
    _deviations(axes[0, 1], table.rows, common.PURE, "largest deviation, Laplace noise")
    _noise(axes[0, 2], table.rows, shown)
    for axis in axes[0, 3:]:
        axis.set_axis_off()
    for column, study in enumerate(studies):
        for line, (metric, x, fixed) in enumerate(
            (
                (common.SCORE, "steps", {"share": common.END}),
                (common.KENDALL, "steps", {"share": common.END}),
                (common.SCORE, "share", {"steps": shown}),
                (common.KENDALL, "share", {"steps": shown}),
            ),
            start=1,
        ):
            wanted = {"study": study, "metric": metric, **fixed}
            note = "after all steps" if x == "steps" else f"{shown:,} steps"
            axis = axes[line, column]
            _curves(axis, selected(table.rows, wanted), x, f"{study}\n{note}")
            axis.set_ylim(bottom=0)
        for line in range(1, 5):
            axes[line, 0].set_ylabel(
                _LABELS[common.SCORE if line % 2 else common.KENDALL], fontsize=8.5
            )
    for line in range(1, 5):
        for axis in axes[line, len(studies) :]:
            axis.set_axis_off()
    legend(figure, "", [*_LOOKS], "", [], [line for _, line in _LOOKS.values()])
    return figure


def _deviations(axis: Axes, rows: Sequence[Row], end: str, title: str) -> None:
    """Largest deviation against T, both logarithmic; ``end`` ends the names of the methods."""
    looks = {f"{name}{end}": _LOOKS[name] for name in (*_NOISY, common.ENDLESS)}
    looks[f"{common.INCREMENTS}{end}"] = (0, 1)
    if not end:
        looks[common.BOUND] = _LOOKS[common.BOUND]
    chosen = selected(rows, {"metric": common.LARGEST})
    draw_curves(axis, chosen, "steps", looks)
    _against_steps(axis, chosen)
    axis.set_yscale("log")
    axis.set_title(title, fontsize=8.5)
    axis.set_ylabel("in units of one release", fontsize=8.5)
    if end:
        axis.annotate("dashed: increments", (0.04, 0.9), xycoords="axes fraction", fontsize=8)


def _noise(axis: Axes, rows: Sequence[Row], steps: int) -> None:
    wanted = {"study": common.ALONE, "metric": common.NOISE, "steps": steps}
    _curves(axis, selected(rows, wanted), "share", f"variance of the noise, {steps:,} steps")
    axis.set_yscale("log")
    axis.set_ylabel("in units of one release", fontsize=8.5)


def _curves(axis: Axes, rows: Sequence[Row], x: str, title: str) -> None:
    draw_curves(axis, [row for row in rows if row["mean"] > 0], x, _LOOKS)
    if x == "steps":
        _against_steps(axis, rows)
    else:
        dress(axis, x, rows, False)
        axis.set_xlabel("share of the time", fontsize=8.5)
    axis.set_title(title, fontsize=8.5)


def _against_steps(axis: Axes, rows: Sequence[Row]) -> None:
    dress(axis, "steps", rows, True)
    values = sorted({row["steps"] for row in rows})
    axis.set_xticks(values, [f"{value:,}" for value in values], fontsize=8)
    axis.set_xlabel("steps T", fontsize=8.5)
