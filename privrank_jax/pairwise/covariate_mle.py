"""Private scores and coefficients of covariates: from noisy sums, or by noise in the objective."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import Key, Numbers, Scalar
from privrank_jax._validate import check_choice, check_positive
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.covariate_noise import (
    covariate_noise,
    kept_with_covariates,
    noise_on_sums,
)
from privrank_jax.pairwise.covariate_ties import noisy_covariate_ties
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable, check_table
from privrank_jax.pairwise.fit import fitted
from privrank_jax.pairwise.mle import TIES, design_of
from privrank_jax.pairwise.objective_perturbation import fit_in_objective, kept_by_objective
from privrank_jax.pairwise.perturbed_mle import PerturbedFit
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy, check_privacy

# Usual information about a score and about log ν, of one comparison: at scores ~ N(0, 1), and at equal scores; with
# ties as outcomes at ν = 1.
_USUAL, _USUAL_WITH_TIES, _USUAL_OF_TIES = 0.2, 1 / 7.0, 2 / 9.0


def covariate_mle(
    key: Key,
    table: CovariateTable,
    privacy: Privacy,
    *,
    gamma: Scalar | None = None,
    tie_gamma: Scalar | None = None,
    noise: str | None = None,
    sensitivity: Scalar | None = None,
    ties: str = "half",
) -> Estimate:
    """Private scores and coefficients of covariates, with ties as half wins or as outcomes of their own.

    **Guarantee.** Under ``flip``, where covariates and who met are public, (ε, δ)-DP for the outcomes of one comparison
    or one user, δ = 0 but for Gaussian noise: that of :func:`noisy_covariate_sums` or :func:`noisy_covariate_ties`, to
    which this is a ridge fit, post-processing whatever its ridge, solver and rounding.

    Under ``replace`` and ``add-remove`` all of this is private too and the noise is in the objective, ε-DP: with p
    covariates λ = (4 + p/2)L/ε or (2 + p/4)L/ε, twice that on sums of features and four times on ties; γ >= λ. Ties
    cost nothing. Theorem and proof: head of :mod:`privrank_jax.pairwise.objective_perturbation`, for real numbers
    (``numerics="idealized"``); ``release.exact_perturbed_covariate_mle`` is the exact twin.

    Args:
        key: PRNG key.
        table: comparisons with features, from :func:`covariate_table`, beyond ``flip`` with ``private=True``; an
            outcome 1/2 is a tie.
        privacy: what is promised: unit comparison or user; under ``flip`` with public ``"covariates"``, otherwise users
            need ``contributions``, which must hold. ε = ∞ adds no noise; ε, δ and ``contributions`` may be traced.
        gamma: ridge γ > 0 of the scores, in comparisons, may be traced; that of a feature is γ times the square of its
            largest size. Default: the ridge with the least first-order risk for scores, and for effects of covariates
            at their largest size, that are N(0, 1): 1 + (noise variance)/(information). Beyond ``flip`` that of
            features too, at least λ; default λ, or 1 if that is more.
        tie_gamma: ridge γ_T > 0 of log ν, may be traced; its default is made in the same way. Under ``flip`` only;
            otherwise it is 4γ.
        noise: as for :func:`noisy_covariate_sums`; default Laplace noise, which alone serves beyond ``flip``.
        sensitivity: as for :func:`noisy_covariate_sums`; for half wins under ``flip`` only.
        ties: ``"half"``: a tie is half a win; ``"davidson"``: an outcome of its own.

    Returns:
        ``value``: :class:`~privrank_jax.pairwise.designs.ModelScores`. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.pairwise.perturbed_mle.PerturbedFit`, its ``gamma`` of each score and feature; beyond
        ``flip`` its ``fit`` is not public.

    Raises:
        ValueError: as :func:`noisy_covariate_sums`; a ridge that is not positive or below its floor, an unknown
            treatment of ties, options that are for half wins or ``flip`` only; beyond ``flip`` a table whose scales
            were read from its rows.
        TypeError: ``table`` is no :class:`~privrank_jax.pairwise.covariates.CovariateTable`.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> first, second, won = [0, 1] * 60, [1, 0] * 60, [1, 1] * 40 + [0.5, 0.5] * 10 + [1, 0] * 10
    >>> table = covariate_table(first, second, won, {"first": [1.0] * 120}, num_items=2)  # who is first wins
    >>> promise = Privacy(5.0, unit="comparison", adjacency="flip", public=("covariates",))
    >>> bool(covariate_mle(jax.random.key(0), table, promise).value.coefficients[0] > 0.5)
    True
    >>> value = covariate_mle(jax.random.key(0), table, promise, ties="davidson").value
    >>> bool(value.coefficients[0] > 0.5), bool(0.2 < value.tie < 1.5)
    (True, True)
    """
    for name, given in (("gamma", gamma), ("tie_gamma", tie_gamma)):
        if given is not None:
            check_positive(name, given, infinite=False)
    check_choice("ties", ties, TIES)
    check_privacy(privacy)
    check_table(table)
    davidson, noise = ties == "davidson", noise or "laplace"
    if (davidson and sensitivity is not None) or (not davidson and tie_gamma is not None):
        raise ValueError(
            "sensitivity is about sums without ties, and tie_gamma about ties='davidson': leave it out."
        )
    if privacy.adjacency != "flip":
        if not (tie_gamma is None and sensitivity is None):
            raise ValueError(
                "tie_gamma and sensitivity are for adjacency='flip', where noise is on sums; leave them out."
            )
        kept_by_objective(privacy, "covariate_mle", noise)
        check_private(table)
        design, counted = design_of(table, davidson)
        return fit_in_objective(key, counted, privacy, design, "covariate_mle", gamma, noise)
    design = dataclasses.replace(table.design, ties=davidson)
    if davidson:
        noisy = noisy_covariate_ties(key, table, privacy, noise=noise)
        counted = jnp.append(noisy.value.sums, noisy.value.ties)
    else:
        noisy = noisy_covariate_sums(key, table, privacy, noise=noise, sensitivity=sensitivity)
        counted = noisy.value
    scale = noisy.diagnostics.noise_scale
    ridge, tie_ridge = default_covariate_ridges(design, scale, noise, gamma, tie_gamma)
    found = fitted(design, counted, design.all_ridges(ridge, tie_ridge))
    facts = PerturbedFit(scale, ridge, found.diagnostics, tie_ridge)
    return Estimate(found.value, noisy.guarantee, facts)


def noisy_covariate_sums(
    key: Key,
    table: CovariateTable,
    privacy: Privacy,
    *,
    noise: str = "laplace",
    sensitivity: Scalar | None = None,
) -> Estimate:
    """The sums S = Σ_r y_r z_r of comparisons with covariates, plus noise: all that outcomes contribute to a fit.

    **Guarantee.** ε-DP (Laplace, K-norm) or (ε, δ)-DP (Gaussian) where outcomes of one unit change. Theorem, proof, and
    what is public: head of :mod:`privrank_jax.pairwise.covariates`, and of :mod:`privrank_jax.pairwise.covariate_shape`
    for K-norm noise, which is far less where all users are asked the same pairs.

    Args:
        key: PRNG key.
        table: comparisons with features, from :func:`covariate_table`.
        privacy: what is promised: unit comparison or user, adjacency ``flip``, public ``"covariates"``. ε = ∞ adds no
            noise; ε and δ may be traced. Users need no ``contributions``: the table says who gave what.
        noise: ``"laplace"``, ``"gaussian"`` at the δ of the promise, or ``"k-norm"`` for users, in the shape of what
            one of them can change in this design, which must not be traced;
            :func:`~privrank_jax.pairwise.covariate_noise.least_covariate_noise` chooses.
        sensitivity: a smaller public sensitivity of S, ℓ₁ for Laplace and ℓ₂ for Gaussian noise, instead of the
            theorem's.

    Returns:
        ``value``: noisy sums, ``(m + p,)``: of the items, then of the features. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, λ, σ, or 1/ε for K-norm noise; public.

    Raises:
        ValueError: a promise of another adjacency or unit, or one that does not say that covariates are public;
            Gaussian noise without δ; K-norm noise for single comparisons, of a traced design, or with a sensitivity.
        TypeError: ``table`` is no :class:`CovariateTable`.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> table = covariate_table([0, 1], [1, 0], [1, 0], {"first": [1.0, 1.0]}, num_items=2)
    >>> free = Privacy(float("inf"), unit="comparison", adjacency="flip", public=("covariates",))
    >>> noisy_covariate_sums(jax.random.key(0), table, free).value.tolist()
    [1.0, -1.0, 1.0]
    """
    attained = kept_with_covariates(privacy, "noisy_covariate_sums", noise)
    check_table(table)
    added = covariate_noise(table.design, attained, noise, sensitivity)
    value = _noisy_sums(key, table, added)
    return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(added.scale))


def default_covariate_ridges(
    design: CovariateDesign,
    noise_scale: Numbers,
    noise: str,
    gamma: Scalar | None = None,
    tie_gamma: Scalar | None = None,
) -> tuple[Float[Array, "size"], Any]:
    """γ of each score and feature, and γ_T where the design says ``ties``: as given, or as :func:`covariate_mle` says.

    Args:
        design: the public part of the table.
        noise_scale: λ, σ or 1/ε of the noise.
        noise: its kind.
        gamma: γ of the scores.
        tie_gamma: γ_T.
    """
    told = tie_gamma is not None or not design.ties
    if gamma is not None and told:
        return design.ridges(gamma), tie_gamma
    law = noise_on_sums(design, noise, jnp.asarray(noise_scale, design.dtype), ties=design.ties)
    usual = _USUAL_WITH_TIES if design.ties else _USUAL
    ridge = _raised(design, law, usual) if gamma is None else design.ridges(gamma)
    if told:
        return ridge, tie_gamma
    rows = 0.5 * design.num_items * design.degree
    return ridge, 1 + law.variances[-1] / (_USUAL_OF_TIES * jnp.maximum(rows, 1e-3))


def _raised(design: CovariateDesign, law: Noise, usual: float) -> Array:
    """The ridge where the noise in each sum has a variance and each comparison so much information."""
    squares = design.ridges(1.0)
    of_items = jnp.broadcast_to(law.variance_per_dimension(), (design.num_items,))
    others = law.variances[design.num_items : design.size]
    variance = jnp.concatenate([of_items, others]).astype(squares.dtype)
    features = jnp.sum(jnp.square(design.real(design.features.T)), 1)
    met = jnp.broadcast_to(jnp.maximum(design.degree, 1e-3), (design.num_items,))
    return squares * (1 + variance / (jnp.concatenate([met, features]) * usual))


def check_private(table: CovariateTable) -> None:
    """Raise unless ``table`` is one whose features have scales by public bounds."""
    check_table(table)
    if not table.design.private:
        raise ValueError(
            "the scales of this table's features were read from its rows, which are private here: make it by "
            "covariate_table(..., bounds=..., private=True), or promise adjacency='flip', under which covariates are "
            "public."
        )


@jax.jit
def _noisy_sums(key: Key, table: CovariateTable, added: Noise) -> Float[Array, "parameters"]:
    sums = table.sums
    return sums + added.draw(key, sums.dtype)
