"""All curves of a study at once: a researcher's estimators and metrics, from trial to picture."""

from __future__ import annotations

import itertools
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


def test_a_study_without_estimators_is_one_curve(result):
    rows = [
        {name: value for name, value in row.items() if name != "estimator"}
        for row in result.select("error", scale=0.5, estimator="mean")
    ]
    figure = plotting.study_curves(rows, "epsilon", log_x=True)
    texts = [text.get_text() for text in figure.legends[0].get_texts()]
    assert texts == ["color: study", rows[0]["study"]]


def test_a_panel_column_makes_a_row_of_panels_for_each_metric(result):
    finite = StudyResult("finite", [r for r in result.rows if math.isfinite(r["epsilon"])])
    figure = plotting.study_curves(
        finite,
        "epsilon",
        {"square": "mean squared error", "error": "mean error"},
        panel="scale",
        x_label="ε",
        from_zero=True,
        title="Three ways to the center",
    )
    axes = drawn(figure)
    assert len(axes) == 4
    assert [axis.get_title() for axis in axes] == ["scale = 0.5", "scale = 1", "", ""]
    assert [a.get_ylabel() for a in axes] == ["mean squared error", "", "mean error", ""]
    assert [a.get_xlabel() for a in axes] == ["", "", "ε", "ε"]
    assert all(axis.get_ylim()[0] == 0 for axis in axes)
    for axis in axes:  # the errors of the right panels are larger than those of the left ones
        assert axis.get_ylim()[1] > max(np.max(line.get_ydata()) for line in axis.get_lines())
    assert figure.get_suptitle() == "Three ways to the center"


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


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"x": "epsilon"}, "two rows for .* name the column that tells them apart"),
        ({"x": "scale", "panel": "epsilon", "metrics": "eror"}, r"no metric \['eror'\] in these"),
        ({"x": "scale", "panel": "epsilons"}, "no column 'epsilons' in this table"),
        ({"x": "epsilon", "panel": "scale"}, "epsilon = inf has no place on an axis"),
    ],
)
def test_what_has_no_place_is_refused(result, options, message):
    x = options.pop("x")
    if x == "epsilon" and "panel" not in options:
        result = StudyResult("finite", [r for r in result.rows if r["epsilon"] < 2])
    with pytest.raises(ValueError, match=message):
        plotting.study_curves(result, x, **options)


def test_an_empty_table_is_refused(result):
    with pytest.raises(ValueError, match="no rows to draw"):
        plotting.study_curves(some(result, metric="failed"), "scale")


def test_six_methods_and_three_sizes_have_a_whole_legend(result):
    rows = [
        {**result.rows[0], "metric": "error", "method": f"method number {k}", "n": n, "epsilon": epsilon,
         "mean": (1 + k) / epsilon / n**0.5, "standard_error": 0.6 / n}
        for k, n, epsilon in itertools.product(range(6), (100.0, 1000.0, 10_000.0), (0.1, 1.0))
    ]  # fmt: skip
    figure = plotting.study_curves(rows, "epsilon", curve="method", style="n", log_x=True)
    figure.canvas.draw()
    (legend,) = figure.legends
    texts = [text for text in legend.get_texts() if text.get_text().strip()]
    assert [t.get_text() for t in texts if "method" not in t.get_text()] == [
        "100",
        "1,000",
        "10,000",
    ]
    assert len(texts) == 9
    for text in (*texts, legend.get_title()):
        assert 0 <= text.get_window_extent().x0 <= text.get_window_extent().x1 <= figure.bbox.width


def test_vertical_axes_may_be_logarithmic(result):
    chosen = some(result, scale=0.5, metric="square")
    figure = plotting.study_curves(chosen, "epsilon", log_x=True, log_y=True)
    (axis,) = drawn(figure)
    assert axis.get_yscale() == "log"
    assert all("mathdefault" not in tick.get_text() for tick in axis.get_yticklabels())
    least = min(row["mean"] for row in chosen.rows if row["mean"])
    assert 0 < axis.get_ylim()[0] < least  # and without noise it is 0
    assert axis.get_ylim()[0] > least / 100
    (plain,) = drawn(plotting.study_curves(chosen, "epsilon", log_x=True))
    assert plain.get_yscale() == "linear"
    none = [{**row, "mean": 0.0} for row in chosen.rows]
    for rows, options, message in (
        (none, {}, "no mean of 'square' is above 0"),
        (chosen, {"from_zero": True}, "leave out log_y or from_zero"),
    ):
        with pytest.raises(ValueError, match=message):
            plotting.study_curves(rows, "epsilon", log_y=True, log_x=True, **options)
