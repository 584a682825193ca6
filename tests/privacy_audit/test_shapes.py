"""Norms by facets against definitions, and the noise that rows of such shapes draw."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import optimize

from privrank_jax.privacy_audit import laws
from privrank_jax.privacy_audit.contents import questionnaire_facets

PAIRS = ((0, 1), (0, 1), (0, 2), (1, 2))
BODIES = {
    "cube": np.eye(3),
    "zonotope": questionnaire_facets(3, PAIRS, "flip"),
    "replaced": questionnaire_facets(3, PAIRS, "replace"),
}


def corners(name):
    """Points whose hull is the body: corners of the cube, and all differences of two users' totals."""
    if name.endswith("cube"):
        every = np.array(list(itertools.product((-1.0, 0.0, 1.0), repeat=3)))
        named = np.maximum((every > 0).sum(axis=1), (every < 0).sum(axis=1))
        return every[(every != 0).all(axis=1) if name == "cube" else named <= 2]
    unit = np.eye(3)
    answers = [[unit[i], unit[j]] + [0 * unit[0]] * (name == "replaced") for i, j in PAIRS]
    totals = np.array([np.sum(chosen, axis=0) for chosen in itertools.product(*answers)])
    return np.unique((totals[:, None] - totals[None, :]).reshape(-1, 3), axis=0)


@pytest.mark.parametrize("name", BODIES)
def test_the_norm_is_that_of_the_hull_of_changes(name):
    """The least sum of weights on the corners, by linear programming."""
    every, rng = corners(name), np.random.default_rng(0)
    for weights in rng.standard_normal((12, len(every))):
        point = weights @ every
        least = optimize.linprog(np.ones(len(every)), A_eq=every.T, b_eq=point).fun
        assert laws.body_norm(BODIES[name], point) == pytest.approx(least)
