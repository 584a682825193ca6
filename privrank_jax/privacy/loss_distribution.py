r"""Composition of several releases by dp-accounting's privacy loss distributions (extra ``release``), on the host.

**What dominates a release.** Whatever is (ε, δ)-DP for some neighboring relation is an image of this pair of laws
(Kairouz, Oh, Viswanath 2015; Murtagh, Vadhan 2016): with probability δ the two are distinguished for certain; otherwise
one bit distinguishes them, with odds e^±ε. A Gaussian mechanism is dominated by N(0, σ²) against N(Δ, σ²), and several
of them by one with (Δ/σ)² = Σ(Δ_i/σ_i)². Pairs that dominate releases one by one dominate them together if they are
taken independently (Zhu, Dong and Wang 2022, Theorem 10).

**Laplace noise** on integers, P(x) ∝ q^\|x\| with q = e^{-1/s}, composes to less where a change is spread over several
numbers. A pair of laws with loss L has φ(t) = E min(1, e^{t-L}) = 1 - δ(t), and dominates another one if its φ is
nowhere larger. Losses are counted in units of 1/s here, so that e^t stands for q^{-t}.

*One number that changes by a.* The loss is a with probability 1/(1+q), -a with q^a/(1+q), and a - 2j with q^j
(1-q)/(1+q) for j between 0 and a. So φ_a = 1 from a on, e^t up to -a, and q^j at the knots a - 2j, between which it is
linear in e^t. Hence randomized response is the case a = 1, and φ_a falls in a.

A larger s gives a dominated pair, as its noise is that at s plus independent noise. To leave out knots, but not the
ends, gives a dominating pair. Noise on real numbers has φ = min(1, e^t, e^{(t-a)/2}), which is concave in e^t and
passes through the same knots: it is dominated by that on integers.

*Two numbers that change by a and b, a <= b.* φ(-t) = e^{-t} φ(t) for every such pair, so let t >= 0. A sum over the
losses of the first number gives φ_ab(t) = q^j (1 + min(a, j) (1-q)/(1+q)) at the knots t = a + b - 2j. Pairs with the
same a + b have the same knots, so the more evenly a sum is spread, the less is lost.

*Theorem.* Let c and d have whole entries, and for each k let the k largest \|d_i\| add up to at most the k largest c_i.
Then the pair of a change by c dominates that of a change by d. *Proof.* Lower the smallest positive entry of c by 1
until the sums of c and \|d\| are equal, which keeps the condition. Then move 1 from a larger entry to one that stays no
larger than it, until c is \|d\| (Muirhead's lemma; Marshall, Olkin and Arnold 2011, 5.D.1). By the above neither kind
of step lowers φ.

So Laplace noise composes as one independent release for each entry of c, for any c that holds for all neighbors. The c
of a release is proven where its noise is, and its guarantee states it (``Guarantee.changes``).

**In the library**, each entry a is a discrete Laplace mechanism of sensitivity a. Of an entry beyond 2^12 every k-th
knot stays, and a grows to a multiple of k. Any other ε-DP release has sensitivity 1. It puts losses on the multiples of
a step by a dominating pair (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi 2022). It computes in float64, for which δ
is lowered by 10^-12 plus 10^-15 per release, at least ten times the largest loss observed.

Of three bounds the least is returned: this one, zCDP, and the sum Σε_i, with δ - Σδ_i left to the Gaussians. Of
releases whose ρ is known beside ε and δ, all count by ρ, or none, whichever is less.

**zCDP.** A mechanism is ρ-zCDP if Rényi's divergence D_α(M(x) ‖ M(x')) ≤ ρα for every order α > 1 and all neighbors x,
x' (Bun and Steinke 2016). Several are together Σρ_i-zCDP, even if each is chosen after seeing the earlier ones (their
Lemma 2.3; the ρ_i are fixed ahead of time). By Kairouz, Oh and Viswanath (2015) the two output laws of an ε-DP
mechanism are an image of those of randomized response, so its divergences are at most

.. math:: D_α = \frac{1}{α-1}\log\frac{\cosh((α-1/2)ε)}{\cosh(ε/2)},

and with v = (α - 1/2)², g(v) = log cosh(ε√v), D_α/α = (g(v) - g(1/4))/(v - 1/4). g is concave, since its derivative
ε tanh(ε√v)/(2√v) falls in v, so this slope is largest for α → 1, where it is g'(1/4) = ε tanh(ε/2). Hence ρ = ε
tanh(ε/2), the least ρ that holds for every ε-DP mechanism, below ε²/2 (Bun and Steinke, Proposition 3.3).
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from types import ModuleType
from typing import Any

import numpy as np

from privrank_jax.privacy.gaussian import gaussian_delta_at, gaussian_epsilon_at, rounded_up

_POINTS = (2**17, 2**20)  # steps in the sum of all ε, for few and for many releases
_MOST, _MOST_KINDS = 2**18, 2**12  # releases, and different ε, on a grid
_MOST_KNOTS = 2**12  # of one noisy number
_LARGEST = 500  # ε of a release on a grid, so that e^ε is finite
_ROUNDING = 1e-9  # relative allowance for what root finders return
# A smaller ρ is taken for these, which keeps a bound: orders stay finite, and the library, where ε is almost 0 too,
# takes no logarithm of 1 - e^-ρ = 0.
_LEAST_RHO, _LEAST_BESIDE_NO_EPSILON = 1e-280, 1e-15


@dataclasses.dataclass(frozen=True)
class Budget:
    """What is known of one release."""

    epsilon: Fraction | float  # ∞ for no privacy; 0 for a Gaussian mechanism: it has none
    delta: Fraction | float = Fraction(0)
    changes: tuple[int, ...] = (1,)  # the c of its Laplace noise; (1,) for any ε-DP release
    rho: float | None = None  # beside ε and δ, if known
    shift: float = 0.0  # Δ/σ of a Gaussian mechanism, never rounded down, ∞ for no privacy


def unbounded(budgets: Sequence[Budget]) -> bool:
    """Whether a release has no privacy."""
    return any(math.inf in (one.epsilon, one.shift) for one in budgets)


def epsilon_at(budgets: Sequence[Budget], delta: Fraction) -> float:
    """Least ε that is proven at δ of all releases together; ∞ where none is."""
    if unbounded(budgets):
        return math.inf
    return min(one.epsilon_at(delta) for one in _sums(budgets))


def delta_at(budgets: Sequence[Budget], epsilon: Fraction) -> float:
    """Least δ that is proven at ε of all releases together."""
    if unbounded(budgets):
        return 1.0
    return min(one.delta_at(epsilon) for one in _sums(budgets))


def _sums(budgets: Sequence[Budget]) -> list[_Sum]:
    known = any(one.rho is not None for one in budgets)
    return [_Sum(budgets, by_rho) for by_rho in ((False, True) if known else (False,))]


class _Sum:
    """Releases together, those with a ρ by it alone or by ε and δ."""

    def __init__(self, budgets: Sequence[Budget], by_rho: bool) -> None:
        counted = [one for one in budgets if not by_rho or one.rho is None]
        rhos = [one.rho for one in budgets if by_rho and one.rho is not None]
        self.numbers: Counter[tuple[Fraction, int]] = Counter()  # by ε > 0 and change a
        for (epsilon, changes), releases in Counter(
            (b.epsilon, b.changes) for b in counted
        ).items():
            for change, numbers in Counter(changes).items() if epsilon else ():
                one = Fraction(epsilon) * change / sum(changes)
                self.numbers[one, change] += numbers * releases
        self.epsilon = Fraction(sum(one.epsilon for one in counted))
        self.delta = Fraction(sum(one.delta for one in counted))
        kept = math.fsum(math.log1p(-float(one.delta)) for one in counted)
        self.failure = min(-math.expm1(kept) * (1 + 2**-49), 1.0)  # 1 - Π(1-δ_i), rounded up
        self.shift = rounded_up(math.hypot(*(one.shift for one in counted)))
        self.zcdp = rounded_up(math.fsum(rhos))
        gaussian = max(self.shift**2 / 2, math.ulp(0.0)) if self.shift else 0.0
        pure = math.fsum(count * pure_zcdp(one) for (one, _), count in self.numbers.items())
        self.rho = rounded_up(pure + gaussian + self.zcdp)  # of all, without their failures
        self.slack = 1e-12 + 1e-15 * self.numbers.total()

    def epsilon_at(self, delta: Fraction) -> float:
        bounds, spare = [math.inf], delta - self.delta
        if spare >= 0 and not self.zcdp:
            bounds.append(_plus(self.epsilon, gaussian_epsilon_at(self.shift, spare)))
        rest = (float(delta) - self.failure) / (1 - self.failure) if self.failure < 1 else 0.0
        if rest > 0 and self.rho:
            bounds.append(zcdp_epsilon(self.rho, rest * (1 - _ROUNDING)))
            losses = self._losses() if rest > self.slack else None
            if losses is not None:
                bounds.append(losses.get_epsilon_for_delta(rest - self.slack) * (1 + _ROUNDING))
        return float(min(bounds))

    def delta_at(self, epsilon: Fraction) -> float:
        bounds, spare = [1.0], epsilon - self.epsilon
        if spare >= 0 and not self.zcdp:
            bounds.append(_plus(self.delta, gaussian_delta_at(self.shift, spare)))
        if spare < 0 or self.shift or self.zcdp:
            rests, losses = [zcdp_delta(self.rho, float(epsilon))], self._losses()
            if losses is not None:
                rests.append(losses.get_delta_for_epsilon(float(epsilon)) + self.slack)
            rest = (1 - self.failure) * min(rests) * (1 + _ROUNDING)
            bounds.append(rounded_up(self.failure + rest))
        return float(min(bounds))

    def _losses(self) -> Any:
        """The library's distribution without failures; ``None`` if too large, not known, or a Gaussian's."""
        kinds, count = sorted(self.numbers.items()), self.numbers.total()
        fits = count <= _MOST and 0 < len(kinds) <= _MOST_KINDS and kinds[-1][0][0] <= _LARGEST
        if self.zcdp or not fits:
            return None
        library = load_dp_accounting().pld.privacy_loss_distribution
        grid = {"value_discretization_interval": float(self._step()), "use_connect_dots": True}
        parts = []
        for (epsilon, change), count in kinds:
            together = max(change // _MOST_KNOTS, 1)
            unit, steps = float(epsilon / change * together), -(-change // together)
            one = library.from_discrete_laplace_mechanism(unit, steps, **grid)
            parts.append(one.self_compose(count))
        if self.shift:
            parts.append(library.from_gaussian_mechanism(1 / self.shift, **grid))
        while len(parts) > 1:  # in pairs of like length: the long ones are composed last
            paired = [first.compose(second) for first, second in zip(parts[::2], parts[1::2])]
            parts = paired + parts[2 * len(paired) :]
        return parts[0]

    def _step(self) -> Fraction:
        """A step that divides all losses, unless it is too fine for the number of points."""
        units = [epsilon / change for epsilon, change in self.numbers]
        denominator = math.lcm(*(unit.denominator for unit in units))
        common = Fraction(math.gcd(*(int(unit * denominator) for unit in units)), denominator)
        points = min(max(_POINTS[0], 16 * self.numbers.total()), _POINTS[1])
        least = (float(self.epsilon) + 24 * self.shift) / points
        if self.shift:  # losses of about Δ/σ, in a few hundred steps
            smallest = float(min(epsilon for epsilon, _ in self.numbers))
            least = max(least, min(self.shift, 8 * smallest) / 400)
        if common < least:
            return Fraction(least)
        return common / math.ceil(common / Fraction(least)) if self.shift else common


def _plus(exact: Fraction, more: float) -> float:
    return rounded_up(float(exact) + more) if exact and more else float(exact) + more


def load_dp_accounting() -> ModuleType:
    """dp-accounting, or an error that names the extra."""
    try:
        import dp_accounting  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ImportError(
            'accounting needs dp-accounting: pip install "privrank-jax[accounting]"'
        ) from error
    return dp_accounting


def pure_zcdp(epsilon: Fraction | float) -> float:
    """ρ = ε tanh(ε/2) of an ε-DP mechanism."""
    return float(epsilon) * math.tanh(float(epsilon) / 2)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Least ε for which the library proves a ρ-zCDP mechanism (ε, δ)-DP, over a grid of orders; ∞ at δ = 0 < ρ."""
    if rho == 0:
        return 0.0
    if delta == 0 or math.isinf(rho):
        return math.inf
    rho = max(rho, _LEAST_RHO)
    return float(_accountant(rho, math.sqrt(-math.log(delta) / rho)).get_epsilon(delta))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """The inverse of :func:`zcdp_epsilon`; positive unless ρ = 0 or ε = ∞."""
    if rho == 0 or math.isinf(epsilon):
        return 0.0
    if math.isinf(rho):
        return 1.0
    rho = max(rho, _LEAST_RHO if epsilon > 1e-13 else _LEAST_BESIDE_NO_EPSILON)
    found = _accountant(rho, max(0.1, (epsilon - rho) / (2 * rho))).get_delta(epsilon)
    return max(float(found), math.ulp(0.0))


def _accountant(rho: float, excess: float) -> Any:
    """The library's accountant of a ρ-zCDP release, with orders around 1 + ``excess``."""
    library = load_dp_accounting()
    orders = 1 + np.maximum(excess * np.geomspace(0.1, 10, 600), 0.0101)
    return library.rdp.RdpAccountant(orders.tolist()).compose(library.ZCDpEvent(rho))
