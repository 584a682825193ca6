"""The methods of ``privrank aggregate``: from rankings to a consensus that may be published."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any

import numpy as np

from privrank_jax import aggregation
from privrank_jax.aggregation.auto import choose_method
from privrank_jax.aggregation.exponential import MAX_ITEMS as MAX_EXPONENTIAL
from privrank_jax.aggregation.integer_program import ProvenRanking
from privrank_jax.aggregation.query_budget import MAX_ITEMS as MAX_EXACT_LAW
from privrank_jax.aggregation.query_budget import refusal_bound
from privrank_jax.cli.aggregate import Request
from privrank_jax.cli.aggregate_input import Input
from privrank_jax.cli.face import Refusal
from privrank_jax.cli.numerics import check_numerics, draws_exactly
from privrank_jax.cli.rank_noise import about_noise, labelled, noise_name, noise_reach
from privrank_jax.cli.rank_result import Result, best_first
from privrank_jax.estimate import Estimate
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
_SIMULATED_USERS = (
    "local trust: the users' reports were drawn here, from a file of raw rankings, just as each user would draw "
    "the own one at home; the guarantee is that of the reports, and whoever holds the file knows the rankings"
)


def release(data: Input, request: Request) -> Result:
    """Run the method that was asked for."""
    table = data.table
    if request.method == "none":
        return _none(data, request)
    local = request.trust == "local"
    if local and (request.method == "kwiksort" or request.accept_idealised):
        check_numerics("simulation", request, "use --method borda or --trust central")
    elif local:
        _check_pairs(data)
    if request.method == "auto":
        method = choose_method(
            table.num_items,
            table.num_users,
            request.epsilon,
            request.trust,
            request.delta,
            "privunit" if request.accept_idealised else _ONE_PAIR,
        )
        request = dataclasses.replace(request, method=method)
    return _METHODS[request.method, request.trust](data, request)


def _none(data: Input, request: Request) -> Result:
    weights = _weights(data)
    best = aggregation.kemeny(weights, request.xi)
    found, words = _certificate(best, data.table.num_items, "")
    return Result(
        title=_title(data, "by least disagreement (Kemeny), without privacy"),
        order=np.argsort(best.ranks),
        guarantee=None,
        diagnostics=_facts(data, request, certificate=found, xi=request.xi),
        notes=(words, *_notes(data)),
        warnings=_unproven(best, request),
    )


def _central_borda(data: Input, request: Request) -> Result:
    table, exact = data.table, draws_exactly(request)
    if exact:
        estimate = exact_borda(
            data.votes, epsilon=request.epsilon, delta=request.delta, missing=table.missing
        )
    else:
        weights = _weights(data)
        estimate = aggregation.dp_borda(
            data.entropy.key(), weights, num_users=table.num_users, **_budget(request)
        )
    scale = float(estimate.diagnostics["noise_scale"])
    reach = noise_reach(scale, request.noise, _LEVEL, table.num_items)
    reach += 0.5 / table.num_users if exact else 0.0  # the noise is on halves of totals
    scores = np.asarray(estimate.value)
    bound = aggregation.borda_bound(table.num_items, table.num_users, **_budget(request))
    return dataclasses.replace(
        _result(data, request, estimate, "by noisy Borda scores", scores, bound, exact=exact),
        intervals={"low": scores - reach, "high": scores + reach},
        interval_words=(
            "for the scores before the noise, all items together; they cover the privacy noise alone. The score "
            "of an item is how many others a user, on average, ranks behind it"
        ),
    )


def _check_pairs(data: Input) -> None:
    """Every pair needs a user who is asked for it; the numbers of both are public."""
    items, users = data.table.num_items, data.table.num_users
    if users < items * (items - 1) // 2:
        raise Refusal(
            f"{data.table.name} has {users:,} users and {items * (items - 1) // 2:,} pairs of items: too few to ask "
            "each user for one pair, the way in which local reports are drawn exactly. Use --trust central, or add "
            "--accept-idealised for reports of real numbers on all pairs, drawn by floating point."
        )


def _one_pair_weights(data: Input, request: Request) -> tuple[Estimate, bool]:
    """Weights from one answer per user, and whether they were drawn exactly."""
    table, exact = data.table, draws_exactly(request)
    if exact:
        found = exact_one_pair_weights(data.votes, request.epsilon, missing=table.missing)
        return found, True
    key = data.entropy.key()
    return aggregation.one_pair_weights(
        key, data.votes, request.epsilon, missing=table.missing
    ), False


def _local_borda(data: Input, request: Request) -> Result:
    table = data.table
    if not request.accept_idealised:
        estimate, exact = _one_pair_weights(data, request)
        scores = np.asarray(aggregation.borda_scores(estimate.value))
        bound = aggregation.ldp_borda_bound(
            table.num_items, table.num_users, request.epsilon, mechanism=_ONE_PAIR
        )
        named = "by Borda scores from one answer per user"
        return _result(
            data, request, estimate, named, scores, bound, exact=exact, mechanism=_ONE_PAIR
        )
    mechanism = _local_mechanism(table.num_items - 1, request.epsilon)
    estimate = aggregation.ldp_borda(
        data.entropy.key(), data.votes, request.epsilon, mechanism, missing=table.missing
    )
    bound = aggregation.ldp_borda_bound(
        table.num_items, table.num_users, request.epsilon, mechanism=mechanism
    )
    scores = np.asarray(estimate.value)
    named = "by Borda scores from one report per user"
    return _result(data, request, estimate, named, scores, bound, mechanism=mechanism)


def _central_kwiksort(data: Input, request: Request) -> Result:
    table, exact = data.table, draws_exactly(request)
    budget = {**_budget(request), "split": SPLIT}
    if exact:
        estimate = exact_kwiksort(data.votes, missing=table.missing, **budget)
    else:
        estimate = aggregation.dp_kwiksort(
            data.entropy.key(), _weights(data), table.num_users, **budget
        )
    bound = None
    if table.num_items <= MAX_EXACT_LAW:
        bound = aggregation.kwiksort_bound(table.num_items, table.num_users, **budget)
    return _result(
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
        data.entropy.key(), data.votes, request.epsilon, split=SPLIT, missing=table.missing
    )
    uses = int(estimate.diagnostics["max_uses"])
    never_refused = uses >= table.num_items * (table.num_items - 1) // 2
    bound = aggregation.ldp_kwiksort_bound(
        table.num_items,
        table.num_users,
        request.epsilon,
        max_uses=uses,
        failure=0.0 if never_refused else refusal_bound(table.num_items, uses),
        split=1 - 1e-12 if never_refused else SPLIT,
    )
    return _result(data, request, estimate, "by a sort that asks groups of users", bound=bound)


def _central_noise_all(data: Input, request: Request) -> Result:
    table, exact = data.table, draws_exactly(request)
    if exact:
        estimate = exact_noise_all(data.votes, missing=table.missing, **_budget(request))
    else:
        estimate = aggregation.noise_all(
            data.entropy.key(), _weights(data), table.num_users, **_budget(request)
        )
    bound = functools.partial(
        aggregation.noise_all_bound, table.num_items, table.num_users, **_budget(request)
    )
    return _solved(data, request, estimate, bound, exact=exact)


def _local_noise_all(data: Input, request: Request) -> Result:
    table, exact = data.table, False
    if request.accept_idealised:
        mechanism = _local_mechanism(table.num_items * (table.num_items - 1) // 2, request.epsilon)
        estimate = aggregation.local_weights(
            data.entropy.key(), data.votes, request.epsilon, mechanism, missing=table.missing
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
    return _solved(data, request, estimate, bound, exact=exact, mechanism=mechanism)


def _exponential(data: Input, request: Request) -> Result:
    table = data.table
    if table.num_items > MAX_EXPONENTIAL:
        raise Refusal(
            f"--method exponential weighs all subsets of the items and takes at most {MAX_EXPONENTIAL}; "
            f"{table.name} has {table.num_items:,}. Use --method borda."
        )
    exact = not request.simulate  # needs no library
    if exact:
        estimate = exact_exponential(data.votes, epsilon=request.epsilon, missing=table.missing)
    else:
        estimate = aggregation.exponential_kemeny(
            data.entropy.key(), _weights(data), table.num_users, request.epsilon
        )
    bound = aggregation.exponential_bound(table.num_items, table.num_users, request.epsilon)
    return _result(
        data, request, estimate, "by the exponential mechanism", bound=bound, exact=exact
    )


def _solved(
    data: Input, request: Request, estimate: Estimate, bound: Any, *, exact: bool = False, **facts: Any
) -> Result:  # fmt: skip
    """The best ranking for noisy weights; its certificate looks at those alone."""
    best = aggregation.kemeny(np.asarray(estimate.value), request.xi)
    found, words = _certificate(best, data.table.num_items, " on the noisy votes")
    estimate = dataclasses.replace(estimate, value=best.ranks)
    named = "by least disagreement with noisy majorities"
    # The theorem is for a ratio that was settled beforehand, not for the one that happened to be proven.
    limit = bound(xi=request.xi) if best.ratio <= 1 + request.xi else None
    result = _result(
        data, request, estimate, named, bound=limit, exact=exact, certificate=found, **facts
    )
    return dataclasses.replace(
        result,
        notes=(words, *result.notes),
        warnings=(*result.warnings, *_unproven(best, request)),
    )


def _unproven(best: ProvenRanking, request: Request) -> tuple[str, ...]:
    """A warning where the solver ran out of time."""
    if best.ratio <= 1 + request.xi:
        return ()
    return (
        f"no ranking was proven to be within --xi {request.xi:g} of the best in a minute; the best one found is shown, "
        "and its certificate says what is proven. A larger --xi ends sooner.",
    )


def _result(
    data: Input,
    request: Request,
    estimate: Estimate,
    named: str,
    scores: np.ndarray | None = None,
    bound: aggregation.Bound | None = None,
    *,
    exact: bool = False,
    **facts: Any,
) -> Result:
    """What all private methods share; ``estimate.value`` holds ranks unless ``scores`` are given."""
    guarantee = estimate.guarantee if exact else labelled(estimate.guarantee, request, "")
    assert guarantee is not None
    notes = list(_notes(data))
    if bound is not None:
        limit = {"ratio": float(bound.ratio), "additive": float(bound.additive)}
        facts["expected_cost_bound"] = limit
        notes.insert(0, _bound_words(limit, data, request))
    if request.trust == "local":
        notes.append(_SIMULATED_USERS)
    found = {name: np.asarray(value).item() for name, value in estimate.diagnostics.items()}
    noise = None
    if request.trust == "central" and "noise_scale" in found:
        noise = noise_name(request, exact)
    return Result(
        title=_title(data, named),
        order=best_first(scores) if scores is not None else np.argsort(np.asarray(estimate.value)),
        guarantee=guarantee,
        diagnostics=_facts(data, request, noise=noise, **found, **facts),
        scores=scores,
        notes=tuple(notes),
        warnings=() if exact else _about_noise(request),
    )


def _about_noise(request: Request) -> tuple[str, ...]:
    """The warning that goes with noise that is not exact, and can't be for users' reports."""
    if request.simulate or request.trust == "central":
        return about_noise(request)
    return (
        "the reports come from fast floating-point generators, keyed by the operating system, and only "
        "approximate their exact law.",
    )


def _local_mechanism(dimension: int, epsilon: float) -> str:
    """Whichever has the shorter reports, a public fact."""
    return min(("duchi", "privunit"), key=lambda name: float(report_norm(name, dimension, epsilon)))


def _budget(request: Request) -> dict[str, Any]:
    return {"epsilon": request.epsilon, "delta": request.delta}


def _weights(data: Input) -> Any:
    if isinstance(data.votes, aggregation.PairCounts):
        return data.votes.weights()
    return aggregation.pairwise_weights(data.votes, missing=data.table.missing)


def _certificate(best: ProvenRanking, items: int, where: str) -> tuple[dict[str, Any], str]:
    """A proven ranking for JSON and in words."""
    pairs = items * (items - 1) // 2
    ratio = best.ratio if math.isfinite(best.ratio) else None
    found = {
        "cost": best.cost,
        "lower_bound": best.lower_bound,
        "ratio": ratio,
        "solver": best.solver,
        "pairs": pairs,
    }
    if where:
        found["of"] = "noisy weights"
    words = f"certificate{where}: the average user disagrees with {best.cost:.4g} of the {pairs} pairs of this order; "
    if best.ratio <= 1 + 1e-9:
        return found, f"{words}no order does better (proven by {best.solver})"
    near = "" if ratio is None else f", so that it is within {100 * (ratio - 1):.2g}% of the best"
    return found, f"{words}no order gets below {best.lower_bound:.4g}{near}"


def _bound_words(limit: dict[str, float], data: Input, request: Request) -> str:
    pairs = data.table.num_items * (data.table.num_items - 1) // 2
    full = ""
    if request.trust == "local" and not data.complete:
        full = ", where all users rank all items"
    if limit["additive"] >= pairs:
        return (
            "proven error: none worth the name at this number of users and epsilon; the consensus may be "
            "mostly noise"
        )
    times = "" if limit["ratio"] == 1 else f"{limit['ratio']:.4g} times "
    votes = "whatever the votes"
    if request.method == "kwiksort" and limit["ratio"] > 5:  # the odds of its fallback rest on that
        votes = "where majorities have no cycle"
    return (
        f"proven error, {votes}{full}: the average user disagrees, in expectation, with at most "
        f"{times}the fewest possible pairs plus {limit['additive']:.2g} of {pairs}"
    )


def _title(data: Input, named: str) -> str:
    table = data.table
    return f"{table.name}: consensus of {table.num_users:,} rankings of {table.num_items} items, {named}"


def _notes(data: Input) -> tuple[str, ...]:
    return data.table.notes if data.complete else (data.rule, *data.table.notes)


def _facts(data: Input, request: Request, **facts: Any) -> dict[str, Any]:
    """Public facts, and what was worked out from private values."""
    table = data.table
    common = {
        "method": request.method,
        "data": table.name,
        "items": table.num_items,
        "users": table.num_users,
        "missing": table.missing,
        **facts,
        "seed": data.entropy.seed,
        "notes": list(_notes(data)),
    }
    return {name: value for name, value in common.items() if value is not None}


_METHODS = {
    ("borda", "central"): _central_borda,
    ("borda", "local"): _local_borda,
    ("kwiksort", "central"): _central_kwiksort,
    ("kwiksort", "local"): _local_kwiksort,
    ("noise-all", "central"): _central_noise_all,
    ("noise-all", "local"): _local_noise_all,
    ("exponential", "central"): _exponential,
}
