"""What the tests of these studies share."""

from __future__ import annotations

import math

import jax
import numpy as np

from privrank_jax.simulate.worlds import reports

KEY = jax.random.key(20261122)


def same(ours, naive, atol=2e-4):
    for name, value in naive.items():
        np.testing.assert_allclose(float(ours[name]), value, rtol=0, atol=atol, err_msg=name)


def uniforms(key, users, pairs):
    """The draws of the first block of users."""
    assert users <= reports.BLOCK
    shape = (reports.BLOCK, pairs)
    return np.asarray(jax.random.uniform(jax.random.fold_in(key, 0), shape))[:users]


def errors(value, theta):
    gap = np.asarray(value) - np.asarray(theta)
    return {"l2_error": math.sqrt(np.mean(gap**2)), "linf_error": np.abs(gap).max()}


def rows_of(means, error=0.01, printed=0.1, printed_error=0.0, replicates=200, **columns):
    return [
        {
            "study": "s", "metric": "l2_error", "estimator": "ADRR", "mean": mean, "standard_error": error,
            "replicates": replicates, "nonfinite": 0, "printed": printed,
            "printed_standard_error": printed_error, "verdict": "", **columns,
        }
        for mean in means
    ]  # fmt: skip
