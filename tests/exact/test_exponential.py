"""The exact exponential mechanism: its enclosures, its law against enumeration, doubt, and what it refuses."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import flint
import numpy as np
import pytest
from scipy import special, stats

from privrank_jax.aggregation import exponential_kemeny
from privrank_jax.aggregation.weights import PairWeights, counted_weights
from privrank_jax.exact import exponential
from privrank_jax.exact.balls import Uniform
from tests.exact.rankings import EVERY, RANKS, costs_and_rate
from tests.promises import user
from tests.reference import aggregation as reference

ALARM = 1e-6  # false-alarm rate of each comparison; the draws can't be seeded


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
    # Two bits can't distinguish the first from the second within [1/4, 1/2).
    found = [exponential.choose(sharp, within(uniform, 2)) for uniform in range(4)]
    assert found[:2] == [0, None]
    assert found[3] == 2
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
    assert exponential.choose(blurred, within(0, 6)) == 0
    assert exponential.choose(blurred, within(63, 6)) == 2


@pytest.mark.parametrize("bits", [10, 40, 128])
def test_balls_hold_the_odds_and_narrow_with_the_bits(bits):
    costs, rate = costs_and_rate(7.0)
    exact, rough = (exponential.Odds(costs, rate, number) for number in (300, bits))
    for size in range(1, 5):
        for members in map(list, itertools.combinations(range(4), size)):
            for wide, narrow in zip(rough.of_last(members), exact.of_last(members)):
                assert wide.contains(narrow)
                assert wide > 0
                assert wide.rad() < 200 * narrow * 2.0**-bits
    odds = exact.of_last([0, 1, 2, 3])
    terms = [
        math.exp(-float(rate) * sum(costs[j][i] for i, j in itertools.combinations(order, 2)))
        for order in EVERY
    ]
    assert float(sum(odds)) == pytest.approx(sum(terms), rel=1e-12)


def draw_many(monkeypatch, costs, rate, draws):
    made = {}

    def once(costs, rate, bits):
        if bits not in made:
            made[bits] = Odds(costs, rate, bits)
        return made[bits]

    Odds = exponential.Odds
    monkeypatch.setattr(exponential, "Odds", once)
    orders = [tuple(exponential.best_first(np.array(costs), rate)) for _ in range(draws)]
    return np.array([orders.count(order) for order in EVERY]), made


@pytest.mark.parametrize("bits", [6, 128])
def test_draws_have_the_law_and_no_other_whatever_the_precision(monkeypatch, bits):
    draws, epsilon = 4000, 30.0
    monkeypatch.setattr(exponential, "_BITS", bits)
    costs, rate = costs_and_rate(epsilon)
    observed, made = draw_many(monkeypatch, costs, rate, draws)
    assert (len(made) > 1) == (bits == 6)  # six bits leave doubt, 128 do not
    monkeypatch.undo()

    def chances(factor):
        return law_of(exponential.Odds(costs, rate * Fraction(factor), 140), 4)

    # The rare orders make one cell, of 13.5 draws on average: 43 of 10 million simulated runs raise an alarm. In cells
    # of their own, a single draw can be one, in 2 % of runs.
    many = draws * chances(1) > 100

    def pooled(x):
        return np.append(x[many], x[~many].sum())

    law, observed = pooled(chances(1)), pooled(observed)
    assert stats.chisquare(observed, draws * law).pvalue > ALARM
    for factor in (0.7, 1.4):
        other = pooled(chances(factor))
        noncentrality = draws * np.sum((law - other) ** 2 / other)
        assert (
            stats.ncx2.cdf(stats.chi2.isf(ALARM, len(law) - 1), len(law) - 1, noncentrality) < ALARM
        )
        assert stats.chisquare(observed, draws * other).pvalue < ALARM


def test_the_rate_gives_epsilon_and_no_more():
    for epsilon in (0.1, 1 / 3, 2.0):
        _, rate = costs_and_rate(epsilon)
        # Twice the sensitivity m(m-1) of the integer costs.
        assert 2 * 4 * 3 * rate == Fraction(epsilon)
        found = exponential_kemeny.release(counted_weights(RANKS), user(epsilon))
        assert found.diagnostics.rate == pytest.approx(epsilon / (4 * 3))
        assert found.guarantee.as_dict() == {
            "epsilon": epsilon, "delta": 0.0, "unit": "user", "adjacency": "replace", "trust": "central",
            "numerics": "exact",
        }  # fmt: skip


@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_the_exact_loss_between_all_rankings_of_one_user_is_within_epsilon(epsilon):
    rest = np.tile([2, 1, 0], (40, 1))

    def law(ranks):
        costs = exponential.excess(counted_weights(np.vstack([rest, ranks])).twice)
        return law_of(exponential.Odds(costs, Fraction(epsilon) / 12, 140), 3)

    laws = [law(ranks) for ranks in itertools.permutations(range(3))]
    laws += [law([0, 0, 1]), law([0, -1, -1]), law([-1, -1, -1])]
    losses = [np.max(np.log(a / b)) for a in laws for b in laws]
    assert max(losses) <= epsilon * (1 + 1e-9)
    assert max(losses) > 0.7 * epsilon  # a rate twice as large would show


@pytest.mark.parametrize("number", [np.float32(1.5), np.int64(2), 2])
def test_epsilon_is_any_number(number):
    found = exponential_kemeny.release(counted_weights(RANKS), user(number))
    assert found.guarantee.epsilon == float(number)
    assert found.diagnostics.rate == pytest.approx(float(number) / 12)


def test_odds_are_held_however_small():
    """The three orders that go around a cycle are drawn at odds of e^-(10^19) too."""
    users = 2**49
    cycle = PairWeights.from_counts(2 * users * np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]), users)
    for epsilon in (1e3, 1e6):
        found = exponential_kemeny.release(cycle, user(epsilon))
        assert found.value.tolist() in ([0, 1, 2], [2, 0, 1], [1, 2, 0])
        assert found.diagnostics.rate == pytest.approx(min(epsilon / 6, 2**15))


def test_extremes():
    assert exponential_kemeny.release(counted_weights([[1, 0]] * 3), user(1e6)).value.tolist() == [
        1,
        0,
    ]
    assert exponential_kemeny.release(
        counted_weights([[1, 0, 2]] * 3), user(1e300)
    ).value.tolist() == [
        1,
        0,
        2,
    ]
    drawn = {
        tuple(exponential_kemeny.release(counted_weights([[0, 1]]), user(1e-9)).value.tolist())
        for _ in range(60)
    }
    assert drawn == {(0, 1), (1, 0)}  # both, but for a chance below 1e-17
    value = exponential_kemeny.release(
        counted_weights(np.tile(np.arange(9)[::-1], (500, 1))), user(100.0)
    ).value
    assert (value.dtype, value.tolist()) == (np.int32, list(range(9))[::-1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"privacy": user(math.inf)}, "epsilon must be finite"),
        ({"privacy": user(np.ones(2))}, "epsilon must be one number"),
        ({"weights": counted_weights([list(range(21))])}, "at most 20 items, got 21"),
    ],
)
def test_refusals(change, message):
    with pytest.raises(ValueError, match=message):
        exponential_kemeny.release(
            **{"weights": counted_weights([[0, 1]]), "privacy": user(1.0)} | change
        )
