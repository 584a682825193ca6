"""Steps that end with tenths of the time, and deviations of noise by strategy."""

from __future__ import annotations

import pytest

from privrank_jax.experiments.continual.common import (
    ADDED,
    BOUND,
    ENDLESS,
    INCREMENTS,
    INDEPENDENT,
    PURE,
    ROOT,
    deviations,
    ends_of,
)
from privrank_jax.experiments.continual.streams import CONFIG
from privrank_jax.privacy import gaussian_scale
from privrank_jax.privacy.prefix_sums import prefix_sum_errors


def test_the_scale_is_that_of_a_single_release():
    alone = gaussian_scale(10 * 2**0.5, 1.0, 1e-6)  # √2 for each of L = 10 comparisons
    assert CONFIG.scale == pytest.approx(float(alone))


def test_tenths_end_with_steps():
    assert ends_of(1) == {10: 1}
    assert ends_of(10) == {tenth: tenth for tenth in range(1, 11)}
    assert ends_of(365)[1] == 37
    assert ends_of(365)[10] == 365


def test_deviations_are_those_of_the_strategies():
    """365 steps, as the pages print them: 2.94 for the square root, 19.1 and 356 otherwise, 2.58 at least.

    Without a last step 3.75, and 16.9 where noise is Laplace.
    """
    found = deviations(CONFIG, 365)
    largest = {name: float(values.max()) for name, values in found.items()}
    assert largest[ROOT] == pytest.approx(2.94, abs=5e-3)
    assert largest[ENDLESS] == pytest.approx(3.75, abs=5e-3)
    assert largest[f"{ENDLESS}{PURE}"] == pytest.approx(16.9, abs=5e-2)
    assert largest[INDEPENDENT] == pytest.approx(365**0.5)
    assert largest[ADDED] == pytest.approx(356, abs=0.5)
    assert largest[BOUND] == pytest.approx(2.58, abs=5e-3)
    laplace = prefix_sum_errors("increments", 365, "laplace").max()
    assert largest[f"{INCREMENTS}{PURE}"] == laplace
