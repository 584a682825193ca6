r"""Calibration of private top-k selection, with proofs.

Notation: x scores of m items, x' = x + d those of a neighbor, s ≥ ‖d‖_∞ their sensitivity, T ≥ s a bound on the sum
of the rises Σ d⁺ and on the sum of the falls Σ d⁻ (∞ if none is known; L for win totals), *monotone* if d ≥ 0 or
d ≤ 0 (win totals, one unit added or removed). S the selected items, t = max d over the items outside S.

**One-shot Laplace** (Laplace(λ) once on every score; the k largest are listed in order). Fix the noise of the items
outside S: all of S must exceed z = max_{j∉S} x_j + g_j, and z' ≤ z + t. The shift g_i → g_i + t - d_i moves every
noisy score of S by exactly t: the order within S stays and S still exceeds z'. Its cost is
Σ_S |t - d_i|/λ ≤ 2ks/λ; if monotone, t and d_i have one sign and it is ks/λ.
So λ = 2ks/ε is ε-DP for the *ordered* list (monotone: ks/ε). The list is also a post-processing of all noisy scores,
whose loss is at most ‖d‖₁/λ ≤ 2T/λ (monotone: T/λ). Together: λ = 2 min(ks, T)/ε, and half of that if monotone.

With λ = 8s√(k ln(m/δ))/ε the *set* is (ε, δ)-DP for ε ≤ 0.2, δ ≤ 0.05 (Qiao, Su and Zhang 2021). It is below 2ks/ε only
for k > 16 ln(m/δ).

**Peeling** (k rounds of the exponential mechanism, odds exp(x_i/β) among the items left = Gumbel(β) once on every
score, the k largest in order; Durfee and Rogers 2019, Lemma 4.2). One round that picks i loses
-d_i/β + log Z'/Z with log Z'/Z ≤ max d/β over the items left. The sum over S is at most (Σ_S d⁻ + k max d⁺)/β ≤
(min(ks, T) + ks)/β; if monotone, at most ks/β. Both are approached as the score of one item outside S grows. For one
replaced comparison (s = T = 1) this is (k + 1)/β, not the generic 2k/β.

**Permute-and-flip** (McKenna and Sheldon 2020) in each of k rounds = the largest score plus Exponential(λ) noise (Ding,
Kifer, Steinke, Wang, Xiao and Zhang 2021), fresh in every round. Fix the noise of the others: i must exceed
z - x_i, where z - x_i grows by at most max_{j≠i} d_j - d_i, and P(g > c + a) ≥ e^{-a⁺/λ} P(g > c). So a round loses at
most (max_{j≠i} d_j - d_i)⁺/λ, and the sum is bounded as for peeling.

**(ε, δ) by composition.** With R = 2s (monotone: s), one round of peeling has a loss of range R/β, hence is
(R/β)²/8-zCDP (Dong, Durfee and Rogers 2020; Cesar and Rogers 2021); one of permute-and-flip is (R/λ)-DP, hence
(R/λ)²/2-zCDP (Bun and Steinke 2016). k rounds of ρ/k give (ρ + 2√(ρ ln 1/δ), δ)-DP. The smaller of this scale and
of the pure one is taken.

**Canonical selection** (Shekelyan and Loukides 2022) of a whole set o of k items, by utilities u_o of the scores: the
largest u_o plus noise, Gumbel(λ) or Exponential(λ), independent for all o. That is one round of the exponential
mechanism or of permute-and-flip over all o, so changes c_o of the utilities lose at most (max_p c_p - c_o)⁺/λ. The
margin of a set is M_o = min_{i∈o} x_i - max_{j∉o} x_j; u_o = M_o where it is at most 0 and θM_o where it is positive,
as it is of the best set alone. The source has θ = 0.

Go from x to x' on a straight line, in pieces on which no two scores change their order: all u_o are linear there, and
the losses of the pieces add up. The rate of u_o ≤ 0 is d_b - d_a for the worst item b in o and the best item a outside,
which is not worse, x_a ≥ x_b. Of two sets o, p the rates differ by (d_{b_p} + d_{a_o}) - (d_{a_p} + d_{b_o}). Both
b_p = a_o and a_p = b_o only if these two items are equal on the piece, and then they move equally and the difference is
0. So one of the two sums is about two items, hence at most min(2s, T) in size, and the other at most 2s: B = 2s +
min(2s, T). If
monotone, one of them has the wrong sign, and B = 2s. For k = 1 a is the best item for all o, and B = R, the most by
which d_i - d_j can grow: 2s, if monotone s. The positive utility of the best set has rate θ(d_i - d_j), so it differs
from others by at most (1 + θ)R: θ = B/R - 1 costs nothing. Together λ = B/ε is ε-DP. For win totals with s = T it is
3s/ε, not 4s/ε, the bound by the sensitivity R of the utility. Where one item can rise and another fall by s, it
attains ε as the margin of the best set grows, so no smaller λ will do for it.

All laws here depend on differences of scores alone. So what moves scores by s in one direction is like s/2 in both.
"""

from __future__ import annotations

import dataclasses
import math
import numbers
from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax._types import Count, Scalar
from privrank_jax._validate import check_choice, check_positive, is_traced
from privrank_jax.privacy.noise import check_approximate
from privrank_jax.privacy.privacy import Privacy

# The range in which the theorem of Qiao, Su and Zhang holds.
ONE_SHOT_MAX_EPSILON = 0.2
ONE_SHOT_MAX_DELTA = 0.05


def one_shot_scale(
    privacy: Privacy,
    k: Count,
    num_items: Scalar,
    *,
    sensitivity: Scalar,
    total_change: Scalar = math.inf,
    monotone: bool = False,
    approximate: bool = False,
    calibration: str = "tight",
) -> tuple[Scalar, Privacy]:
    """Laplace scale of the one-shot mechanism, and the promise that is proven at that scale.

    Args:
        privacy: ε, δ and the unit that ``sensitivity`` is for; ε and δ may be traced. ε = ∞ gives scale 0.
        k: items to select, may be traced.
        num_items: m, counting real items only.
        sensitivity: s > 0, public.
        total_change: T of the module docstring.
        monotone: all scores of a neighbor are at least, or all at most, those of the data.
        approximate: whether the scale may rely on (ε, δ), which needs δ > 0; False attains δ = 0.
        calibration: ``"tight"`` takes the smallest scale that is proven to suffice. ``"published"`` is exactly 2ks/ε,
            or 8s√(k ln(m/δ))/ε with ``approximate``.

    Returns:
        λ, and the promise attained. For ``"published"`` with ``approximate`` and a traced ε or δ outside the theorem's
        range, that promise has the ε proven for pure DP at this λ, and δ = 0.

    Raises:
        ValueError: ``"published"`` with ``approximate`` and ε > 0.2 or δ > 0.05, both known; ``approximate`` without
            δ; s <= 0.

    >>> promise = Privacy(0.5, unit="comparison", adjacency="replace")
    >>> one_shot_scale(promise, 3, 20, sensitivity=1.0)[0]  # 2ks/ε
    12.0
    >>> one_shot_scale(promise, 3, 20, sensitivity=1.0, total_change=1.0)[0]  # noisy win totals
    4.0
    """
    check_positive("sensitivity", sensitivity, infinite=False)
    check_choice("calibration", calibration, ("tight", "published"))
    epsilon, delta = privacy.epsilon, privacy.delta
    sides = 1.0 if monotone else 2.0
    change = sides * _minimum(k * sensitivity, total_change)
    pure = (2.0 * k * sensitivity if calibration == "published" else change) / epsilon
    if not approximate:
        return pure, dataclasses.replace(privacy, delta=0.0)
    check_approximate(privacy, "approximate=True", "approximate=False")
    epsilon_ = jnp.asarray(epsilon, float)
    delta_ = jnp.asarray(delta, float)
    safe_delta = jnp.where(delta_ > 0, delta_, 1.0)
    scale = 8.0 * sensitivity * jnp.sqrt(k * jnp.log(num_items / safe_delta)) / epsilon_
    applies = (
        (delta_ > 0) & (delta_ <= ONE_SHOT_MAX_DELTA) & (epsilon_ <= ONE_SHOT_MAX_EPSILON)
    ) | jnp.isinf(epsilon_)
    if calibration == "tight":
        return jnp.minimum(pure, jnp.where(applies, scale, jnp.inf)), privacy
    if not is_traced(epsilon, delta) and not np.all(np.asarray(applies)):
        raise ValueError(
            f"the (ε, δ) guarantee of the one-shot mechanism is proven for epsilon <= {ONE_SHOT_MAX_EPSILON} "
            f"and delta <= {ONE_SHOT_MAX_DELTA}, got epsilon = {epsilon}, delta = {delta}. "
            "Use approximate=False (pure DP) or calibration='tight'."
        )
    scale = jnp.where(delta_ > 0, scale, pure)
    proven = jnp.where(applies, epsilon_, change / scale)
    return scale, dataclasses.replace(
        privacy, epsilon=proven, delta=jnp.where(applies, delta_, 0.0)
    )


def peeling_scale(
    privacy: Privacy,
    k: int,
    *,
    sensitivity: Scalar,
    total_change: Scalar = math.inf,
    monotone: bool = False,
    approximate: bool = False,
) -> tuple[Scalar, Privacy]:
    """Gumbel scale β of k rounds of the exponential mechanism; arguments and result as :func:`one_shot_scale`.

    >>> promise = Privacy(0.5, unit="comparison", adjacency="replace")
    >>> peeling_scale(promise, 3, sensitivity=1.0)[0]  # 2ks/ε
    12.0
    >>> peeling_scale(promise, 3, sensitivity=1.0, total_change=1.0)[0]  # (k + 1)s/ε
    8.0
    """
    return _composed_scale(privacy, k, sensitivity, total_change, monotone, approximate, 8.0)


def permute_and_flip_scale(
    privacy: Privacy,
    k: int,
    *,
    sensitivity: Scalar,
    total_change: Scalar = math.inf,
    monotone: bool = False,
    approximate: bool = False,
) -> tuple[Scalar, Privacy]:
    """Exponential scale λ of k rounds of permute-and-flip; arguments and result as :func:`one_shot_scale`.

    >>> promise = Privacy(0.5, unit="comparison", adjacency="replace")
    >>> permute_and_flip_scale(promise, 1, sensitivity=1.0)[0]  # 2s/ε
    4.0
    """
    return _composed_scale(privacy, k, sensitivity, total_change, monotone, approximate, 2.0)


def canonical_change(
    k: int, sensitivity: Any, total_change: Any = math.inf, monotone: bool = False
) -> tuple[Any, Any]:
    """B and R of the module docstring: what two utilities, and two scores, can move apart.

    Args:
        k: size of the set, static.
        sensitivity, total_change, monotone: as of :func:`one_shot_scale`; fractions are calculated with exactly.

    >>> canonical_change(3, 1.0, 1.0), canonical_change(3, 1.0), canonical_change(3, 1.0, monotone=True)
    ((3.0, 2.0), (4.0, 2.0), (2.0, 1.0))
    >>> canonical_change(1, 1.0)
    (2.0, 2.0)
    """
    reach = (1 if monotone else 2) * sensitivity
    if k == 1:
        return reach, reach
    return reach + (sensitivity if monotone else _minimum(2 * sensitivity, total_change)), reach


def _composed_scale(
    privacy: Privacy,
    k: int,
    sensitivity: Scalar,
    total_change: Scalar,
    monotone: bool,
    approximate: bool,
    zcdp_divisor: float,
) -> tuple[Scalar, Privacy]:
    """The smaller of the pure scale and that from zCDP; one round is (R/scale)²/divisor-zCDP."""
    check_positive("sensitivity", sensitivity, infinite=False)
    falls = 0.0 if monotone else _minimum(k * sensitivity, total_change)
    pure = (k * sensitivity + falls) / privacy.epsilon
    if not approximate:
        return pure, dataclasses.replace(privacy, delta=0.0)
    check_approximate(privacy, "approximate=True", "approximate=False")
    epsilon = jnp.asarray(privacy.epsilon, float)
    finite = jnp.where(jnp.isinf(epsilon), 1.0, epsilon)
    # ∞ at δ = 0: the pure scale is then the smaller.
    log_delta = -jnp.log(jnp.asarray(privacy.delta, float))
    root_rho = finite / (jnp.sqrt(log_delta + finite) + jnp.sqrt(log_delta))
    span = (1.0 if monotone else 2.0) * sensitivity
    composed = jnp.minimum(pure, span * math.sqrt(k / zcdp_divisor) / root_rho)
    return jnp.where(jnp.isinf(epsilon), 0.0, composed), privacy


def _minimum(first: Scalar, second: Scalar) -> Scalar:
    """The minimum, which is a plain number if the arguments are."""
    if isinstance(first, numbers.Real) and isinstance(second, numbers.Real):
        return min(first, second)
    return jnp.minimum(first, second)
