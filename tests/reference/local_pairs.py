"""Local reports of one ranking's pairs, by enumeration: orders of few items, and the least error of any randomizer."""

from __future__ import annotations

import itertools
import math

import numpy as np

from tests.reference.local import pairs_of


def sub_ranking_square(items, size, epsilon):
    """E‖z‖² of the order of ``size`` items, debiased."""
    return math.comb(items, 2) ** 2 / (math.comb(size, 2) * told_share(size, epsilon) ** 2)


def variance_bound(items, users, size, epsilon):
    """v of a weight from orders of ``size`` items."""
    dealt = users // math.comb(items, 2)
    answers = users if size == items else dealt if size == 2 else math.comb(size, 2) * dealt - 1
    return 1 / (4 * told_share(size, epsilon) ** 2 * answers)


def strict_orders_of(ranks, missing):
    """All strict orders, best first, that a user's ranks may be broken into, with probabilities."""
    items, found = range(len(ranks)), {}
    gaps = [-1, len(ranks)] if missing == "unknown" and min(ranks) < 0 else [len(ranks)]
    for place in gaps:
        filled = [place if rank < 0 else rank for rank in ranks]
        fits = [
            order
            for order in itertools.permutations(items)
            if all(filled[one] <= filled[other] for one, other in itertools.pairwise(order))
        ]
        for order in fits:
            found[order] = found.get(order, 0) + 1 / (len(fits) * len(gaps))
    return found


def told_law(ranks, group, epsilon, missing="last"):
    """Probability of each order, best first, that a user tells of a group of items."""
    law = {}
    odds = math.exp(epsilon) + math.factorial(len(group)) - 1
    for order, chance in strict_orders_of(ranks, missing).items():
        true = tuple(item for item in order if item in group)
        for told in itertools.permutations(group):
            agrees = math.exp(epsilon) if told == true else 1
            law[told] = law.get(told, 0) + chance * agrees / odds
    return law


def sub_ranking_law(ranks, size, epsilon, missing="last"):
    """The same of a group of ``size`` items, any as likely."""
    groups = list(itertools.combinations(range(len(ranks)), size))
    return {
        told: chance / len(groups)
        for group in groups
        for told, chance in told_law(ranks, group, epsilon, missing).items()
    }


def told_share(size, epsilon):
    """The chance to tell the own order, rather than a uniform one."""
    return math.expm1(epsilon) / (math.exp(epsilon) + math.factorial(size) - 1)


def sub_ranking_vector(told, items, epsilon):
    """The report of a told order: C, -C or 0 for each pair."""
    scale = math.sqrt(sub_ranking_square(items, len(told), epsilon) / math.comb(len(told), 2))
    lead = [
        0 if i not in told or j not in told else 1 if told.index(i) < told.index(j) else -1
        for i, j in pairs_of(items)
    ]
    return scale * np.array(lead)


# --- what any randomizer needs
