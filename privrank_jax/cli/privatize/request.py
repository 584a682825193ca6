"""The options of ``privrank privatize``."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import Annotated, ClassVar

import typer

from privrank_jax.cli.console import Refusal, check_choice
from privrank_jax.cli.core.checks import check_positive, check_rehearsal, check_size
from privrank_jax.cli.core.request import (
    KINDS_OF_CELLS,
    REHEARSAL,
    ComparisonColumns,
    RankingColumns,
    Release,
)
from privrank_jax.cli.options import Json, Options, option

TIES = ("refuse", "coin", "drop")
UNITS = ("comparison", "user")
_COLUMNS = (
    *("winner", "loser", "tie", "left", "right", "outcome", "item", "rank", "order"),
    *("left_wins", "right_wins", "left_score", "right_score", "order_separator", "count"),
)
_READERS = {".csv": "csv", ".json": "json", ".parquet": "parquet", ".xlsx": "excel"}  # of pandas
_OF_TABLES = (*_COLUMNS, *KINDS_OF_CELLS, "items", "public", "separator", "encoding", "ignore")


@dataclasses.dataclass(frozen=True, kw_only=True)
class PreferenceOptions(Options):
    """Fields of a file of preferences, and what is protected in it."""

    PANEL: ClassVar[str] = "Preferences (.jsonl)"

    chosen: Annotated[
        str | None, typer.Option(metavar="FIELD", help="The chosen answer. Default: chosen.")
    ] = None
    rejected: Annotated[
        str | None, typer.Option(metavar="FIELD", help="The other answer. Default: rejected.")
    ] = None
    prompt: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="The prompt; none: there is none. Default: prompt."),
    ] = None
    id: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="Id of the line; none: there is none. Default: id."),
    ] = None
    keep: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="Carry this field over too, so that lines can be joined again; it becomes public. All others are "
            "left out. May be given several times.",
        ),
    ] = None
    unit: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="comparison: each label has the whole epsilon; user: all labels of a user share it evenly. Default: "
            "comparison.",
        ),
    ] = None
    max_per_user: Annotated[
        int | None,
        typer.Option(
            metavar="L",
            help="With --unit user: most labels of one user, of whom a random choice stays. Fewer labels at a larger "
            "epsilon each say more. Default: all.",
        ),
    ] = None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(ComparisonColumns, RankingColumns, PreferenceOptions, Json, Release):
    """The options of one run."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, Excel (.xlsx) or Parquet file with a header row and one comparison per row, or a named "
            "data set: coffee, cemspc, immig, cars, cars2. Or rankings: a file or a named data set as for privrank "
            "aggregate. Or preferences: a .jsonl file (or .jsonl.gz) with prompt, chosen and rejected.",
        ),
    ]
    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="File to write: .csv, .tsv or .parquet, by its ending; .jsonl or .jsonl.gz for preferences.",
        ),
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
        self._check_kind()
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

    @functools.cached_property
    def holds_preferences(self) -> bool:
        """Whether FILE holds preferences: it is one of JSON Lines, whose first object has no fields of a table."""
        from privrank_jax._cells.names import form
        from privrank_jax._cells.order_shapes import place_columns
        from privrank_jax._cells.pair_shapes import shape_of
        from privrank_jax._cells.preference_pairs import names_answers
        from privrank_jax.datasets.json_lines import is_json_lines

        if not is_json_lines(self.source):
            return False
        from privrank_jax.datasets.formats import read_header

        header = read_header(self.file)
        forms = set(map(form, header))
        named = {"winner", "loser"} <= forms or {"item", "rank"} <= forms
        told = bool(self.given & set(_COLUMNS)) and not names_answers(header)
        return not (named or told or shape_of(self.file.name, header) or place_columns(header))

    def _check_kind(self) -> None:
        """Refuse options for another kind of file."""
        kind, others = "comparisons and rankings", _OF_TABLES
        if not self.holds_preferences:
            self._refuse_preferences_in_tables()
            fields = dataclasses.fields(PreferenceOptions)
            kind, others = "preferences (.jsonl)", tuple(field.name for field in fields)
        wrong = [option(name) for name in others if name in self.given]
        if wrong:
            raise Refusal(f"{', '.join(wrong)}: for {kind} only, and FILE is {self.source}.")
        if self.unit is not None:
            check_choice("--unit", self.unit, UNITS)
        if self.max_per_user is not None and (self.unit != "user" or self.max_per_user < 1):
            raise Refusal(
                "--max-per-user bounds what one user gives: it must be at least 1, and needs --unit user."
            )
        if self.unit == "user" and self.epsilon_column is not None:
            raise Refusal(
                "--unit user divides one epsilon among the labels of a user, and --epsilon-column gives each its own: "
                "leave out one of the two."
            )

    def _refuse_preferences_in_tables(self) -> None:
        """Refuse preferences that are no JSON Lines, unless options say that their fields name items."""
        from privrank_jax._cells.preference_pairs import names_answers
        from privrank_jax.datasets.formats import read_header

        path = Path(self.source)
        reader = _READERS.get(path.suffix.lower())
        if reader is None or self.given & set(_OF_TABLES) or not path.is_file():
            return
        if not names_answers(read_header(self.file)):
            return
        rename = " (where each line is an object, rename it)" if reader == "json" else ""
        to = f"to_json('{path.stem}.jsonl', orient='records', lines=True)"
        raise Refusal(
            f"{path.name} has fields 'chosen' and 'rejected', as preferences have, which are read from .jsonl files "
            f"only. In Python, pandas.read_{reader}({path.name!r}).{to} makes one of it{rename}. If the fields name "
            "items, --winner chosen --loser rejected reads comparisons."
        )

    def check_out(self) -> None:
        """Refuse to overwrite the answers, and other files unless told to."""
        from privrank_jax.datasets.preferences_file import check_preferences_destination
        from privrank_jax.datasets.reports_file import check_destination

        out, source = self.out, Path(self.source)
        (check_preferences_destination if self.holds_preferences else check_destination)(out)
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
