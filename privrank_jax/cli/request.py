"""Options of the commands that release something, in groups, and what these refuse before anything is read."""

from __future__ import annotations

import dataclasses
import functools
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from privrank_jax._promise import Privacy
from privrank_jax.cli.console import Refusal, check_seed, warn
from privrank_jax.cli.options import Json, Options, said
from privrank_jax.cli.spelling import option_of
from privrank_jax.data.file import File
from privrank_jax.data.roles import ROLES, TEXT

if TYPE_CHECKING:
    from privrank_jax._types import Key

NO_EPSILON = "--epsilon is missing: 1 is common, less protects more; --method none is not private."
TABLES = (".csv", ".tsv", ".json", ".parquet", ".xlsx")
PICTURES = (".png", ".svg", ".pdf")
PAIRS = ("--matrix ", "--probabilities ")
MATRICES = (".csv", ".tsv", ".xlsx", ".json")  # names of columns in Parquet ignore case
_OF_NOISE = ("epsilon", "noise", "delta", "unit", "adjacency", "max_per_user", "trust", "points")
_OF_NOISE += ("limit", "simulate")
_OF_ANSWERS = (*_OF_NOISE, "method", "max_per_item", "ties", "intervals", "ledger", "series")
_OF_ANSWERS += ("seed", "blank", "ignore", "count")
_OF_RANK = ("covariates", "weight")  # which may have ends, NAME:LOW:HIGH
_MORE = {
    "user": " (in a file of rankings each row is another user). Default: user",
    "items": "; or a text file with a name a line. A release needs it",
}


def _of_roles() -> list[tuple[str, Any, Any]]:
    """An option for each thing that the reader of a file may be told: the fields of the roles of all kinds."""
    told: dict[str, tuple[str, Any]] = {}
    for field in (field for kind in ROLES for field in dataclasses.fields(kind)):
        told.setdefault(field.name, (field.metadata["words"], field.default))
    told |= {name: (words, None) for name, words in TEXT.items()}
    told["approvals"] = "the cells say whether the user approves: yes, 1 or x", False
    made = []
    for name, (words, default) in told.items():
        several, flag = isinstance(default, tuple), isinstance(default, bool)
        kind: Any = list[str] if several else int if name == "num_users" else str
        hint = bool if flag else kind | None
        words = f"{words[0].upper()}{words[1:]}{_MORE.get(name, '')}."
        told_of = said(words, False if flag else None, hidden=name not in _MORE)
        made.append((name, hint, told_of))
    return [one for one in made if one[0] not in ("epsilon", "name")]


_HEAD = {"PANEL": "Columns of FILE (all: privrank look --help)"}
_Roles: Any = dataclasses.make_dataclass(
    "_Roles", _of_roles(), bases=(Options,), frozen=True, kw_only=True, namespace=_HEAD
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Columns(_Roles):
    """Users and items, and what else a file is told; `privrank look --help` shows all of it."""

    @functools.cached_property
    def told(self) -> dict[str, Any]:
        """What was said of the columns, by roles."""
        found: dict[str, Any] = {}
        for field in dataclasses.fields(_Roles):
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
        """The options on the text of the file, but for how its bytes become lines."""
        sheet = self.sheet
        return {"sheet": int(sheet) if sheet is not None and sheet.isdecimal() else sheet}

    @functools.cached_property
    def file(self) -> File:
        """FILE and how its bytes become text; - is standard input, read once."""
        return File(self.source, self.separator, self.encoding)


def item_list(given: str) -> str | list[str]:
    """Items as an option names them: ``seen``, a span, a text file with a name a line, or names between commas."""
    if given == "seen" or (".." in given and "," not in given):
        return given
    if "," not in given and Path(given).suffix and Path(given).is_file():
        return [line.strip() for line in File(given).lines() if line.strip()]
    return [name.strip() for name in given.split(",")]


@dataclasses.dataclass(frozen=True, kw_only=True)
class Release(Columns):
    """Whether the release is real, and its ledger. Requests also have a ``source``, the argument FILE.

    Attributes:
        ledger: spend from this ledger of the data before anything is printed (see privrank ledger).
        series: public name of the series that the ledger is of, such as a survey of every year: the data join it.
        simulate: a rehearsal with fast simulated noise, not to be published.
        seed: seed of a rehearsal; only with --simulate.
    """

    PANEL: ClassVar[str] = "Release"

    source: str
    ledger: Path | None = None
    series: str | None = None
    simulate: bool = False
    seed: int | None = None

    @functools.cached_property
    def key(self) -> Key | None:
        """PRNG key of a rehearsal; None: a release."""
        if not self.simulate:
            return None
        import jax

        seed = secrets.randbits(31) if self.seed is None else self.seed
        with jax.enable_x64(True):  # otherwise a seed would lose what is beyond 32 bits
            return jax.random.key(seed)

    @property
    def private(self) -> bool:
        """Whether the method is private."""
        return getattr(self, "method", None) != "none"

    def check(self) -> None:
        """Refuse a series without its ledger, and a seed that is invalid or would make a release predictable."""
        if self.series is not None and self.ledger is None:
            raise Refusal("--series names the series of a ledger: give --ledger FILE too.")
        if self.seed is not None and not self.simulate:
            raise Refusal(
                "--seed makes the noise predictable: anyone who knows or guesses the seed can remove the noise. "
                "Omit --seed for a release, or add --simulate for a rehearsal."
            )
        check_seed(self.seed or 0)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Saved(Json):
    """Where a result goes, beside the terminal: tables and pictures.

    Attributes:
        out: write the result too: a table (.csv, .tsv, .xlsx, .parquet), all that --json prints (.json), a picture with
            its intervals or bounds (.png, .svg, .pdf); of a ranking also a page for those who will read it (.html).
            Once for each file.
    """

    PANEL: ClassVar[str] = "Files of the result"
    PAGES: ClassVar[tuple[str, ...]] = ()

    out: list[Path] | None = None

    @property
    def files(self) -> dict[str, Path]:
        """The files to write, by the options that name them."""
        named = [("--out", path) for path in self.out or ()]
        named += [(f"--{name}", getattr(self, name, None)) for name in ("matrix", "probabilities")]
        return {f"{name} {path}": path for name, path in named if path is not None}

    def check_files(self, *kept: Path | None) -> None:
        """Refuse, before anything is spent, files that can't be written, or that the command reads (``kept``)."""
        check_paths(self.files, *kept)
        for given, path in self.files.items():
            suffix = path.suffix.lower()
            known = MATRICES if given.startswith(PAIRS) else (*TABLES, *PICTURES, *self.PAGES)
            if suffix not in known:
                raise Refusal(f"{given}: give a file that ends in {', '.join(known)}.")
            if suffix in (".parquet", ".xlsx"):
                from privrank_jax.simulate.table_files import check_format

                check_format(suffix)
            elif suffix in PICTURES:
                from privrank_jax.plotting import check_picture

                check_picture(path)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Published(Release, Saved):
    """A ranking that is published: its promise, and where it goes.

    Attributes:
        epsilon: privacy budget; smaller protects more. Every private method needs it.
        delta: any probability is at most e^epsilon times what it was, plus delta; for --noise gaussian.
        unit: what is protected: user (all that a user said) or comparison.
        adjacency: neighboring data differ by one unit that answers differently (flip, of comparisons: who compared
            what, and when, is public), is replaced (replace), or is there or not (add-remove).
        max_per_user: most comparisons of one user. Users with more keep a random choice of L, or on a leaderboard the
            first ones. Default: the questionnaire of a named data set, else 1 and a refusal where someone has more.
    """

    PANEL: ClassVar[str] = "Privacy"
    PAGES: ClassVar[tuple[str, ...]] = (".html", ".htm")

    epsilon: float | None = None
    delta: float = 0.0
    unit: str = "user"
    adjacency: str = "replace"
    max_per_user: int | None = None

    @property
    def promised(self) -> Privacy | None:
        """The promise, if there is one; the data say what is public, and what a user is."""
        epsilon, delta = (self.epsilon, self.delta) if self.private else (None, 0.0)
        kind: Any = {"unit": self.unit, "adjacency": self.adjacency, "delta": delta}
        kind["contributions"] = self.max_per_user
        promise = Privacy(1.0 if epsilon is None else epsilon, **kind)
        return None if epsilon is None else promise

    def check(self) -> None:
        """Refuse options that do not go together, and files that could not be written."""
        self.check_files(Path(self.source), self.ledger, getattr(self, "state", None))
        super().check()

    def warn_unused(self) -> None:
        """Say which options of privacy are not used where there is none."""
        unused = [option_of(name) for name in _OF_NOISE if name in self.given]
        if unused and not self.private:
            warn(f"--method none adds no noise: {', '.join(unused)} made no difference.")

    def check_randomized(self, what: str, *served: str) -> None:
        """Refuse options that protect answers, but for ``served``, where users randomized them at home."""
        wrong = [name for name in _OF_ANSWERS if name in self.given and name not in served]
        if wrong:
            raise Refusal(
                f"leave {', '.join(map(option_of, wrong))} out: {self.file.name} holds {what}, each randomized with "
                "the epsilon of its row. Ranking them is post-processing, adds no noise and spends nothing more; for "
                "another epsilon, privatize the answers again (both files together then spend the sum)."
            )


def check_paths(given: Mapping[str, Path], *kept: Path | None) -> None:
    """Refuse files, by the options that name them, that can't be written, or that the command reads (``kept``)."""
    if len({path.absolute() for path in given.values()}) < len(given):
        raise Refusal(f"{' and '.join(given)} need a file each.")
    for path in given.values():
        folder = path.absolute().parent
        if not folder.is_dir():
            raise Refusal(f"{path}: there is no folder {path.parent}; make it first.")
        if any(path.exists() and one and one.exists() and path.samefile(one) for one in kept):
            raise Refusal(
                f"{path} is a file that the command reads; name another, it would be lost."
            )
        if path.is_dir() or not os.access(folder, os.W_OK):
            raise Refusal(f"{path} cannot be written; choose another file.")
