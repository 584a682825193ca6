"""Private KwikSorts as they were published, which spend 1.5ε or waste a half: for studies and audits.

Source: Alabi, Ghazi, Kumar and Manurangsi (2022), Algorithms 1 to 3.
"""

from __future__ import annotations

import dataclasses

import jax.numpy as jnp
import numpy as np

from privrank_jax._types import Flags, Integers, Key, Scalar
from privrank_jax.aggregation.dp_sorting import facts_of, kwiksort_plan, sorted_by
from privrank_jax.aggregation.ldp_sorting import HALF, LocalPlan, local_plan
from privrank_jax.aggregation.weights import PairWeights
from privrank_jax.estimate import Estimate
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy


def published_kwiksort(
    key: Key, weights: PairWeights, privacy: Privacy, *, max_queries: int | None = None
) -> Estimate:
    """Algorithm 1: Laplace noise of scale q/(nε) on the queries, and a fallback at ε/2 with Laplace noise.

    **Guarantee.** That is 1.5ε where the budget can be exceeded, and the guarantee says so.

    Arguments, results and errors: as of :func:`~privrank_jax.aggregation.dp_kwiksort`.

    >>> import jax
    >>> weights, promise = PairWeights.from_ranks([[2, 0, 1]]), Privacy(1.0, unit="user", adjacency="replace")
    >>> float(published_kwiksort(jax.random.key(0), weights, promise, max_queries=1).guarantee.epsilon)
    1.5
    """
    w, facts = facts_of(weights, "published_kwiksort")
    plan, may_exceed = kwiksort_plan(privacy, facts, max_queries=max_queries)
    items = facts.num_items if facts.mask is None else jnp.sum(facts.mask)
    short = plan.budget < items * (items - 1) // 2
    spare = 0.5 * short  # all of ε goes to the queries in any case
    plan = plan._replace(scale=plan.scale * (1 - spare))
    proven = (1 + spare) * privacy.epsilon
    attained = dataclasses.replace(privacy, epsilon=proven, delta=0.0)
    note = "published as epsilon, but the fallback adds half of it." if may_exceed else ""
    guarantee = Guarantee(privacy, attained, note=note)
    return sorted_by(
        key, w, facts, plan, guarantee, fallback_noise="laplace" if may_exceed else None
    )


def published_local_plan(
    num_items: int, privacy: Privacy, *, max_queries: int | None = None
) -> LocalPlan:
    """Algorithm 3: all of ε for the responses of :func:`~privrank_jax.aggregation.ldp_kwiksort`, and ε/2 on top.

    Arguments, results and errors: as of :func:`~privrank_jax.aggregation.ldp_sorting.local_plan`.

    >>> plan = published_local_plan(30, Privacy(2.0, unit="user", adjacency="replace"), max_queries=900)
    >>> plan.max_uses, plan.fallback_epsilon, float(plan.guarantee.epsilon)
    (60, 1.0, 3.0)
    """
    plan = local_plan(num_items, privacy, max_queries=max_queries)
    proven, rest, note = privacy.epsilon, 0.5 * privacy.epsilon, ""
    if plan.may_refuse:
        proven, note = proven + rest, "published as epsilon, but the fallback adds half of it."
    attained = dataclasses.replace(privacy, epsilon=proven, delta=0.0)
    return dataclasses.replace(
        plan,
        epsilon_per_query=privacy.epsilon / plan.max_uses,
        fallback_epsilon=rest,
        guarantee=Guarantee(privacy, attained, trust="local", note=note),
    )


def zero_one_response(words: Integers, lead: Integers, flip: Integers) -> Flags:
    """Whether r = 1 in Algorithm 2: the truth is w in {0, 1/2, 1}, r = 1 with probability (1 + w t)/2.

    w̃ = mean(r)/t is unbiased too, but its variance is up to four times that of ``ldp_sorting.respond``.

    >>> [int(zero_one_response(np.uint32(2**31 - 1), lead, np.uint32(2**30))) for lead in (-1, 0, 1)]
    [0, 1, 1]
    """
    quarter = HALF // np.uint32(2) + flip // np.uint32(2)
    kept = (lead > 0) & (words >= flip)
    return kept | ((lead < 0) & (words >= HALF)) | ((lead == 0) & (words >= quarter))


def zero_one_loss(epsilon_per_query: Scalar) -> Scalar:
    """Its largest loss at ε₀, log 1/(1 - t) = log((e^{ε₀}+1)/2) where r = -1: near ε₀/2 for small ε₀.

    >>> round(float(zero_one_loss(1.0)), 4)
    0.6201
    """
    return jnp.logaddexp(jnp.asarray(epsilon_per_query, jnp.result_type(float)), 0.0) - jnp.log(2.0)
