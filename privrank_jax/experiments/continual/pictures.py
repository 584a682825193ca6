"""The picture of the study ``continual``: deviations of noise, and errors against T and over time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from privrank_jax.experiments.claims import groups, selected
from privrank_jax.experiments.continual.common import (
    ADDED,
    ALONE,
    BOUND,
    END,
    INCREMENTS,
    INDEPENDENT,
    KENDALL,
    LARGEST,
    NOISE,
    ONE,
    PLAIN,
    PURE,
    ROOT,
    SCORE,
    TREE,
)
from privrank_jax.plotting.frame import new_figure
from privrank_jax.plotting.panels import draw_curve, dress, legend
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_LOOKS = {ROOT: 0, TREE: 1, INDEPENDENT: 2, ADDED: 3, ONE: 4, PLAIN: 5, BOUND: 6}
_LABELS = {SCORE: "error of scores", KENDALL: "Kendall's distance"}


def over_time(table: StudyResult) -> Figure:
    """Deviations of the noise, then for each number of comparisons a column of errors: against T, and over time."""
    studies = list(dict.fromkeys(row["study"] for row in table.rows if row["metric"] == SCORE))
    wide = max(len(studies), 3)
    figure = new_figure(3.2 * wide, 12.0)
    axes = figure.subplots(5, wide, squeeze=False)
    steps = sorted({row["steps"] for row in table.rows})
    shown = steps[-2:][0]  # the last but one, if there are several
    _deviations(axes[0, 0], table.rows, "", "largest deviation, Gaussian noise")
    _deviations(axes[0, 1], table.rows, PURE, "largest deviation, Laplace noise")
    _noise(axes[0, 2], table.rows, shown)
    for axis in axes[0, 3:]:
        axis.set_axis_off()
    for column, study in enumerate(studies):
        for line, (metric, x, fixed) in enumerate(
            (
                (SCORE, "steps", {"share": END}),
                (KENDALL, "steps", {"share": END}),
                (SCORE, "share", {"steps": shown}),
                (KENDALL, "share", {"steps": shown}),
            ),
            start=1,
        ):
            wanted = {"study": study, "metric": metric, **fixed}
            note = "after all steps" if x == "steps" else f"{shown:,} steps"
            axis = axes[line, column]
            _curves(axis, selected(table.rows, wanted), x, f"{study}\n{note}")
            axis.set_ylim(bottom=0)
        for line in range(1, 5):
            axes[line, 0].set_ylabel(_LABELS[SCORE if line % 2 else KENDALL], fontsize=8.5)
    for line in range(1, 5):
        for axis in axes[line, len(studies) :]:
            axis.set_axis_off()
    legend(figure, "", [*_LOOKS], "", [], [0] * len(_LOOKS))
    return figure


def _deviations(axis: Axes, rows: Sequence[Row], end: str, title: str) -> None:
    """Largest deviation against T, both logarithmic; ``end`` ends the names of the methods."""
    names = {name: f"{name}{end}" for name in (ROOT, TREE, INDEPENDENT, ADDED, INCREMENTS)}
    if not end:
        names[BOUND] = BOUND
    chosen = selected(rows, {"metric": LARGEST})
    for name, own in names.items():
        color, style = (_LOOKS[ROOT], 1) if name == INCREMENTS else (_LOOKS[name], 0)
        curve = [row for row in chosen if row["estimator"] == own]
        if curve:
            draw_curve(axis, curve, "steps", color, style)
    _against_steps(axis, chosen)
    axis.set_yscale("log")
    axis.set_title(title, fontsize=8.5)
    axis.set_ylabel("in units of one release", fontsize=8.5)
    if end:
        axis.annotate("dashed: increments", (0.04, 0.9), xycoords="axes fraction", fontsize=8)


def _noise(axis: Axes, rows: Sequence[Row], steps: int) -> None:
    wanted = {"study": ALONE, "metric": NOISE, "steps": steps}
    _curves(axis, selected(rows, wanted), "share", f"variance of the noise, {steps:,} steps")
    axis.set_yscale("log")
    axis.set_ylabel("in units of one release", fontsize=8.5)


def _curves(axis: Axes, rows: Sequence[Row], x: str, title: str) -> None:
    for name, color in _LOOKS.items():
        chosen = [row for row in rows if row["estimator"] == name and row["mean"] > 0]
        if chosen:
            draw_curve(axis, chosen, x, color, 0)
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


def last_of_many(table: StudyResult) -> Figure:
    """Kendall's distance of the last leaderboard against T, a panel per crowd."""
    crowds = groups(table.rows, "study", "num_items", "num_users", "per_user")
    names = list(dict.fromkeys(row["estimator"] for row in table.rows))
    figure = new_figure(3.4 * len(crowds), 3.6)
    axes = figure.subplots(1, len(crowds), sharey=True, squeeze=False)[0]
    for axis, ((study, items, users, each), rows) in zip(axes, crowds.items(), strict=True):
        for color, name in enumerate(names):
            draw_curve(axis, selected(rows, {"estimator": name}), "steps", color, 0)
        _against_steps(axis, rows)
        axis.set_ylim(0, 0.55)
        axis.set_title(f"{study}\n{items} items, {users:,} users × {each}", fontsize=8.5)
    axes[0].set_ylabel("Kendall's distance", fontsize=8.5)
    legend(figure, "", names, "", [], [0] * len(names))
    return figure
