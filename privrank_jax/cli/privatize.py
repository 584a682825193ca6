"""``privrank privatize``: comparisons to reports, rankings to synthetic ones, preferences to swapped ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

from privrank_jax.cli.console import Refusal, print_json, print_paragraphs, print_table, warn
from privrank_jax.cli.options import Json, argument, command, taken
from privrank_jax.cli.request import Release

if TYPE_CHECKING:
    import numpy as np

    from privrank_jax.jobs.randomize import Randomized

_KINDS = ("rankings", "comparisons", "preferences", "reports", "synthetic")
_SEVERAL = {"count", "left_wins", "right_wins"}
_MOST_NAMES = 8  # columns of rankings that the title shows
_TAKEN = ("unit", "ties", "max_per_user")
_Asked: Any = taken("jobs.randomize:randomize", *_TAKEN)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(_Asked, Json, Release):
    """The options of one run.

    Attributes:
        out: file to write: .csv, .tsv or .parquet, by its ending; .jsonl or .jsonl.gz for preferences.
        epsilon: privacy budget of each comparison, or rank; smaller protects more.
        epsilon_column: personal budgets: column of FILE with an epsilon.
        drop_user: leave the column of users out.
        force: replace a file that exists.
        public: ranked-items: which items each user ranked is public anyway. Needed if some users ranked only part of
            the items: their synthetic rankings reveal which.
    """

    source: str = argument(
        "FILE",
        "CSV, TSV, Excel (.xlsx) or Parquet file with a header row and one comparison per row, or a named data set: "
        "coffee, cemspc, immig, cars, cars2. Or rankings: a file or a named data set as for privrank aggregate. Or "
        "preferences: a .jsonl, .json or .parquet file with prompt, chosen and rejected.",
    )
    out: Path
    epsilon: float | None = None
    epsilon_column: str | None = None
    drop_user: bool = False
    force: bool = False
    public: list[str] | None = None

    def check(self) -> None:
        """Refuse invalid options before anything is loaded."""
        if (self.epsilon is None) == (self.epsilon_column is None):
            raise Refusal(
                "give --epsilon or --epsilon-column, not both: how much privacy each comparison, or rank, gets is your "
                "choice, such as --epsilon 1 (smaller protects more), or personal budgets in a column of the file."
            )
        if self.epsilon is not None:
            from privrank_jax.jobs.checks import check_size

            check_size(self.epsilon)
        super().check()
        self.check_out()

    def check_out(self) -> None:
        """Refuse to overwrite the answers, and other files unless told to."""
        out, source = self.out, Path(self.source)
        if out.exists() and source.exists() and out.samefile(source):
            raise Refusal(f"--out {out} has the answers, which would be lost: name another file.")
        if out.exists() and not self.force:
            raise Refusal(
                f"{out} exists: name another file, or replace it by --force. Mind that files drawn twice from "
                "the same answers spend epsilon twice if both were shared."
            )


@command
def privatize(request: Request) -> None:
    """Randomize each user's answers, as users can do at home: local differential privacy.

    Users who run it on their own answers, and send the file that it writes, need trust nobody. Run on answers that were
    collected already, it protects users from all who get that file alone; whoever holds FILE knows the answers.

    Of comparisons it writes columns user, item_1, item_2, report and epsilon. The report says that item_1 is preferred
    (1) or item_2 (0), and is the opposite of the answer with probability 1/(1 + e^epsilon). The items stand in the
    order of the item list and the rows are sorted, so only the report depends on the answer.

    Of rankings it writes a synthetic one for each user, drawn from the Mallows model around the user's own: columns
    user and synthetic_epsilon, then ranks, a column per item. Epsilon protects the rank of one item; a whole ranking of
    m items gets epsilon m/2.

    Of preferences for training (.jsonl with prompt, chosen, rejected, perhaps id and user) it writes such a file, with
    chosen and rejected swapped with probability 1/(1 + e^epsilon), and label_epsilon in each line. Prompts and texts
    are public; protected is which of the two answers was chosen. Examples:
        privrank privatize votes.csv --items seen --epsilon 1 --out private.csv
        privrank privatize votes.csv --items seen --epsilon-column budget --ties coin --out private.parquet
        privrank rank private.csv
        privrank privatize votes.soc --epsilon 4 --out synthetic.csv
        privrank aggregate synthetic.csv --user none
        privrank privatize prefs.jsonl --epsilon 2 --unit user --max-per-user 5 --out private.jsonl
    """
    request.check()
    from privrank_jax.cli.spend import begin
    from privrank_jax.jobs.randomize import randomize

    spending = begin("privatize", request)
    data, epsilon = _read(request)
    told: dict[str, Any] = {name: getattr(request, name) for name in _TAKEN}
    told |= {"public": tuple(request.public or ()), "keep_users": not request.drop_user}
    told["key"] = request.key
    made = randomize(data, epsilon, **told)
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
    from privrank_jax.data.preferences import PreferenceScan
    from privrank_jax.data.reader import budgets_of, kind_of, named_sets

    column, given, changed = request.epsilon_column, request.told, {}
    if column is not None:
        if request.source in named_sets() or given.keys() & _SEVERAL:
            raise Refusal(
                f"--epsilon-column gives each row an epsilon, and {request.source} has none, or a row is several "
                "answers: give --epsilon instead."
            )
        if kind_of(request.source, header_read(request), given) == "preferences":
            changed = {"epsilon": column}
        else:
            changed = {"ignore": [*given.get("ignore", ()), column]}
    data = read_data(request, *_KINDS, **changed)
    if column is None:
        return data, request.epsilon or 0.0
    if isinstance(data, PreferenceScan):
        assert data.epsilon is not None
        return data, data.epsilon
    return data, budgets_of(request.file, data, column, given, request.text["sheet"])


def _print(request: Request, made: Randomized, written: tuple[str, ...]) -> None:
    """Print what was written as a table with the guarantee, or as JSON."""
    kind, notes = "fields" if made.kind == "preferences" else "columns", list(made.notes)
    if request.json:
        facts = {"data": made.name, "ties": request.ties, "notes": notes}
        facts |= {} if made.seed is None else {"seed": made.seed}
        document = {"file": str(request.out), kind: list(written), "counts": made.counts}
        document |= {"guarantee": made.guarantee.as_dict(), "diagnostics": facts}
        return print_json(document)
    rows = [(name, f"{count:,}") for name, count in made.counts.items()] + list(made.epsilons)
    few = written[: _MOST_NAMES if made.kind == "rankings" else None]
    shown = ", ".join(few) + ", ..." * (len(few) < len(written))
    print_table(f"{request.out}: {kind} {shown}", ("privatized", ""), rows)
    print_paragraphs(made.guarantee.in_words(), *(f"- {note}" for note in notes))
