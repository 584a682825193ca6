r"""Private weights of all pairs: noise on every pair, then any solver (Reduction I).

**Sensitivity.** Replacing one of n users changes a pair's weight by at most 1/n: the user contributes a share in [0, 1]
to each pair (ties and gaps 1/2, see :mod:`privrank_jax.aggregation.weights`). Only the m(m-1)/2 entries above the
diagonal are released, so the change is at most m(m-1)/(2n) in ℓ₁ and √(m(m-1)/2)/n in ℓ₂. Both are attained: the
reversal of a ranking changes every pair by 1/n. So Laplace noise of scale m(m-1)/(2nε) is ε-DP, and no smaller scale
is; Gaussian noise has the smallest σ at which that ℓ₂ change is (ε, δ)-DP (Balle and Wang). Clipping to [0, 1],
mirroring w̃_ji = 1 - w̃_ij, and every ranking that a solver derives from w̃, are post-processing.

**Error.** A ranking σ that is α-optimal for w̃ has, by Fact 2 of the paper counted over unordered pairs,
K(σ, w) ≤ α OPT(w) + (1 + α) Σ_{i<j} |w̃_ij - w_ij|, and clipping only shrinks each term, whose mean is at most the
Laplace scale, or σ√(2/π). :func:`privrank_jax.aggregation.noise_all_bound` computes it.

Source: Alabi, Ghazi, Kumar and Manurangsi (2022), Theorem 1 and Corollaries 3 and 4, with the constants worked out.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax._types import Count, Key, Mask, Numbers, PairMatrix
from privrank_jax._validate import is_traced
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.weights import PairWeights, shares_of_users
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics, draw
from privrank_jax.privacy.privacy import Privacy


def noise_all(
    key: Key, weights: PairWeights, privacy: Privacy, *, noise: str = "laplace"
) -> Estimate:
    """Private pairwise weights, with noise on every pair, for any solver.

    **Guarantee.** ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise, unit user, adjacency replace, and whatever
    these cover; the sensitivities and their proof are at the head of this module.

    Args:
        key: PRNG key.
        weights: of n users; only the entries above the diagonal are read.
        privacy: what is promised: unit user, adjacency replace. ε and δ may be traced; ε = ∞ adds no noise.
        noise: ``"laplace"``, or ``"gaussian"`` for a promise with δ > 0.

    Returns:
        ``value``: ``(m, m)``, dtype of the weights: entries in [0, 1], w̃_ij + w̃_ji = 1, diagonal 0; 0 in the rows and
        columns of masked items. ``guarantee``. ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`.

    Raises:
        TypeError: a plain matrix in place of weights.
        ValueError: a promise that this can't keep, Gaussian noise without δ, weights that don't fit.

    >>> weights = PairWeights(jnp.array([[0.0, 0.75], [0.25, 0.0]]), 1000)
    >>> privacy = Privacy(jnp.inf, unit="user", adjacency="replace")
    >>> noise_all(jax.random.key(0), weights, privacy).value.tolist()
    [[0.0, 0.75], [0.25, 0.0]]
    """
    attained = of_rankings(privacy, "noise_all", noise)
    w, users, mask = shares_of_users(weights, "noise_all")
    items = w.shape[0] if mask is None else jnp.sum(mask)
    scale = noise_all_scale(items, users, privacy, noise=noise)
    value = _noise_pairs(key, w, scale, mask, noise)
    return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(scale))


def noise_all_scale(
    num_items: Count, num_users: Count, privacy: Privacy, *, noise: str = "laplace"
) -> Array | float:
    """Laplace scale or standard deviation of the noise that :func:`noise_all` adds to each weight, in shares of users.

    Args:
        num_items: m, may be traced; fewer than 2 items, which have no pair, count as 2.
        num_users: n >= 1, may be traced.
        privacy: what is promised, as for :func:`noise_all`.
        noise: ``"laplace"`` or ``"gaussian"``.

    Returns:
        λ or σ, a float or a scalar array.

    >>> noise_all_scale(10, 1000, Privacy(0.5, unit="user", adjacency="replace"))
    0.09
    """
    attained = of_rankings(privacy, "noise_all", noise)
    pairs = num_items * (num_items - 1) / 2
    pairs = jnp.maximum(pairs, 1.0) if is_traced(pairs) else max(float(pairs), 1.0)
    return additive_scale(noise, attained, pairs / num_users, pairs**0.5 / num_users)


@functools.partial(jax.jit, static_argnames=("noise",))
def _noise_pairs(
    key: Key, w: PairMatrix, scale: Numbers, mask: Mask | None, noise: str
) -> PairMatrix:
    noisy = jnp.clip(w + draw(key, noise, w.shape, scale, w.dtype), 0, 1)
    above = jnp.arange(w.shape[0])[:, None] < jnp.arange(w.shape[0])
    mirrored = jnp.where(above, noisy, 1 - noisy.T) * (1 - jnp.eye(w.shape[0], dtype=w.dtype))
    return mirrored if mask is None else mirrored * (mask[:, None] & mask)
