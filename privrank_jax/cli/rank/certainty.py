"""How sure an order is: intervals of scores and ranks, and who can be told apart, from what was released alone."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from privrank_jax.cli.rank.result import Result, as_dict
from privrank_jax.pairwise.intervals import center_is_near, intervals_of
from privrank_jax.pairwise.standard_errors import Uncertainty

TOO_FAR = (
    "no intervals: scores are drawn towards 0 so strongly that their true places can't be worked out from them, as "
    "where some items hardly ever lose or win, or where noise or --gamma is large beside the comparisons"
)


@dataclasses.dataclass(frozen=True)
class Certainty:
    """What is known of scores.

    Attributes:
        better: ``(m, m)`` bool, whether item i is surely better than j, all pairs together at the level; None where
            that isn't known either.
        intervals: per item, as in a result; empty where there are none.
        words: what the intervals say.
        notes: why there are none.
    """

    better: np.ndarray | None
    intervals: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    words: str = ""
    notes: tuple[str, ...] = ()


def of_noise(scores: np.ndarray, reach: float) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Who is surely better, and intervals, where all scores are off by at most ``reach`` with the level's probability.

    >>> better, found = of_noise(np.array([9.0, 2.0, 1.0]), 1.0)
    >>> better[0].tolist(), found["rank_low"].tolist(), found["rank_high"].tolist()
    ([False, True, True], [0, 1, 1], [0, 2, 2])
    """
    low, high = scores - reach, scores + reach
    better = low[:, None] > high[None, :]
    best, worst = better.sum(0), scores.size - 1 - better.sum(1)
    return better, {"low": low, "high": high, "rank_low": best, "rank_high": worst}


def of_scores(
    scores: np.ndarray,
    weights: Any,
    errors: Uncertainty,
    drawn: Callable[[], Uncertainty] | None = None,
    *,
    link: str,
    level: float,
    words: str,
) -> Certainty:
    """What is known of fitted scores; intervals where all items are linked and the ridge's pull can be undone.

    Args:
        scores: centered.
        weights: ``(m, m)``, of compared pairs.
        errors: the uncertainty about the true scores.
        drawn: that about the scores as the ridge draws them, to tell items apart where there are no intervals.
        link: of the fit.
        level: of confidence.
        words: what intervals say, if there are any.
    """
    if not bool(center_is_near(scores, weights, errors, link)):
        better = None
        if drawn is not None:
            better = np.asarray(intervals_of(scores, drawn(), level).better)
        return Certainty(better, notes=(TOO_FAR,))
    found = intervals_of(scores, errors, level)
    better = np.asarray(found.better)
    if not np.all(np.isfinite(np.asarray(found.standard_errors))):
        return Certainty(better)
    return Certainty(better, as_dict(found), words)


def told_apart(result: Result, level: float, top_k: int | None = None) -> dict[str, Any] | None:
    """How many items of an order can be told apart from the next, for JSON and in words; None where it isn't known.

    Args:
        result: all items in order, and who is surely better than whom.
        level: of confidence.
        top_k: how many are shown; the last of them is held against the first that isn't.
    """
    size, better = result.order.size, result.better
    if better is None or size < 2:
        return None
    first = min(size - 1, top_k or size)
    order = result.order[: first + 1]
    known = int(np.sum(better[order[:-1], order[1:]]))
    sure = f"with {100 * level:g}% confidence, all pairs together"
    if not better.any():
        words = f"no two items can be told apart {sure}: the order shown may be no better than a random one"
    elif known == 0:
        who = "the first item can't" if first == 1 else f"none of the first {first} items can"
        words = (
            f"{who} be told apart from the next one {sure}; only some that lie further apart can"
        )
    elif known < first:
        words = (
            f"only {known} of the first {first} items can be told apart from the next one {sure}"
        )
    else:
        words = ""
    words = words and f"{result.told_by}, {words}."
    return {"from_next": known, "of": first, "any_two": bool(better.any()), "words": words}
