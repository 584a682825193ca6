"""The k best items, privately, one by one: the one-shot mechanism of Qiao, Su and Zhang, peeling, permute-and-flip.

Whole lists and sets are selected in :mod:`privrank_jax.pairwise.joint_selection`, which also has a rule for the choice.

All publish the list of items alone, not the scores; the last two spend budget on k rounds. On win totals, noisy counts
publish all totals at scale 2L/ε (Laplace): more noise than peeling at k = 1, less from k = 2 on. Selection is the
better choice where one user can change many scores, but each of them only a little, that is, where the ``sensitivity``
of one score is well below L (a user who compares every pair of m items: m - 1 against m(m - 1)/2).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from privrank_jax._types import Count, Key, Mask, MaskLike, Scalar, Scores, ScoresLike
from privrank_jax._validate import check_positive, check_top
from privrank_jax._workarounds.threefry import fused
from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics, gumbel, laplace
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.selection import one_shot_scale, peeling_scale, permute_and_flip_scale


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
            :func:`~privrank_jax.pairwise.totals_noise.totals_sensitivity` for win totals.
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


def peeling_top_k(
    key: Key,
    wins: WinCounts | WinEdges | ScoresLike,
    privacy: Privacy,
    k: int,
    *,
    approximate: bool = False,
    sensitivity: Scalar | None = None,
    mask: MaskLike | None = None,
) -> Estimate:
    """The k best items in order, by k rounds of the exponential mechanism ("peeling").

    All rounds are drawn at once: the k largest sums of score and Gumbel(β) noise, in descending order, have exactly
    the law of k rounds that each select item i with odds exp(score_i/β) among those left.

    **Guarantee.** ε-DP for the ordered list at β = (ks + min(ks, L))/ε on win totals, where s bounds how far one
    unit can change one total: (k + 1)/ε for one comparison flipped or replaced, (k + 1)L/ε for a user. Under
    ``add-remove``, where all totals change in one direction, β = ks/ε. For other scores β = 2ks/ε. With
    ``approximate`` it is (ε, δ)-DP, at the smaller of that scale and the one given by composition in zCDP. The
    proofs are at the head of :mod:`privrank_jax.privacy.selection`.

    Args:
        key: PRNG key.
        wins: win counts of m items, or scores, ``(m,)`` float, high = preferred.
        privacy: what is promised: unit comparison or user (with ``contributions`` L for win totals, which must
            hold in the data), any adjacency. ε = ∞ adds no noise (ties are then broken at random); ε, δ and L may
            be traced.
        k: number of items, static, 1 <= k <= m.
        approximate: rely on the δ of the promise, which must be positive; static.
        sensitivity: s, public: how far one unit can change one score. Needed with scores; for win totals the
            default is 1 for a comparison and L for a user, and a smaller bound may be given if no user compares an
            item more often than that.
        mask: ``(m,)`` bool, real items, with scores (win counts carry their own).

    Returns:
        ``value``: item indices, ``(k,)`` int32, best first; -1 in places for which no real item is left.
        ``guarantee``. ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, β, public.

    Raises:
        ValueError: a promise that can't be kept, ``approximate`` without δ, users without ``contributions``, k out
            of range, scores without a sensitivity.

    Source: Durfee and Rogers (2019); the constant for totals is ours.

    >>> wins = WinCounts.from_matrix([[0, 90, 95], [10, 0, 70], [5, 30, 0]])
    >>> promise = Privacy(2.0, unit="comparison", adjacency="replace")
    >>> peeling_top_k(jax.random.key(0), wins, promise, 2).value.tolist()
    [0, 1]
    """
    task = selection_task(wins, privacy, "peeling_top_k", k, sensitivity, mask)
    scale, attained = peeling_scale(task.attained, k, approximate=approximate, **task.bounds)
    value = select_once(key, task.scores, task.mask, scale, k, "gumbel", True)
    return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(scale))


def permute_and_flip_top_k(
    key: Key,
    wins: WinCounts | WinEdges | ScoresLike,
    privacy: Privacy,
    k: int,
    *,
    approximate: bool = False,
    sensitivity: Scalar | None = None,
    mask: MaskLike | None = None,
) -> Estimate:
    """The k best items in order, by k rounds of permute-and-flip; for small k.

    One round visits the items in random order and accepts item i with probability exp(-(best score - score_i)/λ),
    until one is accepted. It is never worse than the exponential mechanism at the same ε. A round is drawn as the
    largest score plus Exponential(λ) noise, fresh in every round, in time O(km) overall.

    **Guarantee.** ε-DP for the ordered list, at the scale of :func:`peeling_top_k`: λ = (ks + min(ks, L))/ε on win
    totals, ks/ε under ``add-remove``, 2ks/ε on other scores; with ``approximate`` (ε, δ)-DP, at the smaller of that
    scale and the one given by composition in zCDP. The proofs are at the head of
    :mod:`privrank_jax.privacy.selection`.

    Arguments, results and errors are those of :func:`peeling_top_k`.

    Source: McKenna and Sheldon (2020); Ding, Kifer, Steinke, Wang, Xiao and Zhang (2021).

    >>> wins = WinCounts.from_matrix([[0, 90, 95], [10, 0, 70], [5, 30, 0]])
    >>> promise = Privacy(2.0, unit="comparison", adjacency="replace")
    >>> permute_and_flip_top_k(jax.random.key(0), wins, promise, 2).value.tolist()
    [0, 1]
    """
    task = selection_task(wins, privacy, "permute_and_flip_top_k", k, sensitivity, mask)
    scale, attained = permute_and_flip_scale(
        task.attained, k, approximate=approximate, **task.bounds
    )
    value = _select_in_rounds(key, task.scores, task.mask, scale, k)
    return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(scale))


class SelectionTask:
    """The scores to select from, and how far one unit can change them.

    Attributes:
        scores: ``(m,)`` float.
        mask: ``(m,)`` bool.
        num_real: real items; an ``int`` without a mask.
        attained: the guarantee for the unit and adjacency that the mechanism keeps.
        bounds: ``sensitivity``, ``total_change``, ``monotone`` of :mod:`privrank_jax.privacy.selection`.
    """

    def __init__(
        self, scores: Scores, mask: MaskLike | None, attained: Privacy, bounds: dict[str, Any]
    ) -> None:
        self.scores = scores
        self.mask = jnp.ones(scores.shape, bool) if mask is None else jnp.asarray(mask, bool)
        self.num_real = scores.shape[0] if mask is None else jnp.sum(self.mask)
        self.attained = attained
        self.bounds = bounds


def selection_task(
    wins: WinCounts | WinEdges | ScoresLike,
    privacy: Privacy,
    by: str,
    k: int,
    sensitivity: Scalar | None,
    mask: MaskLike | None,
) -> SelectionTask:
    """Check the arguments that all top-k functions share, and bound the effect of one unit on the scores."""
    attained = of_comparisons(privacy, by)
    if isinstance(wins, WinCounts | WinEdges):
        if mask is not None:
            raise ValueError("mask goes with scores; win counts carry their own, leave it out.")
        per_unit = attained.comparisons_per_unit
        scores, mask = wins.totals, wins.mask if isinstance(wins, WinCounts) else None
        bounds = {
            "sensitivity": 1.0 * per_unit if sensitivity is None else sensitivity,
            "total_change": 1.0 * per_unit,
            "monotone": attained.adjacency == "add-remove",
        }
    else:
        if sensitivity is None:
            raise ValueError(
                "scores need their sensitivity: pass sensitivity=s, how far one unit can change one score, "
                "a bound that does not depend on the data; or pass win counts."
            )
        scores = jnp.asarray(wins)
        if not jnp.issubdtype(scores.dtype, jnp.floating):
            scores = scores.astype(jnp.result_type(float))
        bounds = {"sensitivity": sensitivity, "total_change": math.inf, "monotone": False}
    if scores.ndim != 1:
        raise ValueError(f"scores must have shape (m,), got {scores.shape}: use jax.vmap.")
    check_top(k, scores.shape[0])
    return SelectionTask(scores, mask, attained, bounds)


@functools.partial(jax.jit, static_argnames=("k", "noise", "in_order"))
def select_once(
    key: Key,
    scores: Scores,
    mask: Mask,
    scale: Scalar,
    k: int,
    noise: str,
    in_order: bool,
    fewer: Count | None = None,
) -> Int[Array, "k"]:
    """The k largest of scores + noise, best first, or by item index if the order must not be revealed.

    With ``fewer``, which may be traced, only that many of the k are chosen; the last places then hold -1.
    """
    shuffle, draw = jax.random.split(fused(key))
    sample = gumbel if noise == "gumbel" else laplace
    # Items are shuffled so that equal sums, frequent at scale 0, are not ranked by index.
    items = jax.random.permutation(shuffle, scores.shape[0])
    noisy = scores[items] + sample(draw, scores.shape, scale, scores.dtype)
    largest, places = jax.lax.top_k(jnp.where(mask[items], noisy, -jnp.inf), k)
    kept = largest > -jnp.inf
    if fewer is not None:
        kept &= jnp.arange(k) < fewer
    chosen = jnp.where(kept, items[places], scores.shape[0])
    chosen = chosen if in_order else jnp.sort(chosen)
    return jnp.where(chosen < scores.shape[0], chosen, -1).astype(jnp.int32)


@functools.partial(jax.jit, static_argnames=("k",))
def _select_in_rounds(
    key: Key, scores: Scores, mask: Mask, scale: Scalar, k: int
) -> Int[Array, "k"]:
    """k times the argmax of scores + fresh exponential noise among the items left."""
    shuffle, draw = jax.random.split(fused(key))
    items = jax.random.permutation(shuffle, scores.shape[0])
    scores, scale = scores[items], jnp.asarray(scale, scores.dtype)

    def pick(left: Array, key: Array) -> tuple[Array, Array]:
        noisy = scores + scale * jax.random.exponential(key, scores.shape, scores.dtype)
        best = jnp.argmax(jnp.where(left, noisy, -jnp.inf))
        chosen = jnp.where(jnp.any(left), items[best], -1)
        return left.at[best].set(False), chosen.astype(jnp.int32)

    return jax.lax.scan(pick, mask[items], jax.random.split(draw, k))[1]
