"""What estimators return: a pytree, in and out of a batch, and no array."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import Estimate, Guarantee, Privacy, aggregation, metrics, rankings


def test_an_estimate_goes_through_jit_and_vmap_with_all_its_parts():
    def estimate(epsilon):
        promise = Privacy(epsilon, unit="user", adjacency="replace")
        return Estimate(jnp.stack([epsilon, 2 * epsilon]), Guarantee(promise), epsilon > 1)

    batch = jax.jit(jax.vmap(estimate))(jnp.array([0.5, 2.0]))
    np.testing.assert_array_equal(batch.value, [[0.5, 1.0], [2.0, 4.0]])
    np.testing.assert_array_equal(batch.guarantee.epsilon, [0.5, 2.0])
    assert batch.guarantee.unit == "user"
    np.testing.assert_array_equal(batch.diagnostics, [False, True])
    assert len(jax.tree.leaves(Estimate(jnp.zeros(3)))) == 1


@pytest.mark.parametrize(
    "use",
    [
        np.asarray,
        jnp.asarray,
        np.shape,
        lambda found: jnp.ones(2) + found,
        rankings.ranks_from_scores,
        aggregation.copeland,
        lambda found: metrics.kendall_distance(found, jnp.arange(2)),
    ],
)
def test_an_estimate_in_the_place_of_its_value_is_refused_with_the_remedy(use):
    with pytest.raises(TypeError, match=r"\.value"):
        use(Estimate(jnp.ones(2)))
