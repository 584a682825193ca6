"""What personalized ranking refuses, by the argument that is at fault."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.personalized import TwoTowers, Users, train
from privrank_jax.personalized.regret import (
    consistent_epsilon,
    least_risk,
    ranking_risk,
    regret_rate,
)
from privrank_jax.personalized.surrogate import logistic_risk, pairwise_risk, wins_from_ranks
from tests.personalized.worlds import KEY, WORLD

HALVES, SIGNED = np.full((2, 2), 0.5), [[0, 2], [-1, 0]]
X, Y, _, WINS = WORLD(KEY)
USERS = Users(X, WINS)


def run(training=USERS, validation=USERS, items=Y, **told):
    return train(KEY, TwoTowers(width=3, layers=1), items, training, validation, **told)


REFUSED = [
    (lambda: ranking_risk([1.0, 2.0, 3.0], HALVES), "scores"),
    (lambda: least_risk(HALVES[0]), "chances"),
    (lambda: least_risk(2 * HALVES + 0.1), "chances"),
    (lambda: regret_rate(10, 10, 2, 1.0), "num_parameters"),
    (lambda: consistent_epsilon(100, 10, 1), "num_items"),
    (lambda: consistent_epsilon(100, 10, 2, noise_exponent=0.0), "noise_exponent"),
    (lambda: consistent_epsilon(100, 10, 2, margin=-1.0), "margin"),
    (lambda: pairwise_risk([1.0, 0.0], SIGNED, "exponential"), "unbounded"),
    (lambda: pairwise_risk([1.0, 0.0], HALVES, "hinge"), "loss"),
    (lambda: pairwise_risk([1.0, 0.0], [1, 0]), "weights"),
    (lambda: logistic_risk([1.0, 0.0], [1, 0, 2]), "wins"),
    (lambda: logistic_risk([[1.0, 0.0]], [1, 0]), "vmap"),
    (lambda: wins_from_ranks([[0, 1]]), "vmap"),
    (lambda: TwoTowers(width=0), "at least 1"),
    (lambda: run(Users(X[0], WINS)), "training"),
    (lambda: run(Users(X, WINS[:5])), "training"),
    (lambda: run(validation=Users(X, WINS, jnp.ones(3, bool))), "mask"),
    (lambda: run(validation=Users(X, WINS, jnp.zeros(12, bool))), "no user"),
    (lambda: run(Users(X, WINS.at[3, 1].set(jnp.nan))), "NaN"),
    (lambda: run(validation=Users(X[:, :1], WINS)), "validation"),
    (lambda: run(items=Y[0]), "items"),
    (lambda: run(steps=0), "steps"),
    (lambda: run(batch_size=0), "batch_size"),
]


@pytest.mark.parametrize(("call", "word"), REFUSED)
def test_what_does_not_fit_is_refused(call, word):
    with pytest.raises(ValueError, match=word):
        call()
