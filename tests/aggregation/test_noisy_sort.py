"""Several private sorts as one program against each of them alone."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.aggregation import PairWeights, dp_kwiksort, hay_kwiksort
from privrank_jax.aggregation.dp_sorting import facts_of, hay_plan, kwiksort_plan, noisy_sort
from tests.promises import user

ITEMS, RUNS = 7, 40


def weights(key):
    upper = np.triu(np.asarray(jax.random.uniform(key, (ITEMS, ITEMS))), 1)
    w = upper + np.tril(1 - upper.T, -1)
    return PairWeights(jnp.asarray(w), 30, jnp.asarray(np.arange(ITEMS) < ITEMS - 1))


def test_stacked_plans_find_what_each_function_finds_with_its_key(key):
    """Laplace and Gaussian sorts and one that shuffles: ranks, queries and excess, bit for bit."""
    given, pure, loose, queries = weights(key), user(1.0), user(1.0, 1e-6), 8
    _, facts = facts_of(given, "a test")
    plans = (
        kwiksort_plan(pure, facts, max_queries=queries)[0],
        kwiksort_plan(loose, facts, noise="gaussian", max_queries=queries)[0],
        hay_plan(pure, facts, max_queries=queries),
    )
    stacked = jax.tree.map(lambda *x: np.stack([np.asarray(one) for one in x]), *plans)

    def one(key, plan):
        return noisy_sort(key, jnp.asarray(given.matrix), plan, given.mask, shuffled=True)

    keys = jax.random.split(key, RUNS)
    together = jax.jit(jax.vmap(jax.vmap(one, in_axes=(None, 0)), in_axes=(0, None)))(keys, stacked)
    alone = (
        lambda k: dp_kwiksort(k, given, pure, max_queries=queries),
        lambda k: dp_kwiksort(k, given, loose, noise="gaussian", max_queries=queries),
        lambda k: hay_kwiksort(k, given, pure, max_queries=queries),
    )
    for number, function in enumerate(alone):
        expected = jax.jit(jax.vmap(function))(keys)
        same = np.asarray(together.stopped[:, number])
        np.testing.assert_array_equal(same, expected.diagnostics.exceeded)
        np.testing.assert_array_equal(together.queries[:, number], expected.diagnostics.queries)
        # A KwikSort that exceeds its budget goes on with its fallback.
        own = slice(None) if number == 2 else ~same
        np.testing.assert_array_equal(together.ranks[own, number], np.asarray(expected.value)[own])
        assert same.sum() > 0
