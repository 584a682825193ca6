"""Pictures of made-up tables: every curve, cloud and box that there is a value for is drawn."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.experiments.xu import pictures
from privrank_jax.simulate.result import StudyResult
from tests.experiments.xu.shared import rows_of


def grid(**constant):
    rows = []
    for items in (10, 20, 40):
        for link in ("BTL", "TM"):
            for estimator in ("ADRR", "RR"):
                (row,) = rows_of(
                    [1 / items + (estimator == "RR")],
                    num_items=items, link=link, estimator=estimator, epsilon=1.0, **constant,
                )  # fmt: skip
                rows.append(row)
    return StudyResult("s", rows)


def test_curves_show_each_estimator_and_the_printed_means():
    figure = pictures.curves(
        grid(), x="num_items", x_label="items m", curve="epsilon", columns=("link",),
        estimators=("ADRR", "RR"),
    )  # fmt: skip
    figure.draw_without_rendering()
    drawn = [axis for axis in figure.axes if axis.axison]
    assert len(drawn) == 2
    for axis in drawn:
        heights = {
            round(float(y), 6) for line in axis.get_lines() for y in np.atleast_1d(line.get_ydata())
        }
        assert {0.1, 0.05, 0.025, 1.1, 1.05, 1.025} <= heights


@pytest.mark.parametrize("estimators", [("ADRR",), ("RR",)])
def test_estimators_that_are_not_asked_for_are_left_out(estimators):
    figure = pictures.curves(
        grid(),
        x="num_items",
        x_label="m",
        curve="epsilon",
        columns=("link",),
        estimators=estimators,
    )
    heights = [
        float(y)
        for axis in figure.axes
        for line in axis.get_lines()
        for y in np.atleast_1d(line.get_ydata())
        if np.isfinite(y)
    ]
    high = [y > 1 for y in heights if abs(y - 0.1) > 1e-9]  # 0.1 is what was printed
    assert any(high) == (estimators == ("RR",))
