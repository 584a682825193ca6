r"""Calibration: the scale of the noise from (sensitivity, budget, adjacency).

Notation: Δ₁, Δ₂ sensitivities in ℓ₁, ℓ₂; λ Laplace scale; σ Gaussian standard deviation; γ ridge; F the
link, s = F'/F its score, κ₁ = sup F'/(F(1-F)), κ₂ = sup -(log F)''.

**Objective perturbation** (:func:`calibrate_objective_perturbation`). θ̃ minimizes
:math:`f(θ) = L(θ; y) + γ‖θ‖²/2 + wᵀθ`. For γ > 0 the map w ↦ θ̃ is a bijection with
w(θ; y) = -∇L(θ; y) - γθ, so the density of θ̃ is p_w(w(θ; y)) · det(∇²L(θ; y) + γI), and the privacy loss
between neighbors y, y' at θ is a noise term log p_w(w)/p_w(w') plus a log-determinant term.

*Noise term, Laplace.* At most ‖w - w'‖₁/λ = ‖∇L(θ; y) - ∇L(θ; y')‖₁/λ. A comparison won at difference
x = θ_i - θ_j contributes the gradient -s(x)(e_i - e_j): ℓ₁ norm 2s(x). Flipped, it changes by
(s(x) + s(-x))(e_i - e_j) = F'/(F(1-F)) (e_i - e_j), at most 2κ₁ in ℓ₁; replaced, by at most 4 sup s; added or
removed, by 2 sup s.

*Log-determinant term.* A comparison contributes c(x)(e_i - e_j)(e_i - e_j)ᵀ, c = -(log F)'' in [0, κ₂]. By the
matrix determinant lemma each comparison whose curvature grows adds at most log(1 + 2κ₂/γ), and one whose
curvature shrinks adds at most 0.

*Logistic link.* c(x) = c(-x): a flip leaves the Hessian as it is, so its loss is 2/λ for **any** γ > 0. Where
a comparison is added, gradient and curvature can't both be large: with p = F(x), 2(1-p)/λ + log(1 + 2p(1-p)/γ)
has derivative at most -2/λ + 2/γ ≤ 0 in p when γ ≥ λ, because log(1+z) ≤ z and p(1-p) ≤ p; so it is at most its
value at p = 0, 2/λ. Hence ε = 2/λ (add, remove) and ε = 2/λ + 2/λ (replace). For L comparisons each of these is
multiplied by L.

*Gaussian noise.* w' = w + Δ with Δ = Σ_l a_l v_l over the k changed comparisons (k = 2L replaced, L otherwise), v_l
fixed vectors ±(e_i - e_j) and a_l in [0, A] depending on θ: A = sup s, or κ₁ for flips. Hence Δ₂ = √2 A k, and
‖Δ‖² ≤ 2 (Σ a_l)² ≤ 2kA Σ a_l. Let X_l = wᵀv_l, each N(0, 2σ²) whatever their joint law, and spend ε₀ on the
log-determinant term. The loss is (2wᵀΔ + ‖Δ‖²)/(2σ²) + ε₀ ≤ Σ_l a_l (X_l + kA)/σ² + ε₀. As
1 - e^{ε - z} ≤ z - ε and (Σ z_l)₊ ≤ Σ (z_l)₊, the hockey-stick divergence, E(1 - e^{ε - loss})₊, is at most
Σ_l E(A(X_l + kA)₊/σ² - (ε - ε₀)/k)₊ for ε ≥ ε₀. As ε - ε₀ ≥ 0, each of the k terms is 1/k of E(G - ε + ε₀)₊ with
G = kA X_l/σ² + k²A²/σ², which is N(r²/2, r²) for r = Δ₂/σ: the loss of the Gaussian mechanism of sensitivity Δ₂. So
**the δ of objective perturbation at ε is at most E(G - ε + ε₀)₊ = r(φ(t) - tΦ(-t)), t = (ε - ε₀)/r - r/2**. The
Gaussian mechanism's δ at ε - ε₀ is E(1 - e^{ε - ε₀ - G})₊, below it by a few percent at small δ, hence σ by a few
thousandths.

*Logistic link, Gaussian.* A flip has a_l = s(x) + s(-x) = 1: the shift is constant, and δ exactly the Gaussian
mechanism's. Where comparisons are added or removed, **ε₀ = 0 if γ ≥ 2k/ε**, the floor of Laplace noise. A comparison
that leaves the data set adds at most 2a_l(1 - a_l)/γ to the log-determinant term (a_l = 1 - p, as above), so its share
of the loss is at most the largest value of a(X_l + k)/σ² + 2a(1 - a)/γ over a in [0, 1]. This concave function has the
slope (X_l + k)/σ² - 2/γ at a = 1. If that is at least 0, the largest value is (X_l + k)/σ², as without the term;
otherwise the function is at most 2a/γ + 2a(1 - a)/γ = 2(1 - (1 - a)²)/γ ≤ 2/γ ≤ ε/k, and the comparison's term in
the sum above is 0. (Redberg, Koskela and Wang bound the loss of one comparison with ε₀ spent and a factor of 2 for the
sign of a_l, which is known here; for L comparisons the X_l differ, and the sum over l takes the place of one X.)

Comparisons may have weights of at most 1, public under flips: :mod:`privrank_jax.pairwise.weighted_comparisons`.

**Why floating point breaks these proofs.** They are about densities. For any published θ̃ and either of two neighboring
data sets, exactly one noise vector, w = -∇L(θ̃) - γθ̃, makes θ̃ the minimizer, and the two densities of these w, with
the two Jacobians, differ by a factor of at most e^ε. This assumes a continuum of noise and an exact minimizer, and a
computer has neither. A floating-point draw by the inverse CDF takes finitely many values, a few million per coordinate
in float32, with gaps between them that widen in the tails. So even with an exact minimizer, each data set can lead only
to a finite set of θ̃, and its neighbor to a different one. The digits of θ̃ determine w under either data set, up to a
shift of all its entries. If the generator can draw only one of the two, the other data set is ruled out: ε is infinite
(Mironov 2012, for a single noisy number). In float64 there are more such values, but still not the same ones for both
data sets. Nor is the minimizer exact: the solver stops where the gradient r is small, not zero, so θ̃ corresponds to
the noise w - r, where r depends on the data through every iteration; then θ̃ is rounded. Publishing few digits hides
much of this in practice, but no theorem covers it.

Two ways avoid the problem. Noise on integer totals: all data sets share one grid of outputs, on which probabilities
rather than densities are compared, and computations on the noisy totals are post-processing, however inexact. And the
theorem itself: :mod:`privrank_jax.release.minimizer` publishes the true minimizer for truly real noise, rounded to a
grid, which is post-processing as well; it computes these roundings without error.

Mironov (2012), *On significance of the least significant bits for differential privacy*. Redberg, Koskela and Wang
(2023), *Improving the privacy and practicality of objective perturbation for differentially private linear learners*.
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._quickly import quickly
from privrank_jax._roots import bracketed_root
from privrank_jax._types import Numbers
from privrank_jax._validate import (
    check_choice,
    check_delta,
    check_epsilon,
    check_nonnegative,
    check_positive,
    is_traced,
)
from privrank_jax.links import Link, normal
from privrank_jax.privacy.noise import NOISES, check_approximate
from privrank_jax.privacy.privacy import Privacy

# Share of ε that the log-determinant term of objective perturbation may use: as the hard floor of γ, and
# where γ is ours to choose.
_LOG_DET_SHARE_FLOOR = 0.5
_LOG_DET_SHARE_DEFAULT = 0.25


def laplace_scale(sensitivity: Numbers, epsilon: Numbers) -> Numbers:
    """Scale Δ₁/ε, at which the Laplace mechanism is ε-DP (Dwork, McSherry, Nissim, Smith 2006).

    Args:
        sensitivity: Δ₁, the ℓ₁ sensitivity.
        epsilon: ε > 0; ∞ gives scale 0.

    Returns:
        The scale, of the type of the arguments.

    >>> laplace_scale(2.0, 0.5)
    4.0
    """
    check_positive("sensitivity", sensitivity, infinite=False)
    epsilon = check_epsilon(epsilon)
    return sensitivity / epsilon


def additive_scale(noise: str, privacy: Privacy, first: Numbers, second: Numbers) -> Any:
    """λ for the ℓ₁ sensitivity ``first`` (``noise="laplace"``), or σ for the ℓ₂ sensitivity ``second`` (Gaussian).

    For K-norm noise, whose body takes the place of the ℓ₁ ball, ``first`` is the factor by which the body holds the
    change, and the result the scale of the noise.

    >>> additive_scale("laplace", Privacy(0.5, unit="user", adjacency="replace"), 2.0, 2**0.5)
    4.0
    """
    if noise != "gaussian":
        return laplace_scale(first, privacy.epsilon)
    return gaussian_scale(second, privacy.epsilon, privacy.delta)


def gaussian_delta(scale: Numbers, sensitivity: Numbers, epsilon: Numbers) -> Float[Array, "..."]:
    """Exact δ at ε of the Gaussian mechanism, Φ(Δ₂/2σ - εσ/Δ₂) - e^ε Φ(-Δ₂/2σ - εσ/Δ₂).

    Args:
        scale: σ, the standard deviation.
        sensitivity: Δ₂, the ℓ₂ sensitivity.
        epsilon: ε >= 0.

    Returns:
        δ; the arguments broadcast. NaN where ε < 0.

    Source: Balle and Wang (2018), Theorem 8.

    >>> sigma = gaussian_scale(1.0, 1.0, 1e-5)
    >>> round(float(gaussian_delta(sigma, 1.0, 1.0)) * 1e5, 2)
    1.0
    """
    epsilon = jnp.where(jnp.asarray(epsilon) >= 0, epsilon, jnp.nan)
    upper, lower = _gaussian_tails(jnp.asarray(sensitivity / scale), epsilon)
    return _tail_difference(upper, lower, epsilon)


def _gaussian_tails(ratio: Array, epsilon: Numbers) -> tuple[Array, Array]:
    """log Φ(r/2 - ε/r) and log Φ(-r/2 - ε/r), r = Δ₂/σ."""
    both = jnp.stack([ratio / 2 - epsilon / ratio, -ratio / 2 - epsilon / ratio])
    upper, lower = normal.log_cdf(both)  # one copy of it in a program
    return upper, lower


def _tail_difference(upper: Array, lower: Array, epsilon: Numbers) -> Array:
    return jnp.exp(upper) * -jnp.expm1(jnp.minimum(epsilon + lower - upper, 0.0))


def gaussian_scale(sensitivity: Numbers, epsilon: Numbers, delta: Numbers) -> Float[Array, "..."]:
    """Smallest σ at which the Gaussian mechanism is (ε, δ)-DP, by bisection, never rounded down.

    For small ε, δ is the difference of two nearly equal tails, so an allowance for the rounding of their logarithms is
    added to it: in float32 σ comes out up to 3 % too large at ε = 3e-4, below 0.1 % for ε >= 0.01; in float64 1e-10.

    Args:
        sensitivity: Δ₂ > 0.
        epsilon: ε > 0, may be traced; ∞ gives 0.
        delta: δ in (0, 1), may be traced.

    Returns:
        σ; the arguments broadcast.

    Source: Balle and Wang (2018), "analytic Gaussian mechanism".

    >>> float(gaussian_scale(1.0, 1.0, 1e-5)) < math.sqrt(2 * math.log(1.25e5))
    True
    """
    check_positive("sensitivity", sensitivity, infinite=False)
    epsilon = check_epsilon(epsilon)
    delta = check_delta(delta, positive=True)
    told = (sensitivity, epsilon, delta)
    if not all(isinstance(one, int | float) for one in told):
        return jax.device_put(quickly(_gaussian_scale, *told))
    ratio = _known_ratio(float(epsilon), float(delta), jnp.result_type(float))
    return jax.device_put(_scaled(float(sensitivity), ratio))


@functools.lru_cache(maxsize=1024)
def _known_ratio(epsilon: float, delta: float, dtype: np.dtype) -> Any:
    """:func:`_gaussian_ratio` of numbers, of which a plan of many mechanisms asks for the same ones again and again."""
    return quickly(_gaussian_ratio, dtype.type(epsilon), delta)


def _gaussian_scale(sensitivity: Numbers, epsilon: Numbers, delta: Numbers) -> Array:
    epsilon = jnp.asarray(epsilon, jnp.result_type(float))
    return _scaled(sensitivity, _gaussian_ratio(epsilon, delta))


def _scaled(sensitivity: Numbers, ratio: Any) -> Any:
    return sensitivity * ratio * (1 + 100 * jnp.finfo(ratio.dtype).eps)


def _gaussian_ratio(epsilon: Array, delta: Numbers) -> Array:
    """σ/Δ₂, but for an allowance for rounding; 0 at ε = ∞."""
    finite = jnp.where(jnp.isinf(epsilon), 1.0, epsilon)
    machine = jnp.finfo(epsilon.dtype).eps
    # σ/Δ₂ solves c/r + 1/(2r²) ≤ ε for c = √(2 log 1/δ): an upper end that always suffices.
    reach = jnp.sqrt(2 * jnp.log(1 / jnp.asarray(delta, epsilon.dtype)))
    high = jnp.log((reach + jnp.sqrt(reach**2 + 2 * finite)) / (2 * finite))

    def excess(log_ratio: Array) -> Array:
        upper, lower = _gaussian_tails(jnp.exp(-log_ratio), finite)
        rounding = 4 * machine * (1 - lower) * jnp.exp(upper)
        return _tail_difference(upper, lower, finite) + rounding - delta

    found = jnp.exp(bracketed_root(excess, high - 12.0, high))
    return jnp.where(jnp.isinf(epsilon), 0.0, found)


def gamma_floor(link: Link, privacy: Privacy) -> Numbers:
    """Smallest γ that :func:`calibrate_objective_perturbation` accepts (0 if every γ > 0 is enough)."""
    adjacency = privacy.adjacency
    if link.name == "logistic" and adjacency == "flip":
        return 0.0
    comparisons, epsilon = privacy.comparisons_per_unit, privacy.epsilon
    if link.name == "logistic":
        return _gradient_sensitivity(link, adjacency) * comparisons / epsilon
    return _gamma_of_share(link, epsilon, comparisons, _LOG_DET_SHARE_FLOOR)


def calibrate_objective_perturbation(
    link: Link,
    privacy: Privacy,
    *,
    gamma: Numbers | None = None,
    default_gamma: Numbers = 1.0,
    noise: str = "laplace",
    calibration: str = "tight",
) -> tuple[Any, Any]:
    """Noise scale and ridge of objective perturbation; the theorem and its proof head this module.

    Args:
        link: the link F; κ₁ = ∞ (normal) is refused.
        privacy: what is promised: unit comparison, or user with ``contributions`` L; any adjacency. ε, δ and L
            may be traced.
        gamma: ridge γ; a value below the floor is refused, or raised to the floor when traced. ``None`` takes
            ``default_gamma`` or the least γ that leaves the noise a fair share of ε, whichever is larger.
        default_gamma: the γ wanted for utility, computed from public quantities only.
        noise: ``"laplace"`` (pure ε), or ``"gaussian"`` at the δ of the promise.
        calibration: ``"tight"``, or ``"published"``: Cai, Propositions 2.1 and 3.1, λ = 8κ₁L/ε and
            γ ≥ 4κ₂/ε (one comparison) or 8κ₂L/ε (users); sound for replacement, hence for the rest. κ₂ is the
            supremum of the curvature, 1/4 for the logistic link, as in the published code; with the κ₂ that the paper's
            (A2) asks for, above 56.6, γ would be 226 times as large (:mod:`privrank_jax.links`). The propositions
            do not cover the Laplace link, which violates (A2); the theorem of this module does, at 3ε/4.

    Returns:
        (λ or σ, γ).

    Raises:
        ValueError: infinite κ₁, γ below its floor, users without ``contributions``, published or δ-less Gaussian
            noise.

    >>> from privrank_jax.links import get_link
    >>> promise = Privacy(1.0, unit="comparison", adjacency="flip")
    >>> scale, gamma = calibrate_objective_perturbation(get_link("logistic"), promise)
    >>> float(scale), float(gamma)
    (2.0, 1.0)
    """
    check_choice("noise", noise, NOISES)
    check_choice("calibration", calibration, ("tight", "published"))
    epsilon, adjacency, comparisons = (
        privacy.epsilon,
        privacy.adjacency,
        privacy.comparisons_per_unit,
    )
    if not math.isfinite(link.kappa1):
        raise ValueError(
            f"the {link.name} link has an unbounded score (κ₁ = ∞), so no finite noise makes the "
            "perturbed MLE private. Use link='logistic' or link='laplace', or noisy_counts, which "
            "needs no link."
        )
    if calibration == "published":
        if noise != "laplace":
            raise ValueError("the published calibration is for Laplace noise; use noise='laplace'.")
        floor = (8.0 if privacy.unit == "user" else 4.0) * link.kappa2 * comparisons / epsilon
        scale = 8.0 * link.kappa1 * comparisons / epsilon
        return scale, default_or_given(gamma, floor, default_gamma)

    floor = gamma_floor(link, privacy)
    spends_on_determinant = link.name != "logistic"
    if spends_on_determinant:
        default_gamma = jnp.maximum(
            default_gamma, _gamma_of_share(link, epsilon, comparisons, _LOG_DET_SHARE_DEFAULT)
        )
    gamma = default_or_given(gamma, floor, default_gamma)
    left = epsilon
    if spends_on_determinant:
        spent = comparisons * jnp.log1p(2 * link.kappa2 / gamma)
        left = jnp.where(jnp.isinf(epsilon), jnp.inf, epsilon - spent)
    delta1 = _gradient_sensitivity(link, adjacency) * comparisons
    if noise == "laplace":
        return delta1 / left, gamma
    check_approximate(privacy, "noise='gaussian'", "noise='laplace'")
    delta2 = delta1 / math.sqrt(2.0)
    if link.name == "logistic" and adjacency == "flip":  # Gaussian noise on the totals
        return gaussian_scale(delta2, epsilon, privacy.delta), gamma
    return quickly(_bounded_scale, delta2, left, privacy.delta), gamma


def calibrate_answers(
    privacy: Privacy, change: float, spread: float = 0.0, *, gamma: Numbers | None = None
) -> tuple[Any, Any]:
    """Laplace scale and ridge of objective perturbation where an answer is one of several alternatives.

    Theorem and proof: head of :mod:`privrank_jax.pairwise.objective_perturbation`. An answer that is added loses
    D/λ + V/γ at most, one that is removed as well, one that is replaced 2D/λ + V/γ.

    Args:
        privacy: what is promised: unit comparison, or user with ``contributions``; adjacency replace or add-remove.
        change: D, λ times the largest size of the gradient of an answer.
        spread: V, γ times the largest trace of its curvature where it was sure to be another one.
        gamma: ridge γ, at least its floor, at which γ = λ; ``None``: the floor, at least 1. May be traced, then it is
            raised to the floor.

    Returns:
        (λ, γ), γ ≥ λ.

    Raises:
        ValueError: γ below its floor, users without ``contributions``.

    >>> promise = Privacy(1.0, unit="user", adjacency="replace", contributions=10)
    >>> [float(one) for one in calibrate_answers(promise, 2.0)]
    [40.0, 40.0]
    """
    answers, epsilon = privacy.comparisons_per_unit, privacy.epsilon
    moved = (2 if privacy.adjacency == "replace" else 1) * change
    gamma = default_or_given(gamma, (moved + spread) * answers / epsilon, 1.0)
    return moved * answers / (epsilon - spread * answers / gamma), gamma


def _gradient_sensitivity(link: Link, adjacency: str) -> float:
    """ℓ₁ change of the gradient per changed comparison; in ℓ₂ it is this over √2."""
    if adjacency == "flip":
        return 2.0 * link.kappa1
    return (4.0 if adjacency == "replace" else 2.0) * link.sup_score


def _gamma_of_share(link: Link, epsilon: Numbers, comparisons: Numbers, share: float) -> Array:
    """γ at which the log-determinant term is ``share`` of ε."""
    return 2 * link.kappa2 / jnp.expm1(share * epsilon / jnp.asarray(comparisons, float))


def _bounded_scale(sensitivity: Numbers, epsilon: Numbers, delta: Numbers) -> Array:
    """Least σ with r(φ(t) - tΦ(-t)) ≤ δ, r = Δ₂/σ, t = ε/r - r/2 (module docstring), by bisection; 0 at ε = ∞.

    An allowance for the rounding of the two terms, of t and of the result keeps σ from being too small.
    """
    left = jnp.asarray(epsilon, jnp.result_type(float))
    allowed = jnp.asarray(delta, left.dtype)
    finite = jnp.where(jnp.isinf(left), 1.0, left)
    machine = jnp.finfo(left.dtype).eps

    def excess(log_ratio: Array) -> Array:
        ratio = jnp.exp(-log_ratio)
        at = jnp.minimum(finite / ratio - ratio / 2, 40.0)  # a smaller t has a larger bound
        density = jnp.exp(-(at**2) / 2) / math.sqrt(2 * math.pi)
        tail = jnp.exp(normal.log_cdf(-at))
        terms = (density + jnp.abs(at) * tail) * (1 + at**2) + tail * (finite / ratio + ratio / 2)
        return ratio * (density - at * tail + 4 * machine * terms) - allowed

    # The bound is at least r²/2 - ε, and at most φ(0)·r once t >= 0.
    low = -0.5 * jnp.log(2 * (finite + 1)) - 0.1
    high = 0.1 - jnp.log(jnp.minimum(allowed, jnp.sqrt(2 * finite)))
    found = jnp.exp(bracketed_root(excess, low, high))
    ratio = jnp.where(jnp.isinf(left), 0.0, found) * (1 + 100 * machine)
    return jnp.asarray(sensitivity * ratio)


def default_or_given(gamma: Numbers | None, floor: Numbers, default: Numbers) -> Numbers:
    """``gamma`` if it is not below its floor; if it is ``None``, the default, raised to the floor if need be."""
    if gamma is None:
        return jnp.maximum(default, floor)
    check_nonnegative("gamma", gamma)
    if not is_traced(gamma, floor):
        short = np.asarray(gamma) < np.asarray(floor) * (1 - 1e-6)
        if np.any(short):
            raise ValueError(
                f"gamma = {gamma} is below {float(np.max(np.asarray(floor))):.6g}, the least ridge for "
                "which this guarantee is proven. Raise gamma, or leave it out for a default."
            )
    return jnp.maximum(gamma, floor)
