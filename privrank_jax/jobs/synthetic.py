"""A consensus of synthetic rankings: debiased, without spending more privacy."""

from __future__ import annotations

import math
from statistics import NormalDist

import numpy as np

from privrank_jax import aggregation, mallows
from privrank_jax._validate import check_choice
from privrank_jax.data.shapes import SYNTHETIC
from privrank_jax.data.synthetic import SyntheticRankings
from privrank_jax.estimate import Estimate
from privrank_jax.jobs.reports import TRUSTED
from privrank_jax.jobs.result import Certainty, Ranking, best_first
from privrank_jax.jobs.rules import RULES, check_rule, explained, scores_by, tied_at_least_cost
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy

METHODS = ("auto", "borda", "none")
_LEVEL = 0.95


def consensus_of_synthetic(
    rankings: SyntheticRankings, method: str, xi: float, rule: str | None
) -> Ranking:
    """Debias the rankings: Borda scores (``"auto"``, ``"borda"``), or the best ranking for debiased pairs (``"none"``).

    Args:
        rankings: the rankings, each drawn with its ε.
        method: one of :data:`METHODS`.
        xi: accept a ranking proven to cost at most 1 + ξ times the smallest cost.
        rule: how debiased pairs become an order, for which ``"auto"`` takes them; None: by Kemeny's rule, if they are
            taken.

    Raises:
        ValueError: another method, which would protect rankings that are not randomized; a rule that does not fit.
    """
    check_choice("method (--method) of synthetic rankings", method, METHODS)
    check_rule(rule, xi)
    if rule is not None and method == "borda":
        raise ValueError(
            "a rule (--rule) or a matrix (--matrix) of synthetic rankings is of debiased pairs: leave method "
            "(--method) out, or take rule='borda' (--rule borda)."
        )
    by_pairs = method == "none" or rule is not None
    return _best(rankings, xi, rule) if by_pairs else _borda(rankings)


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


def _borda(rankings: SyntheticRankings) -> Ranking:
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
    return Ranking(
        title=_title(rankings, "by debiased Borda scores"),
        items=table.item_names,
        order=best_first(scores),
        guarantee=rankings_guarantee(rankings, "unknown", _note(rankings)),
        facts=_facts(rankings, "debiased borda", found),
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


def _best(rankings: SyntheticRankings, xi: float, rule: str | None) -> Ranking:
    table = rankings.table
    try:
        found = mallows.debiased_pairs(table.ranks, rankings.epsilon)
    except ValueError as error:
        raise ValueError(f"{error} Here, that is method='borda' (--method borda).") from None
    w = np.asarray(found.value)
    if table.missing == "last":
        w = _missing_last(w, table.ranks)
    errors = np.asarray(found.diagnostics.standard_errors)[np.triu_indices(len(w), 1)]
    unsure = float(np.median(errors[np.isfinite(errors)])) if np.isfinite(errors).any() else None
    spread = "unknown" if unsure is None else f"{unsure:.2g} in the middle"
    certificate, scores, named = None, None, "least disagreement with debiased pairs (Kemeny)"
    if rule in RULES:
        scores, named = scores_by(rule, w), f"{RULES[rule].title} on debiased pairs"
        order, tied, by = best_first(scores), None, ""
    else:
        best = aggregation.kemeny(w - min(0.0, w.min()), xi)
        order, ratio = np.argsort(best.ranks), best.ratio if math.isfinite(best.ratio) else None
        tied = tied_at_least_cost(w, order)
        certificate = {"ratio": ratio, "solver": best.solver}
        by = f"best for the debiased pairs (ratio {best.ratio:.4g} by {best.solver}); "
    words = f"{by}the standard error of a pair's share of users is {spread}"
    warnings = ()
    if unsure is None:
        warnings = ("no pair was ranked by two users of weight: the error of this is not known.",)
    elif unsure > 0.2:
        warnings = (
            "single pairs are mostly noise at these budgets: borda sums over pairs and needs far less budget.",
        )
    facts = {"rule": rule, "certificate": certificate}
    facts = {name: value for name, value in facts.items() if value is not None}
    ranking = Ranking(
        items=table.item_names,
        title=_title(rankings, f"by {named}"),
        order=order,
        tied=tied,
        guarantee=rankings_guarantee(rankings, "unknown", _note(rankings)),
        facts=_facts(
            rankings,
            "debiased pairs",
            found,
            **facts,
            pair_standard_error=unsure,
            rounding=float(found.diagnostics.rounding),
        ),
        scores=scores,
        notes=(words, *_notes(rankings)),
        warnings=warnings,
        matrix=w,
    )
    return explained(ranking, rule, w) if rule in RULES else ranking


def _missing_last(w: np.ndarray, ranks: np.ndarray) -> np.ndarray:
    """Shares under the rule that unranked items come last; who ranked what is public and needs no debiasing."""
    known = ranks >= 0
    both = known.T.astype(float) @ known
    first = known.T.astype(float) @ ~known  # i ranked, j not
    neither = (~known).T.astype(float) @ ~known
    share = (w * both + first + 0.5 * neither) / len(ranks)
    np.fill_diagonal(share, 0)
    return share


def _note(rankings: SyntheticRankings) -> str:
    parts = [TRUSTED]
    if not rankings.table.user_names:
        parts.append("The file names no users: a user with several rows spends their sum.")
    return " ".join(parts)


def _title(rankings: SyntheticRankings, named: str) -> str:
    table = rankings.table
    return f"{table.name}: consensus of {table.num_users:,} synthetic rankings of {table.num_items} items, {named}"


def _notes(rankings: SyntheticRankings) -> tuple[str, ...]:
    rule = "the users' own rankings are estimated, corrected for the bias of the synthetic draws"
    return (rule, *(note for note in rankings.table.notes if SYNTHETIC not in note))


def _facts(
    rankings: SyntheticRankings, method: str, found: Estimate, **more: object
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
