"""LDPKwikSort: its responses, its plan, its simulation and its protocol, against exact laws of small cases."""

from __future__ import annotations

import functools
import importlib
import itertools
import math
import random
from types import SimpleNamespace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from privrank_jax.aggregation import ldp_kwiksort, local_weights
from privrank_jax.aggregation.counting import order_lead
from privrank_jax.aggregation.ldp_plan import (
    ENCODINGS,
    goes_left,
    local_plan,
    respond,
    response_loss,
    weight_estimate,
)
from privrank_jax.aggregation.ldp_protocol import Client, Server, run_protocol
from privrank_jax.aggregation.query_budget import refusal_bound, use_budget
from privrank_jax.privacy.local import flip_threshold
from privrank_jax.privacy.vectors import report_norm
from tests.promises import user
from tests.reference import kwiksort as slow

NO_ROUNDING = 1e-9
THREE = np.array([[0, 1, 2], [1, 0, 2], [2, 0, 1]])


def plus_chance(epsilon, encoding, lead):
    """P[r = 1] as the module states it."""
    t = math.tanh(epsilon / 2)
    return (1 + t * (lead if encoding == "sign" else (lead + 1) / 2)) / 2


def exact_law(ranks, per_query, encoding):
    """Law of (order, queries) with one user per group, so that a query asks a user drawn at random."""
    items = ranks.shape[1]
    ahead = np.zeros((items, items))
    for j, i in itertools.permutations(range(items), 2):
        leads = np.sign(ranks[:, i] - ranks[:, j])
        # One response of 1 gives w̃ > 1/2 in both encodings, as 1/t > 1/2.
        ahead[j, i] = np.mean([plus_chance(per_query, encoding, lead) for lead in leads])
    return slow.sort_law(ahead)


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


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_weight_estimate_is_unbiased_with_the_stated_variance(encoding, key):
    """Mean and variance from 20,000 groups of 8 users, 5 before and 3 behind; 5 standard errors. The published encoding
    has more than twice the noise."""
    runs, epsilon = 20_000, 0.8
    lead = jnp.array([1] * 5 + [-1] * 3)
    words = jax.random.bits(key, (runs, 8), jnp.uint32)
    plus = jnp.sum(respond(words, lead, flip_threshold(jnp.asarray(epsilon)), encoding), axis=1)
    estimate = np.asarray(weight_estimate(plus, 8, epsilon, encoding))
    truth = np.array([plus_chance(epsilon, encoding, v) for v in lead])
    t = math.tanh(epsilon / 2)
    variance = (
        np.sum(truth * (1 - truth)) * (1 / (8 * t) if encoding == "sign" else 2 / (8 * t)) ** 2
    )
    assert abs(estimate.mean() - 5 / 8) < 5 * math.sqrt(variance / runs)
    assert abs(estimate.var() - variance) < 5 * variance * math.sqrt(2 / runs)
    sign_variance = 8 * (1 - t**2) / 4 / (8 * t) ** 2
    assert variance == pytest.approx(sign_variance) or variance > 4 * sign_variance


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


def test_leads_follow_the_weight_rule():
    """Ranked before not ranked; ties, and two items not ranked, are even; unknown pairs are even if so wished."""
    pairs = [((0, 1), 1), ((2, 1), -1), ((1, 1), 0), ((0, -1), 1), ((-1, 0), -1), ((-1, -1), 0)]
    for (item, pivot), lead in pairs:
        given = np.int32(item), np.int32(pivot)
        assert order_lead(*given, "last") == lead
        assert order_lead(*given, "unknown") == (0 if -1 in (item, pivot) else lead)
        assert int(order_lead(jnp.int32(item), jnp.int32(pivot), "last")) == lead


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


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_simulation_has_the_exact_law(encoding, key):
    """One user per group, no refusal possible: chi-squared of 30,000 runs, false-alarm rate 1e-6; responses at an ε₀
    that is 25 % off are rejected."""
    runs, epsilon = 30_000, 4.5
    run = jax.jit(jax.vmap(lambda k: ldp_kwiksort(k, THREE, user(epsilon), encoding=encoding)))
    estimate = run(jax.random.split(key, runs))
    assert not np.any(estimate.diagnostics.refused)
    per_query = float(estimate.diagnostics.epsilon_per_query[0])
    assert per_query == pytest.approx(1.5)
    orders = np.argsort(np.asarray(estimate.value), axis=1).tolist()
    found = list(zip(map(tuple, orders), estimate.diagnostics.queries.tolist()))
    for off in (1.0, 0.75, 1.25):
        law = exact_law(THREE, off * per_query, encoding)
        counts = [found.count(end) for end in law]
        value = scipy.stats.chisquare(counts, runs * np.array(list(law.values()))).pvalue
        assert value > 1e-6 if off == 1.0 else value < 1e-6


def test_simulated_responses_are_flipped_as_often_as_stated(key):
    """Two users agree on two items, one of them is asked: 300,000 runs within 5 standard errors of e^ε to 1; responses
    at 1.05ε are rejected."""
    runs = 300_000
    run = jax.jit(jax.vmap(lambda k: ldp_kwiksort(k, np.array([[0, 1], [0, 1]]), user(1.0)).value))
    seen = np.mean(np.asarray(run(jax.random.split(key, runs)))[:, 0] == 0)
    error = 5 * math.sqrt(0.25 / runs)
    assert abs(seen - 1 / (1 + math.exp(-1.0))) < error
    assert abs(seen - 1 / (1 + math.exp(-1.05))) > error


@pytest.mark.parametrize("split", [0.5, 0.8])
def test_the_simulated_fallback_has_its_share_of_epsilon(split, key, monkeypatch):
    """Reports that are true above some ε₂ and reversed below it: the ranking tells where ε₂ lies, to 1 in 10⁶."""
    epsilon, truth = 0.6, np.array([2, 0, 1])
    module = importlib.import_module("privrank_jax.aggregation.ldp_kwiksort")
    exact = local_weights(key, truth[None], user(math.inf)).value
    monkeypatch.setattr(module, "_ldp_kwiksort", module._ldp_kwiksort.__wrapped__)  # nothing cached

    def ranks_if_above(limit):
        def weights(_key, _ranks, share, **_settings):
            return SimpleNamespace(value=jnp.where(share.epsilon > limit, exact, 1 - exact))

        monkeypatch.setattr(module, "local_weights", weights)
        users = np.tile(truth, (3, 1))
        runs = jax.jit(
            jax.vmap(lambda k: ldp_kwiksort(k, users, user(epsilon), max_queries=1, split=split))
        )
        found = runs(jax.random.split(key, 200))
        return np.unique(np.asarray(found.value)[np.asarray(found.diagnostics.refused)], axis=0)

    assert ranks_if_above((1 - split) * epsilon * (1 - 1e-6)).tolist() == [truth.tolist()]
    assert ranks_if_above((1 - split) * epsilon * (1 + 1e-6)).tolist() == [(2 - truth).tolist()]


def test_protocol_has_the_law_of_the_simulation():
    """Messages between server and clients, 1,500 runs: chi-squared against the same law, false-alarm rate 1e-6."""
    runs, rng = 1500, random.Random(20261121)
    plan = local_plan(3, user(4.5))
    found = []
    for _ in range(runs):
        server = Server(3, plan, rng=rng)
        order = np.argsort(run_protocol(server, [Client(r, plan, rng=rng) for r in THREE]))
        found.append((tuple(order.tolist()), len(server.transcript)))
    law = exact_law(THREE, 1.5, "sign")
    counts = [found.count(end) for end in law]
    assert sum(counts) == runs
    assert scipy.stats.chisquare(counts, runs * np.array(list(law.values()))).pvalue > 1e-6


@functools.cache
def unanimous_refusal(max_uses):
    """Exact Pr[⊥] of four items in four groups that answer alike and without noise."""
    law = slow.sort_law(np.triu(np.ones((4, 4)), 1))
    queries = {}
    for (_, count), chance in law.items():
        queries[count] = queries.get(count, 0.0) + chance
    return slow.refused_probability(queries, 4, max_uses)


@pytest.mark.slow
@pytest.mark.parametrize("max_uses", [1, 2, 3])
def test_refusals_are_as_frequent_as_the_multinomial_says(max_uses, key):
    """Of 4,000 runs, within 5 standard errors; the union bound lies above, within a factor 1.5 where it is small.
    The fallback at ε = ∞ then finds the truth too."""
    ranks = np.tile(np.array([2, 0, 3, 1]), (9, 1))
    run = jax.vmap(
        lambda k: ldp_kwiksort(k, ranks, user(math.inf), max_queries=2 * max_uses)
    )  # one program for all τ
    estimate = run(jax.random.split(key, 4000))
    refused = np.mean(estimate.diagnostics.refused)
    exact = unanimous_refusal(max_uses)
    assert abs(refused - exact) < 5 * math.sqrt(exact * (1 - exact) / 4000)
    assert estimate.diagnostics.max_uses[0] == max_uses
    assert exact <= refusal_bound(4, max_uses) * (1 + NO_ROUNDING)
    assert exact > 0.2 or refusal_bound(4, max_uses) < 1.5 * exact
    np.testing.assert_array_equal(estimate.value, np.tile(ranks[0], (4000, 1)))


def test_protocol_keeps_to_the_plan():
    """No group is asked more than τ times, users count for themselves, and a refused sort falls back."""
    rng = random.Random(7)
    plan = local_plan(4, user(40.0), max_queries=2)  # τ = 1
    ranks = np.tile(np.array([2, 0, 3, 1]), (300, 1))
    refusals = 0
    for _ in range(3):
        server = Server(300, plan, rng=rng)
        clients = [Client(r, plan, rng=rng) for r in ranks]
        assert sorted(itertools.chain(*server.groups)) == list(range(300))
        assert {len(group) for group in server.groups} == {75}
        assert run_protocol(server, clients).tolist() == [2, 0, 3, 1]
        uses = np.bincount([e.question.group for e in server.transcript], minlength=4)
        assert uses.max(initial=0) <= 1
        asked = [frozenset(e.question[:2]) for e in server.transcript]
        assert len(set(asked)) == len(asked)
        refusals += server.refused
        if server.refused:
            with pytest.raises(RuntimeError, match="spent"):
                clients[0].fallback_report()
            with pytest.raises(RuntimeError, match="not done"):
                _ = server.ranks
    assert refusals > 0
    client = Client(ranks[0], plan)
    assert client.answer(0, 1) in (1, -1)
    with pytest.raises(RuntimeError, match="answers are spent"):
        client.answer(0, 2)


class Words(random.Random):
    """32-bit words one by one, then zeros."""

    def __init__(self, *words):
        self.words = list(words)

    def getrandbits(self, bits):
        assert bits == 32
        return self.words.pop(0) if self.words else 0


@pytest.mark.parametrize("epsilon", [0.3, 2.0])
def test_clients_flip_the_words_of_the_plan_and_report_at_its_share(epsilon):
    """The words that flip an answer, found by bisection: their share loses ε₀, but for 1e-6 of it at most. A report has
    the norm of Duchi's mechanism at ε₂."""
    plan = local_plan(8, user(epsilon), max_queries=12)
    assert plan.may_refuse

    def told(word, item, pivot):
        return Client(np.arange(8), plan, rng=Words(word)).answer(item, pivot)

    low, high = 0, 2**32 - 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if told(middle, 0, 1) == -1 else (low, middle)
    assert (told(low, 1, 0), told(high, 1, 0)) == (1, -1)
    loss = math.log((2**32 - high) / high)
    assert plan.epsilon_per_query * (1 - 1e-6) < loss <= plan.epsilon_per_query
    report = Client(np.arange(8), plan, rng=Words(5, 6)).fallback_report()
    norm = float(report_norm("duchi", 28, plan.fallback_epsilon, math.sqrt(28)))
    assert np.linalg.norm(report) == pytest.approx(norm)


def test_every_word_of_entropy_counts_for_the_fallback_report():
    plan = local_plan(8, user(1.0), max_queries=12)
    drawn = [
        Client(np.arange(8), plan, rng=Words(*words)).fallback_report()
        for words in ((5, 6), (5, 7), (6, 6), (5, 6))
    ]
    for one, other in itertools.combinations(drawn[:3], 2):
        assert not np.array_equal(one, other)
    np.testing.assert_array_equal(drawn[0], drawn[3])


def test_one_item_is_ranked(key):
    assert ldp_kwiksort(key, np.zeros((5, 1), int), user(1.0)).value.tolist() == [0]


def test_server_refuses_what_does_not_fit():
    plan = local_plan(3, user(1.0))
    with pytest.raises(ValueError, match="as many users"):
        Server(2, plan)
    with pytest.raises(ValueError, match="3 items"):
        Client([0, 1], plan)
    server = Server(4, plan)
    questions = server.next_round()
    assert len(questions) == 2
    with pytest.raises(RuntimeError, match="not been answered"):
        server.next_round()
    with pytest.raises(ValueError, match="2 questions"):
        server.receive([])
    with pytest.raises(ValueError, match="one response"):
        server.receive([[0] * len(server.groups[q.group]) for q in questions])
    with pytest.raises(RuntimeError, match="needs no fallback"):
        server.fall_back(np.zeros((4, 3)))
    with pytest.raises(RuntimeError, match="no fallback"):
        Client([0, 1, 2], plan).fallback_report()


def test_a_sweep_over_epsilon_and_split_compiles_once(key):
    traces = []
    ranks = np.tile(np.array([2, 0, 3, 1]), (9, 1))

    @jax.jit
    def run(key, epsilon, split):
        traces.append(1)
        return ldp_kwiksort(key, ranks, user(epsilon), max_queries=4, split=split).value

    for epsilon, split in itertools.product((0.5, math.inf), (0.5, 0.9)):
        value = run(key, epsilon, split)
    assert len(traces) == 1
    assert value.tolist() == [2, 0, 3, 1]
    assert value.dtype == jnp.int32


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"encoding": "binary"}, "encoding must be one of"),
        ({"calibration": "loose"}, "calibration must be one of"),
        ({"missing": "first"}, "missing must be one of"),
        ({"split": 0.0}, "split must lie"),
        ({"split": 0.9, "calibration": "published"}, "published calibration"),
        ({"max_queries": 0}, "max_queries must be at least 1"),
        ({"ranks": THREE[:2]}, "m groups of users"),
        ({"ranks": THREE + 0.5}, "ranks must be integers"),
    ],
)
def test_bad_arguments_are_refused(settings, message, key):
    with pytest.raises(ValueError, match=message):
        ldp_kwiksort(key, **({"ranks": THREE, "privacy": user(1.0)} | settings))
