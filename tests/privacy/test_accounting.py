"""Composition of releases, compared with sums over all outcomes: an upper bound, at most 1 % too large."""

from __future__ import annotations

import math
from decimal import Decimal

import pytest

from privrank_jax.privacy import (
    GaussianRelease,
    Guarantee,
    Neighbors,
    Privacy,
    compose,
    gaussian_scale,
)
from tests import reference
from tests.privacy.releases import KIND, USERS, epsilon
from tests.reference import accounting as naive


def assert_bounds(found, exact, loose=0.01):
    """Assert an upper bound of the exact value, at most 1 % above it, with room for the twin's own rounding."""
    assert exact * (1 - 1e-9) <= found <= exact * (1 + loose)


# --- against sums over all outcomes --------------------------------------------------------------


@pytest.mark.parametrize(
    ("single", "count", "delta", "loose"),
    [
        (0.1, 10, 1e-9, 1e-3),
        (0.1, 1000, 1e-9, 1e-3),
        (0.01, 1000, 1e-2, 1e-5),
        (1.0, 45, 1e-6, 1e-5),
        (5.0, 3, 1e-6, 1e-5),
        (5.0, 1000, 1e-6, 1e-3),  # e^-ε underflows
    ],
)
def test_equal_pure_releases_compose_optimally(single, count, delta, loose):
    def delta_of(at):
        return naive.repeated_response_delta(single, count, at)

    exact = naive.least_epsilon(delta_of, delta, single * count)
    found = epsilon([(single, 0)] * count, delta)
    assert_bounds(found, exact, loose)
    assert type(found) is float
    at = 0.8 * found
    assert_bounds(compose([(single, 0)] * count, epsilon=at, **USERS).delta, delta_of(at), 1e-3)


@pytest.mark.parametrize(
    "budgets",
    [
        [0.1, 0.25, 0.5, 0.05, 1.0, 0.3],  # multiples of 0.05: nothing is rounded
        [math.pi / 10, math.e / 10, 0.7, math.sqrt(2) / 9, 1e-4, 0.123456789],
        [2.0, 1e-3, 1e-3, 1e-3],
    ],
)
@pytest.mark.parametrize("deltas", [0.0, 1e-6])
def test_unequal_releases_compose_optimally(budgets, deltas):
    budgets = [Decimal(repr(one)) for one in budgets]
    plain = [float(one) for one in budgets]
    delta = 1e-4

    def delta_of(at):
        return naive.with_failures(naive.response_delta(plain, at), [deltas] * len(plain))

    exact = naive.least_epsilon(delta_of, delta, sum(plain))
    assert exact < sum(plain)
    releases = [(one, deltas) for one in budgets]
    assert_bounds(epsilon(releases, delta), exact)
    at = 0.999 * exact
    assert_bounds(compose(releases, epsilon=at, **USERS).delta, delta_of(at))


def test_gaussian_releases_are_one_with_summed_precisions():
    releases = [GaussianRelease(3.0, 2.0), GaussianRelease(1.5), GaussianRelease(10.0, 5.0)]
    shift = math.sqrt((2 / 3) ** 2 + (1 / 1.5) ** 2 + 0.5**2)
    for delta in (1e-12, 1e-6, 0.1):
        exact = naive.least_epsilon(
            lambda at: reference.gaussian_delta(1.0, shift, at), delta, 60.0
        )
        assert_bounds(epsilon(releases, delta), exact, 1e-7)
        for adjacency in ("replace", "add-remove", "flip"):  # a shift by Δ, never by 2Δ
            told = {"neighbors": Neighbors("comparison", adjacency)}
            found = epsilon([GaussianRelease(1.0, shift)], delta, **told)
            assert found == pytest.approx(exact, rel=1e-7)
    at = compose(releases, epsilon=2.0, **USERS)
    assert_bounds(at.delta, reference.gaussian_delta(1.0, shift, 2.0), 1e-7)


@pytest.mark.parametrize(("single", "scale"), [(0.5, 2.0), (0.37, 20.0), (4.0, 0.8), (0.01, 5.0)])
def test_a_pure_release_beside_a_gaussian_one(single, scale):
    releases = [GaussianRelease(scale), (single, 0)]

    def delta_of(at):
        return naive.response_and_gaussian_delta(single, 1 / scale, at)

    for delta in (1e-8, 1e-3):
        exact = naive.least_epsilon(delta_of, delta, 60.0)
        found = epsilon(releases, delta)
        assert_bounds(found, exact)
    at = 0.7 * found
    assert_bounds(compose(releases, epsilon=at, **USERS).delta, delta_of(at))


# --- edges ---------------------------------------------------------------------------------------


def test_one_release_gives_itself():
    assert epsilon([(0.7, 0)], 0) == 0.7
    assert epsilon([(0.7, 1e-6)], 1e-6) == 0.7
    assert epsilon([(1e6, 0)], 0) == 1e6
    assert compose([(0.7, 1e-6)], epsilon=0.7, **USERS).delta == 1e-6
    scale = float(gaussian_scale(2.0, 1.5, 1e-6))
    assert epsilon([GaussianRelease(scale, 2.0)], 1e-6) == pytest.approx(1.5, rel=1e-8)


def test_the_plain_sum_is_what_holds_at_the_sum_of_all_deltas():
    """Decimals add up exactly."""
    assert epsilon([(0.1, 0)] * 1000, 0) == 100.0
    assert epsilon([(0.1, 1e-7)] * 10, 1e-6) == 1.0
    assert compose([(0.1, 1e-7)] * 10, epsilon=1, **USERS).delta == 1e-6
    total = compose([(0.1, 1e-7)] * 3, delta=3e-7, **USERS)
    assert (total.epsilon, total.delta, total.unit) == (0.3, 3e-7, "user")
    assert "epsilon 0.3, delta 3e-07" in total.note
    assert compose([(0.1, 0.9)] * 400, epsilon=0.5, **USERS).delta == 1


def test_releases_that_tell_nothing_or_everything():
    assert epsilon([], 1e-6) == 0
    assert epsilon([(0, 0)] * 3, 0) == 0
    assert epsilon([(0, 1e-6), (0.5, 0)], 1e-6) == 0.5
    assert compose([(0, 1e-6)] * 2, epsilon=0, **USERS).delta == 2e-6
    assert epsilon([GaussianRelease(math.inf), (0.5, 0)], 0) == 0.5
    for nothing in ((math.inf, 0), GaussianRelease(0.0), Privacy.proven(math.inf, **KIND)):
        assert epsilon([(0.5, 0), nothing], 1e-6) == math.inf
        assert compose([nothing], epsilon=3, **USERS).delta == 1
    assert "Not private" in compose([(math.inf, 0)] * 2, delta=0, **USERS).in_words()


def test_huge_budgets_and_tiny_deltas_stay_upper_bounds():
    assert 2900 < epsilon([(1000.0, 0)] * 3, 1e-6) <= 3000
    tiny = epsilon([(0.1, 0)] * 1000, 1e-15)  # beyond the grid: zCDP

    def delta_of(at):
        return naive.repeated_response_delta(0.1, 1000, at)

    exact = naive.least_epsilon(delta_of, 1e-15, 100.0)
    assert exact <= tiny <= 1.15 * exact


# --- what it is for ------------------------------------------------------------------------------


def test_guarantees_of_one_kind_keep_it():
    one = Guarantee(
        Privacy.proven(0.5, unit="user", adjacency="flip"), trust="local", numerics="exact"
    )
    both = compose([one, one], delta=0)
    assert (both.epsilon, both.delta, both.trust, both.numerics) == (1.0, 0.0, "local", "exact")
    assert both.attained.kind == ("user", "flip")
    central = Guarantee(Privacy.proven(0.5, unit="user", adjacency="flip"), numerics="idealized")
    flips = Neighbors("user", "flip")
    mixed = compose([one, central, (0.5, 0)], delta=0, neighbors=flips, trust="local")
    assert (mixed.trust, mixed.numerics) == ("central", "unknown")
    assert compose([one, central], delta=0).numerics == "idealized"
    assert compose([one], delta=0).note == ""


def test_what_any_release_takes_as_public_is_public_in_all():
    plain, known = (Guarantee(Privacy.proven(0.1, public=x, **KIND)) for x in ((), ("items",)))
    also = (Privacy.proven(0.3, public=("ranked-items",), **KIND),)
    ranked = Guarantee(Privacy.proven(0.1, unit="rank", adjacency="replace"), also=also)
    facts = ("items", "ranked-items")
    for delta in (0, 1e-6):
        assert compose([plain, known], delta=delta).attained.public == ("items",)
        every = Neighbors(**KIND, public=facts)
        found = compose([plain, known, ranked], delta=delta, neighbors=every)
        assert found.attained.public == facts
    # Neighbors that differ only in answers share the items in any case.
    flips = Neighbors("user", "flip")
    assert compose([plain, known], delta=0, neighbors=flips).attained.public == ()
