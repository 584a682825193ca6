"""Crowds block by block, so that a CPU's cache holds what is computed on the way to the result.

A program that treats 10^5 users of 100 items at once writes tens of megabytes between its steps. On a CPU that takes
longer than the steps themselves, the more so beyond 32 MiB, for which each run asks the system for fresh pages.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Shaped

from privrank_jax._backend import at_once, on_cpu
from privrank_jax._types import Count

CACHE_BYTES = 2**20
"""Arguments of a block on a CPU: about the size of the cache of one core."""

NEAR_BYTES = 20 * 2**10
"""What the steps of a kernel on a CPU read again and again: half of the cache next to a core."""

WHOLE_BYTES = 2**25
"""Arguments of so many bytes are one block on a CPU unless the caller says otherwise: memory is then reused from run to
run, and steps occupy all cores."""

_LANES = 64  # bytes in the widest vector
_WORKING_SET = 2  # times the arguments, on an accelerator


def users_at_once(
    users: int, bytes_each: int, bytes_at_once: int | None = None, whole_bytes: int | None = None
) -> int:
    """Users of a block.

    On a CPU it is an odd multiple of 64: rows that are multiples of 4 KiB apart compete for the same places in a cache.

    Args:
        users: users of the crowd, at least 1.
        bytes_each: bytes of one user's arguments.
        bytes_at_once: most bytes of a block's arguments; by default :data:`CACHE_BYTES` on a CPU, and elsewhere as many
            as an accelerator works on at once.
        whole_bytes: a crowd of no more bytes of arguments is one block; by default :data:`WHOLE_BYTES` on a CPU where
            the former is not given, and elsewhere 0.

    Returns:
        From 1 to ``users``; blocks of as many, of which the last may overlap, are about as few as possible.

    >>> users_at_once(1000, 12)
    1000
    """
    bytes_each = max(bytes_each, 1)
    if whole_bytes is None:
        whole_bytes = WHOLE_BYTES if bytes_at_once is None and on_cpu() else 0
    if users * bytes_each <= whole_bytes:
        return users
    if bytes_at_once is None:
        bytes_at_once = CACHE_BYTES if on_cpu() else at_once(1, _WORKING_SET)
    most = max(_LANES, bytes_at_once // bytes_each)
    if most >= users:
        return users
    even = -(-users // -(-users // most))
    return min(users, (even // _LANES | 1) * _LANES)


def crowd_size(*rows: int) -> int:
    """Users of a crowd from the rows of its arrays, where an array of one row is that of all users.

    >>> crowd_size(3, 1), crowd_size(1, 1), crowd_size(0, 1)
    (3, 1, 0)
    """
    return next((length for length in rows if length != 1), 1)


def blockwise(
    function: Callable[..., Shaped[Array, "block *rest"]],
    *crowd: Shaped[Array, "#users ..."],
    bytes_at_once: int | None = None,
    whole_bytes: int | None = None,
) -> Shaped[Array, "users *rest"]:
    """``function(*crowd)`` by blocks of users, where users do not depend on each other.

    Args:
        function: of arrays with a leading axis of users, which returns one array with that axis.
        crowd: arrays with the same leading axis, or of one row that all users share: the function gets that row.
        bytes_at_once, whole_bytes: arguments of a block, as for :func:`users_at_once`.

    Returns:
        The values of ``function(*crowd)``.

    >>> blockwise(lambda ranks: ranks.max(axis=1), jnp.array([[0, 1], [3, 2]])).tolist()
    [1, 3]
    """
    users = crowd_size(*(len(x) for x in crowd))
    bytes_each = sum(math.prod(x.shape[1:]) * x.dtype.itemsize for x in crowd)
    block = users_at_once(users, bytes_each, bytes_at_once, whole_bytes)
    if block == users:
        return function(*crowd)

    def part_of(x: Array, first: Count) -> Array:
        return x if len(x) == 1 else jax.lax.dynamic_slice_in_dim(x, first, block)

    def step(number: Array, found: Array) -> Array:
        first = jnp.minimum(number * block, users - block)  # the last block overlaps the one before
        part = function(*(part_of(x, first) for x in crowd))
        return jax.lax.dynamic_update_slice_in_dim(found, part, first, 0)

    one = jax.eval_shape(lambda *crowd: function(*(part_of(x, 0) for x in crowd)), *crowd)
    found = jnp.zeros((users, *one.shape[1:]), one.dtype)
    return jax.lax.fori_loop(0, -(-users // block), step, found)
