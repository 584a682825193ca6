"""Peers in NumPy, written as a careful user would write them."""

from __future__ import annotations

import numpy as np


def btl_world(seed: int, replicates: int, items: int, per_pair: int) -> np.ndarray:
    """Win counts ``(replicates, items, items)`` of standard normal scores under the logistic link."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(replicates, items))
    chance = 1 / (1 + np.exp(scores[:, None, :] - scores[:, :, None]))
    upper = np.triu(rng.binomial(per_pair, chance), 1)
    lower = np.triu(per_pair - upper, 1).swapaxes(1, 2)
    return (upper + lower).astype(float)


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
