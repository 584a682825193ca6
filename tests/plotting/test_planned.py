"""Planned errors, and what was asked for."""

from __future__ import annotations

import pytest

from privrank_jax import plotting


def test_errors_fall_with_users_to_what_was_asked():
    rows = [{"users": n, "error": n**-0.5, "upper": 2 * n**-0.5} for n in (10, 100, 1000)]
    figure = plotting.planned_errors(
        rows, {"error": "expected", "upper": "at most"}, (100, 0.1), target=0.05
    )
    (axis,) = figure.axes
    points = {line.get_label(): line.get_xydata().tolist() for line in axis.get_lines()}
    assert points == {
        "expected": [[row["users"], row["error"]] for row in rows],
        "at most": [[row["users"], row["upper"]] for row in rows],
        "asked for": [[0.0, 0.05], [1.0, 0.05]],
        "this plan": [[100.0, 0.1]],
    }
    with pytest.raises(ValueError, match="no column 'other'"):
        plotting.planned_errors(rows, {"other": "x"}, (1, 1))
