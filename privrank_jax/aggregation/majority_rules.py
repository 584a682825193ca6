r"""Rules that rank items by the weights of all pairs alone: of private weights they are post-processing.

The *lead* of i over j is d_ij = w_ij - w_ji. Each rule gives scores, and equal scores are ranked by item index.

- **Copeland**: how many items an item leads, a tie counting half.
- **Minimax**: its smallest lead over another item, negative but for an item that leads all others.
- **Schulze**: p_ij is the largest number such that a path from i to j has no smaller lead. The items j with p_ij > p_ji
  are behind i; that relation is transitive (Schulze 2011), so counting them ranks the items.
- **Ranked pairs** (Tideman 1987): pairs are locked one after another, those with the largest lead first, each as its
  majority has it, unless the pairs that were locked before say the opposite by a chain. Pairs of equal lead are locked
  in the order of the items, and of two items without a lead the first is ahead.
- **Borda**: the sum of its weights.

**Where the leads have no cycle**, Copeland, Schulze and ranked pairs rank by them, as Kemeny does. Minimax has the item
that leads all others first, but the rest may be in another order; Borda need not even have that one first.

**Errors.** If no weight is off by more than r, no lead is off by more than 2r, and so no score of minimax and no p_ij;
no Borda score is off by more than (m - 1)r.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._components import pairs_of
from privrank_jax._types import Mask, MaskLike, PairMatrix, PairMatrixLike, Ranks, Scores
from privrank_jax.aggregation.borda import borda_scores
from privrank_jax.aggregation.weights import PairWeights, shares_of
from privrank_jax.rankings import ranks_from_scores


def copeland_scores(weights: PairWeights | PairMatrixLike, mask: MaskLike | None = None) -> Scores:
    """Number of items that each item beats, a tie counting half.

    Arguments, results and errors: as for :func:`minimax_scores`.

    >>> copeland_scores([[0.0, 0.7, 0.5], [0.3, 0.0, 0.9], [0.5, 0.1, 0.0]]).tolist()
    [1.5, 1.0, 0.5]
    """
    return _copeland_scores(*_leads(weights, mask))


def copeland(weights: PairWeights | PairMatrixLike, mask: MaskLike | None = None) -> Ranks:
    """Rank items by :func:`copeland_scores`, the best first: a Kemeny optimum where the majorities have no cycle.

    Args:
        weights, mask: as for :func:`minimax_scores`; masked items get the last ranks, in index order.

    Returns:
        Ranks ``(m,)``, int32, 0 = best; equal scores by item index.

    Raises:
        ValueError: weights that are not one square, finite matrix.

    >>> copeland([[0.0, 0.2, 0.5], [0.8, 0.0, 0.9], [0.5, 0.1, 0.0]]).tolist()
    [1, 0, 2]
    """
    w, mask = shares_of(weights, mask)
    return ranks_from_scores(copeland_scores(w, mask), mask)


def minimax_scores(weights: PairWeights | PairMatrixLike, mask: MaskLike | None = None) -> Scores:
    """Smallest lead of each item over another one; 0 for a single item.

    Args:
        weights: :class:`~privrank_jax.aggregation.PairWeights`, or a plain ``(m, m)`` matrix, noisy ones too.
        mask: ``(m,)`` bool, of a plain matrix; items with False score 0 and don't count for the others.

    Returns:
        ``(m,)`` in the dtype of the weights (JAX's default float for integers), high = preferred.

    Raises:
        ValueError: weights that are not one square, finite matrix.

    >>> minimax_scores([[0.0, 0.75, 0.5], [0.25, 0.0, 1.0], [0.5, 0.0, 0.0]]).tolist()
    [0.0, -0.5, -1.0]
    """
    return _minimax_scores(*_leads(weights, mask))


def schulze_paths(
    weights: PairWeights | PairMatrixLike, mask: MaskLike | None = None
) -> PairMatrix:
    """The largest p_ij such that a path from item i to item j has no smaller lead.

    Arguments and errors: as for :func:`minimax_scores`.

    Returns:
        ``(m, m)`` in the dtype of the weights; 0 on the diagonal, and in the rows and columns of masked items.

    >>> schulze_paths([[0.0, 1.0, 0.25], [0.0, 0.0, 0.75], [0.75, 0.25, 0.0]])[0].tolist()[1:]
    [1.0, 0.5]
    """
    return _paths(*_leads(weights, mask))


def schulze_scores(weights: PairWeights | PairMatrixLike, mask: MaskLike | None = None) -> Scores:
    """The number of items that Schulze's rule has behind each item, one that is tied with it counting half.

    Arguments, results and errors: as for :func:`minimax_scores`.

    >>> schulze_scores([[0.0, 1.0, 0.375], [0.0, 0.0, 0.75], [0.625, 0.25, 0.0]]).tolist()
    [2.0, 1.0, 0.0]
    """
    lead, keep = _leads(weights, mask)
    paths = _paths(lead, keep)
    return _copeland_scores(paths - paths.T, keep)


def ranked_pairs_scores(
    weights: PairWeights | PairMatrixLike, mask: MaskLike | None = None
) -> Scores:
    """How many items ranked pairs have behind each item; the time grows as m⁴.

    Arguments, results and errors: as for :func:`minimax_scores`.

    >>> ranked_pairs_scores([[0.0, 1.0, 0.2], [0.0, 0.0, 0.9], [0.8, 0.1, 0.0]]).tolist()
    [2.0, 1.0, 0.0]
    """
    return _ranked_pairs_scores(*_leads(weights, mask))


RULES = {
    "copeland": copeland_scores,
    "ranked-pairs": ranked_pairs_scores,
    "schulze": schulze_scores,
    "minimax": minimax_scores,
    "borda": borda_scores,
}
"""The scores of each rule but Kemeny's, which has an order and no scores (:func:`privrank_jax.aggregation.kemeny`)."""


def _leads(
    weights: PairWeights | PairMatrixLike, mask: MaskLike | None
) -> tuple[Float[Array, "items items"], Mask]:
    w, mask = shares_of(weights, mask)
    return w - w.T, jnp.ones(w.shape[:1], bool) if mask is None else mask


@jax.jit
def _copeland_scores(lead: Array, keep: Mask) -> Array:
    return jnp.sum(jnp.where(pairs_of(keep), 0.5 * (1 + jnp.sign(lead)), 0), axis=1)


@jax.jit
def _minimax_scores(lead: Array, keep: Mask) -> Array:
    smallest = jnp.min(jnp.where(pairs_of(keep), lead, jnp.inf), axis=1)
    return jnp.where(jnp.isinf(smallest), 0, smallest)


@jax.jit
def _paths(lead: Array, keep: Mask) -> Array:
    def through(item: Array, paths: Array) -> Array:
        return jnp.maximum(paths, jnp.minimum(paths[:, item, None], paths[item]))

    direct = jnp.where(pairs_of(keep), lead, -jnp.inf)
    return jnp.where(pairs_of(keep), jax.lax.fori_loop(0, keep.size, through, direct), 0)


@jax.jit
def _ranked_pairs_scores(lead: Array, keep: Mask) -> Array:
    items = jnp.arange(keep.size)
    first, second = jnp.triu_indices(keep.size, 1)
    leads, real = lead[first, second], keep[first] & keep[second]
    turned = leads < 0
    pairs = jnp.stack([jnp.where(turned, second, first), jnp.where(turned, first, second)], axis=1)

    def lock(behind: Array, pair: Array) -> tuple[Array, None]:
        better, worse = pair
        ahead = behind[:, better]
        gains = (ahead | (items == better)) & ~ahead[worse]
        return behind | (gains[:, None] & (behind[worse] | (items == worse))), None

    strongest_first = jnp.argsort(jnp.where(real, -jnp.abs(leads), 1), stable=True)
    none = jnp.zeros((keep.size, keep.size), bool)
    behind, _ = jax.lax.scan(lock, none, pairs[strongest_first])
    return jnp.sum(behind & pairs_of(keep), axis=1).astype(lead.dtype)
