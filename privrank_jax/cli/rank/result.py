"""What a method of ``privrank rank`` hands to the output."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from privrank_jax.cli.console import Refusal
from privrank_jax.pairwise.intervals import Intervals
from privrank_jax.privacy.guarantee import Guarantee

SEVERAL_GROUPS = (
    "the comparisons fall into {} groups of items that were never compared with one another: the order of "
    "items of different groups means nothing"
)


@dataclasses.dataclass(frozen=True)
class Result:
    """What a method found.

    Attributes:
        title: of the table.
        order: items from best to worst, all that may be shown.
        guarantee: None without privacy.
        diagnostics: public facts on the computation.
        scores: ``(m,)``, or None where none are released.
        score_name: heading of the scores.
        intervals: per item ``low``, ``high`` and, where known, ``rank_low``, ``rank_high`` (0 = best).
        interval_words: what the intervals say.
        better: ``(m, m)`` bool, whether item i is surely better than j by what was released, all pairs together;
            None where that isn't known.
        told_by: what tells them apart or can't, at the beginning of a sentence.
        notes: remarks that belong to the release.
        warnings: for the data holder.
    """

    title: str
    order: np.ndarray
    guarantee: Guarantee | None
    diagnostics: dict[str, Any]
    scores: np.ndarray | None = None
    score_name: str = "score"
    intervals: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    interval_words: str = ""
    better: np.ndarray | None = None
    told_by: str = "At this budget"
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def given(self, *, public: Iterable[str], users: str) -> Result:
        """The same with a guarantee that says what is public, and what a user is."""
        if self.guarantee is None:
            return self
        return dataclasses.replace(self, guarantee=self.guarantee.given(public=public, users=users))


def check_finite(result: Result) -> None:
    """Refuse a result with a number that isn't one; called before it is paid for.

    A constant refusal for the data alone would be an answer about them, but such numbers come of options and budgets
    beyond the range of floating point.
    """
    guarantee = result.guarantee
    promised = () if guarantee is None else (guarantee.attained, *guarantee.also)
    numbers = [one.epsilon for one in promised] + [one.delta for one in promised]
    numbers += [fact for fact in result.diagnostics.values() if isinstance(fact, float)]
    shown = [] if result.scores is None else [result.scores]
    shown += [end for end in result.intervals.values() if np.issubdtype(end.dtype, np.floating)]
    if not all(map(math.isfinite, numbers)) or not all(np.all(np.isfinite(one)) for one in shown):
        raise Refusal(
            "the result has numbers beyond the range of floating point: take options, such as --epsilon, --level or "
            "--gamma, that are nearer to their usual values. Nothing is shown."
        )


def as_dict(found: Intervals) -> dict[str, np.ndarray]:
    """The ends of score and rank intervals as NumPy arrays."""
    names = ("low", "high", "rank_low", "rank_high")
    return {name: np.asarray(getattr(found, name)) for name in names}


def best_first(scores: np.ndarray) -> np.ndarray:
    """Best first; equal scores in the order of the item list, which says nothing about the data."""
    return np.argsort(-scores, kind="stable")
