r"""How large noise is in total, on average and but for a small chance: what the proven errors of consensus rest on.

*Sum of absolute values* of d entries, at scale 1, with L = log(1/chance). Laplace noise: Gamma(d), so its quantile is
exact. Gaussian noise: mean d√(2/π), and the sum changes by at most √d times the length of a change, so it exceeds its
mean by √(2dL) at most. K-norm noise of a cube: the largest entry is M ~ Gamma(d), and independently of it all others
are uniform in [-M, M]; by Hoeffding's inequality for those and by a quantile of M, each at half of the chance, the sum
is at most M·(1 + (d-1)/2 + √((d-1)L/2)). K-norm noise of the complete zonotope of m items: its norm is M ~ Gamma(m-1),
and no point of the body has a sum above ⌊m²/2⌋, which a vertex attains.

*Ranges of footrule costs.* Let E_j be the noise on item j's costs and R_j its range over the m places.

Gaussian noise: E_j is a random walk of m - 1 steps of standard deviation 2σ. By Spitzer's identity its largest value,
of 0 and all sums, has mean Σ_k E S_k⁺/k = 2σ/√(2π)·Σ_{k<m} k^(-1/2); R_j has twice that mean, exactly. Σ_j R_j changes
by at most 2σ√(m(m-1)) times the length of a change of the normal variables, which gives the chance as above.

Noise in a tree (:mod:`privrank_jax.aggregation.footrule_levels`): the levels are independent, E_j = Σ_l r_l X_jl, with
the radius r_l of level l, (d + 1)-fold exponential over ε a_l, and the changes X_jl of costs by a uniform point of its
body, independent over items. E R_j is a mean over the noise of one item: it is found by simulation from a fixed seed
and rounded up by :data:`~privrank_jax.privacy.noise_law.SAFETY` standard errors. But for a chance: let q_l be quantiles
of the radii, each at an equal part of it. The range is a convex and even function of the noise, so by Jensen's
inequality E exp(λR_j) grows with every radius for λ > 0, and where all r_l ≤ q_l, it is at most that at r = q. There
R_j has a mean and a variance, by simulation, and a largest value B: so by Bernstein's inequality, with the last part of
the chance, Σ_j R_j ≤ m E R_j + √(2m Var R_j L) + 2BL/3. For B: the counts z_1, z_2, ... of a level move prefix counts
by -z_c at cut c and by -z_c/2 inside the groups beside it, of lengths w_c and w_{c+1}, since a group of mass μ has μ/2
at either end if the counts of deeper levels are 0. So z_c changes costs by T_c z_c in all, T_c = w_c + w_{c+1}, always
in one direction, and the range is at most Σ_c T_c\|z_c\|: over the body, where the largest \|z_c\| of nodes sum to 1,
at most the largest sum of T_c over a node.

Sources: Hoeffding (1963), Spitzer (1956), Bernstein (1946); Gaussian concentration as in
Boucheron, Lugosi and Massart (2013), theorem 5.6.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy import special

from privrank_jax.aggregation.footrule_levels import footrule_levels
from privrank_jax.privacy.noise_law import SAFETY

_NUMBERS, _POINTS = 1 << 23, (1024, 16384)


def absolute_sum(noise: str, count: int, chance: float | None = None) -> float:
    """Sum of the absolute values of d entries of noise at scale 1: its mean, or a bound.

    Args:
        noise: ``"k-norm"`` (of a cube of dimension d), ``"laplace"`` or ``"gaussian"``.
        count: d >= 1.
        chance: None for the mean; else the probability with which the sum may exceed the bound.

    >>> absolute_sum("laplace", 10), round(absolute_sum("laplace", 10, 0.05), 2)
    (10.0, 15.71)
    """
    if noise == "gaussian":
        mean = count * math.sqrt(2 / math.pi)
        return mean if chance is None else mean + math.sqrt(-2 * count * math.log(chance))
    if noise == "laplace":
        return float(count) if chance is None else gamma_quantile(count, chance)
    if chance is None:
        return count * (count + 1) / 2
    others = (count - 1) / 2 + math.sqrt(-(count - 1) * math.log(chance / 2) / 2)
    return gamma_quantile(count, chance / 2) * (1 + min(others, count - 1))


def gamma_quantile(shape: int, chance: float) -> float:
    """The t that Gamma(shape) exceeds with probability ``chance``.

    >>> round(gamma_quantile(1, 0.05), 6)
    2.995732
    """
    return float(special.gammainccinv(shape, chance))


def footrule_ranges(num_items: int, noise: str, chance: float | None = None) -> float:
    """Bound on Σ_j R_j, the ranges of the noise on all items' footrule costs at scale 1/n: on its mean, or on itself.

    Args:
        num_items: m >= 2.
        noise: ``"tree"`` or ``"k-norm"``, at ε = 1, or ``"gaussian"``, at σ = 1.
        chance: None for the mean; else the probability with which the sum may exceed the bound.

    >>> [round(footrule_ranges(20, noise) / 20**3) for noise in ("tree", "k-norm")]
    [5, 7]
    """
    if noise == "gaussian":
        steps = math.fsum(k**-0.5 for k in range(1, num_items))
        mean = num_items * 4 / math.sqrt(2 * math.pi) * steps
        if chance is None:
            return mean
        return mean + 2 * math.sqrt(-2 * num_items * (num_items - 1) * math.log(chance))
    levels = footrule_levels(num_items, noise)
    rows = _unit_rows(num_items, noise)
    shapes = [num_items * len(level.nodes) + 1 for level in levels]
    part = 0.0 if chance is None else chance / (len(levels) + 1)
    if chance is None:
        generator = np.random.default_rng(1)
        radii = [generator.gamma(shape, size=(len(rows[0]), 1)) for shape in shapes]
    else:
        radii = [np.array([[gamma_quantile(shape, part)]]) for shape in shapes]
    radii = [radius / level.share for radius, level in zip(radii, levels)]
    ranges = np.ptp(sum(radius * row for radius, row in zip(radii, rows)), axis=1)
    mean, variance = ranges.mean(), ranges.var()
    error = SAFETY / math.sqrt(ranges.size)
    mean += error * math.sqrt(variance)
    if chance is None:
        return float(num_items * mean)
    variance += error * float(np.std((ranges - ranges.mean()) ** 2))
    most = sum(
        radius.item() * np.max(np.bincount(level.nodes, np.ptp(level.response, axis=0)))
        for radius, level in zip(radii, levels)
    )
    log = -math.log(part)
    beyond = math.sqrt(2 * num_items * variance * log) + 2 * most * log / 3
    return float(min(num_items * mean + beyond, num_items * most))


@functools.lru_cache(maxsize=4)
def _unit_rows(num_items: int, noise: str) -> list[np.ndarray]:
    """Changes of an item's costs by uniform points of the body of each level, ``(points, m)`` each."""
    generator = np.random.default_rng(0)
    points = int(np.clip(_NUMBERS // num_items**2, *_POINTS))
    rows = []
    for level in footrule_levels(num_items, noise):
        nodes, shape = level.nodes, (points, len(level.nodes))
        starts = np.flatnonzero(np.diff(nodes, prepend=-1))
        parts = generator.exponential(size=(points, shape[1] + 1))
        norms = np.add.reduceat(parts[:, :-1], starts, axis=1) / parts.sum(axis=1, keepdims=True)
        places = generator.uniform(-1, 1, shape)
        largest = np.maximum.reduceat(np.abs(places), starts, axis=1)
        rows.append((places * (norms / largest)[:, nodes]).dot(level.response.T))
    return rows
