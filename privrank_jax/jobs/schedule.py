"""When the steps of a leaderboard end: a public schedule, chosen without looking at the data."""

from __future__ import annotations

import dataclasses
import datetime

import numpy as np
from jaxtyping import Int, Shaped

from privrank_jax._validate import check_choice
from privrank_jax.data.cells import parsed_time
from privrank_jax.jobs.checks import private_remark
from privrank_jax.pairwise.continual import MAX_STEPS

PERIODS = ("hour", "day", "week", "month")
_HOURS = {"hour": 1, "day": 24, "week": 7 * 24, "month": 28 * 24}  # at least

Time = str | datetime.date | np.datetime64
"""ISO 8601 or seconds since 1970; UTC where no zone is named."""


@dataclasses.dataclass(frozen=True)
class Schedule:
    """The public ends of steps.

    Attributes:
        every: one of :data:`PERIODS`.
        starts: ``(T + 1,)`` datetime64, the start of each step, and the end of the last; without a last step up to the
            end of the one that goes on now.
        until: steps that end by then are to be published.
        steps: T; None without a last step.
    """

    every: str
    starts: Shaped[np.ndarray, "steps+1"]
    until: np.datetime64
    steps: int | None

    @property
    def words(self) -> str:
        """What is public of it, as text; the state must have been made with the same."""
        return f"every {self.every} from {day(self.starts[0])}"

    @property
    def ended(self) -> int:
        """Number of steps that have ended."""
        return int((self.starts[1:] <= self.until).sum())

    def steps_of(self, times: Shaped[np.ndarray, "rows"]) -> Int[np.ndarray, "rows"]:
        """Step of each time, from 0; -1 before the first, ``len(starts) - 1`` beyond the last."""
        return self.starts.searchsorted(times, side="right") - 1

    def check_ended(self, last: int, known: int = 0) -> None:
        """Refuse to publish no steps, fewer than the ``known`` ones, or at first more than anyone means."""
        if not last:
            raise ValueError(
                f"no step has ended: the first ends at {day(self.starts[1])}, and steps are published until "
                f"{day(self.until)} (UTC). Nothing is published."
            )
        if last >= len(self.starts):
            raise ValueError(
                f"{last:,} steps were published, and by the clock of this machine fewer have ended: set the clock."
            )
        if self.steps is None and not known and last > MAX_STEPS:
            raise ValueError(
                f"{last:,} steps have ended since {day(self.starts[0])}, and a first run publishes at most "
                f"{MAX_STEPS:,}: give a later `start`, or longer steps by `every`."
            )

    def check_recent(self, times: Shaped[np.ndarray, "rows"], name: str) -> None:
        """Refuse data whose newest row is older than the last step that ended is long; for the holder's eyes alone."""
        last = min(self.until, self.starts[-1])  # no row is due after a last step
        before = self.starts[0] - np.timedelta64(1, "s")
        newest = max(times[times <= self.until], default=before)
        if newest < last - (self.starts[self.ended] - self.starts[self.ended - 1]):
            raise ValueError(
                *private_remark(
                    f"{name} looks like an old export: it has no rows after {day(newest)}, and steps that are "
                    "published without their rows can't be published again. Export the rows anew, or say by `until` "
                    f"up to when they are complete, such as until={day(newest)!r}. Nothing was spent or published."
                )
            )


def schedule_of(
    every: str, start: Time, steps: int | None = None, until: Time | None = None
) -> Schedule:
    """The schedule of T steps, or of steps without a last one.

    Args:
        every: length of a step, one of :data:`PERIODS`.
        start: of the first step; months start on a day that every month has.
        steps: T, at most 10,000; None without a last step.
        until: the data are complete up to then. Default: now, which is also the latest.

    >>> schedule_of("month", "2024-01-15", 2).starts.astype("datetime64[D]").astype(str).tolist()
    ['2024-01-15', '2024-02-15', '2024-03-15']
    """
    check_choice("every", every, PERIODS)
    if steps is not None and not 1 <= steps <= MAX_STEPS:
        raise ValueError(
            f"`steps` must lie between 1 and {MAX_STEPS:,}, got {steps:,}: without it there is no last step."
        )
    first, now = _time("start", start), _now()
    length = np.timedelta64(_HOURS[every], "h")
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
