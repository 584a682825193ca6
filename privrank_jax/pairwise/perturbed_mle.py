"""The perturbed maximum likelihood estimate of Cai, Chakraborty and Wang, with tight noise."""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp

from privrank_jax._types import Key, Numbers, PairMatrixLike, Scalar, Scores
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link, get_link
from privrank_jax.pairwise.fit import FitDiagnostics, fit_counts
from privrank_jax.pairwise.graph import check_one_problem
from privrank_jax.pairwise.masked import center
from privrank_jax.pairwise.noisy_counts import totals_noise
from privrank_jax.pairwise.questionnaire_noise import kept_on_totals
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.calibration import (
    calibrate_objective_perturbation,
    default_or_given,
)
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class PerturbedFit:
    """Noise scale, ridges and solver diagnostics of a private fit.

    Attributes:
        noise_scale: λ (Laplace) or σ (Gaussian) of each noisy number, or 1/ε (K-norm); public.
        gamma: the ridge γ, with covariates ``(m + p,)`` of each score and feature; public where the docstring of the
            estimator says so.
        fit: :class:`~privrank_jax.pairwise.fit.FitDiagnostics` of the solver. With noise in the objective a function of
            the private objective's iterates: for simulation and debugging, not for publication.
        tie_gamma: the ridge of log ν, where ties are outcomes of their own; public as γ is.
    """

    noise_scale: Numbers
    gamma: Numbers
    fit: FitDiagnostics
    tie_gamma: Scalar | None = None


def perturbed_mle(
    key: Key,
    wins: WinCounts,
    privacy: Privacy,
    *,
    link: str | Link = "logistic",
    gamma: Scalar | None = None,
    noise: str | None = None,
    calibration: str = "tight",
    sensitivity: Scalar | None = None,
    questionnaire: PairMatrixLike | None = None,
    weighted: bool = False,
) -> Estimate:
    """Private scores: the minimizer of -Σ W_ij log F(θ_i - θ_j) + (γ/2)‖θ‖² + wᵀθ with random w, centered.

    **Guarantee.** (ε, δ)-DP, δ = 0 for Laplace noise, for the promised unit and adjacency. The theorem and its
    proof are at the head of :mod:`privrank_jax.privacy.calibration`; for the logistic link and Laplace noise

    ==============  =================  ==================  =========
    adjacency       λ, one comparison  λ, L per user       γ
    ==============  =================  ==================  =========
    ``flip``        2/ε                2L/ε                any > 0
    ``replace``     4/ε                4L/ε                >= λ
    ``add-remove``  2/ε                2L/ε                >= λ
    ==============  =================  ==================  =========

    Under ``flip`` and the logistic link the estimate is the ridge fit to the *noisy win totals* N - w
    (the outcomes enter the likelihood through the totals alone), so it is post-processing of them: privacy depends
    neither on γ, nor on the solver, nor on floating point beyond that of the noise itself. Otherwise the proof is
    for real numbers (``numerics="idealized"``): floating point breaks it, as the head of
    :mod:`privrank_jax.privacy.calibration` says, and :func:`~privrank_jax.release.exact_perturbed_mle` keeps it.

    **Questionnaire.** Under ``flip`` and the logistic link, w may be K-norm noise in the shape of what the answers to a
    public questionnaire can change, as for :func:`~privrank_jax.pairwise.noisy_counts`: ε-DP, with about half of the
    variance.

    **Default γ.** The ridge with the least first-order risk for scores θ ~ N(0, 1):
    γ = (h + noise variance per dimension)/h with h = d/5 the information per item at the mean number d of comparisons
    per item, raised to the floor of the table. Where d is private (``add-remove``, and ``replace`` of a
    user, who may bring fewer comparisons), γ is the floor or 1.

    Args:
        key: PRNG key.
        wins: win counts of m items.
        privacy: what is promised: unit comparison (edge DP) or user (individual DP), any adjacency; flip treats as
            public who compared which items. ε = ∞ adds no noise; ε, δ and ``contributions`` may be traced. Users
            need ``contributions``, which must hold in the data (see
            :func:`~privrank_jax.comparisons.bound_contributions`), unless ``sensitivity`` or ``questionnaire`` is
            given.
        link: ``"logistic"`` or ``"laplace"``; ``"normal"`` is refused (κ₁ = ∞).
        gamma: ridge γ >= 0, may be traced (then raised to its floor); ``None`` = default.
        noise: ``"k-norm"``, ``"laplace"``, or ``"gaussian"`` at the δ of the promise; by default K-norm noise with a
            questionnaire, else Laplace noise.
        calibration: ``"tight"`` or ``"published"`` (λ = 8κ₁L/ε with γ >= 4κ₂/ε, or 8κ₂L/ε for users,
            for one comparison 2√(d log m) by default where d is public; Cai, Propositions 2.1, 3.1, and
            Theorem 2.1, which has c√(d log m) for a constant c; 2, and κ₂ = 1/4, are those of the published code).
        sensitivity: a smaller, public sensitivity of the win totals, in ℓ₁ for Laplace and ℓ₂ for
            Gaussian noise; only for ``flip`` with the logistic link.
        questionnaire: as for :func:`~privrank_jax.pairwise.noisy_counts`; only for ``flip`` with the logistic link. If
            it is traced, ``gamma`` must be given.
        weighted: whether comparisons count less than once, by :func:`~privrank_jax.pairwise.bounded_weights`: the sum
            of their weights is then private but under ``flip``, where weights are public. Theorem and proof are at the
            head of :mod:`privrank_jax.pairwise.weighted_comparisons`.

    Returns:
        ``value``: θ̃, ``(m,)``, mean 0 over real items, high = preferred. ``guarantee``.
        ``diagnostics``: :class:`PerturbedFit`.

    Raises:
        ValueError: a promise that can't be kept, Gaussian noise without δ, K-norm noise without a questionnaire, users
            without ``contributions``, a questionnaire that contradicts the promise, infinite κ₁, γ below its floor,
            unknown names, weights beside a sensitivity, a questionnaire or the published calibration.
        TypeError: ``wins`` is no :class:`~privrank_jax.comparisons.WinCounts`, for instance an edge list.

    Source: Cai, Chakraborty and Wang (2025), Algorithm 1 and equation (3.2); constants ours.

    >>> wins = WinCounts.from_matrix([[0, 90], [10, 0]])
    >>> promise = Privacy(1.0, unit="comparison", adjacency="flip")
    >>> estimate = perturbed_mle(jax.random.key(0), wins, promise)
    >>> bool(estimate.value[0] > estimate.value[1]), estimate.guarantee.adjacency
    (True, 'flip')
    """
    link = get_link(link)
    check_one_problem(wins)
    noise, attained = kept_on_totals(privacy, "perturbed_mle", noise, questionnaire)
    if weighted and not (sensitivity is None and questionnaire is None and calibration == "tight"):
        raise ValueError(
            "weighted comparisons have the tight calibration, without sensitivity and questionnaire: leave these out."
        )
    if sensitivity is None and questionnaire is None and noise != "k-norm":
        scale, ridge = calibrated_fit(wins, attained, link, gamma, noise, calibration, weighted)
        added = Noise.independent(noise, scale, wins.num_items)
    else:
        if attained.adjacency != "flip" or link.name != "logistic" or calibration != "tight":
            raise ValueError(
                "sensitivity and questionnaire, which are about the win totals, calibrate the perturbed MLE only for "
                "adjacency='flip', link='logistic', calibration='tight'; leave them out, or use noisy_counts."
            )
        added = totals_noise(noise, attained, wins.num_items, sensitivity, questionnaire)
        ridge = _ridge_on_totals(wins, attained, gamma, added)
    weight = jnp.asarray(ridge, wins.matrix.dtype)  # one program, whether γ is a number or an array
    value, fit = _solve(key, wins, added, weight, link)
    totals_suffice = attained.adjacency == "flip" and link.name == "logistic"
    guarantee = Guarantee(
        privacy, attained, numerics="simulation" if totals_suffice else "idealized"
    )
    return Estimate(value, guarantee, PerturbedFit(added.scale, ridge, fit))


@functools.partial(jax.jit, static_argnames=("link",))
def _solve(
    key: Key, wins: WinCounts, added: Noise, gamma: Scalar, link: Link
) -> tuple[Scores, FitDiagnostics]:
    tilt = added.draw(key, wins.matrix.dtype)
    found = fit_counts(wins, link, gamma=gamma, tilt=tilt)
    return center(found.value, wins.mask), FitDiagnostics.of(found)


def calibrated_fit(
    wins: WinCounts,
    privacy: Privacy,
    link: Link,
    gamma: Scalar | None,
    noise: str,
    calibration: str = "tight",
    weighted: bool = False,
) -> tuple[Any, Any]:
    """Noise scale and γ of objective perturbation, from public quantities only."""
    calibrate = functools.partial(
        calibrate_objective_perturbation, link, privacy, noise=noise, calibration=calibration
    )
    if gamma is not None:
        return calibrate(gamma=gamma)
    variance = Noise.independent(noise, calibrate()[0]).variance_per_dimension()
    chosen = {"calibration": calibration, "weighted": weighted}
    wanted = default_gamma(wins, privacy, variance, **chosen)
    return calibrate(default_gamma=wanted)


def _ridge_on_totals(wins: WinCounts, privacy: Privacy, gamma: Scalar | None, added: Noise) -> Any:
    """γ, which any value above 0 may have where the noise is on the totals."""
    if gamma is not None:
        return default_or_given(gamma, 0.0, 0.0)
    return default_gamma(wins, privacy, added.variance_per_dimension())


def default_gamma(
    wins: WinCounts,
    privacy: Privacy,
    variance: Numbers,
    *,
    calibration: str = "tight",
    weighted: bool = False,
) -> Numbers:
    """The γ chosen for utility at this noise variance per dimension, before its floor (see :func:`perturbed_mle`)."""
    users, adjacency = privacy.unit == "user", privacy.adjacency
    if calibration == "published" and (users or adjacency == "add-remove"):
        return 0.0  # the floor: the published choice for users, and where the number d is private
    items = jnp.maximum(jnp.sum(wins.item_mask), 2)
    degree = jnp.sum(wins.degrees) / items
    if calibration == "published":  # Theorem 2.1, with the constant of the published code
        return 2.0 * jnp.sqrt(jnp.maximum(degree, 1e-3) * jnp.log(items))
    if adjacency == "add-remove" or (adjacency == "replace" and (users or weighted)):
        return 1.0  # the number of comparisons, or the sum of their weights, is private
    return least_risk_gamma(degree, variance)


def least_risk_gamma(degree: Numbers, variance: Numbers) -> Any:
    """The ridge with the least first-order risk for scores θ ~ N(0, 1) fitted to noisy totals: γ = (h + variance)/h.

    Args:
        degree: mean number of comparisons of an item, d; h = d/5 is the usual information about a score.
        variance: of the noise of one total.

    Returns:
        γ, of the shape that the arguments broadcast to.

    >>> float(least_risk_gamma(50.0, 5.0))
    1.5
    """
    information = jnp.maximum(degree, 1e-3) / 5.0
    return (information + variance) / information
