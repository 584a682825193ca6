"""Audited consensus of rankings in the local model: the messages of one user on three items."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import aggregation
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.ldp_sorting import LocalPlan, local_plan, respond
from privrank_jax.aggregation.published import published_local_plan, zero_one_response
from privrank_jax.aggregation.query_reduction import local_by_queries
from privrank_jax.aggregation.subset_designs import designs
from privrank_jax.aggregation.subset_selection import last_accepted
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.local import flip_threshold
from privrank_jax.privacy_audit import contents, laws, neighbors
from privrank_jax.privacy_audit.audited_consensus import NUM_ITEMS, QUERIES
from privrank_jax.privacy_audit.audited_reports import flip_share, vector_law
from privrank_jax.privacy_audit.registry import Audited, Facts, Release
from privrank_jax.privacy_audit.rows import PUBLISHED, audited, named, on, reported

Array = jax.Array

_PAIRS = NUM_ITEMS * (NUM_ITEMS - 1) // 2
_RANKINGS = (np.array([0, 1, 2]), np.array([2, 1, 0]))


def _strict() -> neighbors.Instances:
    return neighbors.of_values(*neighbors.strict_orders(NUM_ITEMS))


def _weak() -> neighbors.Instances:
    return neighbors.of_values(*contents.weak_orders(NUM_ITEMS))


def _signs(ranks: np.ndarray) -> np.ndarray:
    """For each pair i < j: 1 where i is before j, -1 where it is behind, 0 where they are tied."""
    first, second = np.triu_indices(NUM_ITEMS, 1)
    return np.sign(ranks[:, second] - ranks[:, first]).astype(float)


def _centered_scores(ranks: np.ndarray) -> np.ndarray:
    """Items beaten, ties counting half, minus their mean."""
    return np.sum(np.sign(ranks[:, None, :] - ranks[:, :, None]), axis=-1) / 2


def _scores_law(ranks: np.ndarray, privacy: Privacy, _: Facts, *, mechanism: str) -> np.ndarray:
    radius = float(np.linalg.norm(_centered_scores(_RANKINGS[0][None])))
    return vector_law(_centered_scores(ranks), privacy.epsilon, mechanism, radius, zero_sum=True)


def _two_sets_law(ranks: np.ndarray, privacy: Privacy, _: Facts) -> np.ndarray:
    """Log probabilities of type, side and sets: with ties, the mean over the strict rankings that agree otherwise."""
    items = ranks.shape[1]
    table, orders = designs(items), neighbors.strict_orders(items)
    costs = table.costs(float(privacy.epsilon))
    row = int(np.argmin(costs.sum(axis=1)))
    used = np.flatnonzero(table.weight[row])
    columns = (
        column[row, used].tolist() for column in (table.ahead, table.behind, table.threshold)
    )
    last = last_accepted(jnp.asarray(privacy.epsilon, jnp.float64))
    law = laws.two_item_sets(
        items - 1 - orders,
        list(zip(*columns)),
        costs[row, used] / costs[row].sum(),
        (float(last) + 1) / 2.0**32,
    )
    return np.log(broken_ties(ranks, orders) @ np.exp(law))


def broken_ties(ranks: np.ndarray, orders: np.ndarray) -> np.ndarray:
    """Probability of each strict ranking once the ties of a ranking are broken at random, ``(rankings, orders)``."""
    first, second = np.triu_indices(ranks.shape[1], 1)
    lead, strict = (np.sign(r[:, second] - r[:, first]) for r in (ranks, orders))
    agree = np.all((lead[:, None] == 0) | (lead[:, None] == strict), axis=2)
    return agree / agree.sum(axis=1, keepdims=True)


def _signs_law(
    ranks: np.ndarray, privacy: Privacy, _: Facts, *, mechanism: str = "duchi"
) -> np.ndarray:
    return vector_law(_signs(ranks), privacy.epsilon, mechanism, math.sqrt(_PAIRS))


def _answers_law(ranks: np.ndarray, privacy: Privacy, _: Facts) -> np.ndarray:
    """Log probabilities of the patterns of the three answers, each at ε/3, in binary order."""
    told = np.array(list(itertools.product((-1, 1), repeat=_PAIRS)))
    wrong = np.sum(_signs(ranks)[:, None, :] != told, axis=-1)
    flip = flip_share(privacy.epsilon / _PAIRS)
    return wrong * math.log(flip) + (_PAIRS - wrong) * math.log1p(-flip)


# --- reports ---------------------------------------------------------------------------------------


def _alone(function: Callable[..., Any]) -> Release:
    """A protocol of one user."""
    return on(function, lambda ranks: ranks[None])


def _first_over_last(scores: Array) -> Array:
    return scores[0] - scores[2]


def _upper(w: Array) -> Array:
    return w[np.triu_indices(NUM_ITEMS, 1)]


def _pattern(w: Array) -> Array:
    """The pattern of the three weights above 1/2, as a binary number."""
    return jnp.sum((_upper(w) > 0.5) * 2 ** jnp.arange(_PAIRS)[::-1]).astype(jnp.int32)


_PATTERNS = tuple("".join(signs) for signs in itertools.product("-+", repeat=_PAIRS))
_LOCAL: dict[str, Any] = {
    "neighbors": _RANKINGS,
    "promise": Privacy(1.0, unit="user", adjacency="replace"),
    "trust": "local",
    "instances": _weak,
}
_BORDA: dict[str, Any] = {
    "reduce": _first_over_last,
    "sees": "the score of item 0 less that of item 2",
    **_LOCAL,
}
_IDEALIZED = "--trust local --accept-idealized"

_REPORTS = (
    audited(
        "ldp-borda",
        "Borda scores of one user by Duchi's mechanism",
        _alone(aggregation.ldp_borda),
        law=functools.partial(_scores_law, mechanism="duchi"),
        commands=(f"aggregate --method borda {_IDEALIZED}",),
        **_BORDA,
    ),
    audited(
        "ldp-borda-privunit",
        "Borda scores of one user by PrivUnit",
        _alone(aggregation.ldp_borda_privunit),
        law=functools.partial(_scores_law, mechanism="privunit"),
        commands=(f"aggregate --method auto {_IDEALIZED}",),
        **_BORDA,
    ),
    audited(
        "ldp-borda-subsets",
        "Borda scores of one user by subset selection",
        _alone(aggregation.ldp_borda_subsets),
        law=_two_sets_law,
        commands=("aggregate --method borda --trust local",),
        note="aggregation/subset_selection.py",
        **_BORDA,
    ),
    audited(
        "subset-report",
        "two sets of four items, one ahead of the other in the user's ranking",
        reported(aggregation.ldp_borda_subsets, aggregation.ldp_borda_subsets.report),
        reduce=lambda report: report[0] - report[3],
        sees="the report on item 0 less that on item 3",
        law=_two_sets_law,
        **_LOCAL
        | {
            "neighbors": (np.arange(4), np.arange(4)[::-1]),
            "instances": lambda: neighbors.of_values(*neighbors.strict_orders(4)),
        },
    ),
    audited(
        "ldp-borda-report",
        "the report of one user to ldp_borda",
        reported(aggregation.ldp_borda, aggregation.ldp_borda.report),
        law=functools.partial(_scores_law, mechanism="duchi"),
        **_BORDA | {"sees": "the report on item 0 less that on item 2"},
    ),
    audited(
        "local-weights-duchi",
        "all pairwise weights of one user by Duchi's mechanism",
        _alone(aggregation.local_weights),
        reduce=lambda w: jnp.sum(_upper(w)),
        sees="the sum of the weights above the diagonal",
        law=_signs_law,
        **_LOCAL,
    ),
    audited(
        "local-weights-privunit",
        "all pairwise weights of one user by PrivUnit",
        _alone(aggregation.local_weights_privunit),
        reduce=lambda w: jnp.sum(_upper(w)),
        sees="the sum of the weights above the diagonal",
        law=functools.partial(_signs_law, mechanism="privunit"),
        **_LOCAL,
    ),
    audited(
        "local-weights-rr",
        "all pairwise weights of one user by randomized response at ε/3 each",
        _alone(aggregation.local_weights_rr),
        reduce=_pattern,
        sees="the three answers",
        outcomes=_PATTERNS,
        finite=True,
        law=_answers_law,
        **_LOCAL | {"instances": _strict},
    ),
    audited(
        "local-weights-report",
        "the report of one user to local_weights",
        reported(aggregation.local_weights, aggregation.local_weights.report),
        reduce=jnp.sum,
        sees="the sum of the report",
        law=_signs_law,
        **_LOCAL,
    ),
)

# --- one answer per user ------------------------------------------------------------------------------


def _order(key: Array, ranks: Array, epsilon: Array) -> Array:
    """The number of the order that a user tells of all items."""
    held, scores = aggregation.sub_ranking_weights.report(key, ranks, epsilon, size=NUM_ITEMS)
    told = NUM_ITEMS - 1 - scores[jnp.argsort(held)]
    return 2 * told[0] + (told[1] > told[2])


def _orders_law(ranks: np.ndarray, privacy: Privacy, _: Facts) -> np.ndarray:
    """Log probabilities of the told orders; ties as for two sets."""
    growth, orders = math.exp(float(privacy.epsilon)), neighbors.strict_orders(NUM_ITEMS)
    same = np.all(orders[:, None] == np.array([*itertools.permutations(range(NUM_ITEMS))]), axis=2)
    law = np.where(same, growth, 1.0) / (growth + len(orders) - 1)
    return np.log(broken_ties(ranks, orders) @ law)


def one_pair_law(ranks: np.ndarray, privacy: Privacy, _: Facts) -> np.ndarray:
    """Log probabilities of pair and answer, ``(D, 6)``."""
    flip = flip_share(privacy.epsilon)
    ahead = np.where(_signs(ranks) == 0, 0.5, np.where(_signs(ranks) > 0, 1 - flip, flip))
    return np.log(np.stack([1 - ahead, ahead], axis=-1).reshape(len(ranks), -1) / _PAIRS)


def _three_answers_law(profiles: np.ndarray, privacy: Privacy, _: Facts) -> np.ndarray:
    """Three users are dealt the three pairs, unknown to the observer: the mean over all deals."""
    one = np.exp(one_pair_law(profiles.reshape(-1, NUM_ITEMS), privacy, {})) * _PAIRS
    answers = one.reshape(-1, _PAIRS, _PAIRS, 2)  # data set, user, pair, answer
    deals = list(itertools.permutations(range(_PAIRS)))
    columns = []
    for pattern in itertools.product((0, 1), repeat=_PAIRS):
        chances = [
            np.prod([answers[:, user, pair, pattern[pair]] for pair, user in enumerate(deal)], 0)
            for deal in deals
        ]
        columns.append(np.log(np.mean(chances, axis=0)))
    return np.stack(columns, axis=1)


def three_users() -> neighbors.Instances:
    """Two users keep their rankings; the third has any ranking."""
    orders = neighbors.strict_orders(NUM_ITEMS)
    others = itertools.combinations_with_replacement(range(len(orders)), 2)
    data = np.array([orders[[*pair, own]] for pair in others for own in range(len(orders))])
    near = neighbors.of_values(*orders).pairs
    bases = range(0, len(data), len(orders))
    return neighbors.Instances(data, np.concatenate([near + base for base in bases]))


_ONE_ANSWER = (
    audited(
        "sub-ranking-report",
        "one user's order of three items",
        reported(aggregation.sub_ranking_weights, _order),
        sees="the order",
        outcomes=tuple(map(str, itertools.permutations(range(NUM_ITEMS)))),
        finite=True,
        law=_orders_law,
        **_LOCAL,
    ),
    audited(
        "sub-ranking-weights",
        "weights from one answer of each of three users, about a pair at this ε",
        on(aggregation.sub_ranking_weights, jnp.asarray),
        reduce=_pattern,
        sees="the three answers",
        outcomes=_PATTERNS,
        finite=True,
        law=_three_answers_law,
        commands=(
            "aggregate --method noise-all --trust local",
            "aggregate --method auto --trust local --missing unknown",
        ),
        remark="who was asked for what stays hidden here",
        **_LOCAL
        | {
            "neighbors": tuple(np.stack([*_RANKINGS[:1] * 2, last]) for last in _RANKINGS),
            "instances": three_users,
        },
    ),
)

# --- sorting ---------------------------------------------------------------------------------------

_Planned = Callable[[int, Privacy], LocalPlan]
_PLAN: _Planned = functools.partial(local_plan, max_queries=QUERIES)


def _session(
    key: Array, ranks: Array, privacy: Privacy, planned: _Planned, response: Callable[..., Any]
) -> Array:
    """The messages of one user in a sort that is refused: τ = 1 response (is 0 before 2?) and the report."""
    plan = planned(NUM_ITEMS, privacy)
    response_key, report_key = jax.random.split(fused(key))
    lead = jnp.sign(ranks[2] - ranks[0])
    flip = flip_threshold(jnp.asarray(plan.epsilon_per_query, jnp.result_type(float)))
    plus = response(jax.random.bits(response_key, (), jnp.uint32), lead, flip)
    report = aggregation.local_weights.report(report_key, ranks, plan.fallback_epsilon)
    return 2 * plus.astype(jnp.int32) + (jnp.sum(report) > 0).astype(jnp.int32)


def _session_law(
    ranks: np.ndarray, privacy: Privacy, _: Facts, planned: _Planned, response: Callable[..., Any]
) -> np.ndarray:
    """Law of the response, from how many of the 2^32 random words give it, and of the report."""
    plan = planned(NUM_ITEMS, privacy)
    flip = flip_share(float(plan.epsilon_per_query))
    chances = {
        respond: {1: 1 - flip, 0: 0.5, -1: flip},
        zero_one_response: {1: 1 - flip, 0: 0.75 - flip / 2, -1: 0.5},
    }[response]
    leads = np.sign(ranks[:, 2] - ranks[:, 0])
    plus = np.array([chances[lead] for lead in leads.tolist()])
    report = vector_law(_signs(ranks), float(plan.fallback_epsilon), "duchi", math.sqrt(_PAIRS))
    return np.concatenate([np.log(p)[:, None] + report for p in (plus, 1 - plus)], axis=1)


_SESSIONS = tuple(
    f"(response {response}, report on the {side} side)"
    for response in ("-1", "+1")
    for side in ("reversal's", "ranking's")
)


def _sorting(
    name: str,
    title: str,
    fields: dict[str, Any],
    function: Callable[..., Any] = aggregation.ldp_kwiksort,
    planned: _Planned = _PLAN,
    response: Callable[..., Any] = respond,
) -> Audited:
    terms = {"planned": planned, "response": response}
    return audited(
        name,
        title,
        named(function, functools.partial(_session, **terms)),
        sees="what the user sends",
        outcomes=_SESSIONS,
        law=functools.partial(_session_law, **terms),
        **_LOCAL | fields,
    )


_SORTS = (
    _sorting(
        "ldp-kwiksort",
        "one user's messages to a local KwikSort that is refused, τ = 1",
        {"commands": (f"aggregate --method kwiksort {_IDEALIZED}",)},
    ),
    _sorting(
        "local-by-queries",
        "one user's messages to an algorithm that asks for weights and is refused, τ = 1",
        {},
        local_by_queries,
    ),
    _sorting(
        "ldp-kwiksort-zero-one",
        "the same with the published {0, 1} response at ε/2",
        {
            "calibration": "sound",
            "note": "Alabi et al., Algorithm 3: this response spends only log((e^ε₀+1)/2) of its ε₀",
        },
        response=zero_one_response,
    ),
    _sorting(
        "ldp-kwiksort-published",
        "the same with all of ε for the response and ε/2 for the fallback, as published",
        {
            "note": "Alabi et al., Algorithm 3: the responses spend ε, the fallback's report adds ε/2",
            **PUBLISHED,
        },
        planned=functools.partial(published_local_plan, max_queries=QUERIES),
    ),
)

AUDITED = _REPORTS + _ONE_ANSWER + _SORTS
