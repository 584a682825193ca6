"""``privrank leaderboard``: a leaderboard after each day, from a file that grows, under one budget for all of them."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from privrank_jax._promise import Privacy
from privrank_jax.cli.checks import check_release
from privrank_jax.cli.console import Refusal, Side, print_table
from privrank_jax.cli.options import command
from privrank_jax.cli.request import (
    Budget,
    Files,
    Release,
    Unit,
    adjacency_option,
)

if TYPE_CHECKING:
    from privrank_jax.jobs.leaderboard import Board

HELP = (
    "Publish a leaderboard after every day (or hour, week, month), all under one privacy budget.\n\n"
    "Run it again when more rows have arrived: it publishes the steps that have ended since, and shows all published "
    "steps. The schedule is public, so it is chosen without looking at the data; without --steps there is no last one. "
    "Everything on standard output is covered by the guarantee; remarks for the holder of the data go to standard "
    "error.\n\n"
    "Examples:\n\n"
    "  privrank leaderboard votes.csv --items seen --every day --time when --start 2024-01-01 --steps 365 --state "
    "board.state "
    "--epsilon 1 --noise gaussian --delta 1e-6 --max-per-user 10\n\n"
    "  privrank leaderboard games.csv --items seen --every week --time date --start 2024-01-01 --steps 52 --state "
    "board.state "
    "--epsilon 1 --unit comparison --adjacency flip"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Budget, Files, Release):
    """The options of one run."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, Excel (.xlsx), JSON Lines or Parquet file (- is standard input) with a header row, and one "
            "comparison per row.",
        ),
    ]
    every: Annotated[
        str, typer.Option(metavar="PERIOD", help="Publish after every hour, day, week or month.")
    ]
    time: Annotated[str, typer.Option(metavar="COLUMN", help="Column of the times of comparisons.")]
    start: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Public start of the first step, such as 2024-01-01 (UTC)."
        ),
    ]
    steps: Annotated[
        int | None,
        typer.Option(
            metavar="T",
            help="Public number of steps that will ever be published; noise grows little with it. Default: there is no "
            "last step, and noise grows with how many there were.",
        ),
    ] = None
    state: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Keeps what was drawn and the key of all noise, so that a step comes out once; made with the first "
            "step, with FILE.published beside it. It is as private as the data: never publish it.",
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
    unit: Unit = "user"
    adjacency: Annotated[str, adjacency_option("who compared what, and when,")] = "replace"
    max_per_user: Annotated[
        int | None,
        typer.Option(
            metavar="L",
            help="Most comparisons of one user in all steps together; the first ones stay. Needed with --unit user.",
        ),
    ] = None
    top_k: Annotated[int | None, typer.Option(metavar="K", help="Publish only the K best.")] = None
    level: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95

    LEFT_OUT: ClassVar[tuple[str, ...]] = (
        "accept_idealized",  # all that is released is exact
    )
    LIBRARY: ClassVar[dict[str, str]] = {
        "contributions": "max_per_user",
        "k": "top_k",
    }


@command
def leaderboard(request: Request) -> None:
    """Publish a leaderboard after each step of a public schedule, under one budget for all of them."""
    request.check_files(Path(request.source), request.ledger, request.state)
    check_release(request)
    if request.epsilon is None:
        raise Refusal("--epsilon is missing: how much privacy to spend is your choice, such as 1.")
    from privrank_jax.cli.reading import read_data
    from privrank_jax.cli.show import publish
    from privrank_jax.cli.spend import Spending
    from privrank_jax.jobs.leaderboard import leaderboard as publish_steps

    spending = Spending("leaderboard", request)
    alone = request.unit == "comparison" and request.user is None
    board = publish_steps(
        read_data(request, "comparisons", **({"user": None} if alone else {})),
        Privacy(
            request.epsilon,
            unit=request.unit,
            adjacency=request.adjacency,
            delta=request.delta,
            contributions=request.max_per_user,
        ),
        **{name: getattr(request, name) for name in _PASSED},
        key=request.key,
        ledger=spending,
    )
    first = functools.partial(_print_steps, board) if len(board.steps) > 1 else None
    publish(board, request, "leaderboard", None if request.simulate else spending, first=first)


_PASSED = (
    "every",
    "start",
    "steps",
    "until",
    "state",
    "noise",
    "top_k",
    "level",
)


def _print_steps(board: Board) -> None:
    """The first items of every step."""
    heads: list[tuple[str, Side]] = [
        (name, "right" if name == "step" else "left") for name in board.history[0]
    ]
    title = f"{board.facts['data']}: published steps ({board.facts['schedule']})"
    print_table(title, heads, [list(row.values()) for row in board.history])
