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
from jaxtyping import Bool, Float, Int, Shaped

from privrank_jax.data.comparisons import Comparisons
from privrank_jax.jobs.schedule import Schedule, day
from privrank_jax.pairwise.continual import MAX_PAIR_ITEMS


@dataclasses.dataclass(frozen=True)
class Counted:
    """What was counted in a step; the state keeps it.

    Attributes:
        rows: number of rows that were dated in the step.
        fingerprint: hash of these rows.
        used: how many of them were counted of each user, by :func:`_tag`; empty where single comparisons are protected.
        met: how often each pair was compared, ``[item, other, number]``; empty unless that is public.
    """

    rows: int
    fingerprint: str
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
        data: the comparisons, of the items of the leaderboard.
        times: ``(N,)`` datetime64, of each row.
        schedule: of the steps.
        steps: ``(N,)`` step of each row, as :meth:`Schedule.steps_of` counts them.
        limit: L, the most rows that count of a user in all steps together; None where single comparisons are protected.
        pairs_are_public: whether neighbors differ in answers alone.
        kept: ``(N,)`` whether a row counts: it is dated in a step to come, and among the first of its user.
    """

    data: Comparisons
    times: Shaped[np.ndarray, "rows"]
    schedule: Schedule
    steps: Int[np.ndarray, "rows"]
    limit: int | None
    pairs_are_public: bool
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
            order = np.lexsort((upper, lower, self.times, data.users))
            order = order[kept[order]]
            users, places = data.users[order], np.arange(order.size)
            begin = np.maximum.accumulate(np.where(np.diff(users, prepend=-1) != 0, places, 0))
            kept = np.zeros(kept.size, bool)
            kept[order] = places - begin < left[users]
        return dataclasses.replace(self, kept=kept)

    def _between(self, first: int, last: int) -> Bool[np.ndarray, "rows"]:
        return self.kept & (self.steps >= first) & (self.steps < last)

    def totals(self, first: int, last: int) -> Float[np.ndarray, "steps items"]:
        """Wins of each item in the steps ``first``, ..., ``last`` - 1; ties are half wins."""
        return self._wins_and_losses(first, last)[0]

    def sums(self, first: int, last: int) -> Float[np.ndarray, "steps sums"]:
        """Wins, losses and pair counts in these steps, ordered as ``pairwise.score_sums``."""
        items, found = self.data.num_items, self._wins_and_losses(first, last)
        if items <= MAX_PAIR_ITEMS:
            chosen, pairs = self._between(first, last), items * (items - 1) // 2
            lower, upper = self.pairs[chosen].T
            place = lower * (2 * items - lower - 1) // 2 + upper - lower - 1
            cell = (self.steps[chosen] - first) * pairs + place
            number = np.bincount(cell, minlength=(last - first) * pairs)
            found.append(number.reshape(last - first, pairs))
        return np.hstack(found)

    def _wins_and_losses(self, first: int, last: int) -> list[np.ndarray]:
        data, chosen, items = self.data, self._between(first, last), self.data.num_items
        cell, size = (self.steps[chosen] - first) * items, (last - first) * items
        share = np.where(data.tied[chosen], 0.5, 1.0)
        ahead, behind = cell + data.winners[chosen], cell + data.losers[chosen]

        def total(one: np.ndarray, other: np.ndarray) -> np.ndarray:
            found = np.bincount(one, share, size) + np.bincount(other, 1 - share, size)
            return found.reshape(-1, items)

        return [total(ahead, behind), total(behind, ahead)]

    def counted(self, first: int, last: int) -> list[Counted]:
        """What counts in the steps ``first``, ..., ``last`` - 1."""
        data, found = self.data, []
        order = np.flatnonzero(self.kept)
        order = order[np.argsort(self.steps[order], kind="stable")]
        ends = np.searchsorted(self.steps[order], np.arange(first, last + 1))
        for place, (rows, fingerprint) in enumerate(self.fingerprints(first, last)):
            chosen, used, met = order[ends[place] : ends[place + 1]], {}, []
            if self.limit is not None:
                users, times = np.unique(data.users[chosen], return_counts=True)
                names = (_tag(data.user_names[user]) for user in users)
                used = dict(zip(names, times.tolist()))
            if self.pairs_are_public:
                each, times = np.unique(self.pairs[chosen], axis=0, return_counts=True)
                met = np.column_stack([each, times]).tolist()
            found.append(Counted(rows, fingerprint, used, met))
        return found

    def fingerprints(self, first: int, last: int) -> list[tuple[int, str]]:
        """The number and a hash of all rows of each of these steps, whatever their order in the data."""
        data = self.data
        names, items = data.user_names, data.item_names
        rows: list[list[str]] = [[] for _ in range(first, last)]
        for row in np.flatnonzero((self.steps >= first) & (self.steps < last)).tolist():
            user = names[data.users[row]] if names else ""
            pair = items[data.winners[row]], items[data.losers[row]]
            cells = (str(self.times[row]), user, *pair, bool(data.tied[row]))
            rows[self.steps[row] - first].append(json.dumps(cells))
        return [
            (len(lines), hashlib.sha256("\n".join(sorted(lines)).encode()).hexdigest())
            for lines in rows
        ]

    def check_dates(self) -> None:
        """Refuse rows before the first step, of which nothing is published yet."""
        if np.any(self.steps < 0):
            raise ValueError(
                f"{int((self.steps < 0).sum())} rows are dated before the start of the first step, "
                f"{day(self.schedule.starts[0])}: give an earlier `start`, or leave these rows out."
            )

    def left_out(self, published: Sequence[Counted]) -> list[str]:
        """What of the data has no part in the steps, in words for their holder."""
        told, name, starts, steps = [], self.data.name, self.schedule.starts, len(published)
        both = list(zip(published, self.fingerprints(0, steps)))
        changed = [k for k, (one, now) in enumerate(both) if (one.rows, one.fingerprint) != now]
        if changed:
            first = changed[0]
            before, now = both[first][0].rows, both[first][1][0]
            told.append(
                f"{name}: rows dated in {len(changed)} of the {steps} published steps are not those that were "
                f"counted, first in step {first + 1} ({day(starts[first])} to {day(starts[first + 1])}), which had "
                f"{before} rows and now has {now}. What was published stays as it is: rows that are new there are left "
                "out of all steps, and rows that are gone or changed stay counted as they were."
            )
        beyond = "beyond the last step" if self.schedule.steps else "in steps that have not begun"
        early, late = int((self.steps < 0).sum()), int((self.steps >= len(starts) - 1).sum())
        for number, where in ((early, "before the first step"), (late, beyond)):
            if number:
                told.append(f"{name}: {number} rows are dated {where}, and are left out.")
        return told


def arrivals_of(
    data: Comparisons,
    times: Shaped[np.ndarray, "rows"],
    schedule: Schedule,
    limit: int | None,
    pairs_are_public: bool,
    items: Sequence[str] | None = None,
) -> Arrivals:
    """Sort rows by steps; of each user the first ones count.

    Args:
        data, times, schedule, limit, pairs_are_public: as of :class:`Arrivals`.
        items: those of a leaderboard that goes on; the data may lack some of them.

    Raises:
        ValueError: data with other items.
    """
    names = tuple(data.item_names if items is None else items)
    place = {name: number for number, name in enumerate(names)}
    if new := [name for name in data.item_names if name not in place]:
        raise ValueError(
            f"{data.name}: the leaderboard has no item {new[0]!r}, and its items stay as they were: leave its rows "
            "out, or begin another leaderboard, at its own price."
        )
    if items is not None:
        codes = np.array([place[name] for name in data.item_names], np.int32)
        ends = {"winners": codes[data.winners], "losers": codes[data.losers]}
        data = dataclasses.replace(data, item_names=names, **ends, questionnaire=None)
    steps = schedule.steps_of(times)
    kept = np.zeros(steps.size, bool)
    return Arrivals(data, times, schedule, steps, limit, pairs_are_public, kept).after(())


def _tag(user: str) -> str:
    """What the state keeps of a user's name."""
    return hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:32]
