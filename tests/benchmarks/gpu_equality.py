"""Worlds of the benchmark of one device, and its results held against those of a CPU.

What a device computes bit for bit are random words and counts; fits and means agree to rounding.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

import privrank_jax as pr
from privrank_jax._backend import product
from privrank_jax._workarounds.threefry import fused
from privrank_jax.simulate import Study, grid, run

COMPARISONS = 300  # of a pair


def btl_counts(key: jax.Array, batch: int, items: int, dtype: DTypeLike) -> jax.Array:
    """Win counts ``(batch, items, items)`` of standard normal scores, with a normal law for the binomial one."""
    score_key, win_key = jax.random.split(key)
    scores = jax.random.normal(score_key, (batch, items))
    chance = jax.nn.sigmoid(scores[:, :, None] - scores[:, None, :])
    noise = jax.random.normal(win_key, chance.shape) * jnp.sqrt(chance * (1 - chance) / COMPARISONS)
    upper = jnp.triu(jnp.clip(jnp.round(COMPARISONS * (chance + noise)), 0, COMPARISONS), 1)
    lower = jnp.triu(COMPARISONS - upper, 1).swapaxes(1, 2)
    return (upper + lower).astype(dtype)


def fit_trial(key: jax.Array, cell: dict) -> dict:
    """The error of a BTL fit and the number of comparisons won by the first item."""
    wins = btl_counts(key, 1, cell["num_items"], jnp.result_type(float))[0]
    found = pr.pairwise.mle(pr.comparisons.WinCounts(wins)).value
    return {"largest": jnp.max(found), "won": wins[0].sum()}


def compared(users: int) -> Iterator[tuple[str, str]]:
    """The same numbers as on a CPU: words and counts to the last bit, fits to rounding.

    Args:
        users: rankings that are drawn, compared and counted.

    Yields:
        What is the same, and how closely.

    Raises:
        AssertionError: they are not.
    """
    rng, key = np.random.default_rng(0), jax.random.key(7)
    ranks, others = (rng.random((users, 20)).argsort(axis=1).astype(np.int32) for _ in range(2))
    first = rng.integers(0, 50, 50_000)
    second = (first + rng.integers(1, 50, first.size)) % 50
    left, right = rng.integers(-(2**14), 2**14, (64, 64)), rng.integers(-4, 5, (64, 64))
    exact = {
        "random words": (lambda data: jax.random.bits(_key(data), (10_000,)), [_data(3)]),
        "counts of comparisons": (functools.partial(counted, items=50), [first, second]),
        "Kendall distances": (jax.vmap(pr.metrics.kendall_distance), [ranks, others]),
        "rankings counted for weights": (_votes, [ranks]),
        "float32 products of integers": (product, [x.astype(np.float32) for x in (left, right)]),
    }
    for name, (function, arguments) in exact.items():
        assert np.array_equal(*on_both(function, *arguments)), f"{name} differ from those of a CPU"
        yield f"the same as on a CPU: {name}", "to the last bit"
    wins = np.asarray(btl_counts(key, 20, 30, np.float64))
    for dtype, most in (("float32", 1e-3), ("float64", 1e-8)):
        ours, theirs = on_both(fitted, wins.astype(dtype))
        error = float(np.abs(ours - theirs).max())
        assert error < most, f"{dtype} fits differ by {error} from those of a CPU"
        yield f"the same as on a CPU: {dtype} fits", f"to {error:.0e}"
    ours, theirs = on_both(_rankings, _data(3), ranks)
    share = float(np.mean(np.any(ours != theirs, axis=1)))
    assert share < 1e-3, f"a share of {share} of the synthetic rankings differ from a CPU's"
    yield "synthetic rankings that differ from those of a CPU by rounding", f"{share:.1e} of them"
    study = Study("equality", fit_trial, grid(num_items=(10,)), static=("num_items",))
    means = []
    for where in (None, jax.devices("cpu")[0]):
        with jax.default_device(where):
            means.append([row["mean"] for row in run(key, study, 200).rows])
    error = float(np.abs(np.subtract(*means)).max())
    assert error < 1e-8, f"the means of a study differ by {error} from those of a CPU"
    yield "the same as on a CPU: means of a study", f"to {error:.0e}"


def on_both(
    function: Callable[..., jax.Array], *arguments: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What a function computes on the first device and on a CPU."""
    found = []
    for where in (jax.local_devices()[0], jax.devices("cpu")[0]):
        with jax.default_device(where):
            given = [jax.device_put(argument, where) for argument in arguments]
            found.append(np.asarray(jax.jit(lambda *given: function(*given))(*given)))
    return found[0], found[1]


def _data(seed: int) -> np.ndarray:
    return np.asarray(jax.random.key_data(jax.random.key(seed)))


def _key(data: jax.Array) -> jax.Array:
    return fused(jax.random.wrap_key_data(data, impl="threefry2x32"))


def counted(winners: jax.Array, losers: jax.Array, items: int) -> jax.Array:
    """Wins of each item against each other, float32."""
    count = pr.comparisons.WinCounts.from_comparisons
    return count(winners, losers, num_items=items, dtype=jnp.float32).matrix


def weighed(ranks: jax.Array) -> jax.Array:
    """Weights of rankings."""
    return pr.aggregation.PairWeights.from_ranks(ranks).matrix


def _votes(ranks: jax.Array) -> jax.Array:
    """Votes of each pair, doubled, as ties are half: the weights themselves are rounded."""
    return jnp.rint(2 * len(ranks) * weighed(ranks))


def fitted(wins: jax.Array) -> jax.Array:
    """Scores of a batch of BTL fits."""
    return jax.vmap(lambda w: pr.pairwise.mle(pr.comparisons.WinCounts(w)).value)(wins)


def _rankings(data: jax.Array, centers: jax.Array) -> jax.Array:
    keys = jax.random.split(_key(data), len(centers))
    return jax.vmap(pr.mallows.sample, (0, 0, None))(keys, centers, 2.0)
