"""DPKwikSort against its exact law, scales and budgets, and kindred mechanisms."""

from __future__ import annotations

import collections
import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights, dp_kwiksort, local_search
from privrank_jax.aggregation.dp_sorting import hay_kwiksort
from privrank_jax.aggregation.query_budgets import query_budget
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy import Privacy
from tests.promises import guarantee_of, noise_of, user
from tests.quick import thorough, thorough_but
from tests.reference import calibration as reference_calibration
from tests.reference import kwiksort as slow

CELLS = 4  # of each noisy weight


@functools.cache
def solved_grid(items):
    """The fallback's ranking, as an order, for every combination of the cells of the noisy weights."""
    values, _ = slow.clipped_cells(0.5, 1.0, CELLS)
    pairs = list(itertools.combinations(range(items), 2))
    grid = np.stack(np.meshgrid(*[values] * len(pairs), indexing="ij"), -1).reshape(-1, len(pairs))
    w = np.zeros((len(grid), items, items))
    for column, (i, j) in enumerate(pairs):
        w[:, i, j], w[:, j, i] = grid[:, column], 1 - grid[:, column]
    ranks = np.asarray(jax.vmap(local_search)(jnp.asarray(w)))
    orders = np.argsort(ranks, axis=1)
    _, first, label = np.unique(orders, axis=0, return_index=True, return_inverse=True)
    return [tuple(orders[i].tolist()) for i in first], label.ravel()


def fallback_law(w, users, epsilon):
    """Law of the order from noised, clipped weights; the noise integrated over a grid of cells."""
    items = len(w)
    orders, label = solved_grid(items)
    scale = items * (items - 1) / 2 / (users * epsilon)
    pairs = itertools.combinations(range(items), 2)
    chances = [slow.clipped_cells(w[pair], scale, CELLS)[1] for pair in pairs]
    joint = functools.reduce(np.multiply.outer, chances).ravel()
    return dict(zip(orders, np.bincount(label, joint, len(orders))))


def exact_law(w, users, epsilon, max_queries, split=0.5, *, off=1.0):
    """{(order, queries; None where exceeded): probability}; ``off`` scales the noise of the answers."""
    items = len(w)
    pairs = items * (items - 1) // 2
    share = 1.0 if max_queries >= pairs else split
    scale = off * max_queries / (users * share * epsilon)
    law = slow.sort_law(slow.laplace_exceeds(0.5 - w, scale))
    fallback = fallback_law(w, users, (1 - split) * epsilon) if max_queries < pairs else {}
    return slow.with_fallback(law, max_queries, fallback)


def test_sampler_has_the_exact_law(key):
    """Chi-squared of 40,000 runs against the exact law, fallback included: false-alarm rate 1e-6; answers with 20 %
    more or less noise are rejected."""
    users, runs, epsilon = 3, 40_000, 2.5
    items, max_queries = 4, 5
    w = slow.weights([tuple(range(items)), tuple(range(items)), tuple(range(items))[::-1]])
    weights = PairWeights(w, users)
    told = {"max_queries": max_queries, "split": 0.7}
    run = jax.jit(jax.vmap(lambda k: dp_kwiksort(k, weights, user(epsilon), **told)))
    estimate = run(jax.random.split(key, runs))
    orders = np.argsort(np.asarray(estimate.value), axis=1).tolist()
    facts = estimate.diagnostics
    found = collections.Counter(
        (tuple(order), None if exceeded else queries)
        for order, queries, exceeded in zip(orders, facts.queries.tolist(), facts.exceeded.tolist())
    )
    assert max(facts.queries.tolist()) <= max_queries

    def agrees(off):
        law = exact_law(w, users, epsilon, max_queries, 0.7, off=off)
        law = {end: chance for end, chance in law.items() if chance > 1e-12}
        assert set(found) <= set(law)
        counts = [found[end] for end in law]
        return scipy.stats.chisquare(counts, runs * np.array(list(law.values()))).pvalue > 1e-6

    assert agrees(1.0)
    assert not agrees(1.2)
    assert not agrees(0.8)


def test_gaussian_answers_have_the_calibrated_noise(key):
    """Two items, one query: P[0 before 1] = Φ((w - 1/2)/σ), within 5 standard errors; 10 % off is rejected."""
    w, runs = np.array([[0.0, 0.9], [0.1, 0.0]]), 40_000
    weights = PairWeights(w, 4)
    run = jax.jit(jax.vmap(lambda k: dp_kwiksort(k, weights, user(0.7, 1e-3), noise="gaussian")))
    estimate = run(jax.random.split(key, runs))
    sigma = reference_calibration.gaussian_scale(0.25, 0.7, 1e-3)
    assert estimate.diagnostics.noise_scale[0] == pytest.approx(sigma, rel=1e-6)
    first = np.mean(np.asarray(estimate.value)[:, 0] == 0)
    facts, many = Facts(24, 500), {"noise": "gaussian", "split": 0.5}
    of_many = math.sqrt(query_budget(24)) / 500, 0.4, 1e-4
    wanted = reference_calibration.gaussian_scale(*of_many)
    assert dp_kwiksort.scale(user(0.8, 1e-4), facts, **many) == pytest.approx(wanted, rel=1e-6)
    error = 0.5 / math.sqrt(runs)
    assert abs(first - scipy.stats.norm.cdf(0.4 / sigma)) < 5 * error
    assert abs(first - scipy.stats.norm.cdf(0.4 / (0.9 * sigma))) > 2 * error
    assert (float(estimate.guarantee.epsilon[0]), float(estimate.guarantee.delta[0])) == (0.7, 1e-3)


@pytest.mark.parametrize("delta", [0.0, thorough(1e-4)])
def test_scales_guarantee_and_default_budget(delta, key):
    items, users = 24, 500
    w = np.full((items, items), 0.5)
    budget = query_budget(items)
    assert budget < items * (items - 1) // 2
    for split in (0.5, 0.9):
        estimate = dp_kwiksort(
            key, PairWeights(w, users), user(0.8, delta), noise=noise_of(delta), split=split
        )
        expected = (
            reference_calibration.gaussian_scale(math.sqrt(budget) / users, 0.8 * split, delta)
            if delta
            else budget / (users * 0.8 * split)
        )
        assert float(estimate.diagnostics.noise_scale) == pytest.approx(expected, rel=1e-6)
        assert estimate.diagnostics.max_queries == budget
        guarantee = estimate.guarantee
        assert (float(guarantee.epsilon), float(guarantee.delta)) == (0.8, delta)
        assert sorted(estimate.value.tolist()) == list(range(items))
        facts = Facts(items, users)
        told = dp_kwiksort.scale(user(0.8, delta), facts, noise=noise_of(delta), split=split)
        assert told == pytest.approx(expected, rel=1e-6)
    whole = dp_kwiksort(key, PairWeights(w, users), user(0.8), max_queries=10**6)
    assert float(whole.diagnostics.noise_scale) == pytest.approx(276 / (users * 0.8))


def test_what_a_budget_leaves_unsorted_is_shuffled(key):
    """The law for three items is held by the registry of audits."""
    w = np.where(np.arange(9)[:, None] < np.arange(9), 0.9, 0.1) * (1 - np.eye(9))
    weights = PairWeights(w, 10**6, np.arange(9) != 4)
    estimate = hay_kwiksort(key, weights, user(0.5))
    budget = math.ceil(8 * math.log2(8))  # of the real items
    assert estimate.diagnostics.max_queries == budget
    assert float(estimate.diagnostics.noise_scale) == pytest.approx(budget / (10**6 * 0.5))
    if not estimate.diagnostics.exceeded:
        assert estimate.value.tolist() == [0, 1, 2, 3, 8, 4, 5, 6, 7]
    coarse = hay_kwiksort(key, weights, user(0.5), max_queries=7)
    assert bool(coarse.diagnostics.exceeded)
    assert coarse.diagnostics.queries == 7
    assert sorted(coarse.value.tolist()) == list(range(9))


def test_masked_items_are_left_out_and_cost_nothing(key):
    w = np.where(np.arange(6)[:, None] < np.arange(6), 0.9, 0.1) * (1 - np.eye(6))
    mask = np.array([True, False, True, False, False, True])
    estimate = dp_kwiksort(key, PairWeights(w, 10**6, mask), user(1.0))
    assert estimate.value.tolist() == [0, 3, 1, 4, 5, 2]
    assert float(estimate.diagnostics.noise_scale) == pytest.approx(3e-6)
    assert int(estimate.diagnostics.max_queries) == 3


RANKS = np.array([[0, 1, 2, 3], [1, 0, 2, 3], [0, 2, -1, 1], [0, 0, 1, 2], [3, 1, 2, 0]])
PRIVATE = (aggregation.dp_kwiksort, hay_kwiksort, aggregation.exponential_kemeny)


@pytest.mark.parametrize("private", [*PRIVATE, aggregation.ldp_kwiksort])
def test_what_protects_a_user_protects_a_rank_and_spends_no_delta(private, key):
    data = RANKS if private is aggregation.ldp_kwiksort else PairWeights.from_ranks(RANKS)
    ranks = Privacy(1.0, unit="rank", adjacency="replace", delta=1e-6)
    found = guarantee_of(lambda key: private(key, data, ranks), key)
    assert (found.unit, found.adjacency, found.delta) == ("user", "replace", 0.0)


@pytest.mark.parametrize("private", thorough_but(PRIVATE, PRIVATE[2]))
def test_one_program_for_promises_and_for_crowds_of_any_size(private, key):
    crowds = [PairWeights.from_ranks(RANKS[:users]) for users in (2, 3, 5)]
    batch = PairWeights(
        jnp.stack([jnp.asarray(crowd.matrix) for crowd in crowds]), jnp.array([2, 3, 5])
    )
    keys, levels = jax.random.split(key, 3), user(jnp.array([0.5, 1.0, 4.0]))
    run = jax.jit(jax.vmap(private, in_axes=(0, 0, levels.axes(epsilon=0))))
    found = run(keys, batch, levels)
    for place, crowd in enumerate(crowds):
        alone = private(keys[place], crowd, user(float(levels.epsilon[place])))
        np.testing.assert_allclose(found.value[place], alone.value, rtol=1e-9, atol=1e-12)
