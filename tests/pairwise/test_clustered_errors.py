from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import confidence_intervals, mle, standard_errors, uncertainty
from privrank_jax.pairwise.uncertainty import _sum_of_squares, clustered_covariance
from tests.quick import quick_jit
from tests.reference.clustered import clustered_covariance as by_loops

SIZE = 5
THETA = np.array([1.1, 0.4, 0.1, -0.5, -1.1])


def rows(seed, number=60, users=12, size=SIZE):
    draw = np.random.default_rng(seed)
    winners = draw.integers(0, size, number)
    losers = (winners + draw.integers(1, size, number)) % size
    return draw.integers(0, users, number), winners, losers, draw


def errors_of(theta, table, comparisons):
    outcomes = clustered_covariance(theta, *table)
    return np.asarray(standard_errors(theta, comparisons, outcomes=outcomes).standard_errors)


@pytest.mark.parametrize("link", ["logistic", "normal", "laplace"])
@pytest.mark.parametrize("users", [4, 12, 60])
def test_it_is_what_loops_over_users_find(link, users):
    who, winners, losers, draw = rows(users, users=users)
    weights, tied = draw.gamma(1.0, size=60), draw.random(60) < 0.3
    found = clustered_covariance(THETA, who, winners, losers, weights=weights, tied=tied, link=link)
    wanted = by_loops(link, THETA, who, winners, losers, weights, tied)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.sum(0), 0, atol=1e-9)
    assert np.linalg.eigvalsh(found).min() > -1e-9
    plain = clustered_covariance(THETA, who, winners, losers, link=link)
    wanted = by_loops(link, THETA, who, winners, losers, np.ones(60), np.zeros(60, bool))
    np.testing.assert_allclose(plain, wanted, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("block", [2**22, 200])
def test_large_tables_are_added_up_in_parts(monkeypatch, block):
    """All ways of adding up find the same: at once, in parts, and where few users compared most items."""
    monkeypatch.setattr(uncertainty, "_BLOCK", block)
    for size, number in ((40, 25), (40, 2000)):
        who, first, second, draw = rows(size, number, 15, size)
        pull = draw.normal(size=number)
        sums = np.zeros((15, size))
        np.add.at(sums, (who, first), pull)
        np.add.at(sums, (who, second), -pull)
        found = _sum_of_squares(who, first, second, pull, size)
        np.testing.assert_allclose(found, sums.T @ sums, atol=1e-9)


def test_rows_that_say_the_same_of_one_user_are_one_row_of_their_weight():
    who, winners, losers, _ = rows(3)
    once = clustered_covariance(THETA, who, winners, losers, weights=np.full(60, 3.0))
    thrice = clustered_covariance(THETA, *(np.repeat(one, 3) for one in (who, winners, losers)))
    np.testing.assert_allclose(once, thrice, rtol=1e-9, atol=1e-12)


def test_names_of_users_do_not_matter():
    who, winners, losers, _ = rows(4)
    renamed = 7 - 1000 * who
    np.testing.assert_allclose(
        clustered_covariance(THETA, who, winners, losers),
        clustered_covariance(THETA, renamed, winners, losers),
        rtol=1e-9,
    )


def test_independent_rows_of_many_users_give_the_plain_errors():
    draw = np.random.default_rng(5)
    first = draw.integers(0, SIZE, 40_000)
    second = (first + draw.integers(1, SIZE, 40_000)) % SIZE
    won = draw.random(40_000) < 1 / (1 + np.exp(THETA[second] - THETA[first]))
    table = (np.arange(40_000), np.where(won, first, second), np.where(won, second, first))
    wins = WinCounts.from_comparisons(*table[1:], num_items=SIZE)
    fitted = quick_jit(mle)(wins).value
    plain = standard_errors(fitted, wins.comparisons).standard_errors
    np.testing.assert_allclose(errors_of(fitted, table, wins.comparisons), plain, rtol=0.02)


def test_a_user_who_made_all_comparisons_of_an_item_does_not_make_it_certain():
    """The gradient of that user at the item is 0, as the fit follows it: what independent answers have is left."""
    draw = np.random.default_rng(6)
    many = (np.arange(200), draw.integers(0, 2, 200))
    table = (
        np.concatenate([many[0], np.full(20, 200)]),
        np.concatenate([many[1], np.tile([2, 2, 0, 1], 5)]),
        np.concatenate([1 - many[1], np.tile([0, 1, 2, 2], 5)]),
    )
    wins = WinCounts.from_comparisons(*table[1:], num_items=3)
    fitted = quick_jit(mle)(wins).value
    plain = np.asarray(standard_errors(fitted, wins.comparisons).standard_errors)
    assert errors_of(fitted, table, wins.comparisons)[2] >= 0.99 * plain[2]


def drawn_crowd(draw, users, each, spread):
    """Answers of users whose tastes differ by normal numbers of deviation ``spread``, and the rows' users."""
    taste = spread * draw.normal(size=(users, SIZE)) + THETA
    who = np.repeat(np.arange(users), each)
    first = draw.integers(0, SIZE, who.size)
    second = (first + draw.integers(1, SIZE, who.size)) % SIZE
    odds = taste[who, first] - taste[who, second]
    won = draw.random(who.size) < 1 / (1 + np.exp(-odds))
    return who, np.where(won, first, second), np.where(won, second, first)


@functools.cache
def target_of(spread):
    """What the fit estimates, from many answers."""
    _, winners, losers = drawn_crowd(np.random.default_rng(0), 100_000, 4, spread)
    return np.asarray(
        quick_jit(mle)(WinCounts.from_comparisons(winners, losers, num_items=SIZE)).value
    )


# Users, answers of each, and the range in which the coverage of plain errors at 95 % lies.
CROWDS = (
    (40, 20, 0.76, 0.88),
    pytest.param(8, 20, 0.72, 0.88, marks=pytest.mark.slow),
    pytest.param(60, 1, 0.91, 0.985, marks=pytest.mark.slow),
)


@pytest.mark.parametrize(("users", "each", "low", "high"), CROWDS)
def test_clustered_errors_cover_where_answers_of_users_hang_together(users, each, low, high):
    """150 crowds of 5 scores. The mean coverage has a standard error of 0.01 at most (scores of a crowd are no copies
    of one another): a false alarm needs 4 of them. Errors that take answers as independent are rejected."""
    draw, covered = np.random.default_rng(users), {"plain": [], "clustered": []}
    fit, truth = quick_jit(mle), target_of(1.0)
    for _ in range(150):
        table = drawn_crowd(draw, users, each, 1.0)
        wins = WinCounts.from_comparisons(*table[1:], num_items=SIZE)
        found = fit(wins)
        if found.diagnostics.separated:
            continue
        off = np.abs(np.asarray(found.value) - truth)
        plain = np.asarray(standard_errors(found.value, wins.comparisons).standard_errors)
        covered["plain"].append(off < 1.96 * plain)
        covered["clustered"].append(off < 1.96 * errors_of(found.value, table, wins.comparisons))
    assert len(covered["plain"]) > 145
    assert low < np.mean(covered["plain"]) < high
    assert 0.91 < np.mean(covered["clustered"]) < 0.985


def test_weighted_rows_are_covered_where_plain_errors_are_too_narrow():
    """Pairs that are shown one time in ten count ten times: their few rows vary more than their weight says."""
    draw, covered = np.random.default_rng(8), {"plain": [], "sandwich": []}
    fit = quick_jit(mle)
    for _ in range(120):
        first = draw.integers(0, SIZE, 1500)
        second = (first + draw.integers(1, SIZE, 1500)) % SIZE
        shown = np.where((first + second) % 2 == 0, 1.0, 0.1)
        kept = draw.random(1500) < shown
        first, second, weights = first[kept], second[kept], 1 / shown[kept]
        won = draw.random(first.size) < 1 / (1 + np.exp(THETA[second] - THETA[first]))
        winners, losers = np.where(won, first, second), np.where(won, second, first)
        wins = WinCounts.from_comparisons(winners, losers, num_items=SIZE, weights=weights)
        theta = fit(wins).value
        outcomes = clustered_covariance(
            theta, np.arange(first.size), winners, losers, weights=weights
        )
        for name, known in (("plain", None), ("sandwich", outcomes)):
            errors = standard_errors(theta, wins.comparisons, outcomes=known).standard_errors
            covered[name].append(np.abs(theta - THETA) < 1.96 * errors)
    assert np.mean(covered["plain"]) < 0.85
    assert 0.915 < np.mean(covered["sandwich"]) < 0.985


def test_intervals_take_it():
    who, winners, losers, _ = rows(9, 400)
    wins = WinCounts.from_comparisons(winners, losers, num_items=SIZE)
    theta = np.asarray(quick_jit(mle)(wins).value)
    outcomes = clustered_covariance(theta, who, winners, losers)
    found = confidence_intervals(standard_errors(theta, wins.comparisons, outcomes=outcomes))
    errors = errors_of(theta, (who, winners, losers), wins.comparisons)
    np.testing.assert_allclose(found.standard_errors, errors, rtol=1e-9)
    np.testing.assert_allclose(found.high - found.low, 2 * 1.959964 * errors, rtol=1e-6)


def test_single_precision_stays_single():
    who, winners, losers, _ = rows(10)
    with jax.enable_x64(False):
        found = clustered_covariance(THETA.astype(np.float32), who, winners, losers)
    assert found.dtype == jnp.float32
    wanted = clustered_covariance(THETA, who, winners, losers)
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"users": [0, 1]}, r"users must be integers of shape \(3,\)"),
        ({"users": [0.5, 1.0, 2.0]}, "users must be integers"),
        ({"winners": [0, 1, 9]}, r"winners must lie in 0..4"),
        ({"winners": [0, 1, 2], "losers": [0, 1, 2]}, "compares item 0 with itself"),
        ({"weights": [1.0, -1.0, 1.0]}, "weights must be finite and at least 0"),
        ({"tied": [True]}, "need one shape"),
        ({"theta": THETA * np.nan}, "finite scores of shape"),
        ({"link": "probit"}, "unknown link"),
    ],
)
def test_bad_arguments_are_refused(change, message):
    given = {"theta": THETA, "users": [0, 1, 2], "winners": [0, 1, 2], "losers": [1, 2, 3]}
    with pytest.raises(ValueError, match=message):
        clustered_covariance(**{**given, **change})


def test_traced_arguments_are_refused():
    table = ([0, 1, 2], [0, 1, 2], [1, 2, 3])
    with pytest.raises(ValueError, match="outside jit"):
        jax.jit(lambda theta: clustered_covariance(theta, *table))(THETA)


def test_outcomes_are_checked():
    met = 10 * (1 - np.eye(SIZE))
    with pytest.raises(ValueError, match="leave ties out"):
        standard_errors(THETA, met, ties=met / 2, outcomes=met)
    with pytest.raises(ValueError, match=r"outcomes must have shape \(5, 5\)"):
        standard_errors(THETA, met, outcomes=np.eye(3))
