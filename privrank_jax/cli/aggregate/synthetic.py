"""``privrank aggregate`` on a file of synthetic rankings: debiased, and at no further cost of privacy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import Any

import jax
import numpy as np

from privrank_jax import aggregation, datasets, mallows
from privrank_jax._cells.rankings import SYNTHETIC
from privrank_jax.cli.aggregate.command import Request
from privrank_jax.cli.aggregate.input import MAX_ITEMS
from privrank_jax.cli.console import Refusal, warn
from privrank_jax.cli.privatize.ranking_files import guarantee_of
from privrank_jax.cli.rank.input import item_list, named_column
from privrank_jax.cli.rank.output import print_result
from privrank_jax.cli.rank.result import Result, best_first

METHODS = ("auto", "borda", "none")
_SERVED = ("context", "source", "method", "missing", "xi", "items", "user", "json")
_LEVEL = 0.95
_TRUSTED = "the largest epsilon in the file, which is taken at its word; this command adds no noise and spends nothing."


def aggregate_synthetic(request: Request, given: Sequence[str], *, as_json: bool) -> None:
    """Debias, and print; ``given`` are the names of all options on the command line."""
    _check(request, given)
    user = named_column(request.user, "user")
    items = None if request.items is None else item_list(request.items)
    rankings = datasets.read_synthetic_rankings(
        request.source, user=user, items=items, missing=request.missing
    )
    table = rankings.table
    if table.num_items < 2:
        raise Refusal(f"a ranking needs at least two items, {table.name} has {table.num_items}.")
    if table.num_items > MAX_ITEMS:
        raise Refusal(
            f"{table.name} has {table.num_items:,} items; this command takes at most {MAX_ITEMS:,}."
        )
    find = _best if request.method == "none" else _borda
    with jax.enable_x64(True):
        result = find(rankings, request)
    for message in result.warnings:
        warn(message)
    print_result(table.item_names, result, level=_LEVEL, as_json=as_json)


def _check(request: Request, given: Sequence[str]) -> None:
    if {"epsilon", "delta", "trust"} & set(given):
        option = next(name for name in ("epsilon", "delta", "trust") if name in given)
        raise Refusal(
            f"--{option} has nothing to buy here: {request.source} holds synthetic rankings, each drawn at the "
            "epsilon of its row. A consensus of them is post-processing, adds no noise and spends nothing more. "
            f"Leave out --{option}; for another epsilon, privatize the rankings anew (both files together then "
            "spend the sum)."
        )
    if request.method not in METHODS:
        raise Refusal(
            f"--method {request.method} protects rankings in the clear, and {request.source} holds synthetic ones: "
            f"use --method {', '.join(METHODS[:-1])} (debiased Borda scores) or none (the best ranking for "
            "debiased pairs)."
        )
    others = [f"--{name.replace('_', '-')}" for name in given if name not in _SERVED]
    if others:
        raise Refusal(
            f"{', '.join(others)}: meant for rankings in the clear; leave it out for a file of synthetic ones."
        )


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
        guarantee=guarantee_of(rankings, "unknown", _note(rankings)),
        diagnostics=_facts(rankings, "debiased borda", found),
        scores=scores,
        intervals=intervals,
        interval_words=words,
        better=_better(scores, errors),
        told_by="By these rankings",
        notes=_notes(rankings),
    )


def _better(scores: np.ndarray, errors: np.ndarray) -> np.ndarray:
    """Who is surely better than whom, all pairs together: errors of two items add up at most."""
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
            "single pairs are mostly noise at these budgets: --method borda adds up pairs, which costs far less.",
        )
    certificate = {
        "ratio": best.ratio if math.isfinite(best.ratio) else None,
        "solver": best.solver,
    }
    return Result(
        title=_title(rankings, "by least disagreement with debiased pairs (Kemeny)"),
        order=np.argsort(best.ranks),
        guarantee=guarantee_of(rankings, "unknown", _note(rankings)),
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
    """Shares under the rule that items not ranked come last; who ranked what is public, and needs no debiasing."""
    known = ranks >= 0
    both = known.T.astype(float) @ known
    first = known.T.astype(float) @ ~known  # i ranked, j not
    neither = (~known).T.astype(float) @ ~known
    share = (w * both + first + 0.5 * neither) / len(ranks)
    np.fill_diagonal(share, 0)
    return share


def _note(rankings: datasets.SyntheticRankings) -> str:
    parts = [_TRUSTED]
    if not rankings.table.user_names:
        parts.append("The file names no users: who has several rows spends the sum of them.")
    return " ".join(parts)


def _title(rankings: datasets.SyntheticRankings, named: str) -> str:
    table = rankings.table
    return f"{table.name}: consensus of {table.num_users:,} synthetic rankings of {table.num_items} items, {named}"


def _notes(rankings: datasets.SyntheticRankings) -> tuple[str, ...]:
    rule = "the users' own rankings are what is estimated: the bias of the draws is taken out"
    return (rule, *(note for note in rankings.table.notes if SYNTHETIC not in note))


def _facts(
    rankings: datasets.SyntheticRankings, method: str, found: Any, **more: Any
) -> dict[str, Any]:
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
