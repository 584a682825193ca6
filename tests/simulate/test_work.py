"""The estimate of a program's running time."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.simulate.work import numbers_computed

VECTOR = np.zeros(1000, np.float32)


def computed(function):
    return numbers_computed(jax.make_jaxpr(function)(VECTOR).jaxpr)


def test_every_number_that_is_computed_counts():
    assert computed(lambda x: x + 1) == 1000
    assert computed(lambda x: (x + 1) * 2) == 2000
    assert computed(lambda x: jnp.outer(x, x)) >= 1_000_000


def test_a_loop_counts_once_for_each_turn():
    def scanned(turns):
        return computed(lambda x: jax.lax.scan(lambda c, _: (c * 2, None), x, length=turns)[0])

    assert scanned(50) - scanned(10) == 40 * 1000
    assert computed(lambda x: jax.lax.while_loop(lambda c: c[0] < 1, jnp.cos, x)) > 2000


def test_both_branches_and_calls_count():
    def branches(x):
        return jax.lax.cond(x[0] > 0, lambda x: x + 1, lambda x: (x * 2) * 3, x)

    assert computed(branches) >= 3000
    assert computed(jax.jit(lambda x: (x + 1) * 2)) >= 2000


def test_a_scatter_counts_its_result_only():
    assert computed(lambda x: x.at[3].add(1.0)) < 1100
