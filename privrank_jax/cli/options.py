"""Options that several commands share, so that they read alike everywhere."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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

AcceptIdealised = Annotated[
    bool,
    typer.Option(
        "--accept-idealised",
        help="Release even what can't be drawn exactly; the guarantee then says so.",
    ),
]


def given(context: typer.Context) -> list[str]:
    """Names of the parameters that stand on the command line."""
    return [
        name
        for name in context.params
        if (found := context.get_parameter_source(name)) and found.name == "COMMANDLINE"
    ]
