"""Primitives that read and write at computed places, against JAX."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from tests.host.agreement import assert_agree

TABLE = np.arange(30.0).reshape(5, 6)
PLACES = np.array([[0, 4], [3, 3], [1, 0]])

READ = {
    "rows": lambda x, i: x[i],
    "columns": lambda x, i: x[:, i],
    "cells": lambda x, i: x[i[:, 0], i[:, 1]],
    "one": lambda x, i: x[i[0, 1], 2],
    "behind": lambda x, i: x[i - 5],
    "outside": lambda x, i: x.at[i * 2].get(mode="fill"),
    "filled": lambda x, i: x.at[i * 2, 0].get(mode="fill", fill_value=-1.0),
    "whole": lambda x, i: x.astype(int).at[i * 2].get(mode="fill"),
    "clipped": lambda x, i: x.at[i * 2].get(mode="clip"),
    "batch": lambda x, i: jax.vmap(lambda row, at: row[at])(x[:3], i),
    "nested": lambda x, i: jax.vmap(jax.vmap(lambda row, at: row[at], (None, 0)))(x[:3], i),
    "along": lambda x, i: jnp.take_along_axis(x[:3], i, axis=1),
    "slice": lambda x, i: jax.lax.dynamic_slice(x, (i[1, 0], i[0, 1]), (3, 2)),
    "slices": lambda x, i: jax.vmap(lambda at: jax.lax.dynamic_slice(x, at, (2, 3)))(i),
}
WRITTEN = {
    "set": lambda x, i: x.at[i[:, 0]].set(-1.0),
    "cell": lambda x, i: x.at[i[:, 0], i[:, 1]].set(jnp.arange(3.0)),
    "add": lambda x, i: x.at[i[:, 1], i[:, 0]].add(jnp.arange(3.0)).at[jnp.zeros(4, int)].add(1.0),
    "multiply": lambda x, i: x.at[i].multiply(2.0),
    "extremes": lambda x, i: (x.at[i].max(9.0), x.at[:, i].min(9.0)),
    "dropped": lambda x, i: x.at[i * 2].set(-1.0, mode="drop"),
    "batch": lambda x, i: jax.vmap(lambda row, at: row.at[at].add(1.0))(x[:3], i),
    "update": lambda x, i: jax.lax.dynamic_update_slice(x, jnp.ones((2, 3)), (i[0, 1], i[0, 1])),
    "nothing": lambda x, i: x.at[i[:0]].add(1.0),
}


def test_values_read_are_those_of_jax():
    assert_agree(READ, TABLE, PLACES)


def test_values_written_are_those_of_jax():
    assert_agree(WRITTEN, TABLE, PLACES)
