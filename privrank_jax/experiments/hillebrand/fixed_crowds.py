"""The crowds of the study ``hillebrand``: 300 fixed rankings each, with the least Kemeny score proved.

Where Borda's order is wrong:

* *one grudge*: all agree on one order, but 30 % put its first item last. The pair of that item and any other goes 70 to
  30, so the common order is the optimum; mean places move the item down to where 30 % of all others are ahead of it.
* *turned minority*: 30 % hold the common order turned by half of its length; mean places move its second half up.
* *turned, with noise*: the same, each voter with a Mallows ranking around the order of his group.
* *three camps*: equal thirds hold rotations of one order by thirds of the items. Majorities have cycles, of which any
  ranking breaks one side; mean places shuffle the thirds into each other.

Where more than half hold one ranking, it has the least footrule, as each item is at the median of its places, and the
least Kemeny score. Where Borda's order is right: crowds of Mallows, of Plackett and Luce, and sushi.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from privrank_jax import aggregation
from privrank_jax.experiments.alabi.crowds import data_ranks

VOTERS = 300
LEAST_ITEMS = 3  # with two, the voters of some crowds all agree, and costs have no ratio
GRUDGE, TURNED, NOISY, CAMPS = "one grudge", "turned minority", "turned, with noise", "three camps"
MALLOWS, LUCE, SUSHI = "Mallows", "Plackett-Luce", "sushi"
MINORITIES = (GRUDGE, TURNED, NOISY)
WRONG = (*MINORITIES, CAMPS)
RIGHT = (MALLOWS, LUCE, SUSHI)
NAMES = (*WRONG, *RIGHT)
_SHARE = 0.3  # of voters in the minority
_AROUND, _WEAK = 15.0, 5.0  # θm of the noise around two groups, and of the Mallows crowd
_SPREAD = 3.0  # between the best and the worst item of the Plackett-Luce crowd


class Crowd(NamedTuple):
    """A crowd, or several: weights and histograms ``(m, m)``, and the Kemeny scores of three orders ``(3,)``.

    They are the least, that of Borda's order without noise, and that of the least footrule.
    """

    weights: np.ndarray
    histograms: np.ndarray
    costs: np.ndarray


def exists(name: str, num_items: int) -> bool:
    """Whether there is such a crowd: sushi has 10 items, and is left out where the data are missing."""
    data = data_ranks(SUSHI) if name == SUSHI else None
    return name in NAMES[:-1] or (data is not None and data.shape[1] == num_items)


def rankings(name: str, num_items: int) -> Int[np.ndarray, "voters items"]:
    """Ranks of all voters of a crowd that :func:`exists`."""
    rng = np.random.default_rng(num_items)
    order = np.arange(num_items)
    same = np.tile(order, (VOTERS, 1))
    minority = np.arange(VOTERS) < _SHARE * VOTERS
    turned = np.where(minority[:, None], (order + num_items // 2) % num_items, same)
    if name == GRUDGE:
        return np.where(minority[:, None], np.append(num_items - 1, order[:-1]), same)
    if name == TURNED:
        return turned
    if name == NOISY:
        return np.take_along_axis(_mallows(rng, num_items, _AROUND / num_items), turned, 1)
    if name == CAMPS:
        return (order + np.arange(VOTERS)[:, None] % 3 * (num_items // 3)) % num_items
    if name == MALLOWS:
        return _mallows(rng, num_items, _WEAK / num_items)
    if name == LUCE:
        worth = np.linspace(_SPREAD, 0, num_items) + rng.gumbel(size=(VOTERS, num_items))
        return np.argsort(np.argsort(-worth, axis=1), axis=1)
    data = data_ranks(SUSHI)
    assert data is not None
    return data[rng.permutation(len(data))[:VOTERS]]


def _mallows(
    rng: np.random.Generator, items: int, spread: float
) -> Int[np.ndarray, "voters items"]:
    """Mallows rankings around the identity, by repeated insertion."""
    ranks = np.zeros((VOTERS, items), int)
    for last in range(1, items):
        chance = np.exp(-spread * np.arange(last + 1))
        place = last - rng.choice(last + 1, VOTERS, p=chance / chance.sum())
        ranks[:, :last] += ranks[:, :last] >= place[:, None]
        ranks[:, last] = place
    return ranks


@functools.cache
def crowd(name: str, num_items: int) -> Crowd:
    """A crowd by its name, one of :data:`NAMES`; ``ArithmeticError`` if its least Kemeny score is not proved."""
    order = np.random.default_rng(0).permutation(num_items)  # so that no method gains by ties
    ranks = rankings(name, num_items)[:, order]
    weights = aggregation.PairWeights.from_ranks(ranks)
    histograms = aggregation.PositionHistograms.from_ranks(ranks)
    best = aggregation.kemeny(weights)
    if best.ratio > 1 + 1e-9:
        raise ArithmeticError(
            f"{name} of {num_items} items: only a ratio of {best.ratio} is proved."
        )
    matrix = np.asarray(weights.matrix, float)
    borda = np.argsort(np.argsort(-np.asarray(aggregation.borda_scores(weights)), kind="stable"))
    least = aggregation.footrule_optimal(histograms).ranks
    costs = np.array([best.cost, score(borda, matrix), score(least, matrix)])
    return Crowd(np.asarray(weights.matrix), np.asarray(histograms.counts), costs)


def stack(places: Sequence[tuple[str, int]]) -> Crowd:
    """Collect crowds by name and number of items; items beyond those of a crowd pad its matrices."""
    held = [crowd(*place) for place in places]
    most = max(items for _, items in places)
    weights, histograms = (
        np.array([np.pad(one[part], (0, most - len(one[part]))) for one in held]) for part in (0, 1)
    )
    return Crowd(weights, histograms, np.array([one.costs for one in held]))


def score(ranks: Int[np.ndarray, "items"], weights: Float[np.ndarray, "items items"]) -> float:
    """Kemeny score: over all pairs, the share of voters ``weights[i, j]`` who have the pair the other way round."""
    return float(weights[ranks[:, None] > ranks[None]].sum())
