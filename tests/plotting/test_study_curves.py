"""All curves of a study at once: a researcher's estimators and metrics, from trial to picture."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import plotting
from privrank_jax.simulate import Study, StudyResult, grid, run

ESTIMATORS = ("mean", "median", "mid-range")
METRICS = ("bias", "error", "misses", "square")


def trial(key, parameters):
    """Three estimators of a center, judged by four metrics; and one number that belongs to none of them."""
    draws = parameters["scale"] * jax.random.normal(key, (9,)) / parameters["epsilon"]
    middle = (draws.max() + draws.min()) / 2
    values = dict(zip(ESTIMATORS, (draws.mean(), jnp.median(draws), middle), strict=True))
    judged = {
        name: {"error": abs(v), "square": v**2, "bias": v, "misses": abs(v) > 1}
        for name, v in values.items()
    }
    return {**judged, "failed": 0}


@pytest.fixture(scope="module")
def result():
    cells = grid(scale=(0.5, 1.0), epsilon=(0.5, 1.0, math.inf))
    return run(jax.random.key(0), Study("center", trial, cells, axes=("estimator", "metric")), 60)


def drawn(figure):
    return [axis for axis in figure.axes if axis.axison]


def some(result, **columns):
    return StudyResult("some", result.select(**columns))


def test_three_estimators_and_four_metrics_are_one_picture(result):
    half = some(result, scale=0.5)
    figure = plotting.study_curves(half, "epsilon", log_x=True)
    axes = drawn(figure)
    assert [axis.get_ylabel() for axis in axes] == list(METRICS)
    assert {axis.get_xlabel() for axis in axes} == {"epsilon"}
    (legend,) = figure.legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert texts == ["color: estimator", *ESTIMATORS]
    for axis, metric in zip(axes, METRICS, strict=True):
        curves = [line for line in axis.get_lines() if len(np.atleast_1d(line.get_xdata())) == 2]
        assert len(curves) == 3
        for line, estimator in zip(curves, ESTIMATORS, strict=True):
            expected = [half.row(metric, estimator=estimator, epsilon=e)["mean"] for e in (0.5, 1)]
            np.testing.assert_allclose(line.get_ydata(), expected)
    figure.draw_without_rendering()


def test_a_panel_column_makes_a_row_of_panels_for_each_metric(result):
    figure = plotting.study_curves(
        finite(result),
        "epsilon",
        {"square": "mean squared error", "error": "mean error"},
        panel="scale",
        from_zero=True,
    )
    axes = drawn(figure)
    assert len(axes) == 4
    assert [axis.get_title() for axis in axes] == ["scale = 0.5", "scale = 1", "", ""]
    assert all(axis.get_ylim()[0] == 0 for axis in axes)
    for axis in axes:  # the errors of the right panels are larger than those of the left ones
        assert axis.get_ylim()[1] > max(np.max(line.get_ydata()) for line in axis.get_lines())
    (axis,) = drawn(
        plotting.study_curves(
            some(result, scale=0.5, metric="square"), "epsilon", log_x=True, log_y=True
        )
    )
    assert 0 < axis.get_ylim()[0] < 0.1  # without noise it is 0


def test_colors_may_be_a_parameter_and_styles_the_estimators(result):
    figure = plotting.study_curves(
        some(result, epsilon=1.0),
        "scale",
        "error",
        curve="epsilon",
        style="estimator",
        names={"median": "the median", "mean": "the mean"},
    )
    (axis,) = drawn(figure)
    lines = axis.get_lines()
    assert len({line.get_color() for line in lines}) == 1
    assert [line.get_linestyle() for line in lines] == ["-", "--", "--"]
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    styles = ["the median", "the mean", "mid-range"]
    assert [text for text in texts if text in styles] == styles
    assert "line: estimator" in figure.legends[0].get_title().get_text()


def test_crosses_stand_where_values_are_printed(result):
    """On the one curve of a table without estimators."""
    rows = [
        {**row, "printed": 0.3 if row["scale"] == 1 else math.nan}
        for row in result.select("error", epsilon=1.0, estimator="mean")
    ]
    rows = [{name: row[name] for name in row if name != "estimator"} for row in rows]
    figure = plotting.study_curves(rows, "scale", crosses="printed")
    crosses = [line for line in drawn(figure)[0].get_lines() if line.get_marker() == "x"]
    assert [list(line.get_ydata()) for line in crosses] == [[0.3]]
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["x: printed; color: study", rows[0]["study"]]


def finite(result, **changes):
    return [row | changes for row in result.rows if math.isfinite(row["epsilon"])]


@pytest.mark.parametrize(
    ("rows", "x", "options", "word"),
    [
        (finite, "epsilon", {}, "two rows"),
        (finite, "scale", {"panel": "epsilon", "metrics": "eror"}, "'eror'"),
        (finite, "scale", {"panel": "epsilons"}, "'epsilons'"),
        (lambda result: result, "epsilon", {"panel": "scale"}, "no place"),
        (lambda result: result.select("failed"), "scale", {}, "no rows"),
        (finite, "scale", {"panel": "epsilon", "log_y": True, "from_zero": True}, "log_y or"),
        (lambda result: finite(result, mean=0.0), "scale", {"panel": "epsilon", "log_y": True}, "above 0"),
    ],
)  # fmt: skip
def test_what_has_no_place_is_refused(result, rows, x, options, word):
    with pytest.raises(ValueError, match=word):
        plotting.study_curves(rows(result), x, **options)
