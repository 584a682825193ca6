r"""Exact noise in the shape of the cube cut by a limit: totals of ballots that name at most k of m items each.

The mechanism is that of :mod:`privrank_jax.release.k_norm` with K of :mod:`privrank_jax.privacy.limited_cube` and Λ all
integer vectors: integers T whose changes lie in cK get noise Z with P(Z = x) ∝ a^{M(x)}, a = e^{-ε/c}, which is ε-DP by
the proof there. It is attained: a ballot that gives c points to min(k, m) items, replaced by a blank one, moves T by c
times a point on the boundary of K.

**Drawing.** A radius r with P(r) ∝ a^r N(r), N the number of whole points of rK, whose log-concavity is checked
(:mod:`privrank_jax.privacy.limited_cube_lattice`), then one of these points, uniformly: how many of its entries are
positive and negative, by their exact numbers; which, by a random order; and the entries of either sign, x in {1, ...,
r}^p with Σ x_i ≤ rk. These are drawn from the smaller one of two larger sets, until they fit: {1, ..., r}^p, or x with
x_i ≥ 1 and Σ x_i ≤ rk, the gaps of p different whole numbers up to rk. How long that takes depends on the noise and on
public facts alone.
"""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import secrets
from fractions import Fraction

import numpy as np

from privrank_jax.privacy.limited_cube import LimitedCube
from privrank_jax.privacy.limited_cube_lattice import series, ways
from privrank_jax.release.entropy import uniform_integers
from privrank_jax.release.k_norm import AddNoise, noisy_sums
from privrank_jax.release.radius import Radius, check_rate, checked_radius


def discrete_limited_cube(body: LimitedCube, change: int, epsilon: float) -> tuple[AddNoise, float]:
    """The mechanism for integers that change within ``change`` times the cube cut by a limit, and its scale.

    ε-DP where neighbors differ so; proof at the head of this module.

    Args:
        body: K.
        change: c >= 1.
        epsilon: ε > 0, finite.

    Returns:
        The mechanism, for ``(m,)`` integers, and c/ε.

    Raises:
        ValueError: ε so small that the noise exceeds 64 bits.

    >>> add_noise, scale = discrete_limited_cube(LimitedCube(3, 1), 2, 1000.0)
    >>> add_noise(np.array([4, 0, 1])).tolist(), scale
    ([4.0, 0.0, 1.0], 0.002)
    """
    rate = Fraction(epsilon) / change
    check_rate(rate, body.dimension, body.num_items)

    def add_noise(values: np.ndarray) -> np.ndarray:
        return noisy_sums(values, limited_cube_noise(body, rate))

    return add_noise, change / epsilon


def limited_cube_noise(body: LimitedCube, rate: Fraction) -> np.ndarray:
    """``(m,)`` int64, x with P(x) ∝ e^{-rate·M(x)}, rate = ε/c.

    Args:
        body: K.
        rate: > 0.
    """
    return uniform_whole_point(body, checked_radius(_radius(body, rate).draw(), body.num_items))


def uniform_whole_point(body: LimitedCube, radius: int) -> np.ndarray:
    """A whole point of r times the body, each with the same probability, ``(m,)`` int64.

    Args:
        body: K.
        radius: r >= 0.
    """
    table = ways(body, radius)
    signs = [(up, size - up) for size, row in enumerate(table) for up in range(len(row))]
    ends = list(itertools.accumulate(number for row in table for number in row))
    up, down = signs[bisect.bisect_right(ends, secrets.randbelow(ends[-1]))]
    order = list(range(body.num_items))
    secrets.SystemRandom().shuffle(order)
    found = np.zeros(body.num_items, np.int64)
    found[order[:up]] = _entries(body.limit, radius, up)
    found[order[up : up + down]] = -_entries(body.limit, radius, down)
    return found


def _entries(limit: int, radius: int, number: int) -> np.ndarray:
    """Uniform x in {1, ..., r}^number with Σ x_i <= rk."""
    if not number:
        return np.zeros(0, np.int64)
    most = radius * limit
    boxed = radius**number <= math.comb(most, number)
    while True:
        if boxed:
            found = 1 + uniform_integers(number, radius)
        else:
            ends = sorted(secrets.SystemRandom().sample(range(1, most + 1), number))
            found = np.diff([0, *ends])
        if found.max() <= radius and found.sum() <= most:
            return found


@functools.lru_cache(maxsize=32)
def _radius(body: LimitedCube, rate: Fraction) -> Radius:
    return Radius(series(body).count, 1, rate)
