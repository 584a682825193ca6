"""The exact exponential mechanism: its enclosures, its law against enumeration, doubt, and what it refuses."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from scipy import special

from privrank_jax.aggregation import exponential_kemeny
from privrank_jax.aggregation.weights import PairWeights, counted_weights
from privrank_jax.exact import exponential
from privrank_jax.exact.balls import Uniform
from tests.exact.laws import assert_shares
from tests.promises import user
from tests.reference import aggregation as reference

ALARM = 1e-6  # false-alarm rate of each comparison; the draws can't be seeded
ODDS = exponential.Odds
RANKS = np.array([[0, 1, 2, 3], [1, 0, 2, 3], [0, 2, -1, 1], [0, 0, 1, 2], [3, 1, 2, 0]])
EVERY = list(itertools.permutations(range(4)))


def costs_and_rate(epsilon, missing="last"):
    return exponential.excess(counted_weights(RANKS, missing).twice), Fraction(epsilon) / (
        2 * 4 * 3
    )


def law_of(odds, items):
    """Probabilities of all orders, in double precision."""
    found = []
    for order in itertools.permutations(range(items)):
        left, chance = list(range(items)), 1.0
        for last in order[::-1]:
            weights = [float(one) for one in odds.of_last(left)]
            chance *= weights[left.index(last)] / sum(weights)
            left.remove(last)
        found.append(chance)
    return np.array(found)


@pytest.mark.parametrize("missing", ["last", "unknown"])
def test_the_law_is_that_of_enumeration(missing):
    epsilon = 3.0
    odds = exponential.Odds(*costs_and_rate(epsilon, missing), 140)
    w = reference.pairwise_weights(RANKS, missing)
    costs = np.array([reference.kemeny_score(np.argsort(order), w) for order in EVERY])
    twin = special.softmax(-epsilon * len(RANKS) * costs / 12)
    np.testing.assert_allclose(law_of(odds, 4), twin, rtol=1e-12)
    assert twin.max() > 2 * twin.min()


def test_a_choice_is_made_where_the_bits_leave_no_doubt_and_only_there():
    # Weights 3, 1, 4 of 8 known exactly: of 3 bits, 0-2 choose the first, 3 the second, 4-7 the third.
    def within(uniform, bits):
        return Uniform(uniform, bits).ball(bits)

    sharp = [flint.arb(w) for w in (3, 1, 4)]
    found = [exponential.choose(sharp, within(8 * uniform + 1, 6)) for uniform in range(8)]
    assert found == [0, 0, 0, 1, 2, 2, 2, 2]
    # Two bits can't distinguish neighbors within [1/4, 3/4).
    found = [exponential.choose(sharp, within(uniform, 2)) for uniform in range(4)]
    assert found == [0, None, None, 2]
    # A blurred first weight, anything in [2.5, 3.5]: what lies near its edge stays open.
    blurred = [flint.arb(3, 0.5), *sharp[1:]]
    for uniform in range(64):
        choice = exponential.choose(blurred, within(uniform, 6))
        for first in (2.5, 3.0, 3.5):
            edges = np.cumsum([first, 1, 4]) / (first + 5)
            inside = {
                int(np.searchsorted(edges, (uniform + x) / 64, "right")) for x in (0.01, 0.99)
            }
            assert choice is None or inside == {choice}
    assert [exponential.choose(blurred, within(uniform, 6)) for uniform in (0, 63)] == [0, 2]


@pytest.mark.parametrize("bits", [10, 40, 128])
def test_balls_hold_the_odds_and_narrow_with_the_bits(bits):
    costs, rate = costs_and_rate(7.0)
    exact, rough = (exponential.Odds(costs, rate, number) for number in (300, bits))
    subsets = (list(one) for size in range(1, 5) for one in itertools.combinations(range(4), size))
    for members in subsets:
        for wide, narrow in zip(rough.of_last(members), exact.of_last(members)):
            assert wide.contains(narrow)
            assert wide > 0
            assert wide.rad() < 200 * narrow * 2.0**-bits


@pytest.mark.parametrize("bits", [6, 128])
def test_draws_have_the_law_and_no_other_whatever_the_precision(monkeypatch, bits):
    """χ² of 4,000 fresh draws; a rate that is 30 % off is rejected, but in one of a million runs."""
    costs, rate = costs_and_rate(30.0)
    kept = functools.cache(lambda bits: ODDS(costs, rate, bits))
    monkeypatch.setattr(exponential, "_BITS", bits)
    monkeypatch.setattr(exponential, "Odds", lambda costs, rate, bits: kept(bits))
    orders = [tuple(exponential.best_first(np.array(costs), rate)) for _ in range(4000)]
    assert (kept.cache_info().currsize > 1) == (bits == 6)  # six bits leave doubt, 128 do not
    observed = [orders.count(order) for order in EVERY]
    assert_shares(observed, law_of(ODDS(costs, rate, 140), 4), ALARM)
    for factor in (0.7, 1.4):
        other = law_of(ODDS(costs, rate * Fraction(factor), 140), 4)
        with pytest.raises(AssertionError):
            assert_shares(observed, other, ALARM)


@pytest.mark.parametrize("epsilon", [0.1, 1 / 3, np.float32(1.5), np.int64(2), 2])
def test_the_rate_gives_epsilon_and_no_more(epsilon):
    """Twice the sensitivity m(m-1) of the integer costs."""
    found = exponential_kemeny.release(counted_weights(RANKS), user(epsilon))
    assert found.diagnostics.rate == pytest.approx(float(epsilon) / (4 * 3))
    guarantee = found.guarantee
    assert (guarantee.epsilon, guarantee.delta) == (float(epsilon), 0.0)
    assert (guarantee.numerics, guarantee.trust) == ("exact", "central")


def test_extremes():
    def drawn(ranks, epsilon):
        return tuple(
            exponential_kemeny.release(counted_weights(ranks), user(epsilon)).value.tolist()
        )

    assert drawn([[1, 0]] * 3, 1e6) == (1, 0)
    assert drawn([[1, 0, 2]] * 3, 1e300) == (1, 0, 2)
    assert drawn(np.tile(np.arange(9)[::-1], (500, 1)), 100.0) == tuple(range(9))[::-1]
    users = 2**49  # the three orders that go around a cycle are drawn at odds of e^-(10^19) too
    cycle = PairWeights.from_counts(2 * users * np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), users)
    for epsilon in (1e3, 1e6):
        found = exponential_kemeny.release(cycle, user(epsilon))
        assert found.value.tolist() in ([0, 1, 2], [2, 0, 1], [1, 2, 0])
        assert found.diagnostics.rate == pytest.approx(min(epsilon / 6, 2**15))
    found = {drawn([[0, 1]], 1e-9) for _ in range(60)}
    assert found == {(0, 1), (1, 0)}  # both, but for a chance below 1e-17
    for ranks, epsilon, word in (
        ([[0, 1]], math.inf, "finite"),
        ([[0, 1]], np.ones(2), "one number"),
        ([list(range(21))], 1.0, "20 items"),
    ):
        with pytest.raises(ValueError, match=word):
            drawn(ranks, epsilon)
