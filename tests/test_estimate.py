"""What estimators return: a pytree, in and out of a batch."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import Estimate, Guarantee, Privacy


def test_an_estimate_goes_through_jit_and_vmap_with_all_its_parts():
    def estimate(epsilon):
        promise = Privacy(epsilon, unit="user", adjacency="replace")
        return Estimate(jnp.stack([epsilon, 2 * epsilon]), Guarantee(promise), epsilon > 1)

    batch = jax.jit(jax.vmap(estimate))(jnp.array([0.5, 2.0]))
    assert isinstance(batch, Estimate)
    np.testing.assert_array_equal(batch.value, [[0.5, 1.0], [2.0, 4.0]])
    np.testing.assert_array_equal(batch.guarantee.epsilon, [0.5, 2.0])
    assert batch.guarantee.unit == "user"
    np.testing.assert_array_equal(batch.diagnostics, [False, True])


def test_without_privacy_there_is_no_guarantee_and_no_leaf_for_it():
    plain = Estimate(jnp.zeros(3))
    assert plain.guarantee is None
    assert plain.diagnostics is None
    assert len(jax.tree.leaves(plain)) == 1
