"""Ranks of four users side by side in each word of 32 bits, for kernels that compare them on a GPU.

Few ranks are as large as a byte allows, so a word holds those of four users. Bytes below 128 are compared within words:
with the highest bit of each set in one of two words, their difference borrows nothing from the next byte.
"""

from __future__ import annotations

from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, UInt32

from privrank_jax._types import Count, Rankings

USERS = 4
"""Users in a word."""

GAP, WIDE = 126, 127
"""Bytes of what stands behind all ranks, and of ranks that are too large."""

WIDTH_ON_GPU = 8
"""Words side by side on a GPU: threads that run together then compare items of the same few users, which the nearest
cache holds."""

HIGHEST = np.uint32(0x80808080)
"""The highest bits of the bytes in a word."""

LOWEST = np.uint32(0x01010101)
"""The lowest bits of the bytes in a word."""


def blocks(users: int, step: int, most: int) -> tuple[int, int]:
    """How to split a crowd into equal blocks, of which the last may overlap the one before.

    Args:
        users: users of the crowd, at least twice ``step``.
        step: each block is a multiple of it.
        most: users in a block, about.

    Returns:
        The number of blocks, and the users in each, at most ``users``.

    >>> blocks(1000, 64, 300), blocks(1000, 64, 2000)
    ((4, 256), (2, 512))
    """
    number = max(1, -(-users // most))
    while (block := -(-users // (number * step)) * step) > users:
        number += 1
    return -(-users // block), block


def quarters(ranks: Rankings, first: Count, users: int) -> list[Rankings]:
    """The ranks of ``users`` users from ``first`` on, in four parts."""
    part = users // USERS
    return [jax.lax.dynamic_slice_in_dim(ranks, first + k * part, part) for k in range(USERS)]


def joined(quarters: Sequence[UInt32[Array, "words items"]]) -> UInt32[Array, "words items"]:
    """Numbers below 256 of four users in the bytes of each word, first users lowest."""
    a, b, c, d = quarters
    return a | b << 8 | c << 16 | d << 24


def by_item(
    quarters: Sequence[UInt32[Array, "words items"]], width: int
) -> UInt32[Array, "blocks items {width}"]:
    """The words of :func:`joined`, in blocks of ``width`` words."""
    words = joined(quarters)
    by_block = jnp.swapaxes(words.reshape(-1, width, words.shape[1]), 1, 2)
    return jax.lax.optimization_barrier(by_block)


def at_least(
    first: UInt32[Array, "*#words"], second: UInt32[Array, "*#words"]
) -> UInt32[Array, "*#words"]:
    """Words whose :data:`HIGHEST` bits tell where bytes of the first are not less than those of the second, all below
    128."""
    return (first | HIGHEST) - second


def any_wide(words: UInt32[Array, "words *place"]) -> Bool[Array, ""]:
    """Whether any byte is :data:`WIDE`, if none is larger."""
    return jnp.any(words + LOWEST & HIGHEST)
