"""The ranking risk by enumeration of rankings, and its rate against the printed formulas and exact votes."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from privrank_jax.personalized.regret import (
    consistent_epsilon,
    least_risk,
    ranking_risk,
    regret_rate,
)


def law(seed: int, items: int) -> dict[tuple[int, ...], float]:
    """A law of orders."""
    every = list(itertools.permutations(range(items)))
    return dict(zip(every, np.random.default_rng(seed).dirichlet(np.full(len(every), 0.3))))


def chances(orders: dict[tuple[int, ...], float], items: int) -> np.ndarray:
    found = np.full((items, items), 0.5)
    for i, j in itertools.permutations(range(items), 2):
        found[i, j] = sum(p for order, p in orders.items() if order.index(i) < order.index(j))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_risk_is_the_mean_of_misordered_pairs_and_the_least_is_that_of_every_majority(seed):
    orders = law(seed, 4)
    pairs = chances(orders, 4)
    scores = np.array([1.0, 3.0, 2.0, 2.0])  # with a tie
    by_hand = sum(
        p * (scores[order[a]] <= scores[order[b]])
        for order, p in orders.items()
        for a, b in itertools.combinations(range(4), 2)
    )
    assert float(ranking_risk(scores, pairs)) == pytest.approx(by_hand / 12, rel=1e-5)
    risks = [
        float(ranking_risk(np.array(ranks, float), pairs))
        for ranks in itertools.permutations(range(4))
    ]
    least = sum(min(pairs[a, b], pairs[b, a]) for a, b in itertools.combinations(range(4), 2)) / 12
    assert float(least_risk(pairs)) == pytest.approx(least, rel=1e-5)
    cyclic = min(risks) > least + 1e-6
    wins = (pairs > 0.5).sum(1)
    assert cyclic == (sorted(wins) != [0, 1, 2, 3])


def test_rate_is_the_printed_one():
    n, size, items, gamma, alpha = 5000, 40, 4, 1.5, 0.5
    epsilon = np.array([0.7, 1.0, 3.0])
    psi = (np.exp(epsilon / 3) + 1) / (np.exp(epsilon / 3) - 1)
    inner = size / n * math.log(n / size)
    printed = (
        np.mean(psi)
        * np.mean(psi**gamma) ** (alpha / (gamma + 2))
        * inner ** (alpha * (gamma + 1) / (gamma + 2))
    )
    options = {"noise_exponent": gamma, "conversion_exponent": alpha}
    assert float(regret_rate(n, size, items, epsilon, **options)) == pytest.approx(
        printed, rel=1e-5
    )
    same = regret_rate(n, size, items, 0.7, noise_exponent=gamma)
    special = (psi[0] ** 2 * inner) ** ((gamma + 1) / (gamma + 2))
    assert float(same) == pytest.approx(special, rel=1e-5)
    assert np.isfinite(regret_rate(100, 10, 2, np.inf))
    bare = regret_rate(n, size, items, 0.7, logarithm=False)
    assert float(bare) == pytest.approx(psi[0] ** 2 * size / n, rel=1e-5)


@pytest.mark.parametrize("alpha", [0.5, 1.0])
@pytest.mark.parametrize("gamma", [0.5, 2.0, np.inf])
def test_at_the_consistent_epsilon_the_rate_vanishes_like_a_power_of_the_logarithm(gamma, alpha):
    """And at margin 0 it stays where it is, as ε/(m-1) · Ψ → 2."""
    users = np.array([1e8, 1e14, 1e20])
    options = {"noise_exponent": gamma, "conversion_exponent": alpha}

    def rates(margin):
        epsilon = consistent_epsilon(users, 10, 5, margin=margin, **options)
        return [
            float(regret_rate(n, 10, 5, e, **options)) for n, e in zip(users, np.asarray(epsilon))
        ]

    kept = rates(0.0)
    np.testing.assert_allclose(kept, kept[-1], rtol=0.02)
    falling = rates(1.0)
    assert falling[0] > 1.1 * falling[1] > 1.21 * falling[2]
    paper = 5 * math.sqrt(10 / 1e8 * math.log(1e7) ** 2)
    if alpha == 1:
        found = consistent_epsilon(1e8, 10, 5, noise_exponent=gamma)
        assert float(found) == pytest.approx(paper, rel=1e-4)
