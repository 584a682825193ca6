"""``privrank leaderboard``: a leaderboard after each day, from a file that grows, under one budget for all of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from privrank_jax.cli.console import Refusal
from privrank_jax.cli.options import REQUIRED, argument, command, said, taken
from privrank_jax.cli.request import NO_EPSILON, Published

_TAKEN = ("every", "start", "steps", "until", "noise", "top_k", "level")
_Asked: Any = taken("jobs.leaderboard:leaderboard", *_TAKEN)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(_Asked, Published):
    """The options of one run.

    Attributes:
        state: keeps what was drawn and the key of all noise, so that a step comes out once; made with the first step,
            with FILE.published beside it. It is as private as the data: never publish it.
    """

    source: str = argument(
        "FILE",
        "CSV, TSV, Excel (.xlsx), JSON Lines or Parquet file (- is standard input) with a header row, and one "
        "comparison per row.",
    )
    time: str = said("Column of the times of comparisons.", REQUIRED)
    state: Path | None = None


@command
def leaderboard(request: Request) -> None:
    """Publish a leaderboard after every day (or hour, week, month), all under one privacy budget.

    Run it again when more rows have arrived: it publishes the steps that have ended since, and shows all published
    steps. The schedule is public, so it is chosen without looking at the data; without --steps there is no last one.
    The guarantee covers all on standard output; remarks for the holder of the data go to standard error. Examples:
        privrank leaderboard votes.csv --items seen --every day --time when --start 2024-01-01 --steps 365
            --state board.state --epsilon 1 --noise gaussian --delta 1e-6 --max-per-user 10
        privrank leaderboard games.csv --items seen --every week --time date --start 2024-01-01 --steps 52
            --state board.state --epsilon 1 --unit comparison --adjacency flip
    """
    request.check()
    promise = request.promised
    if promise is None:
        raise Refusal(NO_EPSILON.partition("; --method")[0])
    from privrank_jax.cli.reading import no_users, read_data
    from privrank_jax.cli.show import publish
    from privrank_jax.cli.spend import Spending
    from privrank_jax.jobs.leaderboard import leaderboard as publish_steps

    spending = Spending("leaderboard", request)
    data = read_data(request, "comparisons", **no_users(request))
    named = {name: getattr(request, name) for name in ("state", "key", *_TAKEN)}
    board = publish_steps(data, promise, **named, ledger=spending)
    publish(board, request, "leaderboard", None if request.simulate else spending)
