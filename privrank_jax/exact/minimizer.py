r"""The minimizer of a perturbed likelihood in exact multiples of a grid: objective perturbation without idealization.

**What is published.** θ* minimizes f(θ) = L(θ) + γ‖θ‖²/2 + wᵀθ, where L is convex and w has independent Laplace or
normal entries: *real* numbers. Objective perturbation is private for real numbers and the exact minimizer (proofs at
the head of :mod:`privrank_jax.mechanism.objective`). Published is R(θ*), the nearest integers to the entries of Pθ*/h,
where P centers the scores and the grid h is a public power of 1/2. R(θ*) is a function of θ* alone, so by
post-processing it is as private as θ*, whatever h is. Nothing else of θ* leaves this module: no digit below the grid,
no residual, no number of steps.

**How it is found.** R(θ*) can be computed without error:

- *w is known as well as need be.* An entry is a function of uniform numbers U, as -λ log U. The first k bits of U fix
  an interval of length 2^-k that holds U, hence a ball that holds the entry of w. Where that ball is too wide, further
  bits of the same U are drawn (:mod:`privrank_jax.exact.balls`). So w has its law exactly, as far as is looked at.
- *Any point comes with a bound of its error.* f is γ-strongly convex: ⟨∇f(t) - ∇f(θ*), t - θ*⟩ ≥ γ‖t - θ*‖². Since
  ∇f(θ*) = 0, the inequality of Cauchy and Schwarz gives for **every** t

      ‖t - θ*‖₂ ≤ ‖∇f(t)‖₂/γ.

  ∇f(t) is computed in balls, so its norm has an upper bound that is sure. *How* t was found does not matter: by Newton
  steps in doubles here.
- *Scores enter L by differences only*, so with u = Pθ and the mean μ of the scores, f(θ) = L(u) + γ‖u‖²/2 + (Pw)ᵀu +
  (mγμ²/2 + μ Σw): Pθ* minimizes the first three terms over centered u, where they are γ-strongly convex. So the bound
  holds for u = Pt and the gradient ∇L(t) + γPt + Pw, and the mean of w does not enter.
- *Rounding.* If each entry ± the bound rounds to one integer, these integers are R(θ*). Else the bound is to be smaller
  by a factor of 2^-44, with twice the bits; that ends with probability 1.

The first bound asked for is 2^-44 h/m, with m entries. An entry lies that near to a boundary of rounding with
probability about 2^-43/m, as h is far below the noise, so that a second round, which takes longer, has probability
below 2^-40. The number of bits is a function of m, h and γ.

**What is trusted**: that Arb's balls hold what they should (Johansson 2017, *Arb: efficient arbitrary-precision
midpoint-radius interval arithmetic*), Python's integers, and the bits of the operating system. Floating point only
proposes points. Time is not covered by the guarantee: the number of Newton steps depends on the data, as in any fit.

**Grid.** h = 2^-40. Scores that differ by less than a few millionths are the same to any reader: the standard error of
the difference of two scores is at least 2/√N after N comparisons, at least 2^-26 for all counts that are accepted,
without any noise. So h is below 2^-10 of it, whatever the data are, and needs no public fact.

Refining an interval until rounding is decided is what Haney, Desfontaines, Hartman, Shrestha and Hay (2022, *Precision
attacks and fixed-precision randomness*, arXiv 2207.13793) do for one number with noise; here the number is a minimizer.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from privrank_jax._balls import Ball, above, ball, middle, precision
from privrank_jax.exact.balls import Laplace, Normal, RealNumber

GRID = Fraction(1, 2**40)
_SPARE = 44  # bits by which the first bound of the error is below h/m
_MOST_STEPS = 500
_NEAR = 1e-9  # relative: a Newton step from so near squares the error


@runtime_checkable
class Likelihood(Protocol):
    """L, by its derivatives; convex, and unchanged where the scores, its first arguments, all move by the same."""

    def slope(self, point: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n"]:
        """∇L in doubles."""
        ...

    def curvature(self, point: Float[np.ndarray, "n"]) -> Float[np.ndarray, "n n"]:
        """∇²L in doubles."""
        ...

    def gradient(self, point: Sequence[Ball]) -> list[Ball]:
        """∇L in balls, at a point given by balls."""
        ...


def drawn_minimizer(
    likelihood: Likelihood,
    multiples: Sequence[int],
    noise: str,
    scale: Fraction,
    gamma: Fraction,
) -> list[int]:
    """The minimizer at fresh noise from the operating system, in multiples of :data:`GRID`, scores centered.

    Args:
        likelihood: L.
        multiples: of the noise scale, of each number; 1 for scores, which come first.
        noise: ``"laplace"`` or ``"gaussian"``.
        scale: λ or σ of a score.
        gamma: γ.
    """
    law = {"laplace": Laplace, "gaussian": Normal}[noise]
    drawn = [law(times * scale) for times in multiples]
    return rounded_minimizer(likelihood, gamma, drawn, GRID, scores=multiples.count(1))


def rounded_minimizer(
    likelihood: Likelihood,
    gamma: Fraction,
    noise: Sequence[RealNumber],
    grid: Fraction,
    *,
    scores: int | None = None,
    spare: int = _SPARE,
) -> list[int]:
    """The minimizer of L(θ) + γ‖θ‖²/2 + wᵀθ in multiples of the grid, each entry rounded to nearest; scores centered.

    Args:
        likelihood: L.
        gamma: γ > 0.
        noise: w, one number for each entry of θ.
        grid: h > 0.
        scores: how many leading entries of θ are scores; None for all.
        spare: bits by which the first bound of the error is to be below h/m.
    """
    goal, count = grid / len(noise) / 2**spare, len(noise) if scores is None else scores
    # Bits of arithmetic: a gradient of terms up to 2^53 is to be known far within the goal times γ.
    digits = 53 + 64 + math.ceil(1 / (goal * min(gamma, Fraction(1)))).bit_length()
    point = None
    while True:
        with precision(digits):
            held = [one.ball(digits) for one in noise]
            perturbed = _Perturbed(likelihood, gamma, _centered(held, count), count)
            if point is None:
                point = _dyadic(near_minimizer(perturbed).tolist(), 2**53, [0] * len(noise))
            point, error = _closer(perturbed, point, goal, digits)
            ends = [
                [math.floor((t + end) / grid + Fraction(1, 2)) for end in (-error, error)]
                for t in _centered(point, count)
            ]
        if all(low == high for low, high in ends):
            return [low for low, _ in ends]
        goal, digits = goal / 2**_SPARE, 2 * digits


def _centered(numbers: list, scores: int) -> list:
    """The same less the mean of the scores, for scores."""
    if not scores:
        return numbers
    mean = sum(numbers[1:scores], numbers[0]) / scores
    return [one - mean for one in numbers[:scores]] + numbers[scores:]


@dataclasses.dataclass(frozen=True, eq=False)
class _Perturbed:
    """The part of f that depends on centered scores, by its derivatives.

    Attributes:
        likelihood: L.
        gamma: γ.
        noise: Pw in balls.
        scores: how many leading entries are scores.
    """

    likelihood: Likelihood
    gamma: Fraction
    noise: list[Ball]
    scores: int

    @property
    def tilt(self) -> np.ndarray:
        """Pw in doubles."""
        return np.array([float(one.mid()) for one in self.noise])

    def curvature(self, point: np.ndarray) -> np.ndarray:
        """∇²f in doubles, plus a constant that keeps the mean of scores where it is, however small γ is."""
        found = self.likelihood.curvature(point) + float(self.gamma) * np.eye(point.size)
        found[: self.scores, : self.scores] += np.trace(found) / point.size
        return found

    def gradient(self, point: list[Fraction]) -> list[Ball]:
        """∇f in balls."""
        slopes = self.likelihood.gradient([ball(t) for t in point])
        ridge, moved = ball(self.gamma), _centered(point, self.scores)
        return [one + ridge * ball(t) + w for one, t, w in zip(slopes, moved, self.noise)]


def near_minimizer(perturbed: _Perturbed) -> np.ndarray:
    """A point near the minimizer by damped Newton steps in doubles, of which nothing is claimed."""
    tilt, gamma = perturbed.tilt, float(perturbed.gamma)

    def slope(at: np.ndarray) -> np.ndarray:
        return perturbed.likelihood.slope(at) + gamma * at + tilt

    point = np.zeros(tilt.size)
    found = slope(point)
    for _ in range(_MOST_STEPS):
        step = _solve(perturbed.curvature(point), found)
        fall, length = found @ step, 1.0
        while (turned := slope(point - length * step)) @ step < -0.1 * fall and length > 2**-40:
            length /= 2  # the minimum along the step was passed
        point, found = point - length * step, turned
        if np.abs(length * step).max() <= _NEAR * (1 + np.abs(point).max()):
            break
    return point


def _solve(curvature: np.ndarray, slope: np.ndarray) -> np.ndarray:
    """The Newton step; where doubles make the curvature singular, one along its diagonal."""
    try:
        return np.linalg.solve(curvature, slope)
    except np.linalg.LinAlgError:
        return slope / np.diag(curvature)


def _closer(
    perturbed: _Perturbed, point: list[Fraction], goal: Fraction, digits: int
) -> tuple[list[Fraction], Fraction]:
    """A point at most ``goal`` from the minimizer, or as near as these digits allow; and a bound of its distance."""
    slope = perturbed.gradient(point)
    error, doubles = distance(slope, perturbed.gamma), True
    while error > goal and not _blurred(slope):
        if doubles:
            held = np.array([float(t) for t in point])
            right = np.array([float(one.mid()) for one in slope])
            step = _solve(perturbed.curvature(held), right)
            moved = _dyadic(point, 2**digits, step.tolist())
            turned = perturbed.gradient(moved)
            nearer = distance(turned, perturbed.gamma)
            if doubles := nearer < error / 2:
                point, slope, error = moved, turned, nearer
            continue  # where doubles lead no nearer, as for nearly singular curvatures, balls do
        point = _damped(perturbed, point, slope, digits)
        slope = perturbed.gradient(point)
        error = distance(slope, perturbed.gamma)
    return point, error


def _damped(
    perturbed: _Perturbed, point: list[Fraction], slope: list[Ball], digits: int
) -> list[Fraction]:
    """A damped Newton step with the arithmetic's own digits; the curvature by differences of gradients."""
    import flint

    small = Fraction(1, 2 ** (digits // 3))
    rows = []
    for j in range(len(point)):
        beside = perturbed.gradient([t + small * (i == j) for i, t in enumerate(point)])
        rows.append([((one - two) / ball(small)).mid() for one, two in zip(beside, slope)])
    mean = sum(row[i] for i, row in enumerate(rows)) / len(rows)  # as in _Perturbed.curvature
    for row in rows[: perturbed.scores]:
        row[: perturbed.scores] = [one + mean for one in row[: perturbed.scores]]
    right = [[one.mid()] for one in slope]
    solved = flint.arb_mat(rows).solve(flint.arb_mat(right), algorithm="approx")
    step = [middle(solved[i, 0]) for i in range(len(point))]
    fall, length = sum(middle(one) * s for one, s in zip(slope, step)), Fraction(1)
    while True:
        moved = _dyadic(point, 2**digits, [length * s for s in step])
        turned = perturbed.gradient(moved)
        if sum(middle(one) * s for one, s in zip(turned, step)) >= -fall / 10 or length < small:
            return moved
        length /= 2


def _blurred(slope: list[Ball]) -> bool:
    """Whether the gradient is no larger than what its balls leave open."""
    return all(abs(one.mid()) <= one.rad() for one in slope)


def _dyadic(
    point: Iterable[float | Fraction], unit: int, step: Iterable[float | Fraction]
) -> list[Fraction]:
    """A point less a step in multiples of 1/unit."""
    return [Fraction(round((Fraction(t) - Fraction(s)) * unit), unit) for t, s in zip(point, step)]


def distance(slope: Sequence[Ball], gamma: Fraction) -> Fraction:
    """‖∇f(t)‖₂/γ, which bounds ‖t - θ*‖₂, rounded up."""
    squares: Ball = sum((one.abs_upper() ** 2 for one in slope), ball(0))
    return above(squares.sqrt() / ball(gamma))
