"""Curves of studies: which panels and curves there are, and which rows are refused."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from privrank_jax.plotting import study_curves

ESTIMATORS, METRICS, EPSILONS = ("mle", "counts"), ("error", "bias"), (0.5, 1.0, math.inf)
ROWS = [
    {
        "study": "s", "epsilon": epsilon, "num_items": items, "estimator": estimator, "metric": metric,
        "mean": items / 100 + ESTIMATORS.index(estimator) + 10 * METRICS.index(metric),
        "standard_error": 0.0, "replicates": 100, "nonfinite": 0,
    }
    for epsilon, items, estimator, metric in itertools.product(EPSILONS, (10, 20), ESTIMATORS, METRICS)
]  # fmt: skip


def drawn(figure):
    return [axis for axis in figure.axes if axis.axison]


def heights(axis):
    return {
        round(float(y), 6)
        for line in axis.get_lines()
        for y in np.atleast_1d(line.get_ydata())
        if np.isfinite(y)
    }


def test_each_metric_and_value_has_a_panel_with_a_curve_for_each_estimator():
    figure = study_curves(ROWS, "epsilon", panel="num_items", log_x=True)
    figure.draw_without_rendering()
    panels = drawn(figure)
    assert len(panels) == 4
    assert {frozenset(heights(axis)) for axis in panels} == {
        frozenset({size / 100 + shift, size / 100 + shift + 1})
        for size, shift in itertools.product((10, 20), (0, 10))
    }


def test_metrics_are_chosen_ordered_and_labeled():
    some = [row for row in ROWS if row["num_items"] == 10]
    (axis,) = drawn(study_curves(some, "epsilon", {"bias": "how far"}, log_x=True))
    assert axis.get_ylabel() == "how far"
    assert min(heights(axis)) > 9
    both = drawn(study_curves(some, "epsilon", ("bias", "error"), log_x=True))
    assert [axis.get_ylabel() for axis in both] == ["bias", "error"]


def test_two_rows_for_one_point_are_refused():
    with pytest.raises(ValueError, match=r"two rows for .*name the column"):
        study_curves(ROWS, "epsilon", log_x=True)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"x": "eps"}, "eps"),
        ({"x": "epsilon", "curve": "method"}, "method"),
        ({"x": "epsilon", "metrics": "none", "log_x": True}, "none"),
    ],
)
def test_what_is_not_there_is_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        study_curves(ROWS, panel="num_items", **arguments)


def test_infinity_has_a_place_on_logarithmic_axes_only():
    with pytest.raises(ValueError, match="epsilon = inf has no place on this axis"):
        study_curves(ROWS, "epsilon", panel="num_items")
