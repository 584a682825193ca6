"""Exact selection: odds, classes of sets and their sizes, enclosures, the best class."""

from __future__ import annotations

import collections
import itertools
import math
import random
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest
from scipy import stats

from privrank_jax._balls import BITS, above, middle, precision
from privrank_jax.exact import selection
from privrank_jax.exact.balls import Uniform
from privrank_jax.exact.entropy import Source

ALARM = 1e-6  # false-alarm rate of each comparison; the draws can't be seeded
BEST = [
    ([7, 4, 4, 1, 0], 3),
    ([5, 5, 5, 2], 2),
    ([3, 2, 1, 0, -4, -4], 1),
    ([6, 2, 1], 3),
    ([0], 1),
]


@pytest.mark.parametrize(("best", "k"), BEST)
def test_sets_are_counted_by_their_margins(best, k):
    ends, margins, counts = selection.set_classes(best, k)
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
    seen = collections.Counter(tuple(sorted(selection.draw_set(4, 1, 6))) for _ in range(600))
    assert set(seen) == set(wanted)
    assert stats.chisquare([seen[one] for one in wanted]).pvalue > ALARM


def largest_noise(uniform, count):
    """With 400 digits."""
    with localcontext() as context:
        context.prec = 400
        log = (Decimal(uniform.numerator) / Decimal(uniform.denominator)).ln()
        return -(1 - (log / count).exp()).ln()


@pytest.mark.parametrize("count", [1, 2, 10**6, 10**60 + 7])
@pytest.mark.parametrize("below", [1, 2**BITS // 3, 2**BITS - 2])
def test_values_are_enclosed_and_hardly_wider_than_the_bits(count, below):
    with precision(BITS + 300):
        held = selection.largest_noise(count, Uniform(below, BITS), BITS)
        for step in (0, 1):
            end = Fraction((1 << BITS) - below - step, 1 << BITS)
            true = Fraction(largest_noise(end, count))
            assert abs(middle(held) - true) <= above(held - held.mid()) * 1.001
    assert float(held.rad()) < 1


def test_the_best_class_is_that_of_the_bits(monkeypatch):
    generator, drawn = random.Random(8), []

    def bits(source, number):
        drawn.append(generator.getrandbits(number))
        return drawn[-1]

    monkeypatch.setattr(Source, "randbits", bits)
    for _ in range(12):
        size = generator.randrange(1, 30)
        utilities = [generator.randrange(-40, 1) for _ in range(size)]
        counts = [generator.choice((1, 3, 10**9, 10**30)) for _ in range(size)]
        rate = Fraction(generator.randrange(1, 9), 7)
        drawn.clear()
        found = selection.largest(utilities, counts, rate)
        each = math.floor(Fraction(6932, 10000) / rate)
        first = max(range(size), key=lambda i: utilities[i] + each * counts[i].bit_length())
        order = [first, *(i for i in range(size) if i != first)]
        assert len(drawn) == size
        values = {}
        for i, below in zip(order, drawn, strict=True):
            uniform = 1 - Fraction(2 * below + 1, 2 << BITS)
            values[i] = float(rate * utilities[i]) + float(largest_noise(uniform, counts[i]))
        assert found == max(values, key=values.__getitem__)


@pytest.mark.parametrize(
    ("utilities", "bits", "best"),
    [
        ([0, 0, -900], [2**BITS // 5, 2**BITS // 5, 2**BITS - 2, 7, 5], 1),  # equal so far
        ([0, -900], [2**BITS // 5, 0, 2**64 // 3], 0),  # U may be 1 still: noise without a bound
    ],
)
def test_bits_are_drawn_until_there_is_no_doubt(monkeypatch, utilities, bits, best):
    draws = iter(bits)
    monkeypatch.setattr(Source, "randbits", lambda *_: next(draws))
    assert selection.largest(utilities, [1] * len(utilities), Fraction(1)) == best
    assert not list(draws)
