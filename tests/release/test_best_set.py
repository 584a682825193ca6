"""Exact canonical selection: classes and their sizes, enclosures, the best class, the law, and what is refused."""

from __future__ import annotations

import collections
import itertools
import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privrank_jax._balls import BITS, above, middle, precision
from privrank_jax.comparisons import WinCounts
from privrank_jax.exact.balls import Uniform
from privrank_jax.exact.entropy import Source
from privrank_jax.pairwise.top_k import NOISES
from privrank_jax.privacy.selection import canonical_change
from privrank_jax.release import best_set, exact_canonical_top_k
from tests.promises import promise, split
from tests.reference import best_sets as naive

noises = pytest.mark.parametrize("noise", NOISES)
ALARM = 1e-6  # false-alarm rate of each comparison; the draws can't be seeded
BEST = [
    ([7, 4, 4, 1, 0], 3),
    ([5, 5, 5, 2], 2),
    ([3, 2, 1, 0, -4, -4], 1),
    ([6, 2, 1], 3),
    ([0], 1),
]


# --- classes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("best", "k"), BEST)
def test_sets_are_counted_by_their_margins(best, k):
    ends, margins, counts = best_set.set_classes(best, k)
    assert len(set(ends)) == len(ends)
    seen = collections.Counter()
    for chosen in itertools.combinations(range(len(best)), k):
        outside = [place for place in range(len(best)) if place not in chosen]
        seen[(outside[0] if outside and outside[0] < k else k, chosen[-1])] += 1
    assert dict(zip(ends, counts, strict=True)) == seen
    for (out, worst), margin in zip(ends[1:], margins[1:], strict=True):
        assert margin == best[worst] - best[out]
    assert margins[0] == (best[k - 1] - best[k] if k < len(best) else 0)


def test_sets_of_a_class_are_uniform():
    wanted = [(0, *pair, 6) for pair in itertools.combinations(range(2, 6), 2)]
    seen = collections.Counter(tuple(sorted(best_set.draw_set(4, 1, 6))) for _ in range(600))
    assert set(seen) == set(wanted)
    assert stats.chisquare([seen[one] for one in wanted]).pvalue > ALARM
    assert best_set.draw_set(3, 3, 2) == [0, 1, 2]


# --- the best class --------------------------------------------------------------------------------


def largest_noise(uniform, count, noise):
    """With 400 digits."""
    with localcontext() as context:
        context.prec = 400
        log = (Decimal(uniform.numerator) / Decimal(uniform.denominator)).ln()
        if noise == "gumbel":
            return Decimal(count).ln() - (-log).ln()
        return -(1 - (log / count).exp()).ln()


@noises
@pytest.mark.parametrize("count", [1, 2, 10**6, 10**60 + 7])
@pytest.mark.parametrize("below", [1, 2**BITS // 3, 2**BITS - 2])
def test_values_are_enclosed_and_hardly_wider_than_the_bits(noise, count, below):
    with precision(BITS + 300):
        held = best_set.largest_noise(noise, count, Uniform(below, BITS), BITS)
        for step in (0, 1):
            end = Fraction((1 << BITS) - below - step, 1 << BITS)
            true = Fraction(largest_noise(end, count, noise))
            assert abs(middle(held) - true) <= above(held - held.mid()) * 1.001
    assert float(held.rad()) < 1


@noises
def test_a_number_that_is_0_or_1_so_far_gets_more_bits(noise):
    for first in (0, 2**BITS - 1):
        assert best_set.largest_noise(noise, 3, Uniform(first, BITS), BITS).is_finite()


@noises
def test_the_best_class_is_that_of_the_bits(noise, monkeypatch):
    generator = random.Random(8)
    for _ in range(12):
        size = generator.randrange(1, 30)
        utilities = [generator.randrange(-40, 1) for _ in range(size)]
        counts = [generator.choice((1, 3, 10**9, 10**30)) for _ in range(size)]
        rate = Fraction(generator.randrange(1, 9), 7)
        drawn = []

        def bits(number, drawn=drawn):
            drawn.append(generator.getrandbits(number))
            return drawn[-1]

        monkeypatch.setattr(Source, "randbits", lambda _, number: bits(number))
        found = best_set.largest(utilities, counts, rate, noise)
        each = math.floor(Fraction(6932, 10000) / rate)
        first = max(range(size), key=lambda i: utilities[i] + each * counts[i].bit_length())
        order = [first, *(i for i in range(size) if i != first)]
        assert len(drawn) == size
        values = {}
        for i, below in zip(order, drawn, strict=True):
            uniform = 1 - Fraction(2 * below + 1, 2 << BITS)
            values[i] = float(rate * utilities[i]) + float(largest_noise(uniform, counts[i], noise))
        assert found == max(values, key=values.__getitem__)


@noises
def test_bits_are_drawn_until_there_is_no_doubt(noise, monkeypatch):
    """Two classes that are equal but for the second draw of bits, and none that is far behind."""
    draws = iter([2**BITS // 5, 2**BITS // 5, 2**BITS - 2, 7, 5])
    monkeypatch.setattr(Source, "randbits", lambda _, bits: next(draws))
    assert best_set.largest([0, 0, -900], [1, 1, 1], Fraction(1), noise) == 1
    assert not list(draws)


def test_a_class_without_bits_stays_open(monkeypatch):
    """U may be 1 still, whose noise has no bound."""
    draws = iter([2**BITS // 5, 0, 2**64 // 3])
    monkeypatch.setattr(Source, "randbits", lambda _, bits: next(draws))
    assert best_set.largest([0, -900], [1, 1], Fraction(1), "exponential") == 0
    assert not list(draws)


# --- the law ---------------------------------------------------------------------------------------


@noises
def test_the_law_is_that_of_every_outcome_one_by_one(noise):
    scores, k, draws = [3, 1, 2.5, 0], 2, 400
    change, reach = canonical_change(k, 1.0, 1.0)
    options = {"noise": noise, "sensitivity": 1.0, "total_change": 1.0}
    found = [exact_canonical_top_k(scores, promise(2.0), k, **options).value for _ in range(draws)]
    outcomes, utilities = naive.set_utilities(scores, k, change / reach - 1)
    seen = collections.Counter(tuple(one.tolist()) for one in found)
    assert set(seen) <= set(outcomes)
    counted = [seen[one] for one in outcomes]

    def p_value(scale):
        return stats.chisquare(counted, draws * naive.outcome_law(utilities, scale, noise)).pvalue

    assert p_value(change / 2) > ALARM
    assert p_value(change / 4) < ALARM


@pytest.mark.parametrize(
    ("adjacency", "k", "sensitivity", "scale"),
    [
        ("replace", 2, None, 9.0),
        ("replace", 2, 1.0, 4.0),
        ("flip", 1, None, 6.0),
        ("add-remove", 2, None, 6.0),
        ("add-remove", 1, 2.0, 2.0),
    ],
)
def test_scale_on_win_totals(adjacency, k, sensitivity, scale):
    wins = WinCounts.from_matrix([[0, 900, 900.5], [0, 0, 700], [100, 0, 0]])
    asked = promise(0.5, "user", adjacency, 3)
    found = exact_canonical_top_k(wins, asked, k, sensitivity=sensitivity)
    assert found.diagnostics.noise_scale == pytest.approx(scale / 0.5)
    assert found.value.tolist() == [0, 1][:k]  # another outcome has odds below e^-30
    assert (found.guarantee.numerics, found.guarantee.adjacency) == ("exact", adjacency)


def test_other_scores_may_move_in_both_directions_whoever_comes_or_goes():
    asked = promise(1.0, "user", "add-remove")
    found = exact_canonical_top_k([3.0, 1.0, 2.0, 0.0], asked, 2, sensitivity=1.0)
    assert found.diagnostics.noise_scale == 4.0


def test_far_apart_and_tiny_budgets():
    totals = np.array([2.0**40, 0, 2.0**39, 5])
    far = exact_canonical_top_k(totals, promise(1e300), 2, sensitivity=1.0).value
    assert far.tolist() == [0, 2]
    assert (
        len(set(exact_canonical_top_k(totals, promise(1e-300), 3, sensitivity=1.0).value.tolist()))
        == 3
    )


def test_a_hundred_items_and_more_outcomes_than_doubles_hold():
    found = exact_canonical_top_k(np.arange(400.0), promise(1.0), 200, sensitivity=1.0).value
    assert len(set(found.tolist())) == 200
    assert sum(best_set.set_classes(list(range(400, 0, -1)), 200)[2]) == math.comb(400, 200)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"k": 4}, "k must be an integer from 1 to m = 3"),
        ({"k": True}, "k must be an integer"),
        ({"wins": [0.25, 1, 2]}, "multiples of 1/2"),
        ({"wins": [float("nan"), 1, 2]}, "multiples of 1/2"),
        ({"sensitivity": None}, "scores need their sensitivity"),
        ({"sensitivity": -1.0}, "sensitivity must be positive"),
        ({"total_change": 0.0}, "total_change must be positive"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"noise": "laplace"}, "noise"),
        ({"wins": np.zeros(3000), "k": 1000}, "take exact_top_k"),
    ],
)
def test_refusals(change, message):
    asked, arguments = split({"wins": [1.0, 2.0, 0.0], "k": 2, "sensitivity": 1.0, **change})
    with pytest.raises(ValueError, match=message):
        exact_canonical_top_k(privacy=asked, **arguments)
