r"""How large noise is in total, on average and but for a small chance: what the proven errors of consensus rest on.

*Sum of absolute values* of d entries, at scale 1, with L = log(1/chance). Laplace noise: Gamma(d), so its quantile is
exact. Gaussian noise: mean d√(2/π), and the sum changes by at most √d times the length of a change, so it exceeds its
mean by √(2dL) at most. K-norm noise of a cube: the largest entry is M ~ Gamma(d), and independently of it all others
are uniform in [-M, M]; by Hoeffding's inequality for those and by a quantile of M, each at half of the chance, the sum
is at most M·(1 + (d-1)/2 + √((d-1)L/2)). K-norm noise of the complete zonotope of m items: its norm is M ~ Gamma(m-1),
and no point of the body has a sum above ⌊m²/2⌋, which a vertex attains.

*Ranges of footrule costs.* Let E_j be the noise on item j's costs and R_j its range over the m places. With independent
noise N on prefix counts E_j is a random walk of m - 1 symmetric steps 2N, and so it is in a cube, given the radius r,
where N = rU with U uniform in [-1, 1]. By Spitzer's identity the largest one of 0 and all sums S_k of k steps has mean
Σ_k E S_k⁺/k, and R_j has twice that: E R_j = Σ_{k<m} E\|S_k\|/k, which is at most 2c·Σ_{k<m} k^(-1/2) if E\|S_k\| ≤
2c√k. Gaussian noise: c = √(2/π), exactly. Laplace noise: the sum of k numbers is the difference of two Gamma(k), with
mean absolute value 2k·C(2k, k)/4^k ≤ 2√(k/π): c = 2/√π. Uniform numbers: c = 1/2. For a normal number Z with E\|Z\| =
E\|U\| = 1/2 the density of \|Z\| is first above that of \|U\|, then below, then above, so U is below Z in convex order,
and sums of each are, too; and E\|Z_1 + ... + Z_k\| = √k/2. In the cube r has mean d + 1, d = m(m-1).

*But for a chance.* If one N changes by x, R_j changes by at most 2\|x\|: so Σ_j R_j changes by at most 2√d times the
length of a change of all N. Gaussian N: Σ_j R_j exceeds its mean by at most 2√(2dL). In the cube U = 2Φ(Z) - 1 with Z
normal changes by at most √(2/π) times the change of Z: given r, Σ_j R_j exceeds r·m·Σ_{k<m} k^(-1/2) by at most
r·√(2/π)·2√(2dL), at half of the chance; at the other half r is at most its quantile. R_j is at most twice
the sum of the absolute values of the row's N, which bounds Laplace noise, and few items in the cube.

Sources: Hoeffding (1963), Spitzer (1956); Gaussian concentration as in Boucheron, Lugosi and Massart (2013), theorem
5.6; densities that cross twice as in Shaked and Shanthikumar (2007), theorem 3.A.44.
"""

from __future__ import annotations

import math

from scipy import special


def absolute_sum(noise: str, count: int, chance: float | None = None) -> float:
    """Sum of the absolute values of d entries of noise at scale 1: its mean, or a bound.

    Args:
        noise: ``"k-norm"`` (of a cube of dimension d), ``"laplace"`` or ``"gaussian"``.
        count: d >= 1.
        chance: None for the mean; else the probability with which the sum may exceed the bound.

    >>> absolute_sum("laplace", 10), round(absolute_sum("laplace", 10, 0.05), 2)
    (10.0, 15.71)
    """
    if noise == "gaussian":
        mean = count * math.sqrt(2 / math.pi)
        return mean if chance is None else mean + math.sqrt(-2 * count * math.log(chance))
    if noise == "laplace":
        return float(count) if chance is None else gamma_quantile(count, chance)
    if chance is None:
        return count * (count + 1) / 2
    others = (count - 1) / 2 + math.sqrt(-(count - 1) * math.log(chance / 2) / 2)
    return gamma_quantile(count, chance / 2) * (1 + min(others, count - 1))


def gamma_quantile(shape: int, chance: float) -> float:
    """The t that Gamma(shape) exceeds with probability ``chance``.

    >>> round(gamma_quantile(1, 0.05), 6)
    2.995732
    """
    return float(special.gammainccinv(shape, chance))


def footrule_ranges(num_items: int, noise: str, chance: float | None = None) -> float:
    """Bound on Σ_j R_j, the ranges of the noise on all items' footrule costs: on its mean, or on itself.

    Args:
        num_items: m >= 2.
        noise: ``"k-norm"``, ``"laplace"`` or ``"gaussian"``, of scale 1 on each prefix count.
        chance: None for the mean; else the probability with which the sum may exceed the bound.

    >>> [round(footrule_ranges(20, noise)) for noise in ("k-norm", "laplace", "gaussian")]
    [56172, 333, 235]
    """
    count = num_items * (num_items - 1)
    if noise == "laplace" and chance is not None:
        return 2 * absolute_sum(noise, count, chance)
    size = {"k-norm": (count + 1) / 2, "laplace": 2 / math.sqrt(math.pi)}
    unit = size.get(noise, math.sqrt(2 / math.pi))
    mean = 2 * num_items * unit * math.fsum(k**-0.5 for k in range(1, num_items))
    if chance is None:
        return mean
    if noise == "gaussian":
        return mean + 2 * math.sqrt(-2 * count * math.log(chance))
    beyond = 2 * math.sqrt(-4 / math.pi * count * math.log(chance / 2))
    return gamma_quantile(count + 1, chance / 2) * min(mean / (count + 1) + beyond, 2 * count)
