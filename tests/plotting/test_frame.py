"""Files of pictures, and what all pictures share."""

from __future__ import annotations

import subprocess
import sys

import pytest

from privrank_jax import plotting


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
