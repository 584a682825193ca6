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
as in :mod:`privrank_jax.pairwise.tie_noise`. The fit is post-processing.

*Common questions.* Where users are asked about the same pairs, S alone moves far less than Σ ‖z_r‖
(:mod:`privrank_jax.pairwise.covariate_shape`). Then T costs something: the ℓ₁ sensitivity of (S, T) is larger than that
of S, and in ℓ₂ only the theorem above is known.
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax.pairwise.covariates import CovariateTable


def number_of_ties(table: CovariateTable) -> Float[Array, ""]:
    """T, the number of outcomes 1/2.

    Args:
        table: comparisons with features.
    """
    tied = (table.outcomes == 0.5).astype(table.design.features.dtype)
    return jnp.sum(table.design.real(tied))
