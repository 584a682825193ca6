"""Minus log-likelihoods of meetings with features and ties, of choices, and of the Laplace link, by their derivatives.

They are :class:`~privrank_jax.exact.minimizer.Likelihood`: first and second derivatives in doubles to find a
minimizer, and the first in balls, which says how near it is.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from jaxtyping import Float, Int

from privrank_jax._balls import Ball, ball

FEATURE_BITS = 11
"""Features are multiples of 2^-11."""
TIE_SHARE = 0.5
"""log ν in units of τ, which has the noise of a feature and the ridge of a score."""
_UNIT = 2.0**-FEATURE_BITS


class Meetings:
    r"""Σ n (A(η) - A₀) - ⟨excess, β⟩ - T log ν over kinds of meetings, of which n are alike.

    η = θ_i - θ_j + ⟨features, b⟩, and A = log(e^{η/2} + e^{-η/2}); with ties log(e^{η/2} + e^{-η/2} + ν), log ν = τ/2.

    Args:
        items: m; β is θ, then b, then τ where there are ties.
        met: ``(K, 2 + p)`` int: both items, and features in multiples of 2^-11.
        times: ``(K,)``, n, multiples of a power of 1/2.
        excess: ``(m + p,)``, Σ (y - 1/2)(e_i - e_j, features) over all meetings.
        ties: T, where they are outcomes of their own.
    """

    def __init__(
        self,
        items: int,
        met: Int[np.ndarray, "kinds columns"],
        times: Float[np.ndarray, "kinds"] | Int[np.ndarray, "kinds"],
        excess: Sequence[Fraction],
        ties: int | None,
    ) -> None:
        self._items, self._ties, self._excess = items, ties, excess
        self._first, self._second, self._steps = met[:, 0], met[:, 1], met[:, 2:]
        self._features = _UNIT * self._steps
        self._times = np.asarray(times, np.float64)
        self._offset = np.array([float(one) for one in excess])

    def slope(self, point: Float[np.ndarray, "numbers"]) -> Float[np.ndarray, "numbers"]:
        """Its gradient in doubles."""
        win, loss, tie = self._chances(point)
        found = self._total(self._times * (win - loss) / 2) - self._offset
        if self._ties is None:
            return found
        return np.append(found, TIE_SHARE * (self._times @ tie - self._ties))

    def curvature(
        self, point: Float[np.ndarray, "numbers"]
    ) -> Float[np.ndarray, "numbers numbers"]:
        """Its second derivative in doubles."""
        win, loss, tie = self._chances(point)
        bent = self._gram(self._times * (win * loss + tie * (win + loss) / 4))
        if self._ties is None:
            return bent
        cross = -TIE_SHARE * self._total(self._times * tie * (win - loss) / 2)
        own = TIE_SHARE**2 * (self._times @ (tie * (win + loss)))
        return np.block([[bent, cross[:, None]], [cross[None], np.array([[own]])]])

    def gradient(self, point: Sequence[Ball]) -> list[Ball]:
        """Its gradient in balls."""
        m, p = self._items, self._features.shape[1]
        powers = [one.exp() for one in point[:m]]
        slopes = [one / 2**FEATURE_BITS for one in point[m : m + p]]
        found, tied, nu = [-ball(one) for one in self._excess], ball(0), ball(0)
        if self._ties is not None:
            nu = (point[-1] * ball(Fraction(TIE_SHARE))).exp()
        columns = (self._first, self._second, self._steps, self._times)
        for i, j, steps, times in zip(*(column.tolist() for column in columns)):
            up, down = powers[i], powers[j]
            if any(steps):
                log_odds: Ball = sum(step * slope for step, slope in zip(steps, slopes))
                up *= log_odds.exp()
            share = up + down  # of a win and a loss, where a tie has nu * level
            if self._ties is not None:
                level = (up * down).sqrt()
                share += nu * level
                tied += times * level / share
            moved = times * (up - down) / (2 * share)
            found[i] += moved
            found[j] -= moved
            for k, step in enumerate(steps):
                if step:
                    found[m + k] += moved * step / 2**FEATURE_BITS
        if self._ties is None:
            return found
        return [*found, (tied * nu - self._ties) * ball(Fraction(TIE_SHARE))]

    def _chances(self, point: np.ndarray) -> np.ndarray:
        """Chances of a win, a loss and a tie of each kind, ``(3, K)``."""
        m, p = self._items, self._features.shape[1]
        odds = point[self._first] - point[self._second] + self._features @ point[m : m + p]
        log_nu = -math.inf if self._ties is None else TIE_SHARE * point[-1]
        logs = np.stack([odds / 2, -odds / 2, np.full(odds.shape, log_nu)])
        parts = np.exp(logs - logs.max(0))
        return parts / parts.sum(0)

    def _total(self, weights: np.ndarray) -> np.ndarray:
        """Σ weights (e_i - e_j, features)."""
        one, other = (
            np.bincount(column, weights, self._items) for column in (self._first, self._second)
        )
        return np.append(one - other, weights @ self._features)

    def _gram(self, weights: np.ndarray) -> np.ndarray:
        """Σ weights (e_i - e_j, features)(e_i - e_j, features)ᵀ."""
        m = self._items
        met, cross = np.zeros((m, m)), np.zeros((m, self._features.shape[1]))
        np.add.at(met, (self._first, self._second), weights)
        met += met.T
        scaled = weights[:, None] * self._features
        np.add.at(cross, self._first, scaled)
        np.subtract.at(cross, self._second, scaled)
        return np.block([[np.diag(met.sum(1)) - met, cross], [cross.T, self._features.T @ scaled]])


class Offers:
    """Σ n log Σ_{j ∈ S} e^{θ_j} - Nᵀθ over sets S, each of which was offered n times.

    Args:
        sets: ``(K, s)`` int, items; -1 for none.
        times: ``(K,)`` int, n.
        totals: ``(m,)`` int, N.
    """

    def __init__(
        self,
        sets: Int[np.ndarray, "sets size"],
        times: Int[np.ndarray, "sets"],
        totals: Int[np.ndarray, "items"],
    ) -> None:
        self._sets, self._times, self._totals = sets, times, totals
        self._known = sets >= 0

    def slope(self, point: Float[np.ndarray, "items"]) -> Float[np.ndarray, "items"]:
        """Its gradient in doubles."""
        weighted = (self._times[:, None] * self._shares(point))[self._known]
        return np.bincount(self._sets[self._known], weighted, point.size) - self._totals

    def curvature(self, point: Float[np.ndarray, "items"]) -> Float[np.ndarray, "items items"]:
        """Its second derivative in doubles."""
        each, spread = self._shares(point), np.zeros((len(self._sets), point.size))
        rows = np.broadcast_to(np.arange(len(self._sets))[:, None], self._sets.shape)
        np.add.at(spread, (rows[self._known], self._sets[self._known]), each[self._known])
        weighted = self._times[:, None] * spread
        return np.diag(weighted.sum(0)) - spread.T @ weighted

    def gradient(self, point: Sequence[Ball]) -> list[Ball]:
        """Its gradient in balls."""
        powers = [one.exp() for one in point]
        found = [ball(-int(total)) for total in self._totals]
        for offered, times in zip(self._sets.tolist(), self._times.tolist()):
            items = [item for item in offered if item >= 0]
            each = times / sum((powers[item] for item in items[1:]), powers[items[0]])
            for item in items:
                found[item] += powers[item] * each
        return found

    def _shares(self, point: np.ndarray) -> np.ndarray:
        """The chance of each item of each set, 0 for none."""
        logs = np.where(self._known, point[self._sets], -np.inf)
        parts = np.exp(logs - logs.max(1, keepdims=True))
        return parts / parts.sum(1, keepdims=True)


class LaplaceWins:
    """-Σ W_ij log F(θ_i - θ_j) with the Laplace link, whose F'/F is 1/(2e^x - 1) for x > 0, else 1.

    Args:
        counts: ``parts`` times the win counts, ``(m, m)`` int64.
        parts: of a win, a power of 2.
    """

    def __init__(self, counts: np.ndarray, parts: int = 2) -> None:
        self._items, self._parts = len(counts), parts
        self._first, self._second = np.nonzero(np.triu(counts + counts.T))
        self._won, self._lost = (
            counts[self._first, self._second],
            counts[self._second, self._first],
        )

    def slope(self, point: Float[np.ndarray, "m"]) -> Float[np.ndarray, "m"]:
        """Its gradient in doubles."""
        gap = point[self._first] - point[self._second]
        moved = (self._lost * _score(-gap) - self._won * _score(gap)) / self._parts
        sums = functools.partial(np.bincount, minlength=self._items)
        return sums(self._first, moved) - sums(self._second, moved)

    def curvature(self, point: Float[np.ndarray, "m"]) -> Float[np.ndarray, "m m"]:
        """Its second derivative in doubles."""
        gap = point[self._first] - point[self._second]
        weight = (self._lost * _curve(-gap) + self._won * _curve(gap)) / self._parts
        found = np.zeros((self._items, self._items))
        found[self._first, self._second] = -weight
        found += found.T
        found[np.diag_indices(self._items)] = -found.sum(1)
        return found

    def gradient(self, point: Sequence[Ball]) -> list[Ball]:
        """Its gradient in balls."""
        powers = [one.exp() for one in point]
        sums = [0 * one for one in point]
        columns = (self._first, self._second, self._won, self._lost)
        for i, j, won, lost in zip(*(column.tolist() for column in columns)):
            moved = lost * _in_ball(powers[j] / powers[i]) - won * _in_ball(powers[i] / powers[j])
            sums[i] += moved
            sums[j] -= moved
        return [one / self._parts for one in sums]


def _in_ball(power: Ball) -> Ball:
    """F'/F at e^x; it falls, so at the larger of e^x and 1."""
    return 1 / (2 * power.max(ball(1)) - 1)


def _score(gap: np.ndarray) -> np.ndarray:
    return 1 / (2 * np.exp(np.clip(gap, 0, 700)) - 1)


def _curve(gap: np.ndarray) -> np.ndarray:
    """-s', which is s + s² for x > 0, else 0."""
    score = _score(gap)
    return np.where(gap > 0, score + score**2, 0)


def of_wins(
    counts: Int[np.ndarray, "m m"],
    link: str = "logistic",
    parts: int = 2,
    *,
    ties: int | None = None,
) -> Meetings | LaplaceWins:
    """The likelihood of win counts.

    Args:
        counts: ``parts`` times the win counts.
        link: ``"logistic"`` or ``"laplace"``.
        parts: of a win, a power of 2.
        ties: how many there are, if they are outcomes of their own.
    """
    if link == "laplace":
        return LaplaceWins(counts, parts)
    met = counts + counts.T
    pairs = np.argwhere(np.triu(met))
    known = [Fraction(int(one), 2 * parts) for one in (counts - counts.T).sum(1)]
    return Meetings(len(counts), pairs, met[tuple(pairs.T)] / parts, known, ties)
