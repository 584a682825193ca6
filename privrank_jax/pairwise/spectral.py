"""Rank centrality: items scored by a random walk that moves toward winners."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from privrank_jax._pytrees import pytree
from privrank_jax._types import PairMatrix, Scalar
from privrank_jax._validate import check_nonnegative
from privrank_jax._workarounds.linalg import one_by_one
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.graph import check_one_problem, connectivity


@pytree
class RankCentralityDiagnostics:
    """Connectivity of the comparison graph, before smoothing, and how the iteration ended.

    Attributes:
        components: connected components of the comparison graph, int32.
        separated: whether some item has no chain of wins to another item of its component.
        change: ℓ₁ change of π in the last step.
    """

    components: Int[Array, ""]
    separated: Bool[Array, ""]
    change: Float[Array, ""]


_factor = one_by_one(jax.scipy.linalg.lu_factor)
_solve = one_by_one(lambda lu, pivots, right: jax.scipy.linalg.lu_solve((lu, pivots), right))


def rank_centrality(wins: WinCounts, smoothing: Scalar = 0.0) -> Estimate:
    """Stationary distribution of the walk i → j with probability W_ji/(M_ij d_max). **Not private.**

    M_ij = W_ij + W_ji, d_max is the largest number of opponents of an item; with the remaining probability the walk
    stays at i. Under Bradley-Terry-Luce the expected walk has π_i ∝ exp(θ_i), so log π estimates θ. No public
    sensitivity is known, so noise added to π carries no guarantee.

    If chains of wins link all items (``separated`` False and one component), π is unique and positive. Otherwise it is
    the long-run mean from the uniform distribution: items that the walk leaves forever get 0.

    Args:
        wins: win counts of m items; a plain matrix is a ``TypeError``.
        smoothing: wins >= 0, or ``ValueError``, added to both sides of every compared pair; may be traced.

    Returns:
        ``value``: π, ``(m,)``, dtype of the counts, sums to 1; masked items get 0. ``guarantee``: ``None``.
        ``diagnostics``: :class:`RankCentralityDiagnostics`.

    Source: Negahban, Oh and Shah (2017), *Rank centrality*, Operations Research.

    >>> weights = rank_centrality(WinCounts.from_matrix([[0, 3], [1, 0]])).value
    >>> [round(float(weight), 6) for weight in weights]
    [0.75, 0.25]
    """
    check_one_problem(wins)
    check_nonnegative("smoothing", smoothing)
    return _rank_centrality(wins, smoothing)


@jax.jit
def _rank_centrality(wins: WinCounts, smoothing: Scalar) -> Estimate:
    mask = wins.item_mask
    walk = transition_matrix(wins, smoothing)
    dtype, size = walk.dtype, walk.shape[0]
    start = mask / jnp.maximum(jnp.sum(mask), 1).astype(dtype)
    # R = (1-a)(I - aP)⁻¹ has P's stationary distributions and is far closer to its limit: a factored R needs a
    # handful of steps where P needs thousands. The choice of a leaves half of the digits to the solve.
    restart = jnp.finfo(dtype).eps ** 0.4
    factors = _factor(jnp.eye(size, dtype=dtype) - (1 - restart) * walk.T)
    tolerance = 4 * jnp.finfo(dtype).eps / restart

    def step(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        weights, _, count = state
        after = jnp.maximum(_solve(*factors, weights), 0.0)
        after = after / jnp.sum(after)
        return after, jnp.sum(jnp.abs(after - weights)), count + 1

    weights, change, _ = jax.lax.while_loop(
        lambda state: (state[1] > tolerance) & (state[2] < 200),
        step,
        (start, jnp.asarray(jnp.inf, dtype), jnp.asarray(0)),
    )
    components, separated = connectivity(wins)
    diagnostics = RankCentralityDiagnostics(components, separated, change)
    return Estimate(jnp.where(mask, weights, 0.0), None, diagnostics)


def transition_matrix(wins: WinCounts, smoothing: Scalar = 0.0) -> PairMatrix:
    """``(m, m)`` transition matrix of the walk, rows sum to 1; masked items stay where they are."""
    mask = wins.item_mask
    compared = (wins.comparisons > 0) & mask[:, None] & mask[None, :]
    lost = wins.matrix.T + smoothing
    total = jnp.where(compared, lost + lost.T, 1.0)
    share = jnp.where(compared, lost / total, 0.0).astype(wins.matrix.dtype)
    opponents = jnp.maximum(jnp.max(jnp.sum(compared, axis=1)), 1)
    moves = share / opponents
    return moves + jnp.diag(1.0 - jnp.sum(moves, axis=1))
