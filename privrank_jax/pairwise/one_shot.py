"""The k best items by the one-shot Laplace mechanism of Qiao, Su and Zhang."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from privrank_jax._validate import is_traced
from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.top_k import select_once, selection_task
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.selection import one_shot_scale

Array = jax.Array


def one_shot_top_k(
    key: Array,
    wins: WinCounts | WinEdges | Array,
    k: int,
    epsilon: Any = 1.0,
    unit: str = "comparison",
    adjacency: str = "replace",
    comparisons_per_user: Any = 1,
    calibration: str = "tight",
    *,
    delta: Any = 0.0,
    sensitivity: Any = None,
    mask: Any = None,
) -> Estimate:
    """The k items with the largest score plus Laplace(λ) noise, added once; only the items are published.

    **Guarantee.** s bounds how far one unit (``unit``, ``adjacency``) moves one score, all scores at once.

    - δ = 0: λ = 2ks/ε is ε-DP, for the list in order. ``"tight"`` also knows that L comparisons move win totals
      by at most 2L in all: λ = 2 min(ks, L)/ε. Under ``add-remove`` totals move one way: half of that.
    - δ > 0: λ = 8s√(k ln(m/δ))/ε is (ε, δ)-DP for ε <= 0.2, δ <= 0.05 (Qiao, Su and Zhang). We rely on it for the
      *set* alone, so the value then is in increasing item index, which tells nothing. It is below 2ks/ε
      only for k > 16 ln(m/δ).

    Proofs head :mod:`privrank_jax.privacy.selection`.

    **When to use it.** On win totals with s = L (a user may spend all comparisons on one item) the tight
    scale is that of :func:`~privrank_jax.pairwise.noisy_counts`, which also publishes all totals; the published
    one is k times larger. It gains where s < L/k: users who meet each item a few times only.

    **Rank centrality.** The source applies it to :func:`~privrank_jax.pairwise.rank_centrality` with a
    sensitivity that contains the spectral gap and the degrees of the data at hand: not a public number, so
    no guarantee follows. Pass such scores with a bound on ``sensitivity`` that holds for *every* data set,
    or use win counts.

    Args:
        key: PRNG key.
        wins: win counts of m items, or scores, ``(m,)`` float, high = preferred.
        k: number of items, static, 1 <= k <= m.
        epsilon: ε > 0, may be traced; ∞ adds no noise (ties are then broken at random).
        unit: ``"comparison"`` or ``"user"``.
        adjacency: ``"flip"``, ``"replace"``, ``"add-remove"`` of one unit.
        comparisons_per_user: L >= 1, most comparisons of one user (must hold in the data).
        calibration: ``"tight"``: the smallest scale proven here. ``"published"``: the two formulas of the
            source as they stand, 8s√(k ln(m/δ))/ε for δ > 0 and 2ks/ε for δ = 0.
        delta: δ >= 0, may be traced (then the value comes by item index).
        sensitivity: s, public. Needed with scores; for win totals the default is 1 for a comparison and L
            for a user, and a smaller bound may be given if no user meets an item more often than that.
        mask: ``(m,)`` bool, real items, with scores (win counts carry their own).

    Returns:
        ``value``: item indices, ``(k,)`` int32, best first for δ = 0, else in increasing order; -1, last, in
        places for which no real item is left. ``guarantee``: as given; for ``"published"`` with a traced
        ε or δ outside the theorem, the pure loss 2 min(ks, L)/λ that is proven at that scale.
        ``diagnostics``: ``{"noise_scale": λ}``, public.

    Raises:
        ValueError: ε <= 0, unknown names, k out of range, scores without a sensitivity; ``"published"``
            with δ > 0 and ε > 0.2 or δ > 0.05, unless traced.

    Source: Qiao, Su and Zhang (2021), *Oneshot differentially private top-k selection*, ICML.

    >>> wins = WinCounts.from_matrix([[0, 90, 95], [10, 0, 70], [5, 30, 0]])
    >>> one_shot_top_k(jax.random.key(0), wins, 2, epsilon=1.0).value.tolist()
    [0, 1]
    """
    task = selection_task(wins, k, unit, adjacency, comparisons_per_user, sensitivity, mask)
    scale, epsilon, proven_delta = one_shot_scale(
        k, task.num_real, epsilon=epsilon, delta=delta, calibration=calibration, **task.bounds
    )
    in_order = not is_traced(delta) and not np.any(np.asarray(delta))
    value = select_once(key, task.scores, task.mask, scale, k, "laplace", in_order)
    guarantee = Guarantee(Privacy(epsilon, unit=unit, adjacency=adjacency, delta=proven_delta))
    return Estimate(value, guarantee, {"noise_scale": scale})
