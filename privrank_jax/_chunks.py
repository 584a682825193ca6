"""A batch of problems as one call, in chunks that stay in a CPU's cache."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import PyTree

from privrank_jax._backend import at_once, on_cpu

# Bytes of arguments that a CPU works on at a time, so that they stay in its cache; fewer where problems lie along the
# trailing axis, as several such arrays are in use.
_CPU_CHUNK, _CPU_LANES = 1 << 21, 1 << 18
_VECTOR = 16  # numbers in the widest vector
# Problems of more items than this, and batches smaller than this, are solved one by one.
_MOST_ITEMS, _FEWEST = 60, 8


def chunked(solve: Callable[..., PyTree], cpu_bytes: int | None = None) -> Callable[..., PyTree]:
    """A function of one problem from ``solve``, a function of a batch, that ``jax.vmap`` turns back into batches.

    Under ``jax.vmap``, also nested, ``solve`` gets all problems along one leading axis, on a CPU a chunk at a time. A
    loop in ``solve`` is then one loop for the batch, where ``jax.vmap`` of a ``while_loop`` copies the whole state of
    each problem in each step, and computes both branches of each condition.

    Args:
        solve: a function of arrays with one more leading axis than those of a problem, as are its results; the
            function of one problem has no derivatives of its own.
        cpu_bytes: bytes of arguments that a CPU works on at a time; by default 2 MiB.

    >>> total = chunked(lambda batch: batch.sum(-1))
    >>> float(total(jnp.ones(3))), jax.vmap(total)(jnp.ones((2, 3))).tolist()
    (3.0, [3.0, 3.0])
    """
    return _with_axes(solve, cpu_bytes or _CPU_CHUNK, 0)


def in_lanes(solve: Callable[..., PyTree], items: int) -> Callable[..., PyTree]:
    """A function of one problem from ``solve``, which takes one problem or many along a *trailing* axis of all arrays.

    Each operation on many small problems then runs along contiguous memory, where a vmapped one would handle short
    rows. A large problem fills vector registers by itself, and is solved alone on a CPU.

    Args:
        solve: a function of arrays, which may have one more trailing axis than those of a problem; so have its results.
        items: the size of a problem, to choose by.

    >>> total = in_lanes(lambda x: x.sum(0), 3)
    >>> float(total(jnp.ones(3))), jax.vmap(total)(jnp.ones((2, 3))).tolist()
    (3.0, [3.0, 3.0])
    """

    def of_batch(*arguments: PyTree) -> PyTree:
        leaves = jax.tree.leaves(arguments)
        batch = leaves[0].shape[0]
        if batch == 1:
            found = solve(*jax.tree.map(lambda x: x[0], arguments))
            return jax.tree.map(lambda x: x[None], found)
        if on_cpu() and (batch < _FEWEST or items > _MOST_ITEMS):
            return jax.lax.map(lambda one: solve(*one), arguments)
        found = solve(*jax.tree.map(lambda x: jnp.moveaxis(x, 0, -1), arguments))
        return jax.tree.map(lambda x: jnp.moveaxis(x, -1, 0), found)

    return _with_axes(of_batch, _CPU_LANES, 0)


def with_batch_axis(size: int, batched: Sequence[PyTree], arguments: Sequence[PyTree]) -> PyTree:
    """The arguments of a batching rule with a leading axis each: what the batch shares is repeated."""
    return jax.tree.map(
        lambda x, has_axis: x if has_axis else jnp.broadcast_to(x, (size, *x.shape)),
        tuple(arguments),
        tuple(batched),
    )


def _with_axes(solve: Callable[..., PyTree], cpu_bytes: int, axes: int) -> Callable[..., PyTree]:
    @custom_vmap
    def run(*arguments: PyTree) -> PyTree:
        lead = jax.tree.leaves(arguments)[0].shape[:axes]
        flat = jax.tree.map(lambda x: x.reshape(-1, *x.shape[axes:]), arguments)
        found = _in_turn(solve, cpu_bytes, flat)
        return jax.tree.map(lambda x: x.reshape(*lead, *x.shape[1:]), found)

    @run.def_vmap
    def batched(
        axis_size: int, in_batched: Sequence[PyTree], *arguments: PyTree
    ) -> tuple[PyTree, PyTree]:
        whole = with_batch_axis(axis_size, in_batched, arguments)
        found = _with_axes(solve, cpu_bytes, axes + 1)(*whole)
        return found, jax.tree.map(lambda _: True, found)

    return run


def _in_turn(solve: Callable[..., PyTree], cpu_bytes: int, arguments: tuple[PyTree, ...]) -> PyTree:
    leaves = jax.tree.leaves(arguments)
    batch = leaves[0].shape[0]
    each = max(1, sum(x.size * x.dtype.itemsize for x in leaves) // max(batch, 1))
    chunks = -(-batch // at_once(cpu_bytes // each, each))
    if chunks <= 1:
        return solve(*arguments)
    size = -(-batch // chunks)
    # Whole vectors: each operation computes what is left over one number at a time.
    if size > _VECTOR // 2:
        size = min(batch, -(-size // _VECTOR) * _VECTOR)
    chunks = -(-batch // size)
    # All chunks have one size, so the last one may repeat problems of the one before.
    repeated = chunks * size - batch

    def one(first: jax.Array) -> PyTree:
        return solve(
            *jax.tree.map(lambda x: jax.lax.dynamic_slice_in_dim(x, first, size), arguments)
        )

    found = jax.lax.map(one, jnp.minimum(jnp.arange(chunks) * size, batch - size))
    return jax.tree.map(
        lambda x: jnp.concatenate([x[:-1].reshape(-1, *x.shape[2:]), x[-1, repeated:]]), found
    )
