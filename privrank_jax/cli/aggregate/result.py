"""What the methods of ``privrank aggregate`` share: from an estimate to what is shown, and the way without privacy."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from privrank_jax import aggregation
from privrank_jax.aggregation import PairWeights
from privrank_jax.aggregation.integer_program import ProvenRanking
from privrank_jax.cli.aggregate.command import Request
from privrank_jax.cli.aggregate.input import Input
from privrank_jax.cli.rank.noise import about_noise, labeled, noise_name
from privrank_jax.cli.rank.result import Result, best_first
from privrank_jax.estimate import Estimate

_SIMULATED_USERS = (
    "local trust: the users' reports were drawn here, from a file of raw rankings, just as each user would draw "
    "the own one at home; the guarantee is that of the reports, and whoever holds the file knows the rankings"
)


def without_privacy(data: Input, request: Request) -> Result:
    """The consensus of least disagreement, with its certificate."""
    weights = weights_of(data)
    best = aggregation.kemeny(weights, request.xi)
    found, words = _certificate(best, data.table.num_items, "")
    return Result(
        title=_title(data, "by least disagreement (Kemeny), without privacy"),
        order=np.argsort(best.ranks),
        guarantee=None,
        diagnostics=_facts(data, request, certificate=found, xi=request.xi),
        notes=(words, *_notes(data), *data.table.remarks),
        warnings=_unproven(best, request),
    )


def solved(
    data: Input, request: Request, estimate: Estimate, bound: Any, *, exact: bool = False, **facts: Any
) -> Result:  # fmt: skip
    """The best ranking for noisy weights; its certificate looks at those alone."""
    best = aggregation.kemeny(np.asarray(estimate.value), request.xi)
    found, words = _certificate(best, data.table.num_items, " on the noisy votes")
    estimate = dataclasses.replace(estimate, value=best.ranks)
    named = "by least disagreement with noisy majorities"
    # The theorem is for a ratio that was settled beforehand, not for the one that happened to be proven.
    limit = bound(xi=request.xi) if best.ratio <= 1 + request.xi else None
    whole = result(
        data, request, estimate, named, bound=limit, exact=exact, certificate=found, **facts
    )
    return dataclasses.replace(
        whole,
        notes=(words, *whole.notes),
        warnings=(*whole.warnings, *_unproven(best, request)),
    )


def _unproven(best: ProvenRanking, request: Request) -> tuple[str, ...]:
    """A warning where the solver ran out of time."""
    if best.ratio <= 1 + request.xi:
        return ()
    return (
        f"no ranking was proven to be within --xi {request.xi:g} of the best in a minute; the best one found is shown, "
        "and its certificate says what is proven. A larger --xi ends sooner.",
    )


def result(
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
    guarantee = estimate.guarantee if exact else labeled(estimate.guarantee, request)
    assert guarantee is not None
    notes = list(_notes(data))
    if bound is not None:
        limit = {"ratio": float(bound.ratio), "additive": float(bound.additive)}
        facts["expected_cost_bound"] = limit
        notes.insert(0, _bound_words(limit, data, request))
    if request.trust == "local":
        notes.append(_SIMULATED_USERS)
    found = {name: np.asarray(value).item() for name, value in vars(estimate.diagnostics).items()}
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


def weights_of(data: Input) -> PairWeights:
    """The weights of the users, from their ranks unless these have been counted already."""
    if isinstance(data.votes, PairWeights):
        return data.votes
    return PairWeights.from_ranks(data.votes, missing=data.table.missing)
