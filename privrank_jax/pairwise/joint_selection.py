"""The k best items, privately, all at once: the joint and the canonical mechanism, and the choice between mechanisms.

Both draw one outcome among all lists or sets of k items, so their noise does not grow with k as that of k rounds does;
the number of outcomes enters by its logarithm alone. Theorem and proof are at the head of
:mod:`privrank_jax.privacy.selection`.

**Sampling.** Outcomes fall into classes of equal utility: for lists the place i that is first to attain max (x_(i) -
x_{o_i}) and its item, for sets the best item left out and the worst one taken. There are at most km classes of known
sizes N; the largest of N independent noises is drawn at once, and within the best class an outcome is uniform. The
classes of lists are those of the first source without its tie breaks, those of sets as in the second.
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
from jax.scipy.special import gammaln
from jaxtyping import Array, Int

from privrank_jax._types import Key, Mask, MaskLike, Scalar, Scores, ScoresLike
from privrank_jax._validate import check_choice, check_positive, check_top
from privrank_jax._workarounds.threefry import fused
from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.pairwise.top_k import selection_task
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.selection import joint_change

NOISES = ("exponential", "gumbel")
MOST_CLASSES = 1_000_000  # k times m, for exact draws
_FEW = 30.0  # below e^-30 the first term of a series is all that doubles hold


def joint_top_k(
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
    """The k best items in order, by one draw among all lists of k items.

    A list counts -max_i (x_(i) - x_{o_i}), the most by which the i-th place falls short of the i-th best score.

    **Guarantee.** ε-DP for the ordered list at λ = B/ε: on win totals B = 2s + min(2s, L) under replacement and flips
    and 2s under ``add-remove``, where s bounds how far one unit can change one total; on other scores 4s; for k = 1
    B = 2s, under ``add-remove`` s.

    Args:
        key: PRNG key.
        wins: win counts of m items, or scores, ``(m,)`` float, high = preferred.
        privacy: what is promised: unit comparison or user (with ``contributions`` L for win totals, which must
            hold in the data), any adjacency. ε = ∞ adds no noise (ties are then broken at random); ε and L may be
            traced.
        k: number of items, static, 1 <= k <= m.
        noise: ``"exponential"``: permute-and-flip over all outcomes, never worse; ``"gumbel"``: the exponential
            mechanism, as in the first source; static.
        sensitivity: s, public: how far one unit can change one score; half of that for scores that it moves all in
            one direction, such as totals of points of users who come or go. Needed with scores; for win totals the
            default is 1 for a comparison and L for a user, and a smaller bound may be given if no user compares an
            item more often than that.
        total_change: bound on the sum of all rises, and on that of all falls, of scores by one unit, public; ``None``
            takes L for win counts, and no bound for scores.
        mask: ``(m,)`` bool, real items, with scores (win counts carry their own).

    Returns:
        ``value``: item indices, ``(k,)`` int32, best first; -1 in places for which no real item is left.
        ``guarantee``: δ = 0. ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, λ, public.

    Raises:
        ValueError: a promise that can't be kept, unknown names, users without ``contributions``, k out of range,
            scores without a sensitivity.

    Source: Gillenwater, Joseph, Muñoz Medina and Ribero (2022), *A joint exponential mechanism for differentially
    private top-k*, ICML. The constant for totals, and permute-and-flip, are ours.

    >>> wins = WinCounts.from_matrix([[0, 90, 95], [10, 0, 70], [5, 30, 0]])
    >>> promise = Privacy(2.0, unit="comparison", adjacency="replace")
    >>> joint_top_k(jax.random.key(0), wins, promise, 2).value.tolist()
    [0, 1]
    """
    return _selected("joint_top_k", key, wins, privacy, k, noise, sensitivity, total_change, mask)


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

    **Guarantee.** ε-DP for the set, at λ = B/ε with the B of :func:`joint_top_k` and θ = B/(2s) - 1, under
    ``add-remove`` B/s - 1. Tight: no smaller λ is ε-DP.

    Arguments and errors: as for :func:`joint_top_k`.

    Returns:
        ``value``: item indices, ``(k,)`` int32, in increasing order, which reveals nothing more; -1 in places for
        which no real item is left. ``guarantee``, ``diagnostics``: as there.

    Source: Shekelyan and Loukides (2022), *Differentially private top-k selection via canonical Lipschitz mechanism*,
    with θ = 0. The constants are ours.

    >>> wins = WinCounts.from_matrix([[0, 90, 95], [10, 0, 70], [5, 30, 0]])
    >>> promise = Privacy(2.0, unit="comparison", adjacency="replace")
    >>> canonical_top_k(jax.random.key(0), wins, promise, 2).value.tolist()
    [0, 1]
    """
    return _selected(
        "canonical_top_k", key, wins, privacy, k, noise, sensitivity, total_change, mask
    )


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
    depends on k. In the study ``cai-top-lists``, wherever the former misses up to a third of the items the latter
    misses fewer for L >= ks. For 1 <= L/s < k, k > 1, it is the reverse, or the two are about as good. Where noise
    hides the best items, one-shot always misses fewer, as its choice gets worse item by item and not all at once; but
    this depends on the totals, which must not decide. :func:`joint_top_k` is never better than the better one of the
    two by its set of items: it is for who needs the order. Of approvals L is the most items that a ballot may name, and
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


def _selected(
    by: str,
    key: Key,
    wins: WinCounts | WinEdges | ScoresLike,
    privacy: Privacy,
    k: int,
    noise: str,
    sensitivity: Scalar | None,
    total_change: Scalar | None,
    mask: MaskLike | None,
) -> Estimate:
    check_choice("noise", noise, NOISES)
    task = selection_task(wins, privacy, by, k, sensitivity, mask)
    bounds = dict(task.bounds)
    if total_change is not None:
        check_positive("total_change", total_change, infinite=False)
        bounds["total_change"] = total_change
    check_positive("sensitivity", bounds["sensitivity"], infinite=False)
    change, reach = joint_change(k, **bounds)
    attained = dataclasses.replace(task.attained, delta=0.0)
    scale = change / attained.epsilon
    given = key, task.scores, task.mask, scale, k, noise
    lead = change / reach - 1
    value = select_list(*given) if by == "joint_top_k" else select_set(*given, lead)
    return Estimate(value, Guarantee(privacy, attained), NoiseDiagnostics(scale))


@functools.partial(jax.jit, static_argnames=("k", "noise"))
def select_list(
    key: Key, scores: Scores, mask: Mask, scale: Scalar, k: int, noise: str
) -> Int[Array, "k"]:
    """One draw of the joint mechanism, best first; -1 where no real item is left."""
    shuffle, draw, fill = jax.random.split(fused(key), 3)
    items, best, real = _sorted(shuffle, scores, mask)
    places, size = jnp.arange(k), jnp.minimum(k, real)
    ranks = jnp.arange(scores.shape[0])
    short = best[:k, None] - best  # row i, column j: place i has the j-th best item

    def reach(place: Array, short: Array, first: Array) -> Array:
        """Items that fall short of this place by at most ``short``, by less in places before the first that does."""
        least = best[place] - short
        strict = jnp.searchsorted(-best, -least, side="left")
        return jnp.where(place < first, strict, jnp.searchsorted(-best, -least, side="right"))

    def counted(logs: Array, place: Array) -> tuple[Array, None]:
        left = reach(place, short, places[:, None]) - place
        log = jnp.where(left > 0, jnp.log(jnp.maximum(left, 1).astype(logs.dtype)), -jnp.inf)
        own = (place == places[:, None]) | (place >= size)
        return logs + jnp.where(own, 0.0, log), None

    allowed = (places[:, None] < size) & (ranks < real) & (short >= 0)
    logs = jnp.where(allowed, jnp.zeros((), best.dtype), -jnp.inf)
    logs, _ = jax.lax.scan(counted, logs, places)
    found = _best_class(draw, -short, logs, scale, noise)
    first, rank = jnp.divmod(found, scores.shape[0])

    def pick(free: Array, given: tuple[Array, Array]) -> tuple[Array, Array]:
        place, key = given
        among = free & (ranks < reach(place, short[first, rank], first))
        drawn = jnp.argmax(jnp.where(among, jax.random.uniform(key, ranks.shape), -1.0))
        drawn = jnp.where(place == first, rank, drawn)
        return free.at[drawn].set(False), jnp.where(place < size, items[drawn], -1)

    keys = jax.random.split(fill, k)
    return jax.lax.scan(pick, ranks < real, (places, keys))[1].astype(jnp.int32)


@functools.partial(jax.jit, static_argnames=("k", "noise"))
def select_set(
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
