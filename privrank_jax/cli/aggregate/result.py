"""Shared by the methods of ``privrank aggregate``: from a release to its result, and the method without privacy."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import TypedDict

import numpy as np

from privrank_jax import aggregation
from privrank_jax._types import PairMatrixLike
from privrank_jax.aggregation.integer_program import ProvenRanking
from privrank_jax.cli.aggregate.input import Input
from privrank_jax.cli.aggregate.request import Request
from privrank_jax.cli.core.mechanisms import MECHANISMS, Drawn
from privrank_jax.cli.core.result import Result, best_first

_SIMULATED_USERS = (
    "local trust: the users' reports were drawn here, from a file of raw rankings, just as each user would draw "
    "it at home; the guarantee is that of the reports, and the holder of the file knows the rankings"
)

_SIMULATED_SHUFFLER = (
    "shuffled trust: users and shuffler were simulated here, from a file of raw rankings, whose holder knows them. The "
    "shuffler must receive one report of each user over channels that nobody else reads, wait until all are there, "
    "remove names, addresses, times and anything else that came with them, pass them on in random order or as counts, "
    "and collude with nobody; the guarantee counts all users of the file as honest"
)


class Limit(TypedDict):
    """A bound on the expected cost, for JSON."""

    ratio: float
    additive: float


def without_privacy(data: Input, request: Request) -> Result:
    """Find the consensus of least disagreement, with its certificate."""
    best = aggregation.kemeny(data.weights, request.xi)
    found, words = _certificate(best, data.table.num_items, "")
    return Result(
        title=_title(data, "least disagreement (Kemeny), without privacy"),
        order=np.argsort(best.ranks),
        guarantee=None,
        diagnostics=_facts(data, request, certificate=found, xi=request.xi),
        notes=(words, *_notes(data), *data.table.remarks),
        warnings=_unproven(best, request),
    )


def solved(
    data: Input,
    request: Request,
    drawn: Drawn,
    weights: PairMatrixLike,
    bound: Callable[..., aggregation.Bound],
    **facts: str,
) -> Result:
    """Find the best ranking for noisy weights; its certificate depends on those alone."""
    best = aggregation.kemeny(np.asarray(weights), request.xi)
    found, words = _certificate(best, data.table.num_items, "by the noisy votes, ")
    # The theorem is for a ratio fixed beforehand, not for the one that happened to be proven.
    limit = bound(xi=request.xi) if best.ratio <= 1 + request.xi else None
    whole = result(
        data,
        request,
        drawn,
        named="Kemeny ranking of noisy weights",
        ranks=best.ranks,
        bound=limit,
        facts={"certificate": found, **facts},
    )
    return dataclasses.replace(
        whole,
        notes=(words, *whole.notes),
        warnings=(*whole.warnings, *_unproven(best, request)),
    )


def by_footrule(
    data: Input, request: Request, drawn: Drawn, bound: aggregation.Bound | None = None
) -> Result:
    """Assign items to places at the least noisy cost; what is said depends on the costs alone."""
    from scipy.optimize import linear_sum_assignment

    costs = np.asarray(drawn.estimate.value, np.float64)
    ranks = linear_sum_assignment(costs)[1]
    items = len(costs)
    spent = float(costs[np.arange(items), ranks].sum())
    noise = float(np.asarray(drawn.estimate.diagnostics.cost_deviation))
    told = "noisy counts of the places at which users have each item"
    if request.at_home:
        told = "a cut of each user's ranking, with a set of items likely ahead of it"
    words = (
        f"released: {told}; the mean distance of an item from a place has noise of {noise:.2g}. By these counts no "
        "order is nearer to the users' than this one"
    )
    if 0 <= spent <= items * items // 2:
        words += f": {spent:.4g} places off on average, summed over items"
    whole = result(data, request, drawn, ranks=ranks, bound=bound, facts={"noisy_footrule": spent})
    return dataclasses.replace(whole, notes=(words, *whole.notes))


def _unproven(best: ProvenRanking, request: Request) -> tuple[str, ...]:
    """Warn if the solver ran out of time."""
    if best.ratio <= 1 + request.xi:
        return ()
    return (
        f"no ranking was proven to be within --xi {request.xi:g} of the best in a minute; the best one found is shown, "
        "and the notes say what is proven of it. A larger --xi ends sooner.",
    )


def result(
    data: Input,
    request: Request,
    drawn: Drawn,
    *,
    named: str | None = None,
    scores: np.ndarray | None = None,
    ranks: np.ndarray | None = None,
    bound: aggregation.Bound | None = None,
    facts: Mapping[str, object] | None = None,
) -> Result:
    """Build the result of a private method.

    Args:
        data: the rankings.
        request: the options.
        drawn: the release.
        named: name of the method; None for the label of the mechanism.
        scores: scores that determine the order.
        ranks: ranks that determine the order; without either, the value of the release holds them.
        bound: bound on the expected cost.
        facts: further diagnostics.
    """
    if scores is not None:
        order = best_first(scores)
    else:
        order = np.argsort(np.asarray(drawn.estimate.value if ranks is None else ranks))
    notes, facts = list(_notes(data)), dict(facts or {})
    if bound is not None:
        limit: Limit = {"ratio": float(bound.ratio), "additive": float(bound.additive)}
        facts["expected_cost_bound"] = limit
        notes.insert(0, _bound_words(limit, data, request))
    if request.local:
        notes.append(_SIMULATED_USERS)
    if request.shuffled:
        notes.append(_SIMULATED_SHUFFLER)
    found = {
        name: np.asarray(value).item()
        for name, value in vars(drawn.estimate.diagnostics).items()
        if np.ndim(value) == 0
    }
    found = {name: value for name, value in found.items() if math.isfinite(value)}
    with_noise = not request.at_home and bool(
        {"noise_scale", "gradient_scale", "cost_deviation"} & set(found)
    )
    return Result(
        title=_title(data, named or MECHANISMS[request.mechanism].label),
        order=order,
        guarantee=drawn.guarantee,
        diagnostics=_facts(
            data, request, noise=drawn.law if with_noise else None, **found, **facts
        ),
        scores=scores,
        notes=tuple(notes),
        warnings=drawn.warnings,
    )


def _certificate(best: ProvenRanking, items: int, where: str) -> tuple[dict[str, object], str]:
    """The certificate of a ranking, for JSON and in words."""
    pairs = items * (items - 1) // 2
    ratio = best.ratio if math.isfinite(best.ratio) else None
    found: dict[str, object] = {
        "cost": best.cost,
        "lower_bound": best.lower_bound,
        "ratio": ratio,
        "solver": best.solver,
        "pairs": pairs,
    }
    if where:
        found["of"] = "noisy weights"
    words = f"{where}the average user disagrees with {best.cost:.4g} of the {pairs} pairs of this order, and with "
    if best.ratio <= 1 + 1e-9:
        return found, f"{words}at least as many of any other (proven by {best.solver})"
    near = "" if ratio is None else f", so this one is within {100 * (ratio - 1):.2g}% of the best"
    return found, f"{words}at least {best.lower_bound:.4g} of any order{near}"


def _bound_words(limit: Limit, data: Input, request: Request) -> str:
    pairs = data.table.num_items * (data.table.num_items - 1) // 2
    full = ""
    if request.at_home and request.method != "footrule" and not data.complete:
        full = ", where all users rank all items"
    if 2 * limit["additive"] >= pairs:  # a random order has as much
        return (
            "proven error: no useful bound at this number of users and epsilon; the consensus may be "
            "mostly noise"
        )
    times = "" if limit["ratio"] == 1 else f"{limit['ratio']:.4g} times "
    votes = "whatever the votes"
    if (
        request.method == "kwiksort" and limit["ratio"] > 5
    ):  # the probability of its fallback depends on that
        votes = "where majorities have no cycle"
    return (
        f"proven error, {votes}{full}: the average user disagrees, in expectation, with at most "
        f"{times}the fewest possible pairs plus {limit['additive']:.2g} of {pairs}"
    )


def _title(data: Input, named: str) -> str:
    table = data.table
    return f"{table.name}: consensus of {table.num_users:,} rankings of {table.num_items} items, by {named}"


def _notes(data: Input) -> tuple[str, ...]:
    return data.table.notes if data.complete else (data.rule, *data.table.notes)


def _facts(data: Input, request: Request, **facts: object) -> dict[str, object]:
    """Diagnostics: public facts, and values computed from private releases."""
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
