"""The claims of the study ``continual`` on made-up rows."""

from __future__ import annotations

import pytest

from privrank_jax.experiments.continual import common, streams
from privrank_jax.privacy.prefix_sums import prefix_sum_error_bound, prefix_sum_errors
from tests.experiments.rows import row, table


def deviation(name, steps, mean):
    return row(mean, 0.0, common.LARGEST, name, study=common.ALONE, steps=steps, share=common.END)


def test_claims_compare_deviations_with_the_bound():
    bound = prefix_sum_error_bound(100)
    for share, holds in ((1.19, True), (1.21, False)):
        rows = [
            deviation(common.ROOT, 100, share * bound),
            deviation(common.BOUND, 100, bound),
        ]
        assert streams.near_bound(table(*rows)).holds is holds
    assert streams.near_bound(table()).holds is None
    for most, holds in ((9, True), (8, False)):
        rows = [deviation(common.ROOT, 100, 2.99)]
        assert streams.like_few(table(*rows), most=most).holds is holds
    assert streams.like_few(table(), most=1).holds is None


def test_claims_compare_what_needs_no_last_step_with_what_does():
    rows = [deviation(common.ROOT, steps, 2.0) for steps in (1, 10)]
    rows += [deviation(common.ENDLESS, 1, 3.0), deviation(common.ENDLESS, 10, 2.6)]
    for most, least, holds in ((1.35, 10, True), (1.25, 10, False), (1.35, 1, False)):
        found = streams.as_without_end(table(*rows), "", (common.ROOT,), most=most, least=least)
        assert found.holds is holds
    assert streams.as_without_end(table(*rows), "", (common.ROOT,), most=2, least=11).holds is None


def test_a_claim_compares_simulated_noise_with_the_formula():
    config = common.ContinualConfig("s", 1.0, 10, steps=(10,))
    variance = prefix_sum_errors("square-root", 10, "gaussian")[4] ** 2

    def holds(mean):
        one = row(mean, 0.01, common.NOISE, common.ROOT, steps=10, share=0.5)
        return streams.as_computed(table(one), config=config).holds

    assert holds(variance + 0.03) is True
    assert holds(variance - 0.05) is False
    assert streams.as_computed(table(), config=config).holds is None


def test_comparisons_are_split_into_tenths():
    with pytest.raises(ValueError, match="multiples of 10"):
        streams.build(common.ContinualConfig("s", 1.0, 10, per_pair=(15,)))
