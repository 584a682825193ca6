"""Options of the commands that release something, in groups."""

from __future__ import annotations

import dataclasses
import functools
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, ClassVar

import typer

from privrank_jax._promise import Privacy
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.options import Json, Options, option
from privrank_jax.data.file import File

if TYPE_CHECKING:
    from privrank_jax._types import Key

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

Missing = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Meaning of an item that a user did not rank: last (behind all that were ranked) or unknown "
        "(half a vote to either side of each pair). Default: last; of ratings, and nascar: unknown.",
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

Unit = Annotated[
    str,
    typer.Option(
        metavar="NAME", help="What is protected: user (all that a user said) or comparison."
    ),
]


def adjacency_option(public: str) -> typer.models.OptionInfo:
    """The option --adjacency; ``public`` is what stays under flips."""
    return typer.Option(
        metavar="NAME",
        help=f"Neighboring data differ by one unit that answers differently (flip; {public} is public), is replaced "
        "(replace), or is there or not (add-remove).",
    )


KINDS_OF_CELLS = {
    "ranks": "ranks",
    "higher_is_better": "ratings",
    "lower_is_better": "costs",
    "approvals": "approvals",
}
TABLES = (".csv", ".tsv", ".json", ".parquet", ".xlsx")
PICTURES = (".png", ".svg", ".pdf")
MATRICES = (".csv", ".tsv", ".xlsx", ".json")  # names of columns in Parquet ignore case


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
            "gaussian, which needs --delta and can be smaller where one user moves many numbers.",
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
    sheet: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Sheet of an Excel file, by its name or its number. Default: the first.",
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


AS_COLUMN = "The same as --column with this role."
Role = Annotated[str | None, typer.Option(metavar="COLUMN", help=AS_COLUMN)]
_SIDES = ("left", "right", "outcome", "left_wins", "right_wins", "left_score", "right_score")


@dataclasses.dataclass(frozen=True, kw_only=True)
class ComparisonColumns(Counted):
    """Columns of a file of comparisons: each role by ``--column ROLE=NAME``, or by an option of its own."""

    PANEL: ClassVar[str] = "Columns of FILE"

    user: User = None
    column: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ROLE=NAME",
            help="Which column is which, where names are not the usual ones: winner, loser; tie (1 or 0; none: there "
            "are none); left, right, and of these two an outcome (the preferred item or its column, left, right, A, B, "
            "W, L, 1, 0, tie, 0.5, both bad), left-score, right-score (the higher wins) or left-wins, right-wins (how "
            "often each won); count (how often a row counts). privrank rank also has side (the item shown first, whose "
            "advantage is fitted), group (of judges, each with its advantage), chosen and shown (of choices). Once for "
            "each.",
        ),
    ] = None
    winner: Role = None
    loser: Role = None
    tie: Role = None
    left: Role = None
    right: Role = None
    outcome: Role = None
    left_wins: Role = None
    right_wins: Role = None
    left_score: Role = None
    right_score: Role = None

    ROLES: ClassVar[tuple[str, ...]] = ("winner", "loser", "tie", *_SIDES, "count")

    @functools.cached_property
    def columns(self) -> dict[str, str | list[str]]:
        """The columns that were named, by their roles."""
        found: dict[str, str | list[str]] = {}
        for role in self.ROLES:
            if (named := getattr(self, role)) is not None:
                found[role] = named
        for given in self.column or ():
            role, _, name = given.partition("=")
            role = role.strip().replace("-", "_")
            if role not in self.ROLES or not name:
                roles = ", ".join(one.replace("_", "-") for one in self.ROLES)
                raise Refusal(f"--column {given}: give ROLE=NAME with one of the roles {roles}.")
            if role == "shown":
                found[role] = [*found.get(role, ()), name]
            elif role in found:
                raise Refusal(f"--column {given}: the column of {role} is given twice.")
            else:
                found[role] = name
        return found


@dataclasses.dataclass(frozen=True, kw_only=True)
class Orders(Text):
    """Where orders of items stand, and how the items of one cell are separated."""

    PANEL: ClassVar[str] = "Columns of FILE"

    order: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of orders such as A>B=C or A;B;C, best first; or, of several questions or contests, the one "
            "that is ranked. Default: order or alike. Columns rank_1, rank_2, ... are read as places.",
        ),
    ] = None
    order_separator: Annotated[
        str | None,
        typer.Option(
            metavar="SIGN",
            help="What stands between the items of an order in one cell: a sign such as ; or newline, blank. Default: "
            "> (ties =), ; | newline, comma or blank, one for all cells, by their form.",
        ),
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Ballots(Orders, Counted):
    """Columns of a file of rankings, a row for each user, and the meaning of its cells."""

    PANEL: ClassVar[str] = "Columns of FILE"

    user: User = None
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
    approvals: Annotated[
        bool,
        typer.Option(
            "--approvals",
            help="The cells say whether the user approves of the item: 1 or 0, yes or no, x or nothing.",
        ),
    ] = False

    @property
    def cells(self) -> str | None:
        """The loaders' name for the kind of cells; None if not given."""
        given = [name for option, name in KINDS_OF_CELLS.items() if getattr(self, option)]
        if len(given) > 1:
            raise Refusal(
                "give --ranks (1 = best), --higher-is-better, --lower-is-better or --approvals, not more than one."
            )
        return given[0] if given else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class RankingColumns(Ballots):
    """The same, or a row for each user and item."""

    PANEL: ClassVar[str] = "Columns of FILE"

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
    series: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Public name of the series that the ledger is of, such as a survey of every year: the data join it.",
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
    def key(self) -> Key | None:
        """PRNG key of a rehearsal; None: a release."""
        if not self.simulate:
            return None
        import jax

        with jax.enable_x64(True):  # otherwise a seed would lose what is beyond 32 bits
            return jax.random.key(secrets.randbits(31) if self.seed is None else self.seed)

    @functools.cached_property
    def file(self) -> File:
        """FILE and how its bytes become text; - is standard input, read once."""
        return File(self.source, self.separator, self.encoding)

    @property
    def private(self) -> bool:
        """Whether the method is private."""
        return getattr(self, "method", None) != "none"

    @property
    def promised(self) -> Privacy | None:
        """The promise, where the options alone determine it."""
        return None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Saved(Json):
    """Where a result goes, beside the terminal: tables and pictures."""

    PANEL: ClassVar[str] = "Files of the result"
    PAGES: ClassVar[tuple[str, ...]] = ()

    out: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE",
            help="Write the result too: a table (.csv, .tsv, .xlsx, .parquet), all that --json prints (.json), a "
            "picture with its intervals or bounds (.png, .svg, .pdf); of a ranking also a page for those who will read "
            "it (.html). Once for each file.",
        ),
    ] = None
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The picture alone, as by --out.")
    ] = None

    @property
    def files(self) -> dict[str, Path]:
        """The files to write, by the options that name them."""
        named = [("--out", path) for path in self.out or ()]
        named += [
            (option(name), getattr(self, name, None))
            for name in ("plot", "report", "matrix", "probabilities")
        ]
        return {f"{name} {path}": path for name, path in named if path is not None}

    def check_files(self, *kept: Path | None) -> None:
        """Refuse, before anything is spent, files that could not be written, and those that must not be.

        Args:
            kept: files that the command reads, which writing to would lose.
        """
        check_paths(self.files, *kept)
        for given, path in self.files.items():
            name, suffix = given.split()[0], path.suffix.lower()
            named = {"--plot": PICTURES, "--report": self.PAGES}
            named |= dict.fromkeys(("--matrix", "--probabilities"), MATRICES)
            known = named.get(name, (*TABLES, *PICTURES, *self.PAGES))
            if suffix not in known:
                raise Refusal(f"{given}: give a file that ends in {', '.join(known)}.")
            if suffix in (".parquet", ".xlsx"):
                from privrank_jax.simulate.table_files import check_parquet, check_workbook

                (check_parquet if suffix == ".parquet" else check_workbook)()
            elif suffix in PICTURES:
                from privrank_jax.plotting import check_picture

                check_picture(path)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Files(Saved):
    """Where a ranking goes, beside the terminal, and its heading."""

    PANEL: ClassVar[str] = "Files of the result"
    PAGES: ClassVar[tuple[str, ...]] = (".html", ".htm")

    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="The page alone, as by --out.")
    ] = None
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Heading of the table, the picture and the page."),
    ] = None


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
