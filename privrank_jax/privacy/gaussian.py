r"""ε, δ and σ of the Gaussian mechanism, on the host, proven by balls; never rounded down.

With r = Δ₂/σ, δ(ε) = Φ(r/2 - ε/r) - e^ε Φ(-r/2 - ε/r) (Balle and Wang 2018, Theorem 8), which falls with ε and with σ.
Let a = ε/r - r/2 and b = ε/r + r/2, so that b² - a² = 2ε. Then 2δ(ε) = e^{-a²/2} (E(a) - E(b)) with E(x) = 2e^{x²/2}
Φ(-x). For x >= 0, E(x) = U(1/2, 1/2, x²/2)/√π by Tricomi's function U, and else E(x) = 2e^{x²/2} - E(-x). For small r
both terms share nearly all of their digits: bits are doubled until a ball of δ(ε) decides.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from fractions import Fraction

from privrank_jax._balls import Ball, ball, precision, sharp, sign
from privrank_jax._search import furthest
from privrank_jax._validate import check_delta, check_epsilon, check_positive, check_whole
from privrank_jax.privacy.host import HostNumber, host_number

_CLOSE = 1e-12  # relative distance at which a search ends
_MOST_BITS = 2**14  # what is not proven by then counts as not private
_ABOVE = 1 + 2**-50  # more than a few roundings of a double


def rounded_up(value: float) -> float:
    """Above every number that a few roundings may have turned into ``value``; 0 and ∞ stay."""
    return value if value == 0 or math.isinf(value) else math.nextafter(value * _ABOVE, math.inf)


def gaussian_delta_at(shift: float, epsilon: Fraction) -> float:
    """δ at ε >= 0 of a Gaussian mechanism with Δ₂/σ = ``shift`` <= ∞, rounded up."""
    if shift == 0:
        return 0.0
    if math.isinf(shift):
        return 1.0
    delta = sharp(lambda: _delta(Fraction(shift), epsilon))
    return min(math.nextafter(float(delta.upper()), math.inf), 1.0)


def gaussian_epsilon_at(shift: float, delta: Fraction) -> float:
    """Least ε at δ >= 0 of a Gaussian mechanism with Δ₂/σ = ``shift`` < ∞, rounded up; ∞ at δ = 0."""
    if shift == 0:
        return 0.0
    if delta == 0:
        return math.inf

    def enough(epsilon: float) -> bool:
        return keeps(Fraction(shift), Fraction(epsilon), delta)

    if enough(0.0):
        return 0.0
    # P[loss > ε] <= exp(-(ε/r - r/2)²/2), so this ε suffices.
    with precision(64):
        reach = float((-2 * ball(delta).log()).sqrt())
    return _least(enough, rounded_up(shift * (shift / 2 + reach)))


def gaussian_ratio_at(epsilon: Fraction, delta: Fraction) -> float:
    """Least σ/Δ₂ of a Gaussian mechanism that is (ε, δ)-DP, ε > 0 and 0 < δ < 1, rounded up."""
    # c/s + 1/(2s²) <= ε for c = √(2 log 1/δ): an upper end that suffices.
    at, reach = float(epsilon), math.sqrt(-2 * math.log(delta))
    high = rounded_up((reach + math.sqrt(reach**2 + 2 * at)) / (2 * at)) if at else math.inf
    if math.isinf(high):
        raise ValueError(
            "no Gaussian noise can be computed for this epsilon and delta: choose values closer to usual ones, such as "
            "1 and 1e-6."
        )
    return _least(lambda ratio: keeps(1 / Fraction(ratio), epsilon, delta), high)


@functools.lru_cache(maxsize=64)
def gaussian_budget(epsilon: float, delta: float) -> Fraction:
    """The largest μ, less at most 10^-11 of it, for which Δ₂/σ <= μ is (ε, δ)-DP; 0 < ε < ∞, 0 < δ < 1."""
    return 1 / Fraction(gaussian_ratio_at(Fraction(epsilon), Fraction(delta)))


def concentrated_budget(budget: Fraction) -> float:
    """ρ = μ²/2 of Gaussian noise of standard deviation 1 at ℓ₂ sensitivity μ, never rounded down."""
    return math.nextafter(float(budget**2 / 2), math.inf)


def calibrate_gaussian(
    epsilon: HostNumber, delta: HostNumber, sensitivity: HostNumber = 1.0, *, releases: int = 1
) -> float:
    """σ of each of several Gaussian releases that are together (ε, δ)-DP, on the host, never rounded down.

    k mechanisms with Δ₂/σ each are one with √k Δ₂/σ. In ``jit``: :func:`~privrank_jax.privacy.gaussian_scale`.

    Args:
        epsilon: ε > 0 of all releases together; ∞ gives 0.
        delta: δ in (0, 1) of all releases together.
        sensitivity: Δ₂ > 0 of each release.
        releases: k >= 1, fixed ahead of time.

    Returns:
        σ, a float.

    Raises:
        ValueError: arguments out of range.

    Source: Balle and Wang (2018).

    >>> round(calibrate_gaussian(1.0, 1e-5), 4), round(calibrate_gaussian(1.0, 1e-5, releases=100), 3)
    (3.7306, 37.306)
    """
    total, failure = host_number("epsilon", epsilon), host_number("delta", delta)
    check_epsilon(float(total))
    check_delta(float(failure), positive=True)
    check_positive("sensitivity", float(host_number("sensitivity", sensitivity)), infinite=False)
    check_whole("releases", releases)
    if math.isinf(total):
        return 0.0
    ratio = gaussian_ratio_at(Fraction(total), Fraction(failure))
    return rounded_up(float(sensitivity) * math.sqrt(releases) * ratio)


def keeps(shift: Fraction, epsilon: Fraction, delta: Fraction) -> bool:
    """Whether a Gaussian mechanism with Δ₂/σ = ``shift`` > 0 is proven (ε, δ)-DP."""
    return sign(lambda _: _delta(shift, epsilon) - ball(delta), _MOST_BITS) < 0


def _delta(shift: Fraction, epsilon: Fraction) -> Ball:
    """δ(ε) at r = ``shift``."""
    near, far = epsilon / shift - shift / 2, epsilon / shift + shift / 2
    common = (-(ball(near) ** 2) / 2).exp() / 2
    if near < 0:
        return 1 - common * (_scaled(-near) + _scaled(far))
    return common * (_scaled(near) - _scaled(far))


def _scaled(x: Fraction) -> Ball:
    """2e^{x²/2} Φ(-x), x >= 0."""
    half = ball(Fraction(1, 2))
    return (half * ball(x) ** 2).hypgeom_u(half, half) / half.const_sqrt_pi()


def _least(enough: Callable[[float], bool], high: float) -> float:
    """The least number that passes a check, rounded up; ``high`` passes, or a number little larger."""
    while not enough(high):
        high *= 2
    low = high / 2
    while enough(low):
        low, high = low / 2, low
    return rounded_up(furthest(enough, high, low, relative=_CLOSE))
