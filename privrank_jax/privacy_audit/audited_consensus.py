"""Audited consensus of rankings in the central model: two users and three items; one user is replaced, or joins."""

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
from privrank_jax.aggregation.dp_sorting import kwiksort_plan
from privrank_jax.aggregation.hay_sorting import hay_kwiksort
from privrank_jax.aggregation.sorting import Round, partition_sort
from privrank_jax.aggregation.weights import PairWeights
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.data import Facts as Public
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import laplace as laplace_noise
from privrank_jax.privacy_audit import laws, neighbors, shapes
from privrank_jax.privacy_audit.audited_comparisons import totals
from privrank_jax.privacy_audit.registry import Facts, Release
from privrank_jax.privacy_audit.rows import (
    PUBLISHED,
    audited,
    k_norm,
    laplace,
    named,
    on,
    under_k_norm,
    under_laplace,
)

Array = jax.Array

NUM_ITEMS = 3
USERS = 2
QUERIES = 2  # of three pairs: the pivot's two answers. Unless these lie on different sides, q is exceeded.
_RANKING, _REVERSAL = np.array([0, 1, 2]), np.array([2, 1, 0])
_TIED = neighbors.weights(np.stack([_RANKING, _REVERSAL]))
_AGREED = neighbors.weights(np.stack([_REVERSAL, _REVERSAL]))
_UPPER = np.triu_indices(NUM_ITEMS, 1)

ORDERS = tuple(
    " > ".join(str(item) for item in np.argsort(ranks))
    for ranks in itertools.permutations(range(NUM_ITEMS))
)


def number(ranks: Array) -> Array:
    """The number of a ranking of three items, in lexicographic order of its ranks."""
    return (2 * ranks[0] + (ranks[1] > ranks[2])).astype(jnp.int32)


# --- scores, weights, the exponential mechanism ------------------------------------------------------


def on_weights(mechanism: Callable[..., Any], **options: Any) -> Release:
    """Turn a function of the weights of two users into ``(key, w, privacy) -> Estimate``."""
    return on(mechanism, lambda w: PairWeights(w, USERS), **options)


def on_counts(mechanism: Callable[..., Any], **options: Any) -> Release:
    """Turn it into a release of counts, whose diagonal holds the number of users."""

    def made(counts: Array) -> PairWeights:
        return PairWeights(
            jnp.where(jnp.eye(NUM_ITEMS, dtype=bool), 0, counts) / counts[0, 0], counts[0, 0]
        )

    return on(mechanism, made, **options)


def centered(counts: np.ndarray) -> np.ndarray:
    """Sums over users of how far each score is above the middle, of stacked counts."""
    users = counts[:, :1, 0]
    return totals(counts) - users - 0.5 * (NUM_ITEMS - 1) * users


def pairs_of(data: np.ndarray) -> np.ndarray:
    """Weights above the diagonal, of stacked matrices."""
    return data[:, *_UPPER]


_ON_PAIRS = {"k-norm": k_norm(pairs_of, shapes.cube_facets(3)), "laplace": laplace(pairs_of)}


def _exponential_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """Log probabilities of the orders, with odds e^(-β n K), K the weight against an order."""
    costs = [
        sum(data[:, late, early] for early, late in itertools.combinations(np.argsort(ranks), 2))
        for ranks in neighbors.strict_orders(NUM_ITEMS)
    ]
    return laws.softmax(-facts["rate"] * USERS * np.stack(costs, axis=1))


def _widest(noisy: Array) -> Array:
    """Positive only where the noise is widest upwards, all weights being 1/2: the loss is largest there.

    Clipped noise that is as wide on both sides tells nothing, and gives 0.
    """
    moved = noisy[_UPPER] - 0.5
    return jnp.max(moved) + jnp.min(moved)


# --- sorting ---------------------------------------------------------------------------------------


def _transcript(*, calibration: str, fallback_noise: str) -> Release:
    """A run of dp_kwiksort that publishes its first round and, where it exceeds its budget, the fallback's ranking.

    With the key of a run, this is the transcript of that run (a test compares them): the same split of keys, the same
    sort, the same scale, and the same fallback at ε/2, which both calibrations have.
    """

    def release(key: Array, w: Array, privacy: Privacy) -> Any:
        weights = PairWeights(w, USERS)
        run = aggregation.dp_kwiksort(
            key, weights, privacy, max_queries=QUERIES, calibration=calibration
        )
        scale = run.diagnostics.noise_scale
        sort_key, fallback_key = jax.random.split(fused(key))

        def answer(key: Array, asking: Round, first: Array) -> tuple[Array, Array, Array]:
            shares = w[asking.items, asking.pivots]
            left = shares + laplace_noise(key, shares.shape, scale, w.dtype) > 0.5
            bits = jnp.sum(jnp.where(left & asking.asked, 1 << asking.items, 0))
            seen = 8 * asking.pivots[0] + bits
            return left, jnp.where(first < 0, seen, first).astype(jnp.int32), jnp.bool_(False)

        sorting = partition_sort(sort_key, NUM_ITEMS, answer, jnp.int32(-1), QUERIES, None)
        half = dataclasses.replace(privacy, epsilon=0.5 * privacy.epsilon)
        noisy = aggregation.noise_all(fallback_key, weights, half, noise=fallback_noise).value
        fallback = number(aggregation.local_search(noisy))
        seen = 7 * sorting.state + jnp.where(sorting.stopped, fallback, 6)
        return dataclasses.replace(run, value=seen)

    return named(aggregation.dp_kwiksort, release)


def _transcript_law(
    data: np.ndarray, privacy: Privacy, facts: Facts, *, fallback_noise: str
) -> np.ndarray:
    half = dataclasses.replace(privacy, epsilon=0.5 * privacy.epsilon)
    noise_scale = float(aggregation.noise_all.scale(half, Public(NUM_ITEMS, USERS), fallback_noise))
    fallback = _ON_PAIRS[fallback_noise](data, half, {"noise_scale": noise_scale})
    scale, queries = facts["noise_scale"], int(facts["max_queries"])
    return laws.kwiksort_with_fallback(data, scale, queries, fallback)


def _told(key: Array, w: Array, privacy: Privacy) -> Any:
    """A run of private_by_queries by an algorithm that asks for 0, 1 and 0, 2, then for 1, 2, which is refused."""
    weights = PairWeights(w, USERS)
    plan, _ = kwiksort_plan(weights, privacy, max_queries=QUERIES)
    noise_key, left_key = jax.random.split(fused(key))
    first, second = query_reduction.noisy_answers(noise_key, weights, plan)[0, 1:] > 0.5
    fallback = number(query_reduction.fallback_ranks(left_key, weights, plan))
    told = SortDiagnostics(QUERIES, True, plan.scale, plan.budget)
    guarantee = Guarantee(privacy, privacy)
    return Estimate(12 * first.astype(jnp.int32) + 6 * second + fallback, guarantee, told)


def _told_law(data: np.ndarray, privacy: Privacy, facts: Facts) -> np.ndarray:
    half = dataclasses.replace(privacy, epsilon=0.5 * privacy.epsilon)
    noise_scale = float(aggregation.noise_all.scale(half, Public(NUM_ITEMS, USERS)))
    fallback = _ON_PAIRS["k-norm"](data, half, {"noise_scale": noise_scale})
    lead = (data[:, 0, 1:] - 0.5) / facts["noise_scale"]
    tail = 0.5 * np.exp(-np.abs(lead))
    above = np.where(lead > 0, 1 - tail, tail)
    bits = itertools.product((0, 1), repeat=2)
    sides = [np.log(np.abs(1 - np.array(pair) - above)).sum(axis=1) for pair in bits]
    return np.concatenate([side[:, None] + fallback for side in sides], axis=1)


_TOLD = tuple(
    f"(0 {'before' if first else 'after'} 1, {'before' if second else 'after'} 2, then {order})"
    for first, second, order in itertools.product((0, 1), (0, 1), ORDERS)
)


def _transcript_name(pivot: int, bits: int, fallback: int) -> str:
    ahead = ", ".join(str(item) for item in range(NUM_ITEMS) if bits >> item & 1) or "none"
    then = f", then the fallback {ORDERS[fallback]}" if fallback < 6 else ""
    return f"(pivot {pivot}, before it {ahead}{then})"


_TRANSCRIPTS = tuple(
    _transcript_name(*numbers) for numbers in itertools.product(range(3), range(8), range(7))
)


def _sort_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """Law of the whole sort; with a budget for all pairs there is no fallback."""
    scale, queries = facts["noise_scale"], int(facts["max_queries"])
    return laws.shuffled_kwiksort(data, scale, queries)


USER = Privacy(1.0, unit="user", adjacency="replace")
CENTRAL: dict[str, Any] = {
    "neighbors": (_TIED, _AGREED),
    "promise": USER,
    "instances": functools.partial(neighbors.profiles, neighbors.with_gaps(NUM_ITEMS), users=USERS),
}
_ORDER: dict[str, Any] = {
    "sees": "the order",
    "outcomes": ORDERS,
    "reduce": number,
    "finite": True,
    **CENTRAL,
}
_SORTED: dict[str, Any] = {"sees": "the transcript", "outcomes": _TRANSCRIPTS, **CENTRAL}
_CHANGES = np.array(list(itertools.permutations((2.0, 0.0, -2.0)))) / USERS
_SCORE_FACETS = shapes.zonotope_facets(1 - np.eye(NUM_ITEMS))
_SHIFTED = under_laplace(totals, _TIED, _AGREED)
_SCORES: dict[str, Any] = CENTRAL | {"changes": _CHANGES}
ADDED: dict[str, Any] = {
    "promise": dataclasses.replace(USER, adjacency="add-remove"),
    "instances": functools.partial(neighbors.joined, neighbors.with_gaps(NUM_ITEMS)),
}
ALONE, BOTH = (neighbors.counts(np.stack(users)) for users in ([_REVERSAL], [_REVERSAL, _RANKING]))

AUDITED = (
    audited(
        "dp-borda",
        "Borda scores + K-norm noise",
        on_weights(aggregation.dp_borda),
        commands=(
            "aggregate --method borda",
            "aggregate --method borda --missing unknown",
            "aggregate --method borda --noise gaussian --delta 1e-6",
        ),
        **_SCORES | _SHIFTED | {"law": k_norm(totals, _SCORE_FACETS)},
    ),
    audited(
        "dp-borda-laplace",
        "Borda scores + Laplace",
        on_weights(aggregation.dp_borda, noise="laplace"),
        commands=("aggregate --method borda --noise laplace",),
        **_SCORES | _SHIFTED,
    ),
    audited(
        "dp-borda-add-remove",
        "centered Borda scores, summed over users, + K-norm noise",
        on_counts(aggregation.dp_borda),
        commands=("aggregate --method borda --adjacency add-remove",),
        **ADDED,
        **under_k_norm(centered, _SCORE_FACETS, ALONE, BOTH),
    ),
    audited(
        "dp-borda-add-remove-laplace",
        "centered Borda scores, summed over users, + Laplace",
        on_counts(aggregation.dp_borda, noise="laplace"),
        commands=("aggregate --method borda --adjacency add-remove --noise laplace",),
        **ADDED,
        **under_laplace(centered, ALONE, BOTH),
    ),
    audited(
        "noise-all",
        "all pairwise weights + K-norm noise",
        on_weights(aggregation.noise_all),
        reduce=_widest,
        sees="the largest plus the least noisy weight above the diagonal, less 1",
        law=_ON_PAIRS["k-norm"],
        commands=(
            "aggregate --method noise-all",
            "aggregate --method noise-all --noise gaussian --delta 1e-6 --missing unknown --rule borda",
        ),
        **CENTRAL,
    ),
    audited(
        "noise-all-laplace",
        "all pairwise weights + Laplace",
        on_weights(aggregation.noise_all, noise="laplace"),
        reduce=lambda noisy: jnp.min(noisy[_UPPER]),
        sees="the least noisy weight above the diagonal",
        law=_ON_PAIRS["laplace"],
        commands=(
            "aggregate --method noise-all --noise laplace --rule copeland --matrix private.json",
        ),
        **CENTRAL,
    ),
    audited(
        "exponential-kemeny",
        "exponential mechanism on the Kemeny score",
        on_weights(aggregation.exponential_kemeny),
        law=_exponential_law,
        calibration="sound",
        commands=(
            "aggregate --method exponential",
            "aggregate --method exponential --missing unknown",
        ),
        remark="the loss tends to ε with many users",
        **_ORDER,
    ),
    audited(
        "dp-kwiksort",
        "KwikSort on noisy answers, q = 2 of 3, ε/2 for the queries and ε/2 for the fallback",
        _transcript(calibration="tight", fallback_noise="k-norm"),
        law=functools.partial(_transcript_law, fallback_noise="k-norm"),
        commands=(
            "aggregate --method kwiksort",
            "aggregate --method kwiksort --noise gaussian --delta 1e-6",
        ),
        **_SORTED,
    ),
    audited(
        "dp-kwiksort-published",
        "KwikSort, q = 2 of 3, published: Laplace(q/(nε)) on the queries and ε/2 for the fallback",
        _transcript(calibration="published", fallback_noise="laplace"),
        law=functools.partial(_transcript_law, fallback_noise="laplace"),
        note="Alabi et al., Algorithm 1: the queries spend ε, the fallback adds ε/2",
        **PUBLISHED,
        **_SORTED,
    ),
    audited(
        "dp-kwiksort-ranking",
        "KwikSort on noisy answers, q = 3 of 3, the ranking alone",
        on_weights(aggregation.dp_kwiksort),
        law=_sort_law,
        calibration="sound",
        commands=("aggregate --method kwiksort --missing unknown",),
        remark="the ranking tells less than the transcript",
        **_ORDER,
    ),
    audited(
        "private-by-queries",
        "an algorithm that asks for weights and is refused, q = 2 of 3, ε/2 each for queries and fallback",
        named(query_reduction.private_by_queries, _told),
        law=_told_law,
        **_SORTED | {"outcomes": _TOLD},
    ),
    audited(
        "hay-kwiksort",
        "KwikSort that shuffles what its budget q = 2 of 3 leaves",
        on_weights(hay_kwiksort, max_queries=QUERIES),
        law=_sort_law,
        **_ORDER,
    ),
)
