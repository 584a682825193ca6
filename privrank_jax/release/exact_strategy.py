r"""Integer strategies with exact noise for all prefix sums of a stream of counts, in one or several parts.

The strategy C of :mod:`privrank_jax.privacy.prefix_sums` is replaced by an integer matrix, and rows of Y = CX + Z are
drawn, Z exact integer noise, as the head of :mod:`privrank_jax.release.leaderboard` says. A stream of win totals is one
part. One of wins, losses and pair counts has two, each with noise of its own scale, rounded up to a rational; that
these are one mechanism within the promise is proven at the head of :mod:`privrank_jax.pairwise.score_stream`. The
counts of all parts are doubled, so that halves are integers.

Without a last step the strategies are those of :mod:`privrank_jax.privacy.unbounded_sums`. The root is an integer
matrix as it is. Where rows of the tree hold 2^-j, they hold 1 here and have 2^j times the scale of the noise, and lose
the same: where the row moves by δ, integer Laplace noise of scale 2^j s loses at most 2^-j δ/s. The column of a step
has a sum of at most 2, as proven there, and s is 2Δ₁/ε.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from jaxtyping import Float

from privrank_jax.exact.entropy import Source
from privrank_jax.exact.integer_laplace import laplace_mechanism
from privrank_jax.exact.rounded_gaussian import gaussian_mechanism, root_above
from privrank_jax.pairwise.score_stream import Part
from privrank_jax.pairwise.totals_noise import totals_sensitivity
from privrank_jax.privacy.gaussian import gaussian_budget
from privrank_jax.privacy.prefix_sums import (
    check_steps,
    inverse_series,
    square_root_coefficients,
    usual_strategy,
)
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.unbounded_sums import RADIX, column_bound, level_of, root_integers

MAX_STEPS = 10_000
_DIGITS = 16
_LARGEST = 2**40  # of a scale: more is of no use
_ROOTS = ("square-root", "unbounded-root")
_LEVELS = 6  # of the tree without a last step, which has more after 32^7 steps
_LARGEST_COUNT = 2**44  # of twice the wins of an item, so that CX is an exact int64

Totals = Float[np.ndarray, "steps items"]


def strategy_of(
    privacy: Privacy,
    steps: int | None,
    noise: str,
    parts: tuple[Part, ...] | None = None,
) -> ExactStrategy:
    """The integer strategy with the least error, and its noise; other arguments as :class:`ExactStrategy`."""
    if steps is not None:
        check_steps(steps)
        if steps > MAX_STEPS:
            raise ValueError(
                f"steps must be at most {MAX_STEPS:,}, got {steps:,}: choose longer steps, such as weeks, or leave "
                "steps out for a leaderboard without a last step."
            )
    kind = usual_strategy(steps, noise)
    for digits in range(_DIGITS, 7, -1) if kind in _ROOTS else (0,):
        rounded = ExactStrategy(privacy, kind, steps, digits, parts)
        if max(rounded.scales) * (2**_LEVELS if kind == "unbounded-tree" else 1) <= _LARGEST:
            return rounded
    raise ValueError(
        "no exact noise can be drawn for this epsilon, delta and number of contributions: the noise would be too "
        "large for any use. Choose values closer to usual ones, such as 1 and 1e-6."
    )


class ExactStrategy:
    """Integer C, row by row, with exact noise.

    Args:
        privacy: the promise, with Gaussian noise for the square root and Laplace noise else.
        kind: one of :data:`~privrank_jax.privacy.prefix_sums.STRATEGIES`, not ``"independent"``; or of
            :data:`~privrank_jax.privacy.unbounded_sums.UNBOUNDED`.
        steps: T; None without a last step.
        digits: b, binary digits of the coefficients of the roots.
        parts: of what a step holds; None for win totals, of any number of items.

    Attributes:
        unit: 2^b, or 1.
        scales: of each part, σ or the scale s, a fraction, in units of Y; times :meth:`growth` of a row.
    """

    def __init__(
        self,
        privacy: Privacy,
        kind: str,
        steps: int | None,
        digits: int = 0,
        parts: tuple[Part, ...] | None = None,
    ) -> None:
        self._kind, self._digits, self.unit = kind, digits, 1 << digits
        self._radix = {"tree": 2, "unbounded-tree": RADIX}.get(kind)
        self._privacy, self._parts = privacy, parts
        factors = [one.moved / one.share for one in parts] if parts else [Fraction(1)]
        if kind in _ROOTS:
            self._coefficients, self._response = np.zeros(0, np.int64), np.zeros(0)
            if steps is not None:
                root = square_root_coefficients(steps)
                self._set_coefficients(np.rint(root * self.unit).astype(np.int64))
            self._budget = gaussian_budget(privacy.epsilon, privacy.delta)
            alone = Fraction(self.squared_sensitivity) / self._budget**2
            self.scales = tuple(root_above(factor * alone) for factor in factors)
            return
        longest = 1
        if kind == "unbounded-tree":
            longest = int(column_bound(kind, "laplace"))
        elif kind == "tree" and steps is not None:
            longest = steps.bit_length()
        of_totals = int(totals_sensitivity(privacy, "l1"))
        alone = Fraction(2 * of_totals * longest) / Fraction(privacy.epsilon)
        self.scales = tuple(factor * alone for factor in factors)

    @property
    def scale(self) -> Fraction:
        """That of the first part."""
        return self.scales[0]

    @property
    def squared_sensitivity(self) -> int:
        """Δ² of CX in ℓ₂ where X holds win totals alone, for Gaussian noise."""
        moves = 1 if self._privacy.adjacency == "add-remove" else 2
        limit = int(self._privacy.comparisons_per_unit)
        if self._kind == "unbounded-root":
            return 4 * moves * limit**2 * self.unit**2
        return 4 * moves * limit**2 * sum(one * one for one in self._coefficients.tolist())

    def _set_coefficients(self, coefficients: np.ndarray) -> None:
        self._coefficients = coefficients
        self._response = np.cumsum(inverse_series(coefficients / self.unit))

    def _reach(self, step: int) -> None:
        """Have the coefficients of that row."""
        if step >= self._coefficients.size:
            self._set_coefficients(root_integers(1 << (step + 1).bit_length(), self._digits))

    def _width(self, step: int) -> int:
        """How many steps row ``step`` of a tree sums up."""
        return 1 if self._radix is None else self._radix ** level_of(step + 1, self._radix)

    def growth(self, step: int) -> int:
        """Scale of the noise of row ``step``, in units of those of the parts."""
        return 2 ** level_of(step + 1) if self._kind == "unbounded-tree" else 1

    def encoding(self, step: int) -> np.ndarray:
        """Row ``step`` (from 0) of C, up to its diagonal."""
        if self._kind in _ROOTS:
            self._reach(step)
            return self._coefficients[step::-1]
        row = np.zeros(step + 1, np.int64)
        row[step + 1 - self._width(step) :] = 1
        return row

    def decoding(self, step: int) -> np.ndarray:
        """Row ``step`` of A C⁻¹, times 2^b, up to its diagonal."""
        if self._kind in _ROOTS:
            self._reach(step)
            return self._response[step::-1]
        row, end = np.zeros(step + 1), step + 1
        while end:
            row[end - 1] = 1
            end -= self._width(end - 1)
        return row

    def drawn(self, counts: np.ndarray, first: int, sources: Sequence[Source]) -> np.ndarray:
        """Rows of Y from ``first`` on, float64, each with noise from a source of its own.

        Args:
            counts: twice the counts of all steps so far, ``(t, d)`` int64, the parts one after the other.
            first: number of steps that are not drawn.
            sources: one for each of the others.
        """
        if np.abs(counts).sum(0, float).max(initial=0) > _LARGEST_COUNT:  # int64 might wrap around
            raise ValueError(
                f"exact noise over time needs at most {_LARGEST_COUNT // 2:,} wins of one item."
            )
        rows = [self.encoding(step) @ counts[: step + 1] for step in range(first, len(counts))]
        values = np.array(rows).reshape(-1, counts.shape[1])
        sizes = [one.size for one in self._parts] if self._parts else [counts.shape[1]]
        of_parts = [_of_parts(source, len(sizes)) for source in sources]
        if self._kind in _ROOTS:
            parts = tuple(zip(sizes, self.scales)) * len(values)
            epsilon, budget = self._privacy.epsilon, self._budget
            every = [*itertools.chain.from_iterable(of_parts)]
            return gaussian_mechanism(values.ravel(), parts, epsilon, budget, every).reshape(
                values.shape
            )
        drawn = np.zeros(values.shape)
        for place, (row, source) in enumerate(zip(values, of_parts, strict=True)):
            growth, cells = self.growth(first + place), np.split(row, np.cumsum(sizes)[:-1])
            drawn[place] = np.concatenate(
                [
                    laplace_mechanism(cell[None], scale * growth, [one])[0]
                    for cell, scale, one in zip(cells, self.scales, source, strict=True)
                ]
            )
        return drawn

    def decoded(self, noisy: np.ndarray) -> Totals:
        """Sums after each step, not doubled, from the rows of Y so far, ``(t, d)``."""
        rows = [self.decoding(step) @ noisy[: step + 1] for step in range(len(noisy))]
        return np.array(rows).reshape(noisy.shape) / (2 * self.unit)

    def deviations(self, steps: int, part: int = 0) -> Float[np.ndarray, "steps"]:
        """Standard deviation of the noise of a sum of that part at each step, not doubled."""
        one = float(self.scales[part])
        if self._kind in _ROOTS:
            self._reach(steps - 1)
            return one * np.sqrt(np.cumsum(self._response[:steps] ** 2)) / (2 * self.unit)
        squares, narrow = np.zeros(steps + 1), math.sinh(0.5 / one)
        for step in range(steps):
            more = narrow / math.sinh(0.5 / (one * self.growth(step)))
            squares[step + 1] = squares[step + 1 - self._width(step)] + more**2
        return 1 / (math.sqrt(2) * narrow) * np.sqrt(squares[1:]) / 2


def _of_parts(source: Source, parts: int) -> list[Source]:
    """An independent source for each part."""
    return [source] if parts == 1 else [source.branch(f"part {place}") for place in range(parts)]
