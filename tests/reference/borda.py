"""Naive twins of private aggregation on whole weight matrices: loops over users, pairs and permutations."""

from __future__ import annotations

import itertools

import numpy as np


def pair_shares(ranks, missing="last"):
    """(m, m): what one user gives to "i before j", by the weight rule."""
    items = len(ranks)
    shares = np.zeros((items, items))
    for i, j in itertools.permutations(range(items), 2):
        known = ranks[i] >= 0, ranks[j] >= 0
        if not all(known) and missing == "unknown":
            shares[i, j] = 0.5
        elif all(known):
            shares[i, j] = float(ranks[i] < ranks[j]) + 0.5 * (ranks[i] == ranks[j])
        else:
            shares[i, j] = 0.5 if not any(known) else float(known[0])
    return shares


def weights(users, missing="last"):
    return np.mean([pair_shares(ranks, missing) for ranks in users], axis=0)


def incomplete_rankings(items):
    """Every ranking with ties and gaps, up to what the weight rule can't tell apart."""
    seen = {}
    for ranks in itertools.product(range(-1, items), repeat=items):
        for missing in ("last", "unknown"):
            seen.setdefault(pair_shares(ranks, missing).tobytes(), (ranks, missing))
    return list(seen.values())


def orders(items):
    return np.array(list(itertools.permutations(range(items))))


def kemeny_scores(w, all_orders):
    """K of every order (best item first) on one weight matrix."""
    costs = np.zeros(len(all_orders))
    for a, b in itertools.combinations(range(w.shape[0]), 2):
        costs += w[all_orders[:, b], all_orders[:, a]]
    return costs
