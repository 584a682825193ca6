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


@pytest.mark.parametrize("estimators", [("ADRR", "RR"), ("ADRR",), ("RR",)])
def test_curves_show_each_estimator_that_is_asked_for_and_the_printed_means(estimators):
    figure = pictures.curves(
        grid(), x="num_items", x_label="items m", curve="epsilon", columns=("link",),
        estimators=estimators,
    )  # fmt: skip
    figure.draw_without_rendering()
    drawn = [axis for axis in figure.axes if axis.axison]
    assert len(drawn) == 2
    means = {"ADRR": {0.1, 0.05, 0.025}, "RR": {1.1, 1.05, 1.025}}
    for axis in drawn:
        shown = [np.atleast_1d(line.get_ydata()) for line in axis.get_lines()]
        heights = {round(float(y), 6) for y in np.concatenate(shown)} - {0.1}  # which was printed
        for name, expected in means.items():
            assert (expected - {0.1} <= heights) == (name in estimators)
