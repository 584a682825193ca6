"""Leaderboards of crowds that compare items unequally: a small run to the end."""

from __future__ import annotations

import jax
import pytest

from privrank_jax import experiments
from privrank_jax.experiments.claims import selected
from privrank_jax.experiments.continual import skewed
from privrank_jax.experiments.continual.common import ONE, PLAIN
from privrank_jax.simulate import run

CROWDS = tuple((6, 4000, 5, near) for near in (False, True))


def test_a_small_run_has_all_ways_and_draws():
    """Scores are better than win totals; more steps, more noise; what is published once does not depend on T."""
    one = experiments.get("continual-exposure").configured(crowds=CROWDS, steps=(1, 40))
    table = one.table(run(jax.random.key(3), one.studies(), 60))
    assert {row["estimator"] for row in table.rows} == {
        PLAIN, ONE, skewed.TOTALS, skewed.SCORES, skewed.FLIP,
    }  # fmt: skip
    for study in ("random opponents", "opponents near in strength"):
        means = {
            (row["estimator"], row["steps"]): row["mean"]
            for row in selected(table.rows, {"study": study})
        }
        for name in (PLAIN, ONE):
            assert means[name, 1] == pytest.approx(means[name, 40])
        for name in (skewed.SCORES, skewed.FLIP):
            assert means[PLAIN, 1] < means[name, 1] < means[name, 40] < means[skewed.TOTALS, 40]
    assert len(one.draw(table).axes) == 2
