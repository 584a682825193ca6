r"""KwikSort by questions to groups of users, each of whom randomizes the answer locally.

The n users are split at random into m groups, or into g. A query (j, i) goes to a group drawn uniformly and
independently of everything before, or to the groups in turn; each of its users says by randomized response whether j
comes before i; the majority of the responses decides. A group answers at most τ queries: a round in which one would be
asked more often is not started, and a ranking from one report per user on all pairs (the ℓ₂ mechanism of Duchi, Jordan
and Wainwright) replaces the sort.

**Theorem.** With responses at ε₀ and the fallback's report at ε₂, each user's part of the transcript is
(τ ε₀ + ε₂)-DP in the local model, any interaction allowed. *Proof.* Fix all other users and their randomness.
Given the past, which question comes next depends on this user's ranking only through the user's own responses;
each response has loss at most ε₀, at most τ are given, then at most one report of loss at most ε₂; the
conditional losses add up. ∎ With ε₀ = ε₁/τ and ε₁ + ε₂ = ε that is ε. Responses and τ:
:mod:`~privrank_jax.aggregation.ldp_plan`. It is simulated, all users at once.

**When to use it.** Measured on Mallows data (m = 30, dispersion 0.8, n = 20,000, ε = 4, 40 runs), Kemeny score above
the best known as a share of all pairs: 0.123 (split 0.9: 0.045; with the published q, τ = 69 instead of 20: 0.241, and
0.272 with its encoding; groups in turn, 327 of them at a split of 0.9: 0.003), against 0.004 for
:func:`~privrank_jax.aggregation.local_weights` with local search and 0.001 for
:func:`~privrank_jax.aggregation.ldp_borda`, which need no interaction.

Source: Alabi, Ghazi, Kumar and Manurangsi (2022), Lemma 10, Theorem 11, Algorithm 3, with uses counted per query
(as printed: :mod:`privrank_jax.aggregation.published`).
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from privrank_jax._types import Count, Key, Mask, Rankings, RankingsLike, Ranks, Scalar
from privrank_jax._validate import as_ranks, check_choice
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.counting import order_lead
from privrank_jax.aggregation.diagnostics import LocalSortDiagnostics
from privrank_jax.aggregation.ldp_plan import (
    balanced_groups,
    local_plan,
    respond,
)
from privrank_jax.aggregation.local_moves import local_search
from privrank_jax.aggregation.sorting import Round, partition_sort, replace_where
from privrank_jax.aggregation.weight_reports import local_weights
from privrank_jax.aggregation.weights import MISSING
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.program import mechanism
from privrank_jax.privacy.local import flip_threshold
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.rankings import order_to_ranks


def _release(*_: Any, **__: Any) -> Estimate:
    raise ValueError(
        "a sort by questions to users has no exact release: take dp_kwiksort.release, whose curator is trusted, or "
        "sub_ranking_weights.release, where each user answers once."
    )


def _scale(privacy: Privacy, num_items: int, **settings: Any) -> Any:
    return local_plan(num_items, privacy, **settings).epsilon_per_query


@mechanism(release=_release, scale=_scale)
def ldp_kwiksort(
    key: Key,
    ranks: RankingsLike,
    privacy: Privacy,
    *,
    max_queries: int | None = None,
    num_groups: int | None = None,
    in_turn: bool = False,
    split: Scalar = 0.5,
    missing: str = "last",
) -> Estimate:
    """A consensus ranking in the local model, by interactive questions on pairs.

    **Guarantee.** ε-local DP, unit user, adjacency replace, and whatever these cover, the fallback included. Theorem
    and proof are at the head of this module, ``help(sys.modules[ldp_kwiksort.__module__])``.

    Args:
        key: PRNG key.
        ranks: ``(n, m)`` integers, 0 = best; equal ranks are ties, negative ones items that were not ranked. n >= m.
        privacy: what is promised: unit user, adjacency replace. ε may be traced; ε = ∞ adds no noise (questions still
            go to random groups).
        max_queries: q >= 1, an int, sets τ = ⌊2q/g⌋, or ⌈q/g⌉ in turn; None takes τ such that Pr[refusal] <= 1/m⁴,
            see :mod:`~privrank_jax.aggregation.ldp_plan`.
        num_groups: g, groups of users, at most n; None for m.
        in_turn: let groups answer in turn: far less noise with ``num_groups=query_budget(m)``, and no proof of a ratio.
        split: share of ε for the queries, in (0, 1), may be traced; not used where nothing can be refused.
        missing: ``"last"`` or ``"unknown"``, as for :meth:`~privrank_jax.aggregation.PairWeights.from_ranks`.

    Returns:
        ``value``: ranks ``(m,)``, int32, 0 = best. ``guarantee``: trust ``"local"``. ``diagnostics``:
        :class:`~privrank_jax.aggregation.diagnostics.LocalSortDiagnostics`.

    Raises:
        ValueError: a promise that this can't keep, fewer users than items, unknown names, ranks that are not integers,
            m above 1000 without ``max_queries``.

    >>> ranks = jnp.tile(jnp.array([2, 0, 1]), (3000, 1))
    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> ldp_kwiksort(jax.random.key(0), ranks, privacy).value.tolist()
    [2, 0, 1]
    """
    given = check_rankings(ranks, missing)
    users, items = given.shape
    if items < 1 or users < items:
        raise ValueError(
            f"the m items need m groups of users: got {users} users for {items} items. Take ldp_borda."
        )
    plan = local_plan(
        items, privacy, max_queries=max_queries, num_groups=num_groups, in_turn=in_turn, split=split
    )
    if plan.num_groups > users:
        raise ValueError(f"{plan.num_groups} groups need as many users, got {users}.")
    value, queries, refused = _ldp_kwiksort(
        key, given, plan.epsilon_per_query, plan.max_uses, plan.fallback_epsilon,
        missing=missing, may_refuse=plan.may_refuse, num_groups=plan.num_groups, in_turn=plan.in_turn,
    )  # fmt: skip
    told = LocalSortDiagnostics(queries, refused, plan.epsilon_per_query, plan.max_uses)
    return Estimate(value, plan.guarantee, told)


def check_rankings(ranks: RankingsLike, missing: str) -> Rankings:
    """Rankings of users as an array.

    Args:
        ranks: ``(n, m)`` integers.
        missing: rule for items not ranked.

    Raises:
        ValueError: others, or an unknown rule.
    """
    check_choice("missing", missing, MISSING)
    given = as_ranks(ranks, gaps=True)
    if given.ndim != 2 or not jnp.issubdtype(given.dtype, jnp.integer):
        raise ValueError(
            f"ranks must be integers of shape (users, items), got {given.dtype} {given.shape}."
        )
    return given


@functools.partial(jax.jit, static_argnames=("missing", "may_refuse", "num_groups", "in_turn"))
def _ldp_kwiksort(
    key: Key, ranks: Rankings, per_query: Scalar, max_uses: Count, of_fallback: Scalar, *,
    missing: str, may_refuse: bool, num_groups: int, in_turn: bool,
) -> tuple[Ranks, Int[Array, ""], Bool[Array, ""]]:  # fmt: skip
    """Ranks, queries answered, whether a group's use was refused. Unit user, adjacency replace, local."""
    found = local_sort(
        key, ranks, per_query, max_uses,
        num_groups=num_groups, in_turn=in_turn, missing=missing,
    )  # fmt: skip
    value = found.ranks
    if may_refuse:

        def rank_all(key: Key, ranks: Array, share: Array) -> Ranks:
            rest = Privacy(share, unit="user", adjacency="replace")
            return ranks_of_reports(key, ranks, rest, missing=missing)

        share = jnp.asarray(of_fallback, jnp.result_type(float))
        value = replace_where(found.refused, value, rank_all, found.left_key, ranks, share)
    return value, found.queries, found.refused


class LocalSort(NamedTuple):
    """What a sort by questions to groups has found.

    Attributes:
        ranks: ``(m,)`` int32; a sort that was refused a query stops there.
        queries: queries answered.
        refused: whether a group was asked too often, so that a fallback replaces the ranks.
        left_key: PRNG key that the sort has not used.
    """

    ranks: Ranks
    queries: Int[Array, ""]
    refused: Bool[Array, ""]
    left_key: Key


def local_sort(
    key: Key,
    ranks: Rankings,
    per_query: Scalar,
    max_uses: Count,
    *,
    num_groups: int | None = None,
    in_turn: bool = False,
    missing: str = "last",
    users: Mask | None = None,
) -> LocalSort:
    """:func:`ldp_kwiksort` without its fallback: τ ε₀-local DP (unit user, adjacency replace).

    Args:
        key: PRNG key.
        ranks: ``(n, m)``, as for :func:`ldp_kwiksort`.
        per_query: ε₀ of one response, may be traced.
        max_uses: τ, of each group.
        num_groups: g; None for m.
        in_turn: whether groups answer in turn.
        missing: rule for items not ranked.
        users: ``(n,)`` bool, False for rows that only pad the problem; public, may be traced.
    """
    ranks, (number, items) = jnp.asarray(ranks), ranks.shape
    group_key, sort_key, left_key = jax.random.split(fused(key), 3)
    per_query = jnp.asarray(per_query, jnp.result_type(float))
    flip = flip_threshold(per_query)
    if users is None:
        shuffled = jax.random.permutation(group_key, number)
    else:  # padding last, and then dropped
        last = ~jnp.asarray(users, bool)
        order = jnp.lexsort((jax.random.bits(group_key, (number,), jnp.uint32), last))
        shuffled = jnp.where(last[order], -1, order)
    size = items if num_groups is None else num_groups
    groups = balanced_groups(shuffled, size)

    def answer(key: Key, asking: Round, uses: Array) -> tuple[Array, Array, Array]:
        choice_key, response_key = jax.random.split(key)
        if in_turn:  # the sum of uses is the number of queries before this round
            group = (jnp.sum(uses) + jnp.cumsum(asking.asked.astype(uses.dtype)) - 1) % size
        else:
            group = jax.random.randint(choice_key, (items,), 0, size)
        members = groups[group]
        lead = order_lead(
            ranks[members, asking.items[:, None]], ranks[members, asking.pivots[:, None]], missing
        )
        words = jax.random.bits(response_key, members.shape, jnp.uint32)
        plus = jnp.sum(respond(words, lead, flip) & (members >= 0), axis=1)
        present = jnp.sum(members >= 0, axis=1)
        left = 2 * plus > present  # w̃ > 1/2
        uses = uses.at[group].add(asking.asked.astype(uses.dtype))
        return left, uses, jnp.any(uses > max_uses)

    uses = jnp.zeros((size,), jnp.int32)
    sorting = partition_sort(sort_key, items, answer, uses, items * items, None)
    return LocalSort(order_to_ranks(sorting.order), sorting.queries, sorting.stopped, left_key)


def ranks_of_reports(key: Key, ranks: Rankings, privacy: Privacy, *, missing: str) -> Ranks:
    """The fallback: one report per user, local search from Borda.

    Args:
        key: PRNG key.
        ranks: of the users.
        privacy: ε₂, unit user, adjacency replace, local.
        missing: rule for items not ranked.
    """
    w = local_weights(key, ranks, privacy, missing=missing).value
    return local_search(jnp.clip(w, 0, 1))
