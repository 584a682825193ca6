"""Naive NumPy twins: slow, obviously right, one per vectorised function that is held against them.

Plain loops over plain numbers, no JAX. Each section names the module that it mirrors.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.special

# --- rankings, metrics ---------------------------------------------------------------------------


def ranks_from_scores(scores, mask=None):
    """Ranks, 0 = highest score; ties by index, masked items last."""
    items = list(range(len(scores)))
    keep = [True] * len(items) if mask is None else list(mask)
    kept = sorted((i for i in items if keep[i]), key=lambda i: (-float(scores[i]), i))
    order = kept + [i for i in items if not keep[i]]
    ranks = np.zeros(len(items), int)
    for position, item in enumerate(order):
        ranks[item] = position
    return ranks


def kendall_tau(a, b, mask=None):
    """Number of pairs of kept items that the two rankings order differently."""
    kept = [i for i in range(len(a)) if mask is None or mask[i]]
    count = 0
    for i in kept:
        for j in kept:
            if i < j and (a[i] - a[j]) * (b[i] - b[j]) < 0:
                count += 1
    return count


def spearman_footrule(a, b, mask=None):
    """Sum of the absolute differences in rank of kept items."""
    return sum(abs(int(a[i]) - int(b[i])) for i in range(len(a)) if mask is None or mask[i])


def top_k_error(a, b, k, mask=None):
    """1 − |overlap| / k of the sets of kept items ranked 0..k-1."""
    kept = [i for i in range(len(a)) if mask is None or mask[i]]
    top_a = {i for i in kept if a[i] < k}
    top_b = {i for i in kept if b[i] < k}
    return 1 - len(top_a & top_b) / min(k, len(kept))


# --- links ---------------------------------------------------------------------------------------


def link(name, x):
    """``(cdf, log_cdf, score, curvature)`` of one link at one float, in double precision."""
    x = float(x)
    if name == "logistic":
        small = math.exp(-abs(x)) / (1 + math.exp(-abs(x)))
        cdf, other = (1 - small, small) if x > 0 else (small, 1 - small)
        log_cdf = math.log1p(-other) if x > 0 else x - math.log1p(math.exp(x))
        return cdf, log_cdf, other, cdf * other
    if name == "laplace":
        half = math.exp(-abs(x)) / 2
        if x < 0:
            return half, x - math.log(2), 1.0, 0.0
        score = half / (1 - half)
        return 1 - half, math.log1p(-half), score, score + score**2
    score = math.sqrt(2 / math.pi) / scipy.special.erfcx(-x / math.sqrt(2))
    excess = score + x
    if x < -3:  # the same number by Gauss's continued fraction, without the cancellation
        tail = 0.0
        for j in range(2000, 1, -1):
            tail = j / (-x + tail)
        excess = 1 / (-x + tail)
    if x > 40:  # erfcx overflows; the density has underflowed
        return 1.0, 0.0, 0.0, 0.0
    return scipy.special.ndtr(x), scipy.special.log_ndtr(x), score, score * excess


# --- simulate ------------------------------------------------------------------------------------


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
