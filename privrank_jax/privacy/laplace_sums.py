r"""The law of sums of discrete Laplace noise, for what totals of a leaderboard are off by; it is public.

Discrete Laplace noise of scale s has P(x) ∝ e^{-\|x\|/s}, and the characteristic function 1/(1 + q²) with q =
sin(t/2)/sinh(1/(2s)). So P(S = x) of a sum S of k of them is an integral of the k-th power of that over a period. The
trapezoid rule on N points has it exactly, but for what lies N or more away. As sinh is convex, E e^{S/(2s)} ≤ (4/3)^k,
so P(\|S\| > t) ≤ 2 (4/3)^k e^{-t/(2s)}, and N is large enough for that to be below 10⁻¹⁵ at N/2.

**Large scales.** Discrete Laplace noise is ⌊X⌋ - ⌊Y⌋, X and Y exponential of mean s, so S differs by less than k from
the sum of k numbers X - Y, which is s/s' times one of scale s', and that differs by less than k from a sum S' of scale
s'. So where \|S'\| ≤ t', \|S\| < (s/s')(t' + k) + k.
"""

from __future__ import annotations

import math

import numpy as np

from privrank_jax._types import Number
from privrank_jax._validate import check_level, check_positive

_LARGEST = 2048.0
_ROUNDING = 1e-10  # of all probabilities together
_STEEP = 700.0  # beyond it sinh overflows, and noise is 0


def laplace_sum_reach(terms: int, scale: Number, numbers: int, level: Number) -> float:
    """The least whole t such that independent sums of discrete Laplace noise all lie within t with this probability.

    A little more than the least for scales above 2,048, where the bound above is used.

    Args:
        terms: k >= 1, of each sum.
        scale: s > 0.
        numbers: how many sums there are.
        level: above 0, at most 1 - 10⁻⁹ times the number of sums.

    Returns:
        t, in steps of the noise.

    Raises:
        ValueError: a level or a scale that isn't.

    >>> laplace_sum_reach(1, 1.0, 1, 0.9), laplace_sum_reach(4, 100.0, 10, 0.95), laplace_sum_reach(4, 1e5, 10, 0.95)
    (2.0, 887.0, 887163.0)
    """
    check_level(level)
    check_positive("scale", scale, infinite=False)
    scale = float(scale)
    if scale > _LARGEST:
        found = laplace_sum_reach(terms, _LARGEST, numbers, level)
        return float(math.ceil((found + terms) * scale / _LARGEST + terms))
    far = 2 * scale * (terms * math.log(4 / 3) + 36) + 2
    points = 1 << math.ceil(math.log2(2 * far))
    angles = np.arange(points // 2 + 1) * (math.pi / points)
    power = np.exp(-terms * np.log1p((np.sin(angles) / math.sinh(min(0.5 / scale, _STEEP))) ** 2))
    chances = np.fft.irfft(power, points)
    within = chances[0] + np.append(0.0, 2 * np.cumsum(chances[1 : points // 2]))
    beyond = -math.expm1(math.log(level) / numbers)
    enough = 1 - within + _ROUNDING <= beyond
    if not enough.any():
        raise ValueError(f"level must be at most {1 - 1e-9 * numbers:.9g} here, got {level!r}.")
    return float(np.argmax(enough))
