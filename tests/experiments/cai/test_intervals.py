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


@pytest.mark.slow
def test_intervals_of_a_small_run_cover_with_ties_and_without():
    small = {"sizes": [(12, 4000, 5)], "exposures": [1.0], "epsilons": [1.0]}
    one = experiments.get("cai-intervals").configured(**small)
    table = one.table(run(KEY, one.studies(), 40))
    rows = selected(table.rows, {"metric": intervals.COVERAGE})
    assert [(row["study"], row["games"]) for row in rows] == [
        (study, games) for study in (intervals.RANDOM, intervals.NEARBY) for games in (1, 2)
    ]
    assert min(row["mean"] for row in rows) > 0.88
    assert intervals.fits(table).holds is not None
    assert len(one.draw(table).axes) == 4


def test_all_means_must_cover():
    def holds(*means, exposure=1.0):
        metric = {"metric": intervals.COVERAGE, "exposure": exposure}
        rows = [{**metric, "mean": mean} for mean in means]
        return intervals.covered(StudyResult("t", rows)).holds

    assert holds(0.95, 0.93) is True
    assert holds(0.95, 0.92) is False
    assert holds() is None


def test_widths_are_judged_by_the_errors_of_scores():
    usual = {"exposure": 1.0, "epsilon": 1.0, "games": 1}

    def holds(width, square, **other):
        values = {intervals.WIDTH: width, intervals.ERROR: square}
        rows = [{"metric": name, "mean": one, **usual, **other} for name, one in values.items()]
        return intervals.fits(StudyResult("t", rows)).holds

    assert holds(0.6, 0.04) is True
    assert holds(0.61, 0.04) is False
    assert holds(0.61, 0.04, epsilon=0.3) is None
