"""Reward accuracy over ε where each user has 19 labels: ε shared by them, one label of each user, a curator's training.

A reward of the true form, linear in features of one length or of ten times as different lengths, and a small network.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from privrank_jax import preferences
from privrank_jax._workarounds.threefry import fused
from privrank_jax.privacy import Privacy
from tests.benchmarks.harness import print_table

Array = jax.Array

LABELS, FRESH, DELTA = 19, 4000, 1e-5
ADAM = optax.adam(0.05)


@dataclass(frozen=True, eq=False)
class World:
    """Users whose pairs differ in features of these lengths, what they prefer, and the model that learns it."""

    title: str
    users: int
    lengths: tuple[float, ...]
    start: Callable[[Array], Any]
    reward: Callable[[Any, Array], Array]
    truth: Callable[[Array, Array], Callable[[Array], Array]]
    trained: tuple[dict[str, Any], ...]
    seeds: int = 16
    epsilons: tuple[float, ...] = (0.5, 1.0, 2.0, 4.0, 8.0)


def linear_truth(key: Array, lengths: Array) -> Callable[[Array], Array]:
    """A linear reward whose differences have a standard deviation of 2.8."""
    weights = jax.random.normal(key, lengths.shape)
    weights *= 2 / jnp.linalg.norm(weights * lengths)
    return lambda candidate: candidate @ weights


def bent_truth(key: Array, lengths: Array) -> Callable[[Array], Array]:
    """A reward that is not linear."""
    del key, lengths
    return lambda x: 2 * jnp.tanh(x[0] + 0.8 * x[1] * x[2]) + jnp.sin(1.5 * x[3]) - 0.5 * x[4] ** 2


def network(key: Array) -> dict[str, Array]:
    """Sixty-four parameters."""
    first, last = jax.random.split(key)
    inner, outer = jax.random.normal(first, (6, 8)) / 6**0.5, jax.random.normal(last, (8,)) / 8**0.5
    return {"inner": inner, "shift": jnp.zeros(8), "outer": outer}


def rewarded(params: dict[str, Array], candidate: Array) -> Array:
    """The reward of the network."""
    return jnp.tanh(candidate @ params["inner"] + params["shift"]) @ params["outer"]


_LINEAR: dict[str, Any] = {
    "start": lambda key: jnp.zeros(12),
    "reward": jnp.dot,
    "truth": linear_truth,
    "trained": (
        {"clip": 1.0},
        {"clip": 2.0},
        {"clip": jnp.inf},
        {"clip": 1.0, "releases": 30, "steps": 10},
    ),
}
WORLDS = (
    World("linear, features of one length", 500, (1.0,) * 12, **_LINEAR),
    World("linear, features of lengths 3 to 0.3", 500, tuple(np.geomspace(3, 0.3, 12)), **_LINEAR),
    World(
        "network of 64 parameters",
        1000,
        (1.0,) * 6,
        network,
        rewarded,
        bent_truth,
        ({"clip": 1.0, "releases": 20, "steps": 5},),
        seeds=4,
        epsilons=(1.0, 4.0),
    ),
)


@functools.partial(jax.jit, static_argnames="world")
@functools.partial(jax.vmap, in_axes=(0, None, None, None))
def study(key: Array, epsilon: Array, users: Array, world: World) -> tuple[Array, Array]:
    """Accuracy on fresh pairs, without the noise of users' choices, and slope toward true differences, of every way."""
    keys = jax.random.split(key, 7)
    lengths = jnp.asarray(world.lengths)
    truth = jax.vmap(world.truth(keys[0], lengths))
    start, count = world.start(keys[1]), len(users)

    def drawn(key: Array, number: int) -> tuple[Array, Array]:
        pairs = lengths * jax.random.normal(key, (number, 2, len(lengths)))
        return pairs, truth(pairs[:, 0]) - truth(pairs[:, 1])

    def difference(params: Any, pair: Array) -> Array:
        return world.reward(params, pair[0]) - world.reward(params, pair[1])

    differences = jax.vmap(difference, (None, 0))

    def fitted(pairs: Array, reports: Array, epsilon: Array | float) -> Any:
        """The likelihood of reports, by as many steps as ``train_on_labels`` takes."""

        def loss(params: Any) -> Array:
            gaps = differences(params, pairs)
            return jnp.mean(preferences.likelihood_loss(gaps, reports, epsilon))

        def step(_: Any, carry: tuple[Any, Any]) -> tuple[Any, Any]:
            params, memory = carry
            change, memory = ADAM.update(jax.grad(loss)(params), memory)
            return optax.apply_updates(params, change), memory

        return jax.lax.fori_loop(0, 300, step, (start, ADAM.init(start)))[0]

    pairs, gaps = drawn(keys[2], count)
    labels = jax.random.bernoulli(keys[3], jax.nn.sigmoid(gaps))
    privacy = Privacy(epsilon, unit="user", adjacency="flip", delta=DELTA)
    found = [fitted(pairs, labels, jnp.inf)]
    for apart in (1, LABELS):
        rows = slice(None, None, apart)
        sent = preferences.randomized_labels(keys[4], labels[rows], privacy, users=users[rows])
        found.append(fitted(pairs[rows], sent.value, sent.diagnostics.epsilon))
    for told in world.trained:
        run = functools.partial(preferences.train_on_labels, optimizer=ADAM, users=users, **told)
        found.append(run(keys[5], labels, privacy, difference, start, pairs).value)
    fresh, true = drawn(keys[6], FRESH)
    learned = jnp.stack([differences(params, fresh) for params in found])
    right = jnp.mean(jnp.sign(learned) == jnp.sign(true), axis=1)
    return right, learned @ true / (true @ true)


def main() -> None:
    """Print mean and standard error of the accuracy, and the mean slope."""
    for world in WORLDS:
        keys = jax.random.split(fused(jax.random.key(0)), world.seeds)
        rows = []
        users = jnp.repeat(jnp.arange(world.users), LABELS)
        for epsilon in world.epsilons:
            right, slope = map(np.asarray, study(keys, epsilon, users, world))
            error = right.std(0, ddof=1) / world.seeds**0.5
            cells = zip(right.mean(0), error, slope.mean(0))
            rows.append((f"{epsilon:g}", *(f"{a:.3f} ± {e:.3f} ({s:.2f})" for a, e, s in cells)))
        told = [
            ", ".join(f"{name}={value:g}" for name, value in each.items()) for each in world.trained
        ]
        ways = ("no privacy", "shared", "one of each", *(f"trained {each}" for each in told))
        size = f"{world.users:,} users of {LABELS} labels, delta {DELTA:g}"
        print_table(f"Accuracy (slope): {world.title}; {size}", ("epsilon", *ways), rows)


if __name__ == "__main__":
    main()
