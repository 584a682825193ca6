"""The partition engine, plain KwikSort, and a fallback that is computed only where it is needed."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation import kwiksort
from privrank_jax.aggregation.sorting import Sorted, partition_sort
from tests.quick import thorough_but
from tests.reference import kwiksort as reference

RUNS = 64


@functools.partial(jax.jit, static_argnames="items")
def record(items, tournament, keys, max_queries):
    """Sort by a 0/1 tournament; how often each (item, pivot) was asked is carried in the state."""

    def answer(_, asking, asked):
        asked = asked.at[asking.items, asking.pivots].add(asking.asked.astype(int))
        return tournament[asking.items, asking.pivots] == 1, asked, jnp.bool_(False)

    start = jnp.zeros((items, items), int)
    return jax.vmap(lambda k: partition_sort(k, items, answer, start, max_queries, None))(keys)


@pytest.mark.parametrize("items", thorough_but([1, 2, 9], 9))
def test_engine_is_the_recursion(items, key):
    """Same order and number of queries as the published recursion, given its pivots and answers; no pair twice."""
    coin = np.triu(np.random.default_rng(items).random((items, items)) < 0.5, 1)
    tournament = np.where(coin, 1, 0) + np.tril(1 - coin.T, -1)
    sorting = record(items, tournament, jax.random.split(key, RUNS), 10**6)
    asked = np.asarray(sorting.state)
    assert np.all(asked + asked.swapaxes(1, 2) <= 1)
    assert not np.any(sorting.stopped)
    np.testing.assert_array_equal(asked.sum((1, 2)), sorting.queries)
    for run in range(RUNS):

        def pivot_of(segment, run=run):
            return next(p for p in segment if all(asked[run, j, p] for j in segment if j != p))

        def ahead(item, pivot):
            return tournament[item, pivot]

        order, queries = reference.recursive_sort(list(range(items)), pivot_of, ahead)
        assert order == list(sorting.order[run])
        assert queries == sorting.queries[run]


def test_a_budget_is_never_exceeded_and_stops_what_would(key):
    """At most q queries are answered; the sorts that stop are those that need more than q, with the same key."""
    items = 9
    tournament = np.triu(np.ones((items, items), int), 1)
    keys = jax.random.split(key, RUNS)
    free = record(items, tournament, keys, 10**6)
    tight = record(items, tournament, keys, 20)
    np.testing.assert_array_equal(np.asarray(free.queries) > 20, tight.stopped)
    assert 0.1 < np.mean(tight.stopped) < 0.9
    assert np.asarray(tight.state).sum((1, 2)).max() <= 20
    np.testing.assert_array_equal(np.asarray(tight.state).sum((1, 2)), tight.queries)


@pytest.mark.parametrize("masked", thorough_but([False, True], False))
def test_transitive_majorities_are_sorted_exactly(masked, key):
    items = 9
    rng = np.random.default_rng(3)
    for number in range(5):
        ranks = rng.permutation(items)
        w = np.where(ranks[:, None] < ranks, 0.9, 0.1) * (1 - np.eye(items))
        mask = rng.random(items) < 0.6 if masked else np.ones(items, bool)
        got = np.asarray(kwiksort(jax.random.fold_in(key, number), w, mask=mask))
        real = np.flatnonzero(mask)
        np.testing.assert_array_equal(got[real], np.argsort(np.argsort(ranks[real])))
        np.testing.assert_array_equal(got[~mask], np.arange(len(real), items))


RANKS = jnp.array([[0, 1, 2], [2, 1, 0], [1, 0, 2], [0, 2, 1]])
SCORES = jnp.array([[3.0, 1.0, 2.0], [1.0, 2.0, 3.0], [2.0, 3.0, 1.0], [1.0, 3.0, 2.0]])


def test_replicates_are_replaced_one_by_one_and_only_those_in_need_are_computed():
    """Batched values, arguments included, follow their replicate; the others are shared. The fallback counts itself."""
    computed = []

    def ranks_of(_key, scores, shift):
        jax.debug.callback(lambda first: computed.append(float(first)), scores[0])
        return jnp.argsort(jnp.argsort(-scores)) + shift

    @jax.jit
    @jax.vmap
    def run(needed, ranks, scores):
        found = Sorted(ranks, jnp.int32(4), needed, jax.random.key(0))
        return found.or_else(ranks_of, scores, jnp.int32(5)).ranks

    ranked = 5 + np.argsort(np.argsort(-SCORES))
    for pattern in (0b0000, 0b0001, 0b0100, 0b1011, 0b1111):
        needed = np.array([bool(pattern >> place & 1) for place in range(4)])
        found = run(needed, RANKS, SCORES).block_until_ready()
        np.testing.assert_array_equal(found, np.where(needed[:, None], ranked, RANKS))
        jax.effects_barrier()
        assert sorted(computed) == sorted(np.asarray(SCORES[:, 0])[needed].tolist())
        computed.clear()
