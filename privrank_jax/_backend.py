"""Choices that depend on the kind of device: the work of one step of a loop, the memory of a study, matrix products.

A program asks for the kind when it is traced. On all devices a key gives the same words, and counts are exact; sums of
floating-point numbers may be taken in another order.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Num, PyTree

# Of one step of a loop on an accelerator: launching kernels then takes little of the time.
BLOCK_BYTES = 1 << 30
# Of an accelerator's memory for one batch of a study: two are in flight, and XLA needs some.
MEMORY_SHARE = 0.4
CPU_MEMORY = 1 << 30  # bytes for one batch of a study on a CPU, whose memory all programs share


def platform() -> str:
    """``"cpu"``, ``"gpu"`` or ``"tpu"``: of the device that JAX uses, also within ``jax.default_device``."""
    chosen = jax.config.values.get("jax_default_device")
    if chosen is None:
        return jax.default_backend()
    return chosen if isinstance(chosen, str) else chosen.platform


def on_cpu() -> bool:
    """Whether JAX computes on a CPU by default."""
    return platform() == "cpu"


def processors() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # not everywhere
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def at_once(cpu: int, bytes_each: int) -> int:
    """How many equal parts one step of a loop should take: at least 1; on a CPU ``cpu``, so that it stays in cache;
    elsewhere as many of ``bytes_each`` as fill :data:`BLOCK_BYTES`, not fewer than ``cpu``."""
    return max(1, cpu if on_cpu() else max(cpu, BLOCK_BYTES // max(bytes_each, 1)))


def map_parts(function: Callable[[PyTree], PyTree], parts: PyTree, bytes_each: int) -> PyTree:
    """The results of a function of each part: one part after another on a CPU, as many as :func:`at_once` elsewhere.

    Args:
        function: of one part; it can be vmapped.
        parts: arrays with a leading axis over the parts.
        bytes_each: working set of one part.

    >>> map_parts(jnp.square, jnp.arange(3), 4).tolist()
    [0, 1, 4]
    """
    together = at_once(1, bytes_each)
    return jax.lax.map(function, parts, batch_size=None if together == 1 else together)


def sum_of_parts(function: Callable[[PyTree], PyTree], parts: PyTree, bytes_each: int) -> PyTree:
    """The sum of the results of a function of each part, taken in the steps of :func:`map_parts`.

    Args:
        function: of one part, to arrays of which none changes its dtype when added up; it can be vmapped.
        parts: arrays with a leading axis over the parts; the sum of none is 0.
        bytes_each: working set of one part.

    >>> int(sum_of_parts(jnp.square, jnp.arange(3), 4))
    5
    """
    number = jax.tree.leaves(parts)[0].shape[0]
    together = min(at_once(1, bytes_each), number)
    first = jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape[1:], x.dtype), parts)
    zeros = jax.tree.map(lambda x: jnp.zeros(x.shape, x.dtype), jax.eval_shape(function, first))

    def plus(total: PyTree, part: PyTree) -> PyTree:
        return jax.tree.map(jnp.add, total, function(part))

    def plus_many(total: PyTree, many: PyTree) -> PyTree:
        found = jax.vmap(function)(many)
        return jax.tree.map(lambda t, x: t + jnp.sum(x, axis=0, dtype=x.dtype), total, found)

    if together <= 1:
        return jax.lax.scan(lambda total, part: (plus(total, part), None), zeros, parts)[0]
    whole = number // together * together
    steps = jax.tree.map(lambda x: x[:whole].reshape(-1, together, *x.shape[1:]), parts)
    total, _ = jax.lax.scan(lambda total, many: (plus_many(total, many), None), zeros, steps)
    return plus_many(total, jax.tree.map(lambda x: x[whole:], parts))


def memory_for_batches(devices: Iterable[Any]) -> int:
    """Bytes that one batch of a study may use on each of these JAX devices: :data:`MEMORY_SHARE` of the smallest one's
    memory, where the backend reports it; otherwise, as on a CPU, :data:`CPU_MEMORY`."""
    found = [limit for limit in map(bytes_limit, devices) if limit is not None]
    return int(MEMORY_SHARE * min(found)) if found else CPU_MEMORY


def bytes_limit(device: Any) -> int | None:
    """The memory that JAX may use on a device; None for a CPU, and where the backend does not report it."""
    if device.platform == "cpu":
        return None
    try:
        return (device.memory_stats() or {}).get("bytes_limit")
    except (NotImplementedError, jax.errors.JaxRuntimeError):
        return None


def product(
    left: Num[Array, "*left inner"] | Any, right: Num[Array, "*right"] | Any
) -> Num[Array, "..."]:
    """``left @ right`` in the full precision of its dtype on every device.

    By default GPUs round the factors of float32 products to the 11 significant bits of TF32, and TPUs to the 8 of
    bfloat16: a Cholesky factor of such a product may not exist, and integers above 2048 lose their last bits.

    >>> product(jnp.array([[1.0, 2.0]]), jnp.array([3.0, 4.0])).tolist()
    [11.0]
    """
    return jnp.matmul(left, right, precision=jax.lax.Precision.HIGHEST)
