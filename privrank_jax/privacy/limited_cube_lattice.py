r"""Whole points of the cube cut by a limit: their numbers, exactly, and the law of exact noise of that shape.

**Numbers.** K is the body of :mod:`privrank_jax.privacy.limited_cube`, N(r) the number of whole points of rK. C_p(r) is
that of x in {1, ..., r}^p with Σ x_i ≤ rk: Σ_i (-1)^i C(p, i) C(rk - ri, p), by inclusion and exclusion. Hence N(r) =
Σ_{p+q≤m} m!/(p! q! (m-p-q)!) C_p(r) C_q(r). Vertices of K are differences of ballots, hence whole. So N is a polynomial
of degree m with Σ_r N(r) z^r = (h_0 + h_1 z + ... + h_m z^m)/(1 - z)^{m+1} and whole h_i ≥ 0 (Ehrhart; Stanley 1980).
For k = 1, h_i = C(m, i)². They are found from N(0), ..., N(m), and N(r) = Σ_i h_i C(r + m - i, m) for all r.

*N is log-concave*, as the draw of a radius needs: where h_0, ..., h_m are positive and log-concave, since 1/(1 -
z)^{m+1} has such coefficients, and products of such series are log-concave. :class:`Series` checks the h_i,
which pass for all k < m ≤ 100.

**Law.** Exact noise X has P(x) ∝ a^{M(x)}, a = e^{-ρ}, M(x) the least whole r with x in rK. The sum of a^{M(x)} over
all x is W = (1 - a) Σ_r a^r N(r) = Σ_i h_i a^i/(1 - a)^m. With G(r, t) the number of whole points of rK in [-t, t]^m,
which is N(r) for r ≤ t, W·P(max_i \|X_i\| ≤ t) = (1 - a) Σ_r a^r G(r, t). The part below t is a mixture of negative
binomial chances, since a^r C(r + m - i, m) is one. For r ≥ t, G is N with numbers of x in {1, ..., t}^p, Σ x_i ≤ rk,
which one recursion finds for all r. Radii that are left out, far from the mode, only make the chance smaller.

*For small ρ* that sum is long. There let V be uniform in [-1/2, 1/2]^m. With e = 1/2 + (m/8 + √(m/12)/2)/k, E‖V‖ ≤ e:
the larger of the sums over positive and over negative entries is half of Σ \|V_i\| plus half of \|Σ V_i\|. So a^{M(x)}
≤ e^{-ρ‖x‖} ≤ e^{ρe} e^{-ρE‖x + V‖} ≤ e^{ρe} E e^{-ρ‖x + V‖} by Jensen's inequality. Summed over x with max_i \|x_i\| >
t + 1/2, where x + V has an entry beyond t, this is at most e^{ρe} Σ_i h_i ρ^{-m} P(max_i \|Z_i\| > ρt), Z the noise on
real numbers at scale 1, since ∫ e^{-ρ‖y‖} dy is m! times the volume of K, Σ_i h_i, over ρ^m. Divided by W it is a bound
of P(max_i \|X_i\| > t + 1/2).
"""

from __future__ import annotations

import functools
import math

import numpy as np

from privrank_jax._types import Number
from privrank_jax._validate import check_level, check_positive
from privrank_jax.privacy.limited_cube import LimitedCube
from privrank_jax.privacy.noise_law import reach

_LONG = 2**25  # products of numbers


class Series:
    """h_0, ..., h_m of a body, and N.

    Args:
        body: K.

    Raises:
        ArithmeticError: they are not log-concave, which for up to 100 items they are.
    """

    def __init__(self, body: LimitedCube) -> None:
        m = body.num_items
        counts = [sum(sum(row) for row in ways(body, r)) for r in range(m + 1)]
        signed = [(-1) ** j * math.comb(m + 1, j) for j in range(m + 1)]
        self._items = m
        self.h = [sum(signed[j] * counts[i - j] for j in range(i + 1)) for i in range(m + 1)]
        rising = zip(self.h, self.h[1:], self.h[2:])
        if min(self.h) <= 0 or any(b * b < a * c for a, b, c in rising):
            raise ArithmeticError(f"the numbers of points of {body} are not log-concave.")

    def count(self, radius: int) -> int:
        """N(r).

        >>> Series(LimitedCube(2, 1)).count(1)
        7
        """
        m, total = self._items, 0
        term = math.comb(radius + m, m)
        for i, h in enumerate(self.h):
            total += h * term
            top = radius + m - i
            term = term * (top - m) // top if top > m else 0
        return total


@functools.lru_cache(maxsize=16)
def series(body: LimitedCube) -> Series:
    """That of a body, found once.

    Args:
        body: K.
    """
    return Series(body)


def parts(body: LimitedCube, radius: int) -> list[int]:
    """C_0(r), ..., C_m(r).

    Args:
        body: K.
        radius: r >= 0.

    >>> parts(LimitedCube(3, 1), 3)
    [1, 3, 3, 1]
    """
    k = min(body.limit, body.num_items)
    found, tops = [1], [radius * (k - i) for i in range(k + 1)]
    choices = [1] * (k + 1)  # C(rk - ri, p)
    for p in range(1, body.num_items + 1):
        choices = [c * max(top - p + 1, 0) // p for c, top in zip(choices, tops)]
        found.append(sum((-1) ** i * math.comb(p, i) * c for i, c in enumerate(choices)))
    return found


def ways(body: LimitedCube, radius: int) -> list[list[int]]:
    """How many whole points of rK have s entries that aren't 0, p of them positive: row s, column p.

    Args:
        body: K.
        radius: r >= 0.

    >>> ways(LimitedCube(2, 1), 1)
    [[1], [2, 2], [0, 2, 0]]
    """
    m, signs = body.num_items, parts(body, radius)
    return [
        [math.comb(m, s) * math.comb(s, p) * signs[p] * signs[s - p] for p in range(s + 1)]
        for s in range(m + 1)
    ]


def limited_cube_reach(body: LimitedCube, level: Number, rate: Number) -> float:
    """The least whole t with P(max_i |X_i| <= t) >= level for exact noise in the shape of the body.

    A little more than the least for small ρ, where the bound above is used.

    Args:
        body: K.
        level: in (0, 1).
        rate: ρ > 0.

    Returns:
        t, in steps of the lattice.

    Raises:
        ValueError: a level or a rate that isn't.

    >>> limited_cube_reach(LimitedCube(1, 1), 0.9, 1.0), limited_cube_reach(LimitedCube(10, 1), 0.95, 500.0)
    (2.0, 0.0)
    """
    check_level(level)
    check_positive("rate", rate, infinite=False)
    m, rate, wanted = body.num_items, float(rate), float(level) + (1 - float(level)) * 1e-9
    farthest = m + math.ceil((m + 12 * math.sqrt(m) + 40) / rate)  # radii beyond hardly count
    if farthest * (m + 1) ** 2 > _LONG:
        bracket = _log_sum(body, 0.0) - m * math.log(rate) - _log_sum(body, rate)
        bracket += m * math.log(-math.expm1(-rate))
        around = 0.5 + (m / 8 + math.sqrt(m / 12) / 2) / body.limit
        missing = (1 - wanted) * math.exp(min(-rate * around - bracket, 0.0))
        return float(math.floor(reach(body, 1 - missing) / rate + 0.5))
    low, high = -1, max(math.ceil(reach(body, level) / rate), 1)
    while _chance_within(body, high, rate, farthest) < wanted:
        low, high = high, 2 * high
    step = 1
    while high - low > 1:  # the least one is near the one on real numbers
        middle = max(high - step, (low + high) // 2)
        if _chance_within(body, middle, rate, farthest) < wanted:
            low = middle
        else:
            high, step = middle, 2 * step
    return float(high)


def _log_sum(body: LimitedCube, rate: float) -> float:
    """log Σ_i h_i a^i."""
    h = series(body).h
    return float(np.logaddexp.reduce([math.log(one) - rate * i for i, one in enumerate(h)]))


def _chance_within(body: LimitedCube, most: int, rate: float, farthest: int) -> float:
    """P(max_i |X_i| <= t), or a little less."""
    from scipy import special

    m, k, t = body.num_items, min(body.limit, body.num_items), most
    log_sum, fall = _log_sum(body, rate), math.log(-math.expm1(-rate))
    if not t:
        return math.exp(m * fall - log_sum)
    order = np.arange(m + 1)
    chances = np.exp([math.log(h) - rate * i - log_sum for i, h in enumerate(series(body).h)])
    near = special.betainc(m + 1, np.maximum(t - order, 1), -math.expm1(-rate)) * (order < t)
    whole = -(-m * t // k)  # from this radius on all of the box counts
    radii = np.arange(t, max(min(whole, farthest), t))
    shares = _sums_of_uniform(t, m, radii * k) / special.gamma(order + 1)[:, None]
    left = m - order[:, None] - order
    joined = np.where(left >= 0, np.exp(-left * math.log(t) - special.gammaln(left + 1.0)), 0.0)
    with np.errstate(divide="ignore"):
        inner = np.log(((joined @ shares) * shares).sum(axis=0)) + special.gammaln(m + 1)
    logs = (m + 1) * fall - log_sum - rate * np.append(radii, whole)
    logs += np.append(inner + m * math.log(t), m * math.log(2 * t + 1) - fall)
    return float(chances @ near + np.exp(logs).sum())


def _sums_of_uniform(most: int, count: int, places: np.ndarray) -> np.ndarray:
    """P(Σ x_i <= s), x uniform in {1, ..., t}^p, at rising places s, ``(count + 1, places)``, for p = 0, ..., count."""
    found = np.ones((count + 1, places.size))
    if not places.size:
        return found
    below = np.ones(int(places[-1]) + 1)  # P(Σ x_i <= s), s = 0, 1, ...
    for p in range(1, count + 1):
        before = np.concatenate([np.zeros(most + 1), np.cumsum(below)])
        # P(Σ_p <= s) is the mean of P(Σ_{p-1} <= s - x) over x = 1, ..., t.
        below = (before[most : most + below.size] - before[: below.size]) / most
        found[p] = below[places]
    return found
