r"""Exact exponential mechanism on the Kemeny score, without floating-point probabilities: one ranking for a release.

P(σ) ∝ e^{-γc(σ)}, where c(σ) is twice the number of pairs that users order against σ, summed over users: an integer to
which each user adds between 0 and D = m(m-1) (a pair that is tied or unknown adds 1 for every σ).

**Privacy.** Replacing one user moves each c(σ) by at most D, hence each log P(σ) by at most 2γD: γD from the odds, γD
from the normalizer. γ = ε/(2D) is a fraction, since every double is one. So the mechanism is exactly ε-DP, unit user,
adjacency replace. γ stays at 2^14 beyond that.

**Sampling** goes from the last place to the first, as in :mod:`privrank_jax.aggregation.exponential`: among the
remaining items S, j comes last with odds Z[S∖j] e^{-γc(j, S∖j)}, where c(j, S) is the cost of putting j behind S and
Z[S] is the sum of these odds over j in S. The odds are irrational, so they are held by balls. A uniform real number U
of [0, 1), whose bits come from the operating system's entropy, decides: an item is chosen once the balls and the bits
so far determine the two partial sums of the odds between which U times their sum lies. Until then, more bits are drawn
and the odds are computed to more bits. The precision only affects how often that happens, about once in 10^32 draws;
the law is exactly the one above.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import accumulate
from typing import Any

import numpy as np

from privrank_jax._balls import Ball, ball, precision
from privrank_jax.aggregation.diagnostics import ExponentialDiagnostics
from privrank_jax.aggregation.exponential import MAX_ITEMS
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.weights import PairWeights, whole_counts
from privrank_jax.estimate import Estimate
from privrank_jax.exact.balls import Uniform
from privrank_jax.exact.integer_noise import exact_estimate, exact_promise
from privrank_jax.privacy.privacy import Privacy

_STEEPEST = 2**14
_BITS = 128  # of odds at first: what a ball holds without further memory


def exact_exponential(weights: PairWeights, privacy: Privacy) -> Estimate:
    """One ranking by the exponential mechanism; the twin of :func:`~privrank_jax.aggregation.exponential_kemeny`.

    **Guarantee.** ε-DP, unit user, adjacency replace, and whatever these cover, exactly; proof at the head of this
    module. Takes O(2^m m) time and memory: half a second at m = 15, half a minute and 300 MiB at m = 20.

    Arguments and errors: as for the twin and all exact releases (:mod:`privrank_jax.release`).

    Returns:
        ``value``: ranks, ``(m,)`` int32 NumPy array, 0 = best. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.aggregation.diagnostics.ExponentialDiagnostics`.

    >>> from privrank_jax.aggregation.weights import counted_weights
    >>> privacy = Privacy(20.0, unit="user", adjacency="replace")
    >>> exact_exponential(counted_weights([[2, 0, 1]] * 1000), privacy).value.tolist()
    [2, 0, 1]
    """
    attained = exact_promise(of_rankings(privacy, "exact_exponential"))
    counts, items = whole_counts(weights), weights.num_items
    if items > MAX_ITEMS:
        raise ValueError(
            f"the exponential mechanism weighs all subsets: at most {MAX_ITEMS} items, got {items}. Use dp_borda."
        )
    rate = min(Fraction(attained.epsilon) / (2 * items * (items - 1)), Fraction(_STEEPEST))
    value = np.empty(items, np.int32)
    value[_draw(_excess(counts), rate)] = np.arange(items)
    return exact_estimate(value, privacy, attained, ExponentialDiagnostics(float(2 * rate)))


def _excess(counts: np.ndarray) -> list[list[int]]:
    """Row j, column i: the cost of putting j behind i, minus the lower cost of the two orders."""
    return (counts - np.minimum(counts, counts.T)).tolist()


def _draw(costs: list[list[int]], rate: Fraction) -> list[int]:
    """Draw the items, best first."""
    bits = _BITS
    odds = Odds(costs, rate, bits)
    left, order = set(range(len(costs))), []
    while left:
        members = sorted(left)
        uniform = Uniform()
        while (last := odds.last(members, uniform.ball(bits))) is None:
            bits *= 2
            odds = Odds(costs, rate, bits)
        order.append(members[last])
        left.remove(members[last])
    return order[::-1]


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

    def last(self, members: list[int], uniform: Ball) -> int | None:
        """Which of ``members`` is last by U, or None while that is undetermined."""
        with precision(self._bits):
            return choose(self.of_last(members), uniform)

    def _of_last(self, item: int, subset: Any) -> Any:
        others = subset ^ 1 << item
        first, second = others & (1 << self._half) - 1, others >> self._half
        return self._sums[others] * (self._first[item][first] * self._second[item][second])


def choose(odds: list[Ball], uniform: Ball) -> int | None:
    """The k with w_0 + ... + w_{k-1} <= U (w_0 + w_1 + ...) < w_0 + ... + w_k, or None while it is undetermined.

    Args:
        odds: each w_k, positive.
        uniform: U.
    """
    upto = list(accumulate(odds))
    at = uniform * upto[-1]
    for k, end in enumerate(upto[:-1]):
        if at < end:
            return k
        if not at >= end:
            return None
    return len(odds) - 1


def _products(factors: list[Ball]) -> np.ndarray:
    """The product of each subset of the factors."""
    found = [ball(1)]
    for factor in factors:
        found += [product * factor for product in found]
    return np.array(found, object)
