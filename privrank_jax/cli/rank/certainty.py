"""Uncertainty of fitted scores: intervals of scores and ranks, and items told apart, from the release alone."""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np

from privrank_jax._host.evaluate import quickly
from privrank_jax._types import PairMatrixLike
from privrank_jax.cli.core.result import Certainty
from privrank_jax.pairwise import standard_errors
from privrank_jax.pairwise.intervals import Intervals, center_is_near, intervals_of
from privrank_jax.pairwise.standard_errors import Uncertainty

TOO_FAR = (
    "no intervals: the scores are shrunk toward 0 too strongly to recover the true ranks, as where some items "
    "hardly ever lose or win, or where noise or --gamma is large compared with the number of comparisons"
)


def of_fit(
    scores: np.ndarray,
    comparisons: PairMatrixLike,
    *,
    gamma: float,
    link: str,
    level: float,
    words: str,
    **noise: float | str | np.ndarray | None,
) -> Certainty:
    """Certainty of scores fitted to comparisons; ``noise`` are the arguments of its standard errors on their noise."""

    def about(target: str) -> Uncertainty:
        errors = functools.partial(standard_errors, gamma=gamma, link=link, target=target, **noise)
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
    if not bool(quickly(functools.partial(center_is_near, link=link), scores, weights, errors)):
        better = None
        if drawn is not None:
            better = np.asarray(quickly(intervals, scores, drawn()).better)
        return Certainty(better, notes=(TOO_FAR,))
    found = quickly(intervals, scores, errors)
    better = np.asarray(found.better)
    if not np.all(np.isfinite(np.asarray(found.standard_errors))):
        return Certainty(better)
    return Certainty(better, ends(found), words)


def ends(found: Intervals) -> dict[str, np.ndarray]:
    """The ends of score and rank intervals as NumPy arrays."""
    names = ("low", "high", "rank_low", "rank_high")
    return {name: np.asarray(getattr(found, name)) for name in names}
