"""Peers in NumPy, written as a careful user would write them."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtr


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


def batched_link_newton(
    name: str, wins: np.ndarray, tolerance: float = 1e-10, limit: int = 100
) -> np.ndarray:
    """Scores under the normal or the Laplace link by Newton's method, vectorized over the replicates.

    ``tolerance`` as in :func:`batched_newton`; steps that change a score by more than 1 are shortened to that.
    """
    scores = np.zeros_like(wins[..., 0])
    diagonal = np.arange(wins.shape[-1])
    degree = (wins + wins.swapaxes(-1, -2)).sum(-1).mean()
    for _ in range(limit):
        slope, bend = _link_derivatives(name, scores[..., :, None] - scores[..., None, :])
        pull = wins * slope
        gradient = pull.sum(-2) - pull.sum(-1)
        if np.abs(gradient).max() <= tolerance * degree:
            break
        weight = wins * bend
        weight += weight.swapaxes(-1, -2)
        hessian = 1.0 - weight
        hessian[..., diagonal, diagonal] += weight.sum(-1)
        step = np.linalg.solve(hessian, gradient[..., None])[..., 0]
        scores -= step / np.maximum(np.abs(step).max(-1, keepdims=True), 1)
    return scores - scores.mean(-1, keepdims=True)


def _link_derivatives(name: str, gap: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """F'/F and -(log F)''."""
    if name == "normal":
        slope = np.exp(-0.5 * gap * gap) * (1 / np.sqrt(2 * np.pi)).astype(gap.dtype) / ndtr(gap)
        return slope, slope * (slope + gap)
    half = np.exp(-np.abs(gap)) / 2
    slope = np.where(gap < 0, 1, half / (1 - half))
    return slope, np.where(gap < 0, 0, slope * (1 + slope))
