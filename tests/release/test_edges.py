"""Edge cases of arguments and of rounding in releases: one unit more or less must make a difference there."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax.aggregation import dp_kwiksort, exponential, exponential_kemeny
from privrank_jax.aggregation.weights import PairWeights, counted_weights
from privrank_jax.exact import sorting
from privrank_jax.mallows import sample
from privrank_jax.pairwise import noisy_counts
from tests.promises import promise, user
from tests.totals import wins_of

SURE = promise(1000.0)  # noise other than 0 has probability below 1e-300


def totals(*wins):
    return noisy_counts.release(wins_of(np.array(wins)), SURE, sensitivity=1).value.tolist()


def kemeny(*ranks, epsilon=1e6):
    return exponential_kemeny.release(counted_weights([ranks]), user(epsilon))


@pytest.mark.parametrize(
    ("call", "word"),
    [
        (lambda: totals(2**51 + 1), "holds none"),
        (lambda: totals(0.25), "multiples of"),
        (lambda: sample.release([[0, 1, 2], [0, 0, 1]], 1.0), "row 1"),
        (lambda: sample.release([[0, 1, 2]], 2.2e-16), r"2\.22e-16"),  # 2/2^53
        (lambda: kemeny(1, 0, 2, 3), "got 4"),
    ],
)
def test_one_unit_more_is_refused(monkeypatch, call, word):
    monkeypatch.setattr(exponential, "MAX_ITEMS", 3)
    with pytest.raises(ValueError, match=word):
        call()


def test_what_is_just_allowed(monkeypatch):
    monkeypatch.setattr(exponential, "MAX_ITEMS", 3)
    for largest in (2**51, np.float32(2**23), float(2**51)):
        for sign in (1, -1):
            assert totals(sign * largest) == [sign * largest, 0]
    assert sample.release([[0, 1, 2]], 2.23e-16).shape == (1, 3)
    assert kemeny(1, 0, 2).value.tolist() == [1, 0, 2]
    assert kemeny(1, 0, epsilon=1e300).diagnostics.rate == 2**15  # per pair


def test_queries_take_half_of_epsilon_unless_it_is_said():
    given = counted_weights(np.tile([3, 0, 2, 1], (500, 1)))
    found = dp_kwiksort.release(given, user(1.0), max_queries=1)
    assert found.diagnostics.noise_scale == pytest.approx(2 / 0.5 / 1000)


def test_half_of_the_users_are_not_more_than_half(monkeypatch):
    heard = []

    def ask(items, before, budget):
        heard.extend(before([(0, 1), (1, 2)]))
        return [[0], [1], [2]], 2

    monkeypatch.setattr(sorting, "partitioned", ask)
    twice = np.array([[0, 10, 11], [10, 0, 11], [9, 9, 0]])
    dp_kwiksort.release(PairWeights.from_counts(twice, 10), user(1e4))
    assert heard == [False, True]
