r"""The law of the largest of d numbers of exact noise in the shape of the cube, for intervals; it is public.

The exact noise X on integers has P(x) ∝ e^{-ρM}, M = max_i \|x_i\| (:mod:`privrank_jax.exact.k_norm`; the ripple
mechanism of Joseph, Kulesza, Wang and Yu, COLT 2026), so P(M = r) ∝ e^{-ρr}((2r + 1)^d - (2r - 1)^d). That sum is taken
as it stands, unless ρ is so small that it is long.

For such ρ add to each x_i an independent number, uniform in [-1/2, 1/2]: this is a point Y with density ∝ e^{-ρM(x)} in
the box about x. There the largest coordinate \|Y\| differs from M by at most 1/2. So compared with noise of density
∝ e^{-ρ\|y\|}, whose \|y\| has the law of Gamma(d)/ρ, that of Y is off by a factor between e^{-ρ/2} and e^{ρ/2} before
and hence by at most e^ρ after normalization: P(M > t + 1/2) ≤ P(\|Y\| > t) ≤ e^ρ·P(Gamma(d) > ρt).
"""

from __future__ import annotations

import math

import numpy as np

from privrank_jax._types import Number
from privrank_jax._validate import check_level, check_positive

_FAR, _LONG = 200, 2**20


def cube_lattice_reach(dimension: int, level: Number, rate: Number) -> float:
    """The least whole t with P(max_i |X_i| <= t) >= level for exact noise in the shape of a cube.

    A little more than the least for ρ below 10^-3 or so, where the bound above is used.

    Args:
        dimension: d >= 1.
        level: in (0, 1).
        rate: ρ > 0.

    Returns:
        t, in steps of the lattice.

    Raises:
        ValueError: a level or a rate that isn't.

    >>> cube_lattice_reach(1, 0.9, 1.0), cube_lattice_reach(45, 0.95, 1.0), cube_lattice_reach(45, 0.95, 500.0)
    (2.0, 56.0, 0.0)
    """
    check_level(level)
    check_positive("rate", rate, infinite=False)
    d, rate, missing = dimension, float(rate), 1 - float(level)
    most = (2 * d + _FAR) / rate  # terms beyond it fall by e^{-rate/2} each
    if most > _LONG:
        from scipy import special

        far = float(special.gammainccinv(d, missing * math.exp(-rate)))
        return float(math.floor(far * (1 + 1e-9) / rate + 0.5))
    radius = np.arange(1, math.ceil(most) + 1)
    inner = np.log1p(-2 / (2 * radius + 1)) * d  # of ((2r - 1)/(2r + 1))^d
    shells = d * np.log(2 * radius + 1) + np.log(-np.expm1(inner)) - rate * radius
    weights = np.append(0.0, shells)
    chances = np.exp(weights - np.logaddexp.reduce(weights))
    beyond = np.cumsum(chances[::-1])[::-1] - chances  # P(M > r)
    return float(np.argmax(beyond <= missing * (1 - 1e-9)))
