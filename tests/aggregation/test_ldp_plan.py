"""Parameters of LDPKwikSort: responses, estimates and the privacy loss of a plan."""

from __future__ import annotations

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation import ldp_kwiksort
from privrank_jax.aggregation.ldp_plan import (
    ENCODINGS,
    answer_deviation,
    goes_left,
    local_plan,
    respond,
    response_loss,
)
from privrank_jax.aggregation.query_budgets import query_budget, refusal_bound, use_budget
from privrank_jax.privacy.local import flip_threshold
from tests.aggregation.ldp_laws import plus_chance
from tests.promises import user


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_responses_have_the_stated_probabilities_and_loss(encoding, epsilon):
    """The edges of the 2^32 words give the probabilities exactly; the largest loss over any change of the answer
    is ε₀, or log((e^ε₀+1)/2) as published, and on one side only: attained to 1e-4, never exceeded."""
    flip = np.uint32(flip_threshold(jnp.asarray(epsilon)))
    edges = np.unique([0, int(flip), 2**31, 2**30 + int(flip) // 2, 2**32])
    starts, lengths = edges[:-1].astype(np.uint32), np.diff(edges)
    chance = {}
    for lead in (-1, 0, 1):
        plus = respond(starts, lead, flip, encoding)
        chance[lead] = lengths[plus].sum() / 2**32
        assert chance[lead] == pytest.approx(plus_chance(epsilon, encoding, lead), abs=1e-6)
        for word in (int(flip) - 1, int(flip), 2**31 - 1, 2**31):
            assert respond(np.uint32(word), lead, flip, encoding) == respond(
                jnp.uint32(word), lead, jnp.uint32(flip), encoding
            )
    sides = [
        max(abs(math.log(f(a) / f(b))) for a, b in itertools.combinations(chance.values(), 2))
        for f in (lambda p: p, lambda p: 1 - p)
    ]
    loss = float(response_loss(epsilon, encoding))
    assert loss == pytest.approx(
        epsilon if encoding == "sign" else math.log((math.exp(epsilon) + 1) / 2), rel=1e-9
    )
    assert loss * (1 - 1e-4) < max(sides) <= loss * (1 + 1e-7)
    if encoding == "sign":
        assert sides[0] == pytest.approx(sides[1])
    else:
        assert sides[0] == pytest.approx(math.log1p(math.tanh(epsilon / 2)), rel=1e-4)
        assert sides[0] < sides[1]


def weight_estimate(plus, users, epsilon_per_query, encoding):
    """w̃, the unbiased share of users with the item before the pivot, from how many responded 1."""
    debiased = (2 * plus / users - 1) / jnp.tanh(0.5 * epsilon_per_query)
    return (1 + debiased) / 2 if encoding == "sign" else debiased


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_items_go_left_where_their_estimate_exceeds_half(encoding):
    for users, epsilon in itertools.product((1, 4, 9), (0.5, 3.0)):
        plus = np.arange(users + 1)
        estimate = np.asarray(weight_estimate(plus, users, epsilon, encoding))
        np.testing.assert_array_equal(goes_left(plus, users, epsilon, encoding), estimate > 0.5)


def test_groups_of_different_size_count_their_own_users_only(key):
    """Three users in groups of two and one, no noise. Over pivots, the user who is alone, and the group that is
    asked, P[0 first] = 1/3. 4,000 runs, 5 standard errors."""
    ranks = np.array([[0, 1], [1, 0], [1, 0]])
    run = jax.vmap(lambda k: ldp_kwiksort(k, ranks, user(math.inf)).value)
    first = np.mean(np.asarray(run(jax.random.split(key, 4000)))[:, 0] == 0)
    assert abs(first - 1 / 3) < 5 * math.sqrt(2 / 9 / 4000)


@pytest.mark.parametrize("items", [5, 30, 60])
@pytest.mark.parametrize("split", [0.5, 0.9])
def test_plan_spends_epsilon_exactly(items, split):
    plan = local_plan(items, user(0.8), split=split)
    pairs = items * (items - 1) // 2
    spent = plan.max_uses * plan.epsilon_per_query + (
        plan.fallback_epsilon if plan.may_refuse else 0
    )
    assert spent == pytest.approx(0.8)
    assert float(plan.guarantee.epsilon) == 0.8
    assert plan.guarantee.trust == "local"
    if plan.may_refuse:
        assert plan.max_uses == use_budget(items)
        assert plan.epsilon_per_query > 0.8 / pairs
        assert refusal_bound(items, plan.max_uses) <= items**-4.0
    else:
        assert plan.max_uses == pairs


@pytest.mark.parametrize("groups", [20, 90, 327])
def test_plans_of_other_groups_spend_epsilon_and_ask_less_of_more_groups(groups):
    drawn = local_plan(30, user(0.8), num_groups=groups)
    assert drawn.max_uses == use_budget(30, num_groups=groups)
    assert refusal_bound(30, drawn.max_uses, num_groups=groups) <= 30**-4.0
    assert refusal_bound(30, drawn.max_uses - 1, num_groups=groups) > 30**-4.0
    turn = local_plan(30, user(0.8), num_groups=groups, in_turn=True, split=0.9)
    if turn.may_refuse:
        assert turn.max_uses == math.ceil(query_budget(30) / groups)
    else:
        assert turn.max_uses == math.ceil(435 / groups)
    for plan in (drawn, turn):
        spent = plan.max_uses * plan.epsilon_per_query
        spent += plan.fallback_epsilon if plan.may_refuse else 0
        assert spent == pytest.approx(0.8)
        assert float(plan.guarantee.epsilon) == 0.8
    few = local_plan(30, user(0.8), num_groups=groups, max_queries=300)
    assert few.max_uses == max(1, 600 // groups)


def test_answers_are_as_uncertain_as_their_group():
    """Half of a group's users either way: the variance of w̃ from all of its responses, summed one by one."""
    for encoding, queries in (("sign", None), ("published", 60)):
        plan = local_plan(10, user(20.0), encoding=encoding, num_groups=30, max_queries=queries)
        chances = [plus_chance(float(plan.epsilon_per_query), encoding, lead) for lead in (1, -1)]
        plus = np.concatenate(
            [np.random.default_rng(1).random((40_000, 20)) < c for c in chances], 1
        )
        told = weight_estimate(plus.sum(1), 40, plan.epsilon_per_query, encoding)
        bound = float(answer_deviation(plan, 1229))  # 30 groups of 40, and 29 users more
        assert 0.7 * bound < np.std(np.asarray(told)) < 1.02 * bound


def test_more_groups_lower_the_error_of_many_queries_as_the_paper_says():
    """Appendix A.2: from q/√m by m groups to √(q log m) by q/log m groups, where q is far above m log m."""
    many = 10_000

    def error(groups):
        return float(
            answer_deviation(local_plan(200, user(1.0), max_queries=many, num_groups=groups), 10**9)
        )

    ratio = error(200) / error(round(many / math.log(200)))
    expected = math.sqrt(many / (200 * math.log(200)))
    assert ratio == pytest.approx(expected, rel=0.2)


def test_published_plan():
    """τ = 2q/m, all of ε for the queries, half of it again for the fallback; the 0/1 encoding spends less."""
    plan = local_plan(30, user(2.0), max_queries=900, calibration="published")
    assert (plan.max_uses, plan.epsilon_per_query, plan.fallback_epsilon) == (60, 2 / 60, 1.0)
    assert float(plan.guarantee.epsilon) == 3.0
    both = local_plan(30, user(2.0), max_queries=900, calibration="published", encoding="published")
    expected = 60 * math.log((math.exp(2 / 60) + 1) / 2) + 1.0
    assert float(both.guarantee.epsilon) == pytest.approx(expected)
    assert 1.9 < expected < 2.1
    assert "half" in both.guarantee.note
