r"""Noise on integers by the ℓ₁ or ℓ₂ distance of neighbors, drawn exactly.

*Laplace*: P(X = x) ∝ exp(-\|x\|/s) on the integers with s = Δ₁/ε, a rational, is ε-DP as its continuous twin is
(:mod:`privrank_jax.exact.integer_laplace`). *Gaussian*: normal numbers rounded to integers cost what the Gaussian
mechanism does (:mod:`privrank_jax.exact.rounded_gaussian`), at the least σ that is proven (ε, δ)-DP
(:mod:`privrank_jax.privacy.gaussian`), as a rational.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np

from privrank_jax.exact.integer_laplace import integer_laplace
from privrank_jax.exact.rounded_gaussian import rounded_gaussian
from privrank_jax.privacy.gaussian import gaussian_budget

AddNoise = Callable[[np.ndarray], np.ndarray]
"""Adds noise to integers, ``(d,)``; returns float64."""

ROUNDED = 1 + 2**-50
"""Times a sensitivity in ℓ₂, a root that may have been rounded down by an ulp or two."""


def discrete_laplace(sensitivity: float, epsilon: float) -> tuple[AddNoise, float]:
    """Laplace noise on integers whose neighbors differ by ``sensitivity`` in ℓ₁, rounded up; and its scale s.

    >>> add_noise, scale = discrete_laplace(2.0, 1e3)
    >>> add_noise(np.array([4, 0, 1])).tolist(), scale
    ([4.0, 0.0, 1.0], 0.002)
    """
    return _adding(integer_laplace, math.ceil(sensitivity) / Fraction(epsilon))


def discrete_gaussian(sensitivity: float, epsilon: float, delta: float) -> tuple[AddNoise, float]:
    """Rounded Gaussian noise on integers whose neighbors differ by ``sensitivity`` in ℓ₂; and its σ.

    >>> add_noise, scale = discrete_gaussian(1.0, 1e3, 0.1)
    >>> add_noise(np.array([4, 0, 1])).tolist(), round(scale, 3)
    ([4.0, 0.0, 1.0], 0.023)
    """
    return _adding(
        rounded_gaussian, Fraction(sensitivity * ROUNDED) / gaussian_budget(epsilon, delta)
    )


def _adding(draw: Callable[[int, Fraction], np.ndarray], scale: Fraction) -> tuple[AddNoise, float]:
    return lambda values: (values + draw(len(values), scale)).astype(np.float64), float(scale)
