"""The result of :func:`privrank_jax.rank` and :func:`privrank_jax.consensus`: a ranking, and how certain it is."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int

from privrank_jax.jobs.page import frame_of, html_of, page, text_of
from privrank_jax.pairwise.intervals import above_probabilities, rank_probabilities
from privrank_jax.pairwise.uncertainty import Uncertainty
from privrank_jax.privacy.guarantee import Guarantee

SEVERAL_GROUPS = (
    "the comparisons fall into {} groups of items that were never compared with one another: the order of "
    "items of different groups is arbitrary"
)
EQUAL = 1e-9  # no two scores that differ by more are equal; fits of equal items differ by rounding
_TIED = "Items with the same rank are tied: the order in which they stand means nothing."
NOT_PRIVATE = "NOT PRIVATE"  # how a paragraph begins that says so
_NO_GUARANTEE = (
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
        errors: distribution of the errors of the scores, where it leads to probabilities of the order; else None.
    """

    better: Bool[np.ndarray, "items items"] | None = None
    intervals: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    words: str = ""
    notes: tuple[str, ...] = ()
    errors: Uncertainty | None = None


_ENDS: dict[str, Callable[[Any], float]] = {
    "low": float,
    "high": float,
    "rank_low": lambda place: int(place) + 1,
    "rank_high": lambda place: int(place) + 1,
    "quasi_standard_error": float,
}
"""Fields of intervals, and how they stand in a row: ranks from 1."""


@dataclasses.dataclass(frozen=True, repr=False)
class Ranking:
    """A ranking of items, private or not, with all that its readers must know.

    ``print(ranking)`` shows it as a table, a notebook as HTML. Everything in it but ``warnings`` is covered by the
    guarantee.

    Attributes:
        title: of the table.
        items: names of all m items, in the order of the public list.
        order: indices into ``items``, best first: all that may be shown.
        guarantee: None without privacy.
        facts: public facts on the computation, by name.
        scores: ``(m,)``, or None where none are released.
        score_name: what the scores are.
        certainty: what the release implies about scores and order.
        level: confidence level of the intervals.
        top_k: how many items are shown; None: all.
        in_order: whether ``order`` is one; else the items are a set, in the order of the public list.
        tied: whether each item of ``order`` but the last is tied with the next one; None: where their scores are equal.
        told_by: beginning of the sentence on which items can be told apart.
        notes: remarks that are part of the release.
        warnings: remarks for the holder of the data alone; no guarantee covers them.
        matrix: ``(m, m)``, shares of users who rank the item of the row before that of the column, in the order of
            ``items``; of a private ranking with noise, which may lead below 0 and above 1. Where the number of users
            is private, half of how many more users rank the one before the other than after. None where not all of
            these were released.
    """

    title: str
    items: tuple[str, ...]
    order: Int[np.ndarray, "places"]
    guarantee: Guarantee | None
    facts: dict[str, Any]
    scores: Float[np.ndarray, "items"] | None = None
    score_name: str = "score"
    certainty: Certainty = Certainty()
    level: float = 0.95
    top_k: int | None = None
    in_order: bool = True
    tied: Bool[np.ndarray, "gaps"] | None = None
    told_by: str = "At this budget"
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    matrix: Float[np.ndarray, "items items"] | None = None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.title!r}>"

    @property
    def rehearsal(self) -> bool:
        """Whether the noise is simulated, so that nothing may be published."""
        return self.facts.get("seed") is not None

    @property
    def guarantee_in_words(self) -> str:
        """The guarantee, or that there is none."""
        return _NO_GUARANTEE if self.guarantee is None else self.guarantee.in_words()

    @property
    def names(self) -> list[str]:
        """The items shown, best first if they are in order."""
        return [str(self.items[k]) for k in self.order[: self.top_k].tolist()]

    @property
    def ties(self) -> Bool[np.ndarray, "gaps"]:
        """Whether each item of ``order`` but the last is tied with the next one."""
        if self.tied is not None:
            return self.tied
        if self.scores is None:
            return np.zeros(max(self.order.size - 1, 0), bool)
        return np.diff(self.scores[self.order]) >= -EQUAL

    @property
    def ranks(self) -> Int[np.ndarray, "places"]:
        """Ranks of the items of ``order``, from 1; tied ones share the least of theirs, as in 1, 1, 3."""
        places = np.arange(1, self.order.size + 1)
        return np.maximum.accumulate(
            np.where(np.append(False, self.ties)[: places.size], 1, places)
        )

    @property
    def marked(self) -> list[str]:
        """The items shown, each with whether it is tied with another one, in words."""
        ranks = self.ranks.tolist()
        return [name + " (tied)" * (ranks.count(rank) > 1) for name, rank in zip(self.names, ranks)]

    @property
    def shrinkage(self) -> str:
        """By how much a ridge shrinks the scores, from what is published alone; "" where none does.

        Intervals are centered where its bias is removed; without them the ridge itself says it, in comparisons.
        """
        gamma, ends = self.facts.get("gamma"), self.certainty.intervals
        if not gamma or self.scores is None:
            return ""
        if "low" not in ends:
            return f"Scores are shrunk towards each other, by a ridge of gamma = {gamma:.3g}."
        share = 1 - np.std(self.scores) / max(float(np.std(ends["low"] + ends["high"])) / 2, 1e-300)
        if share < 1e-9:  # they are centered at the scores
            return ""
        return (
            f"Scores are shrunk towards each other, by {100 * share:.2g}%; their intervals are not."
        )

    @property
    def tied_words(self) -> str:
        """That items are tied, among them perhaps some that are not shown; "" where none are."""
        ranks, shown = self.ranks, len(self.names)
        if not self.in_order or not self.ties[:shown].any():
            return ""
        more = int(np.sum(ranks[shown:] == ranks[shown - 1]))
        return f"{_TIED} {more} more have the last rank shown." if more else _TIED

    @functools.cached_property
    def above(self) -> Float[np.ndarray, "items items"] | None:
        """``(m, m)`` probabilities that the item of the row is better than that of the column.

        Rows and columns are in the order of ``items``. They follow from the release alone
        (:mod:`privrank_jax.pairwise.intervals`), and the guarantee covers them. They are approximations, and have four
        digits. None where the errors of the scores are not known.
        """
        return self._by_errors(above_probabilities)

    @functools.cached_property
    def rank_chances(self) -> Float[np.ndarray, "items ranks"] | None:
        """``(m, m)`` probabilities that the item of the row has the rank of the column, 0 = best, of 4,000 draws.

        As ``above``; the draws are the same each time.
        """
        return self._by_errors(lambda errors: rank_probabilities(jax.random.key(0), errors))

    def _by_errors(self, chances: Callable[[Uncertainty], Array]) -> np.ndarray | None:
        errors = self.certainty.errors
        if errors is None:
            return None
        with jax.enable_x64(True):
            return np.asarray(chances(jax.tree.map(jnp.asarray, errors))).round(4)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The items shown, best first, each with its score and intervals where these are known.

        Of each ``rank`` (from 1, shared by tied items; None in a set), ``item``, ``score`` (or None), and where they
        are known ``low``, ``high``, ``rank_low``, ``rank_high`` and ``quasi_standard_error``.
        """
        known = {end: of for end, of in _ENDS.items() if end in self.certainty.intervals}
        return [
            {
                "rank": rank if self.in_order else None,
                "item": name,
                "score": None if self.scores is None else float(self.scores[item]),
                **{end: of(self.certainty.intervals[end][item]) for end, of in known.items()},
            }
            for item, name, rank in zip(self.order.tolist(), self.names, self.ranks.tolist())
        ]

    @property
    def told_apart(self) -> dict[str, Any] | None:
        """How many of the items shown can be told apart from the next one; None where this is unknown.

        ``from_next`` ``of`` them, whether there are ``any_two``, and in ``words``. The last item shown is compared with
        the first that is not.
        """
        size, better = self.order.size, self.certainty.better
        if better is None or size < 2:
            return None
        first = min(size - 1, self.top_k or size)
        order = self.order[: first + 1]
        known = int(np.sum(better[order[:-1], order[1:]]))
        sure = f"with {100 * self.level:g}% confidence, all pairs together"
        if not better.any():
            words = f"no two items can be told apart {sure}: the order shown may be no better than a random one"
        elif known == 0:
            who = "the first item can't" if first == 1 else f"none of the first {first} items can"
            words = f"{who} be told apart from the next one {sure}; only some that lie further apart can"
        elif known < first:
            words = f"only {known} of the first {first} items can be told apart from the next one {sure}"
        else:
            words = ""
        words = words and f"{self.told_by}, {words}."
        return {"from_next": known, "of": first, "any_two": bool(better.any()), "words": words}

    @property
    def cautions(self) -> list[str]:
        """Why the ranking is not for publication, in words; empty where it is."""
        if self.guarantee is None:
            return [self.guarantee_in_words]
        if not self.rehearsal:
            return []
        return [
            "This is a rehearsal with simulated noise. Do not publish it: who knows the seed can remove the noise."
        ]

    @property
    def paragraphs(self) -> list[str]:
        """What stands below the table, in sentences."""
        return [*self.words, self.guarantee_in_words, *(f"- {note}" for note in self.notes)]

    @property
    def words(self) -> list[str]:
        """What ties, intervals and their absence mean, in sentences."""
        apart, intervals = self.told_apart, self.certainty.words
        told = [self.tied_words, apart["words"] if apart else ""]
        told += [f"Intervals: {intervals}." if intervals else "", self.shrinkage]
        return [one for one in told if one]

    def columns(self) -> dict[str, list[str]]:
        """The table as text: cells by heading."""
        found = {"rank": [], "item": []} if self.in_order else {"item": []}
        for row in self.rows:
            cells = {"rank": str(row["rank"])} if self.in_order else {}
            cells["item"] = row["item"]
            if row["score"] is not None:
                cells[self.score_name] = _number(row["score"])
            if "low" in row and "high" in row:
                cells[f"{100 * self.level:g}% interval"] = (
                    f"{_number(row['low'])} to {_number(row['high'])}"
                )
            if "rank_low" in row and "rank_high" in row:
                ends = dict.fromkeys((row["rank_low"], row["rank_high"]))
                cells["rank interval"] = " to ".join(map(str, ends))
            for heading, cell in cells.items():
                found.setdefault(heading, []).append(cell)
        return found

    def __str__(self) -> str:
        return text_of(self.title, self.columns(), "item", self.paragraphs)

    def _repr_html_(self) -> str:
        """The table, as notebooks show it."""
        return html_of(self.title, self.columns(), "item", self.paragraphs)

    def to_dict(self) -> dict[str, Any]:
        """The ranking as plain values, as ``--json`` prints it: ``ranking``, ``guarantee`` and ``diagnostics``."""
        apart = self.told_apart
        facts = self.facts if apart is None else {**self.facts, "told_apart": apart}
        facts = {**facts, "shrinkage": self.shrinkage} if self.shrinkage else facts
        guarantee = None if self.guarantee is None else self.guarantee.as_dict()
        return {"ranking": self.rows, "guarantee": guarantee, "diagnostics": facts}

    def to_frame(self) -> Any:
        """The rows as a data frame: of pandas if that is installed, else of polars, else a table of PyArrow.

        Raises:
            ImportError: none of these is installed.
        """
        return frame_of(self.rows)

    def plot(self) -> Any:
        """A figure of the ranking with its intervals; by rank where the ranking has no scores.

        Raises:
            ImportError: matplotlib is not installed.
        """
        return self._figure(self.guarantee_in_words)

    def _figure(self, below: str) -> Any:
        from privrank_jax.plotting import ranking_intervals

        rows = self.rows
        best = [row["rank_low"] for row in rows if "rank_low" in row]
        worst = [row["rank_high"] for row in rows if "rank_high" in row]
        values = [row["score"] for row in rows if row["score"] is not None]
        low = [row.get("low", float("nan")) for row in rows]
        high = [row.get("high", float("nan")) for row in rows]
        label = self.score_name
        if not values:
            label, values = "rank", [row["rank"] or (1 + len(rows)) / 2 for row in rows]
            if not self.in_order:  # any of these ranks
                low, high = [1.0] * len(rows), [float(len(rows))] * len(rows)
            if best:
                low, high, best, worst = best, worst, [], []
        inside = [not (a > value or value > b) for a, value, b in zip(low, values, high)]
        if not all(inside):  # intervals about an estimate without the bias of the score
            values = [(a + b) / 2 for a, b in zip(low, high)]
        return ranking_intervals(
            self.names,
            values,
            low,
            high,
            below,
            x_label=label,
            title=self.title,
            best=best or None,
            worst=worst or None,
            ranks=self.ranks[: len(rows)].tolist(),
        )

    def drawing(self) -> str:
        """The figure, without words below it, as SVG; "" with nothing but the order to draw, or without matplotlib."""
        if self.scores is None and not self.certainty.intervals:
            return ""
        try:
            from privrank_jax.plotting.frame import svg

            figure = self._figure("")
        except ImportError:
            return ""
        return svg(figure)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page for those who will read the ranking: table, picture, guarantee, how it was made.

        Args:
            path: of an .html file, which needs no other file, no network and no script.
        """
        from pathlib import Path

        from privrank_jax._whole_file import whole_file

        text = page(self)
        with whole_file(Path(path)) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="")

    def check_finite(self) -> None:
        """Refuse a result with a number that is not finite; called before the budget is spent.

        A refusal that depended on the data alone would reveal something about them, but such numbers come from options
        and budgets beyond the range of floating point.

        Raises:
            ValueError: there is such a number.
        """
        guarantee = self.guarantee
        promised = () if guarantee is None else (guarantee.attained, *guarantee.also)
        shown: list[Any] = [float(one) for of in promised for one in (of.epsilon, of.delta)]
        shown += [fact for fact in self.facts.values() if isinstance(fact, float)]
        shown += [one for one in (self.scores, self.matrix) if one is not None]
        if not all(
            np.all(np.isfinite(one)) for one in (*shown, *self.certainty.intervals.values())
        ):
            raise ValueError(
                "the result has numbers beyond the range of floating point: take an epsilon, a level or a gamma that "
                "is nearer to usual values. Nothing is shown."
            )


def best_first(scores: Float[np.ndarray, "items"]) -> Int[np.ndarray, "items"]:
    """Sort items best first; equal scores keep the order of the item list, which does not depend on the data."""
    order = np.argsort(-scores, kind="stable")
    lower = np.append(False, np.diff(scores[order]) < -EQUAL)[: order.size]
    return order[np.lexsort((order, np.cumsum(lower)))]


def _number(value: float) -> str:
    """Two decimals, fewer where the number is large.

    >>> _number(0.1234), _number(-1234.56), _number(812.5)
    ('0.12', '-1235', '812.5')
    """
    size = abs(value)
    return f"{value:.2f}" if size < 100 else f"{value:.1f}" if size < 1000 else f"{value:.0f}"


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
    scores: Float[np.ndarray, "items"],
    reach: float | Float[np.ndarray, "items"],
    *,
    what: str,
    more: str = "",
) -> Certainty:
    """Bound the scores before the noise, for all items jointly.

    Args:
        scores: scores with the noise.
        reach: half-width that holds the noise of all items at the confidence level; or one for each item.
        what: what the scores are, in words.
        more: text appended to the words.

    >>> found = of_noise(np.array([9.0, 2.0, 1.0]), 0.8, what="totals")
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
