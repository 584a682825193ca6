"""Panels of studies, and what all pictures share: files, numbers, what is imported."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest

from privrank_jax import plotting
from privrank_jax.plotting import curves, frame
from tests.quick import thorough


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


@pytest.mark.parametrize(
    ("colors", "styles", "width"), [thorough(1, 7, 5.5), thorough(9, 1, 9.6), (9, 7, 5.5)]
)
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
    values = (0.0, 100.0, 100, 1000.0, 10_000, 1e6, 0.05, 3e-5, math.inf, "a$b", True)
    written = [
        "0", "100", "100", "1,000", "10,000", "10⁶", "0.05", "3e-05", "∞", r"a\$b", "True"
    ]  # fmt: skip
    assert [curves.level_name("n", value) for value in values] == written
    assert curves.level_name("epsilon", math.inf) == "no privacy"


def test_save_writes_what_the_suffix_says(tmp_path):
    figure = plotting.ranking_intervals(["a"], [1.0], [0.0], [2.0])
    plotting.save(figure, tmp_path / "a.png")
    plotting.save(figure, tmp_path / "a.pdf")
    assert (tmp_path / "a.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    assert (tmp_path / "a.pdf").read_bytes()[:5] == b"%PDF-"
    for refused in (lambda path: plotting.save(figure, path), plotting.check_picture):
        with pytest.raises(ValueError, match=r"\.png"):
            refused(tmp_path / "a.xyz")
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
