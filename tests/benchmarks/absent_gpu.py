"""An H100 that is not there: programs are compiled for it, by the compiler in the extra ``cuda12``, and not run."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

import jax
from jax.experimental import topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec

# Without the device XLA can't choose among kernels by timing them, and Triton, which wants that for its products, finds
# no tiles for some.
FLAGS = "--xla_gpu_autotune_level=0 --xla_gpu_enable_triton_gemm=false"

MEMORY = 84_929_347_584  # bytes of the device

# Facts of the device, as XLA wants them.
H100 = f"""
gpu_device_info {{
  threads_per_block_limit: 1024
  threads_per_warp: 32
  shared_memory_per_block: 49152
  shared_memory_per_core: 233472
  threads_per_core_limit: 2048
  core_count: 132
  fpus_per_core: 128
  block_dim_limit_x: 2147483647
  block_dim_limit_y: 65535
  block_dim_limit_z: 65535
  memory_bandwidth: 3352320000000
  l2_cache_size: 52428800
  clock_rate_ghz: 1.98
  device_memory_size: {MEMORY}
  shared_memory_per_block_optin: 232448
  cuda_compute_capability {{ major: 9 }}
  registers_per_core_limit: 65536
  registers_per_block_limit: 65536
}}
platform_name: "CUDA"
dnn_version_info {{ major: 9 minor: 8 }}
runtime_version {{ major: 12 minor: 9 patch: 0 }}
device_description_str: "NVIDIA H100 80GB HBM3"
"""
SHARE = 0.75  # of its memory, which JAX takes by default


def pretend() -> None:
    """Let the package take this GPU for the default device; call it before anything asks JAX for a device."""
    os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {FLAGS}"
    jax.config.update("jax_platforms", "cpu")
    jax.default_backend = lambda: "gpu"


@functools.cache
def _everywhere() -> NamedSharding:
    """The one device, as a sharding.

    Raises:
        SystemExit: the compiler for it is not installed.
    """
    jax.devices()  # loads the compilers that are installed
    try:
        found = topologies.get_topology_desc(platform="cuda", target_config=H100, topology="1x1x1")
    except (KeyError, NotImplementedError, RuntimeError, ValueError) as error:
        raise SystemExit(
            f'no compiler for an H100: install the extra "cuda12" ({error})'
        ) from error
    return NamedSharding(Mesh(found.devices, ("device",)), PartitionSpec())


def placed(arrays: Any) -> Any:
    """The shapes of arrays, as of arrays on the device."""
    where = _everywhere()
    return jax.tree.map(lambda x: jax.ShapeDtypeStruct(x.shape, x.dtype, sharding=where), arrays)


class AbsentDevices:
    """Stands in for :class:`privrank_jax.simulate.devices.Devices`, as far as a program needs it to be compiled."""

    count = 1
    are_cpus = False

    def jit(self, program: Callable[..., Any]) -> Any:
        """The program, to be lowered."""
        return jax.jit(program)

    def place(self, *arguments: Any) -> Any:
        """Shapes of the arguments."""
        return placed(arguments)
