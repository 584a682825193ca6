"""The k best items, privately: as a list by one-shot noise, peeling, permute-and-flip; as a set by one canonical draw.

All publish the items alone, not the scores; peeling and permute-and-flip spend budget on k rounds. On win totals,
noisy counts publish all totals at scale 2L/ε (Laplace): more noise than peeling at k = 1, less from k = 2 on. Selection
is the better choice where one user can change many scores, but each of them only a little, that is, where the
``sensitivity`` of one score is well below L (a user who compares every pair of m items: m - 1 against m(m - 1)/2).

The canonical mechanism draws one outcome among all sets of k items, so its noise does not grow with k as that of k
rounds does; the number of sets enters by its logarithm alone. Sets fall into classes of equal utility, by the best item
left out and the worst one taken: at most km classes of known sizes N. The largest of N independent noises is drawn at
once, and within the best class a set is uniform. Theorem and proof: :mod:`privrank_jax.privacy.selection`.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Int

from privrank_jax._types import Count, Key, Mask, MaskLike, Scalar, Scores, ScoresLike
from privrank_jax._validate import check_choice, check_positive, check_top
from privrank_jax._workarounds.threefry import fused
from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics, gumbel, laplace
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.selection import (
    canonical_change,
    one_shot_scale,
    peeling_scale,
    permute_and_flip_scale,
)

NOISES = ("exponential", "gumbel")  # of the canonical mechanism
MOST_CLASSES = 1_000_000  # k times m, for exact draws
_FEW = 30.0  # below e^-30 the first term of a series is all that doubles hold


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


def canonical_top_k(
    key: Key,
    wins: WinCounts | WinEdges | ScoresLike,
    privacy: Privacy,
    k: int,
    *,
    noise: str = "exponential",
    sensitivity: Scalar | None = None,
    total_change: Scalar | None = None,
    mask: MaskLike | None = None,
) -> Estimate:
    """The set of the k best items, in no order, by one draw among all sets of k items.

    A set counts its margin, the worst score in it less the best one outside, where it is negative; the margin of the
    best set counts θ times.

    **Guarantee.** ε-DP for the set at λ = B/ε: on win totals B = 2s + min(2s, L) under replacement and flips and 2s
    under ``add-remove``, where s bounds how far one unit can change one total; on other scores 4s; for k = 1 B = 2s,
    under ``add-remove`` s. θ = B/(2s) - 1, under ``add-remove`` B/s - 1. Tight: no smaller λ is ε-DP.

    Args:
        key: PRNG key.
        wins: win counts of m items, or scores, ``(m,)`` float, high = preferred.
        privacy: what is promised: unit comparison or user (with ``contributions`` L for win totals, which must
            hold in the data), any adjacency. ε = ∞ adds no noise (ties are then broken at random); ε and L may be
            traced.
        k: number of items, static, 1 <= k <= m.
        noise: ``"exponential"``: permute-and-flip over all sets, never worse; ``"gumbel"``: the exponential
            mechanism; static.
        sensitivity: s, public: how far one unit can change one score; half of that for scores that it moves all in
            one direction, such as totals of points of users who come or go. Needed with scores; for win totals the
            default is 1 for a comparison and L for a user, and a smaller bound may be given if no user compares an
            item more often than that.
        total_change: bound on the sum of all rises, and on that of all falls, of scores by one unit, public; ``None``
            takes L for win counts, and no bound for scores.
        mask: ``(m,)`` bool, real items, with scores (win counts carry their own).

    Returns:
        ``value``: item indices, ``(k,)`` int32, in increasing order, which reveals nothing more; -1 in places for
        which no real item is left. ``guarantee``: δ = 0. ``diagnostics``:
        :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, λ, public.

    Raises:
        ValueError: a promise that can't be kept, unknown names, users without ``contributions``, k out of range,
            scores without a sensitivity.

    Source: Shekelyan and Loukides (2022), *Differentially private top-k selection via canonical Lipschitz mechanism*,
    with θ = 0. The constants are ours.

    >>> wins = WinCounts.from_matrix([[0, 90, 95], [10, 0, 70], [5, 30, 0]])
    >>> promise = Privacy(2.0, unit="comparison", adjacency="replace")
    >>> canonical_top_k(jax.random.key(0), wins, promise, 2).value.tolist()
    [0, 1]
    """
    check_choice("noise", noise, NOISES)
    task = selection_task(wins, privacy, "canonical_top_k", k, sensitivity, mask)
    bounds = dict(task.bounds)
    if total_change is not None:
        check_positive("total_change", total_change, infinite=False)
        bounds["total_change"] = total_change
    check_positive("sensitivity", bounds["sensitivity"], infinite=False)
    change, reach = canonical_change(k, **bounds)
    attained = dataclasses.replace(task.attained, delta=0.0)
    scale = change / attained.epsilon
    lead = change / reach - 1
    value = _select_set(key, task.scores, task.mask, scale, k, noise, lead)
    return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(scale))


def choose_top_k(
    num_items: int,
    k: int,
    privacy: Privacy,
    *,
    sensitivity: Scalar | None = None,
    total_change: Scalar | None = None,
) -> str:
    """The mechanism for the k best items by totals, from public facts alone: ``"canonical"`` or ``"one-shot"``.

    ``"canonical"`` for L >= ks: for one item, and where one user can fully change all k totals, at most s each. The
    noise of :func:`~privrank_jax.pairwise.one_shot_top_k` is 2 min(ks, L)/ε, and that of :func:`canonical_top_k` hardly
    depends on k. Measured at 48fdee4, wherever the former misses up to a third of the items the latter
    misses fewer for L >= ks. For 1 <= L/s < k, k > 1, it is the reverse, or the two are about as good. Where noise
    hides the best items, one-shot always misses fewer, as its choice gets worse item by item and not all at once; but
    this depends on the totals, which must not decide. Of approvals L is the most items that a ballot may name, and
    s = 1; for L < k noisy totals of all items (:func:`~privrank_jax.aggregation.dp_scores`) have at most the noise of
    one-shot selection.

    Args:
        num_items: m; beyond a million places times items it is ``"one-shot"``.
        k: number of items.
        privacy: the promise, with ``contributions`` L for users; concrete.
        sensitivity: s, public; ``None`` takes L, or 1 for one comparison.
        total_change: L for other totals: what all rises, or all falls, add up to, public.

    Returns:
        The name, one of ``privrank rank --method``.

    Raises:
        ValueError: a promise that can't be kept, users without ``contributions``, k out of range.

    >>> users = Privacy(1.0, unit="user", adjacency="replace", contributions=10)
    >>> [choose_top_k(100, k, users, sensitivity=1) for k in (1, 10, 20)]
    ['canonical', 'canonical', 'one-shot']
    >>> choose_top_k(100, 2, users)
    'one-shot'
    """
    check_top(k, num_items)
    asked, every = of_comparisons(privacy, "choose_top_k"), total_change
    if every is None:
        every = asked.comparisons_per_unit
    one = every if sensitivity is None else sensitivity
    check_positive("sensitivity", one, infinite=False)
    few = k * num_items <= MOST_CLASSES
    return "canonical" if few and float(every) >= k * float(one) else "one-shot"


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


@functools.partial(jax.jit, static_argnames=("k", "noise"))
def _select_set(
    key: Key, scores: Scores, mask: Mask, scale: Scalar, k: int, noise: str, lead: Scalar
) -> Int[Array, "k"]:
    """One draw of the canonical mechanism by item index, -1 last; ``lead`` is θ."""
    shuffle, draw, fill = jax.random.split(fused(key), 3)
    items, best, real = _sorted(shuffle, scores, mask)
    ranks, size = jnp.arange(scores.shape[0]), jnp.minimum(k, real)
    out, worst = jnp.arange(k)[:, None], ranks  # the best item left out, and the worst one taken
    margins = jnp.where(worst < real, best - best[:k, None], 0)
    others = (out < size) & (worst >= size) & (worst < real)
    logs = jnp.where(others, _log_binomial(worst - out - 1, size - out - 1), -jnp.inf)
    # The best set has the first cell, which no other set has.
    margin = best[jnp.maximum(size - 1, 0)] - best[jnp.minimum(size, ranks[-1])]
    margins = margins.at[0, 0].set(jnp.where(size < real, lead * margin, 0))
    logs = logs.at[0, 0].set(0)
    found = _best_class(draw, margins, logs.astype(best.dtype), scale, noise)
    out, worst = jnp.divmod(found, scores.shape[0])
    out, worst = jnp.where(found == 0, size, out), jnp.where(found == 0, size - 1, worst)
    between = jnp.where((ranks > out) & (ranks < worst), jax.random.uniform(fill, ranks.shape), -1)
    first = jnp.where((ranks < out) | (ranks == worst), 2.0, between)
    taken = items[jax.lax.top_k(first, k)[1]]
    chosen = jnp.sort(jnp.where(jnp.arange(k) < size, taken, scores.shape[0]))
    return jnp.where(chosen < scores.shape[0], chosen, -1).astype(jnp.int32)


def _sorted(key: Key, scores: Scores, mask: Mask) -> tuple[Array, Scores, Array]:
    """Items best first, with equal ones at random, their scores, and how many are real; -inf for the others."""
    items = jax.random.permutation(key, scores.shape[0])
    real = jnp.where(mask, scores, -jnp.inf)[items]
    order = jnp.argsort(-real, stable=True)
    return items[order], real[order], jnp.sum(mask)


def _best_class(key: Key, utilities: Array, logs: Array, scale: Scalar, noise: str) -> Array:
    """The number of the cell with the largest utility plus the largest of e^logs noises."""
    if noise == "gumbel":
        largest = logs + jax.random.gumbel(key, logs.shape, logs.dtype)
    else:  # -log(1 - U^(1/N)), and U^(1/N) = exp(-e^small)
        drawn = jax.random.exponential(key, logs.shape, logs.dtype)
        small = jnp.log(drawn) - jnp.where(logs > -jnp.inf, logs, 0)
        whole = -jnp.log(-jnp.expm1(-jnp.exp(jnp.maximum(small, -_FEW))))
        largest = jnp.where(small < -_FEW, -small, whole)
    noisy = utilities + jnp.asarray(scale, logs.dtype) * largest
    return jnp.argmax(jnp.where(logs > -jnp.inf, noisy, -jnp.inf))


def _log_binomial(of: Array, chosen: Array) -> Array:
    """log (of choose chosen), -inf where there is no such choice."""
    possible = (chosen >= 0) & (chosen <= of)
    of, chosen = jnp.where(possible, of, 0), jnp.where(possible, chosen, 0)
    log = gammaln(of + 1.0) - gammaln(chosen + 1.0) - gammaln(of - chosen + 1.0)
    return jnp.where(possible, log, -jnp.inf)
