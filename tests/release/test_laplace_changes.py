"""What a guarantee says of changes under Laplace and Gaussian noise holds for all neighbors of small data, attained."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

from privrank_jax.aggregation import dp_kwiksort, noise_all, private_weights
from privrank_jax.aggregation.weights import counted_weights
from privrank_jax.exact import integer_noise as samplers
from privrank_jax.exact import rounded_gaussian
from privrank_jax.jobs import ways
from privrank_jax.pairwise import noisy_counts, one_shot_top_k, questionnaire_counts
from privrank_jax.privacy import Guarantee, Privacy, compose
from tests.reference import accounting as naive
from tests.totals import wins_of

EPSILON = 0.5
DELTA = {"laplace": 0.0, "gaussian": 1e-6}
USERS = {"unit": "user", "adjacency": "replace"}


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_queries_of_kwiksort(monkeypatch, noise):
    """Of q queries, each of which changes by 2; nothing is stated where there is a fallback."""
    scales = []

    def integer_noise(kind, privacy, change, body=None):
        assert kind == noise or body is not None  # of a fallback
        scales.append(3.0 if noise == "gaussian" else math.ceil(change) / privacy.epsilon)
        return lambda values: np.asarray(values, float), scales[-1]

    monkeypatch.setattr(samplers, "integer_noise", integer_noise)
    promise = Privacy(EPSILON, **USERS, delta=DELTA[noise])

    def stated(items, queries):
        given = counted_weights([list(range(items))] * 3)
        found = dp_kwiksort.release(given, promise, noise=noise, max_queries=queries).guarantee
        return found.changes, found.rho

    few = ((2,) * 3, None) if noise == "laplace" else ((), pytest.approx(3 * 4 / 18))
    assert stated(3, 3) == few
    assert noise == "gaussian" or scales[-1] >= 2 * 3 / EPSILON
    assert stated(5, 9) == ((), None)


USER_FLIPS = Privacy(EPSILON, unit="user", adjacency="flip")
FLIPS = Privacy(EPSILON, unit="comparison", adjacency="flip")


@pytest.mark.parametrize(
    ("promise", "sensitivity", "stated"),
    [
        (USER_FLIPS, 3, (3, 3)),
        (USER_FLIPS, 1.5, (2, 1)),
        (Privacy(EPSILON, **USERS, contributions=3), 4, (6, 2)),
        (Privacy(EPSILON, **USERS), 4, (8,)),
    ],
)
def test_smaller_sensitivities(promise, sensitivity, stated):
    found = noisy_counts.release(wins_of([3.0, 4.5, 2.5]), promise, sensitivity=sensitivity)
    assert found.guarantee.changes == stated
    assert 2 * found.diagnostics.noise_scale >= sum(stated) / EPSILON


def test_what_is_not_proven_states_nothing():
    wins, loose = wins_of([3.0, 4, 2]), dataclasses.replace(FLIPS, delta=1e-6)
    asked = dataclasses.replace(USER_FLIPS, public=("questionnaire",))
    counts = questionnaire_counts(np.array([[0, 1], [1, 2]]), 3)
    for found in (
        one_shot_top_k.release(wins, FLIPS, 1),
        noisy_counts.release(wins, asked, questionnaire=counts),
        noisy_counts.release(wins, loose, noise="gaussian"),
    ):
        assert found.guarantee.changes == ()


def test_rho_of_one_gaussian_mechanism_in_parts(monkeypatch):
    """Noise rounded to integers: the changes of all parts, each by its σ, come to 2ρ."""
    kept = {}

    def mechanism(values, parts, *_):
        kept["scales"] = np.concatenate([np.full(size, float(scale)) for size, scale in parts])
        kept["values"] = np.asarray(values, float)
        return kept["values"]

    monkeypatch.setattr(rounded_gaussian, "gaussian_mechanism", mechanism)
    promise = Privacy(EPSILON, **USERS, delta=1e-6)
    drawn = []
    for order in itertools.permutations(range(4)):
        given = counted_weights([order])
        found = private_weights.release(given, promise, noise="gaussian", focus=0.3)
        drawn.append(kept["values"] / kept["scales"])
    largest = max(np.sum((one - other) ** 2) for one in drawn for other in drawn)
    assert largest / 2 <= found.guarantee.rho <= largest / 2 * (1 + 1e-12)


def test_gaussian_releases_compose_by_their_rho():
    promise, given = Privacy(0.1, delta=1e-8, **USERS), counted_weights([[0, 1, 2]] * 100)
    found = noise_all.release(given, promise, noise="gaussian").guarantee
    together = compose([found] * 50, delta=1e-6)
    exact = naive.canonne_kamath_steinke_epsilon(50 * found.rho, 1e-6)
    assert exact <= together.epsilon <= exact * 1.001
    # One alone is kept to what it was asked for; so are others, where that is less.
    assert compose([found], delta=1e-8).epsilon <= 0.1
    loose = dataclasses.replace(found, rho=10.0)
    assert compose([loose, loose], delta=2e-8).epsilon == 0.2


def test_two_parts_of_a_release_state_nothing_together():
    """Scores, and the numbers of comparisons for their intervals, each with its noise."""
    part = Guarantee(Privacy(0.4, **USERS), changes=(2, 2), rho=0.1)
    whole = ways._whole(part, 0.5)
    assert (whole.epsilon, whole.changes, whole.rho) == (0.5, (), None)
