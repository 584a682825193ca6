r"""Transitivity of real users: circular triads, consistence, conflicts with a user's own counts. **Not private.**

A user's comparisons form a digraph: i → j where the user chose i over j (more often than not). A *circular triad* is
i → j → k → i. With d of them, Kendall's coefficient of consistence of a user who compared all pairs is ζ = 1 - d/d_max,
d_max = (m³ - m)/24 for odd m and (m³ - 4m)/24 for even. Where pairs are missing, a longer cycle may contain no circular
triad; ``intransitive`` looks for cycles of any length.

**Tied counts are not intransitivity**: with missing answers counts can tie without any cycle. On the car data of
Abbasnejad et al. the two published figures follow from ties: 42 of 60 users (70%) have tied counts, but 39 (65%) are
intransitive. And 3.78% of the 2,675 comparisons are strictly against the user's own count, while 5.57% are between
items of equal count: broken at random, these give 6.56% on average; the published 6.98% results from one way.

Sources: Kendall and Babington Smith (1940), On the method of paired comparisons; Xu, Sun, Cheng, Rate-optimal rank
aggregation with private pairwise rankings, sections 5.2 and S.1.1.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from privrank_jax._backend import product
from privrank_jax._components import pairs_of
from privrank_jax._pytrees import pytree
from privrank_jax._types import MaskLike, PairMatrixLike
from privrank_jax._validate import as_array, check_square
from privrank_jax.comparisons import Comparisons, default_float


@pytree
class Intransitivity:
    """Transitivity of one user (or, under ``vmap``, one entry per user).

    Attributes:
        circular_triads: d, int32.
        consistence: Kendall's ζ in [0, 1], 1 = no circular triad; NaN unless all pairs are decided and m >= 3.
        intransitive: bool, whether there is a cycle of any length.
        tied_counts: bool, whether two items have equally many wins.
        comparisons: number of comparisons.
        conflicts: number of comparisons won by the item with fewer wins of this user; a tie counts half.
        level: number of comparisons between items with equally many wins.
    """

    circular_triads: Int[Array, "*batch"]
    consistence: Float[Array, "*batch"]
    intransitive: Bool[Array, "*batch"]
    tied_counts: Bool[Array, "*batch"]
    comparisons: Float[Array, "*batch"]
    conflicts: Float[Array, "*batch"]
    level: Float[Array, "*batch"]


def wins_by_user(comparisons: Comparisons, num_users: int) -> Float[Array, "users items items"]:
    """Win counts of every user.

    Args:
        comparisons: their ``users`` must lie in 0..n - 1 (others are dropped).
        num_users: n, static.

    Returns:
        ``(n, m, m)`` float; ties count half for both.

    >>> pairs, none = (jnp.array([0]), jnp.array([1]), jnp.array([0])), jnp.zeros(1, bool)
    >>> wins_by_user(Comparisons(*pairs, tied=none, mask=~none, num_items=2), 1).tolist()
    [[[0.0, 0.0], [1.0, 0.0]]]
    """
    one = comparisons.mask.astype(default_float())
    half = jnp.where(comparisons.tied, 0.5 * one, 0)
    users, first, second = comparisons.users, comparisons.winners, comparisons.losers
    counts = jnp.zeros((num_users, comparisons.num_items, comparisons.num_items), one.dtype)
    counts = counts.at[users, first, second].add(one - half, mode="drop")
    return counts.at[users, second, first].add(half, mode="drop")


def intransitivity(wins: PairMatrixLike, mask: MaskLike | None = None) -> Intransitivity:
    """The transitivity statistics of one user; ``jax.vmap(intransitivity)(wins_by_user(...))`` gives those of many.

    Args:
        wins: ``(m, m)`` win counts of the user, or ``ValueError``; a pair is decided where its two counts differ.
        mask: ``(m,)`` bool, real items; default all.

    Returns:
        :class:`Intransitivity`.

    >>> circle = intransitivity([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    >>> int(circle.circular_triads), float(circle.consistence), bool(circle.intransitive)
    (1, 0.0, True)
    """
    check_square("the user's win counts", wins)
    wins = as_array("the user's win counts", wins)
    real = jnp.ones(wins.shape[0], bool) if mask is None else jnp.asarray(mask)
    return _intransitivity(wins.astype(jnp.result_type(wins, float)), real)


@jax.jit
def _intransitivity(wins: Array, real: Array) -> Intransitivity:
    pairs = pairs_of(real)
    wins = jnp.where(pairs, wins, 0)
    beats = (wins > wins.T).astype(wins.dtype)
    # Sums of products of 0s and 1s are exact in float32 up to 2^24 paths of length two.
    circles = jnp.round(jnp.sum(product(beats, beats) * beats.T) / 3)
    items = jnp.sum(real).astype(wins.dtype)
    most = items * items * items - jnp.where(items % 2 == 1, 1, 4) * items  # 24 d_max
    complete = (2 * jnp.sum(beats) == jnp.sum(pairs)) & (items >= 3)
    gap = wins.sum(1)[:, None] - wins.sum(1)[None, :]
    return Intransitivity(
        circular_triads=circles.astype(jnp.int32),
        consistence=jnp.where(complete, (most - 24 * circles) / jnp.maximum(most, 1), jnp.nan),
        intransitive=_has_cycle(beats),
        tied_counts=jnp.any(pairs & (gap == 0)),
        comparisons=jnp.sum(wins),
        conflicts=jnp.sum(jnp.where(gap < 0, wins, 0)),
        level=jnp.sum(jnp.where(gap == 0, wins, 0)),
    )


def _has_cycle(beats: Array) -> Array:
    """Whether any item reaches itself: the paths of length 1, 2, 4, ... up to m."""
    reach = beats
    for _ in range(max(beats.shape[0] - 1, 1).bit_length()):
        reach = ((reach + product(reach, reach)) > 0).astype(beats.dtype)
    return jnp.any(jnp.diagonal(reach) > 0)
