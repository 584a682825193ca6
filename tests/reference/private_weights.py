"""Naive twins of the two parts of weights."""

from __future__ import annotations

import itertools

import numpy as np


def parts(w):
    """Gradient and cycle parts of w - 1/2, by least squares on differences of item scores, pair by pair."""
    items = len(w)
    pairs = list(itertools.combinations(range(items), 2))
    design = np.zeros((len(pairs), items))
    for row, (i, j) in enumerate(pairs):
        design[row, i], design[row, j] = 1, -1
    x = np.array([w[i][j] - 0.5 for i, j in pairs])
    fitted = design @ np.linalg.lstsq(design, x, rcond=None)[0] if pairs else x
    found = []
    for part in (fitted, x - fitted):
        matrix = np.zeros((items, items))
        for value, (i, j) in zip(part, pairs):
            matrix[i, j], matrix[j, i] = value, -value
        found.append(matrix)
    return found


def square(part):
    """Σ over pairs of squares."""
    return sum(part[i, j] ** 2 for i, j in itertools.combinations(range(len(part)), 2))


def shrunk(w, cycle_scale):
    """The weights with their cycle part multiplied by James and Stein's factor."""
    items = len(w)
    gradient, cycle = parts(w)
    size, noise = square(cycle), (items - 1) * (items - 2) / 2 * cycle_scale**2
    factor = 1 - noise / size if size > noise else 0.0
    return (0.5 + gradient + factor * cycle) * (1 - np.eye(items)), factor
