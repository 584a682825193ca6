"""Hot kernels against what the machine can do: random words, and bytes to and from memory, in the same run.

The floor of a kernel is the longer of two times: computing the random words that it needs by bare Threefry, and moving
each byte of its arguments and results once. Float32, as the studies.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

import privrank_jax as pr
from privrank_jax._workarounds.threefry import fused
from privrank_jax.privacy.geometry import Zonotope, k_norm
from tests.benchmarks.harness import print_table, side_by_side
from tests.benchmarks.peers import btl_world

WORDS = 1 << 22  # 16 MiB
NUMBERS = 1 << 26  # 256 MiB: beyond any cache
USERS, ITEMS = 100_000, 50
FITS, FIT_ITEMS, PER_PAIR = 20_000, 30, 300
CROWD, CROWD_ITEMS = 20_000, 20
NOISES, NOISE_ITEMS = 10_000, 50


def main() -> None:
    """Print what the machine does, and the kernels beside it."""
    key = fused(jax.random.key(0))
    rng = np.random.default_rng(0)
    one, other = (jnp.argsort(jax.random.uniform(k, (USERS, ITEMS))) for k in jax.random.split(key))
    one, other = one.astype(jnp.int32), other.astype(jnp.int32)
    wins = jnp.asarray(btl_world(0, FITS, FIT_ITEMS, PER_PAIR), jnp.float32)
    crowd = jnp.argsort(jax.random.uniform(key, (CROWD, CROWD_ITEMS))).astype(jnp.int32)
    winners, losers = (jnp.asarray(rng.integers(0, 100, 10**6), jnp.int32) for _ in range(2))
    losers = jnp.where(losers == winners, (losers + 1) % 100, losers)
    numbers = jnp.zeros(NUMBERS, jnp.float32)

    def crowds(items: int) -> tuple[jax.Array, jax.Array]:
        return jax.random.split(key, USERS), jnp.tile(
            jnp.arange(items, dtype=jnp.int32), (USERS, 1)
        )

    sample = jax.jit(jax.vmap(pr.mallows.sample, (0, 0, None)))
    few, many = crowds(20), crowds(100)
    kendall = jax.jit(jax.vmap(pr.metrics.kendall_distance))
    fit = jax.jit(jax.vmap(lambda w: pr.pairwise.mle(pr.comparisons.WinCounts(w))))
    steps = int(np.sum(fit(wins).diagnostics.steps))
    count = jax.jit(
        lambda w, v: pr.comparisons.WinCounts.from_comparisons(w, v, num_items=100).matrix
    )
    privacy = pr.Privacy(1.0, unit="user", adjacency="replace")
    respond = jax.jit(
        lambda k: (
            pr.aggregation.local_weights(k, crowd, privacy, mechanism="randomized-response").value
        )
    )
    all_pairs = Zonotope.of_all_pairs(NOISE_ITEMS)
    noise = jax.jit(jax.vmap(lambda k, body: k_norm(k, body, 1.0, jnp.float32), (0, None)))
    noises = jax.random.split(key, NOISES)
    bits = jax.jit(lambda k: jax.random.bits(k, (WORDS,), jnp.uint32))
    add = jax.jit(lambda x: x + 1)

    pairs = CROWD_ITEMS * (CROWD_ITEMS - 1) // 2
    fits = f"{FITS:,} BTL fits, {FIT_ITEMS} items, {steps / FITS:.1f} Newton steps each"
    # name: what runs, blocks of Threefry, bytes
    kernels = {
        f"{USERS:,} Mallows draws, 20 items": (lambda: sample(*few, 2.0), USERS * 10, USERS * 160),
        f"{USERS:,} Mallows draws, 100 items": (
            lambda: sample(*many, 2.0),
            USERS * 50,
            USERS * 800,
        ),
        f"{USERS:,} Kendall distances, {ITEMS} items": (
            lambda: kendall(one, other),
            0,
            USERS * (8 * ITEMS + 4),
        ),
        f"weights of {USERS:,} rankings, {ITEMS} items": (
            lambda: pr.aggregation.PairWeights.from_ranks(one).matrix,
            0,
            USERS * 4 * ITEMS,
        ),
        fits: (lambda: fit(wins).value, 0, steps * 4 * FIT_ITEMS**2),
        "10^6 comparisons counted, 100 items": (lambda: count(winners, losers), 0, 8 * 10**6),
        f"responses of {CROWD:,} users on {pairs} pairs": (
            lambda: respond(key),
            2 * CROWD * pairs,
            CROWD * 4 * CROWD_ITEMS,
        ),
        f"{NOISES:,} K-norm draws, {NOISE_ITEMS} items, all pairs": (
            lambda: noise(noises, all_pairs),
            NOISES * 3 * NOISE_ITEMS // 2,
            NOISES * 4 * NOISE_ITEMS,
        ),
        f"{NOISES:,} K-norm draws, {NOISE_ITEMS} items, any lengths": (
            lambda: noise(noises, Zonotope(all_pairs.lengths)),
            NOISES * NOISE_ITEMS**2 // 2,
            NOISES * 4 * NOISE_ITEMS,
        ),
    }
    machine = {"words": lambda: bits(key), "bytes": lambda: add(numbers)}
    runs = {**machine, **{name: kernel[0] for name, kernel in kernels.items()}}
    seconds = side_by_side(runs)
    word, byte = seconds["words"] / WORDS, seconds["bytes"] / (8 * NUMBERS)
    rows = []
    for name, (_, blocks, moved) in kernels.items():
        floors = {"random words": blocks * word, "memory": moved * byte}
        floor = max(floors, key=lambda which: floors[which])
        rows.append(
            (
                name,
                f"{1e3 * seconds[name]:.2f} ms",
                f"{1e3 * floors[floor]:.2f} ms, {floor}",
                f"{seconds[name] / floors[floor]:.1f}x",
            )
        )
    rate = f"{1e9 * word:.3f} ns a random word, {1e-9 / byte:.1f} GB/s"
    title = f"hot kernels and their floors: {rate}; {FITS / seconds[fits]:,.0f} fits a second"
    print_table(title, ("kernel", "median time", "floor", "times the floor"), rows)


if __name__ == "__main__":
    main()
