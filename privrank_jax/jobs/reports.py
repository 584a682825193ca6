"""Items by randomized reports: no budget is spent, the guarantee is that of the reports."""

from __future__ import annotations

import functools
import math
from typing import Any

import jax
import numpy as np

from privrank_jax._quickly import quickly
from privrank_jax.data.randomized import Reports
from privrank_jax.estimate import Estimate
from privrank_jax.jobs.answers import MAX_ITEMS
from privrank_jax.jobs.asked import Asked
from privrank_jax.jobs.certainty import components_of, doubts_of, of_errors
from privrank_jax.jobs.checks import check_items, refuse
from privrank_jax.jobs.result import UNDONE, Certainty, Ranking, each_by_itself, made
from privrank_jax.pairwise import debiased_fit
from privrank_jax.pairwise.debiased_fit import DebiasedSums
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


def _fit(sums: DebiasedSums, gamma: Any, *, link: str) -> Estimate:
    return debiased_fit.scores_from_sums(sums, link=link, gamma=gamma)


def _errors(scores: Any, sums: DebiasedSums, squares: Any, gamma: Any, *, link: str) -> Uncertainty:
    return debiased_fit.report_standard_errors(scores, sums, squares, gamma=gamma, link=link)


def rank_reports(table: Reports, asked: Asked) -> Ranking:
    """Fit adaptive, debiased scores with intervals, as post-processing of the file."""
    asked.check_scores()
    check_items(table.name, table.num_items, MAX_ITEMS, asked.top_k)
    gamma, link = _USUAL_GAMMA if asked.gamma is None else asked.gamma, asked.link
    sums, squares = sums_of_table(table)
    estimate = quickly(functools.partial(_fit, link=link), sums, gamma)
    scores, details = np.asarray(estimate.value), estimate.diagnostics
    code, curvature = int(details.fit.code), float(details.smallest_eigenvalue)
    components = components_of(sums.weights)
    refuse(
        not np.all(np.isfinite(scores)),
        "the fit found no finite scores: the debiased reports leave its objective without a minimum. Take a larger "
        "`gamma`, or the logistic link.",
    )
    certainty, warnings = Certainty(), doubts_of(components, code)
    if code <= 1:  # reports can outweigh the ridge
        errors = quickly(functools.partial(_errors, link=link), scores, sums, squares, gamma)
        cover = f"the chance in the answers and in the responses (all taken as independent){UNDONE}"
        words = each_by_itself("the true score", cover)
        certainty, _ = of_errors(errors, level=asked.level, words=words)
    notes = (*table.notes, *(certainty.notes if components == 1 else ()))
    facts = {
        "reports": len(table),
        "users": table.num_users,
        "smallest_epsilon": float(table.epsilon.min()),
        "largest_epsilon": table.largest_epsilon,
        "largest_epsilon_of_a_user": table.largest_epsilon_of_a_user,
        "information": float(np.sum(np.tanh(0.5 * table.epsilon) ** 2)),
        "link": link,
        "gamma": gamma,
        "components": components,
        "smallest_curvature": curvature if math.isfinite(curvature) else None,
        "solver": CODES[code],
        "level": asked.level,
        "notes": list(notes),
        "warnings": warnings,
    }
    told = {"level": asked.level, "top_k": asked.top_k, "told_by": "By these reports"}
    told |= {"scores": scores, "certainty": certainty, "notes": notes, "warnings": tuple(warnings)}
    title = f"{table.num_items} items by {len(table):,} debiased reports ({link} link)"
    guarantee = reports_guarantee(table, "unknown", TRUSTED)
    return made(table, title, "debiased reports", facts, guarantee=guarantee, **told)


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
