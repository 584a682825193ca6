r"""Private footrule costs: noise on counts of positions, and any assignment of least noisy cost.

The costs C_jp = Σ_q h_jq·\|q - p\| are linear in the position histograms (:mod:`privrank_jax.aggregation.footrule`),
and only their differences within a row matter. These are prefix counts: C_j,p+1 - C_jp = 2F_jp - 1, with F_jp the share
of users who have item j at place p or before. A user with ties or unknown items is a mean over positions in each row.
C_j0 = Σ_p (1 - F_jp), so the costs of a row are a function of its m - 1 prefix counts; what is published is that
function of noisy counts, the mean of a row included, since it depends on the data as well.

**What one user changes** (unit user, adjacency replace). In a row, n·F changes by a vector y_j with entries in [-1, 1].
For full rankings Σ_p \|y_jp\| is \|π(j) - π'(j)\|, and Σ_j of it at most ⌊m²/2⌋, for a ranking and its reversal. The
same holds with ties: as entries of a row change from 0 to 1 at the user's position (by halves around q + 1/2), Σ_p
\|y_jp\| is the distance of the two positions; positions are points of the permutohedron, and Σ_j of the distances is
convex, so largest at vertices, which are full rankings (:mod:`privrank_jax.aggregation.borda`). With unknown items y is
a mean of two such vectors. \|y\| ≤ 1 gives y² ≤ \|y\|. So n·F changes by at most ⌊m²/2⌋ in ℓ₁, √⌊m²/2⌋ in ℓ₂ and 1 in
ℓ_∞, and the reversal attains all three. Hence on all F

- ``"k-norm"`` noise in the shape of the cube [-1, 1]^d, d = m(m-1), of scale 1/(nε), is ε-DP;
- ``"laplace"`` noise of scale ⌊m²/2⌋/(nε) is ε-DP;
- ``"gaussian"`` noise of σ = √⌊m²/2⌋/(μn) is (ε, δ)-DP, μ the largest sensitivity that is (ε, δ)-DP at σ = 1;

and at no smaller scale. The variance of Laplace noise is 3/2 times that of the cube with many items, and more with few.
Laplace noise on the counts of positions themselves, which a user changes by 2m in ℓ₁, makes it at least 1.2 times more.

*Gaussian noise* is near the best of all. This is the square-root factorization of the distances: F is the embedding x
of places with ‖x_p - x_q‖² = \|p - q\|. For a linear map A of rows, ‖A(e_π(j) - e_π'(j))‖², summed over j and averaged
over all π', is 2tr(M), M = PAᵀAP, P = I - 11ᵀ/m. So the product of the sensitivity squared and the squared error is at
least 2tr(M)·tr(D'M⁺D') ≥ 2(tr\|D'\|)² = 2(m²-1)²/9, by Cauchy and Schwarz, with D' the distances projected by P. Ours
is 2(m²-1)/3·⌊m²/2⌋, at most 3/2·m²/(m²-1) times that.

**Error.** Let E be the noise on the costs, and σ̃ of least noisy cost. Then C(σ̃) ≤ C(σ) + Σ_j R_j for all σ, R_j the
range of E_jp over p, and K ≤ C ≤ 2K give

    K(σ̃, w) ≤ (2 - 1/(2m-1))·OPT + (1 - 1/(4m-2))·Σ_j R_j.

:mod:`privrank_jax.aggregation.noise_totals` bounds Σ_j R_j: with Gaussian noise its mean is at most (4/√π)·m²√(m-1)/
(μn), 2.26·m^2.5/(μn), where Borda's order has ratio 5; in the cube at most 2·m^3.5/(εn).

Hillebrand, Manurangsi, Suppakitpaisarn and Vajanopath (2026) first used the footrule for private aggregation.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import Count, Key, Mask, Numbers
from privrank_jax._validate import check_users, is_traced
from privrank_jax.aggregation.diagnostics import FootruleDiagnostics
from privrank_jax.aggregation.footrule import (
    PositionHistograms,
    check_histograms,
    footrule_costs,
    set_aside,
)
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.bodies import Independent, Noise
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.geometry import Cube
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import SHAPED_NOISES
from privrank_jax.privacy.privacy import Privacy


def dp_footrule(
    key: Key, histograms: PositionHistograms, privacy: Privacy, *, noise: str = "k-norm"
) -> Estimate:
    """Footrule costs with noise, of which :func:`~privrank_jax.aggregation.assignment` makes a ranking.

    **Guarantee.** ε-DP with K-norm or Laplace noise, (ε, δ)-DP with Gaussian noise (analytic calibration); unit user,
    adjacency replace, and whatever these cover; proofs at the head of this module.

    Args:
        key: PRNG key.
        histograms: of n users; the number of items that are not padded may be traced.
        privacy: what is promised: unit user, adjacency replace. ε and δ may be traced; ε = ∞ adds no noise.
        noise: ``"k-norm"``, of least error under pure ε, ``"laplace"``, or ``"gaussian"`` for a promise with δ > 0.

    Returns:
        ``value``: noisy costs ``(m, m)``, unbiased, in positions: ``assignment(value)`` is the ranking, padded items
        last. ``guarantee``.
        ``diagnostics``: :class:`~privrank_jax.aggregation.diagnostics.FootruleDiagnostics`.

    Raises:
        TypeError: anything but :class:`~privrank_jax.aggregation.PositionHistograms`.
        ValueError: a promise that this can't keep, Gaussian noise without δ, histograms that are not those of n users.

    >>> from privrank_jax.aggregation.assignments import assignment
    >>> histograms = PositionHistograms.from_ranks([[2, 0, 1]] * 500)
    >>> costs = dp_footrule(
    ...     jax.random.key(0), histograms, Privacy(1.0, unit="user", adjacency="replace")
    ... )
    >>> assignment(costs.value).tolist()
    [2, 0, 1]
    """
    attained = of_rankings(privacy, "dp_footrule", noise, SHAPED_NOISES)
    if not isinstance(histograms, PositionHistograms):
        raise TypeError(
            f"dp_footrule takes PositionHistograms, got {type(histograms).__name__}: its noise is scaled to the number "
            "of users. PositionHistograms.from_ranks(ranks) counts both."
        )
    check_histograms(histograms)
    costs, mask = footrule_costs(histograms), histograms.mask
    items = histograms.num_items if mask is None else jnp.sum(jnp.asarray(mask, bool))
    scale = footrule_scale(items, attained, noise) / histograms.num_users
    value = _noised(key, costs, jnp.asarray(scale, costs.dtype), mask, noise)
    about = FootruleDiagnostics(scale * _spread(items, noise))
    return Estimate(value, Guarantee(privacy, attained), about)


def dp_footrule_deviation(
    num_items: int, num_users: Count, privacy: Privacy, *, noise: str = "k-norm"
) -> Numbers:
    """Root mean square of the noise on an item's costs, less its mean over places, in positions.

    Arguments, results and errors: as for :func:`~privrank_jax.aggregation.borda.dp_borda_scale` and
    :func:`dp_footrule`; m is not traced, and m < 1 or n < 1 is refused.

    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> [round(float(dp_footrule_deviation(20, 1000, privacy, noise=n)), 3) for n in ("k-norm", "laplace")]
    [0.803, 1.032]
    """
    attained = of_rankings(privacy, "dp_footrule_deviation", noise, SHAPED_NOISES)
    check_users(num_users)
    if num_items < 1:
        raise ValueError(f"num_items must be at least 1, got {num_items!r}.")
    return footrule_scale(num_items, attained, noise) / num_users * _spread(num_items, noise)


def footrule_scale(items: Count, attained: Privacy, noise: str) -> Numbers:
    """Scale of the noise on n times the prefix counts.

    Args:
        items: m, may be traced.
        attained: with ε and δ.
        noise: ``"k-norm"``, ``"laplace"`` or ``"gaussian"``.
    """
    moved = (jnp.maximum if is_traced(items) else max)(items, 2) ** 2 // 2
    return additive_scale(noise, attained, 1.0 if noise == "k-norm" else moved * 1.0, moved**0.5)


def _spread(items: Count, noise: str) -> Numbers:
    """Root mean square of the noise on a cost, less the mean of its row, at scale 1: of a walk of m - 1 steps."""
    dimension = 1.0 * items * (items - 1)
    cube = (dimension + 1) * (dimension + 2) / 3
    of_count = {"k-norm": cube, "laplace": 2.0, "gaussian": 1.0}[noise]
    return (of_count * 2 * (1.0 * items * items - 1) / (3 * items)) ** 0.5


@functools.partial(jax.jit, static_argnames=("noise",))
def _noised(
    key: Key,
    costs: Float[Array, "items items"],
    scale: Float[Array, ""],
    mask: Mask | None,
    noise: str,
) -> Float[Array, "items items"]:
    """The costs of noisy prefix counts of real items before real places; padding depends on those alone."""
    items = costs.shape[0]
    real = jnp.ones(items, bool) if mask is None else mask
    counted = (jnp.arange(1, items) < jnp.sum(real))[:, None] & real
    body = Cube(counted) if noise == "k-norm" else Independent(counted.shape)
    drawn = jnp.where(counted, Noise(noise, scale, body).draw(key, costs.dtype), 0)
    sums = jnp.cumsum(jnp.pad(drawn, ((1, 0), (0, 0))), axis=0)
    moved = jnp.where(scale == 0, 0, sums[-1] - 2 * sums)
    return set_aside(costs + moved.T, mask)
