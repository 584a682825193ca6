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
_ENDS = ("low", "high", "rank_low", "rank_high", "quasi_standard_error")
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
        better: ``(m, m)`` bool, whether item i is surely better than j, all pairs together; None where unknown.
        intervals: of each item, as far as they are known, by the names below.
        words, notes: meaning of the intervals; reasons why there are none.
        errors: distribution of the errors of the scores, where it leads to probabilities of the order; else None.

    Intervals have ``low`` and ``high``, ``rank_low`` and ``rank_high`` (0 = best), and ``quasi_standard_error``, of
    which two make the error of a difference.
    """

    better: Bool[np.ndarray, "items items"] | None = None
    intervals: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)
    words: str = ""
    notes: tuple[str, ...] = ()
    errors: Uncertainty | None = None


@dataclasses.dataclass(frozen=True, repr=False)
class Ranking:
    """A ranking of items, private or not; everything in it but ``warnings`` is covered by the guarantee.

    ``print(ranking)`` shows it as a table, a notebook as HTML.

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
        matrix: ``(m, m)`` noisy weights of all pairs; None: not released.

    A weight is the share of users who rank the item of the row before that of the column; where the number of users is
    private, half of how many more rank it before than after.
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
        tied = np.append(False, self.ties)[: places.size]
        return np.maximum.accumulate(np.where(tied, 1, places))

    @property
    def marked(self) -> list[str]:
        """The items shown, each with whether it is tied with another one, in words."""
        ranks = self.ranks.tolist()
        return [name + " (tied)" * (ranks.count(rank) > 1) for name, rank in zip(self.names, ranks)]

    @property
    def shrinkage(self) -> str:
        """By how much a ridge shrinks the scores, by intervals without its bias; "" where none does."""
        gamma, ends = self.facts.get("gamma"), self.certainty.intervals
        if not gamma or self.scores is None:
            return ""
        if "low" not in ends:
            return f"Scores are shrunk towards each other, by a ridge of gamma = {gamma:.3g}."
        share = 1 - np.std(self.scores) / max(float(np.std(ends["low"] + ends["high"])) / 2, 1e-300)
        words = (
            f"Scores are shrunk towards each other, by {100 * share:.2g}%; their intervals are not."
        )
        return "" if share < 1e-9 else words  # where they are centered at the scores

    @functools.cached_property
    def above(self) -> Float[np.ndarray, "items items"] | None:
        """``(m, m)`` probabilities that the item of the row is better than that of the column, as ``items``.

        They follow from the release alone (:mod:`privrank_jax.pairwise.intervals`), to four digits; None where unknown.
        """
        return self._by_errors(above_probabilities)

    @functools.cached_property
    def rank_chances(self) -> Float[np.ndarray, "items ranks"] | None:
        """``(m, m)`` probabilities that the item of the row has the rank of the column (0 = best), of 4,000 draws."""
        return self._by_errors(lambda errors: rank_probabilities(jax.random.key(0), errors))

    def _by_errors(self, chances: Callable[[Uncertainty], Array]) -> np.ndarray | None:
        errors = self.certainty.errors
        if errors is None:
            return None
        with jax.enable_x64(True):
            return np.asarray(chances(jax.tree.map(jnp.asarray, errors))).round(4)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The items shown, best first: ``rank`` (from 1, shared by tied items; None in a set), ``item``, ``score``.

        Where known also ``low``, ``high``, ``rank_low``, ``rank_high`` and ``quasi_standard_error``.
        """
        known = {end: of for end in _ENDS if (of := self.certainty.intervals.get(end)) is not None}
        rows, known = [], known if self.scores is None else {"score": self.scores, **known}
        for item, name, rank in zip(self.order.tolist(), self.names, self.ranks.tolist()):
            row = {"rank": rank if self.in_order else None, "item": name, "score": None}
            for end, of in known.items():  # ranks from 1
                row[end] = int(of[item]) + 1 if end.startswith("rank") else float(of[item])
            rows.append(row)
        return rows

    @property
    def told_apart(self) -> dict[str, Any] | None:
        """Count the items shown (``from_next`` ``of``) that can be told apart from the next one; None where unknown.

        ``any_two``: whether two of all items can; ``words`` say it. The last item shown is compared with the first that
        is not.
        """
        size, better = self.order.size, self.certainty.better
        if better is None or size < 2:
            return None
        first = min(size - 1, self.top_k or size)
        order = self.order[: first + 1]
        known, words = int(np.sum(better[order[:-1], order[1:]])), ""
        sure = f"with {100 * self.level:g}% confidence, all pairs together"
        if not better.any():
            words = f"no two items can be told apart {sure}: the order shown may be no better than a random one"
        elif known < first:
            number = f"only {known}" if known else "none"
            words = (
                f"{number} of the first {first} items can be told apart from the next one {sure}"
            )
        words = words and f"{self.told_by}, {words}."
        return {"from_next": known, "of": first, "any_two": bool(better.any()), "words": words}

    @property
    def cautions(self) -> list[str]:
        """Why the ranking is not for publication, in words; empty where it is."""
        words = "This is a rehearsal with simulated noise. Do not publish it: who knows the seed can remove the noise."
        return [self.guarantee_in_words] if self.guarantee is None else [words] * self.rehearsal

    @property
    def paragraphs(self) -> list[str]:
        """What stands below the table, in sentences."""
        return [*self.words, self.guarantee_in_words, *(f"- {note}" for note in self.notes)]

    @property
    def words(self) -> list[str]:
        """What ties, intervals and their absence mean, in sentences."""
        apart, intervals, shown = self.told_apart, self.certainty.words, len(self.names)
        told = [_TIED] if self.in_order and self.ties[:shown].any() else []
        if told and (more := int(np.sum(self.ranks[shown:] == self.ranks[shown - 1]))):
            told = [f"{_TIED} {more} more have the last rank shown."]
        told += [apart["words"] if apart else "", f"Intervals: {intervals}." if intervals else ""]
        return [one for one in (*told, self.shrinkage) if one]

    def columns(self) -> dict[str, list[str]]:
        """The table as text: cells by heading."""
        found: dict[str, list[str]] = {"rank": [], "item": []} if self.in_order else {"item": []}
        for row in self.rows:
            cells = {"rank": str(row["rank"])} if self.in_order else {}
            cells["item"] = row["item"]
            if row["score"] is not None:
                cells[self.score_name] = _number(row["score"])
            if "low" in row:
                ends = f"{_number(row['low'])} to {_number(row['high'])}"
                cells[f"{100 * self.level:g}% interval"] = ends
            if "rank_low" in row:
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
        """The rows as a data frame of pandas, else of polars, else of PyArrow; ``ImportError``: none is installed."""
        return frame_of(self.rows)

    def plot(self) -> Any:
        """A figure of the ranking with its intervals, by rank where it has none; ``ImportError``: no matplotlib."""
        return self._figure(self.guarantee_in_words)

    def _figure(self, below: str) -> Any:
        from privrank_jax.plotting import ranking_intervals

        rows, label = self.rows, self.score_name
        names = ("rank_low", "rank_high", "low", "high", "score")
        known: list[Any] = [[row.get(name) for row in rows] for name in names]
        best, worst, low, high, values = known
        if self.scores is None:
            label, values = "rank", [row["rank"] or (1 + len(rows)) / 2 for row in rows]
            low, high = best, worst
            if not self.in_order:  # any of these ranks
                low, high = [1.0] * len(rows), [float(len(rows))] * len(rows)
        if self.scores is None or "rank_low" not in self.certainty.intervals:
            best = worst = None
        low, high = np.array(low, float), np.array(high, float)  # None becomes NaN
        if np.any((low > values) | (values > high)):  # about an estimate without the score's bias
            values = (low + high) / 2
        told = {"x_label": label, "title": self.title, "best": best, "worst": worst}
        ranks, ends = self.ranks[: len(rows)].tolist(), (low.tolist(), high.tolist())
        return ranking_intervals(self.names, list(values), *ends, below, ranks=ranks, **told)

    def drawing(self) -> str:
        """The figure, without words below it, as SVG; "" with nothing but the order to draw, or without matplotlib."""
        if self.scores is None and not self.certainty.intervals:
            return ""
        try:
            from privrank_jax.plotting.frame import svg

            return svg(self._figure(""))
        except ImportError:
            return ""

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write an .html file for those who will read the ranking, which needs no other file, no network, no script."""
        from pathlib import Path

        from privrank_jax._whole_file import whole_file

        text = page(self)
        with whole_file(Path(path)) as temporary:
            temporary.write_text(text, encoding="utf-8", newline="")

    def check_finite(self) -> None:
        """Refuse, by ``ValueError`` and before the budget is spent, a result with a number that is not finite.

        Such numbers come from options and budgets beyond the range of floating point, not from the data alone.
        """
        guarantee = self.guarantee
        promised = () if guarantee is None else (guarantee.attained, *guarantee.also)
        shown: list[Any] = [float(one) for of in promised for one in (of.epsilon, of.delta)]
        shown += [fact for fact in self.facts.values() if isinstance(fact, float)]
        shown += [one for one in (self.scores, self.matrix) if one is not None]
        shown += self.certainty.intervals.values()
        if not all(np.all(np.isfinite(one)) for one in shown):
            raise ValueError(
                "the result has numbers beyond the range of floating point: take an epsilon, a level or a gamma that "
                "is nearer to usual values. Nothing is shown."
            )


def made(table: Any, title: str, method: str, facts: dict[str, Any], **fields: Any) -> Ranking:
    """A ranking of the items of a table, by its scores where it has no order; ``facts`` that are None are left out."""
    fields = {"guarantee": None, **fields}
    if "order" not in fields:
        fields["order"] = best_first(fields["scores"])
    facts = {"method": method, "data": table.name, "items": table.num_items, **facts}
    known = {name: one for name, one in facts.items() if one is not None}
    return Ranking(f"{table.name}: {title}", table.item_names, facts=known, **fields)


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


def each_by_itself(of: str, cover: str) -> str:
    """The meaning of intervals for ``of`` that hold for each item alone; ``cover``: the randomness that they cover."""
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
    """Bound the scores before the noise, for all items jointly; ``what`` these are, and what more is said, in words.

    ``reach``: half-width that holds the noise of all items at the confidence level; or one for each item.

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
