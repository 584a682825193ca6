"""Weights of 10^5 rankings of 50 items, and Kendall distances of 10^5 pairs, beside NumPy item by item and floors; and
weights of 10^6 rankings, which no cache holds, beside the floor."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np

import privrank_jax as pr
from tests.benchmarks.harness import MULTIPLES, floors, multiples, print_table, ratios, side_by_side

USERS, ITEMS = 100_000, 50


def item_major(ranks: np.ndarray) -> np.ndarray:
    """(items, users) in bytes: what NumPy compares fastest."""
    return np.ascontiguousarray(ranks.T.astype(np.int8))


def matrix(ranks: np.ndarray | jax.Array) -> jax.Array:
    """Weights by the library, with its checks."""
    return pr.aggregation.PairWeights.from_ranks(ranks).matrix


def numpy_weights(ranks: np.ndarray) -> np.ndarray:
    """One vector comparison for each pair of items."""
    columns, users = item_major(ranks), len(ranks)
    w = np.zeros((ITEMS, ITEMS))
    for i in range(ITEMS):
        for j in range(i + 1, ITEMS):
            w[i, j] = np.count_nonzero(columns[i] < columns[j]) / users
            w[j, i] = 1 - w[i, j]
    return w


def numpy_kendall(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """One vector comparison for each pair of items and ranking, counted in bytes for each first item."""
    a, b = item_major(a), item_major(b)
    total = np.zeros(a.shape[1], np.int32)
    for i in range(ITEMS - 1):
        count = np.zeros(a.shape[1], np.uint8)
        for j in range(i + 1, ITEMS):
            count += ((a[i] < a[j]) != (b[i] < b[j])).view(np.uint8)
        total += count
    return total


def main() -> None:
    """Print the tables."""
    rng = np.random.default_rng(0)
    a, b = (np.argsort(rng.random((USERS, ITEMS)), axis=1).astype(np.int32) for _ in range(2))
    on_device = jnp.asarray(a), jnp.asarray(b)

    weights = {
        "privrank_jax": functools.partial(matrix, on_device[0]),
        "privrank_jax, from NumPy": functools.partial(matrix, a),
        "NumPy, item-major": lambda: numpy_weights(a),
    }
    assert np.abs(np.asarray(weights["privrank_jax"]()) - numpy_weights(a)).max() < 1e-6
    seconds = side_by_side(weights, rounds=15)
    title = f"weights of {USERS:,} rankings of {ITEMS} items"
    print_table(title, ("method", "median time", "times ours"), ratios(seconds, "privrank_jax"))
    ours = {"privrank_jax": weights["privrank_jax"]}
    floor = floors(on_device[0], weights["privrank_jax"]())
    print_table(f"{title}: multiples of the floor", MULTIPLES, multiples(ours, floor))

    for items in (20, ITEMS):
        order = rng.random((10 * USERS, items), np.float32).argsort(axis=1)
        many = jnp.asarray(order.astype(np.int32))
        ours = {"privrank_jax": functools.partial(matrix, many)}
        title = f"weights of {10 * USERS:,} rankings of {items} items: multiples of the floor"
        rows = multiples(ours, floors(many, ours["privrank_jax"]()))
        print_table(title, MULTIPLES, rows)

    batched = jax.jit(jax.vmap(pr.metrics.kendall_distance))
    distances = {
        "privrank_jax, vmap": lambda: batched(*on_device),
        "NumPy, item-major": lambda: numpy_kendall(a, b),
    }
    assert np.array_equal(batched(*on_device), numpy_kendall(a, b))
    seconds = side_by_side(distances, rounds=15)
    title = f"Kendall distances of {USERS:,} pairs of rankings of {ITEMS} items"
    rows = ratios(seconds, "privrank_jax, vmap")
    print_table(title, ("method", "median time", "times ours"), rows)
    ours = {"privrank_jax, vmap": distances["privrank_jax, vmap"]}
    floor = floors(on_device, batched(*on_device))
    print_table(f"{title}: multiples of the floor", MULTIPLES, multiples(ours, floor))


if __name__ == "__main__":
    main()
