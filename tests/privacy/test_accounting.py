"""Composition of releases, compared with sums over all outcomes: an upper bound, at most 1 % too large."""

from __future__ import annotations

import functools
import math
from decimal import Decimal

import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from privrank_jax.privacy import (
    GaussianRelease,
    Guarantee,
    Neighbors,
    Privacy,
    compose,
    gaussian_scale,
    local_guarantee,
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
        (0.5, 2, 1e-2, 1e-5),
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


def test_many_unequal_releases():
    """300 budgets without a common step, each between 0.009 and 0.011: near 300 of 0.01."""
    rng = np.random.default_rng(0)
    budgets = rng.uniform(0.009, 0.011, 300)

    def delta_of(single):
        return lambda at: naive.repeated_response_delta(single, 300, at)

    found = epsilon([(one, 0) for one in budgets], 1e-6)
    assert found >= naive.least_epsilon(delta_of(float(np.mean(budgets))), 1e-6, 3.0)
    rms = math.sqrt(np.mean(budgets**2))
    assert found <= 1.01 * naive.least_epsilon(delta_of(rms), 1e-6, 3.0)


def test_gaussian_releases_are_one_with_summed_precisions():
    releases = [GaussianRelease(3.0, 2.0), GaussianRelease(1.5), GaussianRelease(10.0, 5.0)]
    shift = math.sqrt((2 / 3) ** 2 + (1 / 1.5) ** 2 + 0.5**2)
    for delta in (1e-12, 1e-6, 0.1):
        exact = naive.least_epsilon(
            lambda at: reference.gaussian_delta(1.0, shift, at), delta, 60.0
        )
        assert_bounds(epsilon(releases, delta), exact, 1e-7)
        for adjacency in ("replace", "add-remove", "flip"):  # a shift by Δ, never by 2Δ
            one = epsilon(
                [GaussianRelease(1.0, shift)], delta, neighbors=Neighbors("comparison", adjacency)
            )
            assert one == pytest.approx(exact, rel=1e-7)
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


def test_no_delta_gives_the_plain_sum():
    assert epsilon([(0.1, 0)] * 1000, 0) == 100.0
    assert epsilon([(0.1, 1e-7)] * 10, 1e-6) == 1.0  # decimals add up exactly
    assert compose([(0.1, 1e-7)] * 10, epsilon=1, **USERS).delta == 1e-6


def test_releases_that_tell_nothing_or_everything():
    assert epsilon([], 1e-6) == 0
    assert epsilon([(0, 0)] * 3, 0) == 0
    assert epsilon([(0, 1e-6), (0.5, 0)], 1e-6) == 0.5
    assert compose([(0, 1e-6)] * 2, epsilon=0, **USERS).delta == 2e-6
    assert epsilon([GaussianRelease(math.inf), (0.5, 0)], 0) == 0.5
    for nothing in (
        (math.inf, 0),
        GaussianRelease(0.0),
        Guarantee(Privacy.proven(math.inf, **KIND)),
    ):
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


def test_a_delta_below_what_the_releases_fail_with_is_refused():
    with pytest.raises(ValueError, match="below 2e-06, the sum of the releases' own"):
        epsilon([(0.1, 1e-6)] * 2, 1e-6)
    with pytest.raises(ValueError, match="Gaussian release has no epsilon at delta = 0"):
        epsilon([GaussianRelease(1.0)], 0)
    for delta in (0.03121, 0.003906, 0.08891):  # -expm1(log1p(-δ)) is an ulp less
        with pytest.raises(ValueError, match="Gaussian release has no epsilon at delta"):
            epsilon([(1.0, delta), GaussianRelease(1.0)], delta)
    # So many failures that 1 - Π(1-δ_i) is 1.
    with pytest.raises(ValueError, match="the sum of the releases' own"):
        epsilon([(0.1, 0.9)] * 400, 0.5)
    assert compose([(0.1, 0.9)] * 400, epsilon=0.5, **USERS).delta == 1


budget = st.sampled_from([0, "0.05", "0.1", "0.25", "1", "3"]).map(Decimal)
failure = st.sampled_from(["0", "1e-8", "1e-6"]).map(Decimal)
pairs = st.lists(st.tuples(budget, failure), min_size=1, max_size=6)


@settings(max_examples=25, derandomize=True)
@given(pairs, st.tuples(budget, failure), st.sampled_from([1e-4, 1e-3, 0.1]))
def test_monotone_and_never_above_the_plain_sum(releases, another, delta):
    base = epsilon(releases, delta)
    slack = 1e-9 * (1 + base)
    assert base <= float(sum(one for one, _ in releases)) + slack
    assert epsilon(releases, 2 * delta) <= base + slack
    assert epsilon([*releases, another], delta) >= base - slack
    assert epsilon(releases[::-1], delta) == pytest.approx(base, abs=slack)
    assert compose(releases, epsilon=base, **USERS).delta <= delta * (1 + 1e-6) + 1e-11


# --- what it is for ------------------------------------------------------------------------------


def test_guarantees_of_one_kind_keep_it():
    one = Guarantee(
        Privacy.proven(0.5, unit="user", adjacency="flip"), trust="local", numerics="exact"
    )
    both = compose([one, one], delta=0)
    assert (both.epsilon, both.delta) == (1.0, 0.0)
    assert (both.unit, both.adjacency, both.trust, both.numerics) == (
        "user", "flip", "local", "exact"
    )  # fmt: skip
    assert both.note == (
        "2 releases together, by privacy loss distributions: their number and budgets must have been fixed ahead of "
        "time. The plain sum: epsilon 1, delta 0, holds for budgets chosen along the way too."
    )
    central = Guarantee(Privacy.proven(0.5, unit="user", adjacency="flip"), numerics="idealized")
    mixed = compose(
        [one, central, (0.5, 0)], delta=0, neighbors=Neighbors("user", "flip"), trust="local"
    )
    assert (mixed.trust, mixed.numerics) == ("central", "unknown")
    assert compose([one, central], delta=0).numerics == "idealized"
    assert compose([one], delta=0).note == ""


def test_units_and_adjacencies_are_not_mixed():
    user = Guarantee(Privacy.proven(0.5, **KIND))
    comparison = Guarantee(Privacy.proven(0.2, unit="comparison", adjacency="flip"))
    with pytest.raises(ValueError, match="All of them cover unit comparison, adjacency flip: pass"):
        compose([user, comparison], delta=0)
    found = compose([user, comparison], delta=0, neighbors=Neighbors("comparison", "flip"))
    assert (found.epsilon, found.unit, found.adjacency) == (0.7, "comparison", "flip")
    with pytest.raises(
        ValueError, match=r"release 2 is not enough for unit user, .* comparison, adjacency flip"
    ):
        compose([user, comparison], delta=0, **USERS)
    with pytest.raises(TypeError, match="privacy must be a Privacy"):
        compose([user], delta=0, neighbors="user")
    removed = Guarantee(Privacy.proven(0.5, unit="user", adjacency="add-remove"))
    with pytest.raises(ValueError, match="Compose those of one kind"):
        compose([user, removed], delta=0)
    with pytest.raises(
        ValueError, match="unit 'rank' with adjacency 'flip' is not a valid combination"
    ):
        compose([user], delta=0, neighbors=Neighbors("rank", "flip"))
    for releases in ([user, (0.5, 0)], []):
        with pytest.raises(ValueError, match="pass neighbors="):
            compose(releases, delta=0)


def test_promises_compose_as_they_are():
    """A promise counts at its own ε; the result is for users with the smallest number of comparisons among them."""
    few, many = (Privacy(0.5, contributions=count, **KIND) for count in (3, 10))
    both = compose([few, many], delta=0)
    assert (both.epsilon, both.attained.contributions, both.trust) == (1.0, 3, "central")
    assert compose([few, many], delta=0, neighbors=few).attained.contributions == 3
    for neighbors in (many, *USERS.values()):
        with pytest.raises(ValueError, match="it is for users of at most 3 comparisons"):
            compose([few, many], delta=0, neighbors=neighbors)
    assert compose([few, Privacy(0.25, **KIND)], delta=0).attained.contributions == 3
    with pytest.raises(ValueError, match="give a list of releases"):
        compose(few, delta=0)


def test_a_guarantee_for_another_unit_beside_counts_where_it_covers():
    reports = local_guarantee(jnp.array([1.0, 2.0]), jnp.array([10, 3]))
    assert compose([reports] * 2, delta=0).epsilon == 4.0
    assert compose([reports] * 2, delta=0, neighbors=Neighbors("user", "flip")).epsilon == 20.0


def test_the_plain_sum_is_what_holds_at_the_sum_of_all_deltas():
    total = compose([(0.1, 1e-7)] * 3, delta=3e-7, **USERS)
    assert (total.epsilon, total.delta, total.unit) == (0.3, 3e-7, "user")
    assert "The plain sum: epsilon 0.3, delta 3e-07, holds for budgets" in total.note
    assert compose([(math.inf, 0), (1, 0)], delta=0, **USERS).epsilon == math.inf
    with pytest.raises(ValueError, match="a Gaussian release has no epsilon at delta = 0"):
        compose([GaussianRelease(1.0)], delta=0, **USERS)


# --- bad input -----------------------------------------------------------------------------------


def test_what_any_release_takes_as_public_is_public_in_all():
    plain = Guarantee(Privacy.proven(0.1, **KIND))
    known = Guarantee(Privacy.proven(0.2, public=("items",), **KIND))
    ranked = Guarantee(
        Privacy.proven(0.1, unit="rank", adjacency="replace"),
        also=(Privacy.proven(0.3, public=("ranked-items",), **KIND),),
    )
    for delta in (0, 1e-6):
        together = functools.partial(compose, delta=delta)
        assert together([plain, known]).attained.public == ("items",)
        facts = ("items", "ranked-items")
        found = together([plain, known, ranked], neighbors=Neighbors(**KIND, public=facts))
        assert found.attained.public == facts
        with pytest.raises(ValueError, match=r"release 2 is not enough .* the list of items"):
            together([plain, known], **USERS)
    # Neighbors that differ only in answers share the items in any case.
    assert (
        compose([plain, known], delta=0, neighbors=Neighbors("user", "flip")).attained.public == ()
    )


def test_users_must_be_the_same_in_releases_that_are_composed():
    by_row, by_name = (
        Guarantee(Privacy.proven(0.1, users=one, **KIND)) for one in ("each row", "column 'id'")
    )
    assert compose([by_row, by_row], delta=0).attained.users == "each row"
    with pytest.raises(ValueError, match="differ in what one user is: column 'id'; each row"):
        compose([by_row, by_name], delta=0)
    with pytest.raises(ValueError, match="not said"):
        compose([by_row, Guarantee(Privacy.proven(0.1, **KIND))], delta=0)
    one = compose([by_row, by_name], delta=0, neighbors=Neighbors("comparison", "flip"))
    assert (one.epsilon, one.attained.users) == (0.2, "")
