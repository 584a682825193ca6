"""The perturbed maximum likelihood estimate of Cai, Chakraborty and Wang, with tight noise."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp

from privrank_jax._validate import check_choice, check_delta, check_epsilon, check_positive
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.likelihood import center, dense_objective
from privrank_jax.pairwise.mle import FitDiagnostics, fit_dense
from privrank_jax.privacy.calibration import (
    calibrate_objective_perturbation,
    gaussian_scale,
    laplace_scale,
)
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import gaussian, laplace
from privrank_jax.privacy.privacy import ADJACENCIES, COMPARISON_UNITS, Privacy

Array = jax.Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PerturbedFit:
    """What was added, and how the solver fared.

    Attributes:
        noise_scale: λ (Laplace) or σ (Gaussian) of each coordinate of w; public.
        gamma: the ridge γ; public wherever the docstring of the estimator says so.
        fit: :class:`~privrank_jax.pairwise.mle.FitDiagnostics` of the solver. A function of the private
            objective's iterates: for simulation and debugging, not for publication.
    """

    noise_scale: Array
    gamma: Array
    fit: FitDiagnostics


def perturbed_mle(
    key: Array,
    wins: WinCounts,
    epsilon: Any = 1.0,
    unit: str = "comparison",
    adjacency: str = "flip",
    comparisons_per_user: Any = 1,
    link: str | Link = "logistic",
    gamma: Any = None,
    calibration: str = "tight",
    *,
    delta: Any = 0.0,
    noise: str = "laplace",
    sensitivity: Any = None,
) -> Estimate:
    """Private scores: the minimizer of -Σ W_ij log F(θ_i - θ_j) + (γ/2)‖θ‖² + wᵀθ with random w, centered.

    **Guarantee.** (ε, δ)-DP, δ = 0 for Laplace noise, for the unit and adjacency given. Theorem and proof
    stand at the head of :mod:`privrank_jax.privacy.calibration`; for the logistic link and Laplace noise

    ==============  ================  ==================  =========
    adjacency       λ, one comparison λ, L per user       γ
    ==============  ================  ==================  =========
    ``flip``        2/ε               2L/ε                any > 0
    ``replace``     4/ε               4L/ε                >= λ
    ``add-remove``  2/ε               2L/ε                >= λ
    ==============  ================  ==================  =========

    Under ``flip`` and the logistic link the estimate is the ridge fit to the *noisy win totals* N - w
    (the outcomes enter the likelihood through the totals alone), so it is post-processing of them:
    privacy depends neither on γ nor on the solver nor on floating point beyond that of the noise
    itself. Elsewhere the proof is one for real numbers (``numerics="idealized"``):

    **Why floating point breaks that proof.** It is about densities. Whatever θ̃ was published, under either of two
    neighboring data sets exactly one noise vector, w = -∇L(θ̃) - γθ̃, makes it the minimizer, and the two densities
    of these w, with the two Jacobians, differ by a factor of e^ε at most. This takes a continuum of noise and an
    exact minimizer, and a computer has neither. A floating-point draw by the inverse CDF takes finitely many values,
    a few million per coordinate in float32, with gaps between them that widen in the tails. So even if the minimizer
    were exact, one data set could lead to a finite set of θ̃ only, and its neighbor to another one: from the digits
    of θ̃ follows w under either, but for a shift of all its entries, and where only one of the two is noise that the
    generator can draw, the other data set is ruled out, at an ε of infinity (Mironov 2012, for a single noisy number).
    In float64 there are more such values, but still not the same ones on both sides. And the minimizer is not exact:
    the solver stops where the gradient r is small, not zero, so that θ̃ belongs to the noise w - r, where r depends on
    the data through every step on the way; then θ̃ is rounded. To publish few digits hides much of this in practice,
    but no theorem covers it. Noise on integer totals escapes all of it: all data sets share one grid of outputs, on
    which probabilities are compared, not densities, and what is computed from these totals may be as inexact as it
    likes.

    **Default γ.** The ridge with the least first-order risk for scores θ ~ N(0, 1):
    γ = (h + noise variance)/h with h = d/5 the information per item at the mean number d of comparisons
    per item, raised to the floor of the table. Where d is private (``add-remove``, and ``replace`` of a
    user, who may bring fewer comparisons), γ is the floor or 1.

    Args:
        key: PRNG key.
        wins: win counts of m items.
        epsilon: ε > 0, may be traced; ∞ adds no noise.
        unit: ``"comparison"`` (edge DP) or ``"user"`` (individual DP).
        adjacency: ``"flip"``, ``"replace"`` or ``"add-remove"`` of one unit. ``"flip"`` protects the
            answers and takes who compared what as public.
        comparisons_per_user: L >= 1, most comparisons of one user, for ``unit="user"``. The bound must
            hold in the data: see :func:`~privrank_jax.comparisons.bound_contributions`.
        link: ``"logistic"`` or ``"laplace"``; ``"normal"`` is refused (κ₁ = ∞).
        gamma: ridge γ >= 0, may be traced (then raised to its floor); ``None`` = default.
        calibration: ``"tight"`` or ``"published"`` (λ = 8κ₁L/ε with γ >= 4κ₂/ε, or 8κ₂L/ε for users,
            for one comparison 2√(d log m) by default where d is public; Cai, Propositions 2.1, 3.1,
            Theorem 2.1).
        delta: δ, for Gaussian noise.
        noise: ``"laplace"`` or ``"gaussian"`` (needs δ > 0).
        sensitivity: a smaller, public sensitivity of the win totals, in ℓ₁ for Laplace and ℓ₂ for
            Gaussian noise (see :func:`~privrank_jax.pairwise.questionnaire_sensitivity`); only for
            ``flip`` with the logistic link.

    Returns:
        ``value``: θ̃, ``(m,)``, mean 0 over real items, high = preferred. ``guarantee``.
        ``diagnostics``: :class:`PerturbedFit`.

    Raises:
        ValueError: ε <= 0, unknown names, infinite κ₁, γ below its floor, δ missing.

    Source: Cai, Chakraborty and Wang (2025), Algorithm 1 and equation (3.2); constants ours. Mironov (2012), *On
    significance of the least significant bits for differential privacy*.

    >>> wins = WinCounts.from_matrix([[0, 90], [10, 0]])
    >>> estimate = perturbed_mle(jax.random.key(0), wins, epsilon=1.0)
    >>> bool(estimate.value[0] > estimate.value[1]), estimate.guarantee.adjacency
    (True, 'flip')
    """
    link = get_link(link)
    check_choice("unit", unit, COMPARISON_UNITS)
    check_choice("adjacency", adjacency, ADJACENCIES)
    check_epsilon(epsilon)
    check_positive("comparisons_per_user", comparisons_per_user, infinite=False)
    check_delta(delta, positive=noise == "gaussian")
    scale, gamma = _calibrate(
        wins, epsilon, unit, adjacency, comparisons_per_user, link, gamma, calibration, delta, noise,
        sensitivity,
    )  # fmt: skip
    value, fit = _solve(key, wins, scale, gamma, link, noise)
    totals_suffice = adjacency == "flip" and link.name == "logistic"
    attained = Privacy(
        epsilon, unit=unit, adjacency=adjacency, delta=delta if noise == "gaussian" else 0.0
    )
    guarantee = Guarantee(attained, numerics="simulation" if totals_suffice else "idealized")
    return Estimate(value, guarantee, PerturbedFit(scale, gamma, fit))


def scores_from_totals(totals: Any, comparisons: Any, gamma: Any, mask: Any = None) -> Estimate:
    """Logistic scores fitted to given, for instance noisy, win totals: no randomness, no access to outcomes.

    Solves Σ_j M_ij σ(θ_i - θ_j) + γθ_i = N_i. With N the noisy totals of a release whose comparison
    graph M is public (adjacency ``flip``) this *is* the perturbed MLE, as post-processing: it spends no
    privacy, to whatever tolerance it is solved. Totals need not be attainable; γ > 0 makes the solution
    finite and unique.

    Args:
        totals: ``(m,)`` float, N.
        comparisons: ``(m, m)`` symmetric, M_ij = how often i and j were compared, zero diagonal.
        gamma: ridge γ > 0, may be traced.
        mask: ``(m,)`` bool, real items (default all).

    Returns:
        ``value``: θ, ``(m,)``, mean 0 over real items, dtype of ``comparisons``. ``guarantee``: ``None``,
        that of the totals applies. ``diagnostics``: :class:`~privrank_jax.pairwise.mle.FitDiagnostics`,
        a function of the arguments alone.

    Raises:
        ValueError: γ <= 0, shapes that don't match.

    >>> estimate = scores_from_totals([90.0, 10.0], [[0.0, 100.0], [100.0, 0.0]], gamma=1e-6)
    >>> round(float(estimate.value[0] - estimate.value[1]), 3)  # log 9
    2.197
    """
    check_positive("gamma", gamma, infinite=False)
    comparisons = jnp.asarray(comparisons)
    if not jnp.issubdtype(comparisons.dtype, jnp.floating):
        comparisons = comparisons.astype(jnp.result_type(float))
    totals = jnp.asarray(totals, comparisons.dtype)
    if totals.ndim != 1 or comparisons.shape != totals.shape * 2:
        raise ValueError(
            f"totals (m,) and comparisons (m, m) don't match: got {totals.shape} and {comparisons.shape}."
        )
    return _fit_totals(totals, WinCounts(comparisons / 2, mask), gamma)


@jax.jit
def _fit_totals(totals: Array, halves: WinCounts, gamma: Any) -> Estimate:
    # Half of M_ij as wins of either side has the right graph; the tilt moves its totals to the given ones.
    tilt = halves.totals - totals
    found = fit_dense(dense_objective(halves, get_link("logistic"), ridge=gamma, tilt=tilt))
    diagnostics = FitDiagnostics(found.gradient_norm, found.steps, found.code)
    return Estimate(center(found.value, halves.item_mask), None, diagnostics)


@functools.partial(jax.jit, static_argnames=("link", "noise"))
def _solve(
    key: Array, wins: WinCounts, scale: Any, gamma: Any, link: Link, noise: str
) -> tuple[Array, FitDiagnostics]:
    draw = laplace if noise == "laplace" else gaussian
    dtype = wins.matrix.dtype
    tilt = draw(key, (wins.num_items,), scale, dtype)
    found = fit_dense(dense_objective(wins, link, ridge=gamma, tilt=tilt))
    diagnostics = FitDiagnostics(found.gradient_norm, found.steps, found.code)
    return center(found.value, wins.mask), diagnostics


def _calibrate(
    wins: WinCounts,
    epsilon: Any,
    unit: str,
    adjacency: str,
    comparisons_per_user: Any,
    link: Link,
    gamma: Any,
    calibration: str,
    delta: Any,
    noise: str,
    sensitivity: Any,
) -> tuple[Any, Any]:
    """Noise scale and γ, from public quantities only."""
    per_unit = comparisons_per_user if unit == "user" else 1
    calibrate = functools.partial(
        calibrate_objective_perturbation,
        link,
        epsilon=epsilon,
        adjacency=adjacency,
        comparisons=per_unit,
        delta=delta,
        noise=noise,
        calibration=calibration,
        unit=unit,
    )
    wanted_gamma = functools.partial(
        default_gamma, wins, unit=unit, adjacency=adjacency, calibration=calibration, noise=noise
    )
    if sensitivity is not None:
        if adjacency != "flip" or link.name != "logistic" or calibration != "tight":
            raise ValueError(
                "a sensitivity of the win totals calibrates the perturbed MLE only for adjacency='flip', "
                "link='logistic', calibration='tight'; leave it out, or use noisy_counts."
            )
        exact = (
            laplace_scale if noise == "laplace" else functools.partial(gaussian_scale, delta=delta)
        )
        scale = exact(sensitivity, epsilon)
        return scale, calibrate(gamma=gamma, default_gamma=wanted_gamma(scale))[1]
    if gamma is not None:
        return calibrate(gamma=gamma)
    return calibrate(default_gamma=wanted_gamma(calibrate()[0]))


def default_gamma(
    wins: WinCounts, scale: Any, *, unit: str, adjacency: str, calibration: str, noise: str
) -> Any:
    """The γ wanted for utility, before its privacy floor (see :func:`perturbed_mle`)."""
    if calibration == "published" and (unit == "user" or adjacency == "add-remove"):
        return 0.0  # the floor: the published choice for users, and where the number d is private
    items = jnp.maximum(jnp.sum(wins.item_mask), 2)
    degree = jnp.maximum(jnp.sum(wins.degrees) / items, 1e-3)
    if calibration == "published":
        return 2.0 * jnp.sqrt(degree * jnp.log(items))
    if adjacency == "add-remove" or (adjacency == "replace" and unit == "user"):
        return 1.0  # the number of comparisons is private
    variance = (2.0 if noise == "laplace" else 1.0) * jnp.square(scale)
    information = degree / 5.0
    return (information + variance) / information
