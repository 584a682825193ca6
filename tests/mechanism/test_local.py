"""What every local record keeps: the law of a message, its loss, unbiased aggregates, exact twins, use, refusals.

Laws of messages are enumerated by naive twins, for all rankings of three items with ties and gaps. Simulated and exact
messages are compared with them by χ²; false alarms: once in a million.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from privrank_jax import aggregation
from privrank_jax.exact import local_reports
from privrank_jax.mechanism import Local
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy import Privacy, shuffled_local_epsilon
from tests.aggregation.subset_laws import chosen
from tests.promises import user
from tests.quick import soon, thorough
from tests.reference import borda, local_pairs
from tests.reference import local_reports as two_sets

ITEMS, ALARM, EPSILON, DELTA = 3, 1e-6, 1.5, 1e-3
ABOVE = np.triu_indices(ITEMS, 1)
CONTENTS = list(itertools.product((-1, 0, 1, 2), repeat=ITEMS))
CROWD = np.array([[2, 0, 1], [0, 1, 2], [0, 0, 1], [-1, 0, -1], [1, 0, 2], [0, 1, -1]])
RULES = ("last", "unknown")


def scores(ranks, missing):
    return borda.pair_shares(ranks, missing).sum(1) - (ITEMS - 1) / 2


def signs(ranks, missing):
    return 2 * borda.pair_shares(ranks, missing)[ABOVE] - 1


# --- naive laws of one message: {message: probability} ---------------------------------------------


def sets_law(ranks, epsilon, missing):
    """Reports of two sets of items; equal ones of several types are one message."""
    found: dict[tuple[float, ...], float] = {}
    for order, chance in local_pairs.strict_orders_of(ranks, missing).items():
        own = [ITEMS - 1 - order.index(item) for item in range(ITEMS)]
        law = two_sets.report_law(own, chosen(ITEMS, epsilon), math.exp(-epsilon))
        for probability, vector in zip(*law):
            message = tuple((vector.round(4) + 0.0).tolist())
            found[message] = found.get(message, 0) + chance * probability
    return found


def answers_law(ranks, epsilon, missing):
    """An answer for every pair, at ε/3 each, as a sign."""
    flip = 1 / (1 + math.exp(epsilon / 3))
    ahead = 0.5 + (0.5 - flip) * signs(ranks, missing)
    return {
        told: math.prod(p if sign > 0 else 1 - p for p, sign in zip(ahead, told))
        for told in itertools.product((-1, 1), repeat=3)
    }


def orders_law(size):
    return lambda ranks, *told: local_pairs.sub_ranking_law(ranks, size, *told)


def told(messages):
    """Orders, best first."""
    held, high = map(np.asarray, messages)
    return np.take_along_axis(held, np.argsort(-high, axis=1), axis=1)


@dataclasses.dataclass(frozen=True)
class Case:
    """One record.

    Attributes:
        record: the mechanism.
        truth: ranks, rule -> the vector for which a report is unbiased.
        law: ranks, ε, rule -> law of a message; None if messages are real vectors.
        read: messages -> those of each user, as rows.
        vectors: messages, ε -> reports as vectors.
        exact: ranks of users, ε, rule -> exact messages.
        rules: further rules of the record.
        delta: of promises.
    """

    record: Local
    truth: Callable[[Any, str], np.ndarray]
    law: Callable[..., dict[Any, float]] | None = None
    read: Callable[[Any], np.ndarray] = np.asarray
    vectors: Callable[[Any, float], np.ndarray] = lambda messages, _: np.asarray(messages, float)
    exact: Callable[..., Any] | None = None
    rules: dict[str, Any] = dataclasses.field(default_factory=dict)
    delta: float = 0.0

    def promise(self, epsilon: Any) -> Privacy:
        return user(epsilon, self.delta)

    def weights(self, value: Any) -> np.ndarray:
        """The numbers of a value for which it is unbiased."""
        value = np.asarray(value, float)
        return value if self.truth is scores else value[..., *ABOVE]

    def wanted(self, users: Any, missing: str) -> np.ndarray:
        """Those numbers without noise."""
        mean = np.mean([self.truth(ranks, missing) for ranks in users], axis=0)
        return mean + (ITEMS - 1) / 2 if self.truth is scores else (1 + mean) / 2


def _drawn_sets(ranks, epsilon, missing):
    record = aggregation.ldp_borda_subsets
    assert record.exact is not None
    return record.exact(ranks, user(epsilon), record.read(ranks, missing=missing)[1])[1]


def _orders(record, size, **more):
    def vectors(messages, epsilon):
        return np.array(
            [local_pairs.sub_ranking_vector(one, ITEMS, epsilon) for one in told(messages).tolist()]
        )

    def exact(ranks, epsilon, missing):
        asked = np.arange(len(ranks)) % 3
        return local_reports.told_orders(ranks, asked, size, epsilon, missing)

    return Case(record, signs, orders_law(size), told, vectors, exact, **more)


CASES = {
    "ldp_borda": Case(aggregation.ldp_borda, scores),
    "ldp_borda_privunit": Case(aggregation.vector_reports.ldp_borda_privunit, scores),
    "ldp_borda_subsets": Case(
        aggregation.ldp_borda_subsets,
        scores,
        sets_law,
        lambda reports: np.asarray(reports).round(4) + 0.0,
        exact=_drawn_sets,
    ),
    "local_weights": Case(aggregation.local_weights, signs),
    "local_weights_privunit": Case(aggregation.vector_reports.local_weights_privunit, signs),
    "local_weights_rr": Case(
        aggregation.vector_reports.local_weights_rr, signs, answers_law, np.sign
    ),
    "sub_ranking_weights of pairs": _orders(aggregation.sub_ranking_weights, 2, rules={"size": 2}),
    "sub_ranking_weights of all": _orders(aggregation.sub_ranking_weights, 3, rules={"size": 3}),
    "shuffled_pair_weights": _orders(aggregation.shuffled_pair_weights, 2, delta=DELTA),
}
EACH = [pytest.param(case, id=name) for name, case in CASES.items()]
each = pytest.mark.parametrize("case", EACH)
FINITE = [one for one in EACH if one.values[0].law]
finite = pytest.mark.parametrize("case", FINITE)
MESSAGES = [
    pytest.param(*one.values, exact, id=f"{one.id}-{exact}")
    for one in FINITE
    for exact in (False, True)[: 1 + bool(one.values[0].exact)]
]


def _soon(*names):
    """All cases, of which the quick tier has these."""
    return pytest.mark.parametrize("case", soon(EACH, *names))


# Laws of finite messages are tested whole, and what is read from them as aggregates.
vectors = _soon("ldp_borda", "local_weights_privunit")
# One rule where none is missing, as the other takes long to compile.
RANKED = [(ranks, "unknown") for ranks in ([2, 0, 1], [0, 0, 1], [-1, 0, -1])]
RANKED.append(([-1, 0, -1], "last"))


def sent(case, key, ranks, missing, number, epsilon=EPSILON):
    """Messages of users with one ranking, who are asked for pairs in turn."""
    users = np.tile(ranks, (number, 1))
    asked = {"asked": jnp.arange(number) % 3} if case.record.assign else {}
    return case.record.report(key, users, epsilon, missing=missing, **case.rules, **asked)


@finite
@pytest.mark.parametrize("missing", RULES)
def test_a_message_loses_epsilon_and_no_more(case, missing):
    """Over all contents; so it would lose more with 5 % less noise, that is at ε/0.95."""
    for less, holds in ((1.0, True), (0.95, False)):
        laws = [case.law(ranks, EPSILON / less, missing) for ranks in CONTENTS]
        every = sorted(laws[0])
        chances = np.log([[law[one] for one in every] for law in laws])
        np.testing.assert_allclose(np.exp(chances).sum(1), 1)
        worst = (chances[:, None] - chances).max()
        assert worst == pytest.approx(EPSILON / less)
        assert (worst <= EPSILON * (1 + 1e-9)) == holds


@pytest.mark.parametrize(("case", "exact"), soon(MESSAGES, "*-True", "local*", "*all-*", "sh*"))
def test_messages_have_their_law(case, exact, key):
    """χ² of 30,000 messages; the law at an ε that is 15 % off is rejected."""
    for ranks, missing in RANKED if exact else RANKED[:3]:
        if exact:
            messages = case.exact(np.tile(ranks, (30_000, 1)), EPSILON, missing)
        else:
            messages = sent(case, key, ranks, missing, 30_000)
        seen = Counter(map(tuple, case.read(messages).tolist()))
        for factor, agrees in ((1, True), (0.85, False), (1.15, False)):
            law = case.law(ranks, factor * EPSILON, missing)
            if case.law is sets_law and factor != 1:  # the same reports with other chances
                law = dict(zip(case.law(ranks, EPSILON, missing), law.values()))
            assert set(seen) <= set(law)
            observed = [seen[one] for one in law]
            expected = 30_000 * np.array([*law.values()])
            found = stats.chisquare(observed, expected).pvalue > ALARM
            if agrees or ranks == [2, 0, 1]:  # ties say little of ε
                assert found == agrees


@vectors
@pytest.mark.parametrize("missing", [thorough("last"), "unknown"])
def test_reports_are_unbiased_and_as_far_off_as_stated(case, missing, key):
    """30,000 users with one ranking: means within 5.5 standard errors, whatever ties and gaps they have."""
    for ranks in (ranks for ranks, rule in RANKED if rule == missing):
        reports = case.vectors(sent(case, key, ranks, missing, 30_000), EPSILON)
        truth = case.truth(ranks, missing)
        error = reports.std(0) / 30_000**0.5
        assert np.all(np.abs(reports.mean(0) - truth) < 5.5 * error + 1e-9)
        told = user(EPSILON, case.delta), Facts(ITEMS, 1)
        scale = 0.0 if case.delta else float(case.record.scale(*told))
        if case.truth is scores:
            np.testing.assert_allclose(np.linalg.norm(reports, axis=1), scale, rtol=1e-6)
            np.testing.assert_allclose(reports.sum(1), 0, atol=1e-5)
        elif case.record.assign is None and truth.all():  # variance of w = (1 + v)/2
            np.testing.assert_allclose(reports.var(0) / 4, scale**2, rtol=0.05)


@_soon("ldp_borda", "local_weights_rr", "shuffled_pair_weights")
@pytest.mark.parametrize("missing", [thorough("last"), "unknown"])
def test_the_aggregate_is_unbiased(case, missing, key, monkeypatch):
    """4,000 simulations of 24 users in blocks: means within 5.5 standard errors, errors as the scale says."""
    monkeypatch.setattr("privrank_jax.mechanism.local._BLOCK", 31)
    users = np.tile(CROWD, (4, 1))
    wanted, promise = case.wanted(users, missing), case.promise(EPSILON)

    def run(key):
        return case.record(key, users, promise, missing=missing, **case.rules)

    found = jax.jit(jax.vmap(run))(jax.random.split(key, 4000))
    values = case.weights(found.value)
    if case.delta:  # a pair without reports counts as 1/2
        wanted = wanted + (2 / 3) ** 24 * (0.5 - wanted)
    assert np.all(np.abs(values.mean(0) - wanted) < 5.5 * values.std(0) / 4000**0.5)
    rules = (missing, case.rules.get("size", 2)) if case.record.assign else (missing,)
    scale = float(case.record.scale(promise, Facts(ITEMS, 24, rules=rules)))
    if case.truth is scores:
        squares = [np.sum(case.truth(ranks, missing) ** 2) for ranks in users]
        square = (scale**2 - np.mean(squares)) / 24
        assert values.var(0).sum() == pytest.approx(square, rel=0.1)
    else:
        assert np.all(values.var(0) < 1.1 * scale**2 + (0.02 if not case.record.assign else 0))
        assert np.all(values.var(0) > 0.4 * scale**2)
        both = np.asarray(found.value + found.value.transpose(0, 2, 1))
        assert np.abs(both - (1 - np.eye(ITEMS))).max() < 1e-6


@_soon("ldp_borda", "shuffled_pair_weights")
def test_without_noise_users_tell_what_they_hold(case, key):
    promise = case.promise(jnp.inf)
    given = [(np.tile([2, 0, 1], (300, 1)), "last")]
    if case.record.assign is None:  # else ties are broken by chance, and who is asked varies
        given = [(CROWD, "last")]
    for users, missing in given:
        found = case.record(key, users, promise, missing=missing, **case.rules)
        wanted = case.wanted(users, missing)
        np.testing.assert_allclose(case.weights(found.value), wanted, atol=1e-5)
        assert found.guarantee.trust == case.record.trust
        assert found.guarantee.attained == promise


@_soon("local_weights_rr", "sub_ranking_weights of pairs")
def test_exact_releases_are_unbiased(case, monkeypatch):
    """400 releases of 24 users in chunks, means within 5.5 standard errors; where there is none, that is said."""
    monkeypatch.setattr(local_reports, "_CHUNK", 31)
    users, promise = np.tile(CROWD, (4, 1)), case.promise(EPSILON)
    if case.record.exact is None:
        with pytest.raises(ValueError, match="no exact release"):
            case.record.release(users, promise)
        return
    told = {"missing": "unknown", **case.rules}
    found = [case.record.release(users, promise, **told) for _ in range(400)]
    values = np.array([case.weights(one.value) for one in found])
    wanted = case.wanted(users, "unknown")
    assert np.all(np.abs(values.mean(0) - wanted) < 5.5 * values.std(0) / 20 + 1e-4)
    told = found[0]
    assert (told.guarantee.numerics, told.guarantee.trust) == ("exact", case.record.trust)
    assert told.guarantee.attained == promise
    assert all(np.asarray(leaf).dtype != jnp.float32 for leaf in jax.tree.leaves(told.value))
    unanimous = np.tile([2, 0, 1], (300, 1))
    value = case.weights(case.record.release(unanimous, case.promise(60.0), **case.rules).value)
    if case.truth is signs:
        np.testing.assert_allclose(value, case.wanted(unanimous, "last"), atol=1e-9)


REFUSED = [
    (CROWD, 1.0, {}, TypeError, "Privacy"),
    (CROWD, Privacy(1.0, unit="user", adjacency="add-remove"), {}, ValueError, "promise"),
    (CROWD, Privacy(1.0, unit="user", adjacency="replace", contributions=3), {}, ValueError, "contributions"),
    (CROWD.astype(float), None, {}, ValueError, "integers"),
    (CROWD[0], None, {}, ValueError, "users, items"),
    (CROWD[:0], None, {}, ValueError, "users, items"),
    (CROWD[:, :1], None, {}, ValueError, "2 items|two items"),
    (CROWD, None, {"missing": "first"}, ValueError, "missing must be one of"),
    (CROWD, None, {"rule": 1}, TypeError, "rule"),
]  # fmt: skip


@each
def test_what_does_not_fit_is_refused(case, key):
    calls = [lambda *given, **rules: case.record(key, *given, **rules)]
    if case.record.exact is not None:
        calls.append(case.record.release)
        for epsilon in (np.inf, np.linspace(1, 2, len(CROWD))):
            with pytest.raises(ValueError, match="epsilon must be"):
                case.record.release(CROWD, case.promise(epsilon), **case.rules)
    for data, promise, rules, error, word in REFUSED:
        promise = case.promise(1.0) if promise is None else promise
        if isinstance(promise, Privacy):
            promise = dataclasses.replace(promise, delta=case.delta)
        for call in calls:
            with pytest.raises(error, match=word):
                call(data, promise, **case.rules | rules)
    with pytest.raises(ValueError, match="epsilon must be positive"):
        case.record.report(key, CROWD, 0.0, **case.rules)


def test_shuffled_reports_are_drawn_at_the_local_budget(key):
    facts, promise = Facts(ITEMS, 300), user(EPSILON, DELTA)
    record = aggregation.shuffled_pair_weights
    local = shuffled_local_epsilon(300, EPSILON, DELTA)
    assert record.own(EPSILON, DELTA, facts) == local
    found = record(key, np.tile(CROWD, (50, 1)), promise)
    assert float(found.diagnostics.local_epsilon) == pytest.approx(local, rel=1e-6)
    assert float(found.diagnostics.local_epsilon) <= local
