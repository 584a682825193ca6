"""Scorers against slow twins."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.personalized import (
    Linear,
    TwoTowers,
    logistic_risk,
)
from tests.personalized.worlds import KEY, WORLD
from tests.reference import personalized as reference


def test_scores_are_those_of_slow_twins():
    scorer = TwoTowers(width=3, layers=3)
    x, y, _, _ = WORLD(KEY)
    params = scorer.init(KEY, 2, 2)
    assert [layer["weight"].shape for layer in params["user"]] == [(2, 3), (3, 3), (3, 3)]
    flat = jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(params)])
    assert len(np.unique(flat)) == 66  # two towers of 9 + 12 + 12, no two alike
    assert abs(flat).max() <= 2**-0.5
    found = scorer.score(params, x[0], y)
    np.testing.assert_allclose(found, reference.two_tower_scores(params, x[0], y), rtol=1e-9)
    line = {"user": jnp.array([1.0, 2.0]), "item": jnp.array([-1.0, 0.5])}
    np.testing.assert_allclose(
        Linear().score(line, x[0], y), x[0, 0] + 2 * x[0, 1] - y[:, 0] + 0.5 * y[:, 1], rtol=1e-12
    )


def test_a_linear_scorer_never_learns_of_users():
    x, y, _, wins = WORLD(KEY)
    params = {"user": jnp.array([1.0, 2.0]), "item": jnp.array([-1.0, 0.5])}

    def risk(params):
        return logistic_risk(Linear().score(params, x[0], y), wins[0])

    slope = jax.jit(jax.grad(risk))(params)
    np.testing.assert_allclose(slope["user"], 0, atol=1e-12)
    assert abs(slope["item"]).max() > 0.01
