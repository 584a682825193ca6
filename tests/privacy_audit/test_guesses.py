"""What is read off exact leaderboards, and the bound of guesses from private ones."""

from __future__ import annotations

import functools
import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from privrank_jax.privacy_audit import battles_between, guess_bound
from privrank_jax.privacy_audit.guesses import right_guesses

BATTLE = st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda pair: pair[0] != pair[1])


def board_of(battles):
    found = np.zeros((5, 2), int)
    for winner, loser in battles:
        found[winner, 0] += 1
        found[loser, 1] += 1
    return found


@functools.cache
def explanations(size):
    """All so many battles by the board that they make."""
    found = {}
    pairs = itertools.permutations(range(5), 2)
    for one in itertools.combinations_with_replacement(pairs, size):
        found.setdefault(board_of(one).tobytes(), set()).add(one)
    return found


@given(before=st.lists(BATTLE, max_size=6), new=st.lists(BATTLE, max_size=4))
def test_all_explanations_are_found_and_nothing_else(before, new):
    first = board_of(before)
    found = battles_between(first, first + board_of(new))
    expected = explanations(len(new))[board_of(new).tobytes()]
    assert Counter(map(tuple, map(sorted, found))) == dict.fromkeys(expected, 1)
    assert tuple(sorted(new)) in expected


def success(chances, prior):
    """Of the best guess of the value, by enumeration of all outputs; ``chances[value, output]``."""
    return float((chances * prior[:, None]).max(axis=0).sum())


PRIORS = ([0.5, 0.5], [0.9, 0.1], [0.25] * 4, [0.4, 0.3, 0.2, 0.1], [1 / 24] * 24, [1.0, 0.0])


@pytest.mark.parametrize("prior", PRIORS, ids=str)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_no_mechanism_exceeds_the_bound(prior, epsilon):
    """Mechanisms of 40 outputs that are as lossy as ε allows, at random; also of the answer to a question."""
    prior = np.array(prior)
    random = np.random.default_rng(0)
    for _ in range(200):
        odds = np.exp(epsilon * random.integers(0, 2, (len(prior), 40)))
        odds *= random.exponential(size=40)
        chances = odds / odds.sum(axis=1, keepdims=True)
        loss = np.log(chances.max(axis=0) / chances.min(axis=0)).max()
        assert success(chances, prior) <= guess_bound(loss, prior) * (1 + 1e-12)
        answers = random.integers(0, 3, len(prior))
        groups = answers == np.unique(answers)[:, None]
        told = (groups @ (prior[:, None] * chances)).max(axis=0).sum()
        assert told <= guess_bound(loss, groups @ prior) * (1 + 1e-12)


@pytest.mark.parametrize("values", [2, 3, 24])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_randomized_response_attains_the_bound(values, epsilon):
    chances = np.where(np.eye(values, dtype=bool), np.exp(epsilon), 1.0)
    chances /= chances.sum(axis=1, keepdims=True)
    prior = np.full(values, 1 / values)
    assert success(chances, prior) == pytest.approx(guess_bound(epsilon, prior), rel=1e-12)
    odds = np.exp(epsilon)
    assert guess_bound(epsilon, prior) == pytest.approx(odds / (odds + values - 1))


def test_the_best_guess_is_that_of_bayes():
    logs = np.log([[0.5, 0.3, 0.2], [0.1, 0.5, 0.4]])
    assert right_guesses(logs, [0, 1]).tolist() == [True, True]
    assert right_guesses(logs, [1, 2]).tolist() == [False, False]
    assert right_guesses(logs, [2, 1], [7, 7, 5]).tolist() == [False, True]
    with np.errstate(invalid="raise"):
        assert right_guesses([[0.0, -np.inf]], [0]).tolist() == [True]
