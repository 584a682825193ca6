"""Errors, paired differences and padded grids that the studies share."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.experiments.xu import common
from tests.experiments.rows import cells
from tests.experiments.xu.shared import errors


def test_errors_are_those_of_the_real_items():
    value, theta = np.array([0.5, -1.0, 0.25, 9.0]), np.array([0.0, 0.0, 0.0, 0.0])
    found = common.score_errors(jnp.asarray(value), jnp.asarray(theta))
    assert {k: float(v) for k, v in found.items()} == pytest.approx(errors(value, theta))
    mask = jnp.array([True, True, True, False])
    found = common.score_errors(jnp.asarray(value), jnp.asarray(theta), mask)
    assert {k: float(v) for k, v in found.items()} == pytest.approx(errors(value[:3], theta[:3]))


def test_grids_are_padded_to_their_largest_cells():
    grid = cells("xu-table3", items=(3, 5), users=(7,))
    assert [(c["num_items"], c["num_users"]) for c in grid] == [(3, 7), (5, 7)]
    assert {(c["max_items"], c["max_users"]) for c in grid} == {(5, 7)}
