"""Moments against naive ones, merged from any state."""

from __future__ import annotations

import math

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


def test_moments_go_on_from_any_state():
    values = np.random.default_rng(1).normal(size=(2, 2 * BLOCK + 100))
    values[0, ::3] = np.nan
    values = np.concatenate([values, values[:, ::-1]], axis=1)
    whole = Moments(2, 2, values.shape[1] // 2)
    whole.add(values)
    rows = [list(whole.rows(cell, {}, [{"metric": "a"}, {"metric": "b"}])) for cell in (0, 1)]
    for stop in (1, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK + 100, values.shape[1]):
        first, second = (Moments(2, 2, whole.replicates) for _ in range(2))
        first.add(values[:, :stop])
        second.restore({name: array.copy() for name, array in first.state().items()})
        assert second.position == stop
        second.add(values[:, stop:])
        assert [
            list(second.rows(cell, {}, [{"metric": "a"}, {"metric": "b"}])) for cell in (0, 1)
        ] == rows
    few = Moments(1, 2, 2)
    few.add(np.array([[3.0, np.nan], [np.nan, np.inf]]))
    one, none = few.rows(0, {}, [{"metric": "one"}, {"metric": "none"}])
    assert (one["mean"], one["nonfinite"], none["nonfinite"]) == (3.0, 1, 2)
    assert all(math.isnan(v) for v in (one["standard_error"], none["mean"]))
