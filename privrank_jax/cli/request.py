"""Options of the commands that release something, in groups."""

from __future__ import annotations

import dataclasses
import functools
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from privrank_jax._promise import Privacy
from privrank_jax.cli import spelling
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.options import Json, Options, option
from privrank_jax.data.file import File
from privrank_jax.data.roles import ROLES, TEXT

if TYPE_CHECKING:
    from privrank_jax._types import Key

REHEARSAL = (
    "a rehearsal, not to be published or shared: anyone who knows the seed can remove the noise."
)

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


def _of_roles() -> list[tuple[str, Any, Any]]:
    """An option for each thing that the reader of a file may be told: the fields of the roles of all kinds."""
    made: dict[str, tuple[str, Any, Any]] = {}
    for field in (field for kind in ROLES for field in dataclasses.fields(kind)):
        if field.name in (*_SHOWN, "epsilon") or field.name in made:
            continue
        words, kind = field.metadata["words"], field.metadata["kind"]
        several = isinstance(field.default, tuple)
        flag = isinstance(field.default, bool)
        hint = (
            bool
            if flag
            else list[str] | None
            if several
            else int | None
            if field.name == "num_users"
            else str | None
        )
        metavar = (
            ""
            if flag
            else "COLUMN"
            if kind.startswith("column")
            else "WORDS"
            if several
            else "VALUE"
        )
        info = typer.Option(
            spelling.option_of(field.name),
            metavar=metavar or None,
            help=f"{words[0].upper()}{words[1:]}.",
        )
        made[field.name] = field.name, Annotated[hint, info], False if flag else None
    for name, words in TEXT.items():
        if name != "name":
            info = typer.Option(metavar="VALUE", help=f"{words[0].upper()}{words[1:]}.")
            made[name] = name, Annotated[str | None, info], None
    info = typer.Option(
        "--approvals",
        help="The cells say whether the user approves: 1 or 0, yes or no, x or nothing.",
    )
    made["approvals"] = "approvals", Annotated[bool, info], False
    return list(made.values())


User = Annotated[
    str | None,
    typer.Option(
        metavar="COLUMN",
        help="Column of users; none: there is none, and in a file of rankings each row is another user. Default: user.",
    ),
]
_SHOWN = ("user", "items")
_OF_RANK = ("covariates", "weight")  # which may have ends, NAME:LOW:HIGH
_Told = dataclasses.make_dataclass(
    "_Told",
    [(name, hint, dataclasses.field(default=default)) for name, hint, default in _of_roles()],
    bases=(Options,),
    frozen=True,
    kw_only=True,
    namespace={
        "PANEL": "Columns of FILE",
        "HIDDEN": True,
        "__doc__": "What a file is told.",
        "__module__": __name__,
    },
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Columns(_Told):  # type: ignore[misc, valid-type]
    """Users and items, and what else a file is told; `privrank look --help` shows all of it."""

    PANEL: ClassVar[str] = "Columns of FILE (all: privrank look --help)"

    user: User = None
    items: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,C|FILE|seen",
            help="The items, which are public: their names, a text file with a name a line, seen for all that FILE "
            "names; of a file with a column for each item also a span, such as Q1_1..Q1_9. A release needs it.",
        ),
    ] = None

    @functools.cached_property
    def told(self) -> dict[str, Any]:
        """What was said of the columns, by roles."""
        found: dict[str, Any] = {}
        for field in dataclasses.fields(Columns):
            value = getattr(self, field.name)
            if value is None or value is False or field.name in ("given", *_OF_RANK, *TEXT):
                continue
            if field.name == "items":
                value = item_list(value)
            elif field.name in ("blank", "words"):
                value = [word.strip() for one in value for word in one.split(",")]
            elif value == "none" and field.name in ("user", "tie", "prompt", "id"):
                value = None
            found[field.name] = value
        return found

    @property
    def text(self) -> dict[str, Any]:
        """What was said of the text of the file, but for how its bytes become lines."""
        sheet = getattr(self, "sheet", None)
        return {"sheet": int(sheet) if sheet is not None and sheet.isdecimal() else sheet}


def item_list(given: str) -> str | list[str]:
    """Items as an option names them: ``seen``, a span, a text file with a name a line, or names between commas."""
    if given == "seen":
        return given
    if "," not in given and Path(given).suffix and Path(given).is_file():
        try:
            return [line.strip() for line in File(given).lines() if line.strip()]
        except ValueError as error:
            raise Refusal(f"--items {given}: {error}.") from error
    return (
        given if ".." in given and "," not in given else [name.strip() for name in given.split(",")]
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Release(Columns):
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
        return File(self.source, *(getattr(self, one, None) for one in ("separator", "encoding")))

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

    @property
    def files(self) -> dict[str, Path]:
        """The files to write, by the options that name them."""
        named = [("--out", path) for path in self.out or ()]
        named += [(option(name), getattr(self, name, None)) for name in ("matrix", "probabilities")]
        return {f"{name} {path}": path for name, path in named if path is not None}

    def check_files(self, *kept: Path | None) -> None:
        """Refuse, before anything is spent, files that could not be written, and those that must not be.

        Args:
            kept: files that the command reads, which writing to would lose.
        """
        check_paths(self.files, *kept)
        for given, path in self.files.items():
            name, suffix = given.split()[0], path.suffix.lower()
            pairs = name in ("--matrix", "--probabilities")
            known = MATRICES if pairs else (*TABLES, *PICTURES, *self.PAGES)
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
    """Where a ranking goes, beside the terminal."""

    PANEL: ClassVar[str] = "Files of the result"
    PAGES: ClassVar[tuple[str, ...]] = (".html", ".htm")


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
