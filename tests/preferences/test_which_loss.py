"""What ``notebooks/labels.md`` says of the choice of a loss and of weights, measured again."""

from __future__ import annotations

import functools
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import optax
import pytest

from privrank_jax import privacy
from privrank_jax.preferences import LOSSES
from tests.quick import thorough

PAGE = Path(__file__).parents[2] / "notebooks" / "labels.md"
TRUTH = jnp.array([1.5, -1.0, 0.5, 0.0, -0.8])
LABELS, SEEDS, STEPS = 2000, 16, 500


@functools.partial(jax.jit, static_argnames="budget")
@functools.partial(jax.vmap, in_axes=(0, None))
def world(key, budget):
    """Differences of features, randomized labels, and their budgets: one ε, or ½ and 2 for half of them each (None)."""
    keys = jax.random.split(key, 4)
    gap = jnp.sqrt(2.0) * jax.random.normal(keys[0], (LABELS, 5))
    labels = jax.random.bernoulli(keys[1], jax.nn.sigmoid(gap @ TRUTH))
    several = jnp.where(jax.random.bernoulli(keys[2], 0.5, (LABELS,)), 0.5, 2.0)
    epsilon = several if budget is None else jnp.full(LABELS, budget)
    return gap, privacy.randomized_response(keys[3], labels, epsilon), epsilon


@functools.cache
def drawn(budget):
    return world(jax.random.split(jax.random.key(5), SEEDS), budget)


@functools.partial(
    jax.jit,
    static_argnames="name",
    compiler_options={"xla_backend_optimization_level": 1},  # runs a second longer at conftest's 0
)
@functools.partial(jax.vmap, in_axes=(0, 0, 0, 0, None))
def slope(gap, reports, epsilon, weights, name):
    """Of a linear model in the direction of the true weights, trained by Adam on all labels at once."""
    optimizer = optax.adam(0.05)

    def mean_loss(found):
        return jnp.average(LOSSES[name](gap @ found, reports, epsilon), weights=weights)

    def step(carry, _):
        found, state = carry
        updates, state = optimizer.update(jax.grad(mean_loss)(found), state)
        return (optax.apply_updates(found, updates), state), None

    start = jnp.zeros(5)
    (found, _), _ = jax.lax.scan(step, (start, optimizer.init(start)), None, length=STEPS)
    return found @ TRUTH / (TRUTH @ TRUTH)


@pytest.mark.parametrize(
    ("row", "name", "budget", "weighted"),
    [
        *(thorough(f"| `{name}_loss` | ε = 1 |", name, 1.0, False) for name in LOSSES),
        *(
            thorough(f"| `{name}_loss` | ε = 0.2 |", name, 0.2, False)
            for name in ("likelihood", "debiased")
        ),
        thorough("`, plain mean |", "debiased", None, False),
        thorough("`, weighted mean |", "debiased", None, True),
    ],
)
def test_the_page_states_the_slopes(row, name, budget, weighted):
    gap, reports, epsilon = drawn(budget)
    weights = privacy.report_information(epsilon) if weighted else jnp.ones_like(epsilon)
    found = slope(gap, reports, epsilon, weights, name)
    line = next(line for line in PAGE.read_text("utf-8").splitlines() if row in line)
    mean, spread = map(float, re.findall(r"(\d+\.\d+) ± (\d+\.\d+)", line)[0])
    assert float(found.mean()) == pytest.approx(mean, abs=0.006)
    assert float(found.std(ddof=1)) == pytest.approx(spread, abs=0.006)
