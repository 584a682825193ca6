"""Crowds that compare items unequally: their world, the ways of ranking them, and small runs of both studies."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import experiments
from privrank_jax.comparisons import WinCounts
from privrank_jax.experiments.cai import exposure, probabilities
from privrank_jax.experiments.claims import between, selected
from privrank_jax.privacy import Privacy
from privrank_jax.simulate import run, worlds
from privrank_jax.simulate.result import StudyResult

KEY = jax.random.key(3)
SMALL = tuple((6, 2000, 5, 1.0, 1.0, near) for near in (False, True))


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


@pytest.mark.parametrize("way", [exposure.by_product, exposure.by_pairs])
def test_with_next_to_no_noise_every_way_finds_the_order(way):
    theta, wins = crowd(KEY, 0.5)
    asked = Privacy(1e6, unit="user", adjacency="replace", contributions=1)
    scores = np.asarray(way(KEY, WinCounts(jnp.asarray(wins)), asked))
    assert np.corrcoef(scores, theta)[0, 1] > 0.98


@pytest.fixture(scope="module")
def tables():
    found = {}
    for name in ("cai-exposure", "cai-intervals", "cai-probabilities"):
        crowds = SMALL[1:] if name == "cai-exposure" else SMALL[:1]
        one = experiments.get(name).configured(crowds=crowds)
        found[name] = one, one.table(run(KEY, one.studies(), 30))
    return found


def of_both_kinds(table):
    """Rows for each kind of opponents, of which one ran: the programs of both are nearly the same."""
    rows = [
        {**row, "study": kind}
        for kind in ("random opponents", exposure.NEARBY)
        for row in table.rows
    ]
    return StudyResult("t", rows)


def test_small_runs_have_all_ways_and_draw(tables):
    one, table = tables["cai-exposure"]
    names = {row["estimator"] for row in table.rows}
    assert names == {
        exposure.PLAIN, exposure.TOTALS, exposure.PRODUCT, exposure.PAIRS, exposure.REPLACE, exposure.FLIP,
    }  # fmt: skip
    means = {
        row["estimator"]: row["mean"] for row in selected(table.rows, {"study": exposure.NEARBY})
    }
    assert means[exposure.PLAIN] < means[exposure.REPLACE] < means[exposure.TOTALS]
    assert len([axis for axis in one.draw(of_both_kinds(table)).axes if axis.axison]) == 2


def test_intervals_of_a_small_run_cover(tables):
    one, table = tables["cai-intervals"]
    rows = selected(table.rows, {"metric": exposure.COVERAGE})
    assert [row["study"] for row in rows] == ["random opponents"]
    assert rows[0]["mean"] > 0.88
    assert len(one.draw(of_both_kinds(table)).axes) == 2


def test_probabilities_of_a_small_run_are_calibrated(tables):
    one, table = tables["cai-probabilities"]
    found = {(row["study"], row["metric"]): row["mean"] for row in table.rows}
    assert len(found) == 3
    near = "random opponents"
    assert abs(found[near, probabilities.EXCESS]) < 0.05
    assert found[near, probabilities.RANKS] > 0.9
    assert found[near, probabilities.BRIER] < 0.1
    assert len(one.draw(table).axes) == 3


def test_a_claim_is_judged_by_all_means():
    def row(mean, error):
        return {"metric": "coverage", "mean": mean, "standard_error": error, "replicates": 99}

    table = StudyResult("t", [row(0.95, 0.01), row(0.92, 0.01)])

    def holds(**limits):
        return between("", **limits).check(table).holds

    assert holds(least=0.93)
    assert not holds(least=0.93, slack=0.0)
    assert not holds(most=0.9)
    assert holds(most=0.9, metric="width") is None
