"""The near forms of links: those of the links themselves, in both directions."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.links import laplace, logistic, normal
from privrank_jax.pairwise.near_links import NEAR, near_curvatures, near_scores


@pytest.mark.parametrize("link", [logistic, normal, laplace], ids=lambda link: link.name)
def test_near_forms_of_links_are_their_own(link):
    gap = jnp.asarray(np.concatenate([np.linspace(-2 * NEAR, 2 * NEAR, 401), [0.0, 1e-9, -1e-9]]))
    for one, sign in zip(near_scores(link, gap), (1, -1), strict=True):
        np.testing.assert_allclose(one, link.score(sign * gap), rtol=1e-12)
    for one, sign in zip(near_curvatures(link, gap.astype(jnp.float32)), (1, -1), strict=True):
        np.testing.assert_allclose(one, link.curvature(sign * gap), rtol=2e-3, atol=1e-30)
        assert np.all(np.asarray(one) >= 0)
