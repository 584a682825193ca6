r"""Noise on the sums of comparisons with covariates and on the number of ties: the ties cost no privacy.

**Statistic.** Davidson's model with public covariates (:mod:`privrank_jax.pairwise.designs`) sees outcomes through the
sums S = Σ_r y_r z_r, ties half (:mod:`privrank_jax.pairwise.covariates`), and the number T of ties alone.

**Theorem (sensitivity).** *Let c = 1 for the ℓ₁ norm and c ≤ √(3/2) for the ℓ₂ norm. Between neighbors that differ in
the outcome of comparison r, (S, cT) moves by at most ‖z_r‖, and this is attained; if they differ in outcomes of user u,
by at most Σ_{r of u} ‖z_r‖. So its sensitivity is that of S alone.*

Proof. Another outcome of comparison r changes (S, cT) by

===================  ===============  ============  ====================
change               of (S, cT)       in ℓ₁         in ℓ₂
===================  ===============  ============  ====================
win to loss          (∓z_r, 0)        ‖z_r‖₁        ‖z_r‖₂
win or loss to tie   (∓z_r/2, ±c)     ‖z_r‖₁/2 + c  √(‖z_r‖₂²/4 + c²)
===================  ===============  ============  ====================

The lower line is at most the upper one in ℓ₁ iff c ≤ ‖z_r‖₁/2, and in ℓ₂ iff c² ≤ 3‖z_r‖₂²/4. Two entries of z_r are
1 and -1, so ‖z_r‖₁ ≥ 2 and ‖z_r‖₂² ≥ 2 whatever the features, and c² ≤ 1 or c² ≤ 3/2 suffices. A user's comparisons
change one after the other: the change is a sum of such changes, of norm at most Σ_{r of u} ‖z_r‖ by the triangle
inequality. ∎

Hence the noise of the sums alone, of scale λ or σ, serves for S, and λ or σ/c for T, with c = 11/9 for Gaussian noise
as in :mod:`privrank_jax.pairwise.noisy_ties`. The fit is post-processing.

*Common questions.* Where users are asked about the same pairs, S alone moves far less than Σ ‖z_r‖
(:mod:`privrank_jax.pairwise.covariate_shape`). Then T costs something: K-norm noise has one dimension more with it, the
ℓ₁ sensitivity of (S, T) is larger than that of S, and in ℓ₂ only the theorem above is known.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._types import Key
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.covariate_noise import (
    covariate_noise,
    kept_with_covariates,
)
from privrank_jax.pairwise.covariates import CovariateTable, check_table
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class CovariateTies:
    """What Davidson's model with covariates knows of the outcomes, here with noise.

    Attributes:
        sums: ``(m + p,)``, S, ties counted half.
        ties: number of ties T, shape ``()``.
    """

    sums: Float[Array | np.ndarray, "*batch parameters"]
    ties: Float[Array | np.ndarray, "*batch"]


def noisy_covariate_ties(
    key: Key, table: CovariateTable, privacy: Privacy, *, noise: str = "laplace"
) -> Estimate:
    """The sums S of comparisons with covariates and the number T of ties, plus noise.

    **Guarantee.** ε-DP (Laplace, K-norm) or (ε, δ)-DP (Gaussian) where outcomes of one unit change; for single
    comparisons with no more noise on the sums than without the ties. Theorem and proof at the head of this module.

    Arguments and errors: as for :func:`~privrank_jax.pairwise.covariate_noise.noisy_covariate_sums`; an outcome 1/2 is
    a tie.

    Returns:
        ``value``: :class:`CovariateTies`. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, λ or σ on each sum, or 1/ε; public.

    >>> from privrank_jax.pairwise.covariate_tables import covariate_table
    >>> table = covariate_table([0, 1], [1, 0], [1, 0.5], {"first": [1.0, 1.0]}, num_items=2)
    >>> free = Privacy(float("inf"), unit="comparison", adjacency="flip", public=("covariates",))
    >>> found = noisy_covariate_ties(jax.random.key(0), table, free).value
    >>> found.sums.tolist(), float(found.ties)
    ([0.5, -0.5, 1.5], 1.0)
    """
    attained = kept_with_covariates(privacy, "noisy_covariate_ties", noise)
    check_table(table)
    added = covariate_noise(table.design, attained, noise, ties=True)
    value = _noisy_ties(key, table, added)
    return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(added.scale))


def number_of_ties(table: CovariateTable) -> Float[Array, ""]:
    """T, the number of outcomes 1/2.

    Args:
        table: comparisons with features.
    """
    tied = (table.outcomes == 0.5).astype(table.design.features.dtype)
    return jnp.sum(table.design.real(tied))


@jax.jit
def _noisy_ties(key: Key, table: CovariateTable, added: Noise) -> CovariateTies:
    sums = table.sums
    drawn = added.draw(key, sums.dtype)
    return CovariateTies(sums + drawn[:-1], number_of_ties(table) + drawn[-1])
