"""Ways to select the k best items: shapes of totals, and a small run of the study."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax import experiments
from privrank_jax.experiments.cai import top_lists
from privrank_jax.experiments.claims import minus, selected
from privrank_jax.simulate import run


@pytest.mark.parametrize("shape", [top_lists.FLAT, top_lists.STEEP, top_lists.CLIFF])
def test_totals_decrease_and_are_whole(shape):
    totals = np.asarray(top_lists.totals_of(shape, 12, 4))
    falls = -np.diff(totals)
    assert np.all(falls > 0)
    assert np.all(totals == np.round(totals))
    if shape == top_lists.CLIFF:
        assert np.argmax(falls) == 3


def test_a_small_run_tells_the_mechanisms_apart_and_draws():
    one = experiments.get("cai-top-lists")
    one = one.configured(items=(20,), lists=((3, 1), (3, 3)), epsilons=(0.3, 1.0))
    table = one.table(run(jax.random.key(3), one.studies(), 60))
    assert {claim.text: verdict.word for claim, verdict in one.judged(table)}.popitem()
    held = [verdict.holds for _, verdict in one.judged(table)]
    assert held[0] is held[2] is None  # of 1 and of 10 items, which did not run
    assert all([held[1], *held[3:]])
    gaps = {
        (row["k"], row["changes"]): row["mean"]
        for row in selected(
            table.rows,
            {"study": "flat", "epsilon": 1.0, "estimator": minus("canonical", "one-shot")},
        )
    }
    assert gaps[3, 3] < 0 < gaps[3, 1] + 0.05
    assert len([axis for axis in one.draw(table).axes if axis.axison]) == 6
