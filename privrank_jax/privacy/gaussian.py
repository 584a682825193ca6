r"""ε, δ and σ of the Gaussian mechanism, on the host, in arithmetic of sufficient precision; never rounded down.

With r = Δ₂/σ, δ(ε) = Φ(r/2 - ε/r) - e^ε Φ(-r/2 - ε/r) (Balle and Wang 2018, Theorem 8). For small r the two terms share
nearly all of their digits, and root finders in double precision then stop at an ε whose δ is above the one asked for.

δ(ε) = ∫_ε^∞ e^t Φ(-r/2 - t/r) dt is the tail of a log-concave function, so log δ(ε) is concave (Prékopa): the tangent
lies above it, and every step of Newton's method lands where δ(ε) is at most what is asked for, closer and closer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from privrank_jax._search import furthest
from privrank_jax._validate import check_delta, check_epsilon, check_positive
from privrank_jax.privacy.host import HostNumber, host_number, load_mpmath

_Context: TypeAlias = Any  # arithmetic of mpmath, which has no types
_Real: TypeAlias = Any  # and its numbers

_DIGITS = 40  # of a result, beside those that cancel
_CLOSE = 1e-12  # relative distance at which a search ends
_ABOVE = 1 + 2**-50  # more than a few roundings of a double


def rounded_up(value: float) -> float:
    """An upper bound of every number that a few roundings may have turned into ``value``; 0 and ∞ stay."""
    return value if value == 0 or math.isinf(value) else math.nextafter(value * _ABOVE, math.inf)


def gaussian_delta_at(shift: float, epsilon: Fraction) -> float:
    """δ at ε >= 0 of a Gaussian mechanism with Δ₂/σ = ``shift`` <= ∞, rounded up.

    >>> round(gaussian_delta_at(1.0, Fraction(1)), 15)
    0.126936737506644
    """
    if shift == 0:
        return 0.0
    if math.isinf(shift):
        return 1.0
    context = _context(shift, float(epsilon))
    delta, _ = _delta(context, context.mpf(shift), _number(context, epsilon))
    return min(math.nextafter(float(delta), math.inf), 1.0)


def gaussian_epsilon_at(shift: float, delta: Fraction) -> float:
    """Least ε at δ >= 0 of a Gaussian mechanism with Δ₂/σ = ``shift`` < ∞, rounded up; ∞ at δ = 0.

    >>> round(gaussian_epsilon_at(1.0, Fraction(1, 8)), 15)
    1.010718722737206
    """
    if shift == 0:
        return 0.0
    if delta == 0:
        return math.inf
    context = _context(shift, shift**2)
    ratio, wanted = context.mpf(shift), _number(context, delta)
    if _delta(context, ratio, context.zero)[0] <= wanted:
        return 0.0
    # P[loss > ε] <= exp(-(ε/r - r/2)²/2), so this ε suffices.
    epsilon = ratio**2 / 2 + ratio * context.sqrt(-2 * context.log(wanted))
    while True:
        found, slope = _delta(context, ratio, epsilon)
        step = found / slope * context.log(wanted / found)
        epsilon -= step
        if step <= _CLOSE * epsilon:
            break
    return _until(lambda at: _delta(context, ratio, context.mpf(at))[0] <= wanted, float(epsilon))


def gaussian_ratio_at(epsilon: Fraction, delta: Fraction) -> float:
    """Least σ/Δ₂ of a Gaussian mechanism that is (ε, δ)-DP, ε > 0 and 0 < δ < 1, rounded up.

    >>> round(gaussian_ratio_at(Fraction(1), Fraction(1, 10**5)), 9)
    3.730631635
    """
    # c/s + 1/(2s²) <= ε for c = √(2 log 1/δ): an upper end that suffices.
    at, reach = float(epsilon), math.sqrt(-2 * math.log(delta))
    high = rounded_up((reach + math.sqrt(reach**2 + 2 * at)) / (2 * at))
    context = _context(1 / high, at)
    loss, wanted = _number(context, epsilon), _number(context, delta)

    def enough(ratio: float) -> bool:
        return _delta(context, 1 / context.mpf(ratio), loss)[0] <= wanted

    low = high / 2
    while enough(low):
        low, high = low / 2, low
    return _until(enough, furthest(enough, high, low, relative=_CLOSE))


def calibrate_gaussian(
    epsilon: HostNumber, delta: HostNumber, sensitivity: HostNumber = 1.0, *, releases: int = 1
) -> float:
    """σ of each of several Gaussian releases that are together (ε, δ)-DP, on the host, never rounded down.

    k mechanisms with Δ₂/σ each are one with √k Δ₂/σ, so σ grows as √k, where it would grow as k by the plain sum.
    For one release, :func:`~privrank_jax.privacy.gaussian_scale` computes the same inside ``jit`` and ``vmap``.

    Args:
        epsilon: ε > 0 of all releases together; ∞ gives 0.
        delta: δ in (0, 1) of all releases together.
        sensitivity: Δ₂ > 0 of each release.
        releases: k >= 1, fixed ahead of time.

    Returns:
        σ, a float.

    Raises:
        ImportError: without dp-accounting.
        ValueError: arguments out of range.

    Source: Balle and Wang (2018).

    >>> round(calibrate_gaussian(1.0, 1e-5), 4), round(calibrate_gaussian(1.0, 1e-5, releases=100), 3)
    (3.7306, 37.306)
    """
    total = host_number("epsilon", epsilon)
    check_epsilon(float(total))
    check_delta(float(host_number("delta", delta)), positive=True)
    check_positive("sensitivity", float(host_number("sensitivity", sensitivity)), infinite=False)
    if isinstance(releases, bool) or not isinstance(releases, (int, np.integer)) or releases < 1:
        raise ValueError(f"releases must be a whole number, at least 1, got {releases!r}.")
    if math.isinf(total):
        return 0.0
    ratio = gaussian_ratio_at(Fraction(total), Fraction(host_number("delta", delta)))
    return rounded_up(float(sensitivity) * math.sqrt(releases) * ratio)


def _delta(context: _Context, ratio: _Real, epsilon: _Real) -> tuple[_Real, _Real]:
    """δ(ε), slightly above its value to this many digits, and its negative slope there."""
    root = context.sqrt(2)
    upper = context.erfc((epsilon / ratio - ratio / 2) / root) / 2
    lower = context.exp(epsilon) * context.erfc((epsilon / ratio + ratio / 2) / root) / 2
    return (upper - lower) * (1 + context.mpf(10) ** -25), lower


def _context(shift: float, epsilon: float) -> _Context:
    """An arithmetic context with enough digits left after terms with this r and ε cancel."""
    context = load_mpmath().mp.clone()
    lost = math.log10(1 + epsilon / shift + shift) + max(0.0, -math.log10(shift))
    context.dps = _DIGITS + math.ceil(2 * lost)
    return context


def _number(context: _Context, value: Fraction) -> _Real:
    return context.mpf(value.numerator) / value.denominator


def _until(enough: Callable[[float], bool], value: float) -> float:
    """The value, or one slightly above it, that passes the check, rounded up once more."""
    step = 2.0**-52
    while not enough(value):
        value = math.nextafter(value * (1 + step), math.inf)
        step *= 2
    return rounded_up(value)
