"""``privrank aggregate`` on a file of synthetic rankings: debiased, without spending more privacy."""

from __future__ import annotations

import math
from statistics import NormalDist

import jax
import numpy as np

from privrank_jax import aggregation, datasets, mallows
from privrank_jax._cells.ranking_shapes import SYNTHETIC
from privrank_jax.cli.aggregate.input import MAX_ITEMS
from privrank_jax.cli.aggregate.request import Request
from privrank_jax.cli.console import Refusal, warn
from privrank_jax.cli.core.checks import check_already_randomized, check_items
from privrank_jax.cli.core.output import print_result
from privrank_jax.cli.core.randomized import TRUSTED, rankings_guarantee
from privrank_jax.cli.core.result import Certainty, Result, best_first
from privrank_jax.cli.core.saving import finish
from privrank_jax.cli.core.sources import item_list, named_column
from privrank_jax.estimate import Estimate

METHODS = ("auto", "borda", "none")
_SERVED = ("source", "separator", "encoding", "method", "missing", "xi", "items", "user", "json")
_LEVEL = 0.95


def aggregate_synthetic(request: Request) -> None:
    """Debias the rankings and print the consensus."""
    _check(request)
    user = named_column(request.user, "user")
    items = None if request.items is None else item_list(request.items)
    rankings = datasets.read_synthetic_rankings(
        request.file, user=user, items=items, missing=request.missing
    )
    table = rankings.table
    check_items(table.name, table.num_items, MAX_ITEMS)
    find = _borda if request.private else _best
    with jax.enable_x64(True):
        result = find(rankings, request)
    warn(*result.warnings)
    shown = print_result(table.item_names, result, level=_LEVEL, as_json=request.json)
    finish(request, "aggregate", shown)


def _check(request: Request) -> None:
    what = f"{request.source} holds synthetic rankings"
    budget = ("epsilon", "noise", "delta", "trust")
    if request.method not in METHODS:
        raise Refusal(
            f"--method {request.method} protects rankings that are not randomized, and {what}: use --method "
            f"{', '.join(METHODS[:-1])} (debiased Borda scores) or none (the best ranking for debiased pairs)."
        )
    check_already_randomized(request, _SERVED, budget, what, "rankings")


def _borda(rankings: datasets.SyntheticRankings, request: Request) -> Result:
    table = rankings.table
    found = mallows.debiased_borda(table.ranks, rankings.epsilon, missing=table.missing)
    scores, errors = (np.asarray(x) for x in (found.value, found.diagnostics.standard_errors))
    intervals, words = {}, ""
    if np.all(np.isfinite(errors)):
        reach = NormalDist().inv_cdf(0.5 + 0.5 * _LEVEL) * errors
        intervals = {"low": scores - reach, "high": scores + reach}
        words = (
            "for the score of each item by itself; they cover the draw of the synthetic rankings and the choice of "
            "the users. The score of an item is how many others a user, on average, ranks behind it"
        )
    return Result(
        title=_title(rankings, "by debiased Borda scores"),
        order=best_first(scores),
        guarantee=rankings_guarantee(rankings, "unknown", _note(rankings)),
        diagnostics=_facts(rankings, "debiased borda", found),
        scores=scores,
        certainty=Certainty(_better(scores, errors), intervals, words),
        told_by="By these rankings",
        notes=_notes(rankings),
    )


def _better(scores: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Which items are surely better than which, for all pairs jointly: the errors of two items at most add up."""
    pairs = scores.size * (scores.size - 1) / 2
    reach = NormalDist().inv_cdf(1 - 0.5 * (1 - _LEVEL) / pairs) * (errors[:, None] + errors)
    return scores[:, None] - scores > reach


def _best(rankings: datasets.SyntheticRankings, request: Request) -> Result:
    table = rankings.table
    try:
        found = mallows.debiased_pairs(table.ranks, rankings.epsilon)
    except ValueError as error:
        raise Refusal(f"{error} Here, that is --method borda.") from None
    w = np.asarray(found.value)
    if table.missing == "last":
        w = _missing_last(w, table.ranks)
    best = aggregation.kemeny(w - min(0.0, w.min()), request.xi)
    errors = np.asarray(found.diagnostics.standard_errors)[np.triu_indices(len(w), 1)]
    unsure = float(np.median(errors[np.isfinite(errors)])) if np.isfinite(errors).any() else None
    spread = "unknown" if unsure is None else f"{unsure:.2g} in the middle"
    words = (
        f"best for the debiased pairs (ratio {best.ratio:.4g} by {best.solver}); the standard error of a pair's share "
        f"of users is {spread}"
    )
    warnings = ()
    if unsure is None:
        warnings = ("no pair was ranked by two users of weight: the error of this is not known.",)
    elif unsure > 0.2:
        warnings = (
            "single pairs are mostly noise at these budgets: --method borda sums over pairs and needs far less budget.",
        )
    certificate = {
        "ratio": best.ratio if math.isfinite(best.ratio) else None,
        "solver": best.solver,
    }
    return Result(
        title=_title(rankings, "by least disagreement with debiased pairs (Kemeny)"),
        order=np.argsort(best.ranks),
        guarantee=rankings_guarantee(rankings, "unknown", _note(rankings)),
        diagnostics=_facts(
            rankings,
            "debiased pairs",
            found,
            certificate=certificate,
            pair_standard_error=unsure,
            rounding=float(found.diagnostics.rounding),
        ),
        notes=(words, *_notes(rankings)),
        warnings=warnings,
    )


def _missing_last(w: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Shares under the rule that unranked items come last; who ranked what is public and needs no debiasing."""
    known = ranks >= 0
    both = known.T.astype(float) @ known
    first = known.T.astype(float) @ ~known  # i ranked, j not
    neither = (~known).T.astype(float) @ ~known
    share = (w * both + first + 0.5 * neither) / len(ranks)
    np.fill_diagonal(share, 0)
    return share


def _note(rankings: datasets.SyntheticRankings) -> str:
    parts = [TRUSTED]
    if not rankings.table.user_names:
        parts.append("The file names no users: a user with several rows spends their sum.")
    return " ".join(parts)


def _title(rankings: datasets.SyntheticRankings, named: str) -> str:
    table = rankings.table
    return f"{table.name}: consensus of {table.num_users:,} synthetic rankings of {table.num_items} items, {named}"


def _notes(rankings: datasets.SyntheticRankings) -> tuple[str, ...]:
    rule = "the users' own rankings are estimated, corrected for the bias of the synthetic draws"
    return (rule, *(note for note in rankings.table.notes if SYNTHETIC not in note))


def _facts(
    rankings: datasets.SyntheticRankings, method: str, found: Estimate, **more: object
) -> dict[str, object]:
    table, epsilon = rankings.table, rankings.epsilon
    total = found.diagnostics.total
    return {
        "method": method,
        "data": table.name,
        "items": table.num_items,
        "users": table.num_users,
        "equally_weighted_users": float(np.max(np.asarray(total))),
        "smallest_epsilon": float(epsilon.min()),
        "largest_epsilon": float(epsilon.max()),
        "missing": table.missing,
        "level": _LEVEL,
        **more,
        "notes": list(_notes(rankings)),
    }
