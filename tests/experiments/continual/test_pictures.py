"""The picture of the study ``continual``."""

from __future__ import annotations

from privrank_jax.experiments.continual import common, pictures
from tests.experiments.rows import row, table


def test_a_column_for_each_number_of_comparisons_below_the_deviations():
    methods = (*common.STRATEGIES, common.ADDED, common.ONE, common.PLAIN)
    rows = [
        row(0.1, 0.01, metric, name, study=study, steps=steps, share=share)
        for study, metrics in (
            ("few", (common.SCORE, common.KENDALL)),
            ("many", (common.SCORE, common.KENDALL)),
            (common.ALONE, (common.NOISE,)),
        )
        for metric in metrics
        for name in methods
        for steps in (10, 100)
        for share in (0.5, common.END)
    ]
    rows += [
        row(2.0, 0.0, common.LARGEST, f"{name}{end}", study=common.ALONE, steps=steps, share=1.0)
        for end, names in (
            ("", (common.ROOT, common.ADDED, common.BOUND)),
            (common.PURE, (common.TREE, common.INCREMENTS)),
        )
        for name in names
        for steps in (10, 100)
    ]
    figure = pictures.over_time(table(*rows))
    shown = [axis for axis in figure.axes if axis.axison]
    assert [len(axis.lines) for axis in shown] == [3, 2, len(methods)] + [len(methods)] * 8
    titles = [axis.get_title() for axis in shown]
    assert titles.count("few\nafter all steps") == titles.count("many\n10 steps") == 2
