r"""Zero-concentrated differential privacy (zCDP) on the host, by the accounting library (extra ``release``).

A mechanism is ρ-zCDP if D_α(M(x) ‖ M(x')) ≤ ρα for every order α > 1 and all neighbors x, x', with D_α Rényi's
divergence (Bun and Steinke 2016). Several releases are together Σρ_i-zCDP, even if each is chosen after seeing the
earlier ones (their Lemma 2.3; the ρ_i are fixed ahead of time), so compose them by adding their ρ. Unit and adjacency
are those of the mechanism; add only ρ of the same unit and adjacency.

**A pure ε.** By Kairouz, Oh and Viswanath (2015) the two output laws of an ε-DP mechanism on neighbors are an image of
those of randomized response, e^±ε odds on one bit, so its divergences are at most

.. math:: D_α = \frac{1}{α-1}\log\frac{e^{αε} + e^{(1-α)ε}}{1 + e^ε}
              = \frac{1}{α-1}\log\frac{\cosh((α-1/2)ε)}{\cosh(ε/2)},

and with v = (α - 1/2)², g(v) = log cosh(ε√v), D_α/α = (g(v) - g(1/4))/(v - 1/4). g is concave, since its derivative
ε tanh(ε√v)/(2√v) falls in v, so this slope is largest for α → 1, where it is g'(1/4) = ε tanh(ε/2). Hence ρ = ε
tanh(ε/2), the least ρ that holds for every ε-DP mechanism; ε²/2 (Bun and Steinke, Proposition 3.3) is its first term
and is larger at every ε.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from privrank_jax.privacy.host import load_dp_accounting

# A ρ below these is taken for them, which keeps a bound: orders stay finite, and the library, where ε is almost 0
# too, takes no logarithm of 1 - e^-ρ = 0.
_LEAST, _LEAST_BESIDE_NO_EPSILON = 1e-280, 1e-15


def pure_zcdp(epsilon: Fraction | float) -> float:
    """ρ = ε tanh(ε/2) of an ε-DP mechanism, never above ε²/2; the proof heads this module.

    >>> round(pure_zcdp(0.1), 7), round(pure_zcdp(10.0), 2)
    (0.0049958, 10.0)
    """
    return float(epsilon) * math.tanh(float(epsilon) / 2)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """Least ε for which the library proves a ρ-zCDP mechanism (ε, δ)-DP, over a grid of orders.

    At most ρ + 2√(ρ log 1/δ) (Bun and Steinke, Proposition 1.3) up to the grid: 1e-4 of it while ρ is below 10³. ∞ at
    δ = 0, except for ρ = 0.

    Source: Canonne, Kamath and Steinke (2020), Proposition 12, in dp-accounting's RDP accountant.

    >>> zcdp_epsilon(0.05, 1e-6) < 0.05 + 2 * math.sqrt(0.05 * math.log(1e6))
    True
    """
    if rho == 0:
        return 0.0
    if delta == 0 or math.isinf(rho):
        return math.inf
    rho = max(rho, _LEAST)
    return float(_accountant(rho, math.sqrt(-math.log(delta) / rho)).get_epsilon(delta))


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Least δ for which the library proves a ρ-zCDP mechanism (ε, δ)-DP; the inverse of :func:`zcdp_epsilon`.

    Positive unless ρ = 0 or ε = ∞: a value below the smallest positive double is raised to it.

    >>> zcdp_delta(0.05, zcdp_epsilon(0.05, 1e-6)) <= 1.001e-6
    True
    """
    if rho == 0 or math.isinf(epsilon):
        return 0.0
    if math.isinf(rho):
        return 1.0
    rho = max(rho, _LEAST if epsilon > 1e-13 else _LEAST_BESIDE_NO_EPSILON)
    found = _accountant(rho, max(0.1, (epsilon - rho) / (2 * rho))).get_delta(epsilon)
    return max(float(found), math.ulp(0.0))


def _accountant(rho: float, excess: float) -> Any:
    """The library's accountant of a ρ-zCDP release, with orders around 1 + ``excess``."""
    library = load_dp_accounting()
    orders = 1 + np.maximum(excess * np.geomspace(0.1, 10, 600), 0.0101)
    return library.rdp.RdpAccountant(orders.tolist()).compose(library.ZCDpEvent(rho))
