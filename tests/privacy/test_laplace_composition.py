"""Laplace noise composes by how a change spreads: against sums over all outcomes, and the theorem itself."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from privrank_jax.privacy import (
    GaussianRelease,
    Guarantee,
    LaplaceRelease,
    Neighbors,
    Privacy,
    compose,
)
from privrank_jax.privacy.loss_distribution import Budget, delta_at, epsilon_at
from tests.privacy.releases import KIND, USERS, epsilon
from tests.privacy.test_accounting import assert_bounds
from tests.quick import thorough
from tests.reference import accounting as naive

# --- against sums over all outcomes --------------------------------------------------------------


@pytest.mark.parametrize(
    ("scale", "changes", "count"),
    [(4, (2, 2), 3), (10, (4,), 3), (5, (3, 1, 1), 2), (2, (1, 1), 4), (0.5, (2, 1), 2)],
)
def test_composition_is_the_sum_over_all_outcomes(scale, changes, count):
    releases = [LaplaceRelease(scale, changes)] * count
    whole = sum(changes) / scale * count
    for at in (0.0, 0.3 * whole, 0.77 * whole):
        exact = naive.laplace_delta(1 / scale, changes * count, at)
        found = compose(releases, epsilon=at, **USERS).delta
        assert exact * (1 - 1e-12) <= found <= exact * (1 + 1e-9) + 2e-12
    delta = 1e-3
    exact = naive.least_epsilon(
        lambda at: naive.laplace_delta(1 / scale, changes * count, at), delta, whole
    )
    assert_bounds(epsilon(releases, delta), exact, 1e-6)


def test_unlike_releases_and_other_kinds_beside_them():
    """Scales without a common step: each loss is split on the grid; a pure release and failures come on top."""
    releases = [LaplaceRelease(math.pi, (2, 1)), LaplaceRelease(7.7, (3, 3)), (0.3, 1e-6)]
    for at in (0.2, 1.1):
        exact = 0.0
        for first in naive.laplace_outcomes(1 / math.pi, 2):
            for second in naive.laplace_outcomes(1 / math.pi, 1):
                p, q = (one * other for one, other in zip(first, second))
                left = at - math.log(p / q)
                for third in naive.laplace_outcomes(0.3, 1):
                    rest = left - math.log(third[0] / third[1])
                    exact += p * third[0] * naive.laplace_delta(1 / 7.7, (3, 3), rest)
        found = compose(releases, epsilon=at, **USERS).delta
        assert_bounds(found, naive.with_failures(exact, [1e-6]), 1e-4)
    beside = epsilon([LaplaceRelease(40, (2, 2)), GaussianRelease(5.0)], 1e-6)
    assert beside < epsilon([(0.1, 0), GaussianRelease(5.0)], 1e-6)


# --- the theorem ---------------------------------------------------------------------------------


def holds(larger, smaller):
    sums = zip(itertools.accumulate(larger), itertools.accumulate(smaller))
    return all(one >= other for one, other in sums)


def dominates(larger, smaller, unit):
    """At knots of both, between them and beyond."""
    at = unit * np.arange(-7, 8, 0.25)
    pairs = [[naive.laplace_delta(unit, one, e) for one in (larger, smaller)] for e in at]
    return all(one >= other - 1e-14 for one, other in pairs)


@pytest.mark.parametrize("unit", [thorough(0.05), 0.7])
def test_changes_dominate_those_that_are_smaller_or_spread_more(unit):
    every = [x for x in itertools.combinations_with_replacement(range(5, -1, -1), 3) if sum(x) <= 5]
    for larger, smaller in itertools.product(every, repeat=2):
        if holds(larger, smaller):
            assert dominates(larger, smaller, unit), (larger, smaller)
        elif sum(larger) <= sum(smaller):
            assert not dominates(larger, smaller, unit), (larger, smaller)


def test_noise_on_real_numbers_is_dominated():
    """Ever finer units approach it."""
    fine = epsilon([LaplaceRelease(10 * 10**18, (10**18,))] * 100, 1e-6)
    coarse = epsilon([LaplaceRelease(10 * 64, (64,))] * 100, 1e-6)
    assert 0.999 * coarse < fine <= coarse < epsilon([LaplaceRelease(10, (1,))] * 100, 1e-6)


def test_losses_of_which_many_are_left_out_still_bound():
    """Changes of more steps than losses are kept."""
    for scale, changes in ((20, (3000, 5)), (3000, (9001, 5)), (2**11, (2**13,))):
        budgets = [Budget(Fraction(sum(changes)) / Fraction(scale), changes=changes)] * 2
        for at in (0.5, 0.9):
            target = Fraction(at) * 2 * budgets[0].epsilon
            exact = naive.convolved_delta(1 / scale, changes, 2, float(target))
            assert_bounds(delta_at(budgets, target), exact, 0.02)
        assert epsilon_at(budgets, Fraction(1, 100)) <= 2 * budgets[0].epsilon


# --- what it is for ------------------------------------------------------------------------------


def test_guarantees_compose_by_their_changes():
    plain = Guarantee(Privacy.proven(0.1, **KIND))
    known = Guarantee(Privacy.proven(0.1, **KIND), changes=(2, 2))
    assert epsilon([known] * 100, 1e-6) == epsilon([LaplaceRelease(40, (2, 2))] * 100, 1e-6)
    assert epsilon([known] * 100, 1e-6) < 0.7 * epsilon([plain] * 100, 1e-6)
    assert epsilon([known] * 100, 0) == 10
    assert known.given(public=["items"]).for_any_user().changes == (2, 2)
    failing = Guarantee(Privacy.proven(0.1, delta=1e-8, **KIND), changes=(2, 2))
    assert compose([failing] * 10, epsilon=1, **USERS).delta == 1e-7
    beside = Guarantee(
        Privacy.proven(0.1, unit="comparison", adjacency="flip"),
        also=(Privacy.proven(0.1, **KIND),),
        changes=(2, 2),
    )
    # What is known of a change by one comparison says nothing of one by a user.
    assert epsilon([beside] * 100, 1e-6) == epsilon([plain] * 100, 1e-6)
    flips = Neighbors("comparison", "flip")
    assert epsilon([beside] * 100, 1e-6, neighbors=flips) == epsilon([known] * 100, 1e-6)


def test_edges():
    assert LaplaceRelease(40, (2, 2)).epsilon == Fraction(1, 10)
    assert LaplaceRelease(0, (1,)).epsilon == math.inf
    assert epsilon([LaplaceRelease(0, (1,))], 1e-6) == math.inf
    assert epsilon([LaplaceRelease(math.inf, (1,)), (0.5, 0)], 0) == 0.5
    assert compose([LaplaceRelease(40, (2, 2))] * 3, delta=0, **USERS).epsilon == 0.3
