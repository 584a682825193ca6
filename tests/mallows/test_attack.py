"""The inference attack: the maximum-likelihood center against enumeration, its error against the lower bound."""

from __future__ import annotations

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.optimize

from privrank_jax import mallows
from privrank_jax.aggregation.kemeny_rule import exact_kemeny
from privrank_jax.mallows import attack
from tests.reference.attack import discordant, most_likely, pair_error


def random_rankings(rng, count, items):
    return np.argsort(rng.random((count, items)), axis=1)


def test_win_counts():
    ranks = np.array([[0, 2, 1], [1, 0, -1], [2, 1, 0], [0, 1, 2]])
    expected = np.zeros((3, 3), int)
    for row in ranks[:3]:
        for i, j in itertools.permutations(range(3), 2):
            expected[i, j] += 0 <= row[i] < row[j]
    found = attack.win_counts(ranks, [True, True, True, False])
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(attack.win_counts(ranks[:3]), expected)
    assert found.dtype == jnp.int32


def test_the_center_agrees_with_most_pairs_and_ties_are_drawn_alike(key):
    rng = np.random.default_rng(1)
    centers = jax.jit(jax.vmap(attack.most_likely_center, (0, None)))
    several = 0
    for trial in range(12):
        drawn = random_rankings(rng, 2 + trial % 3, 4)
        best = most_likely(drawn.tolist())
        keys = jax.random.split(jax.random.fold_in(key, trial), 2000)
        found = [tuple(row) for row in np.asarray(centers(keys, attack.win_counts(drawn))).tolist()]
        assert set(found) == best  # each is missed with probability below 1e-40
        share = 1 / len(best)
        for center in best:  # 5 standard deviations
            slack = 5 * math.sqrt(share * (1 - share) / 2000)
            assert abs(found.count(center) / 2000 - share) <= slack
        several += len(best) > 1
    assert several >= 3


@pytest.mark.parametrize("seed", range(3))
def test_epsilon_is_the_most_likely(seed):
    """By a general minimizer."""
    drawn = random_rankings(np.random.default_rng(seed), 3 + 2 * seed, 4)
    center = min(
        itertools.permutations(range(4)), key=lambda c: sum(discordant(c, r) for r in drawn)
    )
    far = sum(discordant(center, ranks) for ranks in drawn)

    def loss(theta):
        log_z = sum(math.log(sum(math.exp(-theta * k) for k in range(t))) for t in range(1, 5))
        return theta * far + len(drawn) * log_z

    best = scipy.optimize.minimize_scalar(loss, bounds=(0, 20), method="bounded")
    found = float(mallows.most_likely_epsilon(center, attack.win_counts(drawn)))
    assert found == pytest.approx(3 * best.x, rel=1e-3)


def test_epsilon_at_the_ends_and_far_out():
    assert float(mallows.most_likely_epsilon([0, 1, 2], np.triu(np.full((3, 3), 9), 1))) == np.inf
    assert float(mallows.most_likely_epsilon([0, 1, 2], np.tril(np.full((3, 3), 9), -1))) == 0
    for epsilon in (0.01, 10.0):
        kept = 1 / (1 + math.exp(-epsilon))
        wins = np.array([[0, kept], [1 - kept, 0]])
        found = float(mallows.most_likely_epsilon([0, 1], wins))
        assert found == pytest.approx(epsilon, rel=1e-3 if epsilon < 1 else 1e-2)


def test_a_solver_finds_the_same_center_and_no_order_of_the_items_wins_ties(key):
    rng = np.random.default_rng(2)
    center = rng.permutation(6)
    drawn = np.concatenate([np.tile(center, (5, 1)), random_rankings(rng, 4, 6)])
    solver = exact_kemeny
    found = attack.most_likely_center(key, attack.win_counts(drawn), solver=solver)
    assert found.tolist() == center.tolist()
    assert found.dtype == jnp.int32
    # A solver that breaks ties by index, where all rankings of three items are equally good.
    solve = functools.partial(
        attack.most_likely_center, wins=np.ones((3, 3)), solver=lambda wins: jnp.arange(3)
    )
    tied = np.asarray(jax.jit(jax.vmap(solve))(jax.random.split(key, 1200))).tolist()
    for ranks in itertools.permutations(range(3)):
        assert abs(tied.count(list(ranks)) - 200) < 5 * math.sqrt(200)


def test_the_bound_has_the_binomial_tail_and_broadcasts():
    items, rankings = np.array([2, 3, 4, 5, 9]), np.array([[1], [2], [10], [51], [100]])
    found = np.asarray(jax.jit(mallows.attack.attack_error_bound)(items, 2.5, rankings))
    reversed_pair = 1 - np.asarray(mallows.distribution.pair_order_probability(1, items, 2.5))
    for (row, column), value in np.ndenumerate(found):
        m, n = int(items[column]), int(rankings[row, 0])
        assert pair_error(2.5, m, 1) == pytest.approx(reversed_pair[column])
        assert value == pytest.approx(1 - (1 - pair_error(2.5, m, n)) ** (m // 2), rel=1e-7)
    alone = float(mallows.attack.attack_error_bound(4, 2.5, 10))
    np.testing.assert_allclose(alone, found[2, 2])
    # ε = c(m-1)/√N: Φ(-c/2) for each of two disjoint pairs.
    tail = 0.5 * math.erfc(0.5 / math.sqrt(2))
    limit = float(mallows.attack.attack_error_bound(5, 4 / math.sqrt(1e6), 10**6))
    assert limit == pytest.approx(1 - (1 - tail) ** 2, rel=1e-3)
