"""Moments against naive ones, merged from any state."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.simulate.moments import BLOCK, Moments
from tests import reference


@pytest.mark.parametrize("count", [2, BLOCK, 3 * BLOCK + 17])
def test_moments_match_the_naive_ones(count):
    values = np.random.default_rng(0).normal(1e3, 1.0, (2, count))
    values[1, ::2] = np.nan
    values[1, -1] = np.inf if count > 2 else values[1, -1]
    values[1, 0] = 7.0
    moments = Moments(1, 2, count)
    for part in np.array_split(values, 5, axis=1):
        moments.add(part)
    for series, found in zip(
        values, moments.rows(0, {"study": "s"}, [{"metric": "a"}, {"metric": "b"}]), strict=True
    ):
        mean, error, nonfinite = reference.mean_and_error(series)
        assert found["mean"] == pytest.approx(mean, rel=1e-14)
        assert found["standard_error"] == pytest.approx(error, rel=1e-10)
        assert (found["replicates"], found["nonfinite"]) == (count, nonfinite)
