"""Pairs of items: those of real items, and the connected components of small graphs."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int, Shaped

from privrank_jax._types import Mask


def pairs_of(keep: Mask) -> Bool[Array, "items items"]:
    """Which pairs are of two different items that are kept."""
    return keep[:, None] & keep & ~jnp.eye(keep.size, dtype=bool)


def components(
    joined: Shaped[Array | np.ndarray, "items items"],
) -> Int[Array | np.ndarray, "items"]:
    """The lowest item of each item's component, int32; ``joined`` is symmetric, above 0 where a pair is joined.

    >>> components(np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0]])).tolist()
    [0, 1, 0]
    """
    xp = np if isinstance(joined, np.ndarray) else jnp
    item = xp.arange(joined.shape[0], dtype=np.int32)
    joined = (joined > 0) | (item[:, None] == item)

    def lower(label: Any) -> Any:
        least = xp.where(joined, label, item.size).min(axis=1).astype(np.int32)
        return least[least]

    if xp is jnp:
        states = item, lower(item)
        return jax.lax.while_loop(
            lambda pair: jnp.any(pair[0] != pair[1]), lambda pair: (pair[1], lower(pair[1])), states
        )[1]
    while np.any((least := lower(item)) != item):
        item = least
    return item
