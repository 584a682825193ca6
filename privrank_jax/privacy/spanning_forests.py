"""Random spanning forests of graphs with lengths, one for each key, for simulation.

A forest has one tree for each component of the graph; its probability is ∝ the product of the lengths of its pairs. It
is returned as the parent of each item; the parent of a root, and of an item without pairs, is the item itself.

*All pairs*: the i-th item of a random order is joined to item number min(U_i, i - 1), U_i uniform on all numbers
(Aldous 1990, Algorithm 2).

*Other graphs*: each item but the roots draws an arrow to another with odds ∝ the length of their pair; where arrows
form cycles, their items draw again, until there are no cycles. In whatever order cycles are removed, the same arrows
remain, and they are a random forest as wanted (Wilson 1996, Propp and Wilson 1998). All cycles of a round are removed
at once: they are the items reached after m or more steps that are not roots.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from privrank_jax._types import Key, Mask, PairMatrix


def components(lengths: PairMatrix) -> Int[Array, "items"]:
    """The lowest item of each item's component.

    Args:
        lengths: ``(m, m)``, symmetric, > 0 where a pair is joined.

    >>> components(jnp.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])).tolist()
    [0, 1, 0]
    """
    num_items = lengths.shape[0]
    joined = (lengths > 0) | jnp.eye(num_items, dtype=bool)
    for _ in range(max(num_items - 1, 1).bit_length()):
        reached = joined.astype(jnp.float32)
        joined = reached @ reached > 0
    return jnp.argmax(joined, axis=1)


def all_pairs_forest(key: Key, mask: Mask) -> Int[Array, "items"]:
    """A uniform spanning tree of all pairs of real items.

    Args:
        key: PRNG key.
        mask: ``(m,)``, True for real items.

    Returns:
        Parents.
    """
    num_items = mask.shape[0]
    of_order, of_parents = jax.random.split(key)
    number = jnp.sum(mask)
    drawn = jax.random.uniform(of_order, (num_items,))
    order = jnp.argsort(jnp.where(mask, drawn, 2.0))  # real items first
    place = jnp.arange(num_items)
    other = jax.random.randint(of_parents, (num_items,), 0, jnp.maximum(number, 1))
    joined = jnp.where((place > 0) & (place < number), jnp.minimum(other, place - 1), place)
    return jnp.zeros(num_items, order.dtype).at[order].set(order[joined])


def weighted_forest(key: Key, lengths: PairMatrix) -> Int[Array, "items"]:
    """A spanning forest, with probability ∝ the product of the lengths of its pairs.

    Args:
        key: PRNG key.
        lengths: ``(m, m)``, symmetric, >= 0, with a zero diagonal.

    Returns:
        Parents.
    """
    num_items = lengths.shape[0]
    item = jnp.arange(num_items)
    # The neighbors of each item first, so that a pair of length 0 is never drawn, whatever is rounded.
    others = jnp.argsort(lengths <= 0, axis=1, stable=True)
    sums = jax.lax.cummax(jnp.cumsum(jnp.take_along_axis(lengths, others, axis=1), axis=1), axis=1)
    number = jnp.sum(lengths > 0, axis=1)
    same = components(lengths)[:, None] == components(lengths)
    root = jnp.argmax(jnp.where(same, jnp.sum(lengths, axis=1), -1), axis=1)
    is_root = root == item
    rounds = max(num_items - 1, 1).bit_length()

    def arrows(key: Key) -> Int[Array, "items"]:
        wanted = jax.random.uniform(key, (num_items,), lengths.dtype) * sums[:, -1]
        low = jnp.zeros(num_items, item.dtype)
        step = 1 << max(num_items - 1, 1).bit_length()
        while step := step >> 1:  # how many sums are at most ``wanted``
            middle = low + step
            ahead = sums[item, jnp.minimum(middle, num_items) - 1]
            low = jnp.where((middle <= num_items) & (ahead <= wanted), middle, low)
        return others[item, jnp.clip(low, 0, jnp.maximum(number - 1, 0))]

    def on_cycle(arrow: Int[Array, "items"]) -> Mask:
        for _ in range(rounds):
            arrow = arrow[arrow]
        return jnp.zeros(num_items, bool).at[arrow].set(True) & ~is_root

    def again(
        state: tuple[Key, Int[Array, "items"], Mask],
    ) -> tuple[Key, Int[Array, "items"], Mask]:
        key, arrow, cyclic = state
        key, now = jax.random.split(key)
        arrow = jnp.where(cyclic, arrows(now), arrow)
        return key, arrow, on_cycle(arrow)

    start = key, jnp.where(is_root, item, item), ~is_root
    return jax.lax.while_loop(lambda state: jnp.any(state[2]), again, start)[1]
