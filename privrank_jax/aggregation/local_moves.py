r"""Local search over insertions: move the item that lowers the Kemeny score most, until no move lowers it.

With d_ij = w_ij − w_ji, moving item i to the gap before position g changes the score by C_gi − C_rank(i),i, where
C_gi = Σ d_ij over the items j that stand before position g: one table holds all (m + 1)m moves, and a move changes only
its rows between the two places, by one row of d. The weights are rounded to integers first (int32; int64 for float64):
sums are exact, the table never drifts, and rounding errors can't produce a cycle of apparent improvements. A move is
made if it lowers the integer score by more than m units, the most that rounding may contribute.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax._types import MaskLike, PairMatrixLike, Ranks, RanksLike
from privrank_jax._validate import as_ranks
from privrank_jax.aggregation.borda import borda_scores
from privrank_jax.aggregation.weights import PairWeights, integer_lead, shares_of
from privrank_jax.rankings import ranks_from_scores, ranks_to_order


def local_search(
    weights: PairWeights | PairMatrixLike,
    ranks: RanksLike | None = None,
    *,
    mask: MaskLike | None = None,
) -> Ranks:
    """Find an insertion-optimal ranking by steepest descent of the Kemeny score.

    Args:
        weights: :class:`~privrank_jax.aggregation.PairWeights`, or a plain ``(m, m)`` matrix, w_ij the weight of i
            before j; any finite matrix works, consistent or not.
        ranks: where to start, ``(m,)``, integers, 0 = best; None starts from the Borda ranking.
        mask: ``(m,)`` bool, of a plain matrix; items with False get the last ranks, in index order. None keeps all.

    Returns:
        Ranks ``(m,)``, int32, 0 = best. Its Kemeny score is never above the start's, and no insertion of one item
        lowers it, both up to the precision of the weights' dtype.

    Raises:
        ValueError: shapes that don't fit.

    >>> w = [[0.0, 0.6, 0.7], [0.4, 0.0, 0.9], [0.3, 0.1, 0.0]]
    >>> local_search(w, [2, 1, 0]).tolist()
    [0, 1, 2]
    """
    w, mask = shares_of(weights, mask)
    keep = jnp.ones(w.shape[:1], bool) if mask is None else mask
    start = -borda_scores(w, keep) if ranks is None else as_ranks(ranks)
    if start.shape != w.shape[:1]:
        raise ValueError(f"ranks must have shape {w.shape[:1]}, one per item, got {start.shape}.")
    return _local_search(w, start, keep)


@jax.jit
def _local_search(w: Array, ranks: Array, keep: Array) -> Array:
    lead, items = integer_lead(w, keep, total=False), ranks.shape[0]
    ranks = ranks_from_scores(-ranks, keep)
    # Gaps are rows, so that a step reads and writes whole rows: column i holds the moves of item i.
    table = jnp.cumsum(lead.T[ranks_to_order(ranks)], axis=0, dtype=lead.dtype)
    table = jnp.pad(table, ((1, 0), (0, 0)))
    own = jnp.take_along_axis(table, ranks[None, :], axis=0)[0]

    def step(carry):
        state, (_, item, gap) = carry
        state = _insert(state, lead, item, gap)
        return state, _best_move(*state[:2])

    carry = (table, own, ranks), _best_move(table, own)
    (_, _, ranks), _ = jax.lax.while_loop(lambda carry: carry[1][0] < -items, step, carry)
    return ranks


def _best_move(table: Array, own: Array) -> tuple[Array, Array, Array]:
    """The largest decrease of the score, and its item and gap."""
    falls = jnp.min(table, axis=0) - own
    lowest = jnp.min(falls)
    item = jnp.argmax(falls == lowest)
    return lowest, item, jnp.argmin(table[:, item])


def _insert(state, lead: Array, item: Array, gap: Array):
    """Table, own entries and ranks after ``item`` has moved to the gap before position ``gap``."""
    table, own, ranks = state
    place = ranks[item]
    sign = jnp.where(gap <= place, 1, -1).astype(lead.dtype)  # the passed items move by this
    low, high = jnp.minimum(gap, place), jnp.maximum(gap - 1, place)
    rows = jnp.arange(table.shape[0])
    moved = (low < rows) & (rows <= high)
    column = -sign * lead[item]
    new_own = table[gap, item]
    table = table[rows - jnp.where(moved, sign, 0)] + jnp.where(moved[:, None], column, 0)
    passed = (low <= ranks) & (ranks <= high) & (ranks != place)
    own = jnp.where(passed, own + column, own).at[item].set(new_own)
    ranks = jnp.where(passed, ranks + sign.astype(ranks.dtype), ranks)
    return table, own, ranks.at[item].set(jnp.where(sign > 0, gap, gap - 1).astype(ranks.dtype))
