"""Exact training on labels of users: its twin without noise, the change of one user, its noise, and what is refused."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import optax
import pytest

from privrank_jax.exact import rounded_gaussian
from privrank_jax.preferences import label_training, train_on_labels
from privrank_jax.privacy import gaussian_scale
from privrank_jax.privacy.gaussian import gaussian_budget
from tests.promises import promise
from tests.reference import label_training as reference

USERS = np.array([7, 3, 7, 7, 9, 3])
PAIRS = np.array([[1.0, 0.2], [0.1, -1.0], [0.9, 0.4], [1.2, -0.1], [0.3, 0.3], [-0.2, 0.8]])
LABELS = np.array([1, 0, 1, 1, 1, 0])
NEARLY_FREE = promise(1e12, "user", "flip", delta=1e-5)
PRIVATE = promise(1.0, "user", "flip", delta=1e-5)
WHOLE = optax.sgd(float(len(LABELS)))


def linear(params, pair):
    return params @ pair


def product(params, pair):
    a, b = params["a"], params["b"]
    return a * b * pair[0] + a * pair[1]


def on_linear(labels, privacy, **told):
    told = {"optimizer": WHOLE, "steps": 1, "users": USERS} | told
    start, pairs = np.zeros(2), PAIRS
    return train_on_labels.release(labels, privacy, linear, start, pairs, **told)


@pytest.mark.parametrize("clip", [0.4, np.inf])
def test_with_next_to_no_noise_it_is_the_naive_twin(clip):
    told = {"releases": 2, "steps": 3, "clip": clip, "optimizer": optax.sgd(0.5), "users": USERS}
    start = {"a": np.array(0.5), "b": np.array(-0.3)}
    soft = np.array([0.9, 0.2, 0.5, 1.0, 0.0, 0.7])
    found = train_on_labels.release(soft, NEARLY_FREE, product, start, PAIRS, **told).value
    expected = reference.trained(
        reference.product, [0.5, -0.3], PAIRS, soft, USERS, clip, 2, 3, 0.5
    )
    np.testing.assert_allclose([found["a"], found["b"]], expected, atol=3e-5)


@pytest.mark.parametrize("clip", [0.5, 1.0, np.inf])
def test_no_user_moves_the_sum_by_more_than_its_noise_allows(monkeypatch, clip):
    """All labels of each user, given all others' labels: at most 2B units, which is attained where some are clipped."""
    seen = []

    def unchanged(values, parts, epsilon, budget):
        seen.append((values, parts))
        return values.astype(float)

    monkeypatch.setattr(rounded_gaussian, "gaussian_mechanism", unchanged)
    answers = np.array(list(itertools.product((0, 1), repeat=len(LABELS))))
    for labels in answers:
        on_linear(labels, PRIVATE, clip=clip)
    sums = np.array([values for values, _ in seen])
    assert sums.dtype == np.int64
    largest = 0
    for user in set(USERS):
        others = answers[:, user != USERS]
        same = (others[:, None] == others).all(2)
        squares = np.square(sums[:, None] - sums).sum(2)
        largest = max(largest, int(squares[same].max()))
    most = 4 * label_training.BOUND**2
    assert largest <= most
    assert largest >= (0.99 if clip <= 1 else 0.9) * most
    seen.clear()
    on_linear(LABELS, PRIVATE, clip=clip, releases=np.int64(3))
    assert len(seen) == 3
    squares = 3 * most / gaussian_budget(1.0, 1e-5) ** 2
    for _, ((number, deviation),) in seen:
        assert number == 2
        assert squares <= Fraction(deviation) ** 2 <= squares * (1 + Fraction(1, 10**9))


def test_whole_numbers_of_a_user_never_exceed_their_bound():
    """Rounding to the nearest whole numbers would make about half of the clipped sums too long."""
    rng = np.random.default_rng(0)
    slopes, place = rng.normal(size=(600, 7)), np.repeat(np.arange(200), 3)
    halves = rng.choice([-0.5, 0.5], 600)
    whole = label_training.whole_sums(slopes, halves, place, 0.1)
    squares = np.square(whole).sum(1)
    assert squares.max() <= label_training.BOUND**2
    sums = (halves[:, None] * slopes).reshape(200, 3, 7).sum(1)
    sums *= label_training.BOUND / np.linalg.norm(sums, axis=1, keepdims=True)
    assert np.abs(whole - sums).max() <= 1.5
    assert np.mean(np.square(np.rint(sums)).sum(1) > label_training.BOUND**2) > 0.3


def test_the_noise_is_that_of_its_bound():
    """500 users with a parameter of their own each: noise that is told, as the simulated twin's, and drawn anew."""
    labels, start = np.ones(500, int), np.zeros(500)
    told = {"users": np.arange(500), "steps": 1, "optimizer": optax.sgd(500.0), "clip": 1.0}
    found = [
        train_on_labels.release(labels, PRIVATE, linear, start, np.eye(500), **told)
        for _ in range(2)
    ]
    (scale,) = np.asarray(found[0].diagnostics.noise_scale)
    np.testing.assert_allclose(scale, gaussian_scale(2 * 0.5, 1.0, 1e-5), rtol=1e-5)
    noise = np.array([estimate.value for estimate in found]) - 0.5
    np.testing.assert_allclose(np.std(noise), scale, rtol=0.12)  # five standard errors
    assert abs(float(np.mean(noise[0] * noise[1]))) < 0.25 * scale**2


def test_the_guarantee_is_exact_and_for_any_number_of_labels():
    found = on_linear(LABELS, promise(1.0, "user", "flip", contributions=1, delta=1e-5))
    assert found.guarantee is not None
    assert found.guarantee.attained.contributions is None
    assert (found.guarantee.trust, found.guarantee.numerics) == ("central", "exact")
    none = train_on_labels.release(
        LABELS, PRIVATE, linear, np.zeros(2), 0 * PAIRS, users=USERS, steps=1
    )
    np.testing.assert_array_equal(none.value, np.zeros(2))
