"""Figures of the Xu studies: ours with bands and the printed means, scatter plots with lines, boxplots, times."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from privrank_jax.experiments.old_claims import is_difference
from privrank_jax.plotting import PALETTE
from privrank_jax.plotting.curves import study_curves
from privrank_jax.plotting.frame import new_figure
from privrank_jax.plotting.panels import dress
from privrank_jax.simulate.result import StudyResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LABELS = {
    "l2_error": "m^(-1/2) ‖θ̂ - θ‖₂",
    "linf_error": "‖θ̂ - θ‖∞",
    "full_ranking_error": "full ranking error",
    "top_k_error": "top-K error, K = m/2",
    "sigma_error": "|σ̂ - σ|",
    "correct": "share of correct selections",
}


def curves(
    table: StudyResult,
    *,
    x: str,
    x_label: str,
    curve: str,
    columns: tuple[str, ...],
    estimators: Sequence[str],
) -> Figure:
    """Ours with bands, the printed means as black crosses: a row per metric, a column per value of ``columns``."""
    rows = [row for row in table.rows if row["estimator"] in estimators]
    metrics = {row["metric"] for row in rows}
    panels = len({tuple(row[column] for column in columns) for row in rows})
    shown = {metric: label for metric, label in LABELS.items() if metric in metrics}
    narrowest = 5.5 if len(estimators) == 1 else 8.8  # for the legend
    return study_curves(
        rows,
        x,
        shown,
        curve=curve,
        style="estimator",
        panel=columns,
        x_label=x_label,
        curve_label=_spelled(curve),
        names={name: name for name in estimators},
        crosses="printed",
        from_zero=True,
        size=(max(3.0 * panels, narrowest), 2.7 * len(shown) + 0.7) if columns else None,
    )


def methods(table: StudyResult, panels: Sequence[tuple[str, Mapping[str, Any], str]]) -> Figure:
    """Ours and the printed mean of each method: a row per link, a column per panel (metric, columns, subtitle)."""
    rows = [row for row in table.rows if row["estimator"] and not is_difference(row)]
    links = [link for link in dict.fromkeys(row["link"] for row in rows) if link != "-"]
    figure = new_figure(3.6 * len(panels), 2.6 * len(links) + 0.4)
    axes = figure.subplots(len(links), len(panels), sharey="col", squeeze=False)
    for line, link in enumerate(links):
        for column, (metric, wanted, subtitle) in enumerate(panels):
            axis = axes[line, column]
            inside = [
                r
                for r in rows
                if r["link"] in (link, "-")
                and r["metric"] == metric
                and all(r[c] == v for c, v in wanted.items())
            ]
            for place, row in enumerate(inside):
                error = _finite(2 * row["standard_error"])
                axis.errorbar(
                    place - 0.12, row["mean"], error, fmt="o", color=PALETTE[0], capsize=2
                )
                if math.isfinite(row["printed"]):
                    error = 2 * row["printed_standard_error"]
                    axis.errorbar(
                        place + 0.12, row["printed"], error, fmt="x", color="black", capsize=2
                    )
            dress(axis, "", [], False)
            axis.set_xticks(range(len(inside)), [r["estimator"].replace(" ", "\n") for r in inside])
            axis.set_xlim(-0.6, len(inside) - 0.4)
            axis.set_ylabel(LABELS[metric])
            axis.set_title(f"{link}{subtitle}", fontsize=10)
    for axis in axes[0]:
        axis.set_ylim(bottom=0)  # last: it ends the scaling of the shared axes
    figure.supxlabel("dots: ours, crosses: printed; bars: ± 2 standard errors", fontsize=8)
    return figure


def clouds(table: StudyResult, metrics: Sequence[str], x_label: str) -> Figure:
    """One dot per replicate against ``x``, the fitted line and its 95% prediction interval."""
    from privrank_jax.experiments.xu.dots import Line

    links = list(dict.fromkeys(row["link"] for row in table.rows if row["link"]))
    figure = new_figure(3.9 * len(links), 2.9 * len(metrics))
    axes = figure.subplots(len(metrics), len(links), sharex=True, sharey="row", squeeze=False)
    for line, metric in enumerate(metrics):
        for column, link in enumerate(links):
            axis = axes[line, column]
            rows = [r for r in table.rows if r["metric"] == metric and r["link"] == link]
            x, y = (np.array([r[name] for r in rows]) for name in ("x", "mean"))
            axis.plot(x, y, "o", markersize=2.5, color=PALETTE[column], alpha=0.6)
            if len(x) > 2:
                fitted = Line.through(x, y)
                at = np.linspace(x.min(), x.max(), 50)
                middle, half = fitted.predict(at)
                axis.plot(at, middle, color="black", linewidth=1.2)
                axis.fill_between(at, middle - half, middle + half, color="black", alpha=0.12)
                axis.set_title(f"{link}, correlation {fitted.correlation:.2f}", fontsize=10)
            dress(axis, "", [], False)
        axes[line, 0].set_ylabel(LABELS[metric])
    for axis in axes[-1]:
        axis.set_xlabel(x_label)
    return figure


def boxes(table: StudyResult, panels: Sequence[tuple[str, str]], y_label: str) -> Figure:
    """Boxplots of all replicates: a panel per (column, label)."""
    figure = new_figure(4.4 * len(panels), 3.4)
    axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for index, (axis, (column, label)) in enumerate(zip(axes, panels, strict=True)):
        rows = [r for r in table.rows if r["estimator"] and r["study"].endswith(column)]
        values = sorted({r[column] for r in rows})
        data = [[r["mean"] for r in rows if r[column] == value] for value in values]
        axis.boxplot(
            data,
            tick_labels=[f"{value:g}" for value in values],
            medianprops={"color": PALETTE[index]},
            flierprops={"markersize": 2.5},
        )
        dress(axis, "", [], False)
        axis.axhline(0, color="black", linewidth=0.6)
        axis.set_xlabel(label)
    axes[0].set_ylabel(y_label)
    return figure


def times(table: StudyResult) -> Figure:
    """Boxplots of the seconds per estimate against users and against items, logarithmic, with slopes 1 and 2 dashed.

    Boxes are quartiles, whiskers the least and the largest time.
    """
    cells: dict[tuple[int, int], dict[str, float]] = {}
    for row in table.rows:
        cell = cells.setdefault((row["num_users"], row["num_items"]), {})
        cell[row["metric"]] = row["mean"]
    figure = new_figure(9.0, 3.9)
    axes = figure.subplots(1, 2, sharey=True)
    for axis, x, slope, label in ((axes[0], 0, 1, "users L"), (axes[1], 1, 2, "items m")):
        for index, value in enumerate(sorted({cell[1 - x] for cell in cells})):
            curve = {cell[x]: cells[cell] for cell in sorted(cells) if cell[1 - x] == value}
            paint = PALETTE[index % len(PALETTE)]
            at = list(curve)
            axis.bxp(
                [_box(found) for found in curve.values()],
                positions=at,
                widths=[0.12 * point for point in at],
                showfliers=False,
                **{
                    f"{part}props": {"color": paint, "linewidth": 0.9}
                    for part in ("box", "whisker", "cap", "median")
                },
            )
            middle = [found["median_seconds"] for found in curve.values()]
            name = f"{'m' if x == 0 else 'L'} = {value}"
            axis.plot(at, middle, "-", color=paint, linewidth=0.8, label=name)
            guide = [middle[-1] * (point / at[-1]) ** slope for point in at]
            axis.plot(at, guide, color=paint, linewidth=0.7, linestyle=(0, (3, 3)))
        dress(axis, ("num_users", "num_items")[x], table.rows, True)
        axis.set_xscale("log")
        values = sorted({cell[x] for cell in cells})
        axis.set_xticks(values, [str(value) for value in values])
        axis.minorticks_off()
        axis.set_yscale("log")
        axis.set_xlabel(f"{label} (dashed: slope {slope})")
        axis.legend(fontsize=8, frameon=False)
    axes[0].set_ylabel("seconds per estimate")
    return figure


def _box(found: Mapping[str, float]) -> dict[str, float]:
    """What ``Axes.bxp`` draws of one cell's times."""
    names = {
        "whislo": "least_seconds",
        "q1": "lower_quartile_seconds",
        "med": "median_seconds",
        "q3": "upper_quartile_seconds",
        "whishi": "most_seconds",
    }
    return {part: found[metric] for part, metric in names.items()}


def _spelled(column: str) -> str:
    spelled = {"num_items": "items m", "num_users": "users L"}
    return spelled.get(column, column)


def _finite(value: float) -> float:
    return value if math.isfinite(value) else 0.0
