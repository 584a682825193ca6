"""Probabilities of orders and ranks: equal to those of naive draws, calibrated, and coherent."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise import standard_errors
from privrank_jax.pairwise.intervals import above_probabilities, rank_probabilities

SCORES = [0.4, 0.2, 0.0, -0.1, -0.5]


def uncertainty_of(scores, seed=0):
    rng = np.random.default_rng(seed)
    met = np.triu(rng.integers(20, 90, (len(scores),) * 2), 1)
    return standard_errors(scores, met + met.T)


def test_as_by_draws_from_the_joint_law():
    errors = uncertainty_of(SCORES)
    center, covariance = np.asarray(errors.center, float), np.asarray(errors.covariance, float)
    root = np.linalg.cholesky(covariance + 1e-9 * np.eye(5))
    drawn = center + np.random.default_rng(0).normal(size=(40_000, 5)) @ root.T
    above = np.asarray(above_probabilities(errors), float)
    np.testing.assert_allclose(above, (drawn[:, :, None] > drawn[:, None]).mean(0), atol=0.012)
    np.testing.assert_allclose(above + above.T, 1 - np.eye(5), atol=1e-6)
    order = np.argsort(-drawn, axis=1)
    naive = np.array([(order == item).mean(0) for item in range(5)])
    ranks = np.asarray(rank_probabilities(jax.random.key(0), errors, 40_000), float)
    np.testing.assert_allclose(ranks, naive, atol=0.015)
    np.testing.assert_allclose([ranks.sum(0), ranks.sum(1)], 1, atol=1e-5)


def test_in_batches_as_one_by_one():
    errors = [uncertainty_of(SCORES, seed) for seed in range(3)]
    batch = jax.tree.map(lambda *leaves: jnp.stack(leaves), *errors)
    keys = jax.random.split(jax.random.key(0), 3)
    for function, more in ((above_probabilities, ()), (rank_probabilities, (keys,))):
        alone = [function(*(key[k] for key in more), one) for k, one in enumerate(errors)]
        found = jax.jit(jax.vmap(function))(*more, batch)
        np.testing.assert_allclose(found, np.stack(alone), atol=2e-3)


def test_orders_are_right_as_often_as_stated():
    """Of 400 releases of 20 items, by what was stated; true scores far apart, of which a flat prior knows nothing."""
    errors = uncertainty_of(np.zeros(20))
    root = np.linalg.cholesky(np.asarray(errors.covariance, float) + 1e-6 * np.eye(20))
    rng = np.random.default_rng(1)
    truths = rng.normal(size=(400, 20))
    seen = truths + rng.normal(size=(400, 20)) @ root.T

    @jax.jit
    @jax.vmap
    def chances(scores):
        return above_probabilities(dataclasses.replace(errors, center=scores))

    rows, columns = np.triu_indices(20, 1)
    stated = np.asarray(chances(jnp.asarray(seen, jnp.float32)))[:, rows, columns]
    right = truths[:, rows] > truths[:, columns]
    held = np.maximum(stated, 1 - stated)
    correct = (stated > 0.5) == right
    for low, high in ((0.5, 0.7), (0.7, 0.9), (0.9, 0.99)):
        some = (held >= low) & (held < high)
        assert some.sum() > 500
        assert abs(held[some].mean() - correct[some].mean()) < 0.05


def test_what_is_refused():
    met = np.zeros((4, 4))
    met[0, 1] = met[1, 0] = met[2, 3] = met[3, 2] = 50
    with pytest.raises(ValueError, match="comparisons link"):
        above_probabilities(standard_errors(np.zeros(4), met))
    with pytest.raises(ValueError, match="draws"):
        rank_probabilities(jax.random.key(0), uncertainty_of([0.1, -0.1]), 0)
