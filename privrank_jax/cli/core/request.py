"""Options of the commands that release something, in groups."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from privrank_jax._cells.text_files import File
from privrank_jax._promise import Privacy
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.options import Json, Options, option

REHEARSAL = (
    "a rehearsal, not to be published or shared: anyone who knows the seed can remove the noise."
)

Items = Annotated[
    str | None,
    typer.Option(
        metavar="FILE|A,B,C",
        help="Public list of all items, one per line of a text file, or separated by commas. "
        "Default: the items seen in the data, which are then treated as public.",
    ),
]
User = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of users; none: there is none, and in a file of rankings each row is another "
        "user. Default: user.",
    ),
]


Blank = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WORD",
        help="A word that names no item where cells name items, such as overvote; several with commas between. "
        "Undervote, skipped and - name none anyway, unless --items has them.",
    ),
]

KINDS_OF_CELLS = {"ranks": "ranks", "higher_is_better": "ratings", "lower_is_better": "costs"}
_TABLES = (".csv", ".tsv", ".json", ".parquet", ".xlsx")
_PAGES = (".html", ".htm")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Budget(Options):
    """The privacy budget and the noise."""

    PANEL: ClassVar[str] = "Privacy budget"

    epsilon: Annotated[
        float | None,
        typer.Option(help="Privacy budget; smaller protects more. Every private method needs it."),
    ] = None
    noise: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="k-norm (in the shape of what one user can change; the default where the method has it), laplace, or "
            "gaussian, which needs --delta and can be smaller where one user moves many numbers; tree (k-norm noise on "
            "counts in a tree of places) is the default of footrule.",
        ),
    ] = None
    delta: Annotated[
        float,
        typer.Option(
            help="Any probability is at most e^epsilon times what it was, plus delta; for --noise gaussian."
        ),
    ] = 0.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Text(Options):
    """How the bytes of a file become cells, where neither its name nor its header says so, and which are left out."""

    PANEL: ClassVar[str] = "Columns of FILE"

    separator: Annotated[
        str | None,
        typer.Option(
            metavar="SIGN",
            help="What separates cells: a character, or tab, semicolon, pipe. Default: by the name and the header.",
        ),
    ] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Encoding of the text, such as latin-1. Default: UTF-8, or UTF-16 by its mark.",
        ),
    ] = None
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Leave out this column, which is no item; several with commas between, or one each time.",
        ),
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Counted(Text):
    """How often a row counts."""

    PANEL: ClassVar[str] = "Columns of FILE"

    count: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of how often a row counts: so many comparisons of the row's user, or, of rankings with --user "
            "none, so many users. Default: once; a column named count, n, freq, weight or alike is then refused.",
        ),
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComparisonColumns(Counted):
    """Columns of a file of comparisons."""

    PANEL: ClassVar[str] = "Columns of FILE"

    user: User = None
    winner: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of preferred items. Default: winner."),
    ] = None
    loser: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of the other items. Default: loser."),
    ] = None
    tie: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that marks ties (1 or 0); none: there are no ties. Default: tie.",
        ),
    ] = None
    left: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of one item, where an outcome says which is preferred. Default: model_a, left or alike.",
        ),
    ] = None
    right: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of the other item. Default: model_b, right or alike."
        ),
    ] = None
    outcome: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of outcomes: the preferred item or its column, left, right, A, B, W, L, 1, 0, tie, 0.5, both "
            "bad. Default: winner, outcome or alike.",
        ),
    ] = None
    left_wins: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of how often the left item won, instead of an outcome; each win is a comparison.",
        ),
    ] = None
    right_wins: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of how often the right item won."),
    ] = None
    left_score: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of what the left item scored, instead of an outcome; the higher score wins, equal ones tie.",
        ),
    ] = None
    right_score: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Column of what the right item scored."),
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Orders(Text):
    """How the items of orders in one cell are separated."""

    PANEL: ClassVar[str] = "Columns of FILE"

    order_separator: Annotated[
        str | None,
        typer.Option(
            metavar="SIGN",
            help="What stands between the items of an order in one cell: a sign such as ; or newline, blank. Default: "
            "> (ties =), ; | newline, comma or blank, one for all cells, by their form.",
        ),
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankingColumns(Orders, Counted):
    """Columns of a file of rankings, and the meaning of its cells."""

    PANEL: ClassVar[str] = "Columns of FILE"

    user: User = None
    item: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of items, one row per user and item. Default: item."
        ),
    ] = None
    rank: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN", help="Column of ranks, one row per user and item. Default: rank."
        ),
    ] = None
    order: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of orders such as A>B=C or A;B;C, best first. Default: order or alike. Columns rank_1, "
            "rank_2, ... are read as places.",
        ),
    ] = None
    blank: Blank = None
    ranks: Annotated[
        bool,
        typer.Option(
            "--ranks", help="The cells are ranks, 1 = best, even where they look like ratings."
        ),
    ] = False
    higher_is_better: Annotated[
        bool,
        typer.Option(
            "--higher-is-better",
            help="The cells are ratings: the larger the better, equal ones are ties.",
        ),
    ] = False
    lower_is_better: Annotated[
        bool,
        typer.Option(
            "--lower-is-better",
            help="The cells are ratings: the smaller the better, equal ones are ties.",
        ),
    ] = False

    @property
    def cells(self) -> str | None:
        """The loaders' name for the kind of cells; None if not given."""
        given = [name for option, name in KINDS_OF_CELLS.items() if getattr(self, option)]
        if len(given) > 1:
            raise Refusal(
                "give --ranks (1 = best), --higher-is-better or --lower-is-better, not more than one."
            )
        return given[0] if given else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Release(Text):
    """Whether the release is real, and its ledger. Requests also have a ``source``, the argument FILE."""

    PANEL: ClassVar[str] = "Release"

    source: str
    ledger: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Spend from this ledger of the data before anything is printed (see privrank ledger).",
        ),
    ] = None
    simulate: Annotated[
        bool,
        typer.Option(
            "--simulate", help="A rehearsal with fast simulated noise, not to be published."
        ),
    ] = False
    seed: Annotated[
        int | None, typer.Option(metavar="N", help="Seed of a rehearsal; only with --simulate.")
    ] = None
    accept_idealized: Annotated[
        bool,
        typer.Option(
            "--accept-idealized",
            help="Release even what can't be drawn exactly; the guarantee then says so.",
        ),
    ] = False

    @functools.cached_property
    def file(self) -> File:
        """FILE and how its bytes become text; - is standard input, read once."""
        return File(self.source, self.separator, self.encoding)

    @property
    def private(self) -> bool:
        """Whether the method is private."""
        return True

    @property
    def promised(self) -> Privacy | None:
        """The promise, where the options alone determine it."""
        return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Saved(Json):
    """Where a result goes, beside the terminal: a table and a picture."""

    PANEL: ClassVar[str] = "Files of the result"

    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the table too (.csv, .tsv, .xlsx, .parquet), or all that --json prints (.json).",
        ),
    ] = None
    plot: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Draw the result with its intervals or bounds, and what is protected (.png, .svg, .pdf).",
        ),
    ] = None

    @property
    def files(self) -> dict[str, Path]:
        """The files to write, by the options that name them."""
        named = {name: getattr(self, name, None) for name in ("out", "plot", "report")}
        return {option(name): path for name, path in named.items() if path is not None}

    def check_files(self, *kept: Path | None) -> None:
        """Refuse, before anything is spent, files that could not be written, and those that must not be.

        Args:
            kept: files that the command reads, which writing to would lose.
        """
        for name, suffixes in (("--out", _TABLES), ("--report", _PAGES)):
            path = self.files.get(name)
            if path is not None and path.suffix.lower() not in suffixes:
                raise Refusal(f"{name} {path}: give a file that ends in {', '.join(suffixes)}.")
        check_paths(self.files, *kept)
        _check_written_with(self.out)
        if self.plot is not None:
            from privrank_jax.plotting import check_picture

            check_picture(self.plot)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Files(Saved):
    """Where a ranking goes, beside the terminal."""

    PANEL: ClassVar[str] = "Files of the result"

    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a page for those who will read the ranking (.html): table, picture, the guarantee in words, "
            "what was public, how it was made.",
        ),
    ] = None


def _check_written_with(out: Path | None) -> None:
    """Refuse a kind of table that needs what is not installed."""
    suffix = "" if out is None else out.suffix.lower()
    if suffix in (".parquet", ".xlsx"):
        from privrank_jax.simulate.table_files import check_parquet, check_workbook

        (check_parquet if suffix == ".parquet" else check_workbook)()


def check_paths(given: Mapping[str, Path], *kept: Path | None) -> None:
    """Refuse files that could not be written, and those that must not be.

    Args:
        given: from options to the files that they name.
        kept: files that the command reads.
    """
    if len({path.absolute() for path in given.values()}) < len(given):
        raise Refusal(f"{' and '.join(given)} need a file each.")
    for path in given.values():
        if not path.absolute().parent.is_dir():
            raise Refusal(f"{path}: there is no folder {path.parent}; make it first.")
        if any(path.exists() and one and one.exists() and path.samefile(one) for one in kept):
            raise Refusal(
                f"{path} is a file that the command reads; name another, it would be lost."
            )
        if path.is_dir() or not os.access(path.absolute().parent, os.W_OK):
            raise Refusal(f"{path} cannot be written; choose another file.")
