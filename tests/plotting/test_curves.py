from __future__ import annotations

import math

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from privrank_jax import plotting
from tests.plotting.conftest import ROWS


def test_panels_curves_and_labels(curves):
    assert len(curves.axes) == 2
    first, second = curves.axes
    assert first.get_xlabel() == second.get_xlabel() == "number of items m"
    assert (first.get_ylabel(), second.get_ylabel()) == ("relative ℓ₂ error", "top k error")
    assert len(first.get_lines()) == len(second.get_lines()) == 3
    (legend,) = curves.legends
    assert [text.get_text() for text in legend.get_texts()] == ["0.5", "1", "∞"]
    assert legend.get_title().get_text() == "privacy level ε (bands: ± 2 standard errors)"
    assert curves.get_suptitle() == "Edge privacy"


def test_curves_are_sorted_and_bands_are_two_standard_errors(curves):
    axis = curves.axes[0]
    line = axis.get_lines()[0]
    assert list(line.get_xdata()) == [100, 200, 300]
    np.testing.assert_allclose(line.get_ydata(), [1.0, 0.0, -1.0])
    bands = [c for c in axis.collections if isinstance(c, PolyCollection)]
    assert len(bands) == 3
    heights = np.asarray(bands[0].get_paths()[0].vertices)
    at_100 = heights[heights[:, 0] == 100][:, 1]
    np.testing.assert_allclose([at_100.min(), at_100.max()], [0.8, 1.2])


def test_every_curve_looks_different_in_color_and_in_print():
    rows = [{"x": x, "mean": g, "kind": g} for g in range(8) for x in (0, 1)]
    figure = plotting.error_curves(rows, "x", group="kind")
    axis = figure.axes[0]
    assert figure.legends[0].get_title().get_text() == "kind"
    lines = axis.get_lines()
    assert len({line.get_color() for line in lines[:7]}) == 7
    assert len({line.get_marker() for line in lines[:7]}) == 7
    assert lines[7].get_color() == lines[0].get_color()
    assert lines[7].get_linestyle() != lines[0].get_linestyle()
    assert not any(isinstance(c, PolyCollection) for c in axis.collections)


def test_gaps_logarithms_and_empty_places():
    rows = [{"x": x, "mean": math.nan if x == 2 else x, "p": p} for x in (1, 2, 4) for p in "abc"]
    figure = plotting.error_curves(rows, "x", panel="p", columns=2, log_x=True, log_y=True)
    assert [axis.get_title() for axis in figure.axes[:3]] == ["p = a", "p = b", "p = c"]
    assert figure.axes[0].get_xscale() == figure.axes[0].get_yscale() == "log"
    assert np.isnan(np.asarray(figure.axes[0].get_lines()[0].get_ydata())[1])
    assert not figure.axes[3].axison
    assert not figure.legends


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([], {}, "empty"),
        (ROWS, {"group": "eps"}, "no column 'eps'"),
        (ROWS, {"group": "epsilon"}, "two rows"),
        ([{"num_items": math.inf, "mean": 0.0}], {}, "no place on an axis"),
    ],
)
def test_curves_are_checked(rows, options, message):
    with pytest.raises(ValueError, match=message):
        plotting.error_curves(rows, "num_items", **options)
