from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights
from tests.promises import user

W = np.array([[0, 0.6, 0.5, 0.4], [0.4, 0, 0.55, 0.5], [0.5, 0.45, 0, 0.6], [0.6, 0.5, 0.4, 0]])
ABOVE = np.triu_indices(4, 1)


def test_value_is_clipped_mirrored_and_reads_only_the_upper_half(key):
    other = np.triu(W) + 7 * np.tril(np.ones((4, 4)), -1)
    run = jax.jit(lambda w: aggregation.noise_all(key, PairWeights(w, 1), user(0.5)).value)
    noisy = np.asarray(run(other))
    np.testing.assert_array_equal(noisy, run(W))
    assert {0.0, 1.0} & set(noisy[ABOVE])
    assert noisy.min() == 0
    assert noisy.max() <= 1
    np.testing.assert_array_equal(noisy + noisy.T, 1 - np.eye(4))


def test_masked_items_do_not_count(key):
    """Noise is for the pairs of real items alone, whether their number is traced or not."""
    mask = np.array([True, False, True, True])
    for noise, scale in (("k-norm", 1 / 50), ("laplace", 3 / 50)):
        estimate = aggregation.noise_all(key, PairWeights(W, 100, mask), user(0.5), noise=noise)
        assert float(estimate.diagnostics.noise_scale) == pytest.approx(scale)
        value = np.asarray(estimate.value)
        assert not value[1].any()
        assert not value[:, 1].any()
        np.testing.assert_allclose((value + value.T)[0, 2:], 1)
    alone = aggregation.noise_all(key, PairWeights(W, 100, mask), user(np.inf)).value
    np.testing.assert_allclose(alone[0, 2:], W[0, 2:])
    lonely = aggregation.noise_all(key, PairWeights(W, 100, np.arange(4) == 0), user(1.0))
    assert not np.asarray(lonely.value).any()
