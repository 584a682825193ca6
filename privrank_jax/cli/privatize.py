"""``privrank privatize``: comparisons to reports, rankings to synthetic ones, preferences to swapped ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from privrank_jax.cli.checks import check_release
from privrank_jax.cli.console import Refusal, Side, print_json, print_paragraphs, print_table, warn
from privrank_jax.cli.options import Json, Options, command
from privrank_jax.cli.request import Release

if TYPE_CHECKING:
    import numpy as np

    from privrank_jax.jobs.randomize import Randomized

HELP = (
    "Randomize each user's answers, as users can do at home: local differential privacy.\n\n"
    "Users who run it on their own answers, and send the file that it writes, need trust nobody. Run on answers that "
    "were collected already, it protects users from all who get that file alone; whoever holds FILE knows the "
    "answers.\n\n"
    "For comparisons, it writes a file with columns user, item_1, item_2, report and epsilon, and nothing else. "
    "The report says that item_1 is preferred (1) or item_2 (0), and is the opposite of the answer with probability "
    "1/(1 + e^epsilon). The items stand in the order of the item list, the rows are sorted, so only the "
    "report depends on the answer. privrank rank ranks such a file without spending more budget.\n\n"
    "For rankings (the files and data sets that privrank aggregate reads), it writes a synthetic ranking for each "
    "user, drawn from the Mallows model around the user's own: columns user and synthetic_epsilon, then ranks, "
    "a column per item. Epsilon protects the rank of one item; a whole ranking of m items gets epsilon m/2.\n\n"
    "For preferences as training data (.jsonl with prompt, chosen, rejected, perhaps id and user), it writes such a "
    "file again, with chosen and rejected swapped with probability 1/(1 + e^epsilon), and label_epsilon in each line. "
    "Prompts and texts are public; protected is which of the two answers was chosen.\n\n"
    "Examples:\n\n"
    "  privrank privatize votes.csv --items seen --epsilon 1 --out private.csv\n\n"
    "  privrank privatize votes.csv --items seen --epsilon-column budget --ties coin --out private.parquet\n\n"
    "  privrank rank private.csv\n\n"
    "  privrank privatize votes.soc --epsilon 4 --out synthetic.csv\n\n"
    "  privrank aggregate synthetic.csv --user none\n\n"
    "  privrank privatize prefs.jsonl --epsilon 2 --unit user --max-per-user 5 --out private.jsonl"
)
_KINDS = ("rankings", "comparisons", "preferences", "reports", "synthetic")
_SEVERAL = ("count", "left_wins", "right_wins")
_MOST_NAMES = 8  # columns of rankings that the title shows


@dataclasses.dataclass(frozen=True, kw_only=True)
class PreferenceOptions(Options):
    """Fields of a file of preferences, and what is protected in it."""

    PANEL: ClassVar[str] = "Preferences (.jsonl)"

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
class Request(PreferenceOptions, Json, Release):
    """The options of one run."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, Excel (.xlsx) or Parquet file with a header row and one comparison per row, or a named "
            "data set: coffee, cemspc, immig, cars, cars2. Or rankings: a file or a named data set as for privrank "
            "aggregate. Or preferences: a .jsonl, .json or .parquet file with prompt, chosen and rejected.",
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
        if self.epsilon is None and self.epsilon_column is None:
            raise Refusal(
                "--epsilon is missing: how much privacy each comparison, or rank, gets is your choice. 1 is common, "
                "smaller protects more; --epsilon-column NAME takes personal budgets from a column of the file."
            )
        if self.epsilon is not None and self.epsilon_column is not None:
            raise Refusal("give --epsilon or --epsilon-column, not both.")
        if self.epsilon is not None:
            from privrank_jax.jobs.checks import check_size

            check_size(self.epsilon)
        check_release(self)
        self.check_out()

    def check_out(self) -> None:
        """Refuse to overwrite the answers, and other files unless told to."""
        out, source = self.out, Path(self.source)
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


@command
def privatize(request: Request) -> None:
    """Randomize each user's answers, as users can do it at home: local differential privacy."""
    request.check()
    from privrank_jax.cli.spend import begin
    from privrank_jax.jobs.randomize import randomize

    spending = begin("privatize", request)
    data, epsilon = _read(request)
    made = randomize(
        data,
        epsilon,
        unit=request.unit or "comparison",
        ties=request.ties,
        public=tuple(request.public or ()),
        max_per_user=request.max_per_user,
        keep_users=not request.drop_user,
        key=request.key,
        accept_idealized=request.accept_idealized,
    )
    request.check_out()  # again, as the files may have changed meanwhile
    made.check_destination(request.out)
    warn(*made.warnings)
    method = "mallows" if made.kind == "rankings" else "randomized response"
    spending.spend_and_report(made.guarantee, method, request.out, rehearsal=made.rehearsal)
    _print(request, made, made.write(request.out))
    spending.printed()


def _read(request: Request) -> tuple[Any, float | np.ndarray]:
    """Read FILE, and ε: one, or one for each answer."""
    from privrank_jax.cli.reading import header_read, read_data
    from privrank_jax.data.preferences import Preferences, PreferenceScan
    from privrank_jax.data.reader import budgets_of, kind_of, named_sets
    from privrank_jax.data.reports import Reports
    from privrank_jax.data.synthetic import SyntheticRankings

    column, given, changed = request.epsilon_column, request.told, {}
    if column is not None:
        if request.source in named_sets():
            raise Refusal(
                f"{request.source} is a named data set without budgets: give --epsilon instead of --epsilon-column."
            )
        if several := [name for name in _SEVERAL if name in given]:
            raise Refusal(
                f"{', '.join(several)}: a row is several answers, and --epsilon-column gives each row an epsilon: give "
                "--epsilon instead."
            )
        if kind_of(request.source, header_read(request), given) == "preferences":
            changed = {"epsilon": column}
        else:
            changed = {"ignore": [*given.get("ignore", ()), column]}
    data = read_data(request, *_KINDS, **changed)
    if isinstance(data, Reports | SyntheticRankings | Preferences):
        then = "aggregate" if isinstance(data, SyntheticRankings) else "rank"
        raise Refusal(
            f"{request.source} holds randomized answers already; privrank {then} {request.source} makes a ranking of "
            "them. Randomizing them again would only add noise."
        )
    if column is None:
        assert request.epsilon is not None
        return data, request.epsilon
    if isinstance(data, PreferenceScan):
        assert data.epsilon is not None
        return data, data.epsilon
    return data, budgets_of(request.file, data, column, given, request.text["sheet"])


def _print(request: Request, made: Randomized, written: tuple[str, ...]) -> None:
    """Print what was written as a table with the guarantee, or as JSON."""
    kind = "fields" if made.kind == "preferences" else "columns"
    notes = list(made.notes)
    if request.json:
        facts = {"data": made.name, "ties": request.ties, "seed": made.seed, "notes": notes}
        print_json(
            {
                "file": str(request.out),
                kind: list(written),
                "counts": made.counts,
                "guarantee": made.guarantee.as_dict(),
                "diagnostics": {name: fact for name, fact in facts.items() if fact is not None},
            }
        )
        return
    rows = [(name, f"{count:,}") for name, count in made.counts.items()] + list(made.epsilons)
    few = written[: _MOST_NAMES if made.kind == "rankings" else None]
    shown = ", ".join(few) + ", ..." * (len(few) < len(written))
    headings: tuple[tuple[str, Side], ...] = (("privatized", "left"), ("", "right"))
    print_table(f"{request.out}: {kind} {shown}", headings, rows)
    print_paragraphs(made.guarantee.in_words(), *(f"- {note}" for note in notes))
    none = "" if "user" in written else " --user none"
    table = getattr(made.data, "table", None)
    unknown = " --missing unknown" if getattr(table, "missing", "") == "unknown" else ""
    follow = {
        "comparisons": f"Next: privrank rank {request.out}{none}",
        "rankings": f"Next: privrank aggregate {request.out}{none}{unknown}",
        "preferences": f"Next, in Python: privrank_jax.read({str(request.out)!r})",
    }
    print_paragraphs(follow[made.kind])
