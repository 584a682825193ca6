"""What all exact releases share: one finite ε, the sampler of each kind of noise on integers, and what they return."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction
from typing import Any, TypeAlias

from privrank_jax._types import Number
from privrank_jax._validate import check_positive, check_shape
from privrank_jax.estimate import Estimate
from privrank_jax.exact.discrete_noise import (
    ROUNDED,
    AddNoise,
    discrete_gaussian,
    discrete_laplace,
)
from privrank_jax.exact.k_norm import discrete_cube, discrete_zonotope
from privrank_jax.exact.spanning_trees import Graph
from privrank_jax.privacy.gaussian import rounded_up
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

Body: TypeAlias = int | Graph
"""A cube of a dimension, or the zonotope of a graph."""


def exact_promise(attained: Privacy) -> Privacy:
    """What a mechanism attains, with one finite ε, and δ, as doubles.

    Raises:
        ValueError: ε is infinite, or there are several.
    """
    check_positive("epsilon", attained.epsilon, infinite=False)
    check_shape("epsilon", attained.epsilon, ())
    return dataclasses.replace(
        attained, epsilon=float(attained.epsilon), delta=float(attained.delta)
    )


def integer_noise(
    noise: str, privacy: Privacy, change: Number, body: Body | None = None
) -> tuple[AddNoise, float]:
    """The mechanism that adds noise to integers, and its scale: s, σ, or c/ε for K-norm noise.

    Args:
        noise: ``"k-norm"``, ``"laplace"`` or ``"gaussian"``.
        privacy: from :func:`exact_promise`.
        change: what neighbors differ by: in ℓ₁ for Laplace noise, in ℓ₂ for Gaussian noise; for K-norm noise c, where
            the difference lies in c times the body.
        body: of K-norm noise.

    Raises:
        ValueError: no noise can be drawn for this ε, δ and change.

    >>> import numpy as np
    >>> promise = Privacy(1e3, unit="user", adjacency="replace")
    >>> add_noise, scale = integer_noise("k-norm", promise, 2, 3)
    >>> add_noise(np.array([4, 0, 1])).tolist(), scale
    ([4.0, 0.0, 1.0], 0.002)
    """
    epsilon = privacy.epsilon
    if isinstance(body, Graph):
        return discrete_zonotope(body, int(change), epsilon)
    if body is not None:
        return discrete_cube(body, int(change), epsilon)
    if noise == "laplace":
        return discrete_laplace(float(change), epsilon)
    return discrete_gaussian(float(change), epsilon, privacy.delta)


def concentrated(noise: str, change: Number, scale: float) -> float | None:
    """ρ of Gaussian noise on integers (:mod:`~privrank_jax.exact.discrete_noise`), never rounded down; else None.

    Args:
        noise: its kind.
        change: in ℓ₂, as for :func:`integer_noise`.
        scale: σ, as from there.

    >>> round(concentrated("gaussian", 2, 20.0), 12)
    0.005
    """
    if noise != "gaussian":
        return None
    return rounded_up((float(change) * ROUNDED / scale) ** 2 / 2)


def largest_below(bound: Fraction) -> float:
    """The largest double that is at most ``bound``."""
    value = float(bound)
    while Fraction(value) > bound:
        value = math.nextafter(value, -math.inf)
    return value


def exact_estimate(
    value: Any,
    privacy: Privacy,
    attained: Privacy,
    diagnostics: Any,
    **told: Any,
) -> Estimate:
    """What is published, with its guarantee: promise, what is attained of it, and the rest as told."""
    return Estimate(value, Guarantee(privacy, attained, numerics="exact", **told), diagnostics)
