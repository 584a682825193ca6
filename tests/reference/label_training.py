"""Naive twin of training on labels of users: user by user, of linear scores and of a product of two parameters."""

from __future__ import annotations

import math

import numpy as np


def linear(params, pair):
    """A linear score and its gradient."""
    return float(np.dot(params, pair)), np.array(pair)


def product(params, pair):
    """A score that is not linear, abx + ay, and its gradient."""
    (a, b), (x, y) = params, pair
    return a * b * x + a * y, np.array([b * x + y, a * x])


def bound_of(slopes, users, clip):
    """The bound of a user's sum: κ times its root mean square under fair coins, at most the largest possible sum."""
    squares, largest = [], []
    for user in set(users):
        lengths = [math.hypot(*slope) for slope, of in zip(slopes, users) if of == user]
        squares.append(sum(length**2 for length in lengths) / 4)
        largest.append(sum(lengths) / 2)
    return min(clip * math.sqrt(sum(squares) / len(squares)), max(largest))


def clipped_sum(slopes, labels, users, bound):
    """Sum over users of each one's clipped sum of (label - ½) times the slope."""
    total = np.zeros(len(slopes[0]))
    for user in set(users):
        own = np.zeros(len(slopes[0]))
        for slope, label, of in zip(slopes, labels, users):
            if of == user:
                own += (label - 0.5) * slope
        length = math.hypot(*own)
        total += own * (bound / length) if length > bound else own
    return total


def trained(score, start, pairs, labels, users, clip, releases, steps, rate):
    """Gradient descent without noise."""
    params = np.array(start, float)
    for _ in range(releases):
        slopes = [score(params, pair)[1] for pair in pairs]
        told = clipped_sum(slopes, labels, users, bound_of(slopes, users, clip))
        for _ in range(steps):
            gradient = -told
            for pair in pairs:
                value, slope = score(params, pair)
                gradient = gradient + (1 / (1 + math.exp(-value)) - 0.5) * slope
            params = params - rate * gradient / len(pairs)
    return params
