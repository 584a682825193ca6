"""The noise on sums of comparisons with covariates: what it protects, and its scale."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp

from privrank_jax._types import Scalar
from privrank_jax._validate import is_traced
from privrank_jax.pairwise.covariate_shape import shaped_sensitivity
from privrank_jax.pairwise.covariates import CovariateDesign
from privrank_jax.pairwise.noisy_ties import tie_weight
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.noise import norm_of
from privrank_jax.privacy.privacy import Privacy


def kept_with_covariates(privacy: Privacy, by: str, noise: str) -> Privacy:
    """The privacy that a mechanism on comparisons with public covariates attains.

    Args:
        privacy: what is asked for.
        by: name of the mechanism.
        noise: ``"laplace"`` or ``"gaussian"``.

    Raises:
        TypeError, ValueError: as :func:`~privrank_jax.pairwise.promise.of_comparisons`; an adjacency other than flip; a
            promise that does not take the covariates as public.
    """
    attained = of_comparisons(privacy, by, noise)
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
        design: the comparisons; not traced for users without a ``sensitivity``.
        privacy: from :func:`kept_with_covariates`.
        noise: its kind.
        sensitivity: a smaller public sensitivity in the norm of the noise.
        ties: whether the number of ties is released too.

    Raises:
        ValueError: a design that is traced and must not be.
    """
    change: Any = sensitivity
    if change is None:
        change = covariate_sensitivity(design, privacy, norm_of(noise), ties=ties)
    return noise_on_sums(design, noise, additive_scale(noise, privacy, change, change), ties=ties)


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
    >>> first, second, who = [0, 0, 1] * 2, [1, 2, 2] * 2, [0, 0, 0, 1, 1, 1]
    >>> table = covariate_table(first, second, [1] * 6, {}, num_items=3, users=who)
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
        design: the comparisons.
        kind: ``"laplace"`` or ``"gaussian"``.
        scale: λ or σ of each sum.
        ties: whether the number of ties is released too.
    """
    return Noise.independent(kind, scale, design.size + ties, (tie_weight(kind),) * ties)
