"""Slow twins of the losses and scorers of personal rankings, in plain loops."""

from __future__ import annotations

import math

import numpy as np

LOSSES = {
    "logistic": lambda x: math.log(1 + math.exp(-x)),
    "exponential": lambda x: math.exp(-x),
    "psi": lambda x: min(1.0, max(1 - x, 0.0)),
}


def risk(scores, weights, loss="logistic"):
    """Mean over ordered pairs of w_ij v(s_i - s_j)."""
    items, total = len(scores), 0.0
    for i in range(items):
        for j in range(items):
            if i != j:
                total += weights[i][j] * LOSSES[loss](scores[i] - scores[j])
    return total / (items * (items - 1))


def weights(ranks):
    """1 where i stands before j, else 0; none for items not ranked."""
    items = len(ranks)
    found = np.zeros((items, items))
    for i in range(items):
        for j in range(items):
            known = i != j and ranks[i] >= 0 and ranks[j] >= 0
            found[i, j] = float(known and ranks[i] < ranks[j])
    return found


def accuracy(scores, ranks):
    """Share of the pairs of ranked items that the scores order strictly as the ranks do."""
    right = pairs = 0
    for i in range(len(ranks)):
        for j in range(len(ranks)):
            if ranks[i] >= 0 and ranks[j] >= 0 and ranks[i] < ranks[j]:
                pairs += 1
                right += bool(scores[i] > scores[j])
    return right / pairs


def two_tower_scores(params, user, items):
    """Dot product of both representations, layer by layer, unit by unit."""

    def represent(tower, features):
        values = [float(x) for x in features]
        for depth, layer in enumerate(tower):
            weight, bias = np.asarray(layer["weight"]), np.asarray(layer["bias"])
            values = [
                sum(values[k] * weight[k, unit] for k in range(len(values))) + bias[unit]
                for unit in range(len(bias))
            ]
            if depth < len(tower) - 1:
                values = [max(value, 0.0) for value in values]
        return values

    mine = represent(params["user"], user)
    return [sum(a * b for a, b in zip(mine, represent(params["item"], y))) for y in items]
