"""Uncertainty of fitted scores: intervals of scores and ranks, and items told apart, from the release alone."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from privrank_jax._components import components
from privrank_jax._quickly import quickly
from privrank_jax._types import PairMatrixLike
from privrank_jax.data.comparisons import Comparisons
from privrank_jax.jobs.result import (
    ANSWERS,
    OF_USERS,
    SEVERAL_GROUPS,
    UNDONE,
    Certainty,
    each_by_itself,
)
from privrank_jax.pairwise.clustered_errors import clustered_covariance
from privrank_jax.pairwise.designs import Design, ModelScores
from privrank_jax.pairwise.intervals import (
    Intervals,
    center_is_near,
    intervals_of,
)
from privrank_jax.pairwise.item_variances import quasi_variances
from privrank_jax.pairwise.minimizer import CODES
from privrank_jax.pairwise.model_uncertainty import (
    ModelErrors,
    ModelIntervals,
    ParameterIntervals,
    model_errors,
    model_intervals,
)
from privrank_jax.pairwise.private_design import NoisyDesign, errors_under_private_design
from privrank_jax.pairwise.uncertainty import Uncertainty, standard_errors

TOO_FAR = (
    "no intervals: the scores are shrunk toward 0 too strongly to recover the true ranks, as where some items "
    "hardly ever lose or win, or where noise or gamma is large compared with the number of comparisons"
)

_UNKNOWN = "no intervals, and how much of the order is noise is not known: that needs"
PRIVATE_GRAPH = f"{_UNKNOWN} the number of comparisons of each pair, which is private here"
PRIVATE_SETS = f"{_UNKNOWN} the sets that were shown, which are private here"
PRIVATE_WEIGHTS = f"{_UNKNOWN} sums of squared weights, which are private here"


def of_fit(
    scores: np.ndarray,
    comparisons: PairMatrixLike,
    *,
    gamma: float,
    link: str,
    level: float,
    words: str,
    **told: float | str | np.ndarray | None,
) -> Certainty:
    """Certainty of scores fitted to comparisons; ``told`` is what standard errors are told of noise, or of ties."""

    def about(target: str) -> Uncertainty:
        errors = functools.partial(standard_errors, gamma=gamma, link=link, target=target, **told)
        return quickly(errors, scores, comparisons)

    drawn = functools.partial(about, "penalized")
    return of_scores(
        scores, comparisons, about("truth"), drawn, link=link, level=level, words=words
    )


def of_scores(
    scores: np.ndarray,
    weights: PairMatrixLike,
    errors: Uncertainty,
    drawn: Callable[[], Uncertainty] | None = None,
    *,
    link: str,
    level: float,
    words: str,
) -> Certainty:
    """Certainty of fitted scores; intervals where all items are linked and the shrinkage of the ridge can be undone.

    Args:
        scores: centered scores.
        weights: ``(m, m)``, weights of compared pairs.
        errors: the uncertainty about the true scores.
        drawn: the uncertainty about the scores as shrunk by the ridge, to tell items apart without intervals.
        link: link of the fit.
        level: confidence level.
        words: meaning of the intervals, if there are any.
    """
    intervals = functools.partial(intervals_of, level=level)
    near = bool(quickly(functools.partial(center_is_near, link=link), scores, weights, errors))
    shrunk = None if drawn is None else lambda: quickly(intervals, scores, drawn())
    return certain(quickly(intervals, scores, errors), errors, near, shrunk, words)


def of_private_design(
    scores: np.ndarray, design: NoisyDesign, *, level: float, **told: float | str
) -> Certainty:
    """Certainty of scores where only noisy numbers of comparisons are known; ``told``: their noise and ridge."""
    errors = quickly(functools.partial(errors_under_private_design, **told), scores, design)
    found = quickly(functools.partial(intervals_of, level=level), scores, errors)
    cover = (
        f"{ANSWERS}, the privacy noise and a cautious estimate of how often each pair was compared"
    )
    words = each_by_itself("the true score", f"{cover}{UNDONE}")
    better = np.asarray(found.better)
    return Certainty(better, ends(found) | _quasi(errors), words, errors=errors)


def certain(
    found: Intervals,
    errors: Uncertainty,
    near: bool,
    shrunk: Callable[[], Intervals] | None,
    words: str,
) -> Certainty:
    """Intervals where the shrinkage of the ridge can be undone, else only what tells items apart.

    Args:
        found: intervals about the true scores.
        errors: the uncertainty about these.
        near: whether their center is near enough to the scores for intervals.
        shrunk: intervals about the scores as shrunk by the ridge, to tell items apart without the others.
        words: meaning of the intervals, if there are any.
    """
    if not near:
        better = None if shrunk is None else np.asarray(shrunk().better)
        return Certainty(better, notes=(TOO_FAR,))
    better = np.asarray(found.better)
    if not np.all(np.isfinite(np.asarray(found.standard_errors))):
        return Certainty(better)
    return Certainty(better, ends(found) | _quasi(errors), words, errors=errors)


def of_model(
    value: ModelScores | np.ndarray, design: Design, *, level: float, words: str, **told: Any
) -> tuple[Certainty, ModelIntervals]:
    """Certainty of the scores of a fitted model, and the intervals of all that was fitted.

    Args:
        value: the fit.
        design: the public part of the data.
        level: confidence level.
        words: meaning of the intervals, if there are any.
        told: what :func:`~privrank_jax.pairwise.model_errors` is told of ridges and noise.
    """

    def about(target: str) -> ModelErrors:
        # K-norm noise needs to see the design untraced. It is an argument so that `quickly` sees how large it is.
        errors = functools.partial(model_errors, **told, target=target)
        return quickly(lambda value, _: errors(value, design), value, design)

    intervals = functools.partial(model_intervals, level=level)
    errors = about("truth")
    found = quickly(intervals, value, errors)

    def shrunk() -> Intervals:
        return quickly(intervals, value, about("penalized")).scores

    near = bool(errors.near)
    return certain(found.scores, errors.scores, near, shrunk, words), found


def tie_facts(
    value: ModelScores, interval: ParameterIntervals | None, level: float
) -> dict[str, Any]:
    """What a result says of the tie parameter, as facts and as a note.

    Args:
        value: the fit.
        interval: of log ν; None where none is known.
        level: confidence level.
    """
    tie, between, facts = float(value.tie), "", {}
    low, high = (0.0, np.inf) if interval is None else np.exp([interval.low, interval.high])
    if low > 0 and high < np.inf:
        low, high = float(low), float(high)
        between = f", {100 * level:g}% interval {low:.3g} to {high:.3g}"
        facts = {"tie_parameter_low": low, "tie_parameter_high": high}
    note = (
        f"ties are an outcome of their own (Davidson's model): nu = {tie:.3g}{between}, so that equal items tie in "
        f"{100 * tie / (2 + tie):.0f}% of comparisons; at nu = 2 ties would be like half wins"
    )
    return {"tie_model": "davidson", "tie_parameter": tie, **facts, "tie_note": note}


def _quasi(errors: Uncertainty) -> dict[str, np.ndarray]:
    """Quasi standard errors of all items; nothing where an item has none."""
    found = np.asarray(quickly(quasi_variances, errors).variances)
    known = np.all((found >= 0) & (found < np.inf))
    return {"quasi_standard_error": np.sqrt(found)} if known else {}


def ends(found: Intervals) -> dict[str, np.ndarray]:
    """The ends of score and rank intervals as NumPy arrays."""
    names = ("low", "high", "rank_low", "rank_high")
    return {name: np.asarray(getattr(found, name)) for name in names}


def components_of(weights: PairMatrixLike) -> int:
    """Groups of items linked by comparisons."""
    return np.unique(components(np.asarray(weights))).size


def doubts_of(components: int, code: int) -> list[str]:
    """Warnings where the items fall into groups, or the solver did not converge."""
    found = [SEVERAL_GROUPS.format(components)] if components > 1 else []
    if code > 1:
        found.append(f"the fit did not converge ({CODES[code]}); try a larger gamma (--gamma).")
    return found


# --- sampling: errors clustered by user, where the data name users and somebody compared several times ---

_MOST_CLUSTERED = 2**23  # comparisons, of some 200 bytes each while they are added up
_TOO_MANY = f"more than {_MOST_CLUSTERED:,} comparisons: intervals take all of them as independent"
_CLUSTERED = "answers of one user may hang together, so standard errors are clustered by user"
_WEIGHTED = "standard errors are those of weighted comparisons, each independent of the others"


@dataclasses.dataclass(frozen=True)
class Sampling:
    """How answers vary.

    Attributes:
        told: what standard errors are told.
        words: what intervals cover.
        facts: diagnostics.
        notes: what a result says of it.
    """

    told: dict[str, Any]
    words: str = ANSWERS
    facts: dict[str, int] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()


def sampling_of(table: Any, weights: np.ndarray | None, scores: np.ndarray, link: str) -> Sampling:
    """How the answers vary to which scores were fitted under a link: those of one user may hang together.

    Args:
        table: the comparisons.
        weights: what each counts; None: all count once.
        scores: of the items.
        link: of the fit.
    """
    several = table.has_users and table.num_users > 1 and table.comparisons_per_user > 1
    if weights is None and (not several or len(table) > _MOST_CLUSTERED):
        told = {"ties": table.ties_of_pairs() if table.ties else None}
        return Sampling(told, notes=(_TOO_MANY,) if several else ())
    held = table if isinstance(table, Comparisons) else table.in_memory()
    rows = {"winners": held.winners, "losers": held.losers, "tied": held.tied}
    rows["users"] = held.users if several else np.arange(len(held))
    rows["weights"] = np.ones(len(held)) if weights is None else weights
    outcomes = clustered_covariance(scores, **rows, link=link)
    told = {"outcomes": np.asarray(outcomes)}
    if not several:
        return Sampling(told, notes=(_WEIGHTED,))
    number = table.num_users
    note = f"{_CLUSTERED} ({number:,} users)"
    return Sampling(told, OF_USERS, {"clusters": number}, (note,))
