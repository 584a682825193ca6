"""The near forms of the normal link: those of the link itself, in both directions of a pair."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
import scipy.special

from privrank_jax.links import normal
from privrank_jax.pairwise.likelihood import NEAR, mills_ratio, near_bend, near_pull

GAPS = np.concatenate([np.linspace(-2 * NEAR, 2 * NEAR, 401), [0.0, 1e-9, -1e-9]])


def test_near_forms_are_those_of_the_link():
    gap = jnp.asarray(GAPS)
    for won, lost, sign in ((1.0, 0.0, 1), (0.0, 1.0, -1)):
        pull = near_pull(jnp.asarray(won), jnp.asarray(lost), gap)
        np.testing.assert_allclose(sign * pull, normal.score(sign * gap), rtol=1e-12)
        bend = near_bend(jnp.asarray(won), jnp.asarray(lost), gap)
        np.testing.assert_allclose(bend, normal.curvature(sign * gap), rtol=1e-11)


def test_near_forms_in_float32():
    gap = jnp.asarray(GAPS[:-2], jnp.float32)
    for won, lost, sign in ((1.0, 0.0, 1), (0.0, 1.0, -1)):
        won, lost = jnp.float32(won), jnp.float32(lost)
        exact = np.asarray(sign * gap, float)
        pull = np.asarray(sign * near_pull(won, lost, gap))
        np.testing.assert_allclose(pull, normal.score(exact), rtol=1e-5)
        bend = np.asarray(near_bend(won, lost, gap))
        np.testing.assert_allclose(bend, normal.curvature(exact), rtol=1e-3, atol=1e-30)
        assert pull.dtype == bend.dtype == np.float32
        assert np.all(bend >= 0)


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 2e-15), (np.float32, 1e-6)])
def test_the_rational_function_is_mills_ratio(dtype, error):
    x = np.linspace(0, 2 * NEAR, 1001).astype(dtype)
    wanted = np.sqrt(np.pi / 2) * scipy.special.erfcx(x.astype(float) / np.sqrt(2))
    np.testing.assert_allclose(mills_ratio(jnp.asarray(x)), wanted, rtol=error)
