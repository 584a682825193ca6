"""DPKwikSort against its exact law: enumeration over pivots and answers, integration over the fallback's noise."""

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

from privrank_jax._quickly import quickly
from privrank_jax.aggregation import PairWeights, dp_kwiksort, local_search, noise_all
from privrank_jax.aggregation.published import published_kwiksort
from privrank_jax.aggregation.query_budgets import query_budget
from privrank_jax.mechanism import Facts
from tests.promises import noise_of, user
from tests.reference import calibration as reference_calibration
from tests.reference import kwiksort as slow

CELLS = {3: 40, 4: 4}
NO_ROUNDING = 1e-9
HALF = 0.5 * (1 - np.eye(3))


@functools.cache
def solved_grid(items):
    """The fallback's ranking, as an order, for every combination of the cells of the noisy weights."""
    values, _ = slow.clipped_cells(0.5, 1.0, CELLS[items])
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
    if w.ndim == 3:  # of several weights along the last axis
        laws = [fallback_law(one, users, epsilon) for one in np.moveaxis(w, -1, 0)]
        return {order: np.array([law[order] for law in laws]) for order in laws[0]}
    items = len(w)
    orders, label = solved_grid(items)
    scale = items * (items - 1) / 2 / (users * epsilon)
    chances = [
        slow.clipped_cells(w[i, j], scale, CELLS[items])[1]
        for i, j in itertools.combinations(range(items), 2)
    ]
    joint = functools.reduce(np.multiply.outer, chances).ravel()
    return dict(zip(orders, np.bincount(label, joint, len(orders))))


def exact_law(w, users, epsilon, max_queries, split=0.5, *, published=False, off=1.0):
    """{(order, queries; None where exceeded): probability}; ``off`` scales the noise of the answers.

    Weights ``(m, m, laws)`` give that many probabilities each.
    """
    items = len(w)
    pairs = items * (items - 1) // 2
    share = 1.0 if published or max_queries >= pairs else split
    scale = off * max_queries / (users * share * epsilon)
    law = slow.sort_law(slow.laplace_exceeds(0.5 - w, scale))
    spare = 0.5 if published else 1 - split
    fallback = fallback_law(w, users, spare * epsilon) if max_queries < pairs else {}
    return slow.with_fallback(law, max_queries, fallback)


def largest_loss(others, epsilon, max_queries, split=0.5, *, published=False):
    """Over all rankings that the last user may hold: the largest log ratio of output probabilities."""
    items = len(others[0]) if others else max_queries[1]
    budget = max_queries[0]
    held = itertools.permutations(range(items))
    w = np.stack([slow.weights([*others, ranks]) for ranks in held], -1)
    law = exact_law(w, len(others) + 1, epsilon, budget, split, published=published)
    np.testing.assert_allclose(sum(law.values()), 1, rtol=0, atol=1e-9)
    laws = np.array([*law.values()]).T
    return max(slow.largest_log_ratio(a, b) for a, b in itertools.combinations(laws, 2))


@pytest.mark.parametrize(("epsilon", "split"), [(1.0, 0.5), (1.0, 0.9), (4.0, 0.5)])
@pytest.mark.parametrize(("items", "max_queries"), [(3, 1), (3, 2), (3, 3), (4, 4), (4, 5), (4, 6)])
def test_loss_of_ranking_and_count_is_at_most_epsilon(items, max_queries, epsilon, split):
    """Exact, over all rankings of one user, alone or beside others; attained with all pairs as the budget, and to
    the queries' share with a smaller one."""
    identity = tuple(range(items))
    everyone = [(), (identity,), (identity, identity[::-1])]
    losses = [
        largest_loss(others, epsilon, (max_queries, items), split) / epsilon for others in everyone
    ]
    assert max(losses) <= 1 + NO_ROUNDING
    if max_queries == items * (items - 1) // 2:
        assert max(losses) > 0.999
    elif max_queries > 1:
        assert max(losses) > 0.99 * split


@pytest.mark.parametrize("published", [True, False])
def test_transcript_loses_epsilon_and_half_more_as_published(published):
    """Two users agree on 0 < 1 < 2, or one says the reverse; both queries answered the rare way, the budget of 2
    exceeded, and the fallback publishing the reverse: nearly ε in total, and nearly 1.5ε as published."""
    epsilon, users, budget = 1.0, 2, 2
    share = 1.0 if published else 0.5
    scale = budget / (users * share * epsilon)
    chances = []
    for other in ((0, 1, 2), (2, 1, 0)):
        w = slow.weights([(0, 1, 2), other])
        answers = np.prod(1 - slow.laplace_exceeds(0.5 - w[:2, 2], scale))
        spare = fallback_law(w, users, 0.5 * epsilon)
        chances.append({order: answers * chance for order, chance in spare.items()})
    loss = max(abs(math.log(chances[0][order] / chances[1][order])) for order in chances[0])
    proven = 1.5 if published else 1.0
    assert 0.97 * proven < loss <= proven * epsilon
    notes, sort = [], published_kwiksort if published else dp_kwiksort

    def told(w):
        given, key = PairWeights(w, users), jax.random.key(0)
        run = sort(key, given, user(epsilon), max_queries=budget)
        notes.append(run.guarantee.note)
        return run.diagnostics.noise_scale, run.guarantee.epsilon

    assert tuple(map(float, quickly(told, w))) == (scale, proven)  # and the sort is not run
    assert bool(notes[0]) == published


def test_sampler_has_the_exact_law(key):
    """Chi-squared of 40,000 runs against the exact law, fallback included: false-alarm rate 1e-6; answers with 20 %
    more or less noise are rejected."""
    users, runs, epsilon = 3, 40_000, 2.5
    items, max_queries = 4, 5
    w = slow.weights([tuple(range(items)), tuple(range(items)), tuple(range(items))[::-1]])
    weights = PairWeights(w, users)
    run = jax.jit(
        jax.vmap(
            lambda k: dp_kwiksort(k, weights, user(epsilon), max_queries=max_queries, split=0.7)
        )
    )
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


@jax.jit
@functools.partial(jax.vmap, in_axes=(0, None, None))
def sort_of_one_query(key, epsilon, split):
    weights = PairWeights(slow.weights([(0, 1, 2)] * 3), 3)
    return dp_kwiksort(key, weights, user(epsilon), max_queries=1, split=split)


@jax.jit
@functools.partial(jax.vmap, in_axes=(0, None))
def search_of_noised(key, epsilon):
    weights = PairWeights(slow.weights([(0, 1, 2)] * 3), 3)
    return local_search(noise_all(key, weights, user(epsilon)).value)


@functools.cache
def searches_of_noised_weights(epsilon, runs):
    """Of local search alone, how often it finds each ranking."""

    return frequencies(search_of_noised(jax.random.split(jax.random.key(26), runs), epsilon))


def frequencies(ranks):
    return np.bincount(np.asarray(ranks) @ [9, 3, 1], minlength=27)


def test_the_fallback_has_its_share_of_epsilon(key):
    """A budget of 1 never suffices for three items: the result is local search on weights noised at (1 - split)ε.

    Two samples of 40,000 rankings each, by χ² with false-alarm rate 1e-6; noise for 1.1 of that share is rejected.
    """
    share, runs, split = 3.0, 40_000, 0.8
    found = sort_of_one_query(jax.random.split(key, runs), share / (1 - split), split)
    assert np.all(found.diagnostics.exceeded)

    def agrees(share):
        counts = [frequencies(found.value), searches_of_noised_weights(share, runs)]
        table = np.stack(counts)[:, np.sum(counts, axis=0) > 0]
        return scipy.stats.chi2_contingency(table).pvalue > 1e-6

    assert agrees(share)
    assert not agrees(1.1 * share)


def test_gaussian_answers_have_the_calibrated_noise(key):
    """Two items, one query: P[0 before 1] = Φ((w - 1/2)/σ), within 5 standard errors; 10 % off is rejected."""
    w, runs = np.array([[0.0, 0.9], [0.1, 0.0]]), 40_000
    weights = PairWeights(w, 4)
    run = jax.vmap(lambda k: dp_kwiksort(k, weights, user(0.7, 1e-3), noise="gaussian"))
    estimate = run(jax.random.split(key, runs))
    sigma = reference_calibration.gaussian_scale(0.25, 0.7, 1e-3)
    assert estimate.diagnostics.noise_scale[0] == pytest.approx(sigma, rel=1e-6)
    first = np.mean(np.asarray(estimate.value)[:, 0] == 0)
    error = 0.5 / math.sqrt(runs)
    assert abs(first - scipy.stats.norm.cdf(0.4 / sigma)) < 5 * error
    assert abs(first - scipy.stats.norm.cdf(0.4 / (0.9 * sigma))) > 2 * error
    assert (float(estimate.guarantee.epsilon[0]), float(estimate.guarantee.delta[0])) == (0.7, 1e-3)


@pytest.mark.parametrize("delta", [0.0, 1e-4])
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
        assert (guarantee.unit, guarantee.adjacency, guarantee.trust) == (
            "user",
            "replace",
            "central",
        )
        assert sorted(estimate.value.tolist()) == list(range(items))
        facts = Facts(items, users)
        told = dp_kwiksort.scale(user(0.8, delta), facts, noise=noise_of(delta), split=split)
        assert told == pytest.approx(expected, rel=1e-6)
    whole = dp_kwiksort(key, PairWeights(w, users), user(0.8), max_queries=10**6)
    assert float(whole.diagnostics.noise_scale) == pytest.approx(276 / (users * 0.8))


def test_masked_items_are_left_out_and_cost_nothing(key):
    w = np.where(np.arange(6)[:, None] < np.arange(6), 0.9, 0.1) * (1 - np.eye(6))
    mask = np.array([True, False, True, False, False, True])
    estimate = dp_kwiksort(key, PairWeights(w, 10**6, mask), user(1.0))
    assert estimate.value.tolist() == [0, 3, 1, 4, 5, 2]
    assert float(estimate.diagnostics.noise_scale) == pytest.approx(3e-6)
    assert int(estimate.diagnostics.max_queries) == 3


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"noise": "gaussian"}, "needs delta > 0"),
        ({"noise": "uniform"}, "noise must be one of"),
        ({"weights": PairWeights(HALF, 0)}, "num_users must be"),
        ({"split": 1.0}, "split must lie"),
        ({"max_queries": 0}, "max_queries must be an int of at least 1"),
        ({"max_queries": 2.5}, "max_queries must be an int of"),
        ({"weights": PairWeights(np.zeros((2, 3)), 5)}, "square"),
    ],
)
def test_bad_arguments_are_refused(settings, message, key):
    with pytest.raises(ValueError, match=message):
        dp_kwiksort(key, **({"weights": PairWeights(HALF, 5), "privacy": user(1.0)} | settings))
