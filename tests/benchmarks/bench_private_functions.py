"""First calls and runs of a batch of every audited private function, beside the same with JAX's generator as it is.

The generators draw the same numbers. Trials of studies get keys of the fused one anyway; this is what it saves whoever
calls ``jax.jit(jax.vmap(...))`` with keys of their own.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp

from privrank_jax import privacy_audit
from privrank_jax._workarounds import threefry
from privrank_jax.privacy_audit import Audited
from tests.benchmarks.harness import print_table, side_by_side

BATCH = 1000


class Built(NamedTuple):
    """A compiled batch, and the seconds that tracing, lowering and compiling it took."""

    run: Callable[[], Any]
    seconds: float


def build(row: Audited, keys: jax.Array) -> Built:
    """Compile a batch of releases of one data set of the audit."""
    data = jax.tree.map(jnp.asarray, row.neighbors[0])
    jax.clear_caches()
    started = time.perf_counter()
    batch = jax.jit(jax.vmap(lambda key, epsilon: row.run(key, data, row.at(epsilon)), (0, None)))
    compiled = batch.lower(keys, jnp.float32(1)).compile()
    return Built(functools.partial(compiled, keys, jnp.float32(1)), time.perf_counter() - started)


def by_jax(row: Audited, keys: jax.Array) -> Built:
    """The same with the generator of JAX."""
    ours = threefry.on_cpu
    threefry.on_cpu = lambda: False
    try:
        return build(row, keys)
    finally:
        threefry.on_cpu = ours


def main() -> None:
    """Print one table, the functions that gain most first."""
    keys = jax.random.split(jax.random.key(0), BATCH)
    rows = {row.function: row for row in map(privacy_audit.get, privacy_audit.names())}
    found = []
    for name, row in rows.items():
        # Twice, as the first time what the function needs is imported.
        ours, others = zip(*((build(row, keys), by_jax(row, keys)) for _ in range(2)), strict=True)
        seconds, longer = (min(one.seconds for one in built) for built in (ours, others))
        runs = side_by_side({"ours": ours[0].run, "JAX's": others[0].run})
        found.append((longer / seconds, name, seconds, runs["ours"], runs["JAX's"] / runs["ours"]))
    print_table(
        f"first call and run of {BATCH:,} releases in one program, ε traced",
        ("function", "first call", "by JAX's generator", "run", "by JAX's generator"),
        [
            (name, f"{seconds:.2f} s", f"{first:.1f}x", f"{1e3 * run:.1f} ms", f"{ratio:.1f}x")
            for first, name, seconds, run, ratio in sorted(found, reverse=True)
        ],
    )


if __name__ == "__main__":
    main()
