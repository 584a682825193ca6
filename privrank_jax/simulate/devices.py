"""The devices that share a batch: those of this process and of the other processes that run the same study."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from privrank_jax._backend import memory_for_batches
from privrank_jax._types import Key

AXIS = "replicates"
_MIB = 20  # bits: processes tell one another numbers of 32 bits


class Devices:
    """A mesh of ``count`` devices of all processes (None takes all, or ``jax.default_device``), which share a batch.

    Each device runs the same program on its own part without communication, so its loops stop when its own replicates
    are done. Only results are exchanged, as bits, once per batch.
    """

    def __init__(self, devices: Sequence[Any] | None = None):
        self._mesh: Mesh | None = None
        self.count = 1
        alone = jax.process_count() == 1
        named = jax.config.values.get("jax_default_device") is not None
        if devices is None and alone and (named or jax.device_count() == 1):
            return
        found = jax.devices() if devices is None else list(devices)
        found = sorted(found, key=lambda device: (device.process_index, device.id))
        parts = [device.process_index for device in found]
        shares = {parts.count(process) for process in range(jax.process_count())}
        if len(set(found)) != len(found) or len(shares) != 1 or shares == {0}:
            raise ValueError(
                f"devices must be different, as many in each of {jax.process_count()} processes; got {found}"
            )
        self._mesh = Mesh(np.array(found), (AXIS,))
        self.count = len(found)

    @property
    def kind(self) -> str:
        """Platform and kind of the devices."""
        return "{0.platform} {0.device_kind}".format(self._found()[0])

    def memory_for_batches(self) -> int:
        """Bytes that a batch may use on each device, the same in all processes; all of them must ask."""
        here = jax.process_index()
        ours = [device for device in self._found() if device.process_index == here]
        return least(memory_for_batches(ours) >> _MIB) << _MIB

    def _found(self) -> list[Any]:
        return list(jnp.zeros(()).devices() if self._mesh is None else self._mesh.devices.flat)

    def jit(self, program: Callable[..., Any]) -> Any:
        """Compile the program over a batch of pairs, split over the devices; call it on the result of :meth:`place`."""
        if self._mesh is None:
            return jax.jit(program)

        def part(key_data: jax.Array, *rest: Any) -> Any:
            return program(jax.random.wrap_key_data(key_data, impl="threefry2x32"), *rest)

        whole, cut = PartitionSpec(), PartitionSpec(AXIS)
        specs: Any = {"in_specs": (whole, whole, cut, cut), "out_specs": cut}
        # Unchecked, as loops may start from constants.
        return jax.jit(jax.shard_map(part, mesh=self._mesh, check_vma=False, **specs))

    def place(self, key: Key, columns: Any, cell: np.ndarray, replicate: np.ndarray) -> Any:
        """Place the arguments on the devices: key and columns on each, the pairs split between them."""
        if self._mesh is None:
            return jax.random.clone(key), columns, cell, replicate  # replicates fold into it
        whole, cut = PartitionSpec(), PartitionSpec(AXIS)
        key_data, columns = jax.tree.map(
            lambda value: self._put(np.asarray(value), whole), (jax.random.key_data(key), columns)
        )
        return key_data, columns, self._put(cell, cut), self._put(replicate, cut)

    def _put(self, value: np.ndarray, spec: PartitionSpec) -> jax.Array:
        assert self._mesh is not None
        sharding = NamedSharding(self._mesh, spec)
        return jax.make_array_from_callback(value.shape, sharding, lambda index: value[index])

    def fetch(self, metrics: Sequence[jax.Array]) -> np.ndarray:
        """Fetch the results of this process, float64 of shape (metrics, pairs of this process), from arrays over the
        pairs, or matrices with a metric in each column."""
        shards = [
            sorted(metric.addressable_shards, key=lambda shard: shard.index[0].start or 0)
            for metric in metrics
        ]
        parts = jax.device_get([[shard.data for shard in row] for row in shards])
        found = [np.asarray(np.concatenate(row), float) for row in parts]
        return np.concatenate([values.reshape(len(values), -1).T for values in found])


def exchange(values: np.ndarray | None, shape: tuple[int, int]) -> np.ndarray | None:
    """Gather the values of all processes, each of the given ``shape``; None if any of them has none."""
    if jax.process_count() == 1:
        return values
    packed = np.zeros((shape[0] + 1, shape[1]))  # a last row says whether there are values
    if values is not None:
        packed[:-1], packed[-1] = values, 1.0
    parts = _of_all(packed.view(np.uint32)).view(np.float64)
    return np.concatenate([*parts[:, :-1]], axis=1) if parts[:, -1].all() else None


def least(value: int) -> int:
    """The smallest of the values that the processes hold."""
    return value if jax.process_count() == 1 else int(_of_all(np.array([value], np.uint32)).min())


def _of_all(array: np.ndarray) -> np.ndarray:
    """The arrays of all processes, of one shape, along a new leading axis."""
    from jax.experimental import multihost_utils

    return multihost_utils.process_allgather(array)


def from_first(state: Mapping[str, np.ndarray]) -> Mapping[str, np.ndarray]:
    """Broadcast the arrays of the first process, bit for bit; all processes hold arrays of the same shapes."""
    if jax.process_count() == 1:
        return state
    from jax.experimental import multihost_utils

    bits = {name: np.ascontiguousarray(value).view(np.uint32) for name, value in state.items()}
    found = multihost_utils.broadcast_one_to_all(bits)
    return {name: np.asarray(found[name]).view(state[name].dtype) for name in state}


def is_first() -> bool:
    """Whether this is the process that prints and writes."""
    return jax.process_index() == 0
