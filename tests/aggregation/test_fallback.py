"""A fallback that is computed only where it is needed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation.sorting import Sorted

RANKS = jnp.array([[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]])
SCORES = jnp.array([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [1.0, 3.0, 2.0]])
KEY = jax.random.key(0)


def ranks_of(_key, scores, shift):
    return jnp.argsort(jnp.argsort(-scores)) + shift


def replaced(stopped, ranks, compute, *arguments):
    found = Sorted(ranks, jnp.int32(4), jnp.asarray(stopped), KEY)
    return found.or_else(compute, *arguments).ranks


@pytest.mark.parametrize("pattern", [0b0000, 0b0001, 0b0100, 0b1011, 0b1111])
def test_replicates_are_replaced_one_by_one(pattern):
    """Batched values, arguments included, follow their replicate; the others are shared."""
    needed = jnp.array([bool(pattern >> place & 1) for place in range(4)])
    run = jax.vmap(
        lambda need, ranks, scores: replaced(need, ranks, ranks_of, scores, jnp.int32(5))
    )
    want = [
        ranks_of(KEY, SCORES[place], 5) if needed[place] else RANKS[place] for place in range(4)
    ]
    np.testing.assert_array_equal(run(needed, RANKS, SCORES), want)
    np.testing.assert_array_equal(jax.jit(run)(needed, RANKS, SCORES), want)


def test_only_replicates_in_need_are_computed():
    """Counted from within the fallback, which runs as often as there are replicates in need."""
    computed = []

    def counted(key, scores):
        jax.debug.callback(lambda first: computed.append(float(first)), scores[0])
        return ranks_of(key, scores, 0)

    run = jax.jit(jax.vmap(lambda need, ranks, scores: replaced(need, ranks, counted, scores)))
    for needed in ([False] * 4, [False, True, False, True]):
        computed.clear()
        run(jnp.array(needed), RANKS, SCORES).block_until_ready()
        jax.effects_barrier()
        assert sorted(computed) == sorted(float(SCORES[i, 0]) for i in range(4) if needed[i])
