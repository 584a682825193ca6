"""Comparisons with times: which rows count at which step, and what was counted of the published steps.

Of each user the first L rows stay, in the order of their times: which of them stay depends on this user's rows alone,
and rows that arrive later change nothing that was published. Rows of one user with the same time are ordered by the
pair that they compare, so that a flipped answer doesn't decide which pairs stay; the order of rows in the data plays no
part.

The state remembers how many rows of each user were counted in each published step. What the data hold for these steps
now is left out: rows that arrived too late are never counted, rows that were taken away or changed stay counted as they
were, and of each user no more than L rows count in all steps together, whatever became of the data.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections import Counter
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from privrank_jax.data.comparisons import Comparisons
from privrank_jax.jobs.schedule import Schedule, day
from privrank_jax.pairwise.continual import MAX_PAIR_ITEMS


@dataclasses.dataclass(frozen=True)
class Counted:
    """What was counted in a step; the state keeps it.

    Attributes:
        rows: number of rows that were dated in the step.
        used: how many of them were counted of each user, by :func:`_tag`; empty where single comparisons are protected.
        met: how often each pair was compared, ``[item, other, number]``; empty unless that is public.
    """

    rows: int
    used: dict[str, int]
    met: list[list[int]]

    @property
    def text(self) -> str:
        """For the state."""
        return json.dumps(vars(self), sort_keys=True)


@dataclasses.dataclass(frozen=True)
class Arrivals:
    """Comparisons by the step in which they arrived.

    Attributes:
        data: the comparisons, of the items of the leaderboard, with times.
        schedule: of the steps.
        limit: L, the most rows that count of a user in all steps together; None where single comparisons are protected.
        pairs_are_public: whether neighbors differ in answers alone.
        steps: ``(N,)`` step of each row, as :meth:`Schedule.steps_of` counts them.
        kept: ``(N,)`` whether a row counts: it is dated in a step to come, and among the first of its user.
    """

    data: Comparisons
    schedule: Schedule
    limit: int | None
    pairs_are_public: bool
    steps: Int[np.ndarray, "rows"]
    kept: Bool[np.ndarray, "rows"]

    @property
    def pairs(self) -> Int[np.ndarray, "rows 2"]:
        """The two items of each comparison, in the order of the items."""
        return np.sort(np.stack([self.data.winners, self.data.losers], 1), axis=1)

    def after(self, published: Sequence[Counted]) -> Arrivals:
        """The same data, of which the rows of further steps count: of a user the first ones, up to what is left."""
        data, kept = self.data, self.steps >= len(published)
        if self.limit is not None:
            used = Counter[str]()
            for step in published:
                used.update(step.used)
            left = np.array([self.limit - used[_tag(name)] for name in data.user_names], int)
            lower, upper = self.pairs.T
            order = np.lexsort((upper, lower, data.times, data.users))
            order = order[kept[order]]
            users = data.users[order]
            rank = np.arange(order.size) - np.searchsorted(users, users)  # among rows of the user
            kept = np.zeros(kept.size, bool)
            kept[order] = rank < left[users]
        return dataclasses.replace(self, kept=kept)

    def sums(self, first: int, last: int) -> Float[np.ndarray, "steps sums"]:
        """Wins of each item in the steps ``first``, ..., ``last`` - 1, where ties are half wins.

        Unless pairs are public, losses and pair counts too, ordered as ``pairwise.score_sums``.
        """
        data, items = self.data, self.data.num_items
        chosen = self.kept & (first <= self.steps) & (self.steps < last)
        step, share = self.steps[chosen] - first, np.where(data.tied[chosen], 0.5, 1.0)
        one, other = data.winners[chosen], data.losers[chosen]
        wins, losses = np.zeros((2, last - first, items))
        for total, ahead, behind in ((wins, one, other), (losses, other, one)):
            np.add.at(total, (step, ahead), share)
            np.add.at(total, (step, behind), 1 - share)
        if self.pairs_are_public:
            return wins
        if items > MAX_PAIR_ITEMS:
            return np.hstack([wins, losses])
        place, both = np.zeros((items, items), int), np.triu_indices(items, 1)
        place[both] = np.arange(both[0].size)
        met = np.zeros((last - first, both[0].size))
        np.add.at(met, (step, place[tuple(self.pairs[chosen].T)]), 1)
        return np.hstack([wins, losses, met])

    def counted(self, first: int, last: int) -> list[Counted]:
        """What counts in the steps ``first``, ..., ``last`` - 1."""
        data, found = self.data, []
        order = np.flatnonzero(self.kept)
        order = order[np.argsort(self.steps[order], kind="stable")]
        ends = np.searchsorted(self.steps[order], np.arange(first, last + 1))
        for rows, start, end in zip(self._dated(last)[first:], ends, ends[1:]):
            chosen, used, met = order[start:end], {}, []
            if self.limit is not None:
                users, times = np.unique(data.users[chosen], return_counts=True)
                names = (_tag(data.user_names[user]) for user in users)
                used = dict(zip(names, times.tolist()))
            if self.pairs_are_public:
                each, times = np.unique(self.pairs[chosen], axis=0, return_counts=True)
                met = np.column_stack([each, times]).tolist()
            found.append(Counted(rows, used, met))
        return found

    def _dated(self, last: int) -> list[int]:
        """How many rows are dated in each step before ``last``."""
        return np.bincount(self.steps[self.steps >= 0], minlength=last)[:last].tolist()

    def check_dates(self) -> None:
        """Refuse rows before the first step, of which nothing is published yet."""
        if early := int(np.sum(self.steps < 0)):
            raise ValueError(
                f"{early} rows are dated before the start of the first step, {day(self.schedule.starts[0])}: give an "
                "earlier `start`, or leave these rows out."
            )

    def left_out(self, published: Sequence[Counted]) -> list[str]:
        """What of the data has no part in the steps, in words for their holder."""
        told, name, starts = [], self.data.name, self.schedule.starts
        for step, (one, now) in enumerate(zip(published, self._dated(len(published)))):
            if one.rows != now:
                told.append(
                    f"{name}: step {step + 1} ({day(starts[step])} to {day(starts[step + 1])}) was published when it "
                    f"had {one.rows} rows, and now has {now}: what was published stays as it is, new rows of published "
                    "steps count in none."
                )
                break
        beyond = "beyond the last step" if self.schedule.steps else "in steps that have not begun"
        early, late = int(np.sum(self.steps < 0)), int(np.sum(self.steps >= len(starts) - 1))
        for number, where in ((early, "before the first step"), (late, beyond)):
            if number:
                told.append(f"{name}: {number} rows are dated {where}, and are left out.")
        return told


def arrivals_of(
    data: Comparisons,
    schedule: Schedule,
    limit: int | None,
    pairs_are_public: bool,
    items: Sequence[str] | None = None,
) -> Arrivals:
    """Sort rows by steps; of each user the first ones count.

    Args:
        data, schedule, limit, pairs_are_public: as of :class:`Arrivals`.
        items: those of a leaderboard that goes on; the data may lack some of them.

    Raises:
        ValueError: data without times, or with other items.
    """
    if data.times is None or data.times.shape != (len(data),):
        raise ValueError(
            f"{data.name} has no `times`: name their column by `time`, when it is read."
        )
    if items is not None:
        place = {name: number for number, name in enumerate(items)}
        if new := [name for name in data.item_names if name not in place]:
            raise ValueError(
                f"{data.name}: the leaderboard has no item {new[0]!r}, and its items stay as they were: leave its rows "
                "out, or begin another leaderboard, at its own price."
            )
        codes = np.array([place[name] for name in data.item_names], np.int32)
        ends = {"winners": codes[data.winners], "losers": codes[data.losers]}
        data = dataclasses.replace(data, item_names=tuple(items), **ends, questionnaire=None)
    steps = schedule.steps_of(data.times)
    return Arrivals(data, schedule, limit, pairs_are_public, steps, steps >= 0).after(())


def _tag(user: str) -> str:
    """What the state keeps of a user's name."""
    return hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:32]
