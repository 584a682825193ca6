"""Figures of the studies of synthetic rankings: estimates with exact values and bounds, and accuracy by method."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING

from privrank_jax.experiments.old_claims import is_difference
from privrank_jax.experiments.rdp import common
from privrank_jax.plotting import PALETTE
from privrank_jax.plotting.frame import new_figure
from privrank_jax.plotting.panels import draw_curve, draw_curves, dress, legend
from privrank_jax.simulate.result import StudyResult
from privrank_jax.simulate.table_files import Row

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_DASHED = (0, (4, 2))
# The line style of each method; its color is its position among the methods of the figure.
_STYLES: Mapping[str, int] = {
    common.MALLOWS: 0,
    common.LAPLACE: 0,
    common.UNBIASED: 1,
    common.RAW_LAPLACE: 1,
    common.LINEAR: 2,
    common.NO_PRIVACY: 2,
}


def concordance(table: StudyResult) -> Figure:
    """Share of pairs in order against ε, a panel per m; below, the gain of Mallows over Laplace in pairs."""
    sizes = sorted({row["num_items"] for row in table.rows})
    figure = new_figure(2.7 * len(sizes) + 0.4, 5.6)
    axes = figure.subplots(2, len(sizes), squeeze=False)
    for column, items in enumerate(sizes):
        pairs = items * (items - 1) / 2
        chosen = [row for row in table.rows if row["num_items"] == items]
        shares = [_scaled(row, pairs) for row in chosen]
        for color, name in enumerate(("Mallows", "Laplace")):
            _with_exact(axes[0, column], [r for r in shares if r["estimator"] == name], color)
        gains = [row for row in chosen if is_difference(row)]
        _with_exact(axes[1, column], gains, 2)
        for line in range(2):
            dress(axes[line, column], "epsilon", chosen, True)
            _ticks(
                axes[line, column], {row["epsilon"] for row in chosen}, (0.1, 0.5, 1, 2, 5, 10, 30)
            )
        axes[0, column].set_title(f"m = {items} ({pairs:g} pairs)", fontsize=9.5)
        axes[0, column].set_ylim(0.45, 1.02)
        axes[1, column].set_ylim(bottom=0)
        axes[1, column].set_xlabel("ε")
    axes[0, 0].set_ylabel("pairs in order, share")
    axes[1, 0].set_ylabel("gain of Mallows, pairs")
    names = ["Mallows", "Laplace noise on ranks", "Mallows minus Laplace"]
    legend(figure, "", names, "", [])
    figure.suptitle("marks: sampled means; lines: exact expectations", fontsize=9)
    return figure


def _ticks(axis: Axes, values: Collection[float], wanted: Sequence[float]) -> None:
    """Ticks at the wanted values that occur; at all values if none does."""
    shown = [value for value in wanted if value in values] or sorted(values)
    axis.set_xticks(shown, [f"{value:g}" for value in shown])


def _scaled(row: Row, by: float) -> Row:
    return {**row, **{name: row[name] / by for name in ("mean", "standard_error", "exact")}}


def _with_exact(axis: Axes, rows: Sequence[Row], color: int) -> None:
    """Draw markers with error bars, and a line through the exact values."""
    rows = sorted(rows, key=lambda row: row["epsilon"])
    paint = PALETTE[color]
    axis.plot([r["epsilon"] for r in rows], [r["exact"] for r in rows], color=paint, linewidth=1.2)
    axis.errorbar(
        [r["epsilon"] for r in rows],
        [r["mean"] for r in rows],
        [2 * r["standard_error"] for r in rows],
        color=paint,
        marker="os^"[color],
        markersize=4,
        linestyle="none",
        capsize=2,
    )


def counting(table: StudyResult) -> Figure:
    """The estimate minus ε against ε, a panel per m, with its expected value and the band of chance."""
    sizes = sorted({row["num_items"] for row in table.rows})
    figure = new_figure(3.1 * len(sizes) + 0.4, 3.6)
    axes = figure.subplots(1, len(sizes), sharey=True, squeeze=False)[0]
    for axis, items in zip(axes, sizes, strict=True):
        rows = sorted(
            (row for row in table.rows if row["num_items"] == items), key=lambda r: r["epsilon"]
        )
        at = [row["epsilon"] for row in rows]

        def beyond(name: str, rows: Sequence[Row] = rows) -> list[float]:
            return [row[name] - row["epsilon"] for row in rows]

        axis.fill_between(at, beyond("low"), beyond("high"), color="#BBBBBB", alpha=0.5, linewidth=0,
                          label="where 99.9% fall if the law is exact")  # fmt: skip
        axis.plot(at, beyond("expected"), color="black", linestyle=_DASHED, linewidth=1,
                  label="expected of the estimator")  # fmt: skip
        axis.axhline(0, color=PALETTE[1], linewidth=1, label="ε (exact loss)")
        axis.plot(at, beyond("mean"), color=PALETTE[0], marker="o", markersize=4, linestyle="none",
                  label="estimated by counting")  # fmt: skip
        dress(axis, "epsilon", rows, False)
        axis.set_title(f"m = {items}", fontsize=9.5)
        axis.set_xlabel("ε")
    axes[0].set_ylabel("estimate of ε, less ε")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False, fontsize=8.5)
    return figure


def attack_by_epsilon(table: StudyResult) -> Figure:
    """Error of the attack against N: a panel per m, a curve per ε."""
    levels = sorted({row["epsilon"] for row in table.rows})
    return _attack(table, "num_items", lambda m: f"m = {m}", "epsilon", levels, "color: ε")


def attack_adaptive(table: StudyResult) -> Figure:
    """Error of the attack against N: a panel per scheme, a curve per m."""
    sizes = sorted({row["num_items"] for row in table.rows})
    return _attack(table, "scheme", lambda s: f"ε = {s}", "num_items", sizes, "color: m")


def _attack(
    table: StudyResult,
    panel: str,
    title: Callable[[object], str],
    curve: str,
    values: Sequence[float],
    label: str,
) -> Figure:
    panels = list(dict.fromkeys(row[panel] for row in table.rows))
    figure = new_figure(3.4 * len(panels) + 0.4, 3.9)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axis, value in zip(axes, panels, strict=True):
        inside = [row for row in table.rows if row[panel] == value]
        for color, level in enumerate(values):
            rows = [row for row in inside if row[curve] == level]
            draw_curve(axis, [r for r in rows if r["metric"] == "wrong"], "num_rankings", color, 0)
            bounds = sorted(
                (r for r in rows if r["metric"] == "lower_bound"), key=lambda r: r["num_rankings"]
            )
            axis.plot(
                [row["num_rankings"] for row in bounds],
                [row["mean"] for row in bounds],
                color=PALETTE[color],
                linestyle=_DASHED,
                linewidth=1,
            )
        dress(axis, "num_rankings", inside, True)
        _ticks(axis, {row["num_rankings"] for row in inside}, (10, 20, 50, 100, 200, 400))
        axis.set_title(title(value), fontsize=9.5)
        axis.set_ylim(-0.02, 1)
        axis.set_xlabel("synthetic rankings N")
    axes[0].set_ylabel("P(ranking not recovered)")
    legend(figure, label, [f"{value:g}" for value in values], "", [])
    note = "; the same for m = 4 and 5" if panel == "scheme" and {4, 5} <= set(values) else ""
    figure.suptitle(f"dashed: lower bound for any attack{note}", fontsize=9)
    return figure


def networks(table: StudyResult) -> Figure:
    """Accuracy against n: a row per m, a column per ε."""
    rows = [
        row
        for row in table.rows
        if row["metric"] == common.ACCURACY and row["estimator"] in _STYLES
    ]
    items = sorted({row["num_items"] for row in rows})
    levels = sorted({row["epsilon"] for row in rows})
    figure = new_figure(2.5 * len(levels) + 0.6, 2.6 * len(items) + 0.9)
    axes = figure.subplots(len(items), len(levels), sharex=True, sharey=True, squeeze=False)
    for line, number in enumerate(items):
        for column, level in enumerate(levels):
            inside = [r for r in rows if (r["num_items"], r["epsilon"]) == (number, level)]
            axis = axes[line, column]
            _draw(axis, inside, "num_users")
            axis.set_title(f"m = {number}, ε = {level:g}", fontsize=9.5)
            if line == len(items) - 1:
                axis.set_xlabel("users n, 100 of them held out")
        axes[line, 0].set_ylabel("pairwise accuracy")
    _legend(figure, rows)
    return figure


def sushi(table: StudyResult) -> Figure:
    """Relative utility against ε."""
    rows = [
        row for row in table.rows if row["metric"] == common.UTILITY and row["estimator"] in _STYLES
    ]
    figure = new_figure(7.4, 4.4)
    axis = figure.subplots()
    _draw(axis, rows, "epsilon")
    axis.set_xlabel("ε")
    axis.set_ylabel("accuracy over that without privacy")
    _legend(figure, rows)
    return figure


def _draw(axis: Axes, rows: Sequence[Row], x: str) -> None:
    draw_curves(axis, rows, x, {n: (color, _STYLES[n]) for color, n in enumerate(_methods(rows))})
    dress(axis, x, rows, False)


def _legend(figure: Figure, rows: Sequence[Row]) -> None:
    names = _methods(rows)
    legend(figure, "", names, "", [], [_STYLES[name] for name in names])


def _methods(rows: Sequence[Row]) -> list[str]:
    known = {row["estimator"] for row in rows}
    return [name for name in _STYLES if name in known]
