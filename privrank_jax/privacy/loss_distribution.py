r"""Privacy loss distributions of several releases, by dp-accounting (extra ``release``), on the host.

**What dominates a release.** Whatever is (ε, δ)-DP for some neighboring relation is an image of this pair of laws
(Kairouz, Oh, Viswanath 2015; Murtagh, Vadhan 2016): with probability δ the two are distinguished for certain; otherwise
one bit distinguishes them, with odds e^±ε. So Σ of independent losses ±ε_i and a failure with probability 1 - Π(1-δ_i)
dominate the releases together, and no smaller bound holds for all (ε_i, δ_i)-DP releases. A Gaussian mechanism with
scale σ and ℓ₂ sensitivity Δ is dominated by N(0, σ²) against N(Δ, σ²), and several of them by one with (Δ/σ)² =
Σ(Δ_i/σ_i)².

**Grid.** The library represents losses as multiples of one step. If all ε_i are multiples of a step that is not too
fine, as is usual for decimals, the bound is optimal. Otherwise, and for Gaussians, a dominating pair of laws on the
grid replaces them ("connect the dots", Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). Products of transforms
are rounded in float64, for which δ is lowered by 10^-12 plus 10^-15 per release, at least ten times the largest loss
observed, so the result is an upper bound.

**Beyond the grid**, for δ near that allowance or very many releases, two more bounds are computed, and the least of the
three is returned: the sum Σε_i, with δ - Σδ_i left to the Gaussians, and zCDP.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from privrank_jax.privacy.gaussian import gaussian_delta_at, gaussian_epsilon_at, rounded_up
from privrank_jax.privacy.host import load_dp_accounting
from privrank_jax.privacy.zcdp import pure_zcdp, zcdp_delta, zcdp_epsilon

_POINTS = (2**17, 2**20)  # steps in the sum of all ε, for few and for many releases
_MOST, _MOST_KINDS = 2**18, 2**12  # releases, and different ε, on a grid
_NEVER_BELOW = 1e-9  # relative allowance for rounding in what root finders return


@dataclasses.dataclass(frozen=True)
class Budgets:
    """The budgets that are composed.

    Attributes:
        pure: (ε, number of releases), each ε > 0 once, ascending.
        failures: (δ, number of releases), each δ > 0 once, ascending.
        shift: Δ/σ of the one mechanism that all Gaussian mechanisms amount to, 0 for none; never rounded down.
    """

    pure: tuple[tuple[Fraction, int], ...] = ()
    failures: tuple[tuple[Fraction, int], ...] = ()
    shift: float = 0.0

    @classmethod
    def gather(
        cls,
        pairs: Iterable[tuple[Fraction, Fraction]] = (),
        shifts: Iterable[float] = (),
    ) -> Budgets:
        """The budgets of releases with finite (ε, δ) and of Gaussian mechanisms with these Δ/σ."""
        pairs = list(pairs)
        return cls(
            tuple(sorted(Counter(epsilon for epsilon, _ in pairs if epsilon).items())),
            tuple(sorted(Counter(delta for _, delta in pairs if delta).items())),
            rounded_up(math.hypot(*shifts)),
        )

    @property
    def count(self) -> int:
        """Number of releases with ε > 0."""
        return sum(count for _, count in self.pure)

    @property
    def slack(self) -> float:
        """Allowance in δ for rounding in the transforms."""
        return 1e-12 + 1e-15 * self.count

    @property
    def epsilon_sum(self) -> Fraction:
        """Σε_i, exact."""
        return sum((epsilon * count for epsilon, count in self.pure), Fraction(0))

    @property
    def delta_sum(self) -> Fraction:
        """Σδ_i, exact."""
        return sum((delta * count for delta, count in self.failures), Fraction(0))

    @property
    def failure(self) -> float:
        """1 - Π(1-δ_i), never rounded down."""
        found = -math.expm1(
            math.fsum(count * math.log1p(-float(delta)) for delta, count in self.failures)
        )
        return min(found * (1 + 2**-49), 1.0)

    @property
    def rho(self) -> float:
        """ρ of all releases together without their failures; never rounded down."""
        gaussian = max(self.shift**2 / 2, math.ulp(0.0)) if self.shift else 0.0
        pure = math.fsum(count * pure_zcdp(epsilon) for epsilon, count in self.pure)
        return rounded_up(pure + gaussian)


def epsilon_at(budgets: Budgets, delta: Fraction) -> float:
    """Least ε that is proven at δ of all releases together; ∞ where none is."""
    bounds = [math.inf]
    spare = delta - budgets.delta_sum
    if spare >= 0:
        bounds.append(_sum(budgets.epsilon_sum, gaussian_epsilon_at(budgets.shift, spare)))
    failure = budgets.failure
    rest = (float(delta) - failure) / (1 - failure) if failure < 1 else 0.0
    if rest > 0 and (budgets.pure or budgets.shift):
        bounds.append(zcdp_epsilon(budgets.rho, rest * (1 - _NEVER_BELOW)))
        found = _distribution(budgets) if rest > budgets.slack else None
        if found is not None:
            bounds.append(found.get_epsilon_for_delta(rest - budgets.slack) * (1 + _NEVER_BELOW))
    return float(min(bounds))


def delta_at(budgets: Budgets, epsilon: Fraction) -> float:
    """Least δ that is proven at ε of all releases together."""
    bounds = [1.0]
    spare = epsilon - budgets.epsilon_sum
    if spare >= 0:
        bounds.append(_sum(budgets.delta_sum, gaussian_delta_at(budgets.shift, spare)))
    if spare < 0 or budgets.shift:
        failure = budgets.failure
        rests = [zcdp_delta(budgets.rho, epsilon)]
        found = _distribution(budgets)
        if found is not None:
            rests.append(found.get_delta_for_epsilon(float(epsilon)) + budgets.slack)
        bounds.append(rounded_up(failure + (1 - failure) * min(rests) * (1 + _NEVER_BELOW)))
    return float(min(bounds))


def _sum(exact: Fraction, more: float) -> float:
    """A decimal unchanged, or the sum of both, rounded up."""
    return rounded_up(float(exact) + more) if exact and more else float(exact) + more


def _distribution(budgets: Budgets) -> Any:
    """The library's distribution without failures; ``None`` if too large, or for a single Gaussian (closed form)."""
    if not budgets.pure or len(budgets.pure) > _MOST_KINDS or budgets.count > _MOST:
        return None
    step = _step(budgets)
    library = load_dp_accounting().pld.privacy_loss_distribution
    parts = [_response(epsilon, step).self_compose(count) for epsilon, count in budgets.pure]
    if budgets.shift:
        gaussian = library.from_gaussian_mechanism(
            1 / budgets.shift, value_discretization_interval=float(step)
        )
        parts.append(gaussian)
    while len(parts) > 1:  # in pairs of like length: the long ones are composed last
        paired = [first.compose(second) for first, second in zip(parts[::2], parts[1::2])]
        parts = paired + parts[2 * len(paired) :]
    return parts[0]


def _response(epsilon: Fraction, step: Fraction) -> Any:
    """Losses ±ε on the grid: unchanged if ε is a multiple, else each split between the multiples around it."""
    pld = load_dp_accounting().pld
    above, below = math.ceil(epsilon / step), math.floor(epsilon / step)
    grid = sorted({-above, -below, below, above})
    loss, odds = float(epsilon), math.exp(-float(epsilon))
    likely = ((loss, 1 / (1 + odds)), (-loss, odds / (1 + odds)))
    deltas = [
        sum(-math.expm1(at - one) * share for one, share in likely if one > at)
        for at in (float(multiple * step) for multiple in grid)
    ]
    with np.errstate(over="ignore"):  # of e^2ε
        pmf = pld.pld_pmf.create_pmf_pessimistic_connect_dots(float(step), grid, deltas)
    return pld.privacy_loss_distribution.PrivacyLossDistribution(pmf)


def _step(budgets: Budgets) -> Fraction:
    """A step of which all ε are multiples, unless it is too fine for the number of points."""
    epsilons = [epsilon for epsilon, _ in budgets.pure]
    common = _common_divisor(epsilons)
    points = min(max(_POINTS[0], 16 * budgets.count), _POINTS[1])
    least = (float(budgets.epsilon_sum) + 24 * budgets.shift) / points
    if budgets.shift:  # losses of about Δ/σ, in a few hundred steps
        least = max(least, min(budgets.shift, 8 * float(epsilons[0])) / 400)
    elif common >= least:
        return common
    if common >= least:
        return common / math.ceil(common / Fraction(least))
    return Fraction(least)


def _common_divisor(numbers: list[Fraction]) -> Fraction:
    """The greatest number of which all are multiples.

    >>> _common_divisor([Fraction(1, 10), Fraction(1, 4)])
    Fraction(1, 20)
    """
    denominator = math.lcm(*(number.denominator for number in numbers))
    return Fraction(math.gcd(*(int(number * denominator) for number in numbers)), denominator)
