"""Arguments of the losses: which types they take, and what is the same for all of them."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import privacy
from privrank_jax.preferences import (
    LOSSES,
    clipped_loss,
    debiased_accuracy,
    dpo_loss,
    randomized_labels,
)

S = jnp.array([1.0, -2.0, 0.5, 3.0])
LABELS, SIGNS = jnp.array([1, 0, 1, 0]), jnp.array([1, -1, 1, -1])
EPSILON = jnp.array([1.0, 2.0, 1.0, 2.0])


@pytest.mark.parametrize("dtype", [jnp.bfloat16, jnp.float16, jnp.int8])
@pytest.mark.parametrize("name", LOSSES)
def test_labels_and_epsilon_of_few_bits_are_taken(name, dtype):
    """Eagerly, where they are checked: NumPy doesn't count bfloat16 among its floats."""
    loss = LOSSES[name]
    exact = loss(S, LABELS, EPSILON)
    np.testing.assert_array_equal(loss(S, LABELS, EPSILON.astype(dtype)), exact)
    np.testing.assert_array_equal(loss(S, LABELS.astype(dtype), EPSILON), exact)
    np.testing.assert_array_equal(loss(S, SIGNS.astype(dtype), EPSILON, coding="-1/1"), exact)
    with pytest.raises(ValueError, match="reports must be 0 or 1"):
        loss(S, LABELS.astype(dtype) + 2, EPSILON)


def test_numbers_of_few_bits_are_taken_beside_the_losses(key):
    half = EPSILON.astype(jnp.bfloat16)
    np.testing.assert_array_equal(
        clipped_loss(S, LABELS, 1.0, clip=jnp.bfloat16(2)), clipped_loss(S, LABELS, 1.0, clip=2.0)
    )
    np.testing.assert_array_equal(
        dpo_loss(S, 0, 0, 0, 1.0, beta=jnp.bfloat16(0.5)), dpo_loss(S, 0, 0, 0, 1.0, beta=0.5)
    )
    found, exact = (debiased_accuracy(S, LABELS, epsilon) for epsilon in (half, EPSILON))
    np.testing.assert_array_equal(jnp.stack(found), jnp.stack(exact))
    information = privacy.report_information(half).astype(float)
    np.testing.assert_allclose(information, privacy.report_information(EPSILON), rtol=0.01)
    reports = privacy.randomized_response(key, LABELS.astype(jnp.bfloat16), jnp.full(4, jnp.inf))
    assert reports.tolist() == LABELS.tolist()
    assert privacy.randomized_response(key, LABELS, half).shape == (4,)
    soft = jnp.array([0.25, 1.0], jnp.bfloat16)
    promise = privacy.Privacy(jnp.inf, unit="comparison", adjacency="flip")
    assert randomized_labels(key, soft, promise).value[1]
