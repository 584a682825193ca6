r"""Audited consensus of rankings in the central model: two users and three items; one user is replaced, or joins.

**Private weights** are Borda scores and all pairs at once, half of the budget for each. The scales of the two releases
are found from the standard deviations that the mechanism reports. With K-norm noise σ_c² = λ²(d + 1)(d + 2)/3 of pairs,
and 1/σ_g² - 1/σ_c² is the precision of the scores alone, m/v₁ (the head of
:mod:`privrank_jax.aggregation.split_weights`). The two noises are independent, so their log densities add up.

With Gaussian noise the whole release is one point and isotropic noise, once the gradient part is divided by σ_g and the
cycle part by σ_c. The weights are published without shrinkage; a statistic of shrunk ones loses no more.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import aggregation
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation import query_reduction
from privrank_jax.aggregation.diagnostics import SortDiagnostics
from privrank_jax.aggregation.dp_sorting import facts_of, kwiksort_plan, noise_all_ranks
from privrank_jax.aggregation.published import published_kwiksort
from privrank_jax.aggregation.sorting import Round, partition_sort
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.data import Facts as Public
from privrank_jax.privacy import Privacy, noise_law
from privrank_jax.privacy.geometry import Zonotope
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import laplace as laplace_noise
from privrank_jax.privacy_audit import contents, laws, neighbors, rows
from privrank_jax.privacy_audit.contents import pair_weights
from privrank_jax.privacy_audit.registry import Audited, Facts, Release
from privrank_jax.privacy_audit.rows import USER, audited, like, named, on

Array = jax.Array

NUM_ITEMS, USERS = 3, 2
QUERIES = 2  # of three pairs: the pivot's two answers. Unless these lie on different sides, q is exceeded.
_WEIGHTS = contents.weights_of_rankings(NUM_ITEMS)
_RANKING, _REVERSAL = (contents.pair_shares(ranks) for ranks in ((0, 1, 2), (2, 1, 0)))
_UPPER = np.triu_indices(NUM_ITEMS, 1)

ORDERS = tuple(
    " > ".join(str(item) for item in np.argsort(ranks))
    for ranks in itertools.permutations(range(NUM_ITEMS))
)


def number(ranks: Array) -> Array:
    """The number of a ranking of three items, in lexicographic order of its ranks."""
    return (2 * ranks[0] + (ranks[1] > ranks[2])).astype(jnp.int32)


def _exponential_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """Log probabilities of the orders, with odds e^(-β n K), K the weight against an order."""
    costs = [
        sum(data[:, late, early] for early, late in itertools.combinations(np.argsort(ranks), 2))
        for ranks in neighbors.strict_orders(NUM_ITEMS)
    ]
    return laws.softmax(-facts["rate"] * np.stack(costs, axis=1))


# --- sorting ---------------------------------------------------------------------------------------


def _half(privacy: Privacy) -> Privacy:
    """What is left for the fallback."""
    return like(privacy, epsilon=0.5 * privacy.epsilon)


def _transcript(function: Callable[..., Any], fallback_noise: str) -> Release:
    """A run of a KwikSort that publishes its first round and, where it exceeds its budget, the fallback's ranking.

    With the key of a run, this is the transcript of that run (a test compares them): keys, sort, scale and fallback
    are the same.
    """

    def release(key: Array, data: Array, privacy: Privacy) -> Any:
        weights = pair_weights(data)
        w = weights.matrix
        run = function(key, weights, privacy, max_queries=QUERIES)
        scale = run.diagnostics.noise_scale
        sort_key, fallback_key = jax.random.split(fused(key))

        def answer(key: Array, asking: Round, first: Array) -> tuple[Array, Array, Array]:
            shares = w[asking.items, asking.pivots]
            left = shares + laplace_noise(key, shares.shape, scale, w.dtype) > 0.5
            bits = jnp.sum(jnp.where(left & asking.asked, 1 << asking.items, 0))
            seen = 8 * asking.pivots[0] + bits
            return left, jnp.where(first < 0, seen, first).astype(jnp.int32), jnp.bool_(False)

        sorting = partition_sort(sort_key, NUM_ITEMS, answer, jnp.int32(-1), QUERIES, None)
        noisy = aggregation.noise_all(fallback_key, weights, _half(privacy), noise=fallback_noise)
        fallback = number(aggregation.local_search(noisy.value))
        seen = 7 * sorting.state + jnp.where(sorting.stopped, fallback, 6)
        return dataclasses.replace(run, value=seen)

    return named(function, release)


def _fallback(data: np.ndarray, privacy: Privacy, noise: str) -> np.ndarray:
    """Log densities of noisy weights at ε/2, as the fallback of a sort has them."""
    scale = float(aggregation.noise_all.scale(_half(privacy), Public(NUM_ITEMS, USERS), noise))
    return rows.under(_WEIGHTS, USER, noise)["law"](data, privacy, {"noise_scale": scale})


def _transcript_law(
    data: np.ndarray, privacy: Privacy, facts: Facts, *, fallback_noise: str
) -> np.ndarray:
    fallback = _fallback(data, privacy, fallback_noise)
    scale, queries = facts["noise_scale"], int(facts["max_queries"])
    return laws.kwiksort_with_fallback(data / USERS, scale, queries, fallback)


def _told(key: Array, data: Array, privacy: Privacy) -> Any:
    """The transcript of private_by_queries by a KwikSort that asks for 0, 1 and 0, 2, then perhaps for 1, 2."""
    weights = pair_weights(data)
    w, facts = facts_of(weights, "an audit")
    plan, _ = kwiksort_plan(privacy, facts, max_queries=QUERIES)
    noise_key, left_key = jax.random.split(fused(key))
    after = query_reduction.noisy_answers(noise_key, w, plan)[0, 1:] < 0.5
    fallback = number(noise_all_ranks(left_key, weights, like(privacy, epsilon=plan.of_fallback)))
    seen = 14 * after[0] + 28 * after[1] + jnp.where(after[0] == after[1], fallback, 6)
    told = SortDiagnostics(QUERIES, True, plan.scale, plan.budget)
    return Estimate(seen.astype(jnp.int32), Guarantee(privacy, privacy), told)


def _told_law(data: np.ndarray, privacy: Privacy, facts: Facts) -> np.ndarray:
    """Where the pivot is item 0, which of three has a third of all transcripts."""
    law = _transcript_law(data, privacy, facts, fallback_noise="k-norm")
    return np.log(3) + law[:, : law.shape[1] // 3]


def _sort_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """Law of the whole sort; with a budget for all pairs there is no fallback."""
    scale, queries = facts["noise_scale"], int(facts["max_queries"])
    return laws.shuffled_kwiksort(data / USERS, scale, queries)


_CENTRAL: dict[str, Any] = {
    "neighbors": (_RANKING + _REVERSAL, _REVERSAL + _REVERSAL),
    **_WEIGHTS.protecting(USER, *_WEIGHTS.contents),
}
_ORDER: dict[str, Any] = {
    "outcomes": ORDERS,
    "reduce": number,
    "finite": True,
    **_CENTRAL,
}
_SORTED: dict[str, Any] = {
    "outcomes": tuple(
        f"(pivot {pivot}, before it 2, 1, 0: {bits:03b}, then {fallback})"
        for pivot, bits, fallback in itertools.product(range(3), range(8), (*ORDERS, "nothing"))
    ),
    **_CENTRAL,
}
# --- private weights -------------------------------------------------------------------------------


def scales(facts: Facts) -> tuple[float, float]:
    """λ of K-norm noise on the scores and on the pairs."""
    count = len(_UPPER[0])
    pairs, gradient = facts["cycle_scale"] ** -2, facts["gradient_scale"] ** -2
    of_scores = noise_law.variances(Zonotope.of_all_pairs(NUM_ITEMS))[0] / (1 - 1 / NUM_ITEMS)
    of_pairs = (count + 1) * (count + 2) / 3
    return (NUM_ITEMS / of_scores / (gradient - pairs)) ** 0.5, (pairs * of_pairs) ** -0.5


def _weights_law(data: np.ndarray, privacy: Privacy, facts: Facts) -> np.ndarray:
    """Log densities of both releases together, at all data sets."""
    # Where users may join: half of how many more users have i ahead of j than j ahead of i.
    joins = privacy.adjacency == "add-remove"
    data = 0.5 * (data - data.transpose(0, 2, 1)) if joins else data / data[:, :1, :1]
    of_scores, of_pairs = scales(facts)
    outputs = np.unique(data, axis=0)
    moved = outputs[None] - data[:, None]
    facets = laws.zonotope_facets(1 - np.eye(NUM_ITEMS))
    scores = laws.body_norm(facets, moved.sum(-1)) / of_scores
    return -scores - np.abs(moved[..., *_UPPER]).max(-1) / of_pairs


def _weights_loss(
    first: np.ndarray, second: np.ndarray, privacy: Privacy, facts: Facts
) -> np.ndarray:
    moved = (first - second) / first[:, :1, :1]
    slopes = moved.sum(-1) / NUM_ITEMS
    gradient = slopes[:, :, None] - slopes[:, None, :]
    parts = (gradient, facts["gradient_scale"]), (moved - gradient, facts["cycle_scale"])
    square = sum(np.sum(part[:, *_UPPER] ** 2, axis=1) / scale**2 for part, scale in parts)
    return laws.gaussian_epsilon(np.round(np.sqrt(square), 12), 1.0, privacy.delta)


def _weights(name: str, promise: Privacy, noise: str = "k-norm") -> Audited:
    release = on(aggregation.private_weights, pair_weights, focus=0.5, shrink="none", noise=noise)
    start, end = _WEIGHTS.hardest(promise.adjacency, "gaussian")  # a reversal
    bases = () if promise.adjacency == "add-remove" else tuple(_WEIGHTS.contents)
    return audited(
        name,
        release,
        f"Borda scores and all pairs + {noise.capitalize()} noise, ε/2 each",
        reduce=lambda noisy: jnp.sum(noisy[_UPPER] * np.sign(start - end)[_UPPER]),
        sees="the sum of the weights, each in the direction in which it moves",
        neighbors=(start, end),
        **({"loss": _weights_loss} if noise == "gaussian" else {"law": _weights_law}),
        **_WEIGHTS.protecting(promise, *bases),
    )


AUDITED = (
    _weights("private-weights", USER),
    _weights("private-weights-gaussian", like(USER, delta=rows.DELTA), "gaussian"),
    _weights("private-weights-add-remove", like(USER, "add-remove")),
    audited(
        "exponential-kemeny",
        on(aggregation.exponential_kemeny, pair_weights),
        law=_exponential_law,
        calibration="sound",
        note="aggregation/exponential.py; the loss tends to ε with many users",
        **_ORDER,
    ),
    audited(
        "dp-kwiksort",
        _transcript(aggregation.dp_kwiksort, "k-norm"),
        "KwikSort on noisy answers, q = 2 of 3, ε/2 for the queries and ε/2 for the fallback",
        law=functools.partial(_transcript_law, fallback_noise="k-norm"),
        **_SORTED,
    ),
    audited(
        "dp-kwiksort-published",
        _transcript(published_kwiksort, "laplace"),
        "KwikSort, q = 2 of 3, published: Laplace(q/(nε)) on the queries and ε/2 for the fallback",
        law=functools.partial(_transcript_law, fallback_noise="laplace"),
        note="Alabi et al., Algorithm 1: the queries spend ε, the fallback adds ε/2",
        **rows.PUBLISHED,
        **_SORTED,
    ),
    audited(
        "dp-kwiksort-ranking",
        on(aggregation.dp_kwiksort, pair_weights),
        "KwikSort on noisy answers, q = 3 of 3, the ranking alone",
        law=_sort_law,
        calibration="sound",
        **_ORDER,
    ),
    audited(
        "hay-kwiksort",
        on(aggregation.dp_sorting.hay_kwiksort, pair_weights, max_queries=QUERIES),
        law=_sort_law,
        **_ORDER,
    ),
    audited(
        "private-by-queries",
        named(query_reduction.private_by_queries, _told),
        law=_told_law,
        **_SORTED,
    ),
)
