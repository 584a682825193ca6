"""The perturbed maximum likelihood estimate, released exactly: real noise, the true minimizer, rounded to a grid.

What is published, why it is private and how it is found without error: :mod:`privrank_jax.release.minimizer`.

**Grid.** h = 2^-40. Scores that differ by less than a few millionths are the same to any reader: the standard error of
the difference of two scores is at least 2/√N after N comparisons, at least 2^-26 for all counts that are accepted,
without any noise. So h is below 2^-10 of it, whatever the data are, and needs no public fact.

**Noise scale and ridge** come from :func:`~privrank_jax.privacy.calibration.calibrate_objective_perturbation`, in
doubles; the scale is raised by 2^-30 of itself, far more than the rounding of its few operations, and γ to at least its
floor at that scale.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import jax
import numpy as np
from jaxtyping import Float, Int

from privrank_jax._host.evaluate import quickly
from privrank_jax._types import Scalar
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.perturbed_mle import calibrated_fit
from privrank_jax.pairwise.questionnaire_noise import kept_on_totals
from privrank_jax.pairwise.weighted_comparisons import WEIGHT_STEPS
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.release.balls import Ball, Laplace, Normal, load_flint
from privrank_jax.release.integer_noise import exact_promise
from privrank_jax.release.minimizer import rounded_minimizer
from privrank_jax.release.noisy_totals import counts_in_parts, doubled_counts

GRID = Fraction(1, 2**40)
ROUNDING = Fraction(1, 2**30)


@dataclasses.dataclass(frozen=True)
class ExactFit:
    """Public facts of an exact perturbed fit.

    Attributes:
        noise_scale: λ (Laplace) or σ (Gaussian) of each entry of w.
        gamma: the ridge γ.
        grid: h; scores are multiples of it.
    """

    noise_scale: float
    gamma: float
    grid: float


def exact_perturbed_mle(
    wins: WinCounts,
    privacy: Privacy,
    *,
    link: str | Link = "logistic",
    gamma: Scalar | None = None,
    noise: str | None = None,
    weighted: bool = False,
) -> Estimate:
    """Private scores with exact noise and the exact minimizer, for a real release; twin of ``pairwise.perturbed_mle``.

    **Guarantee.** ε-DP (Laplace noise), or (ε, δ)-DP (Gaussian), for the promised unit and adjacency. The theorem of
    objective perturbation heads :mod:`privrank_jax.privacy.calibration`; why it holds for what this function returns,
    to the last digit, heads :mod:`privrank_jax.release.minimizer`. Runs on the host: no tracing, no key.

    Args:
        wins: win counts of m items, multiples of 1/2, without a mask; counts of comparisons in all below 2^52.
        privacy: as for the twin, ε finite; users need ``contributions``, which must hold in the data.
        link: ``"logistic"`` or ``"laplace"``; ``"normal"`` is refused (κ₁ = ∞).
        gamma: ridge γ, at least its floor and above 0; ``None`` = the default of the twin.
        noise: ``"laplace"`` (default), or ``"gaussian"`` at the δ of the promise.
        weighted: as for the twin; counts are then multiples of 2^-11, as
            :func:`~privrank_jax.pairwise.bounded_weights` and ties make them.

    Returns:
        ``value``: scores, ``(m,)`` float64 NumPy array, multiples of 2^-40 (of larger powers of 2 for scores beyond
        2^13), mean 0 up to rounding, high = preferred. ``guarantee`` with ``numerics="exact"``. ``diagnostics``:
        :class:`ExactFit`, public.

    Raises:
        ValueError: a promise that can't be kept, ε = ∞ or several ε, Gaussian noise without δ, users without
            ``contributions``, γ below its floor or not above 0, infinite κ₁, masked items, negative counts, counts that
            are not multiples of 1/2, or of 2^-11 with weights, or too large.
        TypeError: ``wins`` is no :class:`~privrank_jax.comparisons.WinCounts`.
        ImportError: python-flint is not installed.

    Source: Cai, Chakraborty and Wang (2025), Algorithm 1 and equation (3.2); constants, grid and certificate ours.

    >>> wins = WinCounts.from_matrix([[0, 900], [100, 0]])
    >>> promise = Privacy(2.0, unit="comparison", adjacency="replace")
    >>> estimate = exact_perturbed_mle(wins, promise)
    >>> bool(estimate.value[0] > estimate.value[1]), estimate.guarantee.numerics
    (True, 'exact')
    """
    load_flint()
    if not isinstance(wins, WinCounts):
        raise TypeError(
            "exact_perturbed_mle needs WinCounts, such as WinCounts.from_matrix(counts), got "
            f"{type(wins).__name__}."
        )
    link = get_link(link)
    noise, attained = kept_on_totals(privacy, "exact_perturbed_mle", noise, None)
    attained = exact_promise(attained)
    parts = 2 * WEIGHT_STEPS if weighted else 2
    counts = whole_wins(wins, parts)
    calibrate = functools.partial(
        calibrated_fit, privacy=attained, link=link, gamma=gamma, noise=noise, weighted=weighted
    )
    with jax.enable_x64(True):
        scale, ridge = quickly(calibrate, wins)
    if not float(ridge) > 0:
        raise ValueError("gamma must be above 0; leave it out for a good default.")
    scale, ridge = in_range(scale, ridge)
    numbers = perturbed_scores(
        counts,
        attained,
        link=link.name,
        noise=noise,
        noise_scale=Fraction(scale),
        gamma=Fraction(ridge),
        parts=parts,
    )
    return exact_estimate(in_doubles(numbers), privacy, attained, scale, ridge)


def in_range(scale: Scalar, ridge: Scalar) -> tuple[float, float]:
    """The scale of the noise and the ridge as numbers.

    Raises:
        ValueError: one of them is not finite, or there is no noise to draw.
    """
    found = float(scale), float(ridge)
    if not (all(map(math.isfinite, found)) and found[0] > 0):
        raise ValueError(
            "the noise or the ridge that this promise needs is beyond the range of floating point: choose a larger "
            "epsilon or delta."
        )
    return found


def in_doubles(numbers: Sequence[int]) -> Any:
    """Multiples of the grid as a float64 array."""
    return np.array([float(number * GRID) for number in numbers])


def exact_estimate(
    value: Any, privacy: Privacy, attained: Privacy, scale: float, ridge: float
) -> Estimate:
    """A fit that was drawn exactly: its value, guarantee and public facts."""
    guarantee = Guarantee(privacy, attained, numerics="exact")
    return Estimate(value, guarantee, ExactFit(scale, ridge, float(GRID)))


def perturbed_scores(
    counts: Int[np.ndarray, "m m"],
    privacy: Privacy,
    *,
    link: str,
    noise: str,
    noise_scale: Fraction,
    gamma: Fraction,
    grid: Fraction = GRID,
    parts: int = 2,
) -> list[int]:
    """Centered scores in multiples of the grid: the one place where win counts meet noise.

    Args:
        counts: ``parts`` times the win counts.
        privacy: what is promised; the noise has the scale that it needs.
        link: name of the link.
        noise: ``"laplace"`` or ``"gaussian"``.
        noise_scale: λ or σ, before the allowance for rounding.
        gamma: γ, raised to λ where that is its floor, by the allowance for rounding with Gaussian noise.
        grid: h.
        parts: of a win, a power of 2.
    """
    raised = noise_scale * (1 + ROUNDING)
    if noise == "laplace" and link == "logistic" and privacy.adjacency != "flip":
        gamma = max(gamma, raised)
    elif noise == "gaussian":
        gamma *= 1 + ROUNDING
    law = Laplace if noise == "laplace" else Normal
    return rounded_minimizer(
        Wins(counts, link, parts), gamma, [law(raised) for _ in range(len(counts))], grid
    )


def whole_wins(wins: WinCounts, parts: int = 2) -> np.ndarray:
    """``parts`` times the win counts as int64, ``(m, m)``."""
    if wins.mask is not None and not np.all(np.asarray(wins.mask)):
        raise ValueError(
            "exact_perturbed_mle takes no masked items: leave their rows and columns out of the counts."
        )
    if parts == 2:
        counts = doubled_counts(wins)
    else:
        counts = counts_in_parts(
            wins,
            parts,
            f"exact noise needs weights that are multiples of 1/{WEIGHT_STEPS}: bound and round them by "
            "pairwise.bounded_weights.",
        )
    if np.any(counts < 0) or np.any(np.diag(counts)):
        raise ValueError("win counts must be at least 0, and no item can meet itself.")
    return counts


class Wins:
    """Minus the log-likelihood of win counts, -Σ W_ij log F(θ_i - θ_j), by its derivatives.

    Args:
        counts: ``parts`` times the win counts, ``(m, m)`` int64.
        link: ``"logistic"`` or ``"laplace"``.
        parts: of a win, a power of 2.
    """

    def __init__(self, counts: np.ndarray, link: str, parts: int = 2) -> None:
        self._items, self._parts = len(counts), parts
        self._first, self._second = np.nonzero(np.triu(counts + counts.T))
        self._won, self._lost = (
            counts[self._first, self._second],
            counts[self._second, self._first],
        )
        self._scores, self._curves, self._in_balls = _LINKS[link]

    def slope(self, point: Float[np.ndarray, "m"]) -> Float[np.ndarray, "m"]:
        """Its gradient in doubles."""
        gap = point[self._first] - point[self._second]
        moved = (self._lost * self._scores(-gap) - self._won * self._scores(gap)) / self._parts
        sums = functools.partial(np.bincount, minlength=self._items)
        return sums(self._first, moved) - sums(self._second, moved)

    def curvature(self, point: Float[np.ndarray, "m"]) -> Float[np.ndarray, "m m"]:
        """Its second derivative in doubles."""
        gap = point[self._first] - point[self._second]
        weight = (self._lost * self._curves(-gap) + self._won * self._curves(gap)) / self._parts
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
            up, down = self._in_balls(powers[i], powers[j])
            moved = lost * down - won * up
            sums[i] += moved
            sums[j] -= moved
        return [one / self._parts for one in sums]


def _logistic(mine: Ball, other: Ball) -> tuple[Ball, Ball]:
    """s(x) and s(-x) where e^x = mine/other and s = F'/F: the probability that the other side wins, and this one."""
    up = other / (mine + other)
    return up, 1 - up


def _logistic_score(gap: np.ndarray) -> np.ndarray:
    return 0.5 * (1 - np.tanh(gap / 2))


def _logistic_curve(gap: np.ndarray) -> np.ndarray:
    """-s', which is s(1 - s), without cancellation."""
    small = np.exp(-np.abs(gap))
    return small / (1 + small) ** 2


def _laplace(mine: Ball, other: Ball) -> tuple[Ball, Ball]:
    """The same for the Laplace link: s(x) = 1/(2e^x - 1) for x > 0, else 1."""
    return _laplace_ball(mine / other), _laplace_ball(other / mine)


def _laplace_ball(power: Ball) -> Ball:
    """s(x) at e^x; it falls, so at the larger of e^x and 1."""
    return 1 / (2 * power.max(load_flint().arb(1)) - 1)


def _laplace_score(gap: np.ndarray) -> np.ndarray:
    return 1 / (2 * np.exp(np.clip(gap, 0, 700)) - 1)


def _laplace_curve(gap: np.ndarray) -> np.ndarray:
    """-s', which is s + s² for x > 0, else 0."""
    score = _laplace_score(gap)
    return np.where(gap > 0, score + score**2, 0)


Doubles = Callable[[np.ndarray], np.ndarray]
_LINKS: dict[str, tuple[Doubles, Doubles, Callable[[Ball, Ball], tuple[Ball, Ball]]]] = {
    "logistic": (_logistic_score, _logistic_curve, _logistic),
    "laplace": (_laplace_score, _laplace_curve, _laplace),
}
