r"""Orders with odds P(σ) ∝ e^{-γc(σ)}, without floating-point probabilities, where c is a sum over pairs.

It goes from the last place to the first: among the remaining items S, j comes last with odds Z[S∖j] e^{-γc(j, S∖j)},
where c(j, S) is the cost of putting j behind S and Z[S] is the sum of these odds over j in S. The odds are irrational,
so they are held by balls, and a uniform real number decides (:func:`~privrank_jax.exact.selection.choose`). While that
is in doubt, more bits are drawn and the odds are computed to more bits. The precision only affects how often that
happens, about once in 10^32 draws; the law is exactly the one above.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from jaxtyping import Int

from privrank_jax._balls import Ball, ball, precision
from privrank_jax.exact.balls import Uniform
from privrank_jax.exact.selection import choose

_BITS = 128  # of odds at first: what a ball holds without further memory


def best_first(costs: Int[np.ndarray, "items items"], rate: Fraction) -> list[int]:
    """Draw an order of the items, the best one first.

    Args:
        costs: row j, column i: the cost of putting j behind i, an integer. Only the difference between the two orders
            of a pair counts.
        rate: γ.
    """
    bits, more = _BITS, excess(costs)
    odds = Odds(more, rate, bits)
    left, order = set(range(len(more))), []
    while left:
        members = sorted(left)
        uniform = Uniform()
        while (last := choose(odds.of_last(members), uniform.ball(bits), bits)) is None:
            bits *= 2
            odds = Odds(more, rate, bits)
        order.append(members[last])
        left.remove(members[last])
    return order[::-1]


def excess(costs: Int[np.ndarray, "items items"]) -> list[list[int]]:
    """Costs minus the lower one of the two orders of each pair."""
    return (costs - np.minimum(costs, costs.T)).tolist()


class Odds:
    """All odds in balls; subsets are integers, bit i for item i.

    Args:
        costs: row j, column i: c(j, {i}), 0 or more.
        rate: γ.
        bits: of every intermediate number.
    """

    def __init__(self, costs: list[list[int]], rate: Fraction, bits: int) -> None:
        self._bits, items = bits, len(costs)
        self._half = items // 2
        with precision(bits):
            factors = [[ball(-rate * cost).exp() for cost in row] for row in costs]
            # e^{-γ c(j, S)} is the product of an entry of each: S within the first half, S within the second.
            self._first = [_products(row[: self._half]) for row in factors]
            self._second = [_products(row[self._half :]) for row in factors]
            self._sums = np.full(1 << items, ball(1))
            subsets = np.arange(1 << items)
            for size in range(1, items + 1):
                some = subsets[np.bitwise_count(subsets) == size]
                sums = np.full(some.size, ball(0))
                for item in range(items):
                    inside = some >> item & 1 == 1
                    sums[inside] += self._of_last(item, some[inside])
                self._sums[some] = sums

    def of_last(self, members: list[int]) -> list[Ball]:
        """Of each of ``members`` that it is the last of them: Z[S∖j] e^{-γ c(j, S∖j)}."""
        subset = sum(1 << item for item in members)
        with precision(self._bits):
            return [self._of_last(item, subset) for item in members]

    def _of_last(self, item: int, subset: Any) -> Any:
        others = subset ^ 1 << item
        first, second = others & (1 << self._half) - 1, others >> self._half
        return self._sums[others] * (self._first[item][first] * self._second[item][second])


def _products(factors: list[Ball]) -> np.ndarray:
    """The product of each subset of the factors."""
    found = [ball(1)]
    for factor in factors:
        found += [product * factor for product in found]
    return np.array(found, object)
