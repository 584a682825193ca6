r"""Adding up releases by Rényi divergences, as a filter: valid for releases that are chosen along the way.

**Rule.** An order α > 1 and a part δ' of the budget (ε, δ) are fixed before the first release. Release i is (ε_i, δ_i)
private, whatever came before. If it is also ρ_i-zCDP, as Gaussian noise is, r_i = αρ_i; otherwise r_i is the Rényi
divergence of order α of the pair of laws that dominates it but for a failure of probability δ_i
(:mod:`privrank_jax.privacy.loss_distribution`). The *plain sum holds* as long as Σε_i <= ε and Σδ_i <= δ - δ'. From the
first release on that exceeds it, δ_i of those with a ρ_i count no more. A release may be made if, with it,

    Σδ_i <= δ - δ',   and   the plain sum holds   or   Σr_i <= ε - log(κ/δ')/(α-1),   κ = (1 - 1/α)^(α-1)/α.

**Theorem.** All releases together are (ε, δ) private, though each release, its ε_i, δ_i and kind of noise, and whether
there is one more, may depend on all results so far. *Proof.* Let P_i and Q_i be the laws of release i for the two data
sets, given what came before. If δ_i counts, take from P_i its failure: leave what the dominating pair has besides, or
min(P_i, e^{ε_i} Q_i) where there is a ρ_i. Call the rest P_i'; it is P_i if δ_i does not count. All that is taken comes
to at most δ - δ'.

The rest adds E' (1 - e^{ε-L})₊ to δ, with E' the integral over ΠP_i' and L = ΣL_i, where L_i is log P_i'/Q_i. By
definition of r_i, and as P_i' <= P_i where r_i = αρ_i, the factors of M = Π e^{(α-1)(L_i - r_i)} have conditional
integrals of at most 1. So E' M <= 1 wherever the rule stops (Feldman and Zrnic 2021).

If the plain sum holds there, all L_i <= ε_i, so L <= ε, which adds nothing. If not, (1 - e^{-y})₊ <= κ e^{(α-1)y} for
all y, so that (1 - e^{ε-L})₊ <= κ e^{(α-1)(L-ε)} = κ e^{(α-1)(Σr_i-ε)} M <= δ' M. All of it adds at most δ' E' M <= δ'.
∎

So whatever the plain sum allows within ε and δ - δ' is allowed. Until it is exceeded δ_i must count, for results decide
whether it ever will be, and where it is not, a Gaussian release has failures.

The proof does not allow to take the best of several orders at the end.

**One number that changes by a**, with noise of scale s = a/ε, has with q = e^{-1/s} and w = 2α - 1

    e^{(α-1)r} = e^{(α-1)ε} (1 + q^{aw} + (1-q) q^w (1 - q^{(a-1)w})/(1 - q^w))/(1 + q),

by its losses there; those of several numbers add up. The order is that which allows most releases of little loss each.

Nothing here imports JAX or NumPy.
"""

from __future__ import annotations

import dataclasses
import math
from collections import Counter
from decimal import ROUND_FLOOR, Context, Decimal

from privrank_jax._search import furthest

_DIGITS = Context(prec=6, rounding=ROUND_FLOOR)
_ROUNDING = 1e-13  # relative, of logarithms and sums of doubles


@dataclasses.dataclass(frozen=True)
class Filter:
    """The rule of a ledger, which is fixed when it is made: ε of the budget, δ' > 0 and α > 1."""

    epsilon: Decimal
    slack: Decimal
    order: Decimal

    @classmethod
    def of(cls, epsilon: Decimal, slack: Decimal) -> Filter:
        """The rule for a budget, with an order near that at which (ε - log(κ/δ')/(α-1))/α is largest.

        >>> Filter.of(Decimal(3), Decimal("1e-6")).order
        Decimal('8.61729')
        """
        whole, most = -float(slack.ln()), float(epsilon)
        excess = logarithm = whole
        for _ in range(20):  # the best order, were κ that of the order before
            excess = max((logarithm + math.sqrt(logarithm * (logarithm + most))) / most, 0.01)
            logarithm = max(whole + _log_constant(excess), whole / 4)
        return cls(epsilon, slack, 1 + _DIGITS.create_decimal_from_float(excess))

    @property
    def most(self) -> float:
        """What Σr_i may reach, never rounded up."""
        excess = float(self.order) - 1
        constant = _log_constant(excess) - float(self.slack.ln())
        bound = float(self.epsilon) - constant / excess
        return bound - _ROUNDING * (float(self.epsilon) + abs(constant) / excess)

    def cost(
        self, epsilon: Decimal, changes: tuple[int, ...] = (), rho: Decimal | None = None
    ) -> float:
        """r of an ε-DP release, never rounded down: by the changes of its Laplace noise, or by ρ of Gaussian noise."""
        if rho is not None:
            return float(self.order) * float(rho) * (1 + _ROUNDING)
        changes = changes or (1,)  # the most that an ε-DP release can lose
        total = math.fsum(
            count * self._cost_of_number(float(epsilon) * change / sum(changes), change)
            for change, count in Counter(changes).items()
        )
        rounding = _ROUNDING * (float(epsilon) + len(changes) / (float(self.order) - 1))
        return min(total + rounding, float(epsilon) * (1 + _ROUNDING))

    def _cost_of_number(self, epsilon: float, change: int) -> float:
        excess, unit = float(self.order) - 1, epsilon / change
        weight = (2 * excess + 1) * unit
        if not weight:  # below the smallest double
            return epsilon
        between = math.exp(-weight) * math.expm1(-(change - 1) * weight) / math.expm1(-weight)
        shares = 1 + math.exp(-change * weight) - math.expm1(-unit) * between
        return epsilon + (math.log(shares) - math.log1p(math.exp(-unit))) / excess

    def left(self, spent: float) -> Decimal:
        """The largest ε of one more release of any kind of noise after Σr_i, rounded down to six digits."""
        room = self.most - spent
        found = furthest(lambda one: self.cost(Decimal(one)) <= room, 0.0, float(self.epsilon))
        return _DIGITS.create_decimal_from_float(found)


def _log_constant(excess: float) -> float:
    """log κ, of α - 1."""
    return -excess * math.log1p(1 / excess) - math.log1p(excess)
