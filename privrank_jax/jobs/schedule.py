"""When the steps of a leaderboard end: a public schedule, chosen without looking at the data."""

from __future__ import annotations

import dataclasses
import datetime

import numpy as np
from jaxtyping import Int, Shaped

from privrank_jax._validate import check_choice
from privrank_jax.data.cells import parsed_time
from privrank_jax.jobs.checks import private_remark
from privrank_jax.release.exact_strategy import MAX_STEPS

PERIODS = ("hour", "day", "week", "month")
_SECONDS = {"hour": 3600, "day": 86_400, "week": 7 * 86_400}

Time = str | datetime.date | np.datetime64
"""ISO 8601 or seconds since 1970; UTC where no zone is named."""


@dataclasses.dataclass(frozen=True)
class Schedule:
    """The public ends of steps.

    Attributes:
        every: one of :data:`PERIODS`.
        starts: ``(T + 1,)`` datetime64, the start of each step, and the end of the last.
        until: steps that end by then are to be published.
    """

    every: str
    starts: Shaped[np.ndarray, "steps+1"]
    until: np.datetime64

    @property
    def steps(self) -> int:
        """T."""
        return len(self.starts) - 1

    @property
    def words(self) -> str:
        """What is public of it, as text; the state must have been made with the same."""
        return f"every {self.every} from {day(self.starts[0])}"

    @property
    def ended(self) -> int:
        """Number of steps that have ended."""
        return int((self.starts[1:] <= self.until).sum())

    def steps_of(self, times: Shaped[np.ndarray, "rows"]) -> Int[np.ndarray, "rows"]:
        """Step of each time, from 0; -1 before the first, T beyond the last."""
        return self.starts.searchsorted(times, side="right") - 1

    def check_ended(self, last: int) -> None:
        """Refuse to publish nothing; ``last``: the number of steps to be published."""
        if not last:
            raise ValueError(
                f"no step has ended: the first ends at {day(self.starts[1])}, and steps are published until "
                f"{day(self.until)} (UTC). Nothing is published."
            )

    def check_recent(self, times: Shaped[np.ndarray, "rows"], name: str) -> None:
        """Refuse data whose newest row is older than the last step that ended is long; for the holder's eyes alone.

        Args:
            times: of the rows.
            name: of the data.
        """
        last = min(self.until, self.starts[-1])  # no row is due after the last step
        length = self.starts[self.ended] - self.starts[self.ended - 1]
        past = times[times <= self.until]
        if past.size and last - past.max() <= length:
            return
        newest = f"its newest row is dated {day(past.max())}" if past.size else "it has no rows"
        raise ValueError(
            *private_remark(
                f"{name} looks like an old export: {newest}, more than one {self.every} before {day(last)} (UTC), and "
                "steps that are published without their rows can't be published again. Nothing was spent or "
                "published. Export the rows anew; or say by until (--until TIME) up to when they are complete, such "
                f"as --until {day(past.max() if past.size else self.starts[0])}."
            )
        )


def schedule_of(every: str, start: Time, steps: int, until: Time | None = None) -> Schedule:
    """The schedule of T steps.

    Args:
        every: length of a step, one of :data:`PERIODS`.
        start: of the first step; months start on a day that every month has.
        steps: T, at most 10,000.
        until: the data are complete up to then. Default: now, which is also the latest.

    >>> schedule_of("month", "2024-01-15", 2).starts.astype("datetime64[D]").astype(str).tolist()
    ['2024-01-15', '2024-02-15', '2024-03-15']
    """
    check_choice("every", every, PERIODS)
    if not 1 <= steps <= MAX_STEPS:
        raise ValueError(f"steps (--steps) must lie between 1 and {MAX_STEPS:,}, got {steps:,}.")
    first, count = _time("start", start), np.arange(steps + 1)
    if every == "month":
        month = first.astype("datetime64[M]")
        within = first - month.astype("datetime64[us]")
        if within >= np.timedelta64(28, "D"):
            raise ValueError(
                "start (--start): months start on one of the days 1 to 28, which every month has."
            )
        starts = (month + count).astype("datetime64[us]") + within
    else:
        starts = first + count * np.timedelta64(_SECONDS[every] * 1_000_000, "us")
    now = np.datetime64("now", "us")
    return Schedule(every, starts, now if until is None else min(now, _time("until", until)))


def _time(name: str, given: Time) -> np.datetime64:
    found = parsed_time(str(given))
    if found is None:
        raise ValueError(
            f"{name} (--{name}) {str(given)!r} is no time: write it as 2024-05-31 or 2024-05-31T18:30:00Z."
        )
    return found


def day(time: np.datetime64) -> str:
    """A time as text, without zeros at its end.

    >>> day(np.datetime64("2024-05-31", "us")), day(np.datetime64("2024-05-31T18:30", "us"))
    ('2024-05-31', '2024-05-31T18:30')
    """
    text = str(time.astype("datetime64[s]"))
    return text.removesuffix("T00:00:00").removesuffix(":00") if "T" in text else text
