r"""Transitivity of real users: circular triads, consistence, conflicts with a user's own counts.

A user's comparisons form a digraph: i → j where the user chose i over j (more often than not). A *circular triad* is
i → j → k → i. If the user compared all pairs, the counts of wins alone determine the number of such triads, 0 means
that the user is transitive, and Kendall's coefficient of consistence is ζ = 1 - d/d_max, d the number of circular
triads, d_max = (m³ - m)/24 for odd m and (m³ - 4m)/24 for even. Where pairs are missing, a longer cycle may contain
no circular triad; ``intransitive`` looks for cycles of any length.

**Tied counts are not intransitivity.** The items of a complete transitive user win m-1, m-2, ..., 0 times, so
complete users with tied counts are intransitive; with missing answers counts can tie without any cycle. On the car
data of Abbasnejad et al. the two published figures follow from ties: 42 of 60 users (70%) have tied counts, but 39
(65%) are intransitive; the other three only lack answers. And 3.78% of the 2,675 comparisons are strictly against
the user's own count, while 5.57% are between items of equal count. Breaking these ties at random gives 6.56% on
average (standard deviation 0.20%); the published 6.98% results from one way of breaking them.

Sources: Kendall and Babington Smith (1940), On the method of paired comparisons; Xu, Sun, Cheng, Rate-optimal rank
aggregation with private pairwise rankings, sections 5.2 and S.1.1.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Real

from privrank_jax._backend import product
from privrank_jax._types import Mask, MaskLike, PairMatrixLike
from privrank_jax._validate import as_array, check_square
from privrank_jax.comparisons import Comparisons, default_float


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class Intransitivity:
    """Transitivity of one user (or, under ``vmap``, one entry per user).

    Attributes:
        circular_triads: d, int32.
        decided_triads: triads whose three pairs the user decided, int32.
        consistence: Kendall's ζ in [0, 1], 1 = no circular triad; NaN unless all pairs are decided and m >= 3.
        intransitive: bool, whether there is a cycle of any length.
        tied_counts: bool, whether two items have equally many wins.
        comparisons: number of comparisons.
        conflicts: number of comparisons won by the item with fewer wins of this user; a tie counts half.
        level: number of comparisons between items with equally many wins.
    """

    circular_triads: Int[Array, "*batch"]
    decided_triads: Int[Array, "*batch"]
    consistence: Float[Array, "*batch"]
    intransitive: Bool[Array, "*batch"]
    tied_counts: Bool[Array, "*batch"]
    comparisons: Float[Array, "*batch"]
    conflicts: Float[Array, "*batch"]
    level: Float[Array, "*batch"]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class IntransitivityShares:
    """Transitivity of all users together. Values other than ``users`` are shares or means, shape ``()``.

    Attributes:
        users: number of users with a comparison, int32.
        intransitive: users with a cycle.
        tied_counts: users with two items that have equally many wins.
        consistence: mean ζ of the users who decided all pairs.
        conflicts: comparisons strictly against their user's own count; comparisons between tied counts are not
            included.
        level: comparisons between items of equal count, so that conflicts + level/2 contradict a ranking by count
            that breaks ties at random, and conflicts + level one that breaks them in the worst way.
    """

    users: Int[Array, "*batch"]
    intransitive: Float[Array, "*batch"]
    tied_counts: Float[Array, "*batch"]
    consistence: Float[Array, "*batch"]
    conflicts: Float[Array, "*batch"]
    level: Float[Array, "*batch"]


def wins_by_user(comparisons: Comparisons, num_users: int) -> Float[Array, "users items items"]:
    """Win counts of every user.

    Args:
        comparisons: their ``users`` must lie in 0..num_users - 1 (others are dropped).
        num_users: n, static.

    Returns:
        ``(num_users, m, m)`` float, JAX's default; ties count half for both.

    >>> pairs = jnp.array([0, 0]), jnp.array([1, 0]), jnp.array([0, 1])
    >>> none = jnp.zeros(2, bool)
    >>> wins_by_user(Comparisons(*pairs, tied=none, mask=~none, num_items=2), 1).tolist()
    [[[0.0, 1.0], [1.0, 0.0]]]
    """
    return _wins_by_user(comparisons, num_users)


def intransitivity(wins: PairMatrixLike, mask: MaskLike | None = None) -> Intransitivity:
    """The transitivity statistics of one user. **Not private.**

    Args:
        wins: ``(m, m)`` win counts of the user, ``wins[i, j]`` = times i was chosen over j; a pair is
            decided where the two counts differ.
        mask: ``(m,)`` bool, real items; default all.

    Returns:
        :class:`Intransitivity`.

    Raises:
        ValueError: not square.

    >>> circle = intransitivity([[0, 1, 0], [0, 0, 1], [1, 0, 0]])
    >>> int(circle.circular_triads), float(circle.consistence), bool(circle.intransitive)
    (1, 0.0, True)
    """
    check_square("the user's win counts", wins)
    wins = as_array("the user's win counts", wins)
    wins = wins.astype(jnp.result_type(wins, float))
    return _intransitivity(wins, None if mask is None else jnp.asarray(mask))


def intransitivity_shares(
    wins: Real[ArrayLike, "users items items"],
) -> IntransitivityShares:
    """The transitivity statistics of many users. **Not private.**

    Args:
        wins: ``(n, m, m)``, as of :func:`wins_by_user`. Users without a comparison are ignored.

    Returns:
        :class:`IntransitivityShares`.

    Raises:
        ValueError: not square.

    >>> circle = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
    >>> chain = [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    >>> shares = intransitivity_shares(jnp.array([circle, chain]))
    >>> float(shares.intransitive)
    0.5
    """
    check_square("the users' win counts", wins)
    return _shares(jax.vmap(intransitivity)(jnp.asarray(wins)))


@functools.partial(jax.jit, static_argnums=1)
def _wins_by_user(comparisons: Comparisons, num_users: int) -> Array:
    one = comparisons.mask.astype(default_float())
    half = jnp.where(comparisons.tied, 0.5 * one, 0)
    users, first, second = comparisons.users, comparisons.winners, comparisons.losers
    counts = jnp.zeros((num_users, comparisons.num_items, comparisons.num_items), one.dtype)
    counts = counts.at[users, first, second].add(one - half, mode="drop")
    return counts.at[users, second, first].add(half, mode="drop")


@jax.jit
def _intransitivity(wins: Array, mask: Mask | None) -> Intransitivity:
    size = wins.shape[0]
    real = jnp.ones(size, bool) if mask is None else mask
    pairs = real[:, None] & real[None, :] & ~jnp.eye(size, dtype=bool)
    wins = jnp.where(pairs, wins, 0)
    beats = (wins > wins.T).astype(wins.dtype)
    decided = beats + beats.T
    circles = jnp.round(_trace_of_cube(beats) / 3)
    triads = jnp.round(_trace_of_cube(decided) / 6)
    items = jnp.sum(real).astype(wins.dtype)
    most = items * items * items - jnp.where(items % 2 == 1, 1, 4) * items  # 24 d_max
    complete = (jnp.sum(decided) == jnp.sum(pairs)) & (items >= 3)
    gap = wins.sum(1)[:, None] - wins.sum(1)[None, :]
    return Intransitivity(
        circular_triads=circles.astype(jnp.int32),
        decided_triads=triads.astype(jnp.int32),
        consistence=jnp.where(complete, (most - 24 * circles) / jnp.maximum(most, 1), jnp.nan),
        intransitive=_has_cycle(beats),
        tied_counts=jnp.any(pairs & (gap == 0)),
        comparisons=jnp.sum(wins),
        conflicts=jnp.sum(jnp.where(gap < 0, wins, 0)),
        level=jnp.sum(jnp.where(gap == 0, wins, 0)),
    )


def _trace_of_cube(matrix: Array) -> Array:
    # Sums of products of 0s and 1s are exact in float32 up to 2^24 paths of length two.
    return jnp.sum(product(matrix, matrix) * matrix.T)


def _has_cycle(beats: Array) -> Array:
    """Whether any item reaches itself: the paths of length 1, 2, 4, ... up to m."""
    reach = beats
    for _ in range(max(beats.shape[0] - 1, 1).bit_length()):
        reach = ((reach + product(reach, reach)) > 0).astype(beats.dtype)
    return jnp.any(jnp.diagonal(reach) > 0)


@jax.jit
def _shares(each: Intransitivity) -> IntransitivityShares:
    present = each.comparisons > 0
    users, total = jnp.sum(present), jnp.sum(each.comparisons)
    complete = ~jnp.isnan(each.consistence)
    return IntransitivityShares(
        users=users.astype(jnp.int32),
        intransitive=jnp.sum(each.intransitive & present) / users,
        tied_counts=jnp.sum(each.tied_counts & present) / users,
        consistence=jnp.sum(jnp.where(complete, each.consistence, 0)) / jnp.sum(complete),
        conflicts=jnp.sum(each.conflicts) / total,
        level=jnp.sum(each.level) / total,
    )
