"""Naive twins of the Mallows mechanism: probabilities by enumeration, repeated insertion by a loop over a list."""

from __future__ import annotations

import itertools
from decimal import Decimal, localcontext

import numpy as np


def discordant(a, b):
    """Kendall's distance of two rankings, pair by pair; items of negative rank don't count."""
    items = [i for i in range(len(a)) if a[i] >= 0]
    return sum((a[i] - a[j]) * (b[i] - b[j]) < 0 for i, j in itertools.combinations(items, 2))


def all_rankings(center):
    """Every ranking of the items that ``center`` ranks, -1 for the others, ``(m_u!, m)``."""
    center = np.asarray(center)
    ranked = np.flatnonzero(center >= 0)
    rankings = np.full((len(list(itertools.permutations(ranked))), len(center)), -1)
    rankings[:, ranked] = list(itertools.permutations(range(len(ranked))))
    return rankings


def pmf(center, epsilon):
    """All rankings of the items in ``center``, and the probability e^(-θ d)/Σ e^(-θ d) of each."""
    rankings = all_rankings(center)
    count = int(np.sum(np.asarray(center) >= 0))
    distance = np.array([discordant(center, ranks) for ranks in rankings])
    mass = np.exp(-epsilon / max(count - 1, 1) * distance)
    return rankings, mass / mass.sum()


def neighbors(center):
    """Rankings other than ``center`` that agree with it once one item is taken out, by the definition."""

    def without(ranks, item):
        return [other for other in np.argsort(ranks) if other != item]

    return [
        ranks
        for ranks in all_rankings(center)
        if any(without(ranks, item) == without(center, item) for item in range(len(center)))
        and not np.array_equal(ranks, center)
    ]


def insert(codes):
    """Ranks of items put one after another into a list, item t at place ``codes[t]``."""
    order = []
    for item, place in enumerate(codes):
        order.insert(place, item)
    return np.argsort(order)


def displacement(size, theta):
    """P(back) ∝ e^(-θ back) on 0..size-1."""
    mass = np.exp(-theta * np.arange(size))
    return mass / mass.sum()


def kept_pairs(step, num_items, epsilon):
    """Mean and variance of V on 0..step-1, P(k) ∝ e^(εk/(m-1)), in 60 digits."""
    with localcontext(prec=60):
        theta = Decimal(epsilon) / (num_items - 1)
        mass = [(theta * (k - step + 1)).exp() for k in range(step)]
        total = sum(mass)
        mean = sum(k * p for k, p in enumerate(mass)) / total
        second = sum(k * k * p for k, p in enumerate(mass)) / total
        return float(mean), float(second - mean**2)


def pair_kept(gap, num_items, epsilon):
    """P(i before j | i is ``gap`` ranks ahead) = h(gap+1) - h(gap), h(k) = k/(1-q^k), in 60 digits."""
    with localcontext(prec=60):
        q = (-Decimal(epsilon) / (num_items - 1)).exp()
        return float((gap + 1) / (1 - q ** (gap + 1)) - gap / (1 - q**gap))
