"""Noise on all prefix sums of a stream, in batches: by a strategy of :mod:`privrank_jax.privacy.prefix_sums`."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from privrank_jax._backend import product
from privrank_jax._types import Key, Numbers
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.noise import draw
from privrank_jax.privacy.prefix_sums import column_length, strategy_matrices, usual_strategy
from privrank_jax.privacy.privacy import Privacy

Steps = Float[Array, "steps items"]
"""One number per step and item."""
StepsLike = Real[Array, "steps items"] | Real[np.ndarray, "steps items"]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ContinualDiagnostics:
    """The noise of a leaderboard over time; public.

    Attributes:
        noise_scale: λ (Laplace) or σ (Gaussian) of the noise drawn at each step (at the first one, for the tree without
            a last step), in wins.
        deviations: ``(T,)``, the standard deviation of the noise of one item's total at each step, likewise.
        pair_scale: as ``noise_scale``, of the noise of pair counts; None where there are none.
        pair_deviations: as ``deviations``, of pair counts.
    """

    noise_scale: Numbers
    deviations: Numbers
    pair_scale: Numbers | None = None
    pair_deviations: Numbers | None = None


def noisy_stream(
    key: Key,
    sums: Steps,
    privacy: Privacy,
    changes: tuple[Numbers, Numbers],
    noise: str,
    strategy: str | None = None,
    *,
    sizes: Sequence[int] = (),
    factors: Sequence[float] = (1.0,),
) -> tuple[Steps, ContinualDiagnostics]:
    """Noisy prefix sums of a stream in one part, or in two.

    Args:
        key: PRNG key.
        sums: ``(T, d)``, the parts one after the other.
        privacy: the promise that is attained.
        changes: how far one unit moves what a release of one step would publish, in ℓ₁ and ℓ₂.
        noise: ``"laplace"`` or ``"gaussian"``.
        strategy: one of :data:`~privrank_jax.privacy.prefix_sums.STRATEGIES`, None for that of the least error; or of
            :data:`~privrank_jax.privacy.unbounded_sums.UNBOUNDED`.
        sizes: how many of the d numbers each part has. Default: one part.
        factors: scale of the noise of each part, in units of that of a stream that moves by ``changes``.

    Returns:
        The sums after each step, and their noise.
    """
    steps, kind = sums.shape[0], sums.dtype
    strategy = strategy or usual_strategy(steps, noise)
    decode, encode = strategy_matrices(strategy, steps)
    length = column_length(strategy, encode, noise)
    alone = additive_scale(noise, privacy, changes[0] * length, changes[1] * length)
    scales = [alone * factor for factor in factors]
    parts = zip(sizes or sums.shape[1:], scales, strict=True)
    each = jnp.concatenate([jnp.full(size, scale) for size, scale in parts])
    value = _noisy_prefix_sums(key, sums, jnp.asarray(decode, kind), each, noise)
    rows = np.linalg.norm(decode, axis=1) * Noise.independent(noise, 1.0).deviation()
    told = [(scale, scale * jnp.asarray(rows, kind)) for scale in scales]
    return value, ContinualDiagnostics(*told[0], *(told[1] if len(told) > 1 else ()))


@functools.partial(jax.jit, static_argnames=("noise",))
def _noisy_prefix_sums(
    key: Key, totals: Steps, decode: Float[Array, "steps steps"], scale: Numbers, noise: str
) -> Steps:
    """Prefix sums of ``(T, d)`` with B times noise of a scale for each of the d columns."""
    drawn = draw(key, noise, totals.shape, scale, totals.dtype)
    return jnp.cumsum(totals, axis=0) + product(decode, drawn)
