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


def one_shot_probability(scores, order, scale):
    """P(list of one or two items) of the largest scores + Laplace noise, by quadrature between the kinks."""
    *first, last = order
    rest = [i for i in range(len(scores)) if i not in order]
    kinks = sorted({float(s) for s in scores})
    ends = [kinks[0] - 40 * scale, *kinks, kinks[-1] + 40 * scale]
    nodes, weights = _nodes()
    points, areas = [], []
    for low, high in itertools.pairwise(ends):
        pieces = max(1, math.ceil((high - low) / scale))
        width = (high - low) / pieces
        points.append(low + width * (np.arange(pieces)[:, None] + (nodes + 1) / 2))
        areas.append(np.broadcast_to(width / 2 * weights, (pieces, 20)))
    points = np.concatenate(points).ravel()

    def above(item, sign=1):  # P(noisy score of the item > point), or < point for sign -1
        z = sign * (points - scores[item]) / scale
        return np.where(z > 0, 0.5 * np.exp(-np.abs(z)), 1 - 0.5 * np.exp(-np.abs(z)))

    value = np.exp(-np.abs(points - scores[last]) / scale) / (2 * scale)
    for i in first:
        value = value * above(i)
    for j in rest:
        value = value * above(j, -1)
    return float(np.concatenate(areas).ravel() @ value)
