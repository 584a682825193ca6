"""The study ``hillebrand``: its crowds, its bounds, and its claims on made-up rows."""

from __future__ import annotations

import math

import jax
import numpy as np
import pytest

from privrank_jax.aggregation import PositionHistograms, dp_footrule
from privrank_jax.aggregation.bounds import Bound
from privrank_jax.aggregation.footrule import footrule_costs
from privrank_jax.experiments.alabi.common import EXCESS, replaced_user
from privrank_jax.experiments.hillebrand import fixed_crowds as crowds
from privrank_jax.experiments.hillebrand import ratio
from tests.experiments.rows import row, table

KEY = jax.random.key(5)


def test_settings_name_their_crowds():
    config = ratio.RatioConfig("s", items=(4, 6), copies=(1,), crowds=(crowds.TURNED, crowds.SUSHI))
    assert ratio.places(config) == [(crowds.TURNED, 4), (crowds.TURNED, 6)]
    held = crowds.stack(ratio.places(config))
    assert held.weights.shape == held.histograms.shape == (2, 6, 6)
    assert not held.weights[0, 4:].any()
    assert not held.histograms[0, :, 4:].any()
    (study,) = ratio.build(config)
    numbers = [cell["crowd"] for cell in study.cells]
    assert [ratio.places(config)[number] for number in numbers] == ratio.places(config)
    assert len(study.groups()) == 1


def test_borda_is_far_from_the_optimum_in_the_crowds_named_and_in_no_others():
    def holds(camps, mallows):
        rows = [
            row(share * 0.3, 0.0, EXCESS, ratio.PLAIN_BORDA, study=name, optimum=0.3)
            for name, share in ((crowds.CAMPS, camps), (crowds.MALLOWS, mallows))
        ]
        return ratio.far_from_optimum(table(*rows), far=crowds.WRONG).holds

    assert holds(0.05, 0.03) is True
    assert holds(0.03, 0.03) is False
    assert holds(0.05, 0.05) is False
    assert ratio.far_from_optimum(table(), far=crowds.WRONG).holds is None


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_proven_error_is_the_mean_of_the_ranges_of_noise(delta):
    """Σ_j E R_j times 1 - 1/(4m-2): exact with Gaussian noise, at most 13 % more in the cube."""
    items, users, draws = 6, 40, 500
    histograms = PositionHistograms.from_ranks(np.tile(np.arange(items), (users, 1)))
    privacy = replaced_user(1.0, delta)

    def ranges(key):
        noise = "gaussian" if delta else "k-norm"
        costs = dp_footrule(key, histograms, privacy, noise=noise).value
        drawn = costs - footrule_costs(histograms)
        return (drawn.max(1) - drawn.min(1)).sum()

    found = np.asarray(jax.jit(jax.vmap(ranges))(jax.random.split(KEY, draws)))
    factor = 1 - 1 / 22
    chance = 4 * factor * found.std() / draws**0.5
    over = ratio.proven(items, users, 1.0, delta).additive - factor * found.mean()
    above = 0.13 * factor * found.mean() if not delta else 0.0
    assert -chance <= over <= chance + above
    assert chance < 0.05 * factor * found.mean()  # so that another scale would fail


def made(mean):
    return row(mean, 0.0001, EXCESS, "footrule", study=crowds.CAMPS, num_users=300, optimum=0.3)


def bound(num_items, num_users, epsilon):
    assert (num_users, epsilon) == (300, 1.0)
    return Bound(1.9, 4.5)


def test_the_ratio_and_the_additive_error_are_the_limit():
    limit = 0.9 * 0.3 + 4.5 / math.comb(made(0.0)["num_items"], 2)
    assert ratio.allowed(bound(10, 300, 1.0), made(0.0)) == pytest.approx(limit)
    for mean, holds in ((0.2, True), (limit - 1e-3, True), (limit + 1e-3, False)):
        verdict = ratio.within(table(made(mean)), method="footrule", bound=bound)
        assert verdict.holds is holds
    assert ratio.within(table(), method="footrule", bound=bound).holds is None
    both = table(made(0.1), made(0.9))
    assert "1 of 2 cells" in ratio.within(both, method="footrule", bound=bound).evidence


def test_rows_get_the_name_and_the_optimum_of_their_crowd():
    config = ratio.RatioConfig("s", items=(4, 6), crowds=(crowds.TURNED,))
    rows = ratio.by_crowd(config, [{"study": "s", "num_items": 6, "crowd": 1}])
    optimum = crowds.crowd(crowds.TURNED, 6).optimum / 15
    assert rows == [{"study": crowds.TURNED, "num_items": 6, "optimum": pytest.approx(optimum)}]
    with pytest.raises(ValueError, match="none of the crowds"):
        ratio.places(ratio.RatioConfig("s", items=(9,), crowds=(crowds.SUSHI,)))
