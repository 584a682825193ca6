"""Naive twin of the numbers of a noisy design and of the errors that follow from it: loops and plain linear algebra."""

from __future__ import annotations

import math

import numpy as np


def slope(gap):
    """p(1 - p) of the logistic link."""
    chance = 1 / (1 + math.exp(-abs(gap)))
    return chance * (1 - chance)


def added(scores, i, j, parts=1024):
    """What a comparison of two items adds: to each of them, and along the scores; multiples of 1/1024."""
    gap = scores[i] - scores[j]
    return math.floor(parts * slope(gap)) / parts, math.floor(parts * slope(gap) * gap**2) / parts


def numbers(scores, met):
    """Information about each item, and along the scores."""
    items = len(scores)
    found = np.zeros(items + 1)
    for i in range(items):
        for j in range(i):
            of_items, along = added(scores, i, j)
            found[i] += met[i][j] * of_items
            found[j] += met[i][j] * of_items
            found[-1] += met[i][j] * along
    return found


def at_random(information, scores):
    """Weights x_i x_j h with those sums over opponents, by Sinkhorn's steps, item by item."""
    items = len(scores)
    x = [math.sqrt(one / math.sqrt(sum(information))) for one in information]
    for _ in range(60):
        x = [
            math.sqrt(
                x[i]
                * information[i]
                / sum(x[j] * slope(scores[i] - scores[j]) for j in range(items) if j != i)
            )
            for i in range(items)
        ]
    fisher = np.zeros((items, items))
    for i in range(items):
        for j in range(items):
            if i != j:
                weight = x[i] * x[j] * slope(scores[i] - scores[j])
                fisher[i, i] += weight
                fisher[i, j] -= weight
    return fisher


def errors(scores, designs, noise_scale, gamma):
    """Covariance, pull and spread under Laplace noise, averaged over designs (information, along)."""
    items = len(scores)
    scores = np.asarray(scores) - np.mean(scores)
    project, square = np.eye(items) - 1 / items, scores @ scores
    covariances, pulls, spreads = [], [], []
    for information, along in designs:
        fisher = at_random(information, scores)

        def inverse(matrix):
            return project @ np.linalg.inv(matrix + gamma * np.eye(items)) @ project

        own = inverse(fisher)
        noisy = own @ (fisher + 2 * noise_scale**2 * project) @ own
        whole, taken = scores @ fisher @ scores, np.trace(fisher @ noisy)
        share = (along - taken) / max(whole - taken, 0.1 * whole)
        share = max(min(share, along / whole, 1.0), 0.02)
        kept = min(max(1 - np.trace(noisy) / square, 0), 1)
        spread = kept * square / items * (1 + gamma * square / along) ** 2
        spread = min(max(spread, 1 + 1.28 * math.sqrt(2 / items)), 25)
        first, second, third = (
            gamma * inverse(share**r * fisher) for r in (1.2, 0.5 + 18 / items, 1)
        )
        pulls.append(math.sqrt(spread * items / square) * first @ scores)
        bias = 0.5 * second @ second + 2 * (1 - kept) * third @ third
        covariances.append(noisy + spread * bias)
        spreads.append(spread)
    return np.mean(covariances, 0), np.mean(pulls, 0), math.sqrt(np.mean(spreads))
