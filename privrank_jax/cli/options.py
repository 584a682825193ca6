"""Options that several commands share, so that they read alike everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privrank_jax.cli.console import Refusal

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document instead.")]
Seed = Annotated[int, typer.Option(metavar="N", help="Seed of everything random.")]
Out = Annotated[Path, typer.Option(metavar="FOLDER", help="Where the files go; made if absent.")]
RESULTS = Path("privrank-results")

# Columns of a file of comparisons.
User = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Column of users; none: there is no such. Default: user."),
]
Winner = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column of preferred items. Default: winner.")
]
Loser = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column of the other items. Default: loser.")
]
Tie = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column that marks ties (1 or 0); none: there are no ties. Default: tie.",
    ),
]

# Columns of a file of rankings.
Item = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN", help="Column of items, one row per user and item. Default: item."
    ),
]
Rank = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Column of ranks, likewise. Default: rank.")
]

Ranks = Annotated[
    bool,
    typer.Option(
        "--ranks", help="The cells are ranks, 1 = best, even where they look like ratings."
    ),
]
HigherIsBetter = Annotated[
    bool,
    typer.Option(
        "--higher-is-better",
        help="The cells are ratings: the larger the better, equal ones are ties.",
    ),
]

# The budget of a release.
Epsilon = Annotated[
    float | None,
    typer.Option(help="Privacy budget; smaller protects more. Every private method needs it."),
]
Delta = Annotated[
    float,
    typer.Option(
        help="Any probability is at most e^epsilon times what it was, plus delta; above 0 the noise is "
        "Gaussian."
    ),
]

Ledger = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Spend from this ledger of the data before anything is printed (see privrank ledger).",
    ),
]

# Rehearsals of a release.
Simulate = Annotated[
    bool,
    typer.Option("--simulate", help="A rehearsal with fast simulated noise, not to be published."),
]
RehearsalSeed = Annotated[
    int | None, typer.Option(metavar="N", help="Seed of a rehearsal; only with --simulate.")
]

AcceptIdealized = Annotated[
    bool,
    typer.Option(
        "--accept-idealized",
        help="Release even what can't be drawn exactly; the guarantee then says so.",
    ),
]


def cells(ranks: bool, higher_is_better: bool) -> str | None:
    """What the cells of a file of rankings are, by ``--ranks`` and ``--higher-is-better``; None: not said."""
    if ranks and higher_is_better:
        raise Refusal("give --ranks (1 = best) or --higher-is-better, not both.")
    return "ranks" if ranks else "ratings" if higher_is_better else None


def given(context: typer.Context) -> list[str]:
    """Names of the parameters that stand on the command line."""
    return [
        name
        for name in context.params
        if (found := context.get_parameter_source(name)) and found.name == "COMMANDLINE"
    ]
