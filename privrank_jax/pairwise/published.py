"""Scales of noise as they were published, unsound or loose: for studies and audits."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import Count, Key, Scalar
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.selection import one_shot_set_scale
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy


def published_one_shot_scale(
    privacy: Privacy, k: Count, num_items: Count, most: Scalar, *, approximate: bool = False
) -> Float[Array, "..."]:
    """Laplace scale of one-shot selection as published: 2ks/ε, or 8s√(k ln(m/δ))/ε.

    The former is ε-DP, but looser than that of :data:`~privrank_jax.pairwise.one_shot_top_k` on win totals; the latter
    is (ε, δ)-DP for ε <= 0.2 and δ <= 0.05 alone, and is shown beyond that as it stands.

    Args:
        privacy: ε and δ; may be traced.
        k: number of items; may be traced.
        num_items: m.
        most: s, what one unit can move one score.
        approximate: whether the scale relies on δ.

    Returns:
        λ.

    Source: Qiao, Su and Zhang (2021).

    >>> promise = Privacy(0.5, unit="comparison", adjacency="replace")
    >>> float(published_one_shot_scale(promise, 3, 20, 1.0))
    12.0
    """
    if approximate:
        return one_shot_set_scale(privacy.epsilon, privacy.delta, k, num_items, most)
    return jnp.asarray(2.0 * k * most / privacy.epsilon)


def published_counts(key: Key, wins: WinCounts, privacy: Privacy) -> Estimate:
    """Win totals with Laplace noise of the published scale: 2/ε for one comparison, L/ε for a user.

    **Guarantee.** The latter is unsound under replacement, as one user moves the totals by 2L, and the guarantee says
    so: it carries 2ε.

    Args:
        key: PRNG key.
        wins: win counts of m items.
        privacy: as for :data:`~privrank_jax.pairwise.noisy_counts`.

    Returns:
        As of :data:`~privrank_jax.pairwise.noisy_counts`.

    Raises:
        TypeError, ValueError: a promise that this can't keep.

    Source: Cai, Chakraborty and Wang (2025), Algorithms 2 and 3.

    >>> wins = WinCounts.from_matrix([[0, 90], [10, 0]])
    >>> promise = Privacy(1.0, unit="user", adjacency="replace", contributions=3)
    >>> float(published_counts(jax.random.key(0), wins, promise).guarantee.epsilon)
    2.0
    """
    attained, note = of_comparisons(privacy, "published_counts", "laplace"), ""
    users = attained.unit == "user"
    scale = (attained.comparisons_per_unit if users else 2.0) / attained.epsilon
    added = Noise.independent("laplace", scale, wins.num_items)
    if users and attained.adjacency != "add-remove":
        attained = dataclasses.replace(attained, epsilon=2 * attained.epsilon)
        note = "published as epsilon, but proven only for twice that."
    guarantee = Guarantee(privacy, attained, note=note)
    return Estimate(_noisy(key, wins, added), guarantee, NoiseDiagnostics(scale))


@functools.partial(jax.jit)
def _noisy(key: Key, wins: WinCounts, added: Noise) -> Float[Array, "items"]:
    counted = wins.totals
    return counted + added.draw(key, counted.dtype)
