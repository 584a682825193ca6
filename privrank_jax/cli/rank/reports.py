"""``privrank rank`` on a file of randomized reports: no budget is spent, the guarantee is that of the reports."""

from __future__ import annotations

import functools
import math

import jax
import numpy as np

from privrank_jax import datasets
from privrank_jax._host.evaluate import quickly
from privrank_jax.cli.console import Refusal, warn
from privrank_jax.cli.core.checks import (
    check_already_randomized,
    check_items,
)
from privrank_jax.cli.core.output import print_result
from privrank_jax.cli.core.randomized import TRUSTED, reports_guarantee
from privrank_jax.cli.core.result import (
    SEVERAL_GROUPS,
    UNDONE,
    Certainty,
    Result,
    best_first,
    each_by_itself,
)
from privrank_jax.cli.core.saving import finish
from privrank_jax.cli.core.sources import item_list, named_column
from privrank_jax.cli.rank.certainty import of_scores
from privrank_jax.cli.rank.input import MAX_ITEMS
from privrank_jax.cli.rank.none import components_of
from privrank_jax.cli.rank.request import Request
from privrank_jax.pairwise import DebiasedSums, report_standard_errors, scores_from_sums
from privrank_jax.pairwise.minimize import CODES

_SERVED = (
    "source",
    "separator",
    "encoding",
    "user",
    "items",
    "link",
    "gamma",
    "level",
    "top_k",
    "json",
)
_USUAL_GAMMA = 2.0


def rank_reports(request: Request) -> None:
    """Fit the scores and print the ranking."""
    _check(request)
    user = named_column(request.user, "user")
    items = None if request.items is None else item_list(request.items)
    table = datasets.read_reports(request.file, user=user, items=items)
    check_items(table.name, table.num_items, MAX_ITEMS, request.top_k)
    with jax.enable_x64(True):
        result = fit_reports(table, request)
    warn(*result.warnings)
    names, level, top_k = table.item_names, request.level, request.top_k
    shown = print_result(names, result, level=level, top_k=top_k, as_json=request.json)
    finish(request, "rank", shown)


def _check(request: Request) -> None:
    what = f"{request.source} holds reports (columns report and epsilon)"
    check_already_randomized(request, _SERVED, ("epsilon", "noise", "delta"), what, "answers")
    request.check_scores()


def fit_reports(table: datasets.ReportTable, request: Request) -> Result:
    """Fit adaptive, debiased scores with intervals, as post-processing of the file."""
    gamma = _USUAL_GAMMA if request.gamma is None else request.gamma
    sums, squares = sums_of_table(table)
    fit = functools.partial(scores_from_sums, link=request.link, gamma=gamma)
    estimate = quickly(fit, sums)
    scores, details = np.asarray(estimate.value), estimate.diagnostics
    code, curvature = int(details.fit.code), float(details.smallest_eigenvalue)
    components = components_of(sums.weights)
    warnings = _warnings(code, components, scores)
    certainty = Certainty()
    if code <= 1:
        spread = functools.partial(report_standard_errors, gamma=gamma, link=request.link)
        errors = quickly(spread, scores, sums, squares)
        cover = f"the chance in the answers and in the responses (all taken as independent){UNDONE}"
        certainty = of_scores(
            scores,
            sums.weights,
            errors,
            link=request.link,
            level=request.level,
            words=each_by_itself("the true score", cover),
        )
    notes = (*table.notes, *(certainty.notes if components == 1 else ()))
    diagnostics = {
        "method": "debiased reports",
        "data": table.name,
        "items": table.num_items,
        "reports": len(table),
        "users": table.num_users,
        "smallest_epsilon": float(table.epsilon.min()),
        "largest_epsilon": table.largest_epsilon,
        "largest_epsilon_of_a_user": table.largest_epsilon_of_a_user,
        "information": float(np.sum(np.tanh(0.5 * table.epsilon) ** 2)),
        "link": request.link,
        "gamma": gamma,
        "components": components,
        "smallest_curvature": curvature if math.isfinite(curvature) else None,
        "solver": CODES[code],
        "level": request.level,
        "notes": list(notes),
        "warnings": list(warnings),
    }
    return Result(
        title=f"{table.name}: {table.num_items} items by {len(table):,} debiased reports ({request.link} link)",
        order=best_first(scores),
        guarantee=reports_guarantee(table, "unknown", TRUSTED),
        diagnostics={name: value for name, value in diagnostics.items() if value is not None},
        scores=scores,
        certainty=certainty,
        told_by="By these reports",
        notes=notes,
        warnings=warnings,
    )


def sums_of_table(table: datasets.ReportTable) -> tuple[DebiasedSums, np.ndarray]:
    """Compute D and W of the reports, and Σ tanh⁴(ε/2) of each pair, ``(m, m)``; float64 where JAX has it enabled."""
    size = table.num_items
    tanh = np.tanh(0.5 * table.epsilon)
    cell = table.first.astype(np.int64) * size + table.second

    def total(terms: np.ndarray) -> np.ndarray:
        return np.bincount(cell, terms, minlength=size * size).reshape(size, size)

    margins, weights, squares = total(tanh * (table.reports - 0.5)), total(tanh**2), total(tanh**4)
    both = jax.device_put((margins - margins.T, weights + weights.T))
    return DebiasedSums(*both), squares + squares.T


def _warnings(code: int, components: int, scores: np.ndarray) -> tuple[str, ...]:
    if not np.all(np.isfinite(scores)):
        raise Refusal(
            "the fit found no finite scores: the debiased reports leave its objective without a minimum. "
            "Take a larger --gamma, or --link logistic."
        )
    warnings = []
    if components > 1:
        warnings.append(SEVERAL_GROUPS.format(components))
    if code > 1:
        warnings.append(
            f"the fit did not converge ({CODES[code]}): debiased reports can outweigh the ridge. Take a larger "
            "--gamma, or --link logistic."
        )
    return tuple(warnings)
