r"""The law of K-norm noise at scale 1, for standard errors, intervals and plans; it is public.

Z = r·U, r ~ Gamma(p + 1) and U uniform in the body K of dimension p, independent. So E r = p + 1, E r² = (p + 1)(p +
2), and P(r > x) = Q(p + 1, x), Q the upper regularized incomplete gamma function.

**Cube**, p = d: U has independent coordinates, uniform in [-1, 1]. Var Z_i = (d + 1)(d + 2)/3, E|Z_i| = (d + 1)/2.
The maximum of |Z_i| is the norm of Z, and it has density ∝ r^{d-1} e^{-r}, that of Gamma(d).

**Complete zonotope of m items**: Cov U is invariant under permutations of the items and U sums to 0, so it is v(I -
J/m) with v = M_m/(m - 1), M_m = E‖U‖².

The facets of K lie over the sets of k items, 1 <= k < m. Each is centered at the sum of the pairs that leave its set,
whose squared length is h_k² = k(m - k)m. It is a product of complete zonotopes of k and of m - k items, orthogonal to
its center. K is the union of the pyramids from 0 over the facets, and E‖U‖² over such a pyramid is p/(p + 2)·(h_k² +
M_k + M_{m-k}). A complete zonotope of k items has k^{k-2} tiles of volume 2^{k-1}√k, so the pyramids over sets of k
items take shares ∝ C(m, k)·k^{k-1}·(m - k)^{m-k-1}.

**Other quantities of zonotopes** are means over 1,024 to 16,384 simulated U, as E|Z_i| = (p + 1)·E|U_i| and P(|Z_i| >
t) = E Q(p + 1, t/|U_i|), each raised by four standard errors. Draws of the items of a complete zonotope are pooled.

**Integers.** The exact twin (:mod:`privrank_jax.exact.k_norm`) draws points X of the lattice with P(x) ∝ e^{-ρM(x)},
M(x) the least whole r with x in rK. *Cube*: M is max_i \|x_i\|, so P(M = r) ∝ e^{-ρr}((2r + 1)^d - (2r - 1)^d), a
sum that is long for small ρ. For such ρ add to each x_i an independent number, uniform in [-1/2, 1/2]: this is a point
Y whose largest coordinate \|Y\| differs from M by at most 1/2. Its density is that of noise ∝ e^{-ρ\|y\|}, whose norm
has the law of Gamma(d)/ρ, up to a factor of e^ρ after normalization: P(M > t + 1/2) ≤ e^ρ·P(Gamma(d) > ρt).

*Zonotope*: it proposes a radius r with odds w_r = e^{-ρr}(2r + 1)^p, a uniform spanning forest S and, on its pairs,
whole c_e, uniform in {-r, ..., r}. It accepts at least T(2r)^p of the T(2r + 1)^p pairs (S, c) at radius r, and at
least one; T, the number of forests, is at most ∏_i l_i, l_i = Σ_j l_ij, as each item but the roots has a parent. So
whatever holds of X is at most w/w' times as likely as it is for proposals, w' = Σ_r e^{-ρr} max((2r)^p, 1/∏ l_i), w =
Σ_r w_r.

In a proposal, X_i is the sum of ±c_e over the pairs of S at i and of ±r over the others. Add to each c_e an independent
number, uniform in [-1/2, 1/2], and take r + 1/2 for r: this is a point Y, uniform in (r + 1/2)K, since each tile of it
has the volume (2r + 1)^p. With l the largest l_i, \|X_i - Y_i\| ≤ l/2. Hence P(max_i \|X_i\| > t + l/2) ≤ Σ_r (w_r/w')
P(max_i \|U_i\| > t/(r + 1/2)).

For small ρ that sum is long. There let G(R) = R^p P(max_i \|U_i\| > t/R), which grows with R: so Σ_r e^{-ρr} G(r + 1/2)
≤ e^{3ρ/2} ∫ e^{-ρR} G(R) dR and Σ_r e^{-ρr} r^p ≥ e^{-ρ} ∫ e^{-ρR} R^p dR, and the bound is at most e^{5ρ/2} times the
chance that max_i \|Z_i\| > ρt.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._components import components
from privrank_jax._quickly import concretely, quickly
from privrank_jax._types import Number
from privrank_jax._validate import check_level, check_positive
from privrank_jax._workarounds.threefry import fused
from privrank_jax.privacy.geometry import Body, Cube, Zonotope, uniform

SAFETY = 4.0  # standard errors: the chance that a mean lies beyond is about 3·10^-5
_FAR, _LONG = 200, 2**20
_ABOVE = 1 + 1e-9  # more than rounding in special functions may have lost
_FEW_ITEMS = 24  # more are drawn by a program that takes longer to compile and less to run


def dimension_of(body: Body) -> int:
    """The dimension of a body that is not traced; nor may those be of which the others ask."""
    if isinstance(body, Cube):
        return int(np.sum(np.asarray(body.real)))
    lengths = np.asarray(body.lengths)
    return len(lengths) - np.unique(components(lengths)).size


def variances(body: Body) -> np.ndarray:
    """Var Z_i, of the shape of the noise; 0 where nothing is real. Exact but for incomplete zonotopes.

    >>> variances(Zonotope.of_all_pairs(2)).tolist()
    [2.0, 2.0]
    """
    if isinstance(body, Cube):
        d = dimension_of(body)
        return np.where(body.real, (d + 1) * (d + 2) / 3, 0.0)
    return np.diag(covariance(body)).copy()


def covariance(body: Zonotope) -> np.ndarray:
    """Cov Z, ``(m, m)``: exact for complete zonotopes, else by simulation, its diagonal on the safe side."""
    real = _real(body)
    found, number, p = np.zeros((real.size, real.size)), int(real.sum()), dimension_of(body)
    if not p:
        return found
    if body.complete:
        both = (p + 1) * (p + 2) * mean_square(number) / p
        inner = both * (np.eye(number) - 1 / number)
    else:
        inner = _draws(body).covariance
    found[np.ix_(real, real)] = inner
    return found


def mean_absolute(body: Body) -> np.ndarray:
    """E|Z_i|, of the shape of the noise; exact for cubes, else by simulation."""
    if isinstance(body, Cube):
        return np.where(body.real, (dimension_of(body) + 1) / 2, 0.0)
    real = _real(body)
    found = np.zeros(real.size)
    if real.any():
        found[real] = _draws(body).mean_absolute
    return found


def reach(body: Body, level: Number, first: int | None = None) -> float:
    """The least t with P(max_i |Z_i| <= t) >= level, over the ``first`` items of a zonotope; exact for cubes alone.

    >>> round(reach(Cube.of_pairs(2), 1 - math.exp(-3)), 6)
    3.0
    """
    check_level(level)
    dimension = dimension_of(body)
    if not dimension:
        return 0.0
    if isinstance(body, Cube):
        from scipy import special

        return float(special.gammaincinv(dimension, float(level))) * _ABOVE
    real = _real(body)[:first]
    if not real.any():
        return 0.0
    tail = _draws(body).tail_of_largest
    return _least(lambda t: tail(t, int(real.sum())), 1 - float(level), dimension)


def kurtosis(body: Zonotope, first: int | None = None) -> float:
    """The largest kurtosis of a Z_i that isn't 0, or of a difference of two; 3 if normal, 6 for Laplace noise."""
    p = dimension_of(body)
    of_radius = (p + 3) * (p + 4) / ((p + 1) * (p + 2))  # E r⁴/(E r²)²
    return of_radius * _draws(body).kurtosis(int(_real(body)[:first].sum()))


def lattice_reach(body: Body, level: Number, rate: Number, first: int | None = None) -> float:
    """A whole t with P(max_i |X_i| <= t) >= level for exact noise P(x) ∝ e^{-rate·M(x)} on integers, lengths whole.

    >>> lattice_reach(Cube.of_numbers(45), 0.95, 1.0), lattice_reach(Cube.of_numbers(45), 0.95, 500.0)
    (56.0, 0.0)
    """
    check_level(level)
    check_positive("rate", rate, infinite=False)
    p, rate, missing = dimension_of(body), float(rate), 1 - float(level)
    if isinstance(body, Cube):
        return _cube_reach(p, missing, rate)
    real = _real(body)[:first]
    if not p or not real.any():
        return 0.0
    draws, most = _draws(body), (2 * p + _FAR) / rate  # beyond it terms fall by e^{-rate/2} each
    met = np.asarray(body.lengths, float).sum(axis=1)
    rounding = float(met[:first].max()) / 2
    if most > _LONG:
        return reach(body, 1 - missing * math.exp(-2.5 * rate), first) / rate + rounding
    radius = np.arange(math.ceil(most))
    with np.errstate(divide="ignore"):
        kept = np.maximum(p * np.log(2.0 * radius), -np.log(met[met > 0]).sum())
    weight = p * np.log(2 * radius + 1) - rate * radius
    share = np.exp(weight - np.logaddexp.reduce(kept - rate * radius))
    beyond = np.append(np.cumsum(share[::-1])[::-1], 0.0)
    found = _least(lambda t: draws.tail_on_lattice(t, beyond, int(real.sum())), missing, p)
    return float(math.floor(found + rounding))


def _cube_reach(d: int, missing: float, rate: float) -> float:
    most = (2 * d + _FAR) / rate  # terms beyond it fall by e^{-rate/2} each
    if most > _LONG:
        from scipy import special

        far = float(special.gammainccinv(d, missing * math.exp(-rate)))
        return float(math.floor(far * _ABOVE / rate + 0.5))
    radius = np.arange(1, math.ceil(most) + 1)
    inner = np.log1p(-2 / (2 * radius + 1)) * d  # of ((2r - 1)/(2r + 1))^d
    shells = d * np.log(2 * radius + 1) + np.log(-np.expm1(inner)) - rate * radius
    weights = np.append(0.0, shells)
    chances = np.exp(weights - np.logaddexp.reduce(weights))
    beyond = np.cumsum(chances[::-1])[::-1] - chances  # P(M > r)
    return float(np.argmax(beyond <= missing * (1 - 1e-9)))


@functools.lru_cache(maxsize=256)
def mean_square(num_items: int) -> float:
    """E‖U‖² of a uniform point of the complete zonotope of m items."""
    from scipy import special

    found = [0.0, 0.0]
    logs = np.log(np.maximum(np.arange(num_items + 1), 1))
    factorial = special.gammaln(np.arange(num_items + 1) + 1)
    for m in range(2, num_items + 1):
        k = np.arange(1, m)
        share = (k - 1) * logs[k] + (m - k - 1) * logs[m - k] - factorial[k] - factorial[m - k]
        share = np.exp(share - share.max())
        inner = np.array(found)
        square = k * (m - k) * m + inner[k] + inner[m - k]
        found.append((m - 1) / (m + 1) * float(share @ square / share.sum()))
    return found[num_items]


def _real(body: Zonotope) -> np.ndarray:
    return np.any(np.asarray(body.lengths) > 0, axis=1)


def _least(tail: Callable[[float], float], chance: float, dimension: int) -> float:
    from scipy import optimize

    low, high = 0.0, float(dimension)
    while tail(high) > chance:
        low, high = high, 2 * high
    if tail(low) <= chance:
        return low
    # Within 1e-10 of the root on either side, which the last factor more than covers.
    root = optimize.brentq(lambda t: tail(t) - chance, low, high, xtol=1e-300, rtol=1e-10)
    return root * _ABOVE


@functools.partial(jax.jit, static_argnames=("number",))
def _uniform(body: Zonotope, number: int) -> Float[Array, "draws items"]:
    return jax.vmap(uniform, (0, None))(jax.random.split(fused(jax.random.key(0)), number), body)


class _Draws:
    """Means over simulated points of a zonotope all of whose items are real; tails over the first of them."""

    def __init__(self, lengths: np.ndarray, complete: bool) -> None:
        given: Any = lengths
        body = Zonotope(given, complete)
        number = min(max((1 << 20) // len(lengths), 1 << 10), 1 << 14)
        run = quickly if len(lengths) <= _FEW_ITEMS else concretely
        points = np.asarray(run(functools.partial(_uniform, number=number), body), float)
        self._shape = dimension_of(body) + 1  # of the law of the radius
        self._exchangeable, self._points = complete, points
        both = self._shape * (self._shape + 1)
        self.covariance = both * (points.T @ points / number)
        np.fill_diagonal(self.covariance, both * self._mean(points**2))
        self.mean_absolute = self._shape * self._mean(np.abs(points))
        self._largest = functools.cache(lambda first: np.abs(points[:, :first]).max(axis=1))

    def tail_of_largest(self, threshold: float, first: int) -> float:
        """P(max_i |Z_i| > threshold)."""
        from scipy import special

        with np.errstate(divide="ignore"):
            tails = special.gammaincc(self._shape, threshold / self._largest(first))
        return float(_safe_mean(tails))

    def tail_on_lattice(self, threshold: float, beyond: np.ndarray, first: int) -> float:
        """Mean over U of ``beyond[r]``, r the least radius with (r + 1/2)·max_i |U_i| > threshold."""
        radius = np.floor(threshold / self._largest(first) + 0.5).clip(0, beyond.size - 1)
        return float(_safe_mean(beyond[radius.astype(int)]))

    def kurtosis(self, first: int) -> float:
        """The largest kurtosis of U_i and U_i - U_j."""
        points = self._points[:, :first]
        square = points**2
        fourth, second = square.T @ square, points.T @ points
        third = (square * points).T @ points
        own, spread = np.diag(fourth), np.diag(second)
        four = own[:, None] + own - 4 * (third + third.T) + 6 * fourth
        two = spread[:, None] + spread - 2 * second
        np.fill_diagonal(four, own)
        np.fill_diagonal(two, spread)
        return float(np.max(four / two**2)) * len(points)

    def _mean(self, values: np.ndarray) -> np.ndarray:
        if self._exchangeable:
            values = np.broadcast_to(values.mean(axis=1, keepdims=True), values.shape)
        return _safe_mean(values)


def _safe_mean(values: np.ndarray) -> np.ndarray:
    """Means over the first axis plus the safety."""
    return np.asarray(
        values.mean(axis=0) + SAFETY * values.std(axis=0, ddof=1) / math.sqrt(len(values))
    )


def _draws(body: Zonotope) -> _Draws:
    real = _real(body)
    lengths = np.asarray(body.lengths, float)[real][:, real]
    return _simulated(lengths.tobytes(), len(lengths), body.complete)


@functools.lru_cache(maxsize=8)
def _simulated(lengths: bytes, num_items: int, complete: bool) -> _Draws:
    return _Draws(np.frombuffer(lengths).reshape(num_items, num_items), complete)
