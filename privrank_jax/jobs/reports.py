"""Items by randomized reports: no budget is spent, the guarantee is that of the reports."""

from __future__ import annotations

import functools
import math

import jax
import numpy as np

from privrank_jax._quickly import quickly
from privrank_jax._types import PairMatrix, Scalar, Scores
from privrank_jax.data.randomized import Reports
from privrank_jax.estimate import Estimate
from privrank_jax.jobs.answers import MAX_ITEMS
from privrank_jax.jobs.asked import Asked
from privrank_jax.jobs.certainty import components_of, doubts_of, of_errors
from privrank_jax.jobs.checks import check_items
from privrank_jax.jobs.result import (
    UNDONE,
    Certainty,
    Ranking,
    best_first,
    each_by_itself,
)
from privrank_jax.pairwise.debiased_fit import (
    DebiasedSums,
    report_standard_errors,
    scores_from_sums,
)
from privrank_jax.pairwise.minimizer import CODES
from privrank_jax.pairwise.uncertainty import Uncertainty
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

_USUAL_GAMMA = 2.0
TRUSTED = "the largest epsilon as stated in the file, not verified; ranking them adds no noise and spends nothing."


def reports_guarantee(table: Reports, numerics: str, note: str) -> Guarantee:
    """Guarantee of reports: for one comparison the largest ε, for one user the largest sum."""
    whole = table.largest_epsilon_of_a_user
    also = () if whole is None else (Privacy.proven(whole, unit="user", adjacency="flip"),)
    comparison = Privacy.proven(table.largest_epsilon, unit="comparison", adjacency="flip")
    return Guarantee(comparison, trust="local", numerics=numerics, note=note, also=also)


def _fit(sums: DebiasedSums, gamma: Scalar, *, link: str) -> Estimate:
    return scores_from_sums(sums, link=link, gamma=gamma)


def _errors(
    scores: Scores, sums: DebiasedSums, squares: PairMatrix, gamma: Scalar, *, link: str
) -> Uncertainty:
    return report_standard_errors(scores, sums, squares, gamma=gamma, link=link)


def rank_reports(table: Reports, asked: Asked) -> Ranking:
    """Fit adaptive, debiased scores with intervals, as post-processing of the file."""
    asked.check_scores()
    check_items(table.name, table.num_items, MAX_ITEMS, asked.top_k)
    gamma = _USUAL_GAMMA if asked.gamma is None else asked.gamma
    sums, squares = sums_of_table(table)
    estimate = quickly(functools.partial(_fit, link=asked.link), sums, gamma)
    scores, details = np.asarray(estimate.value), estimate.diagnostics
    code, curvature = int(details.fit.code), float(details.smallest_eigenvalue)
    components = components_of(sums.weights)
    if not np.all(np.isfinite(scores)):
        raise ValueError(
            "the fit found no finite scores: the debiased reports leave its objective without a minimum. Take a larger "
            "`gamma`, or the logistic link."
        )
    warnings = doubts_of(components, code)  # reports can outweigh the ridge
    certainty = Certainty()
    if code <= 1:
        spread = functools.partial(_errors, link=asked.link)
        errors = quickly(spread, scores, sums, squares, gamma)
        cover = f"the chance in the answers and in the responses (all taken as independent){UNDONE}"
        words = each_by_itself("the true score", cover)
        certainty, _ = of_errors(errors, level=asked.level, words=words)
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
        "link": asked.link,
        "gamma": gamma,
        "components": components,
        "smallest_curvature": curvature if math.isfinite(curvature) else None,
        "solver": CODES[code],
        "level": asked.level,
        "notes": list(notes),
        "warnings": warnings,
    }
    return Ranking(
        title=f"{table.name}: {table.num_items} items by {len(table):,} debiased reports ({asked.link} link)",
        items=table.item_names,
        order=best_first(scores),
        guarantee=reports_guarantee(table, "unknown", TRUSTED),
        facts={name: value for name, value in diagnostics.items() if value is not None},
        scores=scores,
        certainty=certainty,
        level=asked.level,
        top_k=asked.top_k,
        told_by="By these reports",
        notes=notes,
        warnings=tuple(warnings),
    )


def sums_of_table(table: Reports) -> tuple[DebiasedSums, np.ndarray]:
    """Compute D and W of the reports, and Σ tanh⁴(ε/2) of each pair, ``(m, m)``; float64 where JAX has it enabled."""
    size = table.num_items
    tanh = np.tanh(0.5 * table.epsilon)
    cell = table.first.astype(np.int64) * size + table.second

    def total(terms: np.ndarray) -> np.ndarray:
        return np.bincount(cell, terms, minlength=size * size).reshape(size, size)

    margins, weights, squares = total(tanh * (table.reports - 0.5)), total(tanh**2), total(tanh**4)
    both = jax.device_put((margins - margins.T, weights + weights.T))
    return DebiasedSums(*both), squares + squares.T
