"""Planned costs: what is proven, expected and asked for, and what has no place on the axis."""

from __future__ import annotations

import pytest

from privrank_jax import plotting


def test_costs_stand_beside_what_was_asked():
    figure = plotting.planned_costs(
        [
            {"method": "good", "proven_cost": 2.0, "expected_cost": 0.5},
            {"method": "exact", "proven_cost": 3.0, "expected_cost": 0.0},
            {"method": "bad", "proven_cost": 12.0, "expected_cost": None},
        ],
        most=10.0,
        least=0.01,
        target=1.0,
    )
    (axis,) = figure.axes
    assert [tick.get_text() for tick in axis.get_yticklabels()] == ["good", "exact", "bad"]
    points = {line.get_label(): line.get_xydata().tolist() for line in axis.get_lines()}
    assert points == {
        "proven": [[2.0, 2.0], [3.0, 1.0]],
        "nothing is proven": [[10.0, 0.0]],
        "expected": [[0.5, 2.0]],
        "expected, below 0.01": [[0.01, 1.0]],
        "asked for": [[1.0, 0.0], [1.0, 1.0]],
    }
    order = {line.get_label(): line.get_zorder() for line in axis.get_lines()}
    assert order["asked for"] < order["proven"]  # they meet where the plan is what was asked for
    assert axis.get_xscale() == "log"
    low, high = axis.get_xlim()
    assert 0.005 < low < 0.01
    assert 10 < high < 12
    with pytest.raises(ValueError, match="no methods"):
        plotting.planned_costs([], most=1.0)
    with pytest.raises(ValueError, match="'expected_cost'"):
        plotting.planned_costs([{"method": "x", "proven_cost": 1.0}], most=1.0)


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
