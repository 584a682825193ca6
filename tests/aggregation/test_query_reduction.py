"""Algorithms that ask for weights, made private: KwikSort has the law of the sorts, whatever asks spends the same."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest
import scipy.stats

from privrank_jax.aggregation import PairWeights, dp_kwiksort, dp_sorting, ldp_sorting
from privrank_jax.aggregation.query_reduction import local_by_queries, private_by_queries
from privrank_jax.mechanism.data import Facts
from tests.aggregation.ldp_laws import THREE
from tests.promises import user
from tests.reference import kwiksort as slow

VOTES = PairWeights.from_ranks(np.repeat(THREE, [5, 3, 2], axis=0))


def kwiksort(seed):
    """As the papers write it: a pivot at random, and one question after another."""
    random = np.random.default_rng(seed)

    def sort(ask, items):
        if len(items) < 2:
            return items
        pivot = items[random.integers(len(items))]
        left = [i for i in items if i != pivot and ask(i, pivot) > 0.5]
        right = [i for i in items if i != pivot and i not in left]
        return [*sort(ask, left), pivot, *sort(ask, right)]

    return lambda ask, items: np.argsort(sort(ask, list(range(items))))


def fits(found, law, runs):
    counts = [found.count(end) for end in law]
    assert sum(counts) == runs
    return scipy.stats.chisquare(counts, runs * np.array(list(law.values()))).pvalue


def test_kwiksort_has_the_law_of_the_private_sort(key):
    """300 runs, chi-squared, false-alarm rate 1e-6; noise of 0.3 times the scale is rejected."""
    runs, promise = 300, user(1.5)
    found = [
        private_by_queries(k, VOTES, promise, kwiksort(seed), max_queries=3)
        for seed, k in enumerate(jax.random.split(key, runs))
    ]
    orders = [tuple(np.argsort(np.asarray(x.value)).tolist()) for x in found]
    ends = list(zip(orders, [int(x.diagnostics.queries) for x in found]))
    scale = float(dp_kwiksort.scale(promise, Facts(3, 10), max_queries=3))
    assert scale == pytest.approx(3 / (10 * 1.5))  # all pairs: no fallback, all of ε
    for off in (1.0, 0.3):
        ahead = scipy.stats.laplace.sf(0.5 - np.asarray(VOTES.matrix), scale=off * scale)
        value = fits(ends, slow.sort_law(ahead), runs)
        assert value > 1e-6 if off == 1.0 else value < 1e-6
    assert found[0].guarantee is not None
    assert float(found[0].guarantee.epsilon) == 1.5


def test_a_pair_is_answered_once_and_its_mirror_follows(key):
    seen = []

    def curious(ask, items):
        seen.extend([ask(0, 1), ask(1, 0), ask(0, 1), ask(2, 1)])
        return range(items)

    found = private_by_queries(key, VOTES, user(2.0), curious, max_queries=2)
    assert int(found.diagnostics.queries) == 2
    assert not found.diagnostics.exceeded
    assert seen[0] == seen[2] == pytest.approx(1 - seen[1])
    assert all(0 <= value <= 1 for value in seen)
    found = local_by_queries(key, np.repeat(THREE, 9, axis=0), user(9.0), curious, max_queries=9)
    assert int(found.diagnostics.queries) == 2


def test_no_more_is_answered_and_spent_than_promised(key, monkeypatch):
    """The pairs that an algorithm sees before it is stopped; the queries' ε and the fallback's are all of it."""
    seen, spent = [], []

    def asks_all(ask, items):
        for i, j in itertools.combinations(range(items), 2):
            seen.append(ask(i, j))

    for module, name in ((dp_sorting, "noise_all"), (ldp_sorting, "local_weights")):
        run = getattr(module, name)

        def told(key, data, privacy, run=run, **options):
            spent.append(float(privacy.epsilon))
            return run(key, data, privacy, **options)

        monkeypatch.setattr(module, name, told)
    crowd = np.tile(np.arange(4), (40, 1))
    weights, promise = PairWeights.from_ranks(crowd), user(3.0)
    private_by_queries(key, weights, promise, asks_all, max_queries=2, split=0.25)
    assert len(seen) == 2
    seen.clear()
    rules = {"max_queries": 1, "num_groups": 1, "split": 0.25}
    found = local_by_queries(key, crowd, promise, asks_all, **rules).diagnostics
    assert len(seen) == found.max_uses == 2
    of_queries = found.max_uses * float(found.epsilon_per_query)
    assert spent == pytest.approx([0.75 * 3.0, 3.0 - of_queries])
