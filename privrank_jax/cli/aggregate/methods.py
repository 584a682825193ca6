"""The methods of ``privrank aggregate``: from rankings to a consensus that may be published."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from privrank_jax import aggregation
from privrank_jax.aggregation.auto import choose_method
from privrank_jax.aggregation.exponential import MAX_ITEMS as MAX_EXPONENTIAL
from privrank_jax.aggregation.query_budget import MAX_ITEMS as MAX_EXACT_LAW
from privrank_jax.aggregation.query_budget import refusal_bound
from privrank_jax.cli.aggregate.command import Request
from privrank_jax.cli.aggregate.input import Input
from privrank_jax.cli.aggregate.result import result, solved, weights_of, without_privacy
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.core.numerics import check_numerics, draws_exactly
from privrank_jax.cli.rank.certainty import of_noise
from privrank_jax.cli.rank.noise import noise_reach
from privrank_jax.cli.rank.result import Result
from privrank_jax.estimate import Estimate
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.vectors import report_norm
from privrank_jax.release import (
    exact_borda,
    exact_exponential,
    exact_kwiksort,
    exact_noise_all,
    exact_one_pair_weights,
)

SPLIT = 0.9  # of the budget, for the questions of KwikSort; the rest is for its fallback, which is hardly ever used
_LEVEL = 0.95
_ONE_PAIR = "one-pair"  # how users report where nothing else is accepted


def release(data: Input, request: Request) -> Result:
    """Run the method that was asked for; its guarantee says what is public, and what a user is."""
    table = data.table
    if request.method == "none":
        return without_privacy(data, request)
    local = request.trust == "local"
    if local and (request.method == "kwiksort" or request.accept_idealized):
        check_numerics("simulation", request, "use --method borda or --trust central")
    elif local:
        _check_pairs(data)
    if request.method == "auto":
        method = choose_method(
            table.num_items,
            table.num_users,
            _promise(request),
            trust=request.trust,
            noise=request.noise,
            mechanism="privunit" if request.accept_idealized else _ONE_PAIR,
        )
        request = dataclasses.replace(request, method=method)
    found = _METHODS[request.method, request.trust](data, request)
    return found.given(public=table.public, users=data.users)


def _central_borda(data: Input, request: Request) -> Result:
    table, exact = data.table, draws_exactly(request)
    privacy, noise = _promise(request), request.noise
    if exact:
        estimate = exact_borda(data.votes, privacy, noise=noise, missing=table.missing)
    else:
        estimate = aggregation.dp_borda(data.entropy.key(), weights_of(data), privacy, noise=noise)
    scale = float(estimate.diagnostics.noise_scale)
    reach = noise_reach(scale, request.noise, _LEVEL, table.num_items)
    reach += 0.5 / table.num_users if exact else 0.0  # the noise is on halves of totals
    scores = np.asarray(estimate.value)
    bound = aggregation.borda_bound(table.num_items, table.num_users, privacy, noise=noise)
    better, intervals = of_noise(scores, reach)
    return dataclasses.replace(
        result(data, request, estimate, "by noisy Borda scores", scores, bound, exact=exact),
        intervals=intervals,
        interval_words=(
            "for the scores before the noise and the ranks by them, all items together; they cover the privacy "
            "noise alone. The score of an item is how many others a user, on average, ranks behind it"
        ),
        better=better,
    )


def _check_pairs(data: Input) -> None:
    """Every pair needs a user who is asked for it; the numbers of both are public."""
    items, users = data.table.num_items, data.table.num_users
    if users < items * (items - 1) // 2:
        raise Refusal(
            f"{data.table.name} has {users:,} users and {items * (items - 1) // 2:,} pairs of items: too few to ask "
            "each user for one pair, the way in which local reports are drawn exactly. Use --trust central, or add "
            "--accept-idealized for reports of real numbers on all pairs, drawn by floating point."
        )


def _one_pair_weights(data: Input, request: Request) -> tuple[Estimate, bool]:
    """Weights from one answer per user, and whether they were drawn exactly."""
    table, exact = data.table, draws_exactly(request)
    if exact:
        found = exact_one_pair_weights(data.votes, _promise(request), missing=table.missing)
        return found, True
    key = data.entropy.key()
    return aggregation.one_pair_weights(
        key, data.votes, _promise(request), missing=table.missing
    ), False


def _local_borda(data: Input, request: Request) -> Result:
    table = data.table
    if not request.accept_idealized:
        estimate, exact = _one_pair_weights(data, request)
        scores = np.asarray(aggregation.borda_scores(estimate.value))
        bound = aggregation.ldp_borda_bound(
            table.num_items, table.num_users, request.epsilon, mechanism=_ONE_PAIR
        )
        named = "by Borda scores from one answer per user"
        return result(
            data, request, estimate, named, scores, bound, exact=exact, mechanism=_ONE_PAIR
        )
    mechanism = _local_mechanism(table.num_items - 1, request.epsilon)
    estimate = aggregation.ldp_borda(
        data.entropy.key(),
        data.votes,
        _promise(request),
        mechanism=mechanism,
        missing=table.missing,
    )
    bound = aggregation.ldp_borda_bound(
        table.num_items, table.num_users, request.epsilon, mechanism=mechanism
    )
    scores = np.asarray(estimate.value)
    named = "by Borda scores from one report per user"
    return result(data, request, estimate, named, scores, bound, mechanism=mechanism)


def _central_kwiksort(data: Input, request: Request) -> Result:
    table, exact = data.table, draws_exactly(request)
    privacy, noise = _promise(request), request.noise
    if exact:
        estimate = exact_kwiksort(
            data.votes, privacy, noise=noise, split=SPLIT, missing=table.missing
        )
    else:
        estimate = aggregation.dp_kwiksort(
            data.entropy.key(), weights_of(data), privacy, noise=noise, split=SPLIT
        )
    bound = None
    if table.num_items <= MAX_EXACT_LAW:
        bound = aggregation.kwiksort_bound(
            table.num_items, table.num_users, privacy, noise=noise, split=SPLIT
        )
    return result(
        data, request, estimate, "by a sort of noisy majorities", bound=bound, exact=exact
    )


def _local_kwiksort(data: Input, request: Request) -> Result:
    table = data.table
    if table.num_users < table.num_items:
        raise Refusal(
            f"--method kwiksort with --trust local splits the users into as many groups as there are items, and "
            f"{table.name} has {table.num_users:,} users for {table.num_items:,} items: use --method borda."
        )
    estimate = aggregation.ldp_kwiksort(
        data.entropy.key(), data.votes, _promise(request), split=SPLIT, missing=table.missing
    )
    uses = int(estimate.diagnostics.max_uses)
    never_refused = uses >= table.num_items * (table.num_items - 1) // 2
    bound = aggregation.ldp_kwiksort_bound(
        table.num_items,
        table.num_users,
        request.epsilon,
        max_uses=uses,
        failure=0.0 if never_refused else refusal_bound(table.num_items, uses),
        split=1 - 1e-12 if never_refused else SPLIT,
    )
    return result(data, request, estimate, "by a sort that asks groups of users", bound=bound)


def _central_noise_all(data: Input, request: Request) -> Result:
    table, exact = data.table, draws_exactly(request)
    privacy, noise = _promise(request), request.noise
    if exact:
        estimate = exact_noise_all(data.votes, privacy, noise=noise, missing=table.missing)
    else:
        estimate = aggregation.noise_all(data.entropy.key(), weights_of(data), privacy, noise=noise)
    bound = functools.partial(
        aggregation.noise_all_bound, table.num_items, table.num_users, privacy, noise=noise
    )
    return solved(data, request, estimate, bound, exact=exact)


def _local_noise_all(data: Input, request: Request) -> Result:
    table, exact = data.table, False
    if request.accept_idealized:
        mechanism = _local_mechanism(table.num_items * (table.num_items - 1) // 2, request.epsilon)
        estimate = aggregation.local_weights(
            data.entropy.key(),
            data.votes,
            _promise(request),
            mechanism=mechanism,
            missing=table.missing,
        )
    else:
        mechanism = _ONE_PAIR
        estimate, exact = _one_pair_weights(data, request)
    estimate = dataclasses.replace(estimate, value=np.clip(np.asarray(estimate.value), 0, 1))
    bound = functools.partial(
        aggregation.local_noise_all_bound,
        table.num_items,
        table.num_users,
        request.epsilon,
        mechanism=mechanism,
    )
    return solved(data, request, estimate, bound, exact=exact, mechanism=mechanism)


def _exponential(data: Input, request: Request) -> Result:
    table = data.table
    if table.num_items > MAX_EXPONENTIAL:
        raise Refusal(
            f"--method exponential weighs all subsets of the items and takes at most {MAX_EXPONENTIAL}; "
            f"{table.name} has {table.num_items:,}. Use --method borda."
        )
    exact, privacy = not request.simulate, _promise(request)  # needs no library
    if exact:
        estimate = exact_exponential(data.votes, privacy, missing=table.missing)
    else:
        estimate = aggregation.exponential_kemeny(data.entropy.key(), weights_of(data), privacy)
    bound = aggregation.exponential_bound(table.num_items, table.num_users, privacy)
    return result(data, request, estimate, "by the exponential mechanism", bound=bound, exact=exact)


def _local_mechanism(dimension: int, epsilon: float) -> str:
    """Whichever has the shorter reports, a public fact."""
    return min(("duchi", "privunit"), key=lambda name: float(report_norm(name, dimension, epsilon)))


def _promise(request: Request) -> Privacy:
    return Privacy(request.epsilon, unit="user", adjacency="replace", delta=request.delta)


_METHODS = {
    ("borda", "central"): _central_borda,
    ("borda", "local"): _local_borda,
    ("kwiksort", "central"): _central_kwiksort,
    ("kwiksort", "local"): _local_kwiksort,
    ("noise-all", "central"): _central_noise_all,
    ("noise-all", "local"): _local_noise_all,
    ("exponential", "central"): _exponential,
}
