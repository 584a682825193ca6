"""10^5 synthetic rankings of 20, 50 and 100 items, a key and a budget each, beside NumPy, bare uniforms and floors."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

import privrank_jax as pr
from tests.benchmarks.harness import MULTIPLES, floors, multiples, print_table, ratios, side_by_side

USERS, EPSILON = 100_000, 2.0


def numpy_sample(rng: np.random.Generator, centers: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Repeated insertion, item-major: single-precision uniforms, one vector operation a step, places in bytes."""
    users, items = centers.shape
    theta = (epsilon / (items - 1)).astype(np.float32)
    uniform = rng.random((items, users), np.float32)
    places = np.empty((items, users), np.int8)
    for item in range(items):
        back = -np.log1p(uniform[item] * np.expm1(-theta * np.float32(item + 1))) / theta
        place = (item - np.minimum(back, item).astype(np.int8)).astype(np.int8)
        places[:item] += places[:item] >= place
        places[item] = place
    return np.take_along_axis(places.T, centers, axis=1).astype(np.int32)


def kept(ranks: np.ndarray, centers: np.ndarray) -> float:
    """Mean number of pairs kept by the first thousand users."""
    distance = jax.vmap(pr.metrics.kendall_distance)(ranks[:1000], centers[:1000])
    return ranks.shape[1] * (ranks.shape[1] - 1) / 2 - float(jnp.mean(distance))


def main() -> None:
    """Print a table for each number of items."""
    rng = np.random.default_rng(0)
    keys = jax.random.split(jax.random.key(0), USERS)
    epsilon = np.full(USERS, EPSILON, np.float32)
    sample = jax.jit(jax.vmap(pr.mallows.sample))
    for items in (20, 50, 100):
        centers = np.argsort(rng.random((USERS, items)), axis=1).astype(np.int32)
        on_device = (keys, jnp.asarray(centers), jnp.asarray(epsilon))
        uniform = jax.jit(jax.vmap(lambda key, m=items: jax.random.uniform(key, (m,))))
        shared = jax.jit(jax.vmap(pr.mallows.sample, (0, None, None)))
        runs = {
            "privrank_jax, vmap": functools.partial(sample, *on_device),
            "privrank_jax, all users alike": functools.partial(
                shared, keys, on_device[1][0], np.float32(EPSILON)
            ),
            "jax.random.uniform, vmap": functools.partial(uniform, keys),
            "NumPy, item-major": functools.partial(numpy_sample, rng, centers, epsilon),
        }
        wanted = float(pr.mallows.expected_concordance(items, EPSILON))
        for name in ("privrank_jax, vmap", "NumPy, item-major"):
            assert abs(kept(np.asarray(runs[name]()), centers) / wanted - 1) < 0.02
        seconds = side_by_side(runs, rounds=11)
        title = f"{USERS:,} synthetic rankings of {items} items, a key and an epsilon each"
        rows = ratios(seconds, "privrank_jax, vmap")
        print_table(title, ("method", "median time", "times ours"), rows)
        ours = {name: run for name, run in runs.items() if name.startswith("privrank_jax")}
        floor = floors(on_device, runs["privrank_jax, vmap"](), words=USERS * items)
        print_table(f"{title}: multiples of the floor", MULTIPLES, multiples(ours, floor))


if __name__ == "__main__":
    main()
