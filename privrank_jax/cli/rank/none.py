"""``privrank rank --method none``: the ordinary fit, with warnings about its limits."""

from __future__ import annotations

import numpy as np

from privrank_jax import pairwise
from privrank_jax._host.evaluate import quickly
from privrank_jax._types import PairMatrixLike, Scalar
from privrank_jax.cli.core.result import (
    ANSWERS,
    SEVERAL_GROUPS,
    Certainty,
    Result,
    best_first,
    each_by_itself,
)
from privrank_jax.cli.rank.certainty import of_davidson, of_fit, tie_facts
from privrank_jax.cli.rank.clusters import sampling_of
from privrank_jax.cli.rank.input import Input
from privrank_jax.cli.rank.request import Request
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.davidson_maximum import has_maximum
from privrank_jax.pairwise.graph import component_labels
from privrank_jax.pairwise.minimize import CODES


def fit_without_privacy(data: Input, request: Request) -> Result:
    """Fit maximum likelihood scores, or a ridge fit where they do not exist."""
    if request.ties == "davidson":
        return _with_ties(data, request)
    gamma = request.gamma or 0.0

    def fit(wins: WinCounts, ridge: Scalar) -> Estimate:
        return pairwise.mle(wins, link=request.link, gamma=ridge)

    estimate = quickly(fit, data.wins, gamma)
    components = int(estimate.diagnostics.components)
    separated = bool(estimate.diagnostics.separated)
    warnings = []
    if gamma == 0 and (separated or components > 1):
        gamma = 1.0
        warnings.append(
            f"{_why_infinite(components)} The scores shown are a ridge fit with gamma = 1."
        )
        estimate = quickly(fit, data.wins, gamma)
    warnings += doubts_of(components, int(estimate.diagnostics.code))
    scores = np.asarray(estimate.value)
    sampling = sampling_of(data, scores, request.link)
    certainty = of_fit(
        scores,
        data.wins.comparisons,
        gamma=gamma,
        link=request.link,
        level=request.level,
        words=each_by_itself("the true score", sampling.words),
        **sampling.told,
    )
    notes = (*sampling.notes, *(certainty.notes if components == 1 else ()))
    return _result(
        data,
        request,
        estimate,
        scores,
        certainty,
        f"({request.link} link)",
        notes,
        warnings,
        gamma=gamma,
        **request.weight_facts,
        **sampling.facts,
        components=components,
        separated=separated,
    )


def _with_ties(data: Input, request: Request) -> Result:
    """The same for Davidson's model, with the test whether half wins would do."""
    gamma, wins = request.gamma or 0.0, data.wins
    warnings, separated = [], has_maximum(wins) is False
    if gamma == 0 and separated:
        gamma = 1.0
        warnings.append(
            "no finite scores maximize the likelihood: ties, or wins of both sides, are too rare in some group of "
            "items. The scores shown are a ridge fit with gamma = 1."
        )
    estimate = quickly(_fit_ties, wins, gamma)
    components = components_of(wins.comparisons)
    warnings += doubts_of(components, int(estimate.diagnostics.code))
    scores = np.asarray(estimate.value.scores)
    words = each_by_itself("the true score", ANSWERS)
    certainty, interval = of_davidson(
        estimate.value,
        wins.comparisons,
        level=request.level,
        words=words,
        gamma=gamma,
        tie_gamma=gamma,
    )
    facts = tie_facts(estimate.value, interval, request.level)
    told = [facts.pop("tie_note")]
    if not separated:
        facts["half_wins_p_value"] = p_value = float(quickly(pairwise.half_win_test, wins).p_value)
        size = f"{p_value:.2g}" if p_value > 1e-100 else "below 1e-100"
        told.append(f"the p-value of half wins against this model is {size} (likelihood ratio)")
    return _result(
        data,
        request,
        estimate,
        scores,
        certainty,
        "(log-odds of a win against a loss)",
        (*told, *certainty.notes),
        warnings,
        gamma=gamma,
        **facts,
        components=components,
        separated=separated,
    )


def _result(
    data: Input,
    request: Request,
    estimate: Estimate,
    scores: np.ndarray,
    certainty: Certainty,
    named: str,
    notes: tuple[str, ...],
    warnings: list[str],
    **facts: object,
) -> Result:
    """The result of a fit.

    Args:
        data: the comparisons.
        request: the options.
        estimate: the fit.
        scores: its scores.
        certainty: what they imply.
        named: the kind of scores, in parentheses.
        notes: what to say beyond the notes on the data.
        warnings: what the holder of the data must know.
        facts: diagnostics between those of the request and those of the solver.
    """
    notes, code = (*data.notes, *data.table.remarks, *notes), int(estimate.diagnostics.code)
    return Result(
        title=f"{data.table.name}: {data.table.num_items} items by fitted scores {named}",
        order=best_first(scores),
        guarantee=None,
        diagnostics={
            "method": "none",
            "data": data.table.name,
            "items": data.table.num_items,
            "comparisons": len(data.table),
            "ties": data.table.ties,
            "link": request.link,
            **facts,
            "converged": code <= 1,
            "solver": CODES[code],
            "gradient_norm": float(estimate.diagnostics.gradient_norm),
            "level": request.level,
            "notes": list(notes),
            "warnings": warnings,
        },
        scores=scores,
        certainty=certainty,
        told_by="By these comparisons",
        notes=notes,
        warnings=tuple(warnings),
    )


def doubts_of(components: int, code: int) -> list[str]:
    """Warnings where the items fall into groups, or the solver did not converge."""
    found = [SEVERAL_GROUPS.format(components)] if components > 1 else []
    if code > 1:
        found.append(f"the fit did not converge ({CODES[code]}); try a larger --gamma.")
    return found


def _fit_ties(wins: WinCounts, gamma: Scalar) -> Estimate:
    return pairwise.davidson_mle(wins, gamma, gamma)


def components_of(weights: PairMatrixLike) -> int:
    """Groups of items linked by comparisons."""
    return len(np.unique(quickly(component_labels, np.asarray(weights) > 0)))


def _why_infinite(components: int) -> str:
    if components > 1:
        return "the comparisons do not link all items, so the likelihood has no single maximum."
    return (
        "some group of items never lost to the rest, or never won, so no finite scores maximize the "
        "likelihood."
    )
