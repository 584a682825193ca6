"""Naive twin of the planner of a curator's scores: the covariance and the bias, pair by pair."""

from __future__ import annotations

import itertools
import math

import numpy as np
import scipy.optimize
from scipy.stats import norm


def first_order(scores, met, scale, gamma):
    """The ridge fit to the expected wins, and the covariance of scores fitted with this noise."""
    size = len(scores)
    pairs = list(itertools.combinations(range(size), 2))

    def chance(at, i, j):
        return 1 / (1 + math.exp(at[j] - at[i]))

    def slope(at):
        found = gamma * np.asarray(at)
        for i, j in pairs:
            lead = met[i, j] * (chance(at, i, j) - chance(scores, i, j))
            found[i] += lead
            found[j] -= lead
        return found

    center = scipy.optimize.root(slope, scores, tol=1e-12).x
    information = np.zeros((size, size))
    for i, j in pairs:
        p = chance(center, i, j)
        direction = np.eye(size)[i] - np.eye(size)[j]
        information += met[i, j] * p * (1 - p) * np.outer(direction, direction)
    inverse = np.linalg.inv(information + gamma * np.eye(size))
    apart = np.eye(size) - 1 / size
    noise = inverse @ (information + 2 * scale**2 * np.eye(size)) @ inverse
    return center, apart @ noise @ apart


def wrong_pairs(scores, mean, covariance):
    found = []
    for i, j in itertools.permutations(range(len(scores)), 2):
        if scores[i] > scores[j]:
            spread = math.sqrt(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])
            found.append(norm.cdf(-(mean[i] - mean[j]) / spread))
    return np.mean(found)
