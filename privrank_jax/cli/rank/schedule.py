"""When the steps of a leaderboard over time end: its options, and the public schedule that they make."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from privrank_jax.cli.console import Refusal, check_choice
from privrank_jax.cli.options import Options, option

if TYPE_CHECKING:
    import numpy as np

PERIODS = ("hour", "day", "week", "month")


@dataclasses.dataclass(frozen=True, kw_only=True)
class OverTime(Options):
    """A leaderboard that is published again and again from a growing file."""

    PANEL: ClassVar[str] = "Leaderboard over time"

    every: Annotated[
        str | None,
        typer.Option(
            metavar="PERIOD",
            help="Publish after every hour, day, week or month, all under the one budget; run again when more rows "
            "have arrived. Needs --time, --start, --steps and --state.",
        ),
    ] = None
    time: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Column of the times of comparisons.")
    ] = None
    start: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Public start of the first step, such as 2024-01-01 (UTC)."
        ),
    ] = None
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="T",
            help="Public number of steps that will ever be published; noise grows little with it.",
        ),
    ] = None
    until: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Publish the steps that end by then: the file is complete up to it. Default: now, and a file whose "
            "newest row is older than a step is refused.",
        ),
    ] = None
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keeps what was drawn and the key of all noise, so that a step comes out once; made by the first run, "
            "with FILE.published beside it. It is as private as the data: never publish it.",
        ),
    ] = None

    def check_over_time(self) -> None:
        """Refuse options that make no schedule."""
        needed = ("time", "start", "steps") if "simulate" in self.given else _NEEDED
        if self.every is None:
            given = [
                option(name) for name in (*_NEEDED, "until") if getattr(self, name) is not None
            ]
            if given:
                raise Refusal(
                    f"{', '.join(given)}: these are for a leaderboard over time; add --every day, or leave them out."
                )
            return
        check_choice("--every", self.every, PERIODS)
        missing = [option(name) for name in needed if getattr(self, name) is None]
        if missing:
            raise Refusal(
                f"--every {self.every} needs {', '.join(missing)}: the schedule is public, so it is chosen without "
                "looking at the data, as in --time when --start 2024-01-01 --steps 365 --state board.state."
            )


_NEEDED = ("time", "start", "steps", "state")


@dataclasses.dataclass(frozen=True)
class Schedule:
    """The public ends of steps.

    Attributes:
        every: one of :data:`PERIODS`.
        steps: T.
        starts: ``(T + 1,)`` datetime64, the start of each step, and the end of the last.
        until: steps that end by then are to be published.
    """

    every: str
    steps: int
    starts: np.ndarray
    until: np.datetime64

    @property
    def words(self) -> str:
        """What is public of it, as text; the state must have been made with the same."""
        return f"every {self.every} from {day(self.starts[0])}"

    @property
    def ended(self) -> int:
        """Number of steps that have ended."""
        return int((self.starts[1:] <= self.until).sum())

    def steps_of(self, times: np.ndarray) -> np.ndarray:
        """Step of each time, from 0; -1 before the first, T beyond the last."""
        return self.starts.searchsorted(times, side="right") - 1

    def check_recent(self, times: np.ndarray, name: str) -> None:
        """Refuse a file whose newest row is older than the last step that ended is long; for the holder's eyes alone.

        Args:
            times: of its rows.
            name: its name.
        """
        last = min(self.until, self.starts[-1])  # no row is due after the last step
        length = self.starts[self.ended] - self.starts[self.ended - 1]
        past = times[times <= self.until]
        if past.size and last - past.max() <= length:
            return
        newest = f"its newest row is dated {day(past.max())}" if past.size else "it has no rows"
        raise Refusal(
            f"{name} looks like an old export: {newest}, more than one {self.every} before {day(last)} (UTC), and "
            "steps that are published without their rows can't be published again. Nothing was spent or published. "
            "Export the rows anew; or say by --until TIME up to when they are complete, such as --until "
            f"{day(past.max() if past.size else self.starts[0])}. (For you alone: the guarantee does not cover this.)"
        )


def schedule_of(request: OverTime) -> Schedule:
    """The schedule that the options describe."""
    import numpy as np

    from privrank_jax.release.exact_strategy import MAX_STEPS

    assert request.every is not None
    assert request.steps is not None
    if not 1 <= request.steps <= MAX_STEPS:
        raise Refusal(f"--steps must lie between 1 and {MAX_STEPS:,}, got {request.steps:,}.")
    start = _time("--start", request.start or "")
    count = np.arange(request.steps + 1)
    if request.every == "month":
        first = start.astype("datetime64[M]")
        within = start - first.astype("datetime64[us]")
        if within >= np.timedelta64(28, "D"):
            raise Refusal(
                "--start: months start on one of the days 1 to 28, which every month has."
            )
        starts = (first + count).astype("datetime64[us]") + within
    else:
        length = {"hour": 3600, "day": 86_400, "week": 7 * 86_400}[request.every]
        starts = start + count * np.timedelta64(length * 1_000_000, "us")
    now = np.datetime64("now", "us")
    until = now if request.until is None else min(now, _time("--until", request.until))
    return Schedule(request.every, request.steps, starts, until)


def _time(name: str, text: str) -> np.datetime64:
    from privrank_jax.datasets.row_times import parsed_time

    found = parsed_time(text)
    if found is None:
        raise Refusal(
            f"{name} {text!r} is no time: write it as 2024-05-31 or 2024-05-31T18:30:00Z."
        )
    return found


def day(time: np.datetime64) -> str:
    """A time as text, without zeros at its end.

    >>> import numpy as np
    >>> day(np.datetime64("2024-05-31", "us")), day(np.datetime64("2024-05-31T18:30", "us"))
    ('2024-05-31', '2024-05-31T18:30')
    """
    text = str(time.astype("datetime64[s]"))
    return text.removesuffix("T00:00:00").removesuffix(":00") if "T" in text else text
