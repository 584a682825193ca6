"""Figures of the Cai studies: small multiples, calibrations side by side, color-blind safe."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from privrank_jax.experiments import old_claims as claims
from privrank_jax.experiments.cai.common import COUNTS, L2, LINF, MLE, TOP
from privrank_jax.plotting.curves import study_curves
from privrank_jax.plotting.frame import new_figure
from privrank_jax.plotting.panels import draw_curve, dress, legend
from privrank_jax.simulate.result import StudyResult

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_CALIBRATIONS = {
    "published": "published noise",
    "tight replace": "tight noise, replacement",
    "tight flip": "tight noise, flips",
}
_METRICS = {
    LINF: "log relative ℓ∞ error of θ",
    L2: "log relative ℓ₂ error of θ",
    TOP: "top-k error",
}
_ESTIMATORS = {
    MLE: "MLE",
    COUNTS: "counts",
}  # counts last, so that they stay visible where curves coincide


def all_errors(table: StudyResult, *, x: str, curve: str, label: str) -> Figure:
    """Errors against x, one color per value of ``curve``: a row per metric, a column per calibration.

    One of x and ``curve`` is ε, which has ∞ at the right as "no privacy"; ``label`` is that of the other.
    """
    rows = [row for row in table.rows if row["estimator"] in _ESTIMATORS]
    # A grid that varies more columns than the paper's has more panels.
    further = [
        column
        for column in ("num_items", "num_users", "probability")
        if column not in (x, curve) and len({row.get(column) for row in rows}) > 1
    ]
    return study_curves(
        rows,
        x,
        _METRICS,
        curve=curve,
        style="estimator",
        panel=("calibration", *further),
        x_label="ε" if x == "epsilon" else label,
        curve_label=label if x == "epsilon" else "ε",
        names=_CALIBRATIONS | _ESTIMATORS,
        log_x=x == "epsilon",
        size=None if further else (9.6, 8.2),
    )


def one_shot(table: StudyResult) -> Figure:
    """Top-k error of all methods against the number of items at each ε, then against ε."""
    # The estimator, calibration and line style of each method.
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


def coverage(table: StudyResult) -> Figure:
    """Coverage of 95 % intervals and whatever else was measured, a bar each crowd."""
    metrics = list(dict.fromkeys(row["metric"] for row in table.rows))
    crowds = len(table.rows) / len(metrics)
    figure = new_figure(4.0 + 2.2 * len(metrics), 1.2 + 0.3 * crowds)
    axes = figure.subplots(1, len(metrics), sharey=True)
    for axis, metric in zip(axes, metrics, strict=True):
        rows = claims.selected(table.rows, {"metric": metric})[::-1]
        labels = [
            f"{row['study']}, {row['num_items']} items, {row['num_users']:,} × {row['per_user']}, "
            f"1/rank^{row['exposure']:g}{', ties' * (row['games'] > 1)}, ε = {row['epsilon']:g}"
            for row in rows
        ]
        axis.barh(labels, [row["mean"] for row in rows], color="#4477aa")
        axis.tick_params(labelsize=7.5)
        axis.set_xlabel(metric, fontsize=9)
        if "coverage" in metric:
            axis.axvline(0.95, color="#222222", linewidth=1)
    return figure


def surveys(table: StudyResult) -> Figure:
    """Mean rank difference against ε: a row per survey, a column per family of calibrations.

    Ties are half a win for both, where the study has that.
    """
    counted = dict.fromkeys(row.get("ties") for row in table.rows if row["estimator"])
    shown = "half" if "half" in counted else next(iter(counted))
    rows = [row for row in table.rows if row["estimator"] and row.get("ties") == shown]
    names = list(dict.fromkeys(row["data"] for row in rows))
    columns = (
        ("published noise", (("published", 0),)),
        ("tight noise, L questions", (("tight replace", 0), ("tight flip", 1))),
        (
            "Laplace noise, public questionnaire",
            (("questionnaire replace", 0), ("questionnaire flip", 1)),
        ),
        (
            "K-norm noise, public questionnaire",
            (("questionnaire replace, K-norm", 0), ("questionnaire flip, K-norm", 1)),
        ),
    )
    figure = new_figure(12.4, 3.1 * len(names) + 0.6)
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
            axis.set_title(f"{name}: {title}", fontsize=9.5)
            axis.set_xlabel("ε")
        axes[line, 0].set_ylabel("mean rank difference")
        axes[line, 0].set_ylim(bottom=0)  # after all curves: it ends the scaling of the shared axes
    legend(figure, "", list(_ESTIMATORS.values()), "adjacency", ["replace (and published)", "flip"])
    return figure
