from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.pairwise.intervals import critical_at, critical_of, critical_tables
from privrank_jax.pairwise.uncertainty import totals_standard_errors
from tests import reference
from tests.quick import quick_jit


def critical_value(alpha, share):
    share = jnp.asarray(share)
    return critical_at(critical_of(jnp.asarray(alpha, share.dtype)), share)


def test_critical_values_solve_their_equation():
    shares = jnp.array([0.0, 0.01, 0.1, 0.5, 0.9, 1.0])
    solve = jax.jit(critical_value)
    for alpha in (0.3, 0.05, 1e-4):
        for mixed, value in zip(shares.tolist(), solve(alpha, shares).tolist()):
            tail = reference.gaussian_laplace_tail(value, min(max(mixed, 1e-5), 1 - 1e-5))
            # An error of 1e-3 in the value is one of 1e-3 times -d log tail/d log value in the tail.
            np.testing.assert_allclose(tail, alpha, rtol=1e-3 * value**2 + 2e-3)
    single = solve(jnp.float32(0.01), shares.astype(jnp.float32))
    assert single.dtype == jnp.float32
    np.testing.assert_allclose(single, solve(0.01, shares), rtol=1e-3)


def test_mixtures_of_noises_have_the_tails_of_their_first_moments():
    """A sum of unequal Laplace variables and a Gaussian, a million draws: α within 5 %, far tails within 15 %."""
    rng, solve = np.random.default_rng(5), jax.jit(critical_value)
    weights = np.array([1.0, 0.4, 0.4, 0.2])
    noise = rng.laplace(size=(1_000_000, 4)) @ weights
    for width in (0.0, 1.0):
        error = np.abs(noise + width * rng.standard_normal(noise.size))
        variance = 2 * np.sum(weights**2) + width**2
        kurtosis = 3 * 4 * np.sum(weights**4) / variance**2
        for alpha, slack in ((0.05, 0.05), (0.005, 0.15)):
            reach = float(solve(alpha, np.sqrt(kurtosis / 3))) * np.sqrt(variance)
            np.testing.assert_allclose(np.mean(error > reach), alpha, rtol=slack)


def test_one_search_finds_the_values_of_items_and_of_differences():
    errors = totals_standard_errors(np.zeros(5), np.zeros((5, 5)), mask=np.arange(5) < 4)
    tables = jax.jit(critical_tables)(errors, 0.9)
    shares, solve, at = np.array([0.0, 0.3, 1.0]), jax.jit(critical_value), quick_jit(critical_at)
    for table, count in zip(tables, (1, 4, 3, 6)):
        np.testing.assert_allclose(at(table, shares), solve(0.1 / count, shares), rtol=1e-12)
