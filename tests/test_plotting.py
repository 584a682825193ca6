from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from matplotlib.collections import PolyCollection

from privrank_jax import plotting

ROWS = [
    {
        "study": "s",
        "epsilon": epsilon,
        "num_items": size,
        "metric": metric,
        "mean": offset - size / 100 + 1 / min(epsilon, 9.0),
        "standard_error": 0.1,
    }
    for metric, offset in (("l2_error", 0.0), ("top_k_error", 3.0))
    for epsilon in (0.5, 1.0, math.inf)
    for size in (300, 100, 200)
]


@pytest.fixture
def curves():
    return plotting.error_curves(
        ROWS,
        "num_items",
        group="epsilon",
        panel="metric",
        x_label="number of items m",
        y_label={"l2_error": "relative ℓ₂ error"},
        group_label="privacy level ε",
        title="Edge privacy",
    )


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


def test_ranking_has_the_best_on_top_and_the_guarantee_below():
    figure = plotting.ranking_intervals(
        ["low", "high", "middle"],
        [-1.0, 1.0, 0.0],
        [-1.5, 0.5, math.nan],
        [-0.5, 1.5, math.nan],
        "ε = 1 for each user",
        title="Private ranking",
    )
    (axis,) = figure.axes
    assert [t.get_text() for t in axis.get_yticklabels()] == ["3. low", "2. middle", "1. high"]
    assert axis.get_xlabel() == "score (log-odds)"
    assert axis.get_title() == "Private ranking"
    assert [text.get_text() for text in figure.texts] == ["ε = 1 for each user"]
    assert len(axis.get_lines()) == 3
    assert len(axis.collections) == 2  # no interval where its ends are NaN
    with pytest.raises(ValueError, match="one entry per item"):
        plotting.ranking_intervals(["a"], [1.0, 2.0], [0.0], [3.0])
    with pytest.raises(ValueError, match="does not hold"):
        plotting.ranking_intervals(["a"], [1.0], [2.0], [3.0])


def test_save_writes_what_the_suffix_says(curves, tmp_path):
    plotting.save(curves, tmp_path / "a.png")
    plotting.save(curves, tmp_path / "a.pdf")
    assert (tmp_path / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert (tmp_path / "a.pdf").read_bytes()[:5] == b"%PDF-"
    with pytest.raises(ValueError, match=r"use \.png"):
        plotting.save(curves, tmp_path / "a.xyz")
    assert len(list(tmp_path.iterdir())) == 2


def test_missing_matplotlib_is_explained(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"privrank-jax\[plot\]"):
        plotting.ranking_intervals(["a"], [1.0], [0.0], [2.0])


def test_import_needs_no_matplotlib_and_drawing_no_pyplot():
    code = (
        "import sys, privrank_jax.plotting as p; assert 'matplotlib' not in sys.modules;"
        "p.ranking_intervals(['a'], [1.0], [0.0], [2.0]);"
        "assert 'matplotlib.pyplot' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_event_probabilities_show_events_and_what_the_claim_allows(tmp_path):
    frequencies = np.array([[0.5, 0.2], [0.01, 0.001], [0.0, 0.3]])
    figure = plotting.event_probabilities(
        frequencies, 1.0, delta=0.01, chosen=(0.5, 0.2), title="t"
    )
    (axis,) = figure.axes
    assert (axis.get_xscale(), axis.get_yscale()) == ("log", "log")
    upper, lower, events, chosen = axis.lines
    np.testing.assert_allclose(events.get_xydata(), frequencies[:2])
    np.testing.assert_allclose(chosen.get_xydata(), [[0.5, 0.2]])
    x, y = (np.asarray(data) for data in upper.get_data())
    inside = y < 2
    np.testing.assert_allclose(y[inside], np.e * x[inside] + 0.01, rtol=1e-12)
    x, y = (np.asarray(data) for data in lower.get_data())
    np.testing.assert_allclose(y[x > 0.1], (x[x > 0.1] - 0.01) / np.e, rtol=1e-12)
    plotting.save(figure, tmp_path / "events.png")
    with pytest.raises(ValueError, match="more draws"):
        plotting.event_probabilities([[0.0, 0.1]], 1.0)


def test_a_picture_that_cannot_be_written_is_refused_early():
    plotting.check_picture("a.png")
    with pytest.raises(ValueError, match=r"use \.png"):
        plotting.check_picture("a.exe")
