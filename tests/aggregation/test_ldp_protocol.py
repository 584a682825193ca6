"""The protocol of LDPKwikSort: clients, server and what they refuse."""

from __future__ import annotations

import functools
import itertools
import math
import random

import jax
import numpy as np
import pytest
import scipy.stats

from privrank_jax.aggregation import ldp_kwiksort
from privrank_jax.aggregation.ldp_plan import local_plan
from privrank_jax.aggregation.ldp_protocol import Client, Server, run_protocol
from privrank_jax.aggregation.query_budget import refusal_bound
from privrank_jax.privacy.vectors import report_norm
from tests.aggregation.ldp_laws import THREE, exact_law
from tests.promises import user
from tests.reference import kwiksort as slow

NO_ROUNDING = 1e-9


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
            with pytest.raises(RuntimeError, match="already sent"):
                clients[0].fallback_report()
            with pytest.raises(RuntimeError, match="not done"):
                _ = server.ranks
    assert refusals > 0
    client = Client(ranks[0], plan)
    assert client.answer(0, 1) in (1, -1)
    with pytest.raises(RuntimeError, match="all answers of the plan"):
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
