"""A consensus of synthetic rankings: debiased, without spending more privacy."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np

from privrank_jax import mallows
from privrank_jax._validate import check_choice
from privrank_jax.data.ballots import SYNTHETIC
from privrank_jax.data.randomized import SyntheticRankings
from privrank_jax.estimate import Estimate
from privrank_jax.jobs.methods import RULES, check_rule, ordered
from privrank_jax.jobs.reports import TRUSTED
from privrank_jax.jobs.result import Certainty, Ranking, best_first
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

METHODS = ("auto", "borda", "none")
_LEVEL = 0.95
_KEMENY = "by least disagreement with debiased pairs (Kemeny)"
_ESTIMATED = "the users' own rankings are estimated, corrected for the bias of the synthetic draws"
_UNNAMED = "The file names no users: a user with several rows spends their sum."


def consensus_of_synthetic(
    rankings: SyntheticRankings, method: str, xi: float, rule: str | None
) -> Ranking:
    """Debias the rankings: Borda scores (``"auto"``, ``"borda"``), or the best ranking for debiased pairs (``"none"``).

    Args:
        rankings: the rankings, each drawn with its ε.
        method: one of :data:`METHODS`; ``ValueError`` for others, which protect rankings that are not randomized.
        xi: accept a ranking proven to cost at most 1 + ξ times the smallest cost.
        rule: how debiased pairs become an order, for which ``"auto"`` takes them; None: by Kemeny's rule.
    """
    table, epsilon = rankings.table, rankings.epsilon
    check_choice("method", method, METHODS)
    check_rule(rule, xi)
    if rule is not None and method == "borda":
        raise ValueError("a `rule` or `matrix` is of debiased pairs: leave `method` out.")
    by_pairs = method == "none" or rule is not None
    named, found, told = _pairs(rankings, xi, rule) if by_pairs else _scores(rankings)
    notes = (_ESTIMATED, *(note for note in table.notes if SYNTHETIC not in note))
    facts = {
        "method": "debiased pairs" if by_pairs else "debiased borda",
        "data": table.name,
        "items": table.num_items,
        "users": table.num_users,
        "equally_weighted_users": float(np.max(np.asarray(found.diagnostics.total))),
        "smallest_epsilon": float(epsilon.min()),
        "largest_epsilon": float(epsilon.max()),
        "missing": table.missing,
        "level": _LEVEL,
        **told.pop("facts", {}),
        "notes": list(notes),
    }
    alone = "" if table.user_names else f" {_UNNAMED}"
    return Ranking(
        title=f"{table.name}: consensus of {table.num_users:,} synthetic rankings of {table.num_items} items, {named}",
        items=table.item_names,
        guarantee=rankings_guarantee(rankings, "unknown", f"{TRUSTED}{alone}"),
        facts=facts,
        notes=(*told.pop("notes", ()), *notes),
        **told,
    )


def rankings_guarantee(rankings: SyntheticRankings, numerics: str, note: str = "") -> Guarantee:
    """Guarantee of synthetic rankings: the largest ε for a rank, the largest εk/2 for a user who ranked k items."""
    found = mallows.synthetic_guarantee(np.maximum(rankings.lengths, 1), rankings.epsilon, numerics)
    public = ("ranked-items",) * (not rankings.table.complete)
    public += ("budgets",) * bool(rankings.epsilon.min() != rankings.epsilon.max())
    rank, user = (
        Privacy.proven(float(one.epsilon), unit=one.unit, adjacency=one.adjacency, public=public)
        for one in (found.attained, *found.also)
    )
    return Guarantee(rank, trust=found.trust, numerics=found.numerics, note=note, also=(user,))


def _scores(rankings: SyntheticRankings) -> tuple[str, Estimate, dict[str, Any]]:
    """Debiased Borda scores; of all pairs of items jointly, the errors of two at most add up."""
    table, normal = rankings.table, NormalDist()
    found = mallows.debiased_borda(table.ranks, rankings.epsilon, missing=table.missing)
    scores, errors = (np.asarray(x) for x in (found.value, found.diagnostics.standard_errors))
    reach = normal.inv_cdf(0.5 + 0.5 * _LEVEL) * errors
    intervals = {"low": scores - reach, "high": scores + reach}
    words = (
        "for the score of each item by itself; they cover the draw of the synthetic rankings and the choice of the "
        "users. The score of an item is how many others a user, on average, ranks behind it"
    )
    if not np.all(np.isfinite(errors)):
        intervals, words = {}, ""
    pairs = scores.size * (scores.size - 1) / 2
    apart = normal.inv_cdf(1 - 0.5 * (1 - _LEVEL) / pairs) * (errors[:, None] + errors)
    certainty = Certainty(scores[:, None] - scores > apart, intervals, words)
    told = {"order": best_first(scores), "scores": scores, "certainty": certainty}
    return "by debiased Borda scores", found, {**told, "told_by": "By these rankings"}


def _pairs(
    rankings: SyntheticRankings, xi: float, rule: str | None
) -> tuple[str, Estimate, dict[str, Any]]:
    """The order that a rule makes of debiased shares of users."""
    table = rankings.table
    try:
        found = mallows.debiased_pairs(table.ranks, rankings.epsilon)
    except ValueError as error:
        raise ValueError(f"{error} Here, that is method='borda'.") from None
    w = np.asarray(found.value)
    if table.missing == "last":
        w = _missing_last(w, table.ranks)
    errors = np.asarray(found.diagnostics.standard_errors)[np.triu_indices(len(w), 1)]
    unsure = float(np.median(errors[np.isfinite(errors)])) if np.isfinite(errors).any() else None
    spread = "unknown" if unsure is None else f"{unsure:.2g} in the middle"
    words = f"the standard error of a pair's share of users is {spread}"
    facts = {"pair_standard_error": unsure, "rounding": float(found.diagnostics.rounding)}
    facts |= {} if rule is None else {"rule": rule}
    told, best = ordered(rule, w, votes=w - min(0.0, w.min()), xi=xi)
    named = f"by {RULES[rule].title} on debiased pairs" if rule and best is None else _KEMENY
    if best is not None:
        ratio = best.ratio if math.isfinite(best.ratio) else None
        facts["certificate"] = {"ratio": ratio, "solver": best.solver}
        words = f"best for the debiased pairs (ratio {best.ratio:.4g} by {best.solver}); {words}"
    warnings = [*told.get("warnings", ())]
    if unsure is None:
        warnings.append("no pair was ranked by two users of weight: the error of this is unknown.")
    elif unsure > 0.2:
        warnings.append(
            "single pairs are mostly noise at these budgets: borda sums over pairs and needs far less budget."
        )
    told |= {"notes": (*told.get("notes", ()), words), "warnings": tuple(warnings)}
    return named, found, {**told, "matrix": w, "facts": facts}


def _missing_last(w: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Shares under the rule that unranked items come last; who ranked what is public and needs no debiasing."""
    known = ranks >= 0
    both = known.T.astype(float) @ known
    first = known.T.astype(float) @ ~known  # i ranked, j not
    neither = (~known).T.astype(float) @ ~known
    share = (w * both + first + 0.5 * neither) / len(ranks)
    np.fill_diagonal(share, 0)
    return share
