"""What a method of ``privrank rank`` hands to the output."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

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
        notes: remarks that belong to the release.
        warnings: for the holder of the data.
    """

    title: str
    order: np.ndarray
    guarantee: Guarantee | None
    diagnostics: dict[str, Any]
    scores: np.ndarray | None = None
    score_name: str = "score"
    intervals: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    interval_words: str = ""
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def as_dict(found: Intervals) -> dict[str, np.ndarray]:
    """The ends of score and rank intervals as NumPy arrays."""
    names = ("low", "high", "rank_low", "rank_high")
    return {name: np.asarray(getattr(found, name)) for name in names}


def best_first(scores: np.ndarray) -> np.ndarray:
    """Best first; equal scores in the order of the item list, which says nothing about the data."""
    return np.argsort(-scores, kind="stable")
