"""Pictures of the studies of personal rankings: accuracy against users or ε, a curve per method."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from privrank_jax.experiments.cai.pictures import draw_curve, dress, legend, new_figure
from privrank_jax.experiments.rdp.common import LAPLACE, MALLOWS
from privrank_jax.experiments.rdp.training import (
    ACCURACY,
    LINEAR,
    NO_PRIVACY,
    RAW_LAPLACE,
    UNBIASED,
    UTILITY,
)
from privrank_jax.simulate.result import Row, StudyResult

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Of each method the style of its line; its color is its place among those of the picture.
_STYLES: Mapping[str, int] = {
    MALLOWS: 0,
    LAPLACE: 0,
    UNBIASED: 1,
    RAW_LAPLACE: 1,
    LINEAR: 2,
    NO_PRIVACY: 2,
}


def networks(table: StudyResult) -> Figure:
    """Accuracy against n: a row per m, a column per ε."""
    rows = [row for row in table.rows if row["metric"] == ACCURACY and row["estimator"] in _STYLES]
    items = sorted({row["num_items"] for row in rows})
    levels = sorted({row["epsilon"] for row in rows})
    figure = new_figure(2.5 * len(levels) + 0.6, 2.6 * len(items) + 0.9)
    axes = figure.subplots(len(items), len(levels), sharex=True, sharey=True, squeeze=False)
    for line, number in enumerate(items):
        for column, level in enumerate(levels):
            inside = [r for r in rows if (r["num_items"], r["epsilon"]) == (number, level)]
            axis = axes[line, column]
            _draw(axis, inside, "num_users", False)
            axis.set_title(f"m = {number}, ε = {level:g}", fontsize=9.5)
            if line == len(items) - 1:
                axis.set_xlabel("users n, 100 of them held out")
        axes[line, 0].set_ylabel("pairwise accuracy")
    _legend(figure, rows)
    return figure


def groups(table: StudyResult) -> Figure:
    """Accuracy against n, a panel per ε."""
    rows = [row for row in table.rows if row["metric"] == ACCURACY and row["estimator"] in _STYLES]
    levels = sorted({row["epsilon"] for row in rows})
    figure = new_figure(max(3.4 * len(levels), 7.4), 4.2)
    axes = figure.subplots(1, len(levels), sharey=True, squeeze=False)[0]
    for axis, level in zip(axes, levels, strict=True):
        _draw(axis, [row for row in rows if row["epsilon"] == level], "num_users", True)
        axis.set_title(f"ε = {level:g}", fontsize=9.5)
        axis.set_xlabel("users n")
        users = sorted({row["num_users"] for row in rows})
        axis.set_xticks(users, [f"{number:,}" for number in users])
    axes[0].set_ylabel("accuracy over the population's pairs")
    _legend(figure, rows)
    return figure


def sushi(table: StudyResult) -> Figure:
    """Relative utility against ε."""
    rows = [row for row in table.rows if row["metric"] == UTILITY and row["estimator"] in _STYLES]
    figure = new_figure(7.4, 4.4)
    axis = figure.subplots()
    _draw(axis, rows, "epsilon", False)
    axis.set_xlabel("ε")
    axis.set_ylabel("accuracy over that without privacy")
    _legend(figure, rows)
    return figure


def _draw(axis: Axes, rows: Sequence[Row], x: str, log_x: bool) -> None:
    for color, name in enumerate(_methods(rows)):
        draw_curve(axis, (r for r in rows if r["estimator"] == name), x, color, _STYLES[name])
    dress(axis, x, rows, log_x)


def _legend(figure: Figure, rows: Sequence[Row]) -> None:
    names = _methods(rows)
    legend(figure, "", names, "", [], [_STYLES[name] for name in names])


def _methods(rows: Sequence[Row]) -> list[str]:
    known = {row["estimator"] for row in rows}
    return [name for name in _STYLES if name in known]
