"""Naive twins of simulated comparisons and of their averages."""

from __future__ import annotations

import math

import numpy as np


def tournament_from_uniforms(uniforms, scores, probability, cdf):
    """Win matrix from one uniform per pair, in the order (0,1), (0,2), (1,2), (0,3), ..."""
    size = len(scores)
    wins = np.zeros((size, size))
    position = 0
    for j in range(size):
        for i in range(j):
            chance = probability * cdf(scores[i] - scores[j])
            if uniforms[position] < chance:
                wins[i, j] = 1
            elif uniforms[position] < probability:
                wins[j, i] = 1
            position += 1
    return wins


def count_comparisons(winners, losers, mask, num_items):
    """Win matrix of the rows whose mask is True."""
    wins = np.zeros((num_items, num_items))
    for winner, loser, kept in zip(winners, losers, mask, strict=True):
        if kept:
            wins[winner, loser] += 1
    return wins


def mean_and_error(values):
    """Mean, standard error and number of values that are not finite; over the finite ones."""
    finite = [float(value) for value in values if math.isfinite(value)]
    mean = math.fsum(finite) / len(finite)
    variance = math.fsum((value - mean) ** 2 for value in finite) / (len(finite) - 1)
    return mean, math.sqrt(variance / len(finite)), len(values) - len(finite)
