"""The picture of the studies of fixed crowds: excess cost in every crowd, against ε and against the number of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from privrank_jax.experiments.alabi.common import EXCESS
from privrank_jax.plotting.frame import new_figure
from privrank_jax.plotting.panels import draw_curve, dress, legend
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SMALLEST = 1e-4  # below it the vertical axis is linear


def costs(
    table: StudyResult, looks: Mapping[str, tuple[int, int]], label: str, styles: Sequence[str]
) -> Figure:
    """For every number of items a line of panels against ε, and one against users if they vary; a column per crowd.

    Args:
        table: tidy.
        looks: estimator to (color, line style).
        label: what line styles stand for.
        styles: their names.
    """
    rows = [row for row in table.rows if row["metric"] == EXCESS and row["estimator"] in looks]
    studies = list(dict.fromkeys(row["study"] for row in rows))
    items = sorted({row["num_items"] for row in rows})
    lines = [line for number in items for line in _lines(rows, number)]
    figure = new_figure(2.3 * len(studies) + 0.6, 2.4 * len(lines) + 0.9)
    axes = figure.subplots(len(lines), len(studies), sharey="row", squeeze=False)
    for row, (number, x, fixed, value, note) in zip(axes, lines, strict=True):
        top = 0.0
        for axis, study in zip(row, studies, strict=True):
            place = (study, number, value)
            chosen = [r for r in rows if (r["study"], r["num_items"], r[fixed]) == place]
            if chosen:
                _curves(axis, chosen, x, looks)
                top = max(top, *(r["mean"] + 2 * r["standard_error"] for r in chosen))
                axis.set_title(f"{study}\nm = {number}, {note}", fontsize=8.5)
            else:
                axis.set_axis_off()
        row[0].set_ylim(-_SMALLEST / 5, max(1.5 * top, 1e-3))
        row[0].set_ylabel("excess cost, share of pairs", fontsize=8.5)
    names = [name for name, (_, style) in looks.items() if style == 0]
    legend(figure, "", names, label, styles)
    return figure


def _lines(rows: Sequence[Row], items: int) -> list[tuple[int, str, str, float, str]]:
    """Lines of panels for m items: m, what varies, what is fixed, its value, and words for it."""
    of = [row for row in rows if row["num_items"] == items]
    users, levels = (sorted({row[x] for row in of}) for x in ("num_users", "epsilon"))
    n, level = users[len(users) // 2], levels[len(levels) // 2]
    found = [(items, "epsilon", "num_users", n, f"n = {n:,}")]
    if len(users) > 1:
        found.append((items, "num_users", "epsilon", level, f"ε = {level:g}"))
    return found


def _curves(axis: Axes, rows: Sequence[Row], x: str, looks: Mapping[str, tuple[int, int]]) -> None:
    for estimator, (color, style) in looks.items():
        chosen = [row for row in rows if row["estimator"] == estimator]
        if chosen:
            draw_curve(axis, chosen, x, color, style)
    dress(axis, x, rows, True)
    axis.set_yscale("symlog", linthresh=_SMALLEST, linscale=0.4)
    axis.set_xlabel("ε" if x == "epsilon" else "users n", fontsize=8.5)
    if x == "num_users":
        values = sorted({row[x] for row in rows})
        axis.set_xticks(values, [f"{value:,}" for value in values], fontsize=8)
