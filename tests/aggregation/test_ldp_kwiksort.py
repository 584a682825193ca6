"""LDPKwikSort: responses and privacy of a plan, its law against that of small cases, its fallback."""

from __future__ import annotations

import importlib
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from privrank_jax.aggregation import ldp_kwiksort, local_weights
from privrank_jax.aggregation.ldp_sorting import local_plan, local_sort, respond
from privrank_jax.aggregation.published import (
    published_local_plan,
    zero_one_loss,
    zero_one_response,
)
from privrank_jax.aggregation.query_budgets import refusal_bound, use_budget
from privrank_jax.privacy.local import flip_threshold
from tests.aggregation.ldp_laws import THREE, exact_law, plus_chance
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


@pytest.mark.slow
def test_groups_are_refused_as_seldom_as_bounded(key):
    """28 groups for the 28 pairs of 8 items."""
    ranks = np.argsort(np.random.default_rng(0).random((56, 8)), axis=1)

    def refused(uses):
        run = jax.jit(
            jax.vmap(
                lambda k: local_sort(k, ranks, 5.0, uses, num_groups=28, missing="last").stopped
            )
        )
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


def test_the_simulated_fallback_has_its_share_of_epsilon(key, monkeypatch):
    module, spent = importlib.import_module("privrank_jax.aggregation.ldp_sorting"), []
    monkeypatch.setattr(module, "_ldp_kwiksort", module._ldp_kwiksort.__wrapped__)  # nothing cached

    def told(key, ranks, share, **settings):
        jax.debug.callback(lambda epsilon: spent.append(float(epsilon)), share.epsilon)
        return local_weights(key, ranks, share, **settings)

    monkeypatch.setattr(module, "local_weights", told)
    users = np.tile([2, 0, 1], (3, 1))
    rules = {"max_queries": 1, "split": 0.8}
    run = jax.jit(jax.vmap(lambda key: ldp_kwiksort(key, users, user(0.6), **rules)))
    found = run(jax.random.split(key, 50))
    jax.effects_barrier()
    assert np.any(found.diagnostics.refused)
    assert spent == pytest.approx([0.2 * 0.6] * max(len(spent), 1))


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("response", [respond, zero_one_response])
def test_responses_have_the_stated_probabilities_and_loss(response, epsilon):
    """The edges of the 2^32 words give the probabilities exactly; the largest loss over any change of the answer
    is ε₀, or log((e^ε₀+1)/2) as published, and on one side only: attained to 1e-4, never exceeded."""
    flip, ours = np.uint32(flip_threshold(jnp.asarray(epsilon))), response is respond
    edges = np.unique([0, int(flip), 2**31, 2**30 + int(flip) // 2, 2**32])
    starts, lengths = edges[:-1].astype(np.uint32), np.diff(edges)
    chance = {}
    for lead in (-1, 0, 1):
        plus = response(starts, lead, flip)
        chance[lead] = lengths[plus].sum() / 2**32
        stated = plus_chance(epsilon, lead if ours else (lead + 1) / 2)
        assert chance[lead] == pytest.approx(stated, abs=1e-6)
        for word in (int(flip) - 1, int(flip), 2**31 - 1, 2**31):
            assert response(np.uint32(word), lead, flip) == response(
                jnp.uint32(word), lead, jnp.uint32(flip)
            )
    sides = [
        max(abs(math.log(f(a) / f(b))) for a, b in itertools.combinations(chance.values(), 2))
        for f in (lambda p: p, lambda p: 1 - p)
    ]
    loss = epsilon if ours else float(zero_one_loss(epsilon))
    assert loss * (1 - 1e-4) < max(sides) <= loss * (1 + 1e-7)
    if ours:
        assert sides[0] == pytest.approx(sides[1])
    else:
        assert loss == pytest.approx(math.log((math.exp(epsilon) + 1) / 2), rel=1e-9)
        assert sides[0] == pytest.approx(math.log1p(math.tanh(epsilon / 2)), rel=1e-4)
        assert sides[0] < sides[1]


def test_groups_of_different_size_count_their_own_users_only(key):
    """Three users in groups of two and one, no noise. Over pivots, the user who is alone, and the group that is
    asked, P[0 first] = 1/3. 4,000 runs, 5 standard errors."""
    ranks = np.array([[0, 1], [1, 0], [1, 0]])
    run = jax.jit(jax.vmap(lambda k: ldp_kwiksort(k, ranks, user(math.inf)).value))
    first = np.mean(np.asarray(run(jax.random.split(key, 4000)))[:, 0] == 0)
    assert abs(first - 1 / 3) < 5 * math.sqrt(2 / 9 / 4000)


@pytest.mark.parametrize(
    ("items", "told"),
    [
        *((items, {"split": split}) for items in (5, 30, 60) for split in (0.5, 0.9)),
        *((30, {"num_groups": groups}) for groups in (20, 90, 327)),
    ],
)
def test_plan_spends_epsilon_exactly(items, told):
    plan = local_plan(items, user(0.8), **told)
    pairs, groups = items * (items - 1) // 2, told.get("num_groups", items)
    spent = plan.max_uses * plan.epsilon_per_query
    spent += plan.fallback_epsilon if plan.may_refuse else 0
    assert spent == pytest.approx(0.8)
    assert float(plan.guarantee.epsilon) == 0.8
    assert plan.guarantee.trust == "local"
    if plan.may_refuse:
        assert plan.max_uses == use_budget(items, num_groups=groups)
        assert plan.epsilon_per_query > 0.8 / pairs
        assert refusal_bound(items, plan.max_uses, num_groups=groups) <= items**-4.0
        assert refusal_bound(items, plan.max_uses - 1, num_groups=groups) > items**-4.0
        few = local_plan(items, user(0.8), max_queries=300, **told)
        assert few.max_uses == min(pairs, max(1, 600 // groups))
    else:
        assert plan.max_uses == pairs


def test_published_plan():
    """τ = 2q/m, all of ε for the queries, half of it again for the fallback."""
    plan = published_local_plan(30, user(2.0), max_queries=900)
    assert (plan.max_uses, plan.epsilon_per_query, plan.fallback_epsilon) == (60, 2 / 60, 1.0)
    assert float(plan.guarantee.epsilon) == 3.0
    assert "half" in plan.guarantee.note
