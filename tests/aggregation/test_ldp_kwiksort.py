"""LDPKwikSort, simulated: its law against that of small cases, its fallback, and what it refuses."""

from __future__ import annotations

import functools
import importlib
import math
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from privrank_jax.aggregation import ldp_kwiksort, local_weights
from privrank_jax.aggregation.ldp_sorting import local_sort
from privrank_jax.aggregation.query_budgets import refusal_bound
from tests.aggregation.ldp_laws import THREE, exact_law
from tests.promises import user


def test_simulation_has_the_exact_law(key):
    """One user per group, no refusal possible: chi-squared of 30,000 runs, false-alarm rate 1e-6; responses at an ε₀
    that is 25 % off are rejected."""
    run = jax.jit(jax.vmap(lambda k: ldp_kwiksort(k, THREE, user(4.5))))
    estimate = run(jax.random.split(key, 30_000))
    assert not np.any(estimate.diagnostics.refused)
    per_query = float(estimate.diagnostics.epsilon_per_query[0])
    assert per_query == pytest.approx(1.5)
    assert_law(estimate.value, estimate.diagnostics.queries, per_query)


def test_groups_are_refused_as_seldom_as_bounded(key):
    """28 groups for the 28 pairs of 8 items."""
    ranks = np.argsort(np.random.default_rng(0).random((56, 8)), axis=1)

    def refused(uses):
        run = jax.jit(jax.vmap(lambda k: local_sort(k, ranks, 5.0, uses, num_groups=28).stopped))
        return np.mean(np.asarray(run(jax.random.split(key, 300))))

    bound = refusal_bound(8, 3, num_groups=28)
    assert refused(3) <= bound + 5 * math.sqrt(bound / 300)
    assert refused(1) > 0.9


def assert_law(ranks, queries, per_query):
    orders = np.argsort(np.asarray(ranks), axis=1).tolist()
    found = list(zip(map(tuple, orders), queries.tolist()))
    for off in (1.0, 0.75, 1.25):
        law = exact_law(THREE, off * per_query)
        counts = [found.count(end) for end in law]
        value = scipy.stats.chisquare(counts, len(found) * np.array(list(law.values()))).pvalue
        assert value > 1e-6 if off == 1.0 else value < 1e-6


def test_users_that_only_pad_a_sort_are_never_asked(key):
    """Two rows of another ranking pad the three users of the exact law; where they stand makes no difference."""
    rows = np.concatenate([THREE[:1], 2 - THREE[:1], THREE[1:], 2 - THREE[:1]])
    real = np.array([True, False, True, True, False])
    run = jax.jit(jax.vmap(lambda key: local_sort(key, rows, 1.5, 3, users=real)))
    found = run(jax.random.split(key, 30_000))
    assert_law(found.ranks, found.queries, 1.5)


def test_the_simulated_fallback_has_its_share_of_epsilon(key, monkeypatch):
    """Reports that are true above some ε₂ and reversed below it: the ranking tells where ε₂ lies, to 1 in 10⁶."""
    epsilon, truth = 0.6, np.array([2, 0, 1])
    module = importlib.import_module("privrank_jax.aggregation.ldp_sorting")
    exact = local_weights(key, truth[None], user(math.inf)).value
    monkeypatch.setattr(module, "_ldp_kwiksort", module._ldp_kwiksort.__wrapped__)  # nothing cached

    @jax.jit
    @functools.partial(jax.vmap, in_axes=(0, None, None))
    def runs(key, split, limit):
        def weights(_key, _ranks, share, **_settings):
            return SimpleNamespace(value=jnp.where(share.epsilon > limit, exact, 1 - exact))

        monkeypatch.setattr(module, "local_weights", weights)
        users = np.tile(truth, (3, 1))
        return ldp_kwiksort(key, users, user(epsilon), max_queries=1, split=split)

    def ranks_if_above(limit, split):
        found = runs(jax.random.split(key, 200), split, limit)
        return np.unique(np.asarray(found.value)[np.asarray(found.diagnostics.refused)], axis=0)

    for split in (0.5, 0.8):
        share = (1 - split) * epsilon
        assert ranks_if_above(share * (1 - 1e-6), split).tolist() == [truth.tolist()]
        assert ranks_if_above(share * (1 + 1e-6), split).tolist() == [(2 - truth).tolist()]
