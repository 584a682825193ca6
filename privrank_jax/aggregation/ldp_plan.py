r"""Public parameters of LDPKwikSort, fixed before the first question: number of answers per user, and ε.

**The response.** A user asked whether j comes before the pivot i answers one bit, r = ±1: the truth is v = 1 (j before
i), -1 (behind) or 0 (tied); r = 1 with probability (1 + v t)/2, t = tanh(ε₀/2) = (e^{ε₀}-1)/(e^{ε₀}+1). The loss
between v = 1 and v = -1 is ε₀, attained, and r/t is unbiased for v: w̃ = (1 + mean(r)/t)/2, of variance at most 1/(4 t²
g) from g users. The published response spends less than it was calibrated for
(:mod:`privrank_jax.aggregation.published`).

**Composition.** A user is in one group; a group answers at most τ queries, and the user reports once to the fallback if
there is one: τε₀ + ε₂ in total, whatever was asked and whatever others answered (full interaction).

**How many groups.** The error of an answer from n/g users at ε₀ = ε₁/τ is τ√g/(ε₁√n) at small ε₀. *Drawn* groups,
as above, have τ near 2q/g while that is large; for q beyond m log m, g of the order of q/log m lowers the error from
q/√m to √(q log m), up to ε√n (the paper's appendix A.2; KwikSort's q is of the order of m log m, where the two agree).
*In turn*: the t-th query goes to group t mod g, so that τ = ⌈q/g⌉ whatever is asked, and the error is q/√g, least at
g = q, Bassily's original: every group answers once. Which group answers a pair then depends on when it is asked, where
the paper's proof of the ratio needs that it does not. (From g = m(m-1)/2 on it holds all the same: groups are a random
partition, so that answers of groups in turn have the law of those of groups dealt to the pairs in advance.) The privacy
is the same: each user answers τ times at most.

**How many uses τ.** The published rule is τ = 2q/m with q such that *any* q queries overload some group with
probability at most 1/m⁴: q = 8.7 m ln m at m = 10, 11.7 m ln m at m = 500. But a sort makes far fewer queries than
q: with T their number, known exactly, a group's uses are Binomial(T, 1/m), and τ with m Pr[uses > τ] <= 1/m⁴ is 3 times
smaller (m = 100: 30 against 102), so ε₀ is larger by the same factor. That is the default,
:func:`~privrank_jax.aggregation.query_budgets.use_budget`. The law of T presumes transitive answers that don't differ
between groups; other answers only change how often the fallback is needed, never the privacy. Where τ reaches m(m-1)/2,
all pairs, or comes so close that ε/(m(m-1)/2) beats ε₁/τ, no use is ever refused: there is no fallback, and ε₁ = ε.

Source: Alabi, Ghazi, Kumar and Manurangsi (2022), Lemma 10, Theorem 11, Algorithms 2 and 3; Bassily (2019).
"""

from __future__ import annotations

import dataclasses
from typing import overload

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Integer

from privrank_jax._arguments import is_whole
from privrank_jax._types import Count, Flags, Integers, Scalar
from privrank_jax._validate import is_traced
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.query_budgets import (
    check_max_queries,
    check_split,
    query_budget,
    use_budget,
)
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

_HALF = np.uint32(1 << 31)  # of 2^32


@dataclasses.dataclass(frozen=True)
class LocalPlan:
    """Public parameters of the protocol, known before the first question.

    Attributes:
        num_items: m.
        epsilon_per_query: ε₀ of one response.
        max_uses: τ, queries that a group answers at most.
        fallback_epsilon: ε₂ of the report that each user sends when a use was refused.
        may_refuse: whether that can happen at all.
        num_groups: g.
        in_turn: whether groups answer in turn, or are drawn.
        guarantee: of each user's whole transcript.
    """

    num_items: int
    epsilon_per_query: Scalar
    max_uses: int
    fallback_epsilon: Scalar
    may_refuse: bool
    num_groups: int
    in_turn: bool
    guarantee: Guarantee


def local_plan(
    num_items: int,
    privacy: Privacy,
    *,
    max_queries: int | None = None,
    num_groups: int | None = None,
    in_turn: bool = False,
    split: Scalar = 0.5,
) -> LocalPlan:
    """Fix the parameters of :func:`~privrank_jax.aggregation.ldp_kwiksort`, which describes arguments and errors.

    Args:
        num_items: m.
        privacy, max_queries, num_groups, in_turn, split: as there.

    Returns:
        The plan.

    Raises:
        ValueError: as there.

    >>> plan = local_plan(30, Privacy(1.0, unit="user", adjacency="replace"))
    >>> plan.max_uses, plan.epsilon_per_query
    (20, 0.025)
    """
    attained = of_rankings(privacy, "ldp_kwiksort")
    epsilon = attained.epsilon
    check_split(split)
    groups = num_items if num_groups is None else num_groups
    if not is_whole(groups) or groups < 1:
        raise ValueError(f"num_groups must be a whole number of at least 1, got {num_groups!r}.")
    groups, pairs = int(groups), max(1, num_items * (num_items - 1) // 2)
    if max_queries is not None:
        check_max_queries(max_queries)
    if in_turn:
        queries = query_budget(num_items) if max_queries is None else max_queries
        uses = -(-min(queries, pairs) // groups)
        pairs = max(1, -(-pairs // groups))  # of all pairs, what one group answers
    else:
        uses = (
            use_budget(num_items, num_groups=groups)
            if max_queries is None
            else 2 * max_queries // groups
        )
    uses, share = max(1, uses), 0.5 if is_traced(split) else float(np.max(split))
    may_refuse = uses < pairs and (max_queries is not None or uses < share * pairs)
    return LocalPlan(
        num_items,
        epsilon_per_query=(split * epsilon / uses) if may_refuse else epsilon / pairs,
        max_uses=uses if may_refuse else pairs,
        fallback_epsilon=(1 - split) * epsilon,
        may_refuse=may_refuse,
        num_groups=groups,
        in_turn=in_turn,
        guarantee=Guarantee(privacy, attained, trust="local"),  # τ·ε₀ + ε₂
    )


def answer_deviation(plan: LocalPlan, num_users: Count) -> Scalar:
    """Largest standard deviation of one group's answer w̃, from ⌊n/g⌋ users at ε₀.

    Args:
        plan: of :func:`local_plan`.
        num_users: n >= g.

    Returns:
        Float, for weights of 1/2, where it is largest.

    >>> promise = Privacy(1.0, unit="user", adjacency="replace")
    >>> plans = [local_plan(30, promise), local_plan(30, promise, num_groups=327, in_turn=True)]
    >>> [(plan.max_uses, round(float(answer_deviation(plan, 10**6)), 3)) for plan in plans]
    [(20, 0.219), (2, 0.037)]
    """
    truth = jnp.tanh(0.5 * jnp.asarray(plan.epsilon_per_query))
    return 0.5 / truth / jnp.sqrt(jnp.floor(jnp.asarray(num_users) / plan.num_groups))


@overload
def respond(words: Integer[Array, "..."], lead: Integers, flip: Integers) -> Bool[Array, "..."]: ...
@overload
def respond(words: Integers, lead: Integers, flip: Integers) -> Flags: ...
def respond(words: Integers, lead: Integers, flip: Integers) -> Flags:
    """Whether r = 1, from a uniform 32-bit word each; arrays of NumPy or JAX, or plain integers.

    This is one response at ε₀ (unit: one user's order of one pair, any change of it), with Pr[r = 1] as at the head of
    this module, rounded to the grid of 2^-32 on the side where the loss does not exceed ε₀.

    Args:
        words: uniform on 0..2^32-1.
        lead: 1, 0 or -1: item before the pivot, tied with it, behind it.
        flip: 2^32/(e^{ε₀}+1), from :func:`~privrank_jax.privacy.local.flip_threshold`.
    """
    kept = (lead > 0) & (words >= flip)
    return kept | ((lead < 0) & (words < flip)) | ((lead == 0) & (words < _HALF))


def balanced_groups(
    shuffled_users: Integer[Array, " users"], num_groups: int
) -> Integer[Array, "groups size"]:
    """Users in groups whose sizes differ by at most one: ``(groups, size)``, -1 where a group is one short."""
    size = -(-len(shuffled_users) // num_groups)
    short = size * num_groups - len(shuffled_users)
    return jnp.pad(shuffled_users, (0, short), constant_values=-1).reshape(size, num_groups).T
