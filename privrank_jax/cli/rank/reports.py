"""``privrank rank`` on a file of randomized reports: no budget is spent, the guarantee is that of the reports."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax import datasets
from privrank_jax.cli.console import Refusal, check_choice, warn
from privrank_jax.cli.rank.certainty import Certainty, of_scores
from privrank_jax.cli.rank.input import MAX_ITEMS, item_list, named_column
from privrank_jax.cli.rank.output import print_result
from privrank_jax.cli.rank.result import SEVERAL_GROUPS, Result, best_first
from privrank_jax.pairwise import DebiasedSums, report_standard_errors, scores_from_sums
from privrank_jax.pairwise.minimize import CODES
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

LINKS = ("logistic", "laplace", "normal")
_SERVED = ("context", "source", "user", "items", "link", "gamma", "level", "top_k", "json")


@dataclasses.dataclass(frozen=True)
class ReportRequest:
    """The options of one run; attributes are the options of the same name."""

    source: str
    user: str | None
    items: str | None
    link: str
    gamma: float
    level: float
    top_k: int | None


def rank_reports(request: ReportRequest, given: Sequence[str], *, as_json: bool) -> None:
    """Fit, and print; ``given`` are the names of all options on the command line."""
    _check(request, given)
    user = named_column(request.user, "user")
    items = None if request.items is None else item_list(request.items)
    table = datasets.read_reports(request.source, user=user, items=items)
    if table.num_items < 2:
        raise Refusal(f"a ranking needs at least two items, {table.name} has {table.num_items}.")
    if table.num_items > MAX_ITEMS:
        raise Refusal(
            f"{table.name} has {table.num_items:,} items; this command keeps a table of all pairs and "
            f"takes at most {MAX_ITEMS:,}."
        )
    if request.top_k is not None and request.top_k > table.num_items:
        raise Refusal(
            f"--top-k {request.top_k} is more than there are items: {table.name} has {table.num_items}."
        )
    with jax.enable_x64(True):
        result = fit_reports(table, request)
    for message in result.warnings:
        warn(message)
    print_result(
        table.item_names, result, level=request.level, top_k=request.top_k, as_json=as_json
    )


def _check(request: ReportRequest, given: Sequence[str]) -> None:
    if "epsilon" in given or "delta" in given:
        option = "--epsilon" if "epsilon" in given else "--delta"
        raise Refusal(
            f"{option} has nothing to buy here: {request.source} holds reports that were randomized before "
            "they were collected, each at the epsilon of its row. Ranking them is post-processing, adds no "
            f"noise and spends nothing more. Leave out {option}; for another epsilon, privatize the answers "
            "anew (both files together then spend the sum)."
        )
    others = [f"--{name.replace('_', '-')}" for name in given if name not in _SERVED]
    if others:
        raise Refusal(
            f"{', '.join(others)}: meant for answers in the clear, but {request.source} holds randomized "
            f"reports (columns report and epsilon), which need no further protection. Leave it out."
        )
    check_choice("--link", request.link, LINKS)
    if not 0 < request.level < 1:
        raise Refusal(f"--level must lie between 0 and 1, got {request.level:g}; 0.95 is usual.")
    if not 0 <= request.gamma < math.inf:
        raise Refusal(f"--gamma must be finite and at least 0, got {request.gamma:g}.")
    if request.top_k is not None and request.top_k < 1:
        raise Refusal(f"--top-k must be at least 1, got {request.top_k}.")


def fit_reports(table: datasets.ReportTable, request: ReportRequest) -> Result:
    """Adaptive, debiased scores with intervals. All of it is post-processing of the file."""
    from scipy.sparse.csgraph import connected_components

    sums, squares = sums_of_table(table)
    estimate = scores_from_sums(sums, request.link, request.gamma)
    scores, details = np.asarray(estimate.value), estimate.diagnostics
    code, curvature = int(details.fit.code), float(details.smallest_eigenvalue)
    components = int(connected_components(np.asarray(sums.weights) > 0, directed=False)[0])
    warnings = _warnings(code, components, scores)
    known = Certainty(None)
    if code <= 1:
        errors = report_standard_errors(
            scores, sums, squares, gamma=request.gamma, link=request.link
        )
        words = (
            "for the true score and the rank by it, each by itself; they cover the chance in the answers and in the "
            "responses (all taken as independent), and are centered where the ridge's pull is undone"
        )
        known = of_scores(
            scores, sums.weights, errors, link=request.link, level=request.level, words=words
        )
    notes = (*table.notes, *(known.notes if components == 1 else ()))
    whole = table.largest_epsilon_of_a_user
    diagnostics = {
        "method": "debiased reports",
        "data": table.name,
        "items": table.num_items,
        "reports": len(table),
        "users": table.num_users,
        "smallest_epsilon": float(table.epsilon.min()),
        "largest_epsilon": table.largest_epsilon,
        "largest_epsilon_of_a_user": whole,
        "information": float(np.sum(np.tanh(0.5 * table.epsilon) ** 2)),
        "link": request.link,
        "gamma": request.gamma,
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
        guarantee=guarantee_of(table, "unknown", _TRUSTED),
        diagnostics={name: value for name, value in diagnostics.items() if value is not None},
        scores=scores,
        intervals=known.intervals,
        interval_words=known.words,
        better=known.better,
        told_by="By these reports",
        notes=notes,
        warnings=warnings,
    )


_TRUSTED = "the largest epsilon in the file, which is taken at its word; this command adds no noise and spends nothing."


def guarantee_of(table: datasets.ReportTable, numerics: str, note: str) -> Guarantee:
    """What reports promise: for one comparison the largest ε, for one user the largest sum."""
    whole = table.largest_epsilon_of_a_user
    also = () if whole is None else (Privacy.proven(whole, unit="user", adjacency="flip"),)
    comparison = Privacy.proven(table.largest_epsilon, unit="comparison", adjacency="flip")
    return Guarantee(comparison, trust="local", numerics=numerics, note=note, also=also)


def sums_of_table(table: datasets.ReportTable) -> tuple[DebiasedSums, np.ndarray]:
    """D and W of the reports, and Σ tanh⁴(ε/2) of each pair, ``(m, m)``; float64 where JAX has it enabled."""
    size = table.num_items
    tanh = np.tanh(0.5 * table.epsilon)
    cell = table.first.astype(np.int64) * size + table.second

    def total(terms: np.ndarray) -> np.ndarray:
        return np.bincount(cell, terms, minlength=size * size).reshape(size, size)

    margins, weights, squares = total(tanh * (table.reports - 0.5)), total(tanh**2), total(tanh**4)
    both = jnp.asarray(margins - margins.T), jnp.asarray(weights + weights.T)
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
