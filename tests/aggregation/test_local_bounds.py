"""Bounds on reports: never below what the protocols measure, nor below exact laws of tiny ones."""

from __future__ import annotations

import itertools
import math

import jax
import numpy as np
import pytest

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights, bounds
from tests.promises import reported, user

M, USERS, RUNS = 5, 600, 400
EPSILON, DELTA = 2.0, 1e-5


@pytest.fixture(scope="module")
def crowd():
    rng = np.random.default_rng(0)
    return np.argsort(rng.normal(size=(USERS, M)) + np.linspace(0, 2, M), axis=1).argsort(axis=1)


def weights_of(mechanism):
    """A function of key and ranks with the weights that the reports give."""
    if mechanism == "shuffled-pair":
        promise = user(EPSILON, DELTA)
        return lambda k, ranks: aggregation.shuffled_pair_weights(k, ranks, promise).value
    if mechanism in ("one-pair", "sub-ranking"):
        size = 2 if mechanism == "one-pair" else None
        return lambda k, r: aggregation.sub_ranking_weights(k, r, user(EPSILON), size=size).value
    record = {
        "duchi": aggregation.local_weights,
        "randomized-response": aggregation.local_weights_rr,
    }[mechanism]
    return lambda k, ranks: record(k, ranks, user(EPSILON)).value


def check(sums, bound):
    """Sums of errors against half of an additive error."""
    assert sums.mean() < float(bound.additive) / 2 < 2.5 * sums.mean()


@pytest.mark.parametrize(
    "mechanism", ["duchi", "randomized-response", "one-pair", "sub-ranking", "shuffled-pair"]
)
def test_weights_stay_within_their_bounds(mechanism, crowd, key):
    own = weights_of(mechanism)
    told = {"promise": user(EPSILON), "trust": "local", "noise": mechanism}
    if mechanism == "shuffled-pair":
        told = {"promise": user(EPSILON, DELTA), "trust": "shuffled"}

    def of_users(method, *, promise, **told):
        return bounds.bound(method, M, USERS, promise, **told)

    truth = np.asarray(PairWeights.from_ranks(crowd).matrix)
    runs = jax.jit(jax.vmap(lambda k: own(k, crowd)))(jax.random.split(key, RUNS))
    sums = np.abs(np.asarray(runs) - truth).sum(axis=(1, 2)) / 2
    if mechanism != "one-pair":
        check(sums, of_users("noise-all", **told))
    if mechanism in ("one-pair", "shuffled-pair"):
        errors = np.abs(np.asarray(runs).sum(axis=2) - truth.sum(axis=1)).sum(axis=1)
        check(errors, of_users("borda", **told))


@pytest.mark.parametrize("mechanism", ["privunit", "subset-selection"])
def test_scores_stay_within_their_bounds(mechanism, crowd, key):
    truth = np.asarray(PairWeights.from_ranks(crowd).matrix).sum(axis=1)
    run = jax.jit(
        jax.vmap(lambda k: bounds.REPORTS_ON_SCORES[mechanism](k, crowd, user(EPSILON)).value)
    )
    errors = np.abs(np.asarray(run(jax.random.split(key, 200))) - truth).sum(axis=1)
    check(errors, reported("borda", M, USERS, EPSILON, mechanism=mechanism))


@pytest.mark.parametrize("users", [1, 2, 5, 9])
def test_one_pair_holds_in_the_exact_law_of_two_items(users):
    """For every number of users who put the first item ahead, by enumeration of all answers."""
    t = math.tanh(EPSILON / 2)
    for ahead in range(users + 1):
        law: dict[float, float] = {}
        for bits in itertools.product((0, 1), repeat=users):
            chance = math.prod(
                (1 + t) / 2 if bit == (one < ahead) else (1 - t) / 2 for one, bit in enumerate(bits)
            )
            error = abs((sum(bits) / users - 0.5) / t + 0.5 - ahead / users)
            law[error] = law.get(error, 0) + chance
        limit = reported("noise-all", 2, users, EPSILON, mechanism="sub-ranking").additive
        assert 2 * sum(chance * error for error, chance in law.items()) <= limit


def test_too_few_answers_leave_no_bound():
    promise = user(1.0)
    assert math.isinf(
        bounds.bound("borda", 10, 30, promise, trust="local", noise="one-pair").additive
    )
