"""The study ``continual``: steps that end with tenths of the time, deviations of noise, and claims on made-up rows."""

from __future__ import annotations

import pytest

from privrank_jax import experiments
from privrank_jax.experiments import continual
from privrank_jax.experiments.continual import (
    ADDED,
    BOUND,
    ENDLESS,
    INCREMENTS,
    INDEPENDENT,
    LARGEST,
    NOISE,
    PURE,
    ROOT,
)
from privrank_jax.privacy import gaussian_scale
from privrank_jax.privacy.prefix_sums import prefix_sum_error_bound, prefix_sum_errors
from tests.experiments.rows import p_of, row, table

P = p_of("continual")


def test_the_scale_is_that_of_a_single_release():
    alone = gaussian_scale(10 * 2**0.5, 1.0, 1e-6)  # √2 for each of L = 10 comparisons
    assert continual.scale(P) == pytest.approx(float(alone))


def test_tenths_end_with_steps():
    assert continual.ends_of(1) == {10: 1}
    assert continual.ends_of(10) == {tenth: tenth for tenth in range(1, 11)}
    assert continual.ends_of(365)[1] == 37
    assert continual.ends_of(365)[10] == 365


def test_deviations_are_those_of_the_strategies():
    """365 steps, as the pages print them: 2.94 for the square root, 19.1 and 356 otherwise, 2.58 at least.

    Without a last step 3.75, and 16.9 where noise is Laplace.
    """
    found = continual.deviations(P, 365)
    largest = {name: float(values.max()) for name, values in found.items()}
    assert largest[ROOT] == pytest.approx(2.94, abs=5e-3)
    assert largest[ENDLESS] == pytest.approx(3.75, abs=5e-3)
    assert largest[f"{ENDLESS}{PURE}"] == pytest.approx(16.9, abs=5e-2)
    assert largest[INDEPENDENT] == pytest.approx(365**0.5)
    assert largest[ADDED] == pytest.approx(356, abs=0.5)
    assert largest[BOUND] == pytest.approx(2.58, abs=5e-3)
    laplace = prefix_sum_errors("increments", 365, "laplace").max()
    assert largest[f"{INCREMENTS}{PURE}"] == laplace


def deviation(name, steps, mean):
    return row(mean, 0.0, LARGEST, name, study=continual.ALONE, steps=steps, share=continual.END)


def test_claims_compare_deviations():
    bound = prefix_sum_error_bound(100)
    for share, holds in ((1.19, True), (1.21, False)):
        rows = table(deviation(ROOT, 100, share * bound), deviation(BOUND, 100, bound))
        assert continual.within(rows, ROOT, (BOUND,), 1.2).holds is holds
    rows = [deviation(ROOT, steps, 2.0) for steps in (1, 10)]
    rows += [deviation(ENDLESS, 1, 3.0), deviation(ENDLESS, 10, 2.6)]
    for most, least, holds in (
        (1.35, 10, True),
        (1.25, 10, False),
        (1.35, 1, False),
        (2, 11, None),
    ):
        assert continual.within(table(*rows), ENDLESS, (ROOT,), most, least).holds is holds


def test_a_claim_compares_simulated_noise_with_the_formula():
    variance = prefix_sum_errors("square-root", 10, "gaussian")[4] ** 2
    (claim,) = (one for one in experiments.get("continual").claims if "simulated" in one.text)
    for off, holds in ((0.03, True), (-0.05, False)):
        one = row(variance + off, 0.01, NOISE, ROOT, steps=10, share=0.5)
        assert claim.check(table(one)).holds is holds
    assert claim.check(table()).holds is None
