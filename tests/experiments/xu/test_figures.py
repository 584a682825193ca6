"""Curvature, judged by a line."""

from __future__ import annotations

from privrank_jax.experiments.xu import figures as xu_figures
from privrank_jax.simulate.result import StudyResult
from tests.experiments.xu.shared import rows_of


def test_curvature_is_judged_by_a_line():
    def table(power):
        rows = [
            row
            for items in (10, 20, 30)
            for row in rows_of([items**power] * 30, metric=xu_figures.EIGENVALUE, num_items=items)
        ]
        return StudyResult("s", [{**row, "study": "xu-fig3 num_items"} for row in rows])

    assert xu_figures.straight(table(1), column="num_items").holds is True
    assert xu_figures.straight(table(3), column="num_items").holds is False
