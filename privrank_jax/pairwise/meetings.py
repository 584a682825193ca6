r"""Comparison counts M_ij beside scores or totals: checked, of one dtype, 0 where an item is padding.

**Lemma (half wins).** *Let an outcome y be 1, 0 or, for a tie, 1/2, and p its mean. Its variance is p(1-p) - P(tie)/4.*
For y² = y - 1/4 where y is a tie, and y² = y where it is none.

Let t of the M comparisons of a pair be ties. The variance v = M p(1-p) - E t/4 of the sum of their outcomes is
estimated by max(0, M p(1-p) - t/4). Its expectation is at least v, and it never exceeds M p(1-p), which holds without
ties. t is a function of the outcomes: it may serve in fits without privacy, or where the ties of each pair are public;
else only the cautious p(1-p) is known.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._arguments import ArgumentError
from privrank_jax._components import pairs_of
from privrank_jax._types import Mask, MaskLike, PairMatrix, PairMatrixLike, Scores, ScoresLike
from privrank_jax._validate import is_traced
from privrank_jax.comparisons import default_float


def as_design(
    value: ScoresLike, comparisons: PairMatrixLike, mask: MaskLike | None
) -> tuple[Scores, PairMatrix, Mask]:
    """Values ``(m,)``, comparison counts ``(m, m)`` of real items, mask ``(m,)``, of one dtype, checked."""
    value = jnp.asarray(value)
    if not jnp.issubdtype(value.dtype, jnp.floating):
        value = value.astype(default_float())
    comparisons = jnp.asarray(comparisons, value.dtype)
    if value.ndim != 1 or comparisons.shape != (value.shape[0],) * 2:
        raise ValueError(
            f"values {value.shape} and comparison counts {comparisons.shape} must have shapes (m,) and "
            "(m, m); use jax.vmap for a batch."
        )
    mask = jnp.ones(value.shape, bool) if mask is None else jnp.asarray(mask)
    if mask.shape != value.shape or mask.dtype != bool:
        raise ValueError(
            f"mask must be bool of shape {value.shape}, got {mask.dtype} of shape {mask.shape}."
        )
    if not is_traced(value, mask) and not np.all(np.isfinite(np.asarray(value)[np.asarray(mask)])):
        raise ValueError("scores and totals must be finite; did the fit converge?")
    if not is_traced(comparisons, mask):
        counts = np.asarray(comparisons)[np.ix_(mask, mask)]
        if not np.all(np.isfinite(counts) & (counts >= 0)) or not np.allclose(counts, counts.T):
            raise ValueError(
                "comparison counts must be finite, at least 0 and symmetric: M[i, j] = how often i and j were compared."
            )
    return value, jnp.where(pairs_of(mask), comparisons, 0.0), mask


def check_items(
    first: np.ndarray, second: np.ndarray, num_items: int, keep: np.ndarray | bool = True
) -> None:
    """Raise ``ValueError`` unless rows that are kept compare two different items of 0..m-1."""
    for name, items in (("first", first), ("second", second)):
        if not np.issubdtype(items.dtype, np.integer):
            raise ArgumentError(
                f"{name} must hold integers, the items, got dtype {items.dtype}.", name
            )
        if np.any(keep & ((items < 0) | (items >= num_items))):
            raise ArgumentError(f"{name} has items outside 0..{num_items - 1}.", name)
    if np.any(keep & (first == second)):
        raise ArgumentError("a row compares an item with itself: drop such rows.", "first")


def checked_ties(
    ties: PairMatrixLike | None, value: Scores, comparisons: PairMatrix, mask: Mask
) -> PairMatrix | None:
    """Ties ``(m, m)`` of real items, of the dtype of the values, checked; ``None`` stays."""
    if ties is None:
        return None
    ties = as_design(value, ties, mask)[1]
    if not is_traced(ties, comparisons) and np.any(np.asarray(ties) > np.asarray(comparisons)):
        raise ValueError("a pair has more ties than comparisons, and ties are comparisons.")
    return ties


def varying_share(most: PairMatrix, ties: PairMatrix) -> Float[Array, "items items"]:
    """The share of M p(1-p), the variance of wins and losses of a pair, that is left by its ties, in [0, 1]."""
    return jnp.where(ties > 0, jnp.clip(1 - 0.25 * ties / most, 0, 1), 1)
