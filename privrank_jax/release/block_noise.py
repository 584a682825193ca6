r"""Exact K-norm noise in rows of blocks: each row changes within a sum of cubes, as counts in a tree of places do.

**Shape.** A row has k = s_1 + ... + s_N coordinates, in blocks of s_i. Its size \|x\| is the sum over blocks of the
largest absolute coordinate, and the size M of all rows together is that of the largest one. This is a norm, and a whole
number for integers. One block makes a cube.

**Mechanism**, as in :mod:`privrank_jax.release.k_norm`: to integers that change by at most c in this norm, publish T +
Z with P(Z = x) ∝ a^M(x), a = e^{-ε/c}. By the triangle inequality the probabilities of neighbors have a ratio of at
most a^{-c} = e^ε, which is attained where a change of norm c occurs.

**Drawing** is by mixture, without rejection but for the radius: r with P(r) ∝ a^r N(r)^rows, N(r) the number of points
of size at most r of one row, then each row uniformly among those, independently: P(x) ∝ Σ_{r ≥ M(x)} a^r ∝ a^M(x).

*N(r).* Points of a cube of s coordinates and size ρ number S(ρ) = (2ρ+1)^s - (2ρ-1)^s, S(0) = 1, so that Σ_ρ S(ρ)t^ρ =
(1 - t)·Σ_ρ (2ρ+1)^s t^ρ = B_s(t)/(1 - t)^s, with the Eulerian polynomial of type B, whose coefficients are whole
numbers above 0: B_s,j = (2j+1)·B_s-1,j + (2(s-j)+1)·B_s-1,j-1 (by t ↦ 2t·d/dt + 1 on the series). A row's slack r -
\|x\| has 1/(1 - t). With b the coefficients of the product of the B_s, N(r) = Σ_e b_e·C(r - e + k, k).

*A row.* Draw e with the odds b_e·C(r - e + k, k), and parts e_i of e with odds Π B_s_i,e_i. The other r - e are shared
out uniformly among k + 1 places, s_i of them for each block, the last one for the slack: choose k bars among r - e + k
stars and bars. A block's size ρ_i is e_i plus its stars; by the generating function, sizes have odds Π S(ρ_i). In a
block of size ρ, let the first coordinate of absolute value ρ be the i-th, i = 0, 1, ..., with the odds (2ρ-1)^i·2·
(2ρ+1)^(s-1-i); it has either sign, those before are uniform below ρ, those behind up to ρ. All odds are whole numbers.

*N is log-concave*, as the draw of r needs. For ρ ≥ 1, S(ρ) = s∫(2ρ + u)^(s-1) du over \|u\| ≤ 1, the integral of a
log-concave function of (ρ, u), is log-concave (Prékopa 1973); and S(1)² ≥ S(0)S(2), since 9^s - 2·3^s + 1 ≥ 5^s - 3^s:
9^s ≥ 5^s + 4^s, and 4^s + 1 ≥ 3^s. N is the convolution of the S with 1, 1, ..., and convolutions of log-concave
sequences are log-concave (Hoggar 1974)."""

from __future__ import annotations

import bisect
import functools
import itertools
import math
import secrets
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from jaxtyping import Int

from privrank_jax.release.entropy import uniform_integers
from privrank_jax.release.k_norm import AddNoise, noisy_sums
from privrank_jax.release.radius import Radius, check_rate, checked_radius


def discrete_blocks(
    rows: int, sizes: tuple[int, ...], change: int, epsilon: Fraction | float
) -> tuple[AddNoise, float]:
    """The mechanism for integers in rows that change by at most ``change`` in the norm of blocks, and its scale.

    ε-DP where neighbors differ so; proof at the head of this module.

    Args:
        rows: >= 1.
        sizes: s_1, s_2, ..., coordinates of each block of a row, in their order; each >= 1.
        change: c >= 1.
        epsilon: ε > 0, finite; a share of a budget is a fraction.

    Returns:
        The mechanism, for ``(rows * k,)`` integers; and c/ε.

    Raises:
        ValueError: ε so small that the noise exceeds 64 bits.

    >>> add_noise, scale = discrete_blocks(2, (1, 2), 4, 1000.0)
    >>> add_noise(np.array([4, 0, 1, 3, 3, 3])).tolist(), scale
    ([4.0, 0.0, 1.0, 3.0, 3.0, 3.0], 0.004)
    """
    rate = Fraction(epsilon) / change
    check_rate(rate, rows * sum(sizes))

    def add_noise(values: np.ndarray) -> np.ndarray:
        return noisy_sums(values, block_noise(rows, sizes, rate).ravel())

    return add_noise, float(change / Fraction(epsilon))


def block_noise(rows: int, sizes: tuple[int, ...], rate: Fraction) -> Int[np.ndarray, "rows cuts"]:
    """Integers x with P(x) ∝ e^{-rate·M(x)}, rate = ε/c."""
    radius = checked_radius(_radius(rows, sizes, rate).draw())
    return np.array([draw_row(sizes, radius) for _ in range(rows)])


@functools.lru_cache(maxsize=64)
def _radius(rows: int, sizes: tuple[int, ...], rate: Fraction) -> Radius:
    return Radius(functools.partial(count_points, sizes), rows, rate)


def count_points(sizes: tuple[int, ...], radius: int) -> int:
    """N(r): the integer points of one row of size at most r.

    >>> count_points((2,), 1), count_points((1, 1), 1)
    (9, 5)
    """
    return _ends(sizes, radius)[-1]


@functools.lru_cache(maxsize=8)
def _ends(sizes: tuple[int, ...], radius: int) -> list[int]:
    """Sums of b_e·C(r - e + k, k) up to e = 0, 1, ...; beyond e = r nothing is added."""
    dimension = sum(sizes)
    ways = math.comb(radius + dimension, dimension)
    odds = []
    for e, number in enumerate(_numerators(sizes)[-1][: radius + 1]):
        odds.append(number * ways)
        ways = ways * (radius - e) // (radius - e + dimension)
    return list(itertools.accumulate(odds))


@functools.lru_cache(maxsize=64)
def _numerators(sizes: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Coefficients of the products of the first 1, 2, ... polynomials B_s."""
    products = itertools.accumulate(map(_eulerian, sizes), _times)
    return tuple(tuple(product) for product in products)


def _times(first: Sequence[int], second: Sequence[int]) -> list[int]:
    found = [0] * (len(first) + len(second) - 1)
    for (i, a), (j, b) in itertools.product(enumerate(first), enumerate(second)):
        found[i + j] += a * b
    return found


@functools.lru_cache(maxsize=64)
def _eulerian(size: int) -> Sequence[int]:
    """Coefficients of B_s."""
    found = [1]
    for s in range(1, size + 1):
        found = [
            (2 * j + 1) * kept + (2 * (s - j) + 1) * moved
            for j, (kept, moved) in enumerate(zip([*found, 0], [0, *found]))
        ]
    return found


def draw_row(sizes: tuple[int, ...], radius: int) -> list[int]:
    """A uniform integer point of one row of size at most r."""
    dimension = sum(sizes)
    excess = _pick(_ends(sizes, radius))
    free = radius - excess
    bars = sorted(_subset(free + dimension, dimension))
    # Stars in front of the first, second, ... bar: each bar has its own place among all.
    stars = np.diff([-1, *bars]) - 1
    row: list[int] = []
    for size, part in zip(sizes, _parts(sizes, excess), strict=True):
        row += _shell(size, part + int(stars[len(row) : len(row) + size].sum()))
    return row


def _parts(sizes: tuple[int, ...], excess: int) -> list[int]:
    """e_1, e_2, ... with the sum e and odds Π B_s_i,e_i."""
    parts: list[int] = []
    for place in range(len(sizes) - 1, 0, -1):
        least, ends = _last_part(sizes, place, excess)
        parts.append(least + _pick(ends))
        excess -= parts[-1]
    return [excess, *reversed(parts)]


@functools.lru_cache(maxsize=1024)
def _last_part(sizes: tuple[int, ...], place: int, excess: int) -> tuple[int, list[int]]:
    """The least e_i for the block at i > 0, given e_0 + ... + e_i, and sums of the odds of it and all above."""
    own, others = _eulerian(sizes[place]), _numerators(sizes)[place - 1]
    least, most = max(0, excess - len(others) + 1), min(excess, len(own) - 1)
    odds = [own[e] * others[excess - e] for e in range(least, most + 1)]
    return least, list(itertools.accumulate(odds))


def _shell(size: int, largest: int) -> list[int]:
    """A uniform point of a cube's surface: the largest absolute coordinate is ``largest``."""
    if not largest:
        return [0] * size
    inner, outer = 2 * largest - 1, 2 * largest + 1
    odds = [inner**i * outer ** (size - 1 - i) for i in range(size)]
    first = _pick(list(itertools.accumulate(odds)))
    before = uniform_integers(first, inner) - (largest - 1)
    behind = uniform_integers(size - 1 - first, outer) - largest
    sign = 1 if secrets.randbelow(2) else -1
    return [*before.tolist(), sign * largest, *behind.tolist()]


def _pick(ends: Sequence[int]) -> int:
    """An index with odds, whole numbers, of which these are the sums from the first to each."""
    return bisect.bisect_right(ends, secrets.randbelow(ends[-1]))


def _subset(total: int, size: int) -> set[int]:
    """A uniform set of ``size`` of the numbers below ``total`` (Floyd's algorithm)."""
    found: set[int] = set()
    for last in range(total - size, total):
        place = secrets.randbelow(last + 1)
        found.add(last if place in found else place)
    return found
