"""Naive twin of the cautious design and of the errors that follow from it: loops and plain linear algebra."""

from __future__ import annotations

import math

import numpy as np


def cautious_design(scores, appearances, pairs, of_items, of_pairs, bins=8, reach=1.2816):
    """A lower end of how often each pair was compared."""
    items = len(scores)
    noise = 2 * of_pairs**2
    weights = 1 / (2 * of_items**2), 1 / (max(items - 1, 1) * noise)
    counted = [
        (weights[0] * appearances[i] + weights[1] * sum(pairs[i])) / sum(weights)
        for i in range(items)
    ]
    mean = sum(counted) / items
    counted = [max(one, 0.02 * max(mean, 1.0)) for one in counted]
    listed = [(i, j) for i in range(items) for j in range(i + 1, items)]
    chance = {(i, j): counted[i] * counted[j] / sum(counted) for i, j in listed}
    passed, group = 0.0, {}
    for pair in sorted(listed, key=lambda pair: abs(scores[pair[0]] - scores[pair[1]])):
        passed += chance[pair]
        group[pair] = min(int(bins * passed / sum(chance.values())), bins - 1)
    design = np.zeros((items, items))
    for which in range(bins):
        members = [pair for pair in listed if group[pair] == which]
        if not members:
            continue
        squares = sum(chance[pair] ** 2 for pair in members)
        share = max(sum(pairs[pair] * chance[pair] for pair in members) / squares, 0)
        usual = {pair: share * chance[pair] for pair in members}
        scatter = sum((pairs[p] - usual[p]) ** 2 - noise - usual[p] for p in members)
        scatter = max(scatter / max(sum(usual[p] ** 2 for p in members), 1e-30), 0)
        for pair in members:
            apart = scatter * usual[pair] ** 2
            trust = apart / (apart + noise + usual[pair])
            doubt = trust * noise + ((1 - trust) * chance[pair]) ** 2 * noise / squares
            found = usual[pair] + trust * (pairs[pair] - usual[pair]) - reach * math.sqrt(doubt)
            design[pair] = design[pair[::-1]] = max(found, 0)
    return design


def errors(scores, design, noise_scale, gamma):
    """Center and covariance under Laplace noise, by an inverse with the mean kept in place."""
    items = len(scores)
    scores = np.asarray(scores) - np.mean(scores)
    fisher = np.zeros((items, items))
    for i in range(items):
        for j in range(items):
            if i != j:
                p = 1 / (1 + math.exp(scores[j] - scores[i]))
                fisher[i, i] += design[i, j] * p * (1 - p)
                fisher[i, j] -= design[i, j] * p * (1 - p)
    project = np.eye(items) - 1 / items
    inverse = project @ np.linalg.inv(fisher + gamma * np.eye(items)) @ project
    middle = scores + gamma * inverse @ scores
    left = gamma**2 * inverse @ inverse @ middle
    influence = (np.eye(items) + gamma * inverse) @ inverse
    spread = fisher + 2 * noise_scale**2 * np.eye(items)
    return middle, influence @ spread @ influence.T + np.outer(left, left)
