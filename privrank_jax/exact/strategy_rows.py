"""Rows of an integer strategy for prefix sums, with exact noise; proof: :mod:`privrank_jax.pairwise.continual`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import chain
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from privrank_jax.exact.entropy import Source
from privrank_jax.exact.integer_laplace import laplace_mechanism
from privrank_jax.exact.rounded_gaussian import gaussian_mechanism, root_above
from privrank_jax.privacy.gaussian import gaussian_budget
from privrank_jax.privacy.prefix_sums import Strategy
from privrank_jax.privacy.privacy import Privacy

_DIGITS = 16
_LARGEST = 2**40  # of a scale: more is of no use
_LEVELS = 6  # of the tree without a last step, which has more after 32^7 steps
_LARGEST_COUNT = 2**44  # of twice the numbers of an item, so that CX is an exact int64

Rows = Float[np.ndarray, "steps numbers"]


def exact_rows(
    kind: str,
    steps: int | None,
    attained: Privacy,
    moved: Sequence[int],
    parts: Sequence[tuple[int, Fraction]],
    times: int,
) -> ExactRows:
    """Rows of that kind of strategy; other arguments as of :class:`ExactRows`.

    Raises:
        ValueError: no noise can be drawn for this promise and change.
    """
    for digits in range(_DIGITS, 7, -1) if kind.endswith("root") else (0,):
        found = ExactRows(Strategy(kind, steps, digits), attained, moved, parts, times)
        if max(found.scales) * (2**_LEVELS if kind == "unbounded-tree" else 1) <= _LARGEST:
            return found
    raise ValueError(
        "no exact noise can be drawn for this epsilon, delta and number of contributions: the noise would be too "
        "large for any use. Choose values closer to usual ones, such as 1 and 1e-6."
    )


class ExactRows:
    """Integer C with exact noise: Gaussian for the roots, else Laplace.

    Args:
        strategy: in whole units.
        attained: the promise, with δ for Gaussian noise.
        moved: c, how a change of the numbers of one release spreads.
        parts: of what a step holds, in order: how many numbers, and the factor d/φ.
        times: how many whole units a published one has.

    Attributes:
        scales: of each part, σ or the scale s, a fraction, in units of Y; times ``strategy.growth`` of a row.
    """

    def __init__(
        self,
        strategy: Strategy,
        attained: Privacy,
        moved: Sequence[int],
        parts: Sequence[tuple[int, Fraction]],
        times: int,
    ) -> None:
        self.attained, self.strategy, self._times = attained, strategy, times
        self._sizes, self._gaussian = [size for size, _ in parts], strategy.kind.endswith("root")
        if self._gaussian:
            self._budget = gaussian_budget(attained.epsilon, attained.delta)
            self.squared = sum(c * c for c in moved) * strategy.longest_column("gaussian")
            alone = Fraction(self.squared) / self._budget**2
            self.scales = tuple(root_above(factor * alone) for _, factor in parts)
        else:
            size = Fraction(sum(moved) * strategy.longest_column("laplace"))
            alone = size / Fraction(attained.epsilon)
            self.scales = tuple(factor * alone for _, factor in parts)

    @property
    def size(self) -> int:
        """d, how many numbers a step has."""
        return sum(self._sizes)

    def drawn(
        self, counts: Int[np.ndarray, "steps numbers"], first: int, sources: Sequence[Source]
    ) -> Rows:
        """Rows of Y from ``first`` on, float64, each with noise from a source of its own.

        Args:
            counts: whole numbers of all steps so far, the parts one after the other.
            first: number of steps that are not drawn.
            sources: one for each of the others.
        """
        if np.abs(counts).sum(0, float).max(initial=0) > _LARGEST_COUNT:  # int64 might wrap around
            raise ValueError(
                f"exact noise over time needs at most {_LARGEST_COUNT // self._times:,} wins of one item."
            )
        steps = range(first, len(counts))
        values = np.array([self.strategy.encoding(t) @ counts[: t + 1] for t in steps])
        values = values.reshape(-1, counts.shape[1])
        sizes, own = self._sizes, [[source] for source in sources]
        if len(sizes) > 1:
            own = [[one.branch(f"part {place}") for place in range(len(sizes))] for one in sources]
        if self._gaussian:
            parts, every = tuple(zip(sizes, self.scales)) * len(values), list(chain(*own))
            told = parts, self.attained.epsilon, self._budget, every
            return gaussian_mechanism(values.ravel(), *told).reshape(values.shape)
        drawn, ends = [np.zeros(0)], np.cumsum(sizes)[:-1]
        for row, step, branches in zip(values, steps, own, strict=True):
            growth = self.strategy.growth(step)
            for cell, scale, one in zip(np.split(row, ends), self.scales, branches, strict=True):
                drawn.append(laplace_mechanism(cell[None], scale * growth, [one]))
        return np.concatenate(drawn, axis=None).reshape(values.shape)

    def decoded(self, noisy: Rows) -> Rows:
        """Sums after each step, in published units, from the rows of Y so far, ``(t, d)``."""
        rows = [self.strategy.decoding(t) @ noisy[: t + 1] for t in range(len(noisy))]
        return np.array(rows).reshape(noisy.shape) / (self._times * self.strategy.unit)

    def deviations(self, steps: int, part: int = 0) -> Float[np.ndarray, "steps"]:
        """Standard deviation of the noise of a sum of that part at each step, in published units."""
        scale = float(self.scales[part])
        if self._gaussian:
            each = np.full(steps, scale)
        else:
            rates = [1 / (scale * self.strategy.growth(t)) for t in range(steps)]
            each = np.array([math.sqrt(2) * math.exp(-r / 2) / -math.expm1(-r) for r in rates])
        return self.strategy.spread(steps, each) / self._times

    def told(self, steps: int) -> list[Any]:
        """Scale of the noise drawn at the first step, and :meth:`deviations`, of each part in turn."""
        unit = self._times * self.strategy.unit
        found = [(float(s) / unit, self.deviations(steps, k)) for k, s in enumerate(self.scales)]
        return [one for part in found for one in part]
