"""The k best items by the one-shot Laplace mechanism of Qiao, Su and Zhang."""

from __future__ import annotations

from privrank_jax._types import Key, MaskLike, Scalar, ScoresLike
from privrank_jax._validate import check_positive
from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.top_k import select_once, selection_task
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.selection import one_shot_scale


def one_shot_top_k(
    key: Key,
    wins: WinCounts | WinEdges | ScoresLike,
    privacy: Privacy,
    k: int,
    *,
    approximate: bool = False,
    calibration: str = "tight",
    sensitivity: Scalar | None = None,
    total_sensitivity: Scalar | None = None,
    mask: MaskLike | None = None,
) -> Estimate:
    """The k items with the largest score plus Laplace(λ) noise, added once; only the items are published.

    **Guarantee.** For the promised unit and adjacency; s bounds how far one unit can change any one score; all
    scores may change at once.

    - Pure: λ = 2ks/ε is ε-DP, for the list in order. ``"tight"`` also uses that L comparisons change the win totals
      by at most 2L in all: λ = 2 min(ks, L)/ε. Under ``add-remove`` all totals change in one direction, which
      halves the scale.
    - ``approximate``: λ = 8s√(k ln(m/δ))/ε is (ε, δ)-DP for ε <= 0.2, δ <= 0.05 (Qiao, Su and Zhang). We rely on it
      for the *set* alone, so the value is then in increasing item index, which reveals nothing more. This scale is
      below 2ks/ε only for k > 16 ln(m/δ).

    The proofs are at the head of :mod:`privrank_jax.privacy.selection`.

    **When to use it.** On win totals with s = L (all comparisons of a user may involve one item) the tight scale
    equals that of :func:`~privrank_jax.pairwise.noisy_counts`, which also publishes all totals; the published one
    is k times larger. One-shot selection needs less noise where s < L/k, that is where each user compares each item
    only a few times.

    **Rank centrality.** The source applies it to :func:`~privrank_jax.pairwise.rank_centrality` with a
    sensitivity that depends on the spectral gap and the degrees of the data at hand. It is not public, so no
    guarantee follows. Pass such scores with a bound on ``sensitivity`` that holds for *every* data set, or use win
    counts.

    Args:
        key: PRNG key.
        wins: win counts of m items, or scores, ``(m,)`` float, high = preferred.
        privacy: what is promised: unit comparison or user (with ``contributions`` L for win totals, which must
            hold in the data), any adjacency. ε = ∞ adds no noise (ties are then broken at random); ε, δ and L may
            be traced.
        k: number of items, static, 1 <= k <= m.
        approximate: rely on the δ of the promise, which must be positive; static.
        calibration: ``"tight"``: the smallest scale proven here. ``"published"``: the two formulas of the source
            unchanged, 2ks/ε, and 8s√(k ln(m/δ))/ε with ``approximate``.
        sensitivity: s, public. Needed with scores; for win totals the default is 1 for a comparison and L
            for a user, and a smaller bound may be given if no user compares an item more often than that.
        total_sensitivity: ℓ₁ sensitivity of all win totals (or scores) together, public; ``None`` uses
            :func:`~privrank_jax.pairwise.totals_sensitivity` for win totals.
        mask: ``(m,)`` bool, real items, with scores (win counts carry their own).

    Returns:
        ``value``: item indices, ``(k,)`` int32, best first, with ``approximate`` in increasing order; trailing
        places for which no real item is left hold -1. ``guarantee``: δ = 0 unless ``approximate``; for
        ``"published"`` with a traced ε or δ outside the theorem, the pure loss 2 min(ks, L)/λ that is proven at
        that scale.
        ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, λ, public.

    Raises:
        ValueError: a promise that can't be kept, unknown names, k out of range, scores without a sensitivity;
            ``approximate`` without δ, ``"published"`` with it and ε > 0.2 or δ > 0.05, unless traced.

    Source: Qiao, Su and Zhang (2021), *Oneshot differentially private top-k selection*, ICML.

    >>> import jax
    >>> wins = WinCounts.from_matrix([[0, 90, 95], [10, 0, 70], [5, 30, 0]])
    >>> promise = Privacy(1.0, unit="comparison", adjacency="replace")
    >>> one_shot_top_k(jax.random.key(0), wins, promise, 2).value.tolist()
    [0, 1]
    """
    task = selection_task(wins, privacy, "one_shot_top_k", k, sensitivity, mask)
    bounds = dict(task.bounds)
    if total_sensitivity is not None:
        check_positive("total_sensitivity", total_sensitivity, infinite=False)
        bounds["total_change"] = total_sensitivity / (1.0 if bounds["monotone"] else 2.0)
    scale, attained = one_shot_scale(
        task.attained,
        k,
        task.num_real,
        approximate=approximate,
        calibration=calibration,
        **bounds,
    )
    value = select_once(key, task.scores, task.mask, scale, k, "laplace", not approximate)
    return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(scale))
