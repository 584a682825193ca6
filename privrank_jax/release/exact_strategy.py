r"""Integer strategies with exact noise for all prefix sums of a stream of counts, in one or several parts.

The strategy C of :mod:`privrank_jax.privacy.prefix_sums` is replaced by an integer matrix, and rows of Y = CX + Z are
drawn, Z exact integer noise, as the head of :mod:`privrank_jax.release.leaderboard` says. A stream of win totals is one
part. One of wins, losses and pair counts has two, each with noise of its own scale, rounded up to a rational; that
these are one mechanism within the promise is proven at the head of :mod:`privrank_jax.pairwise.score_stream`. The
counts of all parts are doubled, so that halves are integers. A stream of ballots
(:mod:`privrank_jax.aggregation.continual`) is one part, whose noise is told in units of that of one comparison.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from jaxtyping import Float

from privrank_jax.aggregation.continual import ballot_norms
from privrank_jax.pairwise.score_stream import Part
from privrank_jax.pairwise.totals_noise import totals_sensitivity
from privrank_jax.privacy.prefix_sums import (
    check_steps,
    square_root_coefficients,
    usual_strategy,
)
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.entropy import Source
from privrank_jax.release.gaussian_budget import gaussian_budget
from privrank_jax.release.integer_laplace import LARGEST, laplace_mechanism
from privrank_jax.release.weights_in_parts import gaussian_mechanism, root_above

MAX_STEPS = 10_000
_DIGITS = 16
_LARGEST_COUNT = 2**44  # of twice the wins of an item, so that CX is an exact int64

Totals = Float[np.ndarray, "steps items"]


def strategy_of(
    privacy: Privacy, steps: int, noise: str, parts: tuple[Part, ...] | None = None
) -> ExactStrategy:
    """The integer strategy with the least error, and its noise; ``parts`` as for :class:`ExactStrategy`."""
    check_steps(steps)
    if steps > MAX_STEPS:
        raise ValueError(
            f"steps must be at most {MAX_STEPS:,}, got {steps:,}: choose longer steps, such as weeks."
        )
    kind = usual_strategy(steps, noise)
    for digits in range(_DIGITS, 7, -1) if kind == "square-root" else (0,):
        rounded = ExactStrategy(privacy, kind, steps, digits, parts)
        if max(rounded.scales) <= LARGEST:
            return rounded
    raise ValueError(
        "no exact noise can be drawn for this epsilon, delta and number of contributions: the noise would be too "
        "large for any use. Choose values closer to usual ones, such as 1 and 1e-6."
    )


def part_of_ballots(ballots: str, num_items: int, privacy: Privacy, noise: str) -> Part:
    """Ballots as a part of a stream that moves as if each user had one comparison.

    Twice a ballot has norms a in ℓ₁ and √b in ℓ₂, and twice a comparison 2 in either. Replaced ballots move CX twice as
    far as added ones; comparisons do so in ℓ₁, and √2 times as far in ℓ₂. So ballots need a/2 times the scale of
    Laplace noise, and the variance of Gaussian noise b/4 times, or b/2 times where they are replaced.

    Args:
        ballots: one of :data:`~privrank_jax.aggregation.continual.BALLOTS`.
        num_items: m.
        privacy: whose adjacency counts.
        noise: ``"laplace"`` or ``"gaussian"``.
    """
    first, second = ballot_norms(ballots, num_items)
    moves = 1 if privacy.adjacency == "add-remove" else 2
    moved = Fraction(first, 2) if noise == "laplace" else Fraction(moves * second, 4)
    return Part(num_items, moved, Fraction(1))


class ExactStrategy:
    """Integer C, row by row, with exact noise.

    Args:
        privacy: the promise, with Gaussian noise for the square root and Laplace noise else.
        kind: one of :data:`~privrank_jax.privacy.prefix_sums.STRATEGIES`, not ``"independent"``.
        steps: T.
        digits: b, binary digits of the coefficients of the square root.
        parts: of what a step holds; None for win totals, of any number of items.

    Attributes:
        unit: 2^b, or 1.
        scales: of each part, σ or the scale s, a fraction, in units of Y.
    """

    def __init__(
        self,
        privacy: Privacy,
        kind: str,
        steps: int,
        digits: int = 0,
        parts: tuple[Part, ...] | None = None,
    ) -> None:
        self._kind, self._steps, self.unit = kind, steps, 1 << digits
        self._privacy, self._parts = privacy, parts
        factors = [one.moved / one.share for one in parts] if parts else [Fraction(1)]
        if kind == "square-root":
            self.coefficients = np.rint(square_root_coefficients(steps) * self.unit).astype(
                np.int64
            )
            self._response = np.cumsum(_inverse(self.coefficients / self.unit))
            self._budget = gaussian_budget(privacy.epsilon, privacy.delta)
            alone = Fraction(self.squared_sensitivity) / self._budget**2
            self.scales = tuple(root_above(factor * alone) for factor in factors)
            return
        longest = steps.bit_length() if kind == "tree" else 1
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
        of_totals = moves * int(self._privacy.comparisons_per_unit) ** 2
        return 4 * of_totals * sum(one * one for one in self.coefficients.tolist())

    def encoding(self, step: int) -> np.ndarray:
        """Row ``step`` (from 0) of C, up to its diagonal."""
        if self._kind == "square-root":
            return self.coefficients[step::-1]
        row = np.zeros(step + 1, np.int64)
        width = (step + 1) & -(step + 1) if self._kind == "tree" else 1
        row[step + 1 - width :] = 1
        return row

    def decoding(self, step: int) -> np.ndarray:
        """Row ``step`` of A C⁻¹, times 2^b, up to its diagonal."""
        if self._kind == "square-root":
            return self._response[step::-1]
        if self._kind == "increments":
            return np.ones(step + 1)
        row, end = np.zeros(step + 1), step + 1
        while end:
            row[end - 1] = 1
            end -= end & -end
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
                f"exact noise over time needs at most {_LARGEST_COUNT // 2:,} wins or points of one item."
            )
        rows = [self.encoding(step) @ counts[: step + 1] for step in range(first, len(counts))]
        values = np.array(rows).reshape(-1, counts.shape[1])
        sizes = [one.size for one in self._parts] if self._parts else [counts.shape[1]]
        of_parts = [_of_parts(source, len(sizes)) for source in sources]
        if self._kind == "square-root":
            parts = tuple(zip(sizes, self.scales)) * len(values)
            epsilon, budget = self._privacy.epsilon, self._budget
            every = [*itertools.chain.from_iterable(of_parts)]
            return gaussian_mechanism(values.ravel(), parts, epsilon, budget, every).reshape(
                values.shape
            )
        columns = np.split(values, np.cumsum(sizes)[:-1], axis=1)
        return np.hstack(
            [
                laplace_mechanism(column, scale, [source[place] for source in of_parts])
                for place, (column, scale) in enumerate(zip(columns, self.scales, strict=True))
            ]
        )

    def decoded(self, noisy: np.ndarray) -> Totals:
        """Sums after each step, not doubled, from the rows of Y so far, ``(t, d)``."""
        rows = [self.decoding(step) @ noisy[: step + 1] for step in range(len(noisy))]
        return np.array(rows).reshape(noisy.shape) / (2 * self.unit)

    def deviations(self, steps: int, part: int = 0) -> Float[np.ndarray, "steps"]:
        """Standard deviation of the noise of a sum of that part at each step, not doubled."""
        one = float(self.scales[part])
        if self._kind != "square-root":
            one = 1 / (math.sqrt(2) * math.sinh(0.5 / one))
        if self._kind == "square-root":
            squares = np.cumsum(self._response[:steps] ** 2)
        else:
            squares = np.array([self.decoding(step).sum() for step in range(steps)])
        return one * np.sqrt(squares) / (2 * self.unit)


def _of_parts(source: Source, parts: int) -> list[Source]:
    """An independent source for each part."""
    return [source] if parts == 1 else [source.branch(f"part {place}") for place in range(parts)]


def _inverse(series: np.ndarray) -> np.ndarray:
    """Coefficients of 1/f(x), where f(0) = 1."""
    found = np.zeros(series.size)
    found[0] = 1.0
    for place in range(1, series.size):
        found[place] = -(series[1 : place + 1] @ found[place - 1 :: -1])
    return found
