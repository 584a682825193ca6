r"""KwikSort by questions to groups of users, each of whom randomizes the answer locally.

The n users are split at random into g groups, by default m. A query (j, i) goes to a group drawn uniformly and
independently of everything before; each of its users says by randomized response whether j comes before i; the majority
of the responses decides. A group answers at most τ queries: a round in which one would be
asked more often is not started, and a ranking from one report per user on all pairs (the ℓ₂ mechanism of Duchi, Jordan
and Wainwright) replaces the sort. It is simulated, all users at once.

**The response.** The truth is v = 1 (j before i), -1 (behind) or 0 (tied); r = ±1 is 1 with probability (1 + v t)/2,
t = tanh(ε₀/2). The loss between v = 1 and v = -1 is ε₀, attained, and r/t is unbiased for v: w̃ = (1 + mean(r)/t)/2,
of variance at most 1/(4t²g) from g users.

**Theorem.** With responses at ε₀ and the fallback's report at ε₂, each user's part of the transcript is
(τ ε₀ + ε₂)-DP in the local model, any interaction allowed. *Proof.* Fix all other users and their randomness.
Given the past, which question comes next depends on this user's ranking only through the user's own responses;
each response has loss at most ε₀, at most τ are given, then at most one report of loss at most ε₂; the
conditional losses add up. ∎ With ε₀ = ε₁/τ and ε₁ + ε₂ = ε that is ε.

**How many uses τ.** The published rule is τ = 2q/m with q such that *any* q queries overload some group with
probability at most 1/m⁴, q = 8.7 to 11.7 m ln m. But a sort makes far fewer queries: with T their number, known
exactly, a group's uses are Binomial(T, 1/m), and τ with m Pr[uses > τ] <= 1/m⁴ is 3 times smaller
(:func:`~privrank_jax.aggregation.query_budgets.use_budget`, the default). That law presumes transitive answers; others
change only how often the fallback is needed. Where τ reaches m(m-1)/2, all pairs, or comes so close that
ε/(m(m-1)/2) beats ε₁/τ, no use is ever refused: there is no fallback, and ε₁ = ε.

**How many groups.** The error of an answer from n/g users at ε₁/τ is τ√g/(ε₁√n) at small ε, and τ is near 2q/g while
that is large; for q beyond m log m, g of the order of q/log m lowers the error from q/√m to √(q log m), up to ε√n (the
paper's appendix A.2).

**When to use it.** Measured on Mallows data (m = 30, dispersion 0.8, n = 20,000, ε = 4, 40 runs), Kemeny score above
the best known as a share of all pairs: 0.123 (split 0.9: 0.045; with the published q, τ = 69 instead of 20: 0.241),
against 0.004 for :func:`~privrank_jax.aggregation.local_weights` with local
search and 0.001 for :func:`~privrank_jax.aggregation.ldp_borda`, which need no interaction.

Source: Alabi, Ghazi, Kumar and Manurangsi (2022), Lemma 10, Theorem 11, Algorithms 2 and 3, with uses counted per query
(as printed: :mod:`privrank_jax.aggregation.published`); Bassily (2019).
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Integer

from privrank_jax._arguments import is_whole
from privrank_jax._types import Count, Flags, Integers, Key, Rankings, RankingsLike, Ranks, Scalar
from privrank_jax._validate import is_traced
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.counting import order_lead
from privrank_jax.aggregation.diagnostics import LocalSortDiagnostics
from privrank_jax.aggregation.kemeny_rule import local_search
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.query_budgets import check_sort, use_budget
from privrank_jax.aggregation.sorting import Round, Sorted, partition_sort
from privrank_jax.aggregation.vector_reports import local_weights
from privrank_jax.aggregation.weights import ranks_of_users
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.program import mechanism
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.local import flip_threshold
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.rankings import order_to_ranks

HALF = np.uint32(1 << 31)  # of 2^32


@dataclasses.dataclass(frozen=True)
class LocalPlan:
    """Public parameters of the protocol, known before the first question.

    Attributes:
        epsilon_per_query: ε₀ of one response.
        max_uses: τ, queries that a group answers at most.
        fallback_epsilon: ε₂ of the report that each user sends when a use was refused.
        may_refuse: whether that can happen at all.
        num_groups: g.
        guarantee: of each user's whole transcript.
    """

    epsilon_per_query: Scalar
    max_uses: int
    fallback_epsilon: Scalar
    may_refuse: bool
    num_groups: int
    guarantee: Guarantee


def local_plan(
    num_items: int,
    privacy: Privacy,
    *,
    max_queries: int | None = None,
    num_groups: int | None = None,
    split: Scalar = 0.5,
) -> LocalPlan:
    """Parameters of :func:`~privrank_jax.aggregation.ldp_kwiksort` for m items; arguments and errors as there.

    Returns:
        The plan.

    >>> plan = local_plan(30, Privacy(1.0, unit="user", adjacency="replace"))
    >>> plan.max_uses, plan.epsilon_per_query
    (20, 0.025)
    """
    attained = of_rankings(privacy, "ldp_kwiksort")
    epsilon = attained.epsilon
    check_sort(max_queries, split)
    groups = num_items if num_groups is None else num_groups
    if not is_whole(groups) or groups < 1:
        raise ValueError(f"num_groups must be a whole number of at least 1, got {num_groups!r}.")
    groups, pairs = int(groups), max(1, num_items * (num_items - 1) // 2)
    if max_queries is None:
        uses = use_budget(num_items, num_groups=groups)
    else:
        uses = 2 * max_queries // groups
    uses, share = max(1, uses), 0.5 if is_traced(split) else float(np.max(split))
    may_refuse = uses < pairs and (max_queries is not None or uses < share * pairs)
    return LocalPlan(
        epsilon_per_query=(split * epsilon / uses) if may_refuse else epsilon / pairs,
        max_uses=uses if may_refuse else pairs,
        fallback_epsilon=(1 - split) * epsilon,
        may_refuse=may_refuse,
        num_groups=groups,
        guarantee=Guarantee(privacy, attained, trust="local"),
    )


def respond(words: Integers, lead: Integers, flip: Integers) -> Flags:
    """Whether r = 1, for v = ``lead`` and a uniform 32-bit word each; arrays of NumPy or JAX, or plain integers.

    One response at ε₀ (unit: one user's order of one pair, any change of it), ``flip`` of
    :func:`~privrank_jax.privacy.local.flip_threshold`: probabilities are rounded to 2^-32, the loss not beyond ε₀.
    """
    kept = (lead > 0) & (words >= flip)
    return kept | ((lead < 0) & (words < flip)) | ((lead == 0) & (words < HALF))


def balanced_groups(
    shuffled_users: Integer[Array, " users"], num_groups: int
) -> Integer[Array, "groups size"]:
    """Users in groups whose sizes differ by at most one; -1 where a group is one short."""
    size = -(-len(shuffled_users) // num_groups)
    short = size * num_groups - len(shuffled_users)
    return jnp.pad(shuffled_users, (0, short), constant_values=-1).reshape(size, num_groups).T


def _release(*_: Any, **__: Any) -> Estimate:
    raise ValueError(
        "a sort by questions to users has no exact release: take dp_kwiksort.release, whose curator is trusted, or "
        "sub_ranking_weights.release, where each user answers once."
    )


@mechanism(
    release=_release,
    scale=lambda privacy, num_items, **settings: (
        local_plan(num_items, privacy, **settings).epsilon_per_query
    ),
)
def ldp_kwiksort(
    key: Key,
    ranks: RankingsLike,
    privacy: Privacy,
    *,
    max_queries: int | None = None,
    num_groups: int | None = None,
    split: Scalar = 0.5,
    missing: str = "last",
) -> Estimate:
    """A consensus ranking in the local model, by interactive questions on pairs.

    **Guarantee.** ε-local DP, unit user, adjacency replace, and whatever these cover, the fallback included; proof and
    advice at the head of :mod:`privrank_jax.aggregation.ldp_sorting`.

    Args:
        key: PRNG key.
        ranks: ``(n, m)`` integers, 0 = best; equal ranks are ties, negative ones items that were not ranked.
        privacy: what is promised; ε may be traced, ε = ∞ adds no noise.
        max_queries: q >= 1 sets τ = ⌊2q/g⌋; None takes τ such that Pr[refusal] <= 1/m⁴.
        num_groups: g, groups of users, at most n; None for m.
        split: share of ε for the queries, in (0, 1), may be traced; all of it where nothing can be refused.
        missing: ``"last"`` or ``"unknown"``, as for :meth:`~privrank_jax.aggregation.PairWeights.from_ranks`.

    Returns:
        ``value``: ranks ``(m,)``, int32, 0 = best. ``guarantee``: trust ``"local"``. ``diagnostics``:
        :class:`~privrank_jax.aggregation.diagnostics.LocalSortDiagnostics`.

    Raises:
        ValueError: a promise that this can't keep, fewer users than groups, unknown names, ranks that are not integers,
            m above 1000 without ``max_queries``.

    >>> ranks = jnp.tile(jnp.array([2, 0, 1]), (3000, 1))
    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> ldp_kwiksort(jax.random.key(0), ranks, privacy).value.tolist()
    [2, 0, 1]
    """
    given, plan = planned(
        ranks, privacy, missing, max_queries=max_queries, num_groups=num_groups, split=split
    )
    found = _ldp_kwiksort(
        key, given, plan.epsilon_per_query, plan.max_uses, plan.fallback_epsilon,
        missing=missing, may_refuse=plan.may_refuse, num_groups=plan.num_groups,
    )  # fmt: skip
    told = LocalSortDiagnostics(found.queries, found.stopped, plan.epsilon_per_query, plan.max_uses)
    return Estimate(found.ranks, plan.guarantee, told)


def planned(
    ranks: RankingsLike, privacy: Privacy, missing: str, **settings: Any
) -> tuple[Rankings, LocalPlan]:
    """Rankings of users as an array, and the plan of a sort, both checked."""
    given = ranks_of_users(ranks, missing)
    plan = local_plan(given.shape[1], privacy, **settings)
    if plan.num_groups > len(given):
        raise ValueError(
            f"{plan.num_groups} groups need as many users, got {len(given)}: take ldp_borda."
        )
    return given, plan


@functools.partial(jax.jit, static_argnames=("missing", "may_refuse", "num_groups"))
def _ldp_kwiksort(
    key: Key, ranks: Rankings, per_query: Scalar, max_uses: Count, of_fallback: Scalar, *,
    missing: str, may_refuse: bool, num_groups: int,
) -> Sorted:  # fmt: skip
    found = local_sort(key, ranks, per_query, max_uses, num_groups=num_groups, missing=missing)
    rest = Privacy(of_fallback, unit="user", adjacency="replace")
    rank_all = functools.partial(ranks_of_reports, missing=missing)
    return found.or_else(rank_all, ranks, rest) if may_refuse else found


def local_sort(
    key: Key, ranks: Rankings, per_query: Scalar, max_uses: Count, *, num_groups: int, missing: str
) -> Sorted:
    """:func:`ldp_kwiksort` without its fallback: τ ε₀-local DP (unit user, adjacency replace)."""
    ranks, (number, items) = jnp.asarray(ranks), ranks.shape
    group_key, sort_key, left_key = jax.random.split(fused(key), 3)
    flip = flip_threshold(jnp.asarray(per_query, jnp.result_type(float)))
    groups = balanced_groups(jax.random.permutation(group_key, number), num_groups)

    def answer(key: Key, asking: Round, uses: Array) -> tuple[Array, Array, Array]:
        choice_key, response_key = jax.random.split(key)
        group = jax.random.randint(choice_key, (items,), 0, num_groups)
        members = groups[group]
        lead = order_lead(
            ranks[members, asking.items[:, None]], ranks[members, asking.pivots[:, None]], missing
        )
        words = jax.random.bits(response_key, members.shape, jnp.uint32)
        plus = jnp.sum(respond(words, lead, flip) & (members >= 0), axis=1)
        left = 2 * plus > jnp.sum(members >= 0, axis=1)  # w̃ > 1/2
        uses = uses.at[group].add(asking.asked.astype(uses.dtype))
        return left, uses, jnp.any(uses > max_uses)

    uses = jnp.zeros((num_groups,), jnp.int32)
    sorting = partition_sort(sort_key, items, answer, uses, items * items, None)
    return Sorted(order_to_ranks(sorting.order), sorting.queries, sorting.stopped, left_key)


def ranks_of_reports(key: Key, ranks: Rankings, privacy: Privacy, *, missing: str) -> Ranks:
    """The fallback: one report per user, and local search from Borda."""
    w = local_weights(key, ranks, privacy, missing=missing).value
    return local_search(jnp.clip(w, 0, 1))
