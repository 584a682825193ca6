"""Small data sets made up for recording: the same for a number, in few shapes, so that few programs are compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise import Choices, CovariateTable, covariate_table
from privrank_jax.privacy import Privacy

SIZES = (3, 5)
RANKS = np.array([[0, 1, 2, 3], [1, 0, 3, 2], [0, 2, 1, 3], [3, 2, 0, 1], [0, 1, 1, -1]] * 3)
STRICT = RANKS[[0, 1, 2, 3, 0, 2]]
SURVEY = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0]])
RING = np.array([[0, 1, 0, 2], [1, 0, 1, 0], [0, 1, 0, 1], [2, 0, 1, 0]])


def items_of(number: int) -> int:
    """How many items the data set of that number has."""
    return SIZES[number % len(SIZES)]


def scores(number: int) -> np.ndarray:
    """Scores that sum to zero."""
    found = np.random.default_rng([number, 0]).normal(0, 1, items_of(number))
    return found - found.mean()


def wins(number: int, ties: bool = True) -> WinCounts:
    """Counts of a tournament, a sixth of them ties."""
    generator, theta = np.random.default_rng([number, 1]), scores(number)
    matrix, tied = np.zeros((theta.size, theta.size)), 0
    for i, j in zip(*np.triu_indices(theta.size, 1)):
        odds = np.exp(theta[i] - theta[j])
        shares = np.array([odds, 1, 0.4 * ties]) / (odds + 1 + 0.4 * ties)
        won, lost, even = generator.multinomial(generator.integers(4, 40), shares)
        matrix[i, j], matrix[j, i] = won + even / 2, lost + even / 2
        tied += even
    return WinCounts.from_matrix(matrix, ties=int(tied)) if ties else WinCounts.from_matrix(matrix)


def table(number: int, *, private: bool = False) -> CovariateTable:
    """Answers of eight users, each about all pairs, with a covariate for the first item and one that varies."""
    generator, theta = np.random.default_rng([number, 2]), scores(number)
    first, second = np.tile(np.stack(np.triu_indices(theta.size, 1)), 8)
    turned = generator.random(first.size) < 0.5
    first, second = np.where(turned, second, first), np.where(turned, first, second)
    columns = {"home": np.ones(first.size), "length": generator.uniform(-2, 2, first.size)}
    odds = theta[first] - theta[second] + 0.3 + 0.2 * columns["length"]
    outcomes = np.clip(np.rint(odds + generator.logistic(size=first.size)) / 2 + 0.5, 0, 1)
    bounds = {"home": (0.0, 1.0), "length": (-2.0, 2.0)}
    users = None if private else np.repeat(np.arange(8), first.size // 8)
    return covariate_table(
        first,
        second,
        np.rint(outcomes * 2) / 2,
        columns,
        num_items=theta.size,
        users=users,
        bounds=bounds,
        private=private,
    )


def choices(number: int, *, stages: bool = False) -> Choices:
    """Choices from pairs to whole sets, or orders of them."""
    generator, theta = np.random.default_rng([number, 3]), scores(number)
    orders = []
    for row in range(40):
        few = 2 + row % (theta.size - 1)
        offered = generator.permutation(theta.size)[:few]
        orders.append(offered[np.argsort(-theta[offered] - generator.gumbel(size=few))].tolist())
    if stages:
        return Choices.from_rankings(orders, num_items=theta.size)
    return Choices.from_top1([(order[0], order[1:]) for order in orders], num_items=theta.size)


def reports(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Flipped answers of fourteen users, which of them there are, and the ε of each user."""
    generator, theta = np.random.default_rng([number, 4]), scores(number)
    first, second = np.triu_indices(theta.size, 1)
    epsilon = generator.uniform(0.4, 4, 14)
    answers = generator.logistic(size=(14, first.size)) < theta[first] - theta[second]
    flipped = generator.random(answers.shape) < 1 / (1 + np.exp(epsilon))[:, None]
    return answers ^ flipped, generator.random(answers.shape) < 0.8, epsilon


def comparison(epsilon: float = 1.0, adjacency: str = "replace", delta: float = 0.0) -> Privacy:
    """A promise about one comparison."""
    return Privacy(epsilon, unit="comparison", adjacency=adjacency, delta=delta)


def asked(epsilon: float = 1.0, most: int = 3, adjacency: str = "replace", **told: Any) -> Privacy:
    """A promise about a user of at most so many comparisons."""
    return Privacy(epsilon, unit="user", adjacency=adjacency, contributions=most, **told)


def shared(epsilon: float = 1.0, unit: str = "user", delta: float = 0.0) -> Privacy:
    """A promise about outcomes, where covariates are public."""
    public = ("covariates",)
    return Privacy(epsilon, unit=unit, adjacency="flip", public=public, delta=delta)


def ranked(epsilon: float = 1.0, delta: float = 0.0) -> Privacy:
    """A promise about a user's ranking."""
    return Privacy(epsilon, unit="user", adjacency="replace", delta=delta)
