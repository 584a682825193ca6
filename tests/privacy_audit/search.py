"""Search for the largest exact privacy loss of the perturbed MLE on small instances.

A data set is a common part (the *base*) and the comparisons of one unit. With *all* contents of the
unit enumerated, the largest loss at an output θ over all neighbors that share the base is the spread
of the log densities over those contents: no pair of neighbors is left out.
"""

from __future__ import annotations

import functools

import jax
import numpy as np

from privrank_jax.comparisons import WinCounts
from privrank_jax.privacy_audit import contents
from tests.privacy_audit.losses import perturbed_mle_log_density

ADJACENCIES = ("flip", "replace", "add-remove")
# Allowance for rounding in a loss of ε.
ROUNDING = 1 + 1e-9


@functools.partial(jax.jit, static_argnames=("link",))
def _densities(thetas, bases, units, scale, gamma, link):
    """``(B, T, K)`` log densities at ``thetas (B, T, m)`` of each base with each unit added."""

    def one(theta, matrix):
        return perturbed_mle_log_density(
            theta, WinCounts(matrix), noise_scale=scale, gamma=gamma, link=link
        )

    over_units = jax.vmap(
        lambda theta, base: jax.vmap(lambda u: one(theta, base + u))(units), (0, None)
    )
    return jax.vmap(over_units)(thetas, bases)


def losses(densities, groups, adjacency):
    """Largest loss over neighbors, ``(B, T)``."""
    if adjacency == "replace":
        return densities.max(-1) - densities.min(-1)
    if adjacency == "add-remove":
        return np.abs(densities - densities[..., :1]).max(-1)
    order = np.argsort(groups, kind="stable")
    starts = np.flatnonzero(np.diff(groups[order], prepend=-1))
    ordered = densities[..., order]
    spread = np.maximum.reduceat(ordered, starts, -1) - np.minimum.reduceat(ordered, starts, -1)
    return spread.max(-1)


def instances(rng, num_items, outputs):
    """Bases ``(B, m, m)`` and first outputs ``(B, T, m)``: random ones, and the kind that is hard.

    Hard: some pairs compared very often (they fix the signs of w), outputs far apart (saturated
    comparisons, no curvature), nearly equal (largest curvature; the kink of the Laplace link), up to 50.
    """
    off_diagonal = 1 - np.eye(num_items)
    bases = [np.zeros((num_items, num_items)), 3 * off_diagonal]
    bases += [rng.integers(0, 3, (num_items, num_items)) * off_diagonal for _ in range(2)]
    for repeats in (2, 20, 200):
        sparse = rng.random((num_items, num_items)) < 0.3
        bases.append(repeats * sparse * off_diagonal)
        # Upsets along a chain: each item beats the next one, which is far better.
        bases.append(repeats * np.eye(num_items, k=1) * (rng.random(num_items) < 0.7)[:, None])
    thetas = []
    for _ in bases:
        scale = rng.choice([1e-9, 0.1, 1.0, 6.0, 25.0], (outputs, 1))
        spread = rng.standard_normal((outputs, num_items)) * scale
        corners = rng.choice([-50.0, -12.0, 0.0, 12.0, 50.0], (outputs, num_items))
        ladder = np.linspace(-1, 1, num_items) * rng.uniform(0, 50, (outputs, 1))
        kind = rng.integers(0, 4, (outputs, 1))
        thetas.append(
            np.select(
                [kind == 0, kind == 1, kind == 2], [corners, ladder, ladder + 1e-3 * spread], spread
            )
        )
    return np.array(bases, float), np.clip(np.array(thetas), -50, 50)


def worst_loss(*, link, adjacency, comparisons, noise_scale, gamma, seed=0, outputs=100, rounds=3):
    """Largest loss found: random and extreme outputs, then ``rounds`` of hill climbing from the best."""
    num_items = 4 if comparisons == 1 else 3
    rng = np.random.default_rng(seed)
    held = contents.comparisons(num_items, comparisons)
    units = held.contents
    groups = np.unique([*map(held.group, units)], return_inverse=True)[1]
    bases, thetas = instances(rng, num_items, outputs)
    worst = 0.0
    for _ in range(rounds + 1):
        densities = np.asarray(
            _densities(thetas, bases, units, float(noise_scale), float(gamma), link)
        )
        found = losses(densities, groups, adjacency)
        assert np.all(np.isfinite(found))
        worst = max(worst, found.max())
        best = np.argsort(-found, axis=1)[:, :4]
        parents = np.repeat(np.take_along_axis(thetas, best[..., None], 1), outputs // 4, axis=1)
        step = rng.choice([1e-3, 0.1, 1.0, 5.0], (*parents.shape[:2], 1))
        move = step * rng.standard_normal(parents.shape) * (rng.random(parents.shape) < 0.7)
        thetas = np.clip(parents + move, -50, 50)
    return worst


def counts(size, *rows):
    """``(m, m)`` wins from ``(winner, loser, times)``."""
    matrix = np.zeros((size, size))
    for winner, loser, times in rows:
        matrix[winner, loser] += times
    return WinCounts.from_matrix(matrix)
