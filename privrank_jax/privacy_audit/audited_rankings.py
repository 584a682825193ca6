"""Audited mechanisms on rankings of three items: consensus in both models, synthetic rankings, Laplace ranks.

One user's ranking is replaced by its reversal; the other user, where there is one, holds that reversal in both data
sets, so that every weight moves from a tie to none. The statistics are those of
:mod:`privrank_jax.privacy_audit.audited_comparisons`.

**Sorts.** What the proof of KwikSort protects is its transcript: the pivots, the answers, and the fallback's ranking
where the budget was exceeded. The audit looks at the first round and the fallback. The ranking alone may lose less:
a budget is exceeded by lopsided rounds, which tell how many answers turned over but not all of them, and we know of no
neighbours at which the published scale costs the ranking more than ε.
"""

from __future__ import annotations

import functools
import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import aggregation, mallows
from privrank_jax.aggregation.kwiksort import Round, partition_sort
from privrank_jax.aggregation.ldp_plan import local_plan, respond
from privrank_jax.privacy.local import flip_threshold
from privrank_jax.privacy.noise import laplace
from privrank_jax.privacy_audit.registry import Audited

Array = jax.Array

_ITEMS, _PAIRS = 3, 3
_USERS = 2
_RANKING, _REVERSAL = np.array([0, 1, 2]), np.array([2, 1, 0])
# The weights of two users: one the reverse of the other; both the reversal.
_TIED = np.array([[0.0, 0.5, 0.5], [0.5, 0.0, 0.5], [0.5, 0.5, 0.0]])
_AGREED = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
_WEIGHTS = (_TIED, _AGREED)


def _number(ranks: Array) -> Array:
    """A ranking of three items, numbered in lexicographic order of its ranks."""
    return (2 * ranks[0] + (ranks[1] > ranks[2])).astype(jnp.int32)


_ORDERS = tuple(
    " > ".join(str(item) for item in np.argsort(ranks))
    for ranks in itertools.permutations(range(3))
)

# --- consensus, central model ----------------------------------------------------------------------


def _borda(key: Array, w: Array, epsilon: Array) -> Array:
    scores = aggregation.dp_borda(key, w, num_users=_USERS, epsilon=epsilon).value
    return jnp.minimum(scores[0] - 1, 1 - scores[2])


def _noise_all(key: Array, w: Array, epsilon: Array) -> Array:
    noisy = aggregation.noise_all(key, w, _USERS, epsilon).value
    return jnp.min(noisy[np.triu_indices(_ITEMS, 1)])


def _exponential(key: Array, w: Array, epsilon: Array) -> Array:
    return _number(aggregation.exponential_kemeny(key, w, _USERS, epsilon).value)


def _exponential_loss(epsilon: float) -> float:
    """By the probabilities of the six orders: odds e^(-ε n K/6)."""
    logs = []
    for w in _WEIGHTS:
        orders = itertools.permutations(range(_ITEMS))
        costs = [
            sum(w[late, early] for early, late in itertools.combinations(o, 2)) for o in orders
        ]
        steep = -epsilon * _USERS / (_ITEMS * (_ITEMS - 1)) * np.array(costs)
        logs.append(steep - np.log(np.sum(np.exp(steep))))
    return float(np.max(np.abs(logs[0] - logs[1])))


def _hay(key: Array, w: Array, epsilon: Array) -> Array:
    return _number(aggregation.hay_kwiksort(key, w, _USERS, epsilon, 2).value)


# Of three pairs: the pivot's two answers. Unless they are on different sides nothing is left.
_BUDGET = 2


def _transcript(key: Array, w: Array, epsilon: Array, *, calibration: str) -> Array:
    """The first round of dp_kwiksort and, where it exceeds its budget, the fallback's ranking.

    With the key of a run this is that run's own transcript (a test holds them together): the same split of keys, the
    same sort, the same fallback at ε/2, which both calibrations have. The scale is the run's too.
    """
    run = aggregation.dp_kwiksort(
        key, w, _USERS, epsilon, max_queries=_BUDGET, calibration=calibration
    )
    scale = run.diagnostics["noise_scale"]
    sort_key, fallback_key = jax.random.split(key)

    def answer(key: Array, asking: Round, first: Array) -> tuple[Array, Array, Array]:
        weights = w[asking.items, asking.pivots]
        left = weights + laplace(key, weights.shape, scale, w.dtype) > 0.5
        bits = jnp.sum(jnp.where(left & asking.asked, 1 << asking.items, 0))
        seen = 8 * asking.pivots[0] + bits
        return left, jnp.where(first < 0, seen, first).astype(jnp.int32), jnp.bool_(False)

    sorting = partition_sort(sort_key, _ITEMS, answer, jnp.int32(-1), _BUDGET, None)
    noisy = aggregation.noise_all(fallback_key, w, _USERS, 0.5 * epsilon).value
    fallback = _number(aggregation.local_search(noisy))
    return 7 * sorting.state + jnp.where(sorting.stopped, fallback, 6)


def _transcript_name(pivot: int, bits: int, fallback: int) -> str:
    ahead = ", ".join(str(item) for item in range(_ITEMS) if bits >> item & 1) or "none"
    then = f", then the fallback {_ORDERS[fallback]}" if fallback < 6 else ""
    return f"(pivot {pivot}, before it {ahead}{then})"


_TRANSCRIPTS = tuple(
    _transcript_name(*numbers) for numbers in itertools.product(range(3), range(8), range(7))
)
_CENTRAL = (
    Audited(
        "dp-borda",
        "Borda scores + Laplace",
        "dp_borda",
        _WEIGHTS,
        _borda,
        "the least of item 0's rise above its score and item 2's fall below its own",
        unit="user",
        exact=float,
        note="aggregation/borda.py",
    ),
    Audited(
        "noise-all",
        "all pairwise weights + Laplace",
        "noise_all",
        _WEIGHTS,
        _noise_all,
        "the least noisy weight above the diagonal",
        unit="user",
        exact=float,
        note="aggregation/noise_all.py",
    ),
    Audited(
        "exponential-kemeny",
        "exponential mechanism on the Kemeny score",
        "exponential_kemeny",
        _WEIGHTS,
        _exponential,
        "the order",
        _ORDERS,
        unit="user",
        calibration="sound",
        exact=_exponential_loss,
        note="aggregation/exponential.py; the loss tends to ε with many users",
    ),
    Audited(
        "dp-kwiksort",
        "KwikSort on noisy answers, q = 2 of 3, ε/2 for the queries and ε/2 for the fallback",
        "dp_kwiksort",
        _WEIGHTS,
        functools.partial(_transcript, calibration="tight"),
        "the transcript",
        _TRANSCRIPTS,
        unit="user",
        note="aggregation/dp_kwiksort.py",
    ),
    Audited(
        "dp-kwiksort-published",
        "KwikSort, q = 2 of 3, published: Laplace(q/(nε)) on the queries and ε/2 for the fallback",
        "dp_kwiksort",
        _WEIGHTS,
        functools.partial(_transcript, calibration="published"),
        "the transcript",
        _TRANSCRIPTS,
        unit="user",
        calibration="published",
        sound=False,
        note="Alabi et al., Algorithm 1: the queries spend ε, the fallback adds ε/2",
    ),
    Audited(
        "hay-kwiksort",
        "KwikSort that shuffles what its budget q = 2 of 3 leaves",
        "hay_kwiksort",
        _WEIGHTS,
        _hay,
        "the order",
        _ORDERS,
        unit="user",
        calibration="sound",
        note="aggregation/hay_kwiksort.py",
    ),
)

# --- consensus, local model ------------------------------------------------------------------------

_RANKINGS = (_RANKING, _REVERSAL)
_LOCAL: dict[str, Any] = {"neighbours": _RANKINGS, "unit": "user", "trust": "local"}


def _local_borda(key: Array, ranks: Array, epsilon: Array, *, mechanism: str) -> Array:
    scores = aggregation.ldp_borda(key, ranks[None], epsilon, mechanism).value
    return scores[0] - scores[2]


def _local_borda_report(key: Array, ranks: Array, epsilon: Array) -> Array:
    report = aggregation.ldp_borda_report(key, ranks, epsilon)
    return report[0] - report[2]


def _local_weights(key: Array, ranks: Array, epsilon: Array, *, mechanism: str) -> Array:
    w = aggregation.local_weights(key, ranks[None], epsilon, mechanism).value
    pairs = w[np.triu_indices(_ITEMS, 1)]
    return jnp.min(pairs) if mechanism == "randomized-response" else jnp.sum(pairs)


def _local_weights_report(key: Array, ranks: Array, epsilon: Array) -> Array:
    return jnp.sum(aggregation.local_weights_report(key, ranks, epsilon))


def _session(key: Array, ranks: Array, epsilon: Array, **terms: str) -> Array:
    """What one user sends in a sort that is refused: τ = 1 response, whether 0 comes before 2, and the report."""
    plan = local_plan(_ITEMS, epsilon, _BUDGET, **terms)
    response_key, report_key = jax.random.split(key)
    lead = jnp.where(ranks[0] < ranks[2], 1, -1)
    flip = flip_threshold(jnp.asarray(plan.epsilon_per_query, jnp.result_type(float)))
    word = jax.random.bits(response_key, (), jnp.uint32)
    plus = respond(word, lead, flip, plan.encoding)
    report = aggregation.local_weights_report(report_key, ranks, plan.fallback_epsilon)
    return 2 * plus.astype(jnp.int32) + (jnp.sum(report) > 0).astype(jnp.int32)


_SESSIONS = tuple(
    f"(response {response}, report on the {side} side)"
    for response in ("-1", "+1")
    for side in ("reversal's", "ranking's")
)


def _zero_one_loss(epsilon: float, *, of_queries: float) -> float:
    """The published {0, 1} response at ``of_queries`` ε, and the report at ε/2."""
    return math.log((math.exp(of_queries * epsilon) + 1) / 2) + epsilon / 2


_OF_USERS = (
    Audited(
        "ldp-borda",
        "Borda scores of one user by Duchi's mechanism",
        "ldp_borda",
        run=functools.partial(_local_borda, mechanism="duchi"),
        sees="the score of item 0 less that of item 2",
        exact=float,
        note="aggregation/borda.py",
        **_LOCAL,
    ),
    Audited(
        "ldp-borda-privunit",
        "Borda scores of one user by PrivUnit",
        "ldp_borda",
        run=functools.partial(_local_borda, mechanism="privunit"),
        sees="the score of item 0 less that of item 2",
        exact=float,
        note="aggregation/borda.py",
        **_LOCAL,
    ),
    Audited(
        "ldp-borda-report",
        "the report of one user to ldp_borda",
        "ldp_borda_report",
        run=_local_borda_report,
        sees="the report on item 0 less that on item 2",
        exact=float,
        note="aggregation/borda.py",
        **_LOCAL,
    ),
    Audited(
        "local-weights",
        "all pairwise weights of one user by Duchi's mechanism",
        "local_weights",
        run=functools.partial(_local_weights, mechanism="duchi"),
        sees="the sum of the weights above the diagonal",
        exact=float,
        note="aggregation/local_weights.py",
        **_LOCAL,
    ),
    Audited(
        "local-weights-rr",
        "all pairwise weights of one user by randomised response at ε/3 each",
        "local_weights",
        run=functools.partial(_local_weights, mechanism="randomized-response"),
        sees="the least weight above the diagonal",
        exact=float,
        note="aggregation/local_weights.py",
        **_LOCAL,
    ),
    Audited(
        "local-weights-report",
        "the report of one user to local_weights",
        "local_weights_report",
        run=_local_weights_report,
        sees="the sum of the report",
        exact=float,
        note="aggregation/local_weights.py",
        **_LOCAL,
    ),
    Audited(
        "ldp-kwiksort",
        "one user's messages to a local KwikSort that is refused, τ = 1",
        "ldp_kwiksort",
        run=_session,
        sees="what the user sends",
        outcomes=_SESSIONS,
        exact=float,
        note="aggregation/ldp_kwiksort.py",
        **_LOCAL,
    ),
    Audited(
        "ldp-kwiksort-zero-one",
        "the same with the published {0, 1} response at ε/2",
        "ldp_kwiksort",
        run=functools.partial(_session, encoding="published"),
        sees="what the user sends",
        outcomes=_SESSIONS,
        calibration="sound",
        exact=functools.partial(_zero_one_loss, of_queries=0.5),
        note="Alabi et al., Algorithm 3: this response spends only log((e^ε₀+1)/2) of its ε₀",
        **_LOCAL,
    ),
    Audited(
        "ldp-kwiksort-published",
        "the same with all of ε for the response and ε/2 for the fallback, as published",
        "ldp_kwiksort",
        run=functools.partial(_session, calibration="published"),
        sees="what the user sends",
        outcomes=_SESSIONS,
        calibration="published",
        exact=lambda epsilon: 1.5 * epsilon,
        sound=False,
        note="Alabi et al., Algorithm 3: the responses spend ε, the fallback's report adds ε/2",
        **_LOCAL,
    ),
)

# --- ranking differential privacy --------------------------------------------------------------------

_MOVED = (_RANKING, np.array([2, 0, 1]))  # item 0 goes from the first place to the last


def _synthetic(key: Array, ranks: Array, epsilon: Array) -> Array:
    return _number(mallows.sample(key, ranks, epsilon))


def _laplace_ranks(key: Array, ranks: Array, epsilon: Array) -> Array:
    noisy = mallows.laplace_ranks(key, ranks, epsilon)
    return jnp.minimum(-noisy[0], jnp.min(noisy[1:] - jnp.arange(1, _ITEMS)))


def _whole_ranking(epsilon: float) -> float:
    """εm/2: what is claimed of a synthetic ranking for all ranks of a user at once."""
    return epsilon * _ITEMS / 2


_SYNTHETIC = (
    Audited(
        "mallows-sample",
        "synthetic ranking, the rank of one item",
        "sample",
        _MOVED,
        _synthetic,
        "the synthetic order",
        _ORDERS,
        unit="rank",
        trust="local",
        exact=float,
        note="mallows/distribution.py",
    ),
    Audited(
        "mallows-sample-users",
        "synthetic ranking, the whole ranking of a user",
        "sample",
        _RANKINGS,
        _synthetic,
        "the synthetic order",
        _ORDERS,
        unit="user",
        trust="local",
        claimed=_whole_ranking,
        exact=_whole_ranking,
        note="mallows/distribution.py: εm/2",
    ),
    Audited(
        "laplace-ranks",
        "ranks + Laplace(2(m-1)/ε)",
        "laplace_ranks",
        _MOVED,
        _laplace_ranks,
        "the least of item 0's rise ahead of its place and the others' fall behind theirs",
        unit="rank",
        trust="local",
        exact=float,
        note="mallows/laplace.py",
    ),
)

AUDITED = _CENTRAL + _OF_USERS + _SYNTHETIC
