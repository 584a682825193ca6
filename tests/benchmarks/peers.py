"""Peers in NumPy and SciPy, written as a careful user would write them."""

from __future__ import annotations

import numpy as np
import scipy.optimize
import scipy.sparse


def batched_newton(wins: np.ndarray, tolerance: float = 1e-10, limit: int = 50) -> np.ndarray:
    """BTL scores of a batch of win counts by Newton's method, vectorized over the replicates.

    ``tolerance`` is the gradient relative to the comparisons of an item, as in ``pairwise.mle``.
    """
    comparisons, totals = wins + wins.swapaxes(-1, -2), wins.sum(-1)
    scores = np.zeros_like(totals)
    diagonal = np.arange(wins.shape[-1])
    degree = comparisons.sum(-1).mean()
    for _ in range(limit):
        chance = 1 / (1 + np.exp(scores[..., None, :] - scores[..., :, None]))
        gradient = (comparisons * chance).sum(-1) - totals
        if np.abs(gradient).max() <= tolerance * degree:
            break
        weight = comparisons * chance * (1 - chance)
        hessian = 1.0 - weight
        hessian[..., diagonal, diagonal] += weight.sum(-1)
        scores -= np.linalg.solve(hessian, gradient[..., None])[..., 0]
    return scores - scores.mean(-1, keepdims=True)


def insertions(rng: np.random.Generator, centers: np.ndarray, epsilon: np.ndarray) -> np.ndarray:
    """Mallows rankings by repeated insertion, item-major: single-precision uniforms, one vector operation a step,
    places in bytes."""
    users, items = centers.shape
    theta = (epsilon / (items - 1)).astype(np.float32)
    uniform = rng.random((items, users), np.float32)
    places = np.empty((items, users), np.int8)
    for item in range(items):
        back = -np.log1p(uniform[item] * np.expm1(-theta * np.float32(item + 1))) / theta
        place = (item - np.minimum(back, item).astype(np.int8)).astype(np.int8)
        places[:item] += places[:item] >= place
        places[item] = place
    return np.take_along_axis(places.T, centers, axis=1).astype(np.int32)


def kendall(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Kendall distances of two batches of rankings: one vector comparison for each pair of items and ranking, in bytes,
    item-major, counted in bytes for each first item."""
    a, b = (np.ascontiguousarray(ranks.T.astype(np.int8)) for ranks in (a, b))
    total = np.zeros(a.shape[1], np.int32)
    for i in range(len(a) - 1):
        count = np.zeros(a.shape[1], np.uint8)
        for j in range(i + 1, len(a)):
            count += ((a[i] < a[j]) != (b[i] < b[j])).view(np.uint8)
        total += count
    return total


def integer_program(w: np.ndarray) -> float:
    """Least Kemeny score by all pairs and all triangles at once, as one writes it for SciPy."""
    items = len(w)
    first, second = np.triu_indices(items, 1)
    column = np.zeros((items, items), int)
    column[first, second] = np.arange(len(first))
    i, j, k = np.array([t for t in np.ndindex(items, items, items) if t[0] < t[1] < t[2]]).T
    rows = np.repeat(np.arange(len(i)), 3)
    columns = np.stack([column[i, j], column[j, k], column[i, k]], 1).ravel()
    matrix = scipy.sparse.csr_matrix((np.tile([1.0, 1.0, -1.0], len(i)), (rows, columns)))
    result = scipy.optimize.milp(
        (w.T - w)[first, second],
        constraints=scipy.optimize.LinearConstraint(matrix, 0, 1),
        bounds=(0, 1),
        integrality=np.ones(len(first)),
    )
    return float(result.fun + w[first, second].sum())
