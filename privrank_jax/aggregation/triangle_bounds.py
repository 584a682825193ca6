r"""Lower bounds on Kemeny scores from triangles, for a batch of problems, exact in spite of rounding.

With integer prices P_ij = −P_ji for ranking i before j, let V be the sum of P_ij over the pairs with i before j. It is
2 Σ_{i<j} P_ij z_ij for z_ij = ±1/2, the signs of the ranking, and −1/2 <= z_ij + z_jk + z_ki <= 1/2 for each three
items. With any multipliers μ_ijk, which change their sign whenever two indices change places, and g_ij = Σ_k μ_ijk,

    V >= −Σ_{i<j} |P_ij + g_ij| − Σ_{i<j<k} |μ_ijk|,

because Σ_{i<j} g_ij z_ij = Σ_{i<j<k} μ_ijk (z_ij + z_jk + z_ki). With the best multipliers this is the value of the
linear program with all triangles.

**Multipliers** come from the primal-dual method of Chambolle and Pock (2011) in float32, the batch along the trailing
axis. They are stored for pairs i < j and every k, each triple three times in place of six, so that a step reads whole
rows. The bound is then computed from multipliers rounded to integers, in sums of integers below 2^52, which float64
holds exactly, after a check that they have the symmetries of μ to the last bit. So the proof does not depend on the
accuracy of the method. Without the multipliers of item j the same formula bounds the problem of the other items.
"""

from __future__ import annotations

import functools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

_EXACT, _RATIO = 2.0**52, 0.4


@functools.partial(jax.jit, static_argnames="steps")
def triangle_bounds(
    prices: Float[Array, "slots slots batch"], scale: Float[Array, ""],
    signs: Float[Array, "pairs batch"], multipliers: Float[Array, "triples batch"], steps: int,
) -> tuple[Array, Array, Array, Array, Array]:  # fmt: skip
    """Bound V of the items left in each state, and V after each of them has been taken out.

    Args:
        prices: P of each state, integers of float64.
        scale: what they are divided by in the steps.
        signs: z to start from, of pairs i < j, float16.
        multipliers: μ to start from, of triples i < j < k, in units of ``scale``, float16.
        steps: how many to make.

    Returns:
        Bounds ``(batch,)``, bounds without each item ``(slots, batch)``, the sum of z over each item's pairs, small
        for items to be ranked first, and the new signs and multipliers.
    """
    slots = len(prices)
    batch = prices.shape[-1]
    one, other = pairs(slots)
    exact_prices = prices[one, other]
    price = (exact_prices / scale).astype(jnp.float32)
    z = signs.astype(jnp.float32)
    mu = _unpacked(multipliers, _triple_source(slots)).reshape(len(one), slots, batch)
    # The operator has norm sqrt(m): the product of both steps stays below its inverse square.
    dual = 0.98 / math.sqrt(slots) * _RATIO
    primal = 0.98 / math.sqrt(slots) / _RATIO

    def advance(_, state):
        z, mu, g = state
        after = jnp.clip(z - primal * (price + g), -0.5, 0.5)
        # Multiples of 2^-20, whose sums are exact, so μ keeps its symmetries to the last bit.
        ahead = jnp.rint((2 * after - z) * (dual * 2**20)) * 2.0**-20
        full = _square(ahead)
        moved = mu + ((ahead[:, None] + full[other]) - full[one])
        mu = moved - jnp.clip(moved, -dual / 2, dual / 2)
        return after, mu, mu.sum(1)

    z, mu, _ = jax.lax.fori_loop(0, steps, advance, (z, mu, mu.sum(1)))
    first, *rest = (mu.reshape(-1, batch)[rows] for rows in _triple_rows(slots))
    symmetric = jnp.all((first == -rest[0]) & (first == rest[1]), 0)
    # From here on integers, each pair once and each triple three times.
    whole = jnp.rint(mu.astype(jnp.float64) * scale)
    now = exact_prices + whole.sum(1)
    spread = jnp.abs(whole).sum(0)
    own = 3 * jnp.abs(now).sum(0) + spread.sum(0)
    without = jnp.abs(now[:, None] - whole).sum(0) - jnp.abs(_square(now)).sum(0)
    without = 3 * without + spread.sum(0) - 3 * spread
    exact = symmetric & (own < _EXACT)
    bound = jnp.where(exact, -own / 3, -jnp.inf)
    after = jnp.where(exact & (without < _EXACT), -without / 3, -jnp.inf)
    half = jnp.float16
    return bound, after, -_square(z).sum(1), z.astype(half), first.astype(half)


def _square(part: Array) -> Array:
    """The antisymmetric matrices, (slots, slots, batch), of entries for pairs i < j."""
    slots = (1 + math.isqrt(1 + 8 * len(part))) // 2
    return _unpacked(part, _pair_source(slots)).reshape(slots, slots, -1)


def _unpacked(part: Array, source: np.ndarray) -> Array:
    """Entries of an antisymmetric array, from those with increasing indices."""
    part = part.astype(jnp.promote_types(part.dtype, jnp.float32))
    return jnp.concatenate([-part[::-1], jnp.zeros_like(part[:1]), part])[source + len(part)]


@functools.cache
def _triple_rows(slots: int) -> np.ndarray:
    """Where μ_ijk, μ_ikj and μ_jki are stored, for triples i < j < k; (3, triples)."""
    i, j, k = triples(slots)
    place = pair_places(slots)
    return np.stack([place[i, j], place[i, k], place[j, k]]) * slots + np.stack([k, j, i])


@functools.cache
def _pair_source(slots: int) -> np.ndarray:
    """For each ordered pair, ± the number of the pair, from 1; 0 on the diagonal."""
    source = np.zeros((slots, slots), np.int32)
    source[tuple(pairs(slots))] = 1 + np.arange(pairs(slots).shape[1])
    return (source - source.T).ravel()


@functools.cache
def _triple_source(slots: int) -> np.ndarray:
    """For each pair i < j and each k, ± the number of their triple, from 1; 0 where items repeat."""
    source = np.zeros((slots,) * 3, np.int32)
    source[tuple(triples(slots))] = 1 + np.arange(triples(slots).shape[1])
    turned = source + source.transpose(2, 0, 1) + source.transpose(1, 2, 0)
    return (turned - turned.swapaxes(0, 1))[tuple(pairs(slots))].ravel()


@functools.cache
def pairs(slots: int) -> np.ndarray:
    """The pairs i < j, (2, pairs)."""
    return np.stack(np.triu_indices(slots, 1))


@functools.cache
def triples(slots: int) -> np.ndarray:
    """The triples i < j < k, (3, triples)."""
    every = np.indices((slots, slots, slots)).reshape(3, -1)
    return every[:, (every[0] < every[1]) & (every[1] < every[2])]


@functools.cache
def pair_places(slots: int) -> np.ndarray:
    """The number of the pair (i, j), i < j; (slots, slots)."""
    places = np.zeros((slots, slots), np.int64)
    places[tuple(pairs(slots))] = np.arange(pairs(slots).shape[1])
    return places


@functools.cache
def triple_places(slots: int) -> np.ndarray:
    """The number of the triple (i, j, k), i < j < k; (slots, slots, slots)."""
    places = np.zeros((slots, slots, slots), np.int64)
    places[tuple(triples(slots))] = np.arange(triples(slots).shape[1])
    return places
