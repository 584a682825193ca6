"""Amplification by shuffling: never below the law of all multisets, equal to it for one question, monotone."""

from __future__ import annotations

import itertools
import math

import pytest

from privrank_jax.privacy import shuffled_delta, shuffled_epsilon, shuffled_local_epsilon
from tests import reference
from tests.quick import thorough
from tests.reference import shuffling as naive

SHARES = (0.0, 0.3, 0.8)  # of ε₀


@pytest.mark.parametrize("users", [1, 2, 5, 12])
@pytest.mark.parametrize("local", [0.1, 1.0, 4.0])
def test_one_question_is_exact(users, local):
    for share in SHARES:
        naively = naive.one_question_delta(users, local, share * local)
        found = shuffled_delta(users, local, share * local, question="public")
        assert naively * (1 - 1e-12) <= found <= naively * (1 + 1e-6)


@pytest.mark.parametrize("local", [0.5, 2.0])
def test_one_question_covers_users_without_an_answer(local):
    laws = [naive.bit_report(answer, local) for answer in (0, 1, None)]
    for users, share in itertools.product((2, 4), SHARES):
        worst = naive.largest_delta(laws, users, share * local)
        found = shuffled_delta(users, local, share * local, question="public")
        assert worst * (1 - 1e-12) <= found <= worst * (1 + 1e-6)


@pytest.mark.parametrize("local", [0.5, 2.0])
def test_secret_pairs_are_never_below_the_truth(local):
    rankings = [(0, 1, 2), (2, 1, 0), (1, 0, 2), (0, 0, 1), (0, 0, 0)]
    laws = [naive.pair_report(ranks, local) for ranks in rankings]
    for users, share in itertools.product((1, 2, 3), SHARES):
        worst = naive.largest_delta(laws, users, share * local)
        found = shuffled_delta(users, local, share * local)
        assert worst * (1 - 1e-12) <= found
        # Not much above it either: among two or three users, hardly anything is hidden.
        assert found <= 2 * worst


@pytest.mark.parametrize(("users", "local"), [(1, 1.0), (12, 0.1), (12, 4.0), (25, 1.0)])
def test_secret_questions_are_the_bound_by_clones(users, local):
    for share in SHARES:
        naively = naive.clones_delta(users, local, share * local)
        assert shuffled_delta(users, local, share * local) == pytest.approx(naively, rel=1e-6)


@pytest.mark.parametrize("question", ["secret", "public"])
def test_more_users_hide_more(question):
    sizes = (1, 2, 10, 500, 501, 5_000, 10**6)
    by_users = [shuffled_delta(n, 2.0, 0.4, question=question) for n in sizes]
    assert by_users == sorted(by_users, reverse=True)


@pytest.mark.parametrize("question", ["secret", "public"])
@pytest.mark.parametrize("users", [1, 40, thorough(600)])
def test_inversions(users, question):
    delta = 1e-6
    epsilon = shuffled_epsilon(users, 1.5, delta, question=question)
    assert 0 < epsilon <= 1.5
    assert shuffled_delta(users, 1.5, epsilon, question=question) <= delta
    assert shuffled_delta(users, 1.5, 0.999 * epsilon, question=question) > delta
    local = shuffled_local_epsilon(users, 0.5, delta, question=question)
    assert local >= 0.5
    assert shuffled_delta(users, local, 0.5, question=question) <= delta
    assert shuffled_delta(users, 1.001 * local, 0.5, question=question) > delta


@pytest.mark.parametrize("users", [10**6, thorough(10**9)])
def test_many_users_are_a_gaussian_mechanism(users):
    # A + Δ among c clones: a shift of q - p in noise of variance c/4.
    local, delta = 2.0, 1e-8
    flip = 1 / (math.exp(local) + 1)
    shift = 2 * (1 - 2 * flip) / math.sqrt(2 * flip * users)
    epsilon = shuffled_epsilon(users, local, delta)
    assert reference.gaussian_delta(1.0, shift, epsilon) == pytest.approx(delta, rel=0.02)


def test_at_the_ends():
    assert shuffled_delta(100, math.inf, 5.0) == 1.0
    assert shuffled_epsilon(100, math.inf, 1e-6) == math.inf
    assert shuffled_epsilon(5, 0.2, 0.9) == 0.0
    assert shuffled_epsilon(1, 0.7, 0.0) == pytest.approx(0.7)
    assert shuffled_epsilon(50, 3.0, 0.0) == pytest.approx(3.0)
    assert shuffled_local_epsilon(50, 3.0, 0.0) == pytest.approx(3.0)
    assert shuffled_delta(10, 1_000.0, 900.0) == 1.0
    assert shuffled_local_epsilon(10, 1_000.0, 1e-6) == 1_000.0


@pytest.mark.parametrize(
    ("call", "told", "word"),
    [
        (shuffled_delta, (0, 1.0, 0.5), "num_users"),
        (shuffled_delta, (2.5, 1.0, 0.5), "num_users"),
        (shuffled_delta, (10**10, 1.0, 0.5), "num_users"),
        (shuffled_delta, (math.nan, 1.0, 0.5), "num_users"),
        (shuffled_delta, (10, 0.0, 0.5), "local_epsilon"),
        (shuffled_delta, (10, math.nan, 0.5), "local_epsilon"),
        (shuffled_delta, (10, 1.0, -1.0), "epsilon"),
        *((shuffled_epsilon, (10, 1.0, delta), "delta") for delta in (-0.1, 1.0, math.nan)),
        *((shuffled_local_epsilon, (10, 1.0, delta), "delta") for delta in (-0.1, 1.0, math.nan)),
        *((shuffled_local_epsilon, (10, one, 1e-6), "epsilon") for one in (0.0, math.inf)),
    ],
)
def test_what_does_not_fit_is_refused(call, told, word):
    with pytest.raises(ValueError, match=word):
        call(*told)
    with pytest.raises(ValueError, match="question"):
        shuffled_delta(10, 1.0, 0.5, question="both")
