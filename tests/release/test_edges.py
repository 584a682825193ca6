"""Edge cases of arguments and of rounding in releases: one unit more or less must make a difference there."""

from __future__ import annotations

import sqlite3
from decimal import Decimal

import numpy as np
import pytest

from privrank_jax.aggregation import dp_kwiksort, exponential, exponential_kemeny
from privrank_jax.aggregation.weights import PairWeights, counted_weights
from privrank_jax.exact import sorting
from privrank_jax.exact.discrete_noise import discrete_gaussian, discrete_laplace
from privrank_jax.mallows import sample
from privrank_jax.pairwise import noisy_counts
from privrank_jax.release.decimals import plain
from privrank_jax.release.ledger import BudgetExhausted, Ledger, Privacy, create
from privrank_jax.release.store import LedgerError
from tests.promises import promise, user
from tests.totals import wins_of


def test_totals_are_taken_as_far_as_they_are_exact():
    epsilon = 1000.0  # noise other than 0 has probability below 1e-300
    for largest in (2**51, np.float32(2**23), float(2**51)):
        for sign in (1, -1):
            found = noisy_counts.release(
                wins_of(np.array([sign * largest])), promise(epsilon), sensitivity=1
            )
            assert found.value.tolist() == [sign * largest, 0]
    with pytest.raises(ValueError, match="holds none beyond"):
        noisy_counts.release(wins_of(np.array([2**51 + 1])), promise(epsilon), sensitivity=1)
    with pytest.raises(ValueError, match="multiples of 1/2"):
        noisy_counts.release(wins_of(np.array([0.25])), promise(epsilon), sensitivity=1)


def test_a_tie_for_the_first_place_is_a_tie():
    with pytest.raises(ValueError, match="row 1 holds a rank twice"):
        sample.release([[0, 1, 2], [0, 0, 1]], 1.0)


@pytest.mark.parametrize(
    ("number", "text"),
    [
        ("0.00001", "0.00001"),
        ("0.0000099", "9.9e-6"),
        ("123456789012345", "123456789012345"),
        ("999999999999999", "999999999999999"),
        ("1234567890123456", "1.234567890123456e15"),
        ("1E+15", "1e15"),
        ("1E-5", "0.00001"),
    ],
)
def test_numbers_are_written_out_between_a_hundred_thousandth_and_a_quadrillion(number, text):
    assert plain(Decimal(number)) == text


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (sqlite3.SQLITE_BUSY, "in use"),
        (sqlite3.SQLITE_LOCKED, "in use"),
        (sqlite3.SQLITE_BUSY_SNAPSHOT, "in use"),  # an extended code
        (sqlite3.SQLITE_READONLY, "write permission"),
        (sqlite3.SQLITE_CANTOPEN, "write permission"),
        (sqlite3.SQLITE_PERM, "write permission"),
        (sqlite3.SQLITE_AUTH, "write permission"),
        (sqlite3.SQLITE_NOTADB, "not a ledger"),
        (sqlite3.SQLITE_CORRUPT, "is damaged"),
        (sqlite3.SQLITE_FULL, "be used"),
        (None, "be used"),
    ],
)
def test_every_error_of_the_file_is_said_in_words(ledger, code, words):
    error = sqlite3.DatabaseError("said by SQLite")
    if code is not None:
        error.sqlite_errorcode = code
    with pytest.raises(LedgerError, match=words), ledger.store._clearly():
        raise error


@pytest.mark.parametrize(("noise", "delta"), [("laplace", 0.0), ("gaussian", 1e-5)])
def test_the_guarantee_of_noisy_totals_has_the_delta_that_was_asked_for(noise, delta):
    found = noisy_counts.release(
        wins_of([1.0, 2.0]), promise(1.0, delta=delta), sensitivity=1, noise=noise
    )
    assert (found.guarantee.epsilon, found.guarantee.delta) == (1.0, delta)


def of_users(epsilon):
    return Privacy(Decimal(epsilon), unit="user", adjacency="replace")


@pytest.fixture
def ledger(tmp_path):
    path = tmp_path / "votes.ledger"
    create(path, of_users("0.5"), data="votes.csv", sha256="ab" * 32)
    with Ledger(path) as found:
        yield found


def test_advice_tells_less_from_nothing(ledger):
    ledger.spend(of_users("0.2"))
    with pytest.raises(BudgetExhausted, match="Ask for less"):
        ledger.check(of_users("0.4"))
    ledger.spend(of_users("0.3"))
    with pytest.raises(BudgetExhausted, match="The budget is exhausted"):
        ledger.check(of_users("0.1"))


def test_noise_is_on_twice_the_totals_at_twice_the_sensitivity():
    for noise, delta in (("laplace", 0.0), ("gaussian", 1e-5)):
        found = noisy_counts.release(
            wins_of([1.0]), promise(0.7, delta=delta), sensitivity=3.5, noise=noise
        )
        of_twice = discrete_gaussian(7.0, 0.7, delta) if delta else discrete_laplace(7.0, 0.7)
        assert 2 * found.diagnostics.noise_scale == of_twice[1]


def test_the_rate_of_the_exponential_mechanism_ends_at_two_to_the_fourteen():
    assert (
        exponential_kemeny.release(counted_weights([[1, 0]]), user(1e300)).diagnostics.rate == 2**15
    )  # per pair


def test_queries_take_half_of_epsilon_unless_it_is_said():
    found = dp_kwiksort.release(
        counted_weights(np.tile([3, 0, 2, 1], (500, 1))), user(1.0), max_queries=1
    )
    assert found.diagnostics.noise_scale == pytest.approx(2 / 0.5 / 1000)


def test_the_exponential_mechanism_takes_as_many_items_as_it_says(monkeypatch):
    monkeypatch.setattr(exponential, "MAX_ITEMS", 3)
    assert exponential_kemeny.release(counted_weights([[1, 0, 2]]), user(1e6)).value.tolist() == [
        1,
        0,
        2,
    ]
    with pytest.raises(ValueError, match="at most 3 items, got 4"):
        exponential_kemeny.release(counted_weights([[1, 0, 2, 3]]), user(1.0))


def test_the_least_epsilon_of_mallows_is_said():
    with pytest.raises(ValueError, match=r"at least 2\.22e-16 is needed"):  # 2/2^53
        sample.release([[0, 1, 2]], 2.2e-16)
    assert sample.release([[0, 1, 2]], 2.23e-16).shape == (1, 3)


def test_half_of_the_users_are_not_more_than_half(monkeypatch):
    heard = []

    def ask(items, before, budget):
        heard.extend(before([(0, 1), (1, 2)]))
        return [[0], [1], [2]], 2

    monkeypatch.setattr(sorting, "partitioned", ask)
    twice = np.array([[0, 10, 11], [10, 0, 11], [9, 9, 0]])
    dp_kwiksort.release(PairWeights.from_counts(twice, 10), user(1e4))
    assert heard == [False, True]
