"""Naive twin of the planner of a curator's scores: the covariance and the bias, pair by pair."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.stats import norm


def first_order(scores, met, scale, gamma):
    """Mean and covariance of scores fitted with this noise and ridge, to first order."""
    size = len(scores)
    information = np.zeros((size, size))
    for i, j in itertools.combinations(range(size), 2):
        chance = 1 / (1 + math.exp(scores[j] - scores[i]))
        direction = np.eye(size)[i] - np.eye(size)[j]
        information += met[i, j] * chance * (1 - chance) * np.outer(direction, direction)
    inverse = np.linalg.inv(information + gamma * np.eye(size))
    center = np.eye(size) - 1 / size
    noise = inverse @ (information + 2 * scale**2 * np.eye(size)) @ inverse
    return inverse @ information @ scores, center @ noise @ center


def wrong_pairs(scores, mean, covariance):
    found = []
    for i, j in itertools.permutations(range(len(scores)), 2):
        if scores[i] > scores[j]:
            spread = math.sqrt(covariance[i, i] + covariance[j, j] - 2 * covariance[i, j])
            found.append(norm.cdf(-(mean[i] - mean[j]) / spread))
    return np.mean(found)
