"""JAX's random numbers by NumPy, to the last bit."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._host import random
from privrank_jax._host.evaluate import evaluate
from privrank_jax._workarounds.threefry import fused
from tests.host.agreement import assert_agree

DRAWS = {
    "bits": lambda key: [
        jax.random.bits(key, (5,), kind) for kind in (jnp.uint8, jnp.uint16, jnp.uint32, jnp.uint64)
    ],
    "uniform": lambda key: jax.random.uniform(key, (3, 7)),
    "single": lambda key: jax.random.uniform(key, (70,), jnp.float32, -1, 1),
    "integers": lambda key: jax.random.randint(key, (9,), 0, 1000),
    "order": lambda key: jax.random.permutation(key, 11),
    "split": lambda key: jax.random.key_data(jax.random.split(key, (3, 2))),
    "fold": lambda key: jax.random.key_data(jax.random.fold_in(key, 2**32 - 1)),
    "seed": lambda key: [
        jax.random.key_data(jax.random.key(seed)) for seed in (0, 7, -1, 2**40 + 3)
    ],
    "wrapped": lambda key: jax.random.uniform(
        jax.random.wrap_key_data(jnp.arange(2, dtype=jnp.uint32), impl="threefry2x32")
    ),
    "batch": lambda key: jax.vmap(lambda one: jax.random.uniform(one, (4,)))(
        jax.random.split(key, 6)
    ),
    "scan": lambda key: jax.lax.scan(
        lambda k, _: (jax.random.fold_in(k, 1), jax.random.uniform(k)), key, length=4
    )[1],
    "many": lambda key: jax.random.bits(key, (40_000,)),
}


def test_numbers_are_those_of_jax(key):
    assert_agree(DRAWS, key)
    assert_agree({"fused": DRAWS["uniform"]}, fused(key))


def test_keys_come_back_as_keys(key):
    keys = evaluate(lambda one: jax.random.split(one, 3), key)
    np.testing.assert_array_equal(
        jax.random.key_data(keys), jax.random.key_data(jax.random.split(key, 3))
    )
    assert keys.dtype == key.dtype
    np.testing.assert_array_equal(random.keys_as_numbers(keys).shape, (3,))


def test_other_generators_are_not_known(key):
    assert random.is_known_key(key.dtype)
    assert random.is_known_key(np.dtype(float))
    assert not random.is_known_key(jax.random.key(0, impl="rbg").dtype)
