"""Results of ``privrank rank`` and ``privrank aggregate``, and their certainty."""

from __future__ import annotations

import dataclasses
import math
from statistics import NormalDist
from typing import NotRequired, TypedDict

import numpy as np

from privrank_jax.cli.console import NOT_PRIVATE, Refusal
from privrank_jax.privacy.guarantee import Guarantee

SEVERAL_GROUPS = (
    "the comparisons fall into {} groups of items that were never compared with one another: the order of "
    "items of different groups is arbitrary"
)

NO_GUARANTEE = (
    f"{NOT_PRIVATE}: no noise was added, and the result can reveal what single users answered. Do not publish "
    "this ranking where the answers must stay confidential."
)


@dataclasses.dataclass(frozen=True)
class Certainty:
    """Uncertainty of the scores and of the order.

    Attributes:
        better: ``(m, m)`` bool, whether item i is surely better than j, all pairs together at the level; None where
            this is unknown.
        intervals: per item ``low``, ``high`` and, where known, ``rank_low``, ``rank_high`` (0 = best) and
            ``quasi_standard_error``, of which two make the error of a difference; empty where there are none.
        words: meaning of the intervals.
        notes: reasons why there are none.
    """

    better: np.ndarray | None = None
    intervals: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    words: str = ""
    notes: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Result:
    """Result of a method.

    Attributes:
        title: title of the table.
        order: items from best to worst, all that may be shown.
        guarantee: None without privacy.
        diagnostics: public facts on the computation.
        scores: ``(m,)``, or None where none are released.
        score_name: heading of the scores.
        certainty: what the release implies about scores and order.
        told_by: beginning of the sentence on which items can be told apart.
        notes: remarks that are part of the release.
        warnings: warnings for the holder of the data.
    """

    title: str
    order: np.ndarray
    guarantee: Guarantee | None
    diagnostics: dict[str, object]
    scores: np.ndarray | None = None
    score_name: str = "score"
    certainty: Certainty = Certainty()
    told_by: str = "At this budget"
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def guarantee_in_words(self) -> str:
        """The guarantee, or that there is none."""
        return NO_GUARANTEE if self.guarantee is None else self.guarantee.in_words()


class Row(TypedDict):
    """One item of a result."""

    rank: int
    item: str
    score: float | None
    low: NotRequired[float]
    high: NotRequired[float]
    rank_low: NotRequired[int]
    rank_high: NotRequired[int]
    quasi_standard_error: NotRequired[float]


@dataclasses.dataclass(frozen=True)
class Shown:
    """A result as it was shown.

    Attributes:
        result: the result.
        rows: the items shown, best first.
        document: the result as one JSON document.
        level: confidence level of the intervals.
        cut: the error that ended the printing early, as where stdout was closed; None where all was printed.
    """

    result: Result
    rows: list[Row]
    document: dict[str, object]
    level: float
    cut: OSError | None = None


def check_finite(result: Result) -> None:
    """Refuse a result with a number that is not finite; called before the budget is spent.

    A refusal that depended on the data alone would reveal something about them, but such numbers come from options and
    budgets beyond the range of floating point.
    """
    guarantee = result.guarantee
    promised = () if guarantee is None else (guarantee.attained, *guarantee.also)
    numbers = [one.epsilon for one in promised] + [one.delta for one in promised]
    numbers += [fact for fact in result.diagnostics.values() if isinstance(fact, float)]
    shown = [] if result.scores is None else [result.scores]
    ends = result.certainty.intervals.values()
    shown += [end for end in ends if np.issubdtype(end.dtype, np.floating)]
    if not all(map(math.isfinite, numbers)) or not all(np.all(np.isfinite(one)) for one in shown):
        raise Refusal(
            "the result has numbers beyond the range of floating point: use options, such as --epsilon, --level or "
            "--gamma, that are nearer to their usual values. Nothing is shown."
        )


def best_first(scores: np.ndarray) -> np.ndarray:
    """Sort items best first; equal scores keep the order of the item list, which does not depend on the data."""
    return np.argsort(-scores, kind="stable")


# --- certainty ---------------------------------------------------------------------------------------


def each_by_itself(of: str, cover: str) -> str:
    """The meaning of intervals that hold for each item alone.

    Args:
        of: the quantity that the intervals are for.
        cover: the randomness that they cover.
    """
    return f"for {of} and the rank by it, each by itself; they cover {cover}"


ANSWERS = "the chance in the answers (taken as independent)"
OF_USERS = "the chance in the answers (users taken as independent, not the answers of one)"
UNDONE = ", and are centered after the ridge bias is removed"


def of_noise(
    scores: np.ndarray, reach: float | np.ndarray, *, what: str, more: str = ""
) -> Certainty:
    """Bound the scores before the noise, for all items jointly.

    Args:
        scores: scores with the noise.
        reach: half-width that holds the noise of all items at the confidence level, see :func:`noise_reach`; or one for
            each item.
        what: what the scores are, in words.
        more: text appended to the words.

    >>> found = of_noise(np.array([9.0, 2.0, 1.0]), noise_reach(0.2, "laplace", 0.95, 3), what="totals")
    >>> found.better[0].tolist(), found.intervals["rank_low"].tolist(), found.intervals["rank_high"].tolist()
    ([False, True, True], [0, 1, 1], [0, 2, 2])
    """
    low, high = scores - reach, scores + reach
    better = low[:, None] > high[None, :]
    best, worst = better.sum(0), scores.size - 1 - better.sum(1)
    return Certainty(
        better,
        {"low": low, "high": high, "rank_low": best, "rank_high": worst},
        f"for the {what} before the noise and the ranks by them, all items together; they cover the privacy noise "
        f"alone{more}",
    )


def noise_reach(scale: float, noise: str, level: float, items: int) -> float:
    """Half-width that holds the noise of all items with probability ``level``; draws are independent.

    Discrete noise on the halves needs half a win more: with α = e^(-1/s) on twice the totals, P(|X| > t + 1) is
    2α^(⌊t⌋ + 2)/(1 + α) <= α^t (Laplace), and at most P(|N| > t) (Gaussian; Canonne, Kamath, Steinke, 2020).

    >>> round(noise_reach(1.0, "laplace", 0.95, 1), 3)  # log 20
    2.996
    """
    beyond = -math.expm1(math.log(level) / items)  # 1 - level^(1/items), for one item
    if noise == "laplace":
        return -scale * math.log(beyond)
    return -scale * NormalDist().inv_cdf(beyond / 2)
