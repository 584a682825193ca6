"""Draws of noise in one program: Laplace noise against K-norm noise of cubes, of all pairs and of any lengths."""

from __future__ import annotations

import time
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax._workarounds.threefry import fused
from privrank_jax.privacy.geometry import Body, Cube, Zonotope, k_norm
from tests.benchmarks.harness import print_table, side_by_side

DRAWS = 4_000
CUBE_DRAWS = 500  # of m(m - 1)/2 numbers each


def sparse(items: int) -> Zonotope:
    """A random graph with four pairs for each item, and a path through all of them."""
    lengths = np.random.default_rng(0).random((items, items)) < 8 / items
    lengths = np.triu(lengths | np.eye(items, k=1, dtype=bool), 1)
    return Zonotope(jnp.asarray(lengths | lengths.T, jnp.float32))


def cycle(items: int) -> Zonotope:
    """Each item and the next."""
    lengths = np.roll(np.eye(items), 1, axis=1)
    return Zonotope(jnp.asarray(np.maximum(lengths, lengths.T), jnp.float32))


def shaped(body: Body, keys: jax.Array) -> Callable[[], jax.Array]:
    """One draw for each key; the body is an argument of the program, no constant."""
    draw = jax.jit(jax.vmap(lambda key, body: k_norm(key, body, 1.0, jnp.float32), (0, None)))
    return lambda: draw(keys, body)


def laplace(size: int, keys: jax.Array) -> Callable[[], jax.Array]:
    """As many numbers for each key."""
    draw = jax.jit(jax.vmap(lambda key: jax.random.laplace(key, (size,), jnp.float32)))
    return lambda: draw(keys)


def processor_seconds(run: Callable[[], jax.Array], rounds: int = 3) -> float:
    """Mean processor time of a call, of all threads, which other work on the machine hardly changes."""
    started = time.process_time()
    for _ in range(rounds):
        jax.block_until_ready(run())
    return (time.process_time() - started) / rounds


def main() -> None:
    """Print microseconds a draw."""
    keys = jax.random.split(fused(jax.random.key(0)), DRAWS)
    few = keys[:CUBE_DRAWS]
    rows = []
    for items in (10, 50, 200):
        pairs = items * (items - 1) // 2
        everything = Zonotope.of_all_pairs(items)
        runs = {
            f"Laplace, {items} totals": laplace(items, keys),
            "K-norm, all pairs": shaped(everything, keys),
            "K-norm, any lengths: all pairs": shaped(Zonotope(everything.lengths), keys),
            "K-norm, any lengths: sparse": shaped(sparse(items), keys),
            "K-norm, any lengths: cycle": shaped(cycle(items), keys),
            f"Laplace, {pairs:,} weights": laplace(pairs, few),
            "K-norm, cube of weights": shaped(Cube(jnp.ones(pairs, bool)), few),
        }
        for name, seconds in side_by_side(runs, rounds=5).items():
            weights = "weights" in name
            draws = CUBE_DRAWS if weights else DRAWS
            processor = processor_seconds(runs[name])
            both = (f"{1e6 * spent / draws:.2f} us" for spent in (seconds, processor))
            rows.append((f"{items}", name, *both))
    title = f"{DRAWS:,} draws of noise in one program, {CUBE_DRAWS} of weights"
    header = ("items", "noise", "median time a draw", "processor time a draw")
    print_table(title, header, rows)


if __name__ == "__main__":
    main()
