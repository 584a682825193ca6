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
from privrank_jax.aggregation.dp_sorting import facts_of, kwiksort_plan, noise_all_ranks
from privrank_jax.aggregation.published import published_kwiksort
from privrank_jax.aggregation.sorting import Round, partition_sort
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.data import Facts as Public
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.noise import laplace as laplace_noise
from privrank_jax.privacy_audit import contents, laws, neighbors
from privrank_jax.privacy_audit.contents import pair_weights
from privrank_jax.privacy_audit.registry import Facts, Release
from privrank_jax.privacy_audit.rows import PUBLISHED, additive, audited, named, on, under

Array = jax.Array

NUM_ITEMS = 3
USERS = 2
USER = Privacy(1.0, unit="user", adjacency="replace")
QUERIES = 2  # of three pairs: the pivot's two answers. Unless these lie on different sides, q is exceeded.
_SCORES, _WEIGHTS = contents.scores_of_rankings(NUM_ITEMS), contents.weights_of_rankings(NUM_ITEMS)
_RANKING, _REVERSAL = (contents.pair_shares(ranks) for ranks in ((0, 1, 2), (2, 1, 0)))

ORDERS = tuple(
    " > ".join(str(item) for item in np.argsort(ranks))
    for ranks in itertools.permutations(range(NUM_ITEMS))
)


def number(ranks: Array) -> Array:
    """The number of a ranking of three items, in lexicographic order of its ranks."""
    return (2 * ranks[0] + (ranks[1] > ranks[2])).astype(jnp.int32)


# --- the exponential mechanism ------------------------------------------------------------------------


def _exponential_law(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
    """Log probabilities of the orders, with odds e^(-β n K), K the weight against an order."""
    costs = [
        sum(data[:, late, early] for early, late in itertools.combinations(np.argsort(ranks), 2))
        for ranks in neighbors.strict_orders(NUM_ITEMS)
    ]
    return laws.softmax(-facts["rate"] * np.stack(costs, axis=1))


# --- sorting ---------------------------------------------------------------------------------------


def _transcript(function: Callable[..., Any], fallback_noise: str) -> Release:
    """A run of a KwikSort that publishes its first round and, where it exceeds its budget, the fallback's ranking.

    With the key of a run, this is the transcript of that run (a test compares them): the same split of keys, the same
    sort, the same scale, and the same fallback at ε/2, which both functions have.
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
        half = dataclasses.replace(privacy, epsilon=0.5 * privacy.epsilon)
        noisy = aggregation.noise_all(fallback_key, weights, half, noise=fallback_noise).value
        fallback = number(aggregation.local_search(noisy))
        seen = 7 * sorting.state + jnp.where(sorting.stopped, fallback, 6)
        return dataclasses.replace(run, value=seen)

    return named(function, release)


def _fallback(data: np.ndarray, half: Privacy, noise: str) -> np.ndarray:
    """Log densities of noisy weights, as the fallback of a sort has them."""
    scale = float(aggregation.noise_all.scale(half, Public(NUM_ITEMS, USERS), noise))
    return under(_WEIGHTS, USER, noise)["law"](data, half, {"noise_scale": scale})


def _transcript_law(
    data: np.ndarray, privacy: Privacy, facts: Facts, *, fallback_noise: str
) -> np.ndarray:
    half = dataclasses.replace(privacy, epsilon=0.5 * privacy.epsilon)
    fallback = _fallback(data, half, fallback_noise)
    scale, queries = facts["noise_scale"], int(facts["max_queries"])
    return laws.kwiksort_with_fallback(data / USERS, scale, queries, fallback)


def _told(key: Array, data: Array, privacy: Privacy) -> Any:
    """A run of private_by_queries by an algorithm that asks for 0, 1 and 0, 2, then for 1, 2, which is refused."""
    weights = pair_weights(data)
    w, facts = facts_of(weights, "an audit")
    plan, _ = kwiksort_plan(privacy, facts, max_queries=QUERIES)
    noise_key, left_key = jax.random.split(fused(key))
    first, second = query_reduction.noisy_answers(noise_key, w, plan)[0, 1:] > 0.5
    rest = dataclasses.replace(privacy, epsilon=plan.of_fallback)
    fallback = number(noise_all_ranks(left_key, weights, rest))
    told = SortDiagnostics(QUERIES, True, plan.scale, plan.budget)
    guarantee = Guarantee(privacy, privacy)
    return Estimate(12 * first.astype(jnp.int32) + 6 * second + fallback, guarantee, told)


def _told_law(data: np.ndarray, privacy: Privacy, facts: Facts) -> np.ndarray:
    half = dataclasses.replace(privacy, epsilon=0.5 * privacy.epsilon)
    fallback = _fallback(data, half, "k-norm")
    lead = (data[:, 0, 1:] / USERS - 0.5) / facts["noise_scale"]
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
    return laws.shuffled_kwiksort(data / USERS, scale, queries)


CENTRAL: dict[str, Any] = {
    "neighbors": (_RANKING + _REVERSAL, _REVERSAL + _REVERSAL),
    **_WEIGHTS.protecting(USER, *_WEIGHTS.contents),
}
_ORDER: dict[str, Any] = {
    "sees": "the order",
    "outcomes": ORDERS,
    "reduce": number,
    "finite": True,
    **CENTRAL,
}
_SORTED: dict[str, Any] = {"sees": "the transcript", "outcomes": _TRANSCRIPTS, **CENTRAL}
_ADDED = dataclasses.replace(USER, adjacency="add-remove")
_borda = functools.partial(additive, function=aggregation.dp_borda, units=_SCORES)
_pairs = functools.partial(additive, function=aggregation.noise_all, units=_WEIGHTS, promise=USER)
_BORDA, _ALL = "aggregate --method borda", "aggregate --method noise-all"

AUDITED = (
    _borda(
        "dp-borda",
        "Borda scores + K-norm noise",
        promise=USER,
        noise="k-norm",
        commands=(
            _BORDA,
            f"{_BORDA} --missing unknown",
            f"{_BORDA} --noise gaussian --delta 1e-6",
        ),
    ),
    _borda(
        "dp-borda-laplace",
        "Borda scores + Laplace",
        promise=USER,
        commands=(f"{_BORDA} --noise laplace",),
    ),
    _borda(
        "dp-borda-add-remove",
        "centered Borda scores, summed over users, + K-norm noise",
        promise=_ADDED,
        noise="k-norm",
        commands=(f"{_BORDA} --adjacency add-remove",),
    ),
    _borda(
        "dp-borda-add-remove-laplace",
        "centered Borda scores, summed over users, + Laplace",
        promise=_ADDED,
        commands=(f"{_BORDA} --adjacency add-remove --noise laplace",),
    ),
    _pairs(
        "noise-all",
        "all pairwise weights + K-norm noise",
        noise="k-norm",
        commands=(
            _ALL,
            f"{_ALL} --noise gaussian --delta 1e-6 --missing unknown --rule borda",
        ),
    ),
    _pairs(
        "noise-all-laplace",
        "all pairwise weights + Laplace",
        commands=(f"{_ALL} --noise laplace --rule copeland --matrix private.json",),
    ),
    audited(
        "exponential-kemeny",
        "exponential mechanism on the Kemeny score",
        on(aggregation.exponential_kemeny, pair_weights),
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
        _transcript(aggregation.dp_kwiksort, "k-norm"),
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
        _transcript(published_kwiksort, "laplace"),
        law=functools.partial(_transcript_law, fallback_noise="laplace"),
        note="Alabi et al., Algorithm 1: the queries spend ε, the fallback adds ε/2",
        **PUBLISHED,
        **_SORTED,
    ),
    audited(
        "dp-kwiksort-ranking",
        "KwikSort on noisy answers, q = 3 of 3, the ranking alone",
        on(aggregation.dp_kwiksort, pair_weights),
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
        on(aggregation.hay_kwiksort, pair_weights, max_queries=QUERIES),
        law=_sort_law,
        **_ORDER,
    ),
)
