r"""Private weights of all pairs: noise on every pair, then any solver (Reduction I).

**Sensitivity.** Replacing one of n users changes a pair's weight by at most 1/n: the user contributes a share in [0, 1]
to each pair (ties and gaps 1/2, see :mod:`privrank_jax.aggregation.weights`). Only the m(m-1)/2 entries above the
diagonal are released, so the change is at most m(m-1)/(2n) in ℓ₁ and √(m(m-1)/2)/n in ℓ₂. Both are attained: the
reversal of a ranking changes every pair by 1/n. So Laplace noise of scale m(m-1)/(2nε) is ε-DP, and no smaller scale
is; Gaussian noise has the smallest σ at which that ℓ₂ change is (ε, δ)-DP (Balle and Wang). Clipping to [0, 1],
mirroring w̃_ji = 1 - w̃_ij, and every ranking that a solver derives from w̃, are post-processing.

**Shape.** The d = m(m-1)/2 entries move together, each by at most 1/n: their change lies in the cube [-1, 1]^d over n,
and in a vertex where a ranking is reversed. So K-norm noise of that shape at scale 1/(nε), that is a point of the cube,
uniform, times Gamma(d + 1)/(nε), is ε-DP, and at no smaller scale (:mod:`privrank_jax.privacy.geometry`). Its mean
absolute value on an entry is (d + 1)/(2nε), half of that of Laplace noise; its standard deviation is
√((d + 1)(d + 2)/3)/(nε) instead of √2·d/(nε); and where Laplace noise reaches d log d/(nε) on some entry, it stays
below Gamma(d + 1)/(nε) on all of them. Rankings change within a part of the cube: noise in its shape would be smaller
on an entry, but larger on Borda scores.

**Error.** A ranking σ that is α-optimal for w̃ has, by Fact 2 of the paper counted over unordered pairs,
K(σ, w) ≤ α OPT(w) + (1 + α) Σ_{i<j} |w̃_ij - w_ij|, and clipping only shrinks each term, whose mean is at most that
of the noise: (d + 1)/(2nε), the Laplace scale, or σ√(2/π). :func:`privrank_jax.aggregation.bounds.bound`
computes it.

Source: Alabi, Ghazi, Kumar and Manurangsi (2022), Theorem 1 and Corollaries 3 and 4, with the constants worked out.
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp

from privrank_jax._types import Count, Key, Mask, PairMatrix, Scalar
from privrank_jax._validate import is_traced
from privrank_jax._workarounds.xla import materialized
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.weights import PairWeights, shares_of_users
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.bodies import Independent, Noise
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.geometry import Cube
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import SHAPED_NOISES, NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy


def noise_all(
    key: Key, weights: PairWeights, privacy: Privacy, *, noise: str = "k-norm"
) -> Estimate:
    """Private pairwise weights, with noise on every pair, for any solver.

    **Guarantee.** ε-DP with K-norm or Laplace noise, (ε, δ)-DP with Gaussian noise, unit user, adjacency replace, and
    whatever these cover; what a user can change, and its proof, are at the head of this module:
    ``help(sys.modules[noise_all.__module__])``.

    Arguments and errors: as for :func:`~privrank_jax.aggregation.dp_borda`; only weights above the diagonal are read.

    Returns:
        ``value``: ``(m, m)``, dtype of the weights: entries in [0, 1], w̃_ij + w̃_ji = 1, diagonal 0; 0 in the rows and
        columns of masked items. ``guarantee``. ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`.

    >>> weights = PairWeights(jnp.array([[0.0, 0.75], [0.25, 0.0]]), 1000)
    >>> privacy = Privacy(jnp.inf, unit="user", adjacency="replace")
    >>> noise_all(jax.random.key(0), weights, privacy).value.tolist()
    [[0.0, 0.75], [0.25, 0.0]]
    """
    attained = of_rankings(privacy, "noise_all", noise, SHAPED_NOISES)
    w, users, mask = shares_of_users(weights, "noise_all")
    items = w.shape[0] if mask is None else jnp.sum(mask)
    scale = noise_all_scale(items, users, privacy, noise=noise)
    value = _noise_pairs(key, w, scale, mask, noise)
    return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(scale))


def noise_all_scale(
    num_items: Count, num_users: Count, privacy: Privacy, *, noise: str = "k-norm"
) -> Scalar:
    """Scale of the noise that :func:`noise_all` adds to the weights, in shares of users.

    Arguments and results: as for :func:`~privrank_jax.aggregation.borda.dp_borda_scale`.

    >>> privacy = Privacy(0.5, unit="user", adjacency="replace")
    >>> noise_all_scale(10, 1000, privacy), noise_all_scale(10, 1000, privacy, noise="laplace")
    (0.002, 0.09)
    """
    attained = of_rankings(privacy, "noise_all", noise, SHAPED_NOISES)
    if noise == "k-norm":
        return additive_scale(noise, attained, 1 / num_users, math.inf)
    pairs = num_items * (num_items - 1) / 2
    pairs = jnp.maximum(pairs, 1.0) if is_traced(pairs) else max(float(pairs), 1.0)
    return additive_scale(noise, attained, pairs / num_users, pairs**0.5 / num_users)


def noise_all_deviation(
    num_items: int, num_users: Count, privacy: Privacy, *, noise: str = "k-norm"
) -> float:
    """Standard deviation of the noise on one weight, before clipping, in shares of users.

    Arguments: as for :func:`noise_all_scale`, not traced.

    >>> privacy = Privacy(0.5, unit="user", adjacency="replace")
    >>> [round(noise_all_deviation(10, 1000, privacy, noise=noise), 4) for noise in ("k-norm", "laplace")]
    [0.0537, 0.1273]
    """
    scale = float(noise_all_scale(num_items, num_users, privacy, noise=noise))
    return noise_on_pairs(noise, scale, num_items).deviation()


def noise_on_pairs(kind: str, scale: Scalar, num_items: int, mask: Mask | None = None) -> Noise:
    """Noise of this kind and scale on the pairs above the diagonal, ``(m, m)``.

    Args:
        kind: ``"k-norm"``, ``"laplace"`` or ``"gaussian"``.
        scale: from :func:`noise_all_scale`.
        num_items: m.
        mask: ``(m,)`` bool, real items; default all.
    """
    if kind == "k-norm":
        return Noise(kind, scale, Cube.of_pairs(num_items, mask))
    return Noise(kind, scale, Independent((num_items, num_items)))


@functools.partial(jax.jit, static_argnames=("noise",))
def _noise_pairs(
    key: Key, w: PairMatrix, scale: Scalar, mask: Mask | None, noise: str
) -> PairMatrix:
    drawn = noise_on_pairs(noise, scale, w.shape[0], mask).draw(key, w.dtype)
    drawn = materialized(drawn)  # read once more, mirrored
    noisy = jnp.clip(w + drawn, 0, 1)
    above = jnp.arange(w.shape[0])[:, None] < jnp.arange(w.shape[0])
    mirrored = jnp.where(above, noisy, 1 - noisy.T) * (1 - jnp.eye(w.shape[0], dtype=w.dtype))
    return mirrored if mask is None else mirrored * (mask[:, None] & mask)
