r"""Sensitivity of the win totals when each user's questionnaire, the pairs asked, is public.

A user who is asked the pairs E (a graph G on the items) adds N^u = Σ_e a_e to the totals, where a_e is e_i, e_j,
a half of each (tie), or 0 (no answer). For neighbors that differ in one user,

.. math:: ‖N^u - Ñ^u‖_1 = \max_{σ ∈ \{±1\}^m} \sum_{e ∈ E} σᵀ(a_e - ã_e).

*Flip* (which pairs were answered is public): a_e - ã_e = δ_e(e_i - e_j) with \|δ_e\| ≤ 1, and an edge adds at most
\|σ_i - σ_j\|, 2 where σ cuts it, else 0: the sensitivity is **2 maxcut(G)**.
*Replace* (questions public, whether a user answered them private): an edge adds at most 2 where σ cuts it (opposite
answers) and at most 1 elsewhere (answer against none): **\|E\| + maxcut(G)**.
*Add or remove*: N^u has non-negative entries that sum to at most **\|E\|**.

All three are attained, and none exceeds the generic 2L, 2L and L. With every pair asked once, maxcut = ⌊m²/4⌋.

**Theorem (ℓ₂, for Gaussian noise).** *Let B be the ℓ₁ sensitivity above, and d_(1) ≥ d_(2) ≥ ... the degrees of G, each
edge counted as often as it is asked. Then the totals move by at most √Σ s_k² in ℓ₂, with s_k = min(d_(k), B - s_1 - ...
- s_{k-1}): the largest degrees first, until B is spent.*

Proof. Let v = N^u - Ñ^u. An edge moves an item's total by at most 1, so \|v_i\| ≤ d_i. The k largest \|v_i\| therefore
sum to at most d_(1) + ... + d_(k), and to at most ‖v‖₁ ≤ B; the smaller of these two is s_1 + ... + s_k. So s weakly
majorizes \|v\|, and a sum of squares, which is convex and increases in each \|v_i\|, is not less at s. ∎

On the triangle under replacement d = (2, 2, 2) and B = 3 + 2, so s = (2, 2, 1) and the bound is 3, which is attained.
Under flips the sensitivity is the largest ‖Σ δ_e(e_i - e_j)‖₂; a maximizer orients the edges along an order of the
items, so small graphs are solved by enumeration, and for complete ones it equals √Σ(m-1-2i)². For others it is the
smaller of the theorem's bound and √(λ_max \|E\|), with λ_max of the Laplacian.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Int

from privrank_jax._components import components
from privrank_jax._validate import check_choice
from privrank_jax.privacy.privacy import Privacy, check_privacy

PairsLike: TypeAlias = Int[np.ndarray, "pairs 2"] | Sequence[Sequence[int]]

# Numbers of items up to which graphs are searched exhaustively: 2^(m-1) cuts, m! orders.
_EXACT_CUT_ITEMS = 22
_EXACT_ORDER_ITEMS = 8


def max_cut(pairs: PairsLike, num_items: int) -> tuple[int, bool]:
    """Size of the largest cut of the graph of ``pairs``, exact or bounded above.

    Graphs whose components have up to 22 items are solved exactly, and so are complete ones of any size; for others
    the value is the smaller of \\|E\\| and the spectral bound m λ_max(Laplacian)/4.

    Args:
        pairs: ``(P, 2)`` int, the pairs that are asked; a pair counts each time it is listed.
        num_items: m.

    Returns:
        (value, whether it is exact).

    Raises:
        ValueError: pairs out of range, or pairs of an item with itself.

    >>> max_cut([(0, 1), (1, 2), (0, 2)], 3)
    (2, True)
    """
    return _max_cut(questionnaire_counts(pairs, num_items))


def _max_cut(weight: np.ndarray) -> tuple[int, bool]:
    total, exact = 0, True
    for items in _components(weight):
        value, proven = _component_cut(weight[np.ix_(items, items)])
        total, exact = total + value, exact and proven
    return total, exact


def questionnaire_sensitivity(
    pairs: PairsLike, num_items: int, privacy: Privacy, norm: str = "l1"
) -> float:
    """Sensitivity of the win totals to one user who is asked the public ``pairs`` (theorem in the module docstring).

    Where users get different questionnaires, take the largest value over them.

    Args:
        pairs: ``(P, 2)`` int, the questionnaire of one user.
        num_items: m.
        privacy: what is promised: unit user, adjacency ``"flip"`` (the answers change), ``"replace"`` (they may also be
            missing) or ``"add-remove"``. Only these count, not ε.
        norm: ``"l1"`` for Laplace noise; ``"l2"`` for Gaussian noise.

    Returns:
        The sensitivity, or an upper bound on it where the graph is too large to solve.

    Raises:
        TypeError: ``privacy`` is not a :class:`~privrank_jax.privacy.Privacy`.
        ValueError: a unit other than user, an empty questionnaire, bad pairs, an unknown norm.

    >>> everything = list(itertools.combinations(range(6), 2))
    >>> questionnaire_sensitivity(everything, 6, Privacy(1.0, unit="user", adjacency="flip"))
    18.0
    """
    return counts_sensitivity(questionnaire_counts(pairs, num_items), privacy, norm)


def counts_sensitivity(
    counts: Int[np.ndarray, "items items"], privacy: Privacy, norm: str = "l1"
) -> float:
    """:func:`questionnaire_sensitivity` of the questionnaire with these counts (:func:`questionnaire_counts`).

    Args:
        counts: ``(m, m)``, symmetric.
        privacy: as there.
        norm: as there.

    Raises:
        TypeError, ValueError: as there.
    """
    check_privacy(privacy)
    if privacy.unit != "user":
        raise ValueError(
            f"a questionnaire bounds what one user can change: promise unit='user', not {privacy.unit!r}."
        )
    adjacency = privacy.adjacency
    check_choice("norm", norm, ("l1", "l2"))
    if norm == "l2" and adjacency == "flip":
        return _flip_euclidean(counts)
    largest = _largest_sum(counts, adjacency)
    return float(largest) if norm == "l1" else _euclidean_bound(counts, largest)


def _largest_sum(counts: np.ndarray, adjacency: str) -> int:
    """The ℓ₁ sensitivity, or an upper bound on it."""
    edges = int(counts.sum()) // 2
    if adjacency == "add-remove":
        return edges
    cut = _max_cut(counts)[0]
    return 2 * cut if adjacency == "flip" else edges + cut


def questionnaire_counts(pairs: PairsLike, num_items: int) -> Int[np.ndarray, "items items"]:
    """How often each pair is asked: the argument ``questionnaire`` of :func:`~privrank_jax.pairwise.noisy_counts`.

    Args:
        pairs: ``(P, 2)`` int, the pairs that are asked; a pair counts each time it is listed.
        num_items: m.

    Returns:
        ``(m, m)`` int64, symmetric.

    Raises:
        ValueError: an empty questionnaire, bad pairs.

    >>> questionnaire_counts([(0, 1), (2, 1), (1, 0)], 3).tolist()
    [[0, 2, 0], [2, 0, 1], [0, 1, 0]]
    """
    edges = np.asarray(pairs, dtype=np.int64)
    if edges.size == 0:
        raise ValueError("the questionnaire is empty; it needs at least one pair of items.")
    if edges.ndim != 2 or edges.shape[1] != 2:
        raise ValueError(f"pairs must have shape (P, 2), got {edges.shape}.")
    if edges.min() < 0 or edges.max() >= num_items:
        raise ValueError(f"pairs must name items 0..{num_items - 1}.")
    if np.any(edges[:, 0] == edges[:, 1]):
        raise ValueError("a pair asks about one item twice; drop such pairs.")
    weight = np.zeros((num_items, num_items), np.int64)
    np.add.at(weight, (edges[:, 0], edges[:, 1]), 1)
    return weight + weight.T


def _components(weight: np.ndarray) -> list[np.ndarray]:
    labels = components(weight)
    return [np.flatnonzero(labels == label) for label in np.unique(labels)]


def _component_cut(weight: np.ndarray) -> tuple[int, bool]:
    size = len(weight)
    edges = int(weight.sum()) // 2
    if size == 1:
        return 0, True
    repeats = weight[0, 1]
    if repeats and np.array_equal(weight, repeats * (1 - np.eye(size, dtype=np.int64))):
        return int(repeats) * (size * size // 4), True
    if size <= _EXACT_CUT_ITEMS:
        return _enumerate_cuts(weight), True
    laplacian = np.diag(weight.sum(1)) - weight
    spectral = size * float(np.linalg.eigvalsh(laplacian.astype(float))[-1]) / 4
    return min(edges, math.floor(spectral * (1 + 1e-9) + 1e-9)), False


def _enumerate_cuts(weight: np.ndarray) -> int:
    """Largest cut over the 2^(m-1) assignments of items 1..m-1 to sides (item 0 is fixed), built item by item."""
    cuts = np.zeros(1, np.int64)
    # Column of each item j: Σ_i weight[i, j] over the items i placed on side 1 so far.
    pull = np.zeros((1, len(weight)), np.int64)
    degrees_so_far = weight[0].copy()
    for item in range(1, len(weight)):
        stay, move = cuts + pull[:, item], cuts + degrees_so_far[item] - pull[:, item]
        cuts = np.concatenate([stay, move])
        if item + 1 < len(weight):
            pull = np.concatenate([pull, pull + weight[item]])
        degrees_so_far += weight[item]
    return int(cuts.max())


def _flip_euclidean(weight: np.ndarray) -> float:
    """Largest ‖out-degree - in-degree‖₂ over orientations, or an upper bound on it from the degrees."""
    size = len(weight)
    repeats = weight[0, 1] if size > 1 else 0
    if repeats and np.array_equal(weight, repeats * (1 - np.eye(size, dtype=np.int64))):
        return float(repeats) * math.sqrt(sum((size - 1 - 2 * i) ** 2 for i in range(size)))
    largest = 0
    for items in _components(weight):
        part = weight[np.ix_(items, items)]
        if len(part) > _EXACT_ORDER_ITEMS:
            return _flip_euclidean_bound(weight)
        orders = np.array(list(itertools.permutations(range(len(part)))))
        ranks = np.argsort(orders, axis=1)
        signs = np.sign(ranks[:, None, :] - ranks[:, :, None])
        moves = np.einsum("ij,oij->oi", part, signs)
        largest += int(np.square(moves).sum(1).max())
    return math.sqrt(largest)


def _flip_euclidean_bound(weight: np.ndarray) -> float:
    laplacian = (np.diag(weight.sum(1)) - weight).astype(float)
    top = float(np.linalg.eigvalsh(laplacian)[-1]) * (1 + 1e-9)
    spectral = math.sqrt(top * float(weight.sum()) / 2)
    return min(_euclidean_bound(weight, _largest_sum(weight, "flip")), spectral)


def _euclidean_bound(weight: np.ndarray, largest: int) -> float:
    """Largest ℓ₂ norm where no item moves more than its degree, nor all together more than ``largest``."""
    steps = []
    for degree in sorted(weight.sum(1).tolist(), reverse=True):
        steps.append(min(degree, largest))
        largest -= steps[-1]
    return math.sqrt(sum(step * step for step in steps))
