"""Synthetic rankings: counts, ratios and claims on kept pairs."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from privrank_jax import experiments
from privrank_jax.experiments.rdp import common as rdp_common
from privrank_jax.experiments.rdp import synthetic as rdp_synthetic
from privrank_jax.simulate.result import StudyResult
from tests.experiments.rdp.shared import KEY, row


def test_counts_are_those_of_the_law_of_each_input():
    one, draws = jnp.asarray(1.0), 70_000  # two chunks and a part of a third
    count = jax.jit(lambda key, center: rdp_synthetic.count_rankings(key, center, one, draws))
    law = rdp_common.mallows_law(3, 1.0)
    for place, center in enumerate(rdp_common.neighbors(3)[:3]):
        counts = np.asarray(count(jax.random.fold_in(KEY, place), jnp.asarray(center)))
        assert counts.sum() == draws
        assert stats.chisquare(counts, draws * law[place]).pvalue > 1e-6
        assert stats.chisquare(counts, draws * law[(place + 1) % 3]).pvalue < 1e-6


def test_the_estimate_is_the_largest_log_ratio_with_the_first_input():
    counts = np.array([[10, 20, 0], [5, 20, 0], [40, 10, 0]])
    assert float(rdp_synthetic.largest_ratio(jnp.asarray(counts))) == pytest.approx(math.log(4))
    empty = np.array([[10, 0], [10, 3]])
    assert float(rdp_synthetic.largest_ratio(jnp.asarray(empty))) == math.inf


def test_the_band_is_that_of_multinomial_counts():
    law, draws = rdp_common.mallows_law(3, 1.0), 20_000
    found = rdp_synthetic.null_means(law, draws, 1)
    rng = np.random.default_rng(0)
    counts = np.stack([rng.multinomial(draws, row, size=2000) for row in law], axis=1)
    logs = np.log(counts)
    twin = np.max(np.abs(logs[:, :1] - logs[:, 1:]), axis=(1, 2))
    error = math.hypot(found.std() / math.sqrt(4000), twin.std() / math.sqrt(2000))
    assert abs(found.mean() - twin.mean()) < 5 * error
    assert found.std() == pytest.approx(twin.std(), rel=0.1)
    means = rdp_synthetic.null_means(law, draws, 16)
    assert means.std() == pytest.approx(found.std() / 4, rel=0.1)


def counted(mean, **more):
    known = {"exact": 1.0, "expected": 1.02, "low": 1.0, "high": 1.05}
    return StudyResult("t", [{**row(mean), "metric": "estimated_epsilon", **known, **more}])


def test_claims_on_counting():
    assert rdp_synthetic.within_band(counted(1.03)).holds is True
    assert rdp_synthetic.within_band(counted(1.06)).holds is False
    assert rdp_synthetic.within_band(counted(0.99)).holds is False
    assert rdp_synthetic.perfect_match(counted(1.03)).holds is False
    assert rdp_synthetic.perfect_match(counted(0.99)).holds is None
    assert rdp_synthetic.exact_loss(counted(1.0)).holds is True
    assert rdp_synthetic.exact_loss(counted(1.0, exact=1.1)).holds is False


def test_claims_on_kept_pairs():
    def gains(*exact, mean=None):
        return StudyResult("t", [
            row(value if mean is None else mean, estimator=rdp_synthetic.GAIN, exact=value, num_items=5 * (k + 1))
            for k, value in enumerate(exact)
        ])  # fmt: skip

    assert rdp_synthetic.keeps_more(gains(0.5, 1.0)).holds is True
    assert rdp_synthetic.keeps_more(gains(0.5, -0.1)).holds is False
    assert rdp_synthetic.keeps_more(gains(0.5, mean=-1.0)).holds is False
    assert rdp_synthetic.gain_grows(gains(0.5, 1.0), share=False).holds is True
    assert rdp_synthetic.gain_grows(gains(0.5, 1.0), share=True).holds is False
    assert rdp_synthetic.gain_grows(gains(0.5), share=True).holds is None
    exact = experiments.get("rdp-fig2").claims[0]
    assert exact.check(gains(0.5, 1.0)).holds is True
    assert exact.check(gains(0.5, mean=0.6)).holds is False
