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


@pytest.mark.parametrize("needed", [True, False])
def test_one_ranking_is_replaced_where_needed(needed):
    value = replaced(needed, RANKS[0], ranks_of, SCORES[0], 5)
    np.testing.assert_array_equal(value, [5, 7, 6] if needed else RANKS[0])
    assert value.dtype == RANKS.dtype


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


@pytest.mark.parametrize("needed", [True, False])
def test_need_or_ranks_may_be_shared_by_all_replicates(needed):
    shared_need = jax.vmap(lambda ranks: replaced(needed, ranks, ranks_of, SCORES[0], 0))
    want = [ranks_of(KEY, SCORES[0], 0) if needed else row for row in RANKS]
    np.testing.assert_array_equal(shared_need(RANKS), want)
    shared_ranks = jax.vmap(lambda scores: replaced(needed, RANKS[0], ranks_of, scores, 0))
    want = [ranks_of(KEY, row, 0) if needed else RANKS[0] for row in SCORES]
    np.testing.assert_array_equal(shared_ranks(SCORES), want)


def test_worlds_of_replicates():
    """Two levels of vmap, as in studies: worlds, and draws within each."""
    needed = jnp.array([[True, False], [False, True]])
    run = jax.vmap(jax.vmap(lambda need, ranks, scores: replaced(need, ranks, ranks_of, scores, 0)))
    value = run(needed, RANKS.reshape(2, 2, 3), SCORES.reshape(2, 2, 3)).reshape(4, 3)
    want = [ranks_of(KEY, SCORES[0], 0), RANKS[1], RANKS[2], ranks_of(KEY, SCORES[3], 0)]
    np.testing.assert_array_equal(value, want)


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
