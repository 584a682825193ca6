r"""Public parameters of LDPKwikSort, fixed before the first question: number of answers per user, ε and encoding.

**The response.** A user asked whether j comes before the pivot i answers one bit, r = ±1. Encoding ``"sign"``: the
truth is v = 1 (j before i), -1 (behind) or 0 (tied); r = 1 with probability (1 + v t)/2, t = tanh(ε₀/2) =
(e^{ε₀}-1)/(e^{ε₀}+1). The loss between v = 1 and v = -1 is ε₀, attained, and r/t is unbiased for v: w̃ = (1 +
mean(r)/t)/2, of variance at most 1/(4 t² g) from g users. Encoding ``"published"``: the truth is w in {0, 1/2, 1}; r
= 1 with probability (1 + w t)/2, and w̃ = mean(r)/t. Unbiased too, but its variance is up to 1/(t² g), four times as
large, though the loss between w = 1 and w = 0 is only log 1/(1 - t) = log((e^{ε₀}+1)/2) where r = -1 (near ε₀/2 for
small ε₀) and log(1 + t) where r = 1: the encoding spends less than it was calibrated for.

**Composition.** A user is in one group; a group answers at most τ queries, and the user reports once to the fallback if
there is one: τ·loss(ε₀) + ε₂ in total, whatever was asked and whatever others answered (full interaction).

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
from privrank_jax._validate import check_choice, is_traced
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.query_budgets import (
    check_max_queries,
    check_split,
    query_budget,
    use_budget,
)
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

ENCODINGS = ("sign", "published")
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
        encoding: ``"sign"`` or ``"published"``.
        guarantee: of each user's whole transcript.
    """

    num_items: int
    epsilon_per_query: Scalar
    max_uses: int
    fallback_epsilon: Scalar
    may_refuse: bool
    num_groups: int
    in_turn: bool
    encoding: str
    guarantee: Guarantee


def local_plan(
    num_items: int,
    privacy: Privacy,
    *,
    max_queries: int | None = None,
    num_groups: int | None = None,
    in_turn: bool = False,
    encoding: str = "sign",
    split: Scalar = 0.5,
    calibration: str = "tight",
) -> LocalPlan:
    """Fix the parameters of :func:`~privrank_jax.aggregation.ldp_kwiksort`, which describes arguments and errors.

    Args:
        num_items: m.
        privacy: what is promised: unit user, adjacency replace.
        max_queries: q; None for enough that more are asked with probability 1/m⁴ at most.
        num_groups: g, groups of users; None for m.
        in_turn: let groups answer in turn.
        encoding: ``"sign"`` or ``"published"``.
        split: share of ε for the queries, in (0, 1).
        calibration: ``"tight"`` or ``"published"``.

    Returns:
        The plan.

    Raises:
        ValueError: arguments out of range.

    >>> plan = local_plan(30, Privacy(1.0, unit="user", adjacency="replace"))
    >>> plan.max_uses, plan.epsilon_per_query
    (20, 0.025)
    """
    attained = of_rankings(privacy, "ldp_kwiksort")
    epsilon = attained.epsilon
    check_choice("encoding", encoding, ENCODINGS)
    check_choice("calibration", calibration, ("tight", "published"))
    check_split(split)
    published = calibration == "published"
    if published and (is_traced(split) or np.any(split != 0.5)):
        raise ValueError("the published calibration has an even split.")
    pairs = max(1, num_items * (num_items - 1) // 2)
    groups = _checked_groups(num_groups, num_items)
    if max_queries is not None:
        check_max_queries(max_queries)
    if in_turn:
        queries = query_budget(num_items) if max_queries is None else max_queries
        uses = max(1, -(-min(queries, pairs) // groups))
        pairs = max(1, -(-pairs // groups))  # of all pairs, what one group answers
    elif max_queries is None:
        uses = max(1, use_budget(num_items, num_groups=groups))
    else:
        uses = max(1, 2 * max_queries // groups)
    share = 0.5 if is_traced(split) else float(np.max(split))
    may_refuse = uses < pairs
    if max_queries is None and not published and uses >= share * pairs:
        may_refuse = False
    uses = uses if may_refuse else pairs
    of_queries = epsilon if published or not may_refuse else split * epsilon
    of_fallback = (0.5 if published else 1 - split) * epsilon
    per_query = of_queries / uses
    proven, note = epsilon, ""
    extra = of_fallback if may_refuse else 0.0
    if encoding == "published":
        proven = uses * response_loss(per_query, encoding) + extra
        note = "calibrated for epsilon, but the 0/1 encoding spends less on its queries."
    elif published:
        proven = epsilon + extra
    if published and may_refuse:
        note = (note + " Published as epsilon, but the fallback adds half of it.").strip()
    attained = dataclasses.replace(attained, epsilon=proven)  # τ·loss(ε₀) + ε₂
    guarantee = Guarantee(privacy, attained, trust="local", note=note)
    return LocalPlan(
        num_items, per_query, uses, of_fallback, may_refuse, groups, in_turn, encoding, guarantee
    )


def _checked_groups(num_groups: object, num_items: int) -> int:
    """g, by default m; ``ValueError`` unless it is a whole number of at least 1."""
    if num_groups is None:
        return num_items
    if is_whole(num_groups) and num_groups >= 1:
        return int(num_groups)
    raise ValueError(f"num_groups must be a whole number of at least 1, got {num_groups!r}.")


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
    share = 1.0 if plan.encoding == "sign" else 2.0
    return 0.5 * share / truth / jnp.sqrt(jnp.floor(jnp.asarray(num_users) / plan.num_groups))


def response_loss(epsilon_per_query: Scalar, encoding: str = "sign") -> Scalar:
    """Largest loss of one response: ε₀, or log((e^{ε₀}+1)/2) in the published encoding.

    >>> round(float(response_loss(1.0, "published")), 4)
    0.6201
    """
    check_choice("encoding", encoding, ENCODINGS)
    if encoding == "sign":
        return epsilon_per_query
    return jnp.logaddexp(jnp.asarray(epsilon_per_query, jnp.result_type(float)), 0.0) - jnp.log(2.0)


@overload
def respond(
    words: Integer[Array, "..."], lead: Integers, flip: Integers, encoding: str
) -> Bool[Array, "..."]: ...
@overload
def respond(words: Integers, lead: Integers, flip: Integers, encoding: str) -> Flags: ...
def respond(words: Integers, lead: Integers, flip: Integers, encoding: str) -> Flags:
    """Whether r = 1, from a uniform 32-bit word each; arrays of NumPy or JAX, or plain integers.

    This is one response at ε₀ (unit: one user's order of one pair, any change of it), with Pr[r = 1] as at the head of
    this module, rounded to the grid of 2^-32 on the side where the loss does not exceed ε₀.

    Args:
        words: uniform on 0..2^32-1.
        lead: 1, 0 or -1: item before the pivot, tied with it, behind it.
        flip: 2^32/(e^{ε₀}+1), from :func:`~privrank_jax.privacy.local.flip_threshold`.
        encoding: ``"sign"`` or ``"published"``.
    """
    kept = (lead > 0) & (words >= flip)
    if encoding == "sign":
        return kept | ((lead < 0) & (words < flip)) | ((lead == 0) & (words < _HALF))
    quarter = _HALF // np.uint32(2) + flip // np.uint32(2)
    return kept | ((lead < 0) & (words >= _HALF)) | ((lead == 0) & (words >= quarter))


@overload
def goes_left(
    plus: Integer[Array, " groups"],
    users: Integer[Array, " groups"],
    epsilon_per_query: Scalar,
    encoding: str,
) -> Bool[Array, " groups"]: ...
@overload
def goes_left(
    plus: Integers, users: Integers, epsilon_per_query: Scalar, encoding: str
) -> Flags: ...
def goes_left(plus: Integers, users: Integers, epsilon_per_query: Scalar, encoding: str) -> Flags:
    """Whether w̃ > 1/2, given how many of a group's users responded 1."""
    mean = 2 * plus - users  # Σ r
    if encoding == "sign":
        return mean > 0
    return mean > 0.5 * jnp.tanh(0.5 * epsilon_per_query) * users


def balanced_groups(
    shuffled_users: Integer[Array, " users"], num_groups: int
) -> Integer[Array, "groups size"]:
    """Users in groups whose sizes differ by at most one: ``(groups, size)``, -1 where a group is one short."""
    size = -(-len(shuffled_users) // num_groups)
    short = size * num_groups - len(shuffled_users)
    return jnp.pad(shuffled_users, (0, short), constant_values=-1).reshape(size, num_groups).T
