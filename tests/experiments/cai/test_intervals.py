"""Crowds that compare items unequally: their world, and coverage of intervals there."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax import experiments
from privrank_jax.experiments.cai import intervals
from privrank_jax.experiments.claims import selected
from privrank_jax.simulate import run, worlds
from privrank_jax.simulate.result import StudyResult

KEY = jax.random.key(3)


def crowd(key, power, near=False, items=12, total=60_000):
    theta, wins = worlds.exposed_comparisons(key, items, total, power, near)
    return np.asarray(theta), np.asarray(wins.matrix)


@pytest.mark.parametrize("near", [False, True])
def test_items_are_shown_as_often_as_the_power_says(near):
    even, skewed = (crowd(KEY, power, near)[1] for power in (0.0, 1.0))
    for wins, least, most in ((even, 0.8, 3.0), (skewed, 3.0, 60.0)):
        shown = np.sort((wins + wins.T).sum(1))
        assert least < shown[-1] / shown[0] < most
        assert wins.sum() == pytest.approx(60_000, rel=0.03)
        assert not np.any(np.diag(wins))


def test_near_opponents_are_near_and_better_items_win():
    far = []
    for near in (False, True):
        theta, wins = crowd(KEY, 0.0, near)
        gap = np.abs(theta[:, None] - theta)
        far.append((wins * gap).sum() / wins.sum())
        won = wins.sum(1) / (wins + wins.T).sum(1)
        assert np.corrcoef(won, theta)[0, 1] > 0.6
        expected = (wins + wins.T) / (1 + np.exp(theta - theta[:, None]))
        assert np.max(np.abs(wins - expected) / np.sqrt(expected + 1)) < 6
    assert far[1] < 0.6 * far[0]


def test_intervals_of_a_small_run_cover():
    one = experiments.get("cai-intervals").configured(sizes=[(6, 2000, 5)])
    table = one.table(run(KEY, one.studies(), 30))
    rows = selected(table.rows, {"metric": intervals.COVERAGE})
    assert [row["study"] for row in rows] == [intervals.RANDOM, intervals.NEARBY]
    assert min(row["mean"] for row in rows) > 0.88
    assert len(one.draw(table).axes) == 2


def test_all_means_must_cover():
    def holds(*means):
        rows = [{"metric": intervals.COVERAGE, "mean": mean} for mean in means]
        return intervals.covered(StudyResult("t", rows)).holds

    assert holds(0.95, 0.93) is True
    assert holds(0.95, 0.92) is False
    assert holds() is None
