"""Naive twins of private top-k selection: probabilities of lists."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np


def peeling_probability(scores, order, scale):
    """P(list) if round after round item i is picked with odds exp(score_i / scale) among those left."""
    left, probability = list(range(len(scores))), 1.0
    for item in order:
        top = max(scores[i] for i in left)
        odds = {i: math.exp((scores[i] - top) / scale) for i in left}
        probability *= odds[item] / sum(odds.values())
        left.remove(item)
    return probability


def permute_and_flip_probability(scores, order, scale):
    """P(list) if every round looks at the items left in random order and flips a coin for each."""
    left, probability = list(range(len(scores))), 1.0
    for item in order:
        probability *= _flipped(tuple(map(float, scores)), tuple(left), item, scale)
        left.remove(item)
    return probability


@functools.lru_cache(maxsize=10_000)
def _flipped(scores, left, item, scale):
    """P(item) in the round with these items left."""
    top = max(scores[i] for i in left)
    picked, orders = 0.0, list(itertools.permutations(left))
    for permutation in orders:
        reached = 1.0
        for i in permutation:
            accept = math.exp((scores[i] - top) / scale)
            if i == item:
                picked += reached * accept
            reached *= 1 - accept
    return picked / len(orders)


@functools.cache
def _nodes():
    return np.polynomial.legendre.leggauss(20)


@functools.lru_cache(maxsize=1)
def _lattice(scores, scale):
    """Areas of points between the kinks, and there of each item the density, P(above) and P(below)."""
    kinks = sorted(set(scores))
    nodes, weights = _nodes()
    points, areas = [], []
    for low, high in itertools.pairwise([kinks[0] - 40 * scale, *kinks, kinks[-1] + 40 * scale]):
        pieces = max(1, math.ceil((high - low) / scale))
        width = (high - low) / pieces
        points.append(low + width * (np.arange(pieces)[:, None] + (nodes + 1) / 2))
        areas.append(np.broadcast_to(width / 2 * weights, (pieces, 20)))
    z = (np.concatenate(points).ravel() - np.array(scores)[:, None]) / scale
    tail = 0.5 * np.exp(-np.abs(z))
    above = np.where(z > 0, tail, 1 - tail)
    return np.concatenate(areas).ravel(), tail / scale, above, np.where(z < 0, tail, 1 - tail)


def one_shot_probability(scores, order, scale):
    """P(list of one or two items) of the largest scores + Laplace noise, by quadrature between the kinks."""
    areas, density, above, below = _lattice(tuple(map(float, scores)), scale)
    *first, last = order
    rest = [i for i in range(len(scores)) if i not in order]
    return float(areas @ (density[last] * above[first].prod(0) * below[rest].prod(0)))
