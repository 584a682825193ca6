"""The methods of ``privrank aggregate``: from rankings to a publishable consensus."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from privrank_jax import aggregation
from privrank_jax._host.evaluate import quickly
from privrank_jax.aggregation.auto import choose_method
from privrank_jax.aggregation.exponential import MAX_ITEMS as MAX_EXPONENTIAL
from privrank_jax.aggregation.footrule_cuts import MAX_ITEMS as MAX_FOOTRULE
from privrank_jax.aggregation.private_weights import shrunk_weights
from privrank_jax.aggregation.query_budget import MAX_ITEMS as MAX_EXACT_LAW
from privrank_jax.aggregation.query_budget import refusal_bound
from privrank_jax.cli.aggregate.beyond_noise import (
    of_majorities,
    of_majorities_from_answers,
    of_scores,
    of_scores_from_answers,
    of_scores_from_reports,
)
from privrank_jax.cli.aggregate.input import Input, PrivateInput
from privrank_jax.cli.aggregate.request import Request
from privrank_jax.cli.aggregate.result import by_footrule, result, solved, without_privacy
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.core.mechanisms import MECHANISMS, Drawn, draw
from privrank_jax.cli.core.result import Certainty, Result
from privrank_jax.privacy.vectors import report_norm

SPLIT = 0.9  # share of the budget for the comparisons of KwikSort; the rest is for its fallback, which is rarely used
# How users report unless --accept-idealized is given.
_ONE_PAIR, _TWO_SETS = "one-pair", "subset-selection"
# Mechanisms of users who answer for one pair: their names in the library, and of their scores.
_ANSWERS = {
    "one-pair-weights": (_ONE_PAIR, "Borda scores from one answer per user"),
    "shuffled-pair-weights": ("shuffled-pair", "Borda scores from one shuffled answer per user"),
}


def release(data: Input, request: Request) -> Result:
    """Run the requested method."""
    table = data.table
    if not isinstance(data, PrivateInput):
        return without_privacy(data, request)
    if request.method == "auto":
        method = choose_method(
            table.num_items,
            table.num_users,
            data.privacy,
            trust=request.trust,
            noise=request.noise_drawn,
            mechanism="privunit" if request.accept_idealized else _ONE_PAIR,
        )
        request = dataclasses.replace(request, method=method)
    mechanism = _mechanism(data, request)
    MECHANISMS[mechanism].drawn_exactly(request, request.noise)  # refuses early
    if mechanism in _ANSWERS:
        _check_pairs(data)
    return _METHODS[request.method, request.trust](data, request)


def _mechanism(data: PrivateInput, request: Request) -> str:
    """Name in the table of mechanisms, once the method and the numbers of users and items are known."""
    if request.method == "borda" and request.mechanism == "one-pair-weights":
        items, users = data.table.num_items, data.table.num_users
        if aggregation.choose_report(items, users, data.privacy) == _TWO_SETS:
            return "ldp-borda-subsets"
    return request.mechanism


def _draw(data: PrivateInput, request: Request, **options: object) -> Drawn:
    """A release by the mechanism of the method.

    Users answer for themselves; a curator uses weights, which the exact twins count themselves.
    """
    mechanism = _mechanism(data, request)
    exact = MECHANISMS[mechanism].drawn_exactly(request, request.noise)
    if request.at_home or (exact and not data.in_engine):
        votes, options = data.ranks, {**options, "missing": data.table.missing}
    else:
        votes = data.weights
    return draw(mechanism, request, data.entropy, votes, data.privacy, **options)


def _central_borda(data: PrivateInput, request: Request) -> Result:
    table = data.table
    drawn = _draw(data, request, noise=request.noise_drawn)
    scores = np.asarray(drawn.estimate.value)
    bound = aggregation.borda_bound(
        table.num_items, table.num_users, data.privacy, noise=request.noise_drawn
    )
    certainty = of_scores(scores, table.num_users, request, drawn)
    found = result(data, request, drawn, scores=scores, bound=bound)
    return dataclasses.replace(found, certainty=certainty)


def _check_pairs(data: PrivateInput) -> None:
    """Check that there is a user for every pair; both numbers are public."""
    items, users = data.table.num_items, data.table.num_users
    if users < items * (items - 1) // 2:
        raise Refusal(
            f"{data.table.name} has {users:,} users and {items * (items - 1) // 2:,} pairs of items: too few to ask "
            "each user for one pair, as exact local and shuffled reports require. Use --trust central, or --trust "
            "local with --accept-idealized for floating-point reports on all pairs."
        )


def _reported_borda(data: PrivateInput, request: Request) -> Result:
    items, users, epsilon = data.table.num_items, data.table.num_users, data.privacy.epsilon
    found = _mechanism(data, request)
    if found in _ANSWERS:
        mechanism, named = _ANSWERS[found]
        drawn = _draw(data, request)
        scores = np.asarray(quickly(aggregation.borda_scores, drawn.estimate.value))
    else:
        two_sets = found == "ldp-borda-subsets"
        mechanism = _TWO_SETS if two_sets else _local_mechanism(items - 1, epsilon)
        named = MECHANISMS[found].label
        drawn = _draw(data, request, mechanism=mechanism)
        scores = np.asarray(drawn.estimate.value)
    limit = functools.partial(aggregation.ldp_borda_bound, items, mechanism=mechanism)
    epsilon = _report_epsilon(data, request, drawn)
    whole = result(
        data,
        request,
        drawn,
        named=named,
        scores=scores,
        bound=quickly(limit, users, epsilon),
        facts={"mechanism": mechanism},
    )
    if found in _ANSWERS:
        certainty = of_scores_from_answers(scores, users, mechanism, epsilon)
    else:
        certainty = of_scores_from_reports(scores, users, drawn.estimate.diagnostics)
    return _with_certainty(whole, certainty)


def _report_epsilon(data: PrivateInput, request: Request, drawn: Drawn) -> float:
    """ε of one report, which is larger than that of the release if a shuffler hides its sender."""
    if request.shuffled:
        return float(drawn.estimate.diagnostics.local_epsilon)
    return float(data.privacy.epsilon)


def _central_kwiksort(data: PrivateInput, request: Request) -> Result:
    table = data.table
    drawn = _draw(data, request, noise=request.noise_drawn, split=SPLIT)
    bound = None
    if table.num_items <= MAX_EXACT_LAW:
        bound = aggregation.kwiksort_bound(
            table.num_items, table.num_users, data.privacy, noise=request.noise_drawn, split=SPLIT
        )
    return result(data, request, drawn, bound=bound)


def _local_kwiksort(data: PrivateInput, request: Request) -> Result:
    items, users = data.table.num_items, data.table.num_users
    if users < items:
        raise Refusal(
            f"--method kwiksort with --trust local splits the users into as many groups as there are items, and "
            f"{data.table.name} has {users:,} users for {items:,} items: use --method borda."
        )
    drawn = _draw(data, request, split=SPLIT)
    uses = int(drawn.estimate.diagnostics.max_uses)
    never_refused = uses >= items * (items - 1) // 2
    bound = aggregation.ldp_kwiksort_bound(
        items,
        users,
        data.privacy.epsilon,
        max_uses=uses,
        failure=0.0 if never_refused else refusal_bound(items, uses),
        split=1 - 1e-12 if never_refused else SPLIT,
    )
    return result(data, request, drawn, bound=bound)


def _central_noise_all(data: PrivateInput, request: Request) -> Result:
    items, users = data.table.num_items, data.table.num_users
    drawn = _draw(data, request, noise=request.noise_drawn)
    bound = functools.partial(
        aggregation.noise_all_bound, items, users, data.privacy, noise=request.noise_drawn
    )
    weights = np.asarray(drawn.estimate.value)
    found = solved(data, request, drawn, weights, bound)
    ranks = np.argsort(found.order)
    return _with_certainty(found, of_majorities(weights, ranks, users, request, drawn))


def _with_certainty(found: Result, certainty: Certainty) -> Result:
    """Add what the noise leaves certain, or why that is little."""
    return dataclasses.replace(found, certainty=certainty, notes=(*found.notes, *certainty.notes))


def _central_weights(data: PrivateInput, request: Request) -> Result:
    items, users = data.table.num_items, data.table.num_users
    drawn = _draw(data, request, noise=request.noise_drawn, shrink="none")
    unshrunk = np.asarray(drawn.estimate.value)
    about = drawn.estimate.diagnostics
    value, factor = quickly(shrunk_weights, unshrunk, about.cycle_scale)
    # Weights outside of [0, 1] are clipped, so that costs and their certificate are those of votes.
    weights = np.clip(np.asarray(value), 0, 1)
    about = dataclasses.replace(about, cycle_factor=factor)
    drawn = dataclasses.replace(
        drawn, estimate=dataclasses.replace(drawn.estimate, diagnostics=about)
    )
    bound = functools.partial(
        aggregation.private_weights_bound, items, users, data.privacy, noise=request.noise_drawn
    )
    found = solved(data, request, drawn, weights, bound)
    ranks = np.argsort(found.order)
    return _with_certainty(found, of_majorities(unshrunk, ranks, users, request, drawn))


def _reported_noise_all(data: PrivateInput, request: Request) -> Result:
    items, users = data.table.num_items, data.table.num_users
    if request.mechanism in _ANSWERS:
        mechanism, drawn = _ANSWERS[request.mechanism][0], _draw(data, request)
    else:
        mechanism = _local_mechanism(items * (items - 1) // 2, data.privacy.epsilon)
        drawn = _draw(data, request, mechanism=mechanism)
    weights = np.clip(np.asarray(drawn.estimate.value), 0, 1)
    epsilon = _report_epsilon(data, request, drawn)
    bound = functools.partial(
        aggregation.local_noise_all_bound, items, users, epsilon, mechanism=mechanism
    )
    found = solved(data, request, drawn, weights, bound, mechanism=mechanism)
    if request.mechanism not in _ANSWERS:
        return found
    ranks = np.argsort(found.order)
    certainty = of_majorities_from_answers(weights, ranks, users, mechanism, epsilon)
    return _with_certainty(found, certainty)


def _central_footrule(data: PrivateInput, request: Request) -> Result:
    drawn = draw(
        request.mechanism,
        request,
        data.entropy,
        data.histograms,
        data.privacy,
        noise=request.noise_drawn,
    )
    items, users = data.table.num_items, data.table.num_users
    bound = aggregation.footrule_bound(items, users, data.privacy, noise=request.noise_drawn)
    return by_footrule(data, request, drawn, bound)


def _local_footrule(data: PrivateInput, request: Request) -> Result:
    items, users, epsilon = data.table.num_items, data.table.num_users, data.privacy.epsilon
    if items > MAX_FOOTRULE:
        raise Refusal(
            f"--method footrule with --trust local takes at most {MAX_FOOTRULE} items; {data.table.name} has "
            f"{items:,}. Use --method borda."
        )
    limit = functools.partial(aggregation.ldp_footrule_bound, items)
    return by_footrule(data, request, _draw(data, request), quickly(limit, users, epsilon))


def _exponential(data: PrivateInput, request: Request) -> Result:
    table = data.table
    if table.num_items > MAX_EXPONENTIAL:
        raise Refusal(
            f"--method exponential weighs all subsets of the items and takes at most {MAX_EXPONENTIAL}; "
            f"{table.name} has {table.num_items:,}. Use --method borda."
        )
    bound = aggregation.exponential_bound(table.num_items, table.num_users, data.privacy)
    return result(data, request, _draw(data, request), bound=bound)


def _local_mechanism(dimension: int, epsilon: float) -> str:
    """The local mechanism with the shorter reports; the choice depends on public facts only."""
    return min(("duchi", "privunit"), key=lambda name: float(report_norm(name, dimension, epsilon)))


_METHODS = {
    ("borda", "central"): _central_borda,
    ("borda", "local"): _reported_borda,
    ("kwiksort", "central"): _central_kwiksort,
    ("kwiksort", "local"): _local_kwiksort,
    ("noise-all", "central"): _central_noise_all,
    ("noise-all", "local"): _reported_noise_all,
    ("weights", "central"): _central_weights,
    ("footrule", "central"): _central_footrule,
    ("footrule", "local"): _local_footrule,
    ("exponential", "central"): _exponential,
    ("borda", "shuffled"): _reported_borda,
    ("noise-all", "shuffled"): _reported_noise_all,
}
