r"""Private weights, all of them at once: noise on every pair, then any solver (Reduction I).

**Sensitivity.** Replacing one of n users changes a pair's weight by at most 1/n: the user gives each pair some share
in [0, 1] (ties and gaps 1/2, see :mod:`privrank_jax.aggregation.weights`). Only the m(m-1)/2 entries above the diagonal
are released, so the change is at most m(m-1)/(2n) in ℓ₁ and √(m(m-1)/2)/n in ℓ₂. Both are attained: the reversal of a
ranking changes every pair by 1/n. So Laplace noise of scale m(m-1)/(2nε) is ε-DP, and no smaller scale is; Gaussian
noise has the smallest σ at which that ℓ₂ change is (ε, δ)-DP (Balle and Wang). Clipping to [0, 1], mirroring
w̃_ji = 1 - w̃_ij, and every ranking that a solver draws from w̃, only look at what is private already.

**Error.** A ranking σ that is α-optimal for w̃ has, by Fact 2 of the paper counted over unordered pairs,
K(σ, w) ≤ α OPT(w) + (1 + α) Σ_{i<j} |w̃_ij - w_ij|, and clipping only shrinks each term: in the mean at most the
Laplace scale, or σ√(2/π). :func:`privrank_jax.aggregation.noise_all_bound` computes it.

Source: Alabi, Ghazi, Kumar and Manurangsi (2022), Theorem 1 and Corollaries 3 and 4, with the constants worked out.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp

from privrank_jax._validate import check_delta, check_epsilon, check_users, is_traced
from privrank_jax.aggregation.borda import checked_weights
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.calibration import is_pure, noise_scale
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import gaussian, laplace
from privrank_jax.privacy.privacy import Privacy

Array = jax.Array


def noise_all(
    key: Array,
    w: Any,
    num_users: Any,
    epsilon: Any = 1.0,
    delta: Any = 0.0,
    *,
    mask: Any = None,
) -> Estimate:
    """Noise on every pairwise weight, for a solver of choice.

    **Guarantee.** ε-DP (Laplace) at ``delta=0``, else (ε, δ)-DP (Gaussian), unit user, adjacency replace; the
    sensitivities and their proof head this module.

    Args:
        key: PRNG key.
        w: ``(m, m)`` weights, see :func:`~privrank_jax.aggregation.pairwise_weights`; only the entries above the
            diagonal are read.
        num_users: n >= 1, public, may be traced.
        epsilon: ε > 0, may be traced; ∞ adds no noise.
        delta: 0 for Laplace noise, δ in (0, 1) for Gaussian noise; a traced δ must be positive.
        mask: ``(m,)`` bool, real items, public; their number sets the sensitivity.

    Returns:
        ``value``: ``(m, m)``, dtype of w: entries in [0, 1], w̃_ij + w̃_ji = 1, diagonal 0; 0 in the rows and
        columns of masked items. ``guarantee``. ``diagnostics``: ``{"noise_scale": λ or σ}``, public.

    Raises:
        ValueError: ε <= 0, δ out of range, n < 1, w not square.

    >>> w = jnp.array([[0.0, 0.75], [0.25, 0.0]])
    >>> noise_all(jax.random.key(0), w, 1000, epsilon=jnp.inf).value.tolist()
    [[0.0, 0.75], [0.25, 0.0]]
    """
    w, mask = checked_weights(w, mask)
    check_epsilon(epsilon)
    check_delta(delta)
    check_users(num_users)
    items = w.shape[0] if mask is None else jnp.sum(mask)
    scale = noise_all_scale(items, num_users, epsilon, delta)
    noise = "laplace" if is_pure(delta) else "gaussian"
    value = _noise_pairs(key, w, scale, mask, noise)
    return Estimate(
        value,
        Guarantee(Privacy(epsilon, unit="user", adjacency="replace", delta=delta)),
        {"noise_scale": scale},
    )


def noise_all_scale(num_items: Any, num_users: Any, epsilon: Any = 1.0, delta: Any = 0.0) -> Any:
    """Laplace scale (``delta=0``) or standard deviation of the noise on each weight, in shares of users.

    Args: as :func:`noise_all`; ``num_items`` may be traced, and below 2 items, where no pair is, counts as 2.

    >>> noise_all_scale(10, 1000, epsilon=0.5)
    0.09
    """
    pairs = num_items * (num_items - 1) / 2
    pairs = jnp.maximum(pairs, 1.0) if is_traced(pairs) else max(float(pairs), 1.0)
    return noise_scale(pairs / num_users, pairs**0.5 / num_users, epsilon, delta)


@functools.partial(jax.jit, static_argnames=("noise",))
def _noise_pairs(key: Array, w: Array, scale: Any, mask: Array | None, noise: str) -> Array:
    draw = laplace if noise == "laplace" else gaussian
    noisy = jnp.clip(w + draw(key, w.shape, scale, w.dtype), 0, 1)
    above = jnp.arange(w.shape[0])[:, None] < jnp.arange(w.shape[0])
    mirrored = jnp.where(above, noisy, 1 - noisy.T) * (1 - jnp.eye(w.shape[0], dtype=w.dtype))
    return mirrored if mask is None else mirrored * (mask[:, None] & mask)
