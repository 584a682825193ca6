"""Noise on the sums of comparisons with public covariates."""

from __future__ import annotations

import jax
from jaxtyping import Array, Float

from privrank_jax._types import Key, Scalar
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.covariate_noise import covariate_noise, kept_with_covariates
from privrank_jax.pairwise.covariates import CovariateTable, check_table
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy


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


@jax.jit
def _noisy_sums(key: Key, table: CovariateTable, added: Noise) -> Float[Array, "parameters"]:
    sums = table.sums
    return sums + added.draw(key, sums.dtype)
