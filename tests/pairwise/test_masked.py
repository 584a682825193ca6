"""Scores and pairs of items of which some are masked."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise.masked import between_real, center, count_items, mean_degree, real

THETA = np.array([[3.0, 1.0], [0.5, 7.0], [1.0, 0.0], [-2.0, 4.0]])  # of two problems
PAIRS = np.arange(32.0).reshape(4, 4, 2)
MASK = np.array([[True, True], [True, False], [True, True], [False, True]])


def naive(theta, pairs, mask):
    kept = [i for i in range(len(theta)) if mask[i]]
    mean = sum(theta[i] for i in kept) / len(kept)
    centered = [theta[i] - mean if mask[i] else 0.0 for i in range(len(theta))]
    between = [
        [pairs[i][j] if mask[i] and mask[j] else 0.0 for j in range(len(theta))]
        for i in range(len(theta))
    ]
    return len(kept), centered, between, max(mean, 1.0)


@pytest.mark.parametrize("masked", [False, True])
def test_of_one_problem_and_of_many(masked):
    mask = MASK if masked else np.ones_like(MASK)
    wanted = [naive(THETA[:, lane], PAIRS[..., lane], mask[:, lane]) for lane in range(2)]

    def check(theta, pairs, given, found):
        degrees = real(theta, given)
        ours = (
            count_items(theta, given),
            center(theta, given),
            between_real(pairs, given),
            mean_degree(degrees, given),
        )
        for one, other in zip(ours, found, strict=True):
            np.testing.assert_allclose(jnp.broadcast_to(one, np.shape(other)), other, atol=1e-12)

    together = [np.stack(parts, -1) for parts in zip(*wanted, strict=True)]
    check(jnp.asarray(THETA), jnp.asarray(PAIRS), jnp.asarray(mask) if masked else None, together)
    for lane in range(2):
        one = jnp.asarray(mask[:, lane]) if masked else None
        check(jnp.asarray(THETA[:, lane]), jnp.asarray(PAIRS[..., lane]), one, wanted[lane])


def test_padding_takes_the_place_of_masked_scores():
    assert real(jnp.arange(3.0), jnp.array([True, False, True]), -1.0).tolist() == [0.0, -1.0, 2.0]
    assert int(count_items(jnp.arange(2.0), jnp.array([False, False]))) == 1
