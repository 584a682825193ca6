"""Orders of few items, drawn exactly: their whole law, ε, who is asked what, and the coins that break ties."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privrank_jax._balls import ball, middle, precision
from privrank_jax.aggregation import sub_ranking_weights
from privrank_jax.exact import local_reports
from tests.exact.laws import RATE
from tests.promises import user
from tests.reference import local_pairs as naive


@pytest.mark.parametrize("size", [2, 3, 4, 6, 10, 20])
@pytest.mark.parametrize("epsilon", [1e-3, 1.0, 5.0, 20.0, 44.0, 1000.0])
def test_the_own_order_is_at_most_so_much_likelier(size, epsilon):
    """By rational numbers: at most e^ε, and short of it by a few units of 64 bits."""
    assert local_reports.told_below(20, 1e300) == local_reports.told_below(20, 1000.0)
    if epsilon == 1e-3 and size == 20:
        with pytest.raises(ValueError, match="too small"):
            local_reports.told_below(size, epsilon)
        return
    told, orders = (
        Fraction(int(local_reports.told_below(size, epsilon)), 2**64),
        math.factorial(size),
    )

    def likelier(told):
        return (told + (1 - told) / orders) / ((1 - told) / orders)

    with precision(2000):  # less than a unit in 10^100
        most = middle(ball(Fraction(epsilon)).exp()) * (1 - Fraction(1, 10**100))
    assert 1 < likelier(told) <= most
    more = told + Fraction(1, 2**63)
    assert more >= 1 or likelier(more) > most


class Every:
    """In the place of random numbers: all that may be drawn, one combination for each user."""

    def __init__(self, edge):
        self.bounds, self.drawn, self.edge = [], [], np.uint64(edge)

    def uniform_integers(self, count, below):
        self.bounds.append(below)
        place = len(self.bounds) - 1
        return self.drawn[place].copy() if self.drawn else np.zeros(count, np.int64)

    def random_words(self, count):
        """The last word below the edge, or the first one above."""
        return self.edge - np.uint64(1) + self.uniform_integers(count, 2).astype(np.uint64)

    def begin(self):
        """The number of users."""
        combinations = np.array([*itertools.product(*map(range, self.bounds))])
        self.drawn, self.bounds = list(combinations.T), []
        return len(combinations)


@pytest.mark.parametrize(
    ("ranks", "missing", "size", "epsilon"),
    [((2, 0, 3, 1), "last", 2, 1.0), ((2, 0, 3, 1), "last", 3, 2.5), ((2, 0, 3, 1), "last", 4, 5.0),
     ((0, 1, 0), "last", 3, 5.0),
     ((1, -1, 0, -1), "last", 3, 2.5), ((1, -1, 0, -1), "unknown", 3, 2.5)],
)  # fmt: skip
def test_reports_have_their_law(monkeypatch, ranks, missing, size, epsilon):
    """By all numbers that may be drawn, for each pair dealt."""
    edge = int(local_reports.told_below(size, epsilon))
    told = edge / 2**64
    pairs, law = math.comb(len(ranks), 2), {}
    for pair in range(pairs):
        every = Every(edge)
        for name in ("uniform_integers", "random_words"):
            monkeypatch.setattr(local_reports, name, getattr(every, name))
        for _ in ("to learn what is drawn", "to draw it"):
            users = every.begin()
            given, asked = np.tile(ranks, (users, 1)), np.full(users, pair)
            held, scores = local_reports.told_orders(given, asked, size, epsilon, missing)
        tells = every.drawn[-size]  # then the uniform order alone is drawn
        chances = np.where(tells == 0, told, 1 - told) * 2 / users / pairs
        for items, score, chance in zip(held, scores, chances):
            order = tuple(items[np.argsort(-score)].tolist())
            law[order] = law.get(order, 0) + chance
    expected = naive.sub_ranking_law(ranks, size, epsilon, missing)
    assert set(law) == set(expected)
    for order, chance in expected.items():
        assert law[order] == pytest.approx(chance, rel=1e-12)


def test_who_is_asked_for_which_pair_is_left_to_chance():
    """Half of the users, one for each pair, rank the other way round; the pairs that they are asked for may be any."""
    items, pairs = 40, 780
    forwards = np.arange(pairs)[:, None] < pairs // 2
    ranks = np.where(forwards, np.arange(items), np.arange(items)[::-1])
    for order in (np.arange(pairs), np.arange(pairs).reshape(2, -1).T.ravel()):
        found = sub_ranking_weights.release(ranks[order], user(60.0), size=2)
        value = found.value[np.triu_indices(items, 1)]
        assert int(np.round(value).sum()) == pairs // 2
        for half in (np.arange(pairs) < pairs // 2, np.arange(pairs) % 2 == 0):
            law = stats.hypergeom(pairs, pairs // 2, pairs // 2)
            found = int(np.round(value[half]).sum())
            assert min(law.cdf(found), law.sf(found - 1)) > RATE / 2
            assert law.sf(pairs // 2 - 1) < RATE  # without a shuffle
