"""Comparisons with times: when steps end, by a public schedule, which rows count at which step, and what was counted.

Of each user the first L rows stay, in the order of their times, and of rows with the same time in that of the pairs
that they compare: which stay depends on this user's rows alone, not on answers, on rows that arrive later, or on the
order of rows in the data.

The state remembers how many rows of each user were counted in each published step. The present rows of these steps are
left out: rows that arrived too late are never counted, and rows that were taken away or changed stay counted as they
were. No more than L rows of each user count in all steps together, whatever became of the data.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from privrank_jax._validate import check_choice
from privrank_jax.data.cells import parsed_time
from privrank_jax.data.comparisons import Comparisons
from privrank_jax.jobs.checks import private_remark, refuse
from privrank_jax.pairwise.continual import MAX_PAIR_ITEMS, MAX_STEPS

PERIODS = {"hour": 1, "day": 24, "week": 7 * 24, "month": 28 * 24}  # hours, at least
Time = str | datetime.date | np.datetime64
"""ISO 8601 or seconds since 1970; UTC where no zone is named."""


@dataclasses.dataclass(frozen=True)
class Schedule:
    """The public ends of steps: those that end by ``until`` are to be published."""

    every: str
    # Of steps; the last one ends the last step, or the one that goes on now.
    starts: Shaped[np.ndarray, "steps+1"]
    until: np.datetime64
    steps: int | None  # None: without a last step

    @property
    def words(self) -> str:
        """What is public of it, as text; the state must have been made with the same."""
        return f"every {self.every} from {day(self.starts[0])}"

    @property
    def ended(self) -> int:
        """Number of steps that have ended."""
        return int((self.starts[1:] <= self.until).sum())

    def check_ended(self, last: int, known: int = 0) -> None:
        """Refuse to publish no steps, fewer than the ``known`` ones, or at first more than anyone means."""
        refuse(
            not last,
            f"no step has ended by {day(self.until)} (UTC): the first ends at {day(self.starts[1])}.",
            last >= len(self.starts),
            f"{last:,} steps were published, and by the clock of this machine fewer have ended: set the clock.",
            self.steps is None and not known and last > MAX_STEPS,
            f"{last:,} steps have ended since {day(self.starts[0])}, and a first run publishes at most {MAX_STEPS:,}: "
            "give a later `start`, or longer steps by `every`.",
        )

    def check_recent(self, times: Shaped[np.ndarray, "rows"], name: str) -> None:
        """Refuse data whose newest row is older than the last step that ended is long; for the holder's eyes alone."""
        last = min(self.until, self.starts[-1])  # no row is due after a last step
        before = self.starts[0] - np.timedelta64(1, "s")
        newest = max(times[times <= self.until], default=before)
        if newest < last - (self.starts[self.ended] - self.starts[self.ended - 1]):
            raise ValueError(
                *private_remark(
                    f"{name} looks like an old export: it has no rows after {day(newest)}, and steps without their "
                    f"rows can't be published again: export anew, or say how far it goes: until={day(newest)!r}."
                )
            )


def schedule_of(
    every: str, start: Time, steps: int | None = None, until: Time | None = None
) -> Schedule:
    """The schedule, as :func:`privrank_jax.leaderboard` takes it; ``until`` is now at the latest.

    >>> schedule_of("month", "2024-01-15", 2).starts.astype("datetime64[D]").astype(str).tolist()
    ['2024-01-15', '2024-02-15', '2024-03-15']
    """
    check_choice("every", every, tuple(PERIODS))
    if steps is not None and not 1 <= steps <= MAX_STEPS:
        raise ValueError(
            f"`steps` must lie between 1 and {MAX_STEPS:,}, got {steps:,}; without it there is no last."
        )
    first, now = _time("start", start), _now()
    length = np.timedelta64(PERIODS[every], "h")
    number = max(1, int((now - first) // length) + 1) if steps is None else steps
    starts = first + np.arange(number + 1) * length
    if every == "month":
        month = first.astype("datetime64[M]")
        within = first - month.astype("datetime64[us]")
        if within >= np.timedelta64(28, "D"):
            raise ValueError("`start`: months start on one of the days 1 to 28, which all have.")
        starts = (month + np.arange(number + 1)).astype("datetime64[us]") + within
    if steps is None:
        starts = starts[: max(2, int(starts.searchsorted(now, side="right")) + 1)]
    until = now if until is None else min(now, _time("until", until))
    return Schedule(every, starts, until, steps)


def _now() -> np.datetime64:
    return np.datetime64("now", "us")


def _time(name: str, given: Time) -> np.datetime64:
    found = parsed_time(str(given))
    if found is None:
        raise ValueError(f"{name}={str(given)!r} is no time: write it as 2024-05-31T18:30:00Z.")
    return found


def day(time: np.datetime64) -> str:
    """A time as text, without zeros at its end.

    >>> day(np.datetime64("2024-05-31", "us")), day(np.datetime64("2024-05-31T18:30", "us"))
    ('2024-05-31', '2024-05-31T18:30')
    """
    text = str(time.astype("datetime64[s]"))
    return text.removesuffix("T00:00:00").removesuffix(":00") if "T" in text else text


# What was counted in a step, as the state keeps it: ``rows``, the number of rows that were dated in it; ``used``, how
# many of them were counted of each user, by a hash of the name, unless single comparisons are protected; ``met``, how
# often each pair was compared, ``[item, other, number]``, where that is public.
Counted = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Arrivals:
    """Comparisons by the step in which they arrived; ``kept`` are those in steps to come, among the first of a user."""

    data: Comparisons
    times: Shaped[np.ndarray, "rows"]
    schedule: Schedule
    # L, the most rows of a user in all steps; None where single comparisons are protected.
    limit: int | None
    pairs_are_public: bool  # neighbors differ in answers alone
    steps: Int[np.ndarray, "rows"]  # from 0; -1 before the first, T beyond the last
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
                used.update(step["used"])
            left = np.array([self.limit - used[_tag(name)] for name in data.user_names], int)
            lower, upper = self.pairs.T
            order = np.lexsort((upper, lower, self.times, data.users))
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
            found.append({"rows": rows, "used": used, "met": met})
        return found

    def _dated(self, last: int) -> list[int]:
        """How many rows are dated in each step before ``last``."""
        return np.bincount(self.steps[self.steps >= 0], minlength=last)[:last].tolist()

    def check_dates(self) -> None:
        """Refuse rows before the first step, of which nothing is published yet."""
        if early := int(np.sum(self.steps < 0)):
            raise ValueError(
                f"{early} rows are dated before the first step: give an earlier `start`, or leave them out."
            )

    def left_out(self, published: Sequence[Counted]) -> list[str]:
        """Tell the holder of the data which rows have no part in the steps."""
        told, starts = [], self.schedule.starts
        now = self._dated(len(published))
        changed = [step for step, one in enumerate(published) if one["rows"] != now[step]]
        for step in changed[:1]:
            told.append(
                f"step {step + 1} ({day(starts[step])} to {day(starts[step + 1])}) was published with "
                f"{published[step]['rows']} rows and now has {now[step]}: it stays as it was, and rows that are new "
                "there count in no step."
            )
        if outside := int(np.sum((self.steps < 0) | (self.steps >= len(starts) - 1))):
            told.append(f"{outside} rows are dated outside of the steps so far, and are left out.")
        return [f"{self.data.name}: {one}" for one in told]


def arrivals_of(
    data: Comparisons,
    schedule: Schedule,
    limit: int | None,
    pairs_are_public: bool,
    items: Sequence[str] | None = None,
) -> Arrivals:
    """Sort rows by steps; of each user the first ones count.

    Args:
        data, schedule, limit, pairs_are_public: as of :class:`Arrivals`; ``ValueError`` for data without times.
        items: those of a leaderboard that goes on, some of which data may lack; ``ValueError`` for other ones.
    """
    times = data.times
    if times is None or times.shape != (len(data),):
        raise ValueError(
            f"{data.name} has no `times`: name their column by `time`, when it is read."
        )
    if items is not None:
        place = {name: number for number, name in enumerate(items)}
        if new := [name for name in data.item_names if name not in place]:
            raise ValueError(
                f"{data.name}: the leaderboard has no item {new[0]!r}: leave its rows out, or begin another board."
            )
        codes = np.array([place[name] for name in data.item_names], np.int32)
        ends = {"winners": codes[data.winners], "losers": codes[data.losers]}
        data = dataclasses.replace(data, item_names=tuple(items), **ends, questionnaire=None)
    steps = schedule.starts.searchsorted(times, side="right") - 1
    return Arrivals(data, times, schedule, limit, pairs_are_public, steps, steps >= 0).after(())


def _tag(user: str) -> str:
    """What the state keeps of a user's name."""
    return hashlib.sha256(user.encode("utf-8", "surrogatepass")).hexdigest()[:32]
