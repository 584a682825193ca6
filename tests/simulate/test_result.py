from __future__ import annotations

import html
import math
import sys

import numpy as np
import pytest

from tests.simulate.rows import RESULT


def test_select_row_and_values():
    assert [r["metric"] for r in RESULT.select(epsilon=0.5)] == ["error", "time"]
    assert RESULT.row("error", epsilon=math.inf)["link"] == 'pro"bit, 2'
    assert RESULT.select("error", epsilon=7.0) == []
    assert RESULT.values("epsilon") == [0.5, math.inf]
    for call, word in (
        (lambda: RESULT.row("error"), "2 rows"),
        (lambda: RESULT.select(eps=1), "'eps'"),
        (lambda: RESULT.select("errors"), "'errors'"),
        (lambda: RESULT.values("x"), "'x'"),
    ):
        with pytest.raises(ValueError, match=word):
            call()


def test_a_table_prints_what_varies_and_says_what_does_not():
    lines = str(RESULT).splitlines()
    assert lines[0] == "s: 3 rows; private = True, num_items = 30, replicates = 100"
    assert lines[1].split() == ["epsilon", "link", "metric", "mean", "standard_error"]
    assert lines[2].split() == ["0.5", "logistic", "error", "0.3", "0.01"]
    assert lines[3].split() == ["0.5", "logistic", "time", "-", "0.01"]
    assert lines[4].startswith('        ∞  pro"bit, 2')
    assert RESULT._repr_html_() == f"<pre>{html.escape(str(RESULT))}</pre>"


def test_data_frames(monkeypatch):
    pytest.importorskip("pandas")
    frame = RESULT.to_pandas()
    assert list(frame.columns) == RESULT.columns
    assert frame["num_items"].dtype == np.int64
    assert frame["epsilon"].dtype == np.float64
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="pip install pandas"):
        RESULT.to_pandas()
