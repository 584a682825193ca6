r"""The noise on sums of comparisons with covariates: its kinds, its scale, and which of them has the least error.

**Least error.** Which noise is best depends on the design alone, which is public, so choosing it costs no privacy. With
V the covariance of the noise and I the information of the design where all outcomes are even, I = Σ_r z_r z_rᵀ/4, one
linear step from noisy sums has the error I⁻¹VI⁻¹ from the noise: its trace, with coefficients at the largest size of
their features, is compared. Both noises have V ∝ 1/ε², so ε does not matter.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax._types import Scalar
from privrank_jax._validate import is_traced
from privrank_jax.pairwise.covariate_shape import covariate_shape, shaped_sensitivity
from privrank_jax.pairwise.covariates import CovariateDesign
from privrank_jax.pairwise.noisy_ties import tie_weight
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.calibration import additive_scale, laplace_scale
from privrank_jax.privacy.noise import SHAPED_NOISES, norm_of
from privrank_jax.privacy.privacy import Privacy


def kept_with_covariates(privacy: Privacy, by: str, noise: str) -> Privacy:
    """The privacy that a mechanism on comparisons with public covariates attains.

    Args:
        privacy: what is asked for.
        by: name of the mechanism.
        noise: ``"laplace"``, ``"gaussian"`` or ``"k-norm"``.

    Raises:
        TypeError, ValueError: as :func:`~privrank_jax.pairwise.promise.of_comparisons`; an adjacency other than flip; a
            promise that does not take the covariates as public; K-norm noise for single comparisons.
    """
    attained = of_comparisons(privacy, by, noise, SHAPED_NOISES)
    if attained.adjacency != "flip":
        raise ValueError(
            f"{by} fits to who compared what and to the covariates without noise, so it protects outcomes only: "
            f"promise adjacency='flip', not {attained.adjacency!r}, or leave the covariates out (perturbed_mle, "
            "noisy_counts)."
        )
    if "covariates" not in attained.neighbors.shared:
        raise ValueError(
            "the covariates of each comparison, and which item was first, enter the fit without noise, so the promise "
            "must say that they are public: Privacy(..., public=('covariates',))."
        )
    if noise == "k-norm" and attained.unit != "user":
        raise ValueError(
            "noise='k-norm' has the shape of what all outcomes of a user can change, so it needs unit='user', not "
            f"{attained.unit!r}: choose noise='laplace'."
        )
    return attained


def covariate_noise(
    design: CovariateDesign,
    privacy: Privacy,
    noise: str,
    sensitivity: Scalar | None = None,
    *,
    ties: bool = False,
) -> Noise:
    """The noise that keeps a promise.

    Args:
        design: the comparisons; not traced for K-norm noise, nor for users without a ``sensitivity``.
        privacy: from :func:`kept_with_covariates`.
        noise: its kind.
        sensitivity: a smaller public sensitivity in the norm of Laplace or Gaussian noise.
        ties: whether the number of ties is released too.

    Raises:
        ValueError: K-norm noise with a sensitivity; a design that is traced and must not be.
    """
    if noise == "k-norm":
        if sensitivity is not None:
            raise ValueError(
                "noise='k-norm' has the shape of what a user can change, which the design determines: leave "
                "sensitivity out, or choose noise='laplace'."
            )
        return noise_on_sums(design, noise, laplace_scale(1.0, privacy.epsilon), ties=ties)
    change: Any = sensitivity
    if change is None:
        change = covariate_sensitivity(design, privacy, norm_of(noise), ties=ties)
    scale = additive_scale(noise, privacy, change, change)
    return noise_on_sums(design, noise, scale, ties=ties)


def covariate_sensitivity(
    design: CovariateDesign, privacy: Privacy, norm: str, *, ties: bool = False
) -> Any:
    """Sensitivity of the sums to one unit: by norms of single comparisons or, if that is less, by the shape of G.

    The theorems are at the heads of :mod:`privrank_jax.pairwise.covariates` and
    :mod:`privrank_jax.pairwise.covariate_shape`.

    Args:
        design: the comparisons.
        privacy: the promise, of which the unit counts.
        norm: ``"l1"`` or ``"l2"``.
        ties: whether the number of ties is released too.

    Raises:
        ValueError: a traced design, for users: its shape is computed on the host.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> pairs, who = np.array([(0, 1), (0, 2), (1, 2)] * 2).T, [0, 0, 0, 1, 1, 1]
    >>> table = covariate_table(*pairs, [1] * 6, {}, num_items=3, users=who)
    >>> promise = Privacy(1.0, unit="user", adjacency="flip", public=("covariates",))
    >>> float(table.design.sensitivity(promise)), float(covariate_sensitivity(table.design, promise, "l1"))
    (6.0, 4.0)
    """
    generic = design.sensitivity(privacy, norm)
    if privacy.unit != "user":
        return generic
    if is_traced(design):
        raise ValueError(
            "what a user changes depends on the shape of the design, which must not be traced: keep the table's design "
            "out of jax.jit and jax.vmap (its outcomes may be traced), or give sensitivity."
        )
    return jnp.minimum(generic, shaped_sensitivity(design, norm, ties=ties))


def noise_on_sums(design: CovariateDesign, kind: str, scale: Any, *, ties: bool = False) -> Noise:
    """Noise of this kind and scale on the sums of this design, and on the number of ties behind them.

    Args:
        design: the comparisons; not traced for K-norm noise.
        kind: ``"k-norm"``, ``"laplace"`` or ``"gaussian"``.
        scale: 1/ε, λ or σ of each sum.
        ties: whether the number of ties is released too.

    Raises:
        ValueError: K-norm noise of a traced design, or of one without comparisons.
    """
    if kind == "k-norm":
        return Noise(kind, scale, covariate_shape(design).body(ties=ties))
    return Noise.independent(kind, scale, design.size + ties, (tie_weight(kind),) * ties)


def least_covariate_noise(design: CovariateDesign, privacy: Privacy, *, ties: bool = False) -> str:
    """Which of K-norm and Laplace noise has the least error in scores and effects, by the public design alone.

    K-norm noise needs users of whom each is asked about the same pairs; where they are, it is far better.

    Args:
        design: the comparisons, not traced.
        privacy: the promise, of which the unit counts.
        ties: whether the number of ties is released too.

    Returns:
        ``"k-norm"`` or ``"laplace"``.

    Raises:
        ValueError: a traced design.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> pairs, users = np.array([(0, 1), (0, 2), (1, 2)] * 4).T, np.repeat(np.arange(4), 3)
    >>> left = {"left": np.resize([1.0, -1.0], 12)}
    >>> promise = Privacy(1.0, unit="user", adjacency="flip", public=("covariates",))
    >>> table = covariate_table(*pairs, np.ones(12), left, num_items=3, users=users)
    >>> least_covariate_noise(table.design, promise)
    'k-norm'
    """
    if privacy.unit != "user":
        return "laplace"
    shape = covariate_shape(design)
    if not shape.shared:
        return "laplace"
    features = np.asarray(design.features, np.float64)
    weight = np.ones(design.size)
    if features.size:
        weight[design.num_items :] = np.square(features).max(axis=0)
    even = np.asarray(design.gram(jnp.full(len(features), 0.25, design.features.dtype)), np.float64)
    step = np.linalg.pinv(even, hermitian=True)
    change = float(covariate_sensitivity(design, privacy, "l1", ties=ties))

    def error(kind: str, scale: float) -> float:
        noise = noise_on_sums(design, kind, scale, ties=ties)
        spread = np.asarray(noise.covariance(), np.float64)[: design.size, : design.size]
        return weight @ np.sum((step @ spread) * step, axis=1)

    return "k-norm" if error("k-norm", 1.0) < error("laplace", change) else "laplace"
