"""Canonical selection loses at most what is proven, by every set, and attains it."""

from __future__ import annotations

import functools
import itertools

import numpy as np
import pytest

from privrank_jax.privacy.selection import canonical_change
from tests.reference import best_sets as naive


def test_the_twin_accepts_outcomes_in_random_order():
    odds = np.array([1.0, 0.3, 0.05])
    chances = np.zeros(3)
    for order in itertools.permutations(range(3)):
        left = 1 / 6
        for i in order:
            chances[i] += left * odds[i]
            left *= 1 - odds[i]
    found = naive.outcome_law(2 * np.log(odds), 2.0, "exponential")
    np.testing.assert_allclose(found, chances, rtol=1e-12)


def changes(size, one, every, monotone):
    """All changes by whole numbers of at most ``one``, whose rises and falls sum to at most ``every``."""
    steps = np.array(list(itertools.product(range(0 if monotone else -one, one + 1), repeat=size)))
    most = np.maximum(steps.clip(0).sum(1), -steps.clip(None, 0).sum(1))
    return steps[(most <= every) & steps.any(axis=1)]


@pytest.mark.parametrize("noise", ["exponential", "gumbel"])
@pytest.mark.parametrize(("size", "k"), [(3, 1), (3, 2), (4, 2), (5, 3)])
@pytest.mark.parametrize(
    ("one", "every", "monotone"),
    [(1, 1, False), (1, 2, False), (2, 3, False), (1, 9, False), (1, 9, True)],
)
def test_loss_is_at_most_epsilon_and_reaches_it(noise, size, k, one, every, monotone):
    epsilon, generator = 0.7, np.random.default_rng(5)
    change, reach = canonical_change(k, float(one), float(every), monotone)
    known = functools.partial(
        naive.law, k=k, change=change, reach=reach, epsilon=epsilon, noise=noise
    )
    steps = changes(size, one, every, monotone)
    if len(steps) > 30:
        ends = steps[np.abs(steps).max(axis=1) == one]
        steps = ends[generator.permutation(len(ends))[:30]]
    ahead = np.zeros(size)
    ahead[:k] = 40.0  # the best set far ahead, then the best item, then none
    bases = [ahead, ahead * (np.arange(size) == 0), *generator.integers(0, 6, (2, size))]
    swap = np.zeros(size)
    swap[k - 1], swap[k] = one, 0 if monotone else -one
    worst = 0.0
    for base in bases:
        before = np.log(known(base)[1])
        for step in [*steps, swap]:
            worst = max(worst, np.abs(before - np.log(known(base + step)[1])).max())
    assert worst <= epsilon * (1 + 1e-9)
    assert worst >= 0.99 * epsilon
