"""The options of ``privrank privatize``."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from privrank_jax.cli.console import Refusal, check_choice
from privrank_jax.cli.core.checks import check_positive, check_rehearsal, check_size
from privrank_jax.cli.core.request import (
    REHEARSAL,
    ComparisonColumns,
    RankingColumns,
    Release,
)
from privrank_jax.cli.options import Json

TIES = ("refuse", "coin", "drop")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(ComparisonColumns, RankingColumns, Json, Release):
    """The options of one run."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV or Parquet file with a header row and one comparison per row, or a named "
            "data set: coffee, cemspc, immig, cars, cars2. Or rankings: a file or a named data set as for privrank "
            "aggregate.",
        ),
    ]
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="File to write: .csv, .tsv or .parquet, by its ending."),
    ]
    epsilon: Annotated[
        float | None,
        typer.Option(help="Privacy budget of each comparison, or rank; smaller protects more."),
    ] = None
    epsilon_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Personal budgets: column of FILE with an epsilon."),
    ] = None
    ties: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How ties are handled: refuse; coin (a fair coin decides, then the answer is randomized "
            "like any other: a tie is protected too, and counts half on average); drop (leave the "
            "comparison out, which shows that it was a tie; not for rankings).",
        ),
    ] = "refuse"
    drop_user: Annotated[
        bool, typer.Option("--drop-user", help="Leave the column of users out.")
    ] = False
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False
    items: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|A,B,C",
            help="Public list of all items; its order decides which of two is item_1. Default: the "
            "items seen in the data, sorted.",
        ),
    ] = None
    public: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACT",
            help="ranked-items: which items each user ranked is public anyway. Needed if some users ranked "
            "only part of the items: their synthetic rankings reveal which.",
        ),
    ] = None

    def check(self) -> None:
        """Refuse invalid options before anything is loaded."""
        check_choice("--ties", self.ties, TIES)
        for fact in self.public or ():
            check_choice("--public", fact, ("ranked-items",))
        if self.epsilon is None and self.epsilon_column is None:
            raise Refusal(
                "--epsilon is missing: how much privacy each comparison, or rank, gets is your choice. 1 is common, "
                "smaller protects more; --epsilon-column NAME takes personal budgets from a column of the file."
            )
        if self.epsilon is not None and self.epsilon_column is not None:
            raise Refusal("give --epsilon or --epsilon-column, not both.")
        if self.epsilon is not None:
            check_positive(self.epsilon)
            check_size(self.epsilon)
        check_rehearsal(self)
        self.check_out()

    def check_out(self) -> None:
        """Refuse to overwrite the answers, and other files unless told to."""
        from privrank_jax.datasets.reports_file import check_destination

        out, source = self.out, Path(self.source)
        check_destination(out)
        if not out.exists():
            return
        if source.exists() and out.samefile(source):
            raise Refusal(
                f"--out {out} is the file of the answers itself: name another, the answers would be lost."
            )
        if not self.force:
            raise Refusal(
                f"{out} exists: name another file, or replace it by --force. Mind that files drawn twice from "
                "the same answers spend epsilon twice if both were shared."
            )

    def guarantee_note(self, first: str, tied: str) -> str:
        """The note of a guarantee.

        Args:
            first: what the ε refers to.
            tied: what ties are protected as.
        """
        parts = [first]
        if self.ties == "coin":
            parts.append(f"Ties are protected like {tied}.")
        if self.simulate:
            parts.append(REHEARSAL.capitalize())
        return " ".join(parts)
