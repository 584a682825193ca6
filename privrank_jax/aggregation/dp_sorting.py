r"""KwikSort on noisy answers: noise only on the comparisons that the sort makes (Reduction II).

**Theorem.** Let w be the weights of n rankings (see :mod:`privrank_jax.aggregation.weights`; replacing one user moves
each entry by at most 1/n). The sort below, with Laplace noise of scale q/(n ε₁) on each of at most q answers and, where
it would ask a further query, a ranking from weights noised at ε₂ instead, is (ε₁ + ε₂)-DP: unit user, adjacency
``replace``. With Gaussian noise that makes √q/n (ε₁, δ)-DP it is (ε₁ + ε₂, δ)-DP.

*Proof.* Given pivots and earlier answers, the t-th query names one entry, of sensitivity 1/n, and its answer is
ε₁/q-DP; whether it is asked at all follows from what was answered before. At most q are answered, so the transcript
is ε₁-DP by adaptive composition. Gaussian answers: for neighbors whose t-th answers have means w_t and w_t + d_t,
|d_t| <= 1/n given the past, take X_1..X_q independent N(b/n, σ²), b = 0 or 1. The answer w_t + n d_t X_t + N(0, σ²(1
- n²d_t²)) is N(w_t + b d_t, σ²): the transcript is a post-processing of X, and X of its mean, which is one Gaussian
mechanism of sensitivity √q/n at σ (as in Dong, Roth and Su 2022, Corollary 3.3). Whether the budget was exceeded is
read off the transcript; the fallback (:func:`~privrank_jax.aggregation.noise_all` at ε₂, no δ) reads w again, so basic
composition adds ε₂. Sorting the transcript, Borda and local search are post-processing. ∎

A sort that stays within q spends only ε₁, but whether it does depends on the answers, so the guarantee is the sum.
Where q reaches m(m-1)/2, all pairs, the budget can't be exceeded: then there is no fallback and ε₁ = ε.

**When to use it.** The mean absolute value of its noise on an answer, q/(n ε₁), is below that of
:func:`~privrank_jax.aggregation.noise_all` on a weight, (m(m-1)/2 + 1)/(2nε) with K-norm noise, only for m >= 125 at
the even split (59 at 0.9), and it uses only about 2 m ln m of the pairs, where a solver of noised weights averages over
all of them. Measured on Mallows data (dispersion 0.9, n = 500, ε = 2, 100 runs), Kemeny score above the best known, as
a share of all pairs, *all* for noise on all pairs and local search:

====  ===========  ==========  =============  =============  ===============  ===============
m     even split   split 0.9   all, Laplace   all, K-norm    Borda, Laplace   Borda, K-norm
====  ===========  ==========  =============  =============  ===============  ===============
10    0.011        0.012       0.006          0.001          0.0003           0.0002
30    0.123        0.097       0.046          0.020          0.002            0.001
50    0.195        0.163       0.097          0.072          0.006            0.003
120   0.328        0.310       0.269          0.266          0.030            0.022
200   0.391        0.380       0.362          0.362          0.075            0.061
====  ===========  ==========  =============  =============  ===============  ===============

So noise on all pairs is the better choice at all these m, and private Borda
(:func:`~privrank_jax.aggregation.dp_borda`) the best throughout. Where q at the even split lies between m(m-1)/4 and
m(m-1)/2 (21 <= m <= 51 by default), ``max_queries=m(m-1)/2`` has the smaller noise and needs no fallback.

Source: Alabi, Ghazi, Kumar and Manurangsi (2022), Theorem 5, Corollaries 6 and 7, Algorithm 1, with the scale
corrected."""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from privrank_jax._types import (
    Count,
    Epsilon,
    Flags,
    Key,
    Mask,
    Numbers,
    PairMatrix,
    Ranks,
    Scalar,
)
from privrank_jax._validate import check_choice, is_traced
from privrank_jax.aggregation.diagnostics import SortDiagnostics
from privrank_jax.aggregation.fallback import replace_where
from privrank_jax.aggregation.local_moves import local_search
from privrank_jax.aggregation.noisy_sort import SortPlan, noisy_sort
from privrank_jax.aggregation.noisy_weights import noise_all
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.query_budgets import check_max_queries, check_split, query_budget
from privrank_jax.aggregation.weights import PairWeights, shares_of_users
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.calibration import additive_scale
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy


def dp_kwiksort(
    key: Key,
    weights: PairWeights,
    privacy: Privacy,
    *,
    noise: str = "laplace",
    max_queries: int | None = None,
    split: Scalar = 0.5,
    calibration: str = "tight",
) -> Estimate:
    """A private consensus ranking from at most q noisy comparisons.

    **Guarantee.** ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise, unit user, adjacency replace, and whatever
    these cover, the fallback included. Theorem, proof and advice on when to use it are at the head of this module:
    ``help(sys.modules[dp_kwiksort.__module__])``.

    ``calibration="published"`` reproduces Algorithm 1: Laplace noise of scale q/(nε) on the queries *and* ε/2 for the
    fallback, 1.5ε in total; the guarantee states that.

    Args:
        key: PRNG key.
        weights: of n users; an item goes before its pivot where w_item,pivot plus noise exceeds 1/2. Masked items get
            the last ranks, in index order.
        privacy: what is promised: unit user, adjacency replace. ε and δ may be traced; ε = ∞ adds no noise.
        noise: of the answers: ``"laplace"``, or ``"gaussian"`` for a promise with δ > 0, all of it spent on the
            queries. The fallback has K-norm noise, the published one Laplace noise.
        max_queries: q >= 1, an int; None for :func:`~privrank_jax.aggregation.query_budget`. A q above the
            number of pairs is reduced to it.
        split: share of ε for the queries, in (0, 1), may be traced; not used where no fallback is needed.
        calibration: ``"tight"`` or ``"published"``.

    Returns:
        ``value``: ranks ``(m,)``, int32, 0 = best. ``guarantee``. ``diagnostics``:
        :class:`~privrank_jax.aggregation.diagnostics.SortDiagnostics`, ``exceeded`` where the ranking is the
        fallback's.

    Raises:
        TypeError: a plain matrix in place of weights.
        ValueError: a promise that this can't keep, Gaussian noise without δ, q or split out of range, weights that
            don't fit, a published calibration with Gaussian noise or a split.

    >>> weights = PairWeights(jnp.array([[0.0, 0.9, 0.8], [0.1, 0.0, 0.7], [0.2, 0.3, 0.0]]), 10_000)
    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> dp_kwiksort(jax.random.key(0), weights, privacy).value.tolist()
    [0, 1, 2]
    """
    attained = of_rankings(privacy, "dp_kwiksort", noise)
    w, users, mask = shares_of_users(weights, "dp_kwiksort")
    check_choice("calibration", calibration, ("tight", "published"))
    plan, may_exceed = kwiksort_plan(
        weights, privacy, noise=noise, max_queries=max_queries, split=split, calibration=calibration
    )
    published = calibration == "published"
    ranks, queries, exceeded = _dp_kwiksort(
        key, w, users, plan.scale, plan.of_fallback, plan.budget, mask, noise=noise, may_exceed=may_exceed,
        fallback_noise="laplace" if published else "k-norm",
    )  # fmt: skip
    note = ""
    if published:
        items = w.shape[0] if mask is None else jnp.sum(mask)
        short = plan.budget < items * (items - 1) // 2
        proven = attained.epsilon + jnp.where(short, plan.of_fallback, 0.0)
        attained = dataclasses.replace(attained, epsilon=proven)
        note = "published as epsilon, but the fallback adds half of it." if may_exceed else ""
    return Estimate(
        ranks,
        Guarantee(privacy, attained, note=note),
        SortDiagnostics(queries, exceeded, plan.scale, plan.budget),
    )


def kwiksort_plan(
    weights: PairWeights,
    privacy: Privacy,
    *,
    noise: str = "laplace",
    max_queries: int | None = None,
    split: Scalar = 0.5,
    calibration: str = "tight",
) -> tuple[SortPlan, bool]:
    """Noise, budget and ε of the fallback of :func:`dp_kwiksort`, which describes arguments and errors.

    Returns:
        The plan, and whether its budget can be exceeded, so that there is a fallback.
    """
    attained = of_rankings(privacy, "dp_kwiksort", noise)
    w, users, mask = shares_of_users(weights, "dp_kwiksort")
    check_split(split)
    if calibration == "published" and (
        noise != "laplace" or is_traced(split) or np.any(split != 0.5)
    ):
        raise ValueError(
            "the published calibration has Laplace noise and an even split: leave noise and split at their defaults."
        )
    budget, pairs, may_exceed = _budgets(w.shape[0], max_queries, mask)
    exceeding = budget < pairs if may_exceed else False
    of_queries, of_fallback = _shares(exceeding, attained.epsilon, split, calibration)
    most = jnp.maximum(budget, 1) if is_traced(budget) else np.maximum(budget, 1)
    asked = dataclasses.replace(attained, epsilon=of_queries)
    scale = additive_scale(noise, asked, most / users, most**0.5 / users)
    return SortPlan(scale, noise == "gaussian", budget, of_fallback), may_exceed


def _budgets(
    num_items: int, max_queries: int | None, mask: Mask | None
) -> tuple[Count, Count, bool]:
    """(q, all pairs, whether q can ever be exceeded), for the real items."""
    sizes = np.arange(num_items + 1)
    pairs = sizes * (sizes - 1) // 2
    if max_queries is None:
        budgets = query_budget(sizes)
    else:
        check_max_queries(max_queries)
        budgets = np.minimum(pairs, max_queries)
    if mask is None:
        return int(budgets[-1]), int(pairs[-1]), bool(budgets[-1] < pairs[-1])
    real = jnp.sum(mask)
    return jnp.asarray(budgets)[real], jnp.asarray(pairs)[real], bool(np.any(budgets < pairs))


def _shares(
    may_exceed: Flags, epsilon: Epsilon, split: Scalar, calibration: str
) -> tuple[Scalar, Scalar]:
    """ε of the queries and of the fallback; all of it for the queries where q can't be exceeded."""
    if calibration == "published":
        return epsilon, 0.5 * epsilon
    share = (
        jnp.where(may_exceed, split, 1.0) if is_traced(may_exceed) else split if may_exceed else 1.0
    )
    return share * epsilon, (1 - split) * epsilon


@functools.partial(jax.jit, static_argnames=("noise", "may_exceed", "fallback_noise"))
def _dp_kwiksort(
    key: Key, w: PairMatrix, num_users: Count, scale: Numbers, of_fallback: Scalar, budget: Count,
    mask: Mask | None, *, noise: str, may_exceed: bool, fallback_noise: str,
) -> tuple[Ranks, Int[Array, ""], Bool[Array, ""]]:  # fmt: skip
    """Ranks, queries answered, whether the budget was exceeded."""
    plan = SortPlan(scale, noise == "gaussian", budget, of_fallback)
    found = noisy_sort(key, w, plan, mask, shuffled=False)
    ranks = found.ranks
    if may_exceed:
        keep = jnp.ones(w.shape[:1], bool) if mask is None else mask
        users, share = jnp.asarray(num_users, w.dtype), jnp.asarray(of_fallback, w.dtype)
        rank_all = functools.partial(_noise_all_ranks, noise=fallback_noise)
        ranks = replace_where(
            found.exceeded, ranks, rank_all, found.left_key, w, users, share, keep
        )
    return ranks, found.queries, found.exceeded


def _noise_all_ranks(
    key: Key, w: PairMatrix, num_users: Array, epsilon: Array, mask: Mask, *, noise: str
) -> Ranks:
    """The fallback: weights noised at ε (unit user, adjacency replace), ranked by local search from Borda."""
    privacy = Privacy(epsilon, unit="user", adjacency="replace")
    noisy = noise_all(key, PairWeights(w, num_users, mask), privacy, noise=noise).value
    return local_search(noisy, mask=mask)
