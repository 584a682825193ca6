r"""The largest sensitivity of a Gaussian query at σ = 1 that a budget allows, proven by enclosures.

Balle and Wang (2018, Theorem 8): Gaussian noise of standard deviation 1 on a query of ℓ₂ sensitivity μ is (ε, δ)-DP if
and only if

    δ(μ) = Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ) ≤ δ,

and δ(μ) grows with μ. Here Φ is enclosed: for x >= 0, with φ the normal density,

    Φ(x) = 1/2 + φ(x)·(x + x³/3 + x⁵/(3·5) + x⁷/(3·5·7) + ...),        Φ(-x) = 1 - Φ(x).

All terms are positive, each is x²/(2k+1) times the one before, and once that factor is below 1/2 the rest is at most
the last term. For x > 4, Φ(-x) = φ(x)/v_0 with v_k = x + (k+1)/v_{k+1} (Laplace's continued fraction); as all v_k
exceed x, v_k lies between x and x + (k+1)/x, which encloses v_0 by way of the recursion. All steps are rounded down and
up, and digits are doubled until the bounds decide.
"""

from __future__ import annotations

import functools
import math
from decimal import ROUND_CEILING, Context, Decimal, Overflow
from fractions import Fraction

from privrank_jax._search import furthest
from privrank_jax.release.intervals import Bounds, down, exp, quotient, up

_DIGITS = 60
_FAR = 4  # x beyond which the continued fraction is used
_MARGIN = Fraction(1, 10**9)  # relative, between the double that solves for μ and what is proven
_LEAST = Fraction(1, 10**20)  # of μ


@functools.lru_cache(maxsize=64)
def gaussian_budget(epsilon: float, delta: float) -> Fraction:
    """μ: Gaussian noise of standard deviation σ on a query of ℓ₂ sensitivity Δ is (ε, δ)-DP if Δ/σ ≤ μ.

    Args:
        epsilon: ε > 0, finite.
        delta: δ in (0, 1).

    Returns:
        The largest μ, less 10^-9 to 10^-8 of it.

    Raises:
        ValueError: an ε and a δ so extreme that no double solves for μ.

    >>> mu = gaussian_budget(1.0, 1e-5)
    >>> round(float(mu), 4), keeps(mu, 1.0, 1e-5), keeps(mu * Fraction(1 + 1e-7), 1.0, 1e-5)
    (0.2681, True, False)
    """
    from scipy import optimize

    def excess(log_mu: float) -> float:
        return _log_delta(math.exp(log_mu), epsilon) - math.log(delta)

    try:
        found = optimize.root_scalar(excess, bracket=(-40.0, 40.0), xtol=1e-13).root
        return _proven(Fraction(math.exp(found)), epsilon, delta)  # type: ignore[arg-type]
    except (ValueError, Overflow) as error:
        raise ValueError(
            "no Gaussian noise can be computed for this epsilon and delta: choose values closer to usual ones, "
            "such as 1 and 1e-6."
        ) from error


def concentrated_budget(budget: Fraction) -> float:
    """ρ = μ²/2 of Gaussian noise of standard deviation 1 at ℓ₂ sensitivity μ, never rounded down.

    >>> concentrated_budget(Fraction(1, 2)) >= 1 / 8
    True
    """
    return math.nextafter(float(budget**2 / 2), math.inf)


def _proven(guess: Fraction, epsilon: float, delta: float) -> Fraction:
    """The largest μ, less 10^-9 to 10^-8 of it; the nearer ``guess`` is, the fewer steps it takes."""
    low, high = guess * (1 - _MARGIN), guess * (1 + 8 * _MARGIN)
    apart = 8 * _MARGIN
    while not keeps(low, epsilon, delta):
        low, high, apart = low * (1 - apart), low, min(2 * apart, Fraction(1, 2))
        if low < _LEAST:
            raise ValueError
    while keeps(high, epsilon, delta):
        low, high, apart = high, high * (1 + apart), 2 * apart
    return furthest(lambda mu: keeps(mu, epsilon, delta), low, high, relative=9 * _MARGIN)


def keeps(mu: Fraction, epsilon: float, delta: float) -> bool:
    """Whether Gaussian noise of standard deviation 1 is proven (ε, δ)-DP at sensitivity μ.

    Args:
        mu: μ > 0.
        epsilon: ε > 0, finite.
        delta: δ in (0, 1).
    """
    wanted, digits = Decimal(delta), _DIGITS
    for _ in range(5):
        low, high = _delta(mu, Fraction(epsilon), digits)
        if high <= wanted:
            return True
        if low > wanted:
            return False
        digits *= 2
    return False


def _log_delta(mu: float, epsilon: float) -> float:
    """log δ(μ) in doubles."""
    from scipy import stats

    upper = float(stats.norm.logcdf(mu / 2 - epsilon / mu))
    lower = float(stats.norm.logcdf(-mu / 2 - epsilon / mu)) + epsilon
    return upper + math.log(-math.expm1(min(lower - upper, -1e-300)))


def _delta(mu: Fraction, epsilon: Fraction, digits: int) -> Bounds:
    first, second = normal(mu / 2 - epsilon / mu, digits), normal(-mu / 2 - epsilon / mu, digits)
    low, high = (exp(quotient(epsilon, context), context) for context in (down(digits), up(digits)))
    return (
        down(digits).subtract(first[0], up(digits).multiply(high, second[1])),
        up(digits).subtract(first[1], down(digits).multiply(low, second[0])),
    )


def normal(x: Fraction, digits: int) -> Bounds:
    """Bounds of Φ(x).

    Args:
        x: the point.
        digits: of the arithmetic.

    >>> low, high = normal(Fraction(-1), 30)
    >>> round(low, 12), high - low < Decimal(10) ** -25
    (Decimal('0.158655253931'), True)
    """
    one, half = Decimal(1), Decimal("0.5")
    if abs(x) > _FAR:
        low, high = _tail(abs(x), digits)
        return (
            (low, high)
            if x < 0
            else (down(digits).subtract(one, high), up(digits).subtract(one, low))
        )
    more = digits + 10  # 1 - Φ loses fewer
    low, high = (_above_half(abs(x), context) for context in (down(more), up(more)))
    if x < 0:
        return down(more).subtract(half, high), up(more).subtract(half, low)
    return down(more).add(half, low), up(more).add(half, high)


def _tail(x: Fraction, digits: int) -> Bounds:
    """Φ(-x) for x > 0, far from 0, by the continued fraction."""
    lower, upper = down(digits), up(digits)
    least, most = quotient(x, lower), quotient(x, upper)
    terms = 20 + math.ceil(2 * (digits / x) ** 2)
    low, high = least, upper.add(most, upper.divide(Decimal(terms + 1), least))
    for k in range(terms, 0, -1):
        low, high = (
            lower.add(least, lower.divide(Decimal(k), high)),
            upper.add(most, upper.divide(Decimal(k), low)),
        )
    return (
        lower.divide(_density(x, lower), high),
        upper.divide(_density(x, upper), low),
    )


def _above_half(x: Fraction, context: Context) -> Decimal:
    """Φ(x) - 1/2 for x >= 0, bounded on the side to which ``context`` rounds."""
    square, term = x * x, quotient(x, context)
    total, k = term, 1
    smallest = Decimal(10) ** -(context.prec + 5)
    while term and (term > smallest * total or 2 * square > 2 * k + 1):
        term = context.multiply(term, quotient(square / (2 * k + 1), context))
        total = context.add(total, term)
        k += 1
    if _rounds_up(context):
        total = context.add(total, term)
    return context.multiply(_density(x, context), total)


def _density(x: Fraction, context: Context) -> Decimal:
    """φ(x), bounded on the side to which ``context`` rounds."""
    opposite = down(context.prec) if _rounds_up(context) else up(context.prec)
    root = opposite.sqrt(opposite.multiply(Decimal(2), _pi(opposite)))  # rounded to nearest
    root = opposite.next_minus(root) if _rounds_up(context) else opposite.next_plus(root)
    return context.divide(exp(quotient(-x * x / 2, context), context), root)


def _rounds_up(context: Context) -> bool:
    return context.rounding == ROUND_CEILING


def _pi(context: Context) -> Decimal:
    """π, bounded on the side to which ``context`` rounds."""
    near, slack, unit = _pi_in_units(context.prec)
    side = near + slack if _rounds_up(context) else near - slack
    return context.divide(Decimal(side), Decimal(unit))


@functools.lru_cache(maxsize=32)
def _pi_in_units(digits: int) -> tuple[int, int, int]:
    """π = 16 arctan(1/5) - 4 arctan(1/239) (Machin) in units of 10^-(digits + 10), its error, and 10^(digits + 10)."""
    unit = 10 ** (digits + 10)

    def arctan(inverse: int) -> int:
        """arctan(1/inverse), within 2 for each of its terms, which are fewer than 1.5·(digits + 10)."""
        power, total, k = unit // inverse, 0, 0
        while power:
            total += (-1) ** k * (power // (2 * k + 1))
            power //= inverse * inverse
            k += 1
        return total

    return 16 * arctan(5) - 4 * arctan(239), 60 * (digits + 20), unit
