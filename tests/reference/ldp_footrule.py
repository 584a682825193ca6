"""Naive twins of footrule reports: all sets of items, all ways to break ties, one user at a time."""

from __future__ import annotations

import itertools
import math

import numpy as np


def orders(row, missing="last"):
    """Strict positions of a user, ``[(chance, positions)]``: ties broken uniformly, unknown items first or last."""
    found = []
    ends = (len(row), -1) if missing == "unknown" else (len(row),)
    for unknown in ends:
        full = [rank if rank >= 0 else unknown * 1000 for rank in row]
        agreeing = [
            order
            for order in itertools.permutations(range(len(row)))
            if all((full[i] < full[j]) <= (order[i] < order[j])
                   for i, j in itertools.permutations(range(len(row)), 2))
        ]  # fmt: skip
        found += [(1 / len(ends) / len(agreeing), order) for order in agreeing]
    return found


def costs(ranks, missing="last"):
    """Mean distance of each item from each place, over users and ways to break their ties."""
    items = len(ranks[0])
    total = np.zeros((items, items))
    for row in ranks:
        for chance, order in orders(row, missing):
            for item, place in itertools.product(range(items), repeat=2):
                total[item, place] += chance * abs(order[item] - place)
    return total / len(ranks)


def set_norm(items, cut, size, threshold, epsilon):
    """Norm of an unbiased report on the indicator of the first ``cut`` items by sets, less its mean."""
    law = set_law(range(items), cut, size, threshold, epsilon)
    mean = np.sum([chance * indicator(items, chosen) for chosen, chance in law.items()], axis=0)
    held = mean[:cut].mean() - mean[cut:].mean()
    return math.sqrt(size * (items - size) / items) / held


def indicator(items, chosen):
    return np.isin(np.arange(items), chosen).astype(float)


def set_law(order, cut, size, threshold, epsilon):
    """Probability of each set of ``size`` items that a user with these positions sends."""
    items = range(len(order))
    odds = {
        chosen: math.exp(epsilon) if sum(order[j] < cut for j in chosen) >= threshold else 1.0
        for chosen in itertools.combinations(items, size)
    }
    total = sum(odds.values())
    return {chosen: odd / total for chosen, odd in odds.items()}


def best_types(items, epsilon):
    """For each cut the norm, size and threshold of the best type, by trying all; of equal ones the smaller sets."""
    found = []
    for cut in range(1, items):
        tried = []
        for size in range(1, items):
            low, high = max(0, size - items + cut), min(size, cut)
            tried += [
                (round(set_norm(items, cut, size, threshold, epsilon), 9), size, threshold)
                for threshold in range(low + 1, high + 1)
            ]
        _, size, threshold = min(tried)
        found.append((set_norm(items, cut, size, threshold, epsilon), size, threshold))
    return found


def report_law(row, epsilon, types, missing="last"):
    """``{(cut, set): probability}`` of a user's report; ``types`` as from :func:`best_types`."""
    items = len(row)
    odds = [math.sqrt(k * (items - k) / items) * types[k - 1][0] for k in range(1, items)]
    law = {}
    for chance, order in orders(row, missing):
        for cut in range(1, items):
            _, size, threshold = types[cut - 1]
            for chosen, one in set_law(order, cut, size, threshold, epsilon).items():
                law[cut, chosen] = law.get((cut, chosen), 0) + chance * one * odds[cut - 1] / sum(
                    odds
                )
    return law


def estimate(items, cut, chosen, types):
    """Costs that one report stands for, entry by entry."""
    odds = [math.sqrt(k * (items - k) / items) * types[k - 1][0] for k in range(1, items)]
    norm, size, _ = types[cut - 1]
    factor = norm / math.sqrt(size * (items - size) / items) * sum(odds) / odds[cut - 1]
    found = np.zeros((items, items))
    for item, place in itertools.product(range(items), repeat=2):
        for other in range(1, items):
            ahead = other / items
            if other == cut:
                ahead += factor * ((item in chosen) - size / items)
            found[item, place] += 1 - ahead if place < other else ahead
    return found


def centered(costs):
    """Less the means of rows and columns: what decides which assignment is best."""
    return costs - costs.mean(0) - costs.mean(1, keepdims=True) + costs.mean()
