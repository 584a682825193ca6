"""Unbiased ranks: exact means by enumeration, items not ranked stay so, the variance against the Laplace
mechanism's."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import mallows

ORDERS = np.array(list(itertools.permutations(range(5))))
CENTERS = np.array([[0, 1, 2, 3, 4], [2, 4, 0, 3, 1]])


@pytest.fixture(scope="module")
def tables():
    """Probabilities ``(ε, center, output)`` of all rankings of 5, and their unbiased ranks, at three ε."""
    epsilons = jnp.array([0.03, 2.0, 40.0])
    each = jax.vmap(mallows.log_prob, in_axes=(0, None, None))
    both = jax.vmap(each, in_axes=(None, 0, None))
    chance = jnp.exp(jax.vmap(both, in_axes=(None, None, 0))(ORDERS, CENTERS, epsilons))
    rows = jax.vmap(mallows.unbiased_ranks, in_axes=(0, None))
    return epsilons, chance, jax.vmap(rows, in_axes=(None, 0))(ORDERS, epsilons)


def test_the_mean_is_the_users_own_rank(tables):
    _, chance, found = tables
    np.testing.assert_allclose(
        jnp.einsum("eco,eoi->eci", chance, found),
        np.broadcast_to(CENTERS, (3, 2, 5)),
        rtol=0,
        atol=1e-9,
    )


def test_limits_and_missing_items():
    np.testing.assert_allclose(mallows.unbiased_ranks([2, 0, 1], jnp.inf), [2, 0, 1])
    part = mallows.unbiased_ranks([2, -1, 0, 1, -7], 3.0)
    np.testing.assert_allclose(part[jnp.array([0, 2, 3])], mallows.unbiased_ranks([2, 0, 1], 3.0))
    assert np.isnan(part[jnp.array([1, 4])]).all()
    assert mallows.unbiased_ranks([0], 0.1).tolist() == [0.0]
    assert mallows.unbiased_ranks([1, 0], jnp.float32(1)).dtype == jnp.float32
    assert mallows.unbiased_ranks(np.uint8([1, 0]), 9.0)[0] > 0.9  # -1 is not an unsigned number
    wide = mallows.unbiased_ranks(np.arange(1000), jnp.float32(1e-3))
    np.testing.assert_allclose(wide + wide[::-1], 999.0, atol=40)  # of values up to 7e6
