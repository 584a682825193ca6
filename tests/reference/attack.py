"""Slow twins of the inference attack, in plain loops."""

from __future__ import annotations

import itertools
import math


def mallows_law(center, epsilon):
    """Rankings to Mallows probabilities around a center, by enumeration."""
    items = len(center)
    theta = epsilon / (items - 1)
    odds = {
        ranks: math.exp(-theta * discordant(ranks, center))
        for ranks in itertools.permutations(range(items))
    }
    total = sum(odds.values())
    return {ranks: weight / total for ranks, weight in odds.items()}


def discordant(a, b):
    """Pairs that two rankings order differently."""
    pairs = itertools.combinations(range(len(a)), 2)
    return sum((a[i] - a[j]) * (b[i] - b[j]) < 0 for i, j in pairs)


def most_likely(drawn):
    """All centers that agree with most pairs of the rankings drawn."""
    costs = {
        center: sum(discordant(ranks, center) for ranks in drawn)
        for center in itertools.permutations(range(len(drawn[0])))
    }
    return {center for center, cost in costs.items() if cost == min(costs.values())}


def attack_error(center, epsilon, rankings):
    """P(the most likely center is wrong), ties drawn, over all sequences of so many rankings."""
    law = mallows_law(center, epsilon)
    wrong = 0.0
    for drawn in itertools.product(law, repeat=rankings):
        best = most_likely(drawn)
        chance = math.prod(law[ranks] for ranks in drawn)
        wrong += chance * (1 - (center in best) / len(best))
    return wrong


def pair_error(epsilon, items, rankings):
    """P(most of the rankings turn a pair of neighbors), a tie half."""
    q = math.exp(-epsilon / (items - 1))
    p, total = q / (1 + q), 0.0
    for turned in range(rankings + 1):
        chance = math.comb(rankings, turned) * p**turned * (1 - p) ** (rankings - turned)
        total += chance * (1.0 if 2 * turned > rankings else 0.5 if 2 * turned == rankings else 0.0)
    return total
