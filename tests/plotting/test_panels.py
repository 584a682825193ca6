"""Panels of studies."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privrank_jax.plotting import curves, frame


def test_curves_have_bands_of_two_standard_errors_and_infinity_stands_apart():
    figure = frame.new_figure(3, 3)
    axis = figure.subplots()
    rows = [
        {"epsilon": epsilon, "mean": mean, "standard_error": 0.5}
        for epsilon, mean in ((math.inf, 1.0), (4.0, 2.0), (1.0, 3.0))
    ]
    curves.draw_curve(axis, rows, "epsilon", 0, 0)
    line, marker = axis.get_lines()[0], axis.get_lines()[1]
    assert list(line.get_xdata()) == [1.0, 4.0]
    assert list(line.get_ydata()) == [3.0, 2.0]
    assert np.all(np.asarray(marker.get_xdata()) > 4.0)
    assert list(marker.get_ydata()) == [1.0]
    assert marker.get_linestyle() == "None"
    band = np.asarray(axis.collections[0].get_paths()[0].vertices)
    at_four = band[band[:, 0] == 4.0][:, 1]
    np.testing.assert_allclose([at_four.min(), at_four.max()], [1.0, 3.0])
    curves.dress(axis, "epsilon", rows, True)
    labels = [tick.get_text() for tick in axis.get_xticklabels()]
    assert labels == ["1", "4", "no\nprivacy"]


@pytest.mark.parametrize("colors", [1, 9])
@pytest.mark.parametrize("styles", [1, 7])
@pytest.mark.parametrize("width", [5.5, 9.6])
def test_a_legend_takes_as_many_rows_as_it_needs(colors, styles, width):
    figure = frame.new_figure(width, 3)
    figure.subplots()
    names = [f"kwiksort of places {k}" for k in range(colors)]
    looks = [f"{10**k:,}" for k in range(styles)]
    curves.legend(
        figure, "x: printed by the paper; color: method", names, "number of users n", looks
    )
    frame.finished(figure, None, "What is private and how. " * 5)
    figure.canvas.draw()
    (legend,) = figure.legends
    extent = legend.get_window_extent()
    assert extent.x0 >= 0
    assert extent.x1 <= figure.bbox.width
    shown = [text.get_text() for text in legend.get_texts()]
    assert {*names, *(looks if styles > 1 else ())} <= set(shown)
    assert figure.axes[0].get_window_extent().height > figure.dpi  # an inch is left of the panel
    for text in legend.get_texts():
        assert text.get_window_extent().x1 <= figure.bbox.width


def test_numbers_in_a_legend_are_written_for_readers():
    values = (100.0, 100, 1000.0, 10_000, 1e6, 0.05, math.inf, "a$b", True)
    written = ["100", "100", "1,000", "10,000", "10⁶", "0.05", "∞", r"a\$b", "True"]
    assert [curves.level_name("n", value) for value in values] == written
    assert curves.level_name("epsilon", math.inf) == "no privacy"
