r"""KwikSort on noisy answers: noise only on the comparisons that the sort makes (Reduction II).

**Theorem.** Let w be the weights of n rankings (see :mod:`privrank_jax.aggregation.weights`; replacing one user moves
each entry by at most 1/n). The sort below, with Laplace noise of scale q/(n ε₁) on each of at most q answers and, where
it would ask a further query, a ranking from weights noised at ε₂ instead, is (ε₁ + ε₂)-DP: unit user, adjacency
``replace``. With Gaussian noise that makes √q/n (ε₁, δ)-DP it is (ε₁ + ε₂, δ)-DP.

*Proof.* Given pivots and earlier answers, the t-th query names one entry, of sensitivity 1/n, and its answer is
ε₁/q-DP; whether it is asked at all follows from what was answered before. At most q are answered, so the transcript
is ε₁-DP by adaptive composition.

Gaussian answers: for neighbors whose t-th answers have means w_t and w_t + d_t,
|d_t| <= 1/n given the past, take X_1..X_q independent N(b/n, σ²), b = 0 or 1. The answer w_t + n d_t X_t + N(0, σ²(1
- n²d_t²)) is N(w_t + b d_t, σ²): the transcript is a post-processing of X, and X of its mean, which is one Gaussian
mechanism of sensitivity √q/n at σ (as in Dong, Roth and Su 2022, Corollary 3.3). Whether the budget was exceeded is
read off the transcript; the fallback (:func:`~privrank_jax.aggregation.noise_all` at ε₂, no δ) reads w again, so basic
composition adds ε₂. Sorting the transcript, Borda and local search are post-processing. ∎

Where q reaches m(m-1)/2, all pairs, the budget can't be exceeded: then there is no fallback and ε₁ = ε.

**When to use it.** Its noise on an answer, q/(n ε₁) in the mean, is below that of
:func:`~privrank_jax.aggregation.noise_all` on a weight, (m(m-1)/2 + 1)/(2nε), only for m >= 125 at the even split (59
at 0.9). On Mallows data (dispersion 0.9, n = 500, ε = 2, m = 10 to 200) noise on all pairs was better at all m, and
private Borda best (:func:`~privrank_jax.aggregation.dp_borda`). For 21 <= m <= 51 at the even split
``max_queries=m(m-1)/2`` has the smaller noise and needs no fallback.

**Exactly.** Twice the number of users who rank i before j is an integer, which one user changes by at most 2. Each
answer is such an integer with integer Laplace noise that is ε₁/q-DP, that quotient rounded down, or with rounded
Gaussian noise, whose σ is that of a sensitivity of 2√q at (ε₁, δ). ε₁ + ε₂ ≤ ε, the sum taken exactly. Pivots come from
the operating system's entropy.

**Without a fallback** (:func:`hay_kwiksort`). Hay, Elagina and Miklau (2017) spend all of ε on at most q comparisons.
When a sort would need more, they publish what is sorted so far with the rest in random order. That order does not read
the data, so the proof above holds without ε₂. The variant follows its description in Alabi et al. (2022), section 1.
The budget and the order of work are ours: q defaults to ⌈m log₂ m⌉, a little above the mean number of comparisons; a
round that would exceed q is not started, so every open segment keeps its place and is shuffled inside.

Source: Alabi, Ghazi, Kumar and Manurangsi (2022), Theorem 5, Corollaries 6 and 7, Algorithm 1, with the scale
corrected (as printed: :mod:`privrank_jax.aggregation.published`).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, PyTree

from privrank_jax._quickly import quickly
from privrank_jax._types import Count, Flags, Key, Mask, Numbers, PairMatrix, Ranks, Scalar
from privrank_jax._validate import is_traced
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.diagnostics import SortDiagnostics
from privrank_jax.aggregation.kemeny_rule import local_search
from privrank_jax.aggregation.noisy_weights import noise_all
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.query_budgets import check_sort, query_budget
from privrank_jax.aggregation.sorting import Round, Sorted, partition_sort
from privrank_jax.aggregation.weights import PairWeights, shares_of_users, whole_counts
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.data import Facts
from privrank_jax.mechanism.program import mechanism
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import gaussian, laplace
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.rankings import order_to_ranks

CHANGE = 2  # of twice a count by one user


class SortPlan(NamedTuple):
    """What a private sort may spend, and on what; several, stacked, are one program.

    Attributes:
        scale: of the noise on an answer.
        is_gaussian: whether the noise is Gaussian, not Laplace.
        budget: q, the most queries that are answered.
        of_fallback: ε of the ranking that replaces a sort of more queries; 0 if none does.
    """

    scale: Numbers
    is_gaussian: Flags
    budget: Count
    of_fallback: Scalar


def facts_of(weights: PairWeights, by: str) -> tuple[PairMatrix, Facts]:
    """Shares of users, checked for the mechanism of this name, and what is public of them."""
    matrix, users, mask = shares_of_users(weights, by)
    return matrix, Facts(matrix.shape[0], users, mask)


# --- with a fallback -------------------------------------------------------------------------------


def _release(
    weights: PairWeights,
    privacy: Privacy,
    *,
    noise: str = "laplace",
    max_queries: int | None = None,
    split: float = 0.5,
) -> Estimate:
    from privrank_jax.exact.integer_noise import exact_estimate, exact_promise, largest_below

    attained = exact_promise(of_rankings(privacy, "dp_kwiksort", noise))
    counts, items = whole_counts(weights), weights.num_items
    check_sort(max_queries, split)
    budgets, pairs = _budgets(items, max_queries, query_budget)
    budget, of_queries, of_fallback = int(budgets[-1]), attained.epsilon, 0.0
    if budget < pairs[-1]:
        of_queries = float(split * attained.epsilon)
        of_fallback = largest_below(Fraction(attained.epsilon) - Fraction(of_queries))
    asked = dataclasses.replace(attained, epsilon=of_queries)
    segments, told, rho = _sorted_exactly(weights, counts, asked, noise, budget)
    if told.exceeded:
        rest = dataclasses.replace(attained, epsilon=of_fallback, delta=0.0)
        noisy = noise_all.release(weights, rest)
        with jax.enable_x64(True):
            value = np.asarray(quickly(local_search, noisy.value), np.int32)
    else:
        value = np.argsort(np.concatenate(segments)).astype(np.int32)
    if budget < pairs[-1]:  # the fallback has noise of another kind
        return exact_estimate(value, privacy, attained, told)
    changes = (CHANGE,) * budget if noise == "laplace" else ()
    return exact_estimate(value, privacy, attained, told, changes=changes, rho=rho)


def _sorted_exactly(
    weights: PairWeights, counts: np.ndarray, asked: Privacy, noise: str, budget: int
) -> tuple[list[list[int]], SortDiagnostics, float | None]:
    """Segments, sorted as far as the budget goes, what is said of them, and ρ of the answers."""
    from privrank_jax.exact.integer_noise import concentrated, integer_noise, largest_below
    from privrank_jax.exact.sorting import partitioned

    users, change = int(weights.num_users), CHANGE * math.sqrt(budget)
    if noise == "laplace":
        each = largest_below(Fraction(asked.epsilon) / budget)
        asked, change = dataclasses.replace(asked, epsilon=each), float(CHANGE)
    add_noise, scale = integer_noise(noise, asked, change)

    def before(pairs: list[tuple[int, int]]) -> list[bool]:
        """Whether more than half of the users rank the first item of each pair ahead, up to noise."""
        return (add_noise(counts[tuple(np.transpose(pairs))]) > users).tolist()

    segments, queries = partitioned(len(counts), before, budget)
    exceeded = any(len(segment) > 1 for segment in segments)
    told = SortDiagnostics(queries, exceeded, scale / (2 * users), budget)
    return segments, told, concentrated(noise, change, scale)


@mechanism(
    release=_release,
    scale=lambda privacy, facts, **settings: kwiksort_plan(privacy, facts, **settings)[0].scale,
)
def dp_kwiksort(
    key: Key,
    weights: PairWeights,
    privacy: Privacy,
    *,
    noise: str = "laplace",
    max_queries: int | None = None,
    split: Scalar = 0.5,
) -> Estimate:
    """A private consensus ranking from at most q noisy comparisons.

    **Guarantee.** ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise, unit user, adjacency replace, and whatever
    these cover, the fallback included; proof and advice at the head of :mod:`privrank_jax.aggregation.dp_sorting`.

    Args:
        key: PRNG key.
        weights: of n users; masked items get the last ranks, in index order.
        privacy: what is promised; ε and δ may be traced, ε = ∞ adds no noise.
        noise: of the answers, ``"laplace"`` or ``"gaussian"`` (needs δ > 0); the fallback has K-norm noise.
        max_queries: q >= 1, at most all pairs; None for :func:`~privrank_jax.aggregation.query_budgets.query_budget`.
        split: share of ε for the queries, in (0, 1), may be traced; all of it where no fallback is needed.

    Returns:
        ``value``: ranks ``(m,)``, int32, 0 = best. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.aggregation.diagnostics.SortDiagnostics`, ``exceeded`` where the fallback ranks.

    Raises:
        TypeError: a plain matrix in place of weights.
        ValueError: a promise that this can't keep, q or split out of range, weights that don't fit.

    >>> weights = PairWeights(jnp.array([[0.0, 0.9, 0.8], [0.1, 0.0, 0.7], [0.2, 0.3, 0.0]]), 10_000)
    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> dp_kwiksort(jax.random.key(0), weights, privacy).value.tolist()
    [0, 1, 2]
    """
    attained = of_rankings(privacy, "dp_kwiksort", noise)
    w, facts = facts_of(weights, "dp_kwiksort")
    plan, may_exceed = kwiksort_plan(
        privacy, facts, noise=noise, max_queries=max_queries, split=split
    )
    guarantee = Guarantee(privacy, attained)
    return sorted_by(
        key, w, facts, plan, guarantee, fallback_noise="k-norm" if may_exceed else None
    )


def kwiksort_plan(
    privacy: Privacy,
    facts: Facts,
    *,
    noise: str = "laplace",
    max_queries: int | None = None,
    split: Scalar = 0.5,
) -> tuple[SortPlan, bool]:
    """Noise, budget and ε of the fallback of :func:`dp_kwiksort`, and whether that budget can be exceeded."""
    attained = of_rankings(privacy, "dp_kwiksort", noise)
    check_sort(max_queries, split)
    budgets, pairs = _budgets(facts.num_items, max_queries, query_budget)
    short = budgets < pairs
    may_exceed = bool(short[-1] if facts.mask is None else short.any())
    exceeding = _of_real(facts, short)
    share = jnp.where(exceeding, split, 1.0) if is_traced(exceeding) else split if exceeding else 1
    asked, budget = share * attained.epsilon, _of_real(facts, budgets)
    scale = _scale(noise, dataclasses.replace(attained, epsilon=asked), facts, budget)
    return SortPlan(scale, noise == "gaussian", budget, (1 - split) * attained.epsilon), may_exceed


def _budgets(
    num_items: int, max_queries: int | None, usual: Callable[[int], int]
) -> tuple[np.ndarray, np.ndarray]:
    """q and all pairs, for up to so many items."""
    pairs = np.arange(num_items + 1) * np.arange(-1, num_items) // 2
    asked = [usual(size) if max_queries is None else max_queries for size in range(num_items + 1)]
    return np.minimum(pairs, asked), pairs


def _of_real(facts: Facts, table: np.ndarray) -> Any:
    """The entry for the number of real items."""
    if facts.mask is None:
        return int(table[-1])
    return jnp.asarray(table)[jnp.sum(facts.mask)]


def _scale(noise: str, asked: Privacy, facts: Facts, budget: Count) -> Any:
    most = (jnp if is_traced(budget) else np).maximum(budget, 1)
    return additive_scale(noise, asked, most / facts.num_users, most**0.5 / facts.num_users)


# --- without one -----------------------------------------------------------------------------------


def _release_shuffled(
    weights: PairWeights, privacy: Privacy, *, max_queries: int | None = None
) -> Estimate:
    from privrank_jax.exact.integer_noise import exact_estimate, exact_promise
    from privrank_jax.exact.sorting import shuffled

    attained = exact_promise(of_rankings(privacy, "hay_kwiksort"))
    counts, facts = whole_counts(weights), Facts(weights.num_items, weights.num_users)
    budget = int(hay_plan(attained, facts, max_queries=max_queries).budget)
    segments, told, _ = _sorted_exactly(weights, counts, attained, "laplace", budget)
    order = np.concatenate([shuffled(one) for one in segments])
    return exact_estimate(np.argsort(order).astype(np.int32), privacy, attained, told)


@mechanism(
    release=_release_shuffled,
    scale=lambda privacy, facts, **settings: hay_plan(privacy, facts, **settings).scale,
)
def hay_kwiksort(
    key: Key, weights: PairWeights, privacy: Privacy, *, max_queries: int | None = None
) -> Estimate:
    """A private ranking from at most q noisy comparisons; items left unsorted come in random order.

    **Guarantee.** ε-DP, unit user, adjacency replace, and whatever these cover, with Laplace noise of scale q/(nε) on
    the answers; proof at the head of :mod:`privrank_jax.aggregation.dp_sorting`.

    By default q = ⌈m log₂ m⌉, m the real items; ``exceeded`` says that something was shuffled. Other arguments, results
    and errors: as of :func:`~privrank_jax.aggregation.dp_kwiksort`.

    Source: Hay, Elagina and Miklau (2017), as Alabi et al. (2022) describe it.

    >>> weights = PairWeights.from_ranks([[2, 0, 1]] * 10_000)
    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> hay_kwiksort(jax.random.key(0), weights, privacy, max_queries=3).value.tolist()
    [2, 0, 1]
    """
    attained = of_rankings(privacy, "hay_kwiksort")
    w, facts = facts_of(weights, "hay_kwiksort")
    plan = hay_plan(privacy, facts, max_queries=max_queries)
    return sorted_by(key, w, facts, plan, Guarantee(privacy, attained), shuffled=True)


def hay_plan(privacy: Privacy, facts: Facts, *, max_queries: int | None = None) -> SortPlan:
    """Noise and budget of :func:`hay_kwiksort`, which describes arguments and errors."""
    attained = of_rankings(privacy, "hay_kwiksort")
    check_sort(max_queries)
    budgets, _ = _budgets(facts.num_items, max_queries, default_queries)
    budget = _of_real(facts, np.maximum(budgets, 1))
    return SortPlan(_scale("laplace", attained, facts, budget), False, budget, 0.0)


def default_queries(num_items: int) -> int:
    """⌈m log₂ m⌉, at least 1."""
    return max(1, math.ceil(num_items * math.log2(max(num_items, 1))))


# --- the sort --------------------------------------------------------------------------------------


def sorted_by(
    key: Key,
    w: PairMatrix,
    facts: Facts,
    plan: SortPlan,
    guarantee: Guarantee,
    *,
    shuffled: bool = False,
    fallback_noise: str | None = None,
) -> Estimate:
    """Sort by a plan; if it exceeds its budget, a ranking of weights with this noise takes its place."""
    found = _sorted_by(
        key, w, facts.num_users, plan, facts.mask, is_gaussian=bool(plan.is_gaussian),
        fallback_noise=fallback_noise, shuffled=shuffled,
    )  # fmt: skip
    told = SortDiagnostics(found.queries, found.stopped, plan.scale, plan.budget)
    return Estimate(found.ranks, guarantee, told)


@functools.partial(jax.jit, static_argnames=("is_gaussian", "fallback_noise", "shuffled"))
def _sorted_by(
    key: Key, w: PairMatrix, num_users: Count, plan: SortPlan, mask: Mask | None, *,
    is_gaussian: bool, fallback_noise: str | None, shuffled: bool,
) -> Sorted:  # fmt: skip
    found = noisy_sort(key, w, plan._replace(is_gaussian=is_gaussian), mask, shuffled=shuffled)
    if fallback_noise is None:
        return found
    rank_all = functools.partial(noise_all_ranks, noise=fallback_noise)
    rest = Privacy(plan.of_fallback, unit="user", adjacency="replace")
    return found.or_else(rank_all, PairWeights(w, num_users, mask), rest)


def noise_all_ranks(
    key: Key, weights: PairWeights, privacy: Privacy, *, noise: str = "k-norm"
) -> Ranks:
    """The fallback: noised weights, ranked by local search from Borda."""
    noisy = noise_all(key, weights, privacy, noise=noise).value
    return local_search(noisy, mask=weights.mask)


def noisy_sort(
    key: Key, w: PairMatrix, plan: SortPlan, mask: Mask | None, *, shuffled: bool
) -> Sorted:
    """Sort by noisy answers to at most ``plan.budget`` queries, and shuffle each segment that is left unsorted."""
    sort_key, left_key = jax.random.split(fused(key))

    def answer(key: Key, asking: Round, state: PyTree) -> tuple[Mask, PyTree, Bool[Array, ""]]:
        weights = w[asking.items, asking.pivots]
        return weights + _noise(key, plan, weights) > 0.5, state, jnp.bool_(False)

    sorting = partition_sort(sort_key, w.shape[0], answer, (), plan.budget, mask)
    order = sorting.order
    if shuffled:
        draw = jax.random.uniform(left_key, order.shape, jnp.float32)
        order = order[jnp.lexsort((draw, sorting.start))]
    return Sorted(order_to_ranks(order), sorting.queries, sorting.stopped, left_key)


def _noise(key: Key, plan: SortPlan, like: Array) -> Array:
    if not is_traced(plan.is_gaussian):
        return (gaussian if plan.is_gaussian else laplace)(key, like.shape, plan.scale, like.dtype)
    drawn = (draw(key, like.shape, plan.scale, like.dtype) for draw in (gaussian, laplace))
    return jnp.where(plan.is_gaussian, *drawn)
