r"""Privacy loss distributions of several releases, by dp-accounting (extra ``release``), on the host.

**What dominates a release.** Whatever is (ε, δ)-DP for some neighboring relation is an image of this pair of laws
(Kairouz, Oh, Viswanath 2015; Murtagh, Vadhan 2016): with probability δ the two are distinguished for certain; otherwise
one bit distinguishes them, with odds e^±ε. So Σ of independent losses ±ε_i and a failure with probability 1 - Π(1-δ_i)
dominate the releases together, and no smaller bound holds for all (ε_i, δ_i)-DP releases. A Gaussian mechanism with
scale σ and ℓ₂ sensitivity Δ is dominated by N(0, σ²) against N(Δ, σ²), and several of them by one with (Δ/σ)² =
Σ(Δ_i/σ_i)².

**Laplace noise** on integers, P(x) ∝ q^\|x\| with q = e^{-1/s}, composes to less where a change is spread over several
numbers. A pair of laws with loss L has φ(t) = E min(1, e^{t-L}) = 1 - δ(t). It dominates another pair if its φ is
nowhere larger, and then so do products of both with a third pair (Zhu, Dong and Wang 2022, Theorem 10). Losses are
counted in units of 1/s here, so that e^t stands for q^{-t}.

*One number that changes by a.* The loss is a with probability 1/(1+q), -a with q^a/(1+q), and a - 2j with
q^j (1-q)/(1+q) for j between 0 and a. So φ_a = 1 from a on, e^t up to -a, and q^j at the knots a - 2j, between which it
is linear in e^t. Hence randomized response is the case a = 1, and φ_a falls in a. A larger s gives a dominated pair, as
its noise is that at s plus independent noise. To leave out knots, but not the ends, gives a dominating pair. Noise on
real numbers has φ = min(1, e^t, e^{(t-a)/2}), which is concave in e^t and passes through the same knots: it is
dominated by that on integers.

*Two numbers that change by a and b, a <= b.* φ(-t) = e^{-t} φ(t) for every such pair, so let t >= 0. A sum over the
losses of the first number gives, at the knots t = a + b - 2j,

    φ_ab(t) = q^j (1 + min(a, j) (1-q)/(1+q)).

Pairs with the same a + b have the same knots, so the more evenly a sum is spread, the less is lost.

*Theorem.* Let c and d have whole entries, and for each k let the k largest \|d_i\| add up to at most the k largest c_i.
Then the pair of a change by c dominates that of a change by d. *Proof.* Lower the smallest positive entry of c by 1
until the sums of c and \|d\| are equal, which keeps the condition. Then move 1 from a larger entry to one that stays no
larger than it, until c is \|d\| (Muirhead's lemma; Marshall, Olkin and Arnold 2011, 5.D.1). By the above neither kind
of step lowers φ.

So Laplace noise composes as one independent release for each entry of c, for any c that holds for all neighbors. If no
number changes by more than b and all together by Δ, c = (b, ..., b, rest) does; if only Δ is known, c = (Δ). The c of a
release is proven where its noise is, and its guarantee states it (``Guarantee.changes``).

**K-norm noise** counts as any ε-DP release does. In a cube its worst change would gain 1.6 % of ε for 100 releases at
0.1, 2.7 % for 20 at 0.5, nothing for 10 at 1.

**Grid.** The library represents losses as multiples of one step. If all ε_i are multiples of a step that is not too
fine, as is usual for decimals, the bound is optimal. Otherwise, and for Gaussians, a dominating pair of laws on the
grid replaces them ("connect the dots", Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). Products of transforms
are rounded in float64, for which δ is lowered by 10^-12 plus 10^-15 per release, at least ten times the largest loss
observed, so the result is an upper bound.

**Beyond the grid**, for δ near that allowance or very many releases, two more bounds are computed, and the least of the
three is returned: the sum Σε_i, with δ - Σδ_i left to the Gaussians, and zCDP. Of releases whose ρ is known beside ε
and δ, such as exact ones with Gaussian noise, all count by ρ, or none, whichever is less; by ρ zCDP is all there is.
"""

from __future__ import annotations

import collections
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
_MOST_LOSSES = 2**10  # of one noisy number
_NEVER_BELOW = 1e-9  # relative allowance for rounding in what root finders return


@dataclasses.dataclass(frozen=True)
class Budgets:
    """The budgets that are composed.

    Attributes:
        pure: ((ε, a), number of releases), each once: Laplace noise of scale a/ε > 0 on a number that changes by a
            whole a; a = 1 is randomized response, and stands for any ε-DP release.
        failures: (δ, number of releases), each δ > 0 once, ascending.
        shift: Δ/σ of the one mechanism that all Gaussian mechanisms amount to, 0 for none; never rounded down.
        zcdp: Σρ of further releases of which no more is known.
    """

    pure: tuple[tuple[tuple[Fraction, int], int], ...] = ()
    failures: tuple[tuple[Fraction, int], ...] = ()
    shift: float = 0.0
    zcdp: float = 0.0

    @classmethod
    def gather(
        cls,
        pairs: Iterable[tuple[Fraction, Fraction]] = (),
        shifts: Iterable[float] = (),
        noisy: Iterable[tuple[Fraction, tuple[int, ...]]] = (),
        rhos: Iterable[float] = (),
    ) -> Budgets:
        """The budgets of releases.

        Args:
            pairs: finite (ε, δ) of releases of which no more is known.
            shifts: Δ/σ of Gaussian mechanisms.
            noisy: ε of Laplace noise, and the c that dominate what neighbors change.
            rhos: ρ of releases of which no more is known.
        """
        pairs = list(pairs)
        parts: Counter[tuple[Fraction, int]] = Counter()
        parts.update((epsilon, 1) for epsilon, _ in pairs if epsilon)
        for (epsilon, changes), releases in Counter(noisy).items():
            for change, numbers in Counter(changes).items() if epsilon else ():
                parts[epsilon * change / sum(changes), change] += numbers * releases
        return cls(
            tuple(sorted(parts.items())),
            tuple(sorted(Counter(delta for _, delta in pairs if delta).items())),
            rounded_up(math.hypot(*shifts)),
            rounded_up(math.fsum(rhos)),
        )

    @property
    def count(self) -> int:
        """Number of releases with ε > 0, and of noisy numbers."""
        return sum(count for _, count in self.pure)

    @property
    def slack(self) -> float:
        """Allowance in δ for rounding in the transforms."""
        return 1e-12 + 1e-15 * self.count

    @property
    def epsilon_sum(self) -> Fraction:
        """Σε_i, exact."""
        return sum((epsilon * count for (epsilon, _), count in self.pure), Fraction(0))

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
        pure = math.fsum(count * pure_zcdp(epsilon) for (epsilon, _), count in self.pure)
        return rounded_up(pure + gaussian + self.zcdp)


def epsilon_at(budgets: Budgets, delta: Fraction) -> float:
    """Least ε that is proven at δ of all releases together; ∞ where none is."""
    bounds = [math.inf]
    spare = delta - budgets.delta_sum
    if spare >= 0 and not budgets.zcdp:
        bounds.append(_sum(budgets.epsilon_sum, gaussian_epsilon_at(budgets.shift, spare)))
    failure = budgets.failure
    rest = (float(delta) - failure) / (1 - failure) if failure < 1 else 0.0
    if rest > 0 and budgets.rho:
        bounds.append(zcdp_epsilon(budgets.rho, rest * (1 - _NEVER_BELOW)))
        found = _distribution(budgets) if rest > budgets.slack else None
        if found is not None:
            bounds.append(found.get_epsilon_for_delta(rest - budgets.slack) * (1 + _NEVER_BELOW))
    return float(min(bounds))


def delta_at(budgets: Budgets, epsilon: Fraction) -> float:
    """Least δ that is proven at ε of all releases together."""
    bounds = [1.0]
    spare = epsilon - budgets.epsilon_sum
    if spare >= 0 and not budgets.zcdp:
        bounds.append(_sum(budgets.delta_sum, gaussian_delta_at(budgets.shift, spare)))
    if spare < 0 or budgets.shift or budgets.zcdp:
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
    """The library's distribution without failures; ``None`` if too large, not known, or a Gaussian's (closed form)."""
    if budgets.zcdp or not budgets.pure or len(budgets.pure) > _MOST_KINDS or budgets.count > _MOST:
        return None
    step = _step(budgets)
    library = load_dp_accounting().pld.privacy_loss_distribution
    parts = [_losses(*part, step).self_compose(count) for part, count in budgets.pure]
    if budgets.shift:
        gaussian = library.from_gaussian_mechanism(
            1 / budgets.shift, value_discretization_interval=float(step)
        )
        parts.append(gaussian)
    while len(parts) > 1:  # in pairs of like length: the long ones are composed last
        paired = [first.compose(second) for first, second in zip(parts[::2], parts[1::2])]
        parts = paired + parts[2 * len(paired) :]
    return parts[0]


def _losses(epsilon: Fraction, change: int, step: Fraction) -> Any:
    """Losses of one noisy number on the grid: unchanged on its multiples, else each split between those around it."""
    pld = load_dp_accounting().pld
    found: dict[int, float] = collections.defaultdict(float)
    for loss, mass in _of_number(epsilon, change):
        multiple = loss / step
        below, over = math.floor(multiple), float((multiple - math.floor(multiple)) * step)
        # The two parts have the loss's mass under both laws: 1 and e^-loss times the mass.
        share = math.expm1(float(step) - over) / math.expm1(float(step)) if over else 1.0
        found[below] += mass * share
        if over:
            found[below + 1] += mass * (1 - share)
    pmf = pld.pld_pmf.create_pmf(dict(found), float(step), 0.0, True)
    return pld.privacy_loss_distribution.PrivacyLossDistribution(pmf)


def _of_number(epsilon: Fraction, change: int) -> list[tuple[Fraction, float]]:
    """The losses of a number that changes, and their probabilities."""
    finest = min(change, _MOST_LOSSES)
    knots = [change * one // finest for one in range(finest + 1)]
    masses = _masses(np.array(knots, float), float(epsilon / change))
    losses = [epsilon * (change - 2 * knot) / change for knot in knots]
    return list(zip(losses, masses.tolist()))


def _masses(knots: np.ndarray, unit: float) -> np.ndarray:
    """The probabilities of the losses ε - 2 j ``unit``, j in ``knots``, ascending from 0 to ε/``unit``.

    Between knots φ is linear in e^t, with slope e^-ε/(q^j + q^k), the mass of larger losses under the other law.
    """
    power, gaps = np.exp(-unit * knots), unit * np.diff(knots)
    shares = 1 / (1 + np.exp(-gaps))  # q^j/(q^j + q^k)
    inner = power[1:-1] * shares[1:] * shares[:-1] * -np.expm1(-gaps[:-1] - gaps[1:])
    return np.concatenate([shares[:1], inner, power[-1:] * shares[-1:]])


def _step(budgets: Budgets) -> Fraction:
    """A step of which all ε are multiples, unless it is too fine for the number of points."""
    common = _common_divisor([epsilon / change for (epsilon, change), _ in budgets.pure])
    points = min(max(_POINTS[0], 16 * budgets.count), _POINTS[1])
    least = (float(budgets.epsilon_sum) + 24 * budgets.shift) / points
    if budgets.shift:  # losses of about Δ/σ, in a few hundred steps
        least = max(least, min(budgets.shift, 8 * float(budgets.pure[0][0][0])) / 400)
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
