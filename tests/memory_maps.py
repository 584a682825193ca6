"""Room for compiled programs, of which XLA keeps about fifteen memory maps each on a CPU.

Linux lets a process have 65,530 maps (``vm.max_map_count``); where XLA's compiler gets no more, it ends the process
("LLVM compilation error: Cannot allocate memory"), however much memory is free. JAX keeps what it has compiled.

Upstream: https://github.com/jax-ml/jax/issues/11923 (the error), https://github.com/jax-ml/jax/issues/10828 and
https://github.com/jax-ml/jax/issues/16778 (compiled programs are kept). To reproduce: compile 5,000 different functions
in one process and watch the lines of ``/proc/self/maps``.
Remove when: JAX, or XLA, drops old programs before the maps run out.
"""

from __future__ import annotations

import gc
from pathlib import Path

import jax

MOST_MAPS = 40_000


def memory_maps() -> int:
    """How many this process has; 0 on systems that do not tell, which are not known to limit them."""
    try:
        return Path("/proc/self/maps").read_bytes().count(b"\n")
    except OSError:
        return 0


def make_room(most: int = MOST_MAPS) -> None:
    """Drop all compiled programs where there are more maps than that."""
    if memory_maps() > most:
        jax.clear_caches()
        gc.collect()  # programs of functions in circles
