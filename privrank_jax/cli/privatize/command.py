"""``privrank privatize``: comparisons to randomized reports, rankings to synthetic ones, without the answers."""

from __future__ import annotations

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from privrank_jax.cli import options
from privrank_jax.cli.console import (
    Refusal,
    check_choice,
    print_json,
    print_paragraphs,
    print_table,
    refusing,
    warn,
)

if TYPE_CHECKING:
    import numpy as np

    from privrank_jax.cli.rank.input import Entropy
    from privrank_jax.datasets import ComparisonTable, ReportTable
    from privrank_jax.privacy.guarantee import Guarantee

TIES = ("refuse", "coin", "drop")

HELP = (
    "Randomize answers before they are collected: local differential privacy.\n\n"
    "Of comparisons it writes a file with columns user, item_1, item_2, report and epsilon, and nothing else. "
    "The report says that item_1 is preferred (1) or item_2 (0), and is the opposite of the answer with probability "
    "1/(1 + e^epsilon). The items stand in the order of the item list, the rows are sorted, so only the "
    "report depends on the answer. privrank rank makes a ranking of such a file at no further cost.\n\n"
    "Of rankings (the files and data sets that privrank aggregate reads) it writes a synthetic ranking for each "
    "user, drawn from the Mallows model around the user's own: columns user and synthetic_epsilon, then ranks, "
    "a column per item. Epsilon protects the rank of one item; a whole ranking of m items gets epsilon m/2.\n\n"
    "Examples:\n\n"
    "  privrank privatize votes.csv --epsilon 1 --out private.csv\n\n"
    "  privrank privatize votes.csv --epsilon-column budget --ties coin --out private.parquet\n\n"
    "  privrank rank private.csv\n\n"
    "  privrank privatize votes.soc --epsilon 4 --out synthetic.csv\n\n"
    "  privrank aggregate synthetic.csv --user none     (a PrefLib file names no users)"
)


@dataclasses.dataclass(frozen=True)
class Request:
    """The options of one run. Attributes are the options of the same name."""

    source: str
    out: Path
    epsilon: float | None
    epsilon_column: str | None
    ties: str
    drop_user: bool
    force: bool
    items: str | None
    columns: dict[str, str | None]
    cells: str | None
    simulate: bool
    seed: int | None
    accept_idealized: bool
    ledger: Path | None
    public: tuple[str, ...]


@refusing
def privatize(
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV or Parquet file with a header row and one comparison per row, or a named "
            "data set: cemspc, immig, cars, cars2. Or rankings: a file or a named data set as for privrank "
            "aggregate.",
        ),
    ],
    out: Annotated[
        Path,
        typer.Option(metavar="FILE", help="File to write: .csv, .tsv or .parquet, by its ending."),
    ],
    epsilon: Annotated[
        float | None,
        typer.Option(help="Privacy budget of each comparison, or rank; smaller protects more."),
    ] = None,
    epsilon_column: Annotated[
        str | None,
        typer.Option(metavar="COLUMN", help="Personal budgets: column of FILE with an epsilon."),
    ] = None,
    ties: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="What becomes of ties: refuse; coin (a fair coin decides, then the answer is randomized "
            "like any other: a tie is protected too, and counts half on average); drop (leave the "
            "comparison out, which shows that it was a tie; not for rankings).",
        ),
    ] = "refuse",
    drop_user: Annotated[
        bool, typer.Option("--drop-user", help="Leave the column of users out.")
    ] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    items: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|A,B,C",
            help="Public list of all items; its order decides which of two is item_1. Default: the "
            "items seen in the data, sorted.",
        ),
    ] = None,
    user: options.User = None,
    winner: options.Winner = None,
    loser: options.Loser = None,
    tie: options.Tie = None,
    item: options.Item = None,
    rank: options.Rank = None,
    public: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FACT",
            help="ranked-items: which items each user ranked is public anyway. Needed where somebody left items out, "
            "for a synthetic ranking shows which.",
        ),
    ] = None,
    ranks: options.Ranks = False,
    higher_is_better: options.HigherIsBetter = False,
    json: options.Json = False,
    ledger: options.Ledger = None,
    simulate: Annotated[
        bool,
        typer.Option("--simulate", help="A rehearsal, repeatable by its seed; not to be shared."),
    ] = False,
    seed: options.RehearsalSeed = None,
    accept_idealized: options.AcceptIdealized = False,
) -> None:
    """Randomize answers before they are collected: local differential privacy."""
    columns = {
        "user": user, "winner": winner, "loser": loser, "tie": tie, "item": item, "rank": rank
    }  # fmt: skip
    request = Request(
        source, out, epsilon, epsilon_column, ties, drop_user, force, items, columns,
        options.cells(ranks, higher_is_better), simulate, seed, accept_idealized, ledger, tuple(public or ()),
    )  # fmt: skip
    _check(request)
    import jax

    from privrank_jax.cli.core.spending import begin, users_of
    from privrank_jax.cli.privatize.ranking_files import holds_rankings, privatize_rankings
    from privrank_jax.cli.rank.input import Entropy, read_table
    from privrank_jax.cli.rank.reports import guarantee_of
    from privrank_jax.datasets import is_report_file, write_reports

    if holds_rankings(request):
        privatize_rankings(request, as_json=json)
        return
    if winner is None and loser is None and is_report_file(source):
        raise Refusal(
            f"{source} holds randomized reports already; rank them by `privrank rank {source}`. Randomizing "
            "them again would only add noise."
        )
    if public:
        raise Refusal(
            "--public is for rankings; of comparisons it is always public who compared what."
        )
    spending = begin(ledger, "privatize", request)
    table = read_table(source, columns, items, by_user=True)
    entropy = Entropy(simulate, seed)
    with jax.enable_x64(True):
        reports, numerics, remarks = randomize(table, _budgets(request, table), request, entropy)
    revealed = ("ties",) if request.ties == "drop" else ()
    users = users_of(source, user)
    guarantee = guarantee_of(reports, numerics, _note(request)).given(public=revealed, users=users)
    check_out(request)  # once more, for the time that passed
    spending.spend_and_report(guarantee, "randomized response")
    written = write_reports(out, reports, users=not drop_user)
    for remark in remarks:
        warn(remark)
    _print(request, reports, guarantee, written, entropy.seed, as_json=json)
    spending.printed()


def _check(request: Request) -> None:
    from privrank_jax.cli.rank.command import check_rehearsal, check_size

    check_choice("--ties", request.ties, TIES)
    for fact in request.public:
        check_choice("--public", fact, ("ranked-items",))
    if request.epsilon is None and request.epsilon_column is None:
        raise Refusal(
            "--epsilon is missing: how much privacy each comparison, or rank, gets is your choice. 1 is common, "
            "smaller protects more; --epsilon-column NAME takes personal budgets from a column of the file."
        )
    if request.epsilon is not None and request.epsilon_column is not None:
        raise Refusal("give --epsilon or --epsilon-column, not both: which of them should count?")
    if request.epsilon is not None:
        if not 0 < request.epsilon < math.inf:  # NaN too
            raise Refusal(
                f"--epsilon must be a positive number, got {request.epsilon:g}. Use a value such as 1."
            )
        check_size(request.epsilon)
    check_rehearsal(request.simulate, request.seed)
    check_out(request)


def check_out(request: Request) -> None:
    """Refuse to write over the answers, and over other files unless told to."""
    from privrank_jax.datasets.reports_file import check_destination

    out, source = request.out, Path(request.source)
    check_destination(out)
    if not out.exists():
        return
    if source.exists() and out.samefile(source):
        raise Refusal(
            f"--out {out} is the file of the answers itself: name another, the answers would be lost."
        )
    if not request.force:
        raise Refusal(
            f"{out} exists: name another file, or replace it by --force. Mind that files drawn twice from "
            "the same answers spend epsilon twice if both were shared."
        )


def _budgets(request: Request, table: ComparisonTable) -> np.ndarray:
    """ε of each comparison, ``(N,)`` float64."""
    import numpy as np

    from privrank_jax import datasets
    from privrank_jax.cli.rank.command import check_size

    if request.epsilon_column is None:
        return np.full(len(table), request.epsilon, np.float64)
    if request.source in datasets.available():
        raise Refusal(
            f"{request.source} is a named data set without budgets: give --epsilon instead of "
            "--epsilon-column."
        )
    budgets = datasets.read_epsilon(request.source, request.epsilon_column)
    check_size(float(budgets.min()))
    if budgets.min() != budgets.max():
        check_size(float(budgets.max()))
    return budgets


def randomize(
    table: ComparisonTable, epsilon: np.ndarray, request: Request, entropy: Entropy
) -> tuple[ReportTable, str, tuple[str, ...]]:
    """One report per comparison; how exactly it was drawn; remarks for the data holder."""
    import numpy as np

    from privrank_jax.datasets import ReportTable

    tied, remarks = table.tied, ()
    keep = np.ones(len(table), bool)
    if table.ties:
        keep, remarks = _ties(table, request)
    bits = table.winners < table.losers
    bits = np.where(tied, _coins(len(table), entropy), bits)[keep]
    reports, numerics, about = _respond(bits, epsilon[keep], request, entropy)
    found = ReportTable(
        users=table.users[keep],
        first=np.minimum(table.winners, table.losers)[keep],
        second=np.maximum(table.winners, table.losers)[keep],
        reports=reports,
        epsilon=epsilon[keep],
        item_names=table.item_names,
        user_names=table.user_names,
        name=table.name,
    )
    return found, numerics, (*remarks, *about)


def _ties(table: ComparisonTable, request: Request) -> tuple[np.ndarray, tuple[str, ...]]:
    """Which comparisons are kept, and a remark that must not be shared: the number of ties is private."""
    import numpy as np

    count = f"{table.ties} of {len(table)} comparisons are ties"
    alone = "(For you alone: these numbers are not covered by the guarantee.)"
    if request.ties == "refuse":
        raise Refusal(
            f"{count}, and a report is a yes or a no. --ties coin lets a fair coin decide each tie before it "
            "is randomized: ties stay as protected as answers, and count half on average. --ties drop leaves "
            "them out, which shows everyone who knows the questions that they were ties."
        )
    if request.ties == "coin":
        return np.ones(len(table), bool), (f"{count}; a fair coin decided each. {alone}",)
    if table.ties == len(table):
        raise Refusal("all comparisons are ties: --ties drop would leave nothing.")
    remark = f"{count}, and were left out: who knows the questions sees which. --ties coin protects them. {alone}"
    return ~table.tied, (remark,)


def _coins(count: int, entropy: Entropy) -> np.ndarray:
    """Fair coins, ``(N,)`` bool, from the operating system except in a rehearsal."""
    import secrets

    import jax
    import numpy as np

    if entropy.seed is not None:
        return np.asarray(jax.random.bernoulli(entropy.key(), 0.5, (count,)))
    drawn = np.frombuffer(secrets.token_bytes(-(-count // 8)), np.uint8)
    return np.unpackbits(drawn, count=count).astype(bool)


def _respond(
    bits: np.ndarray, epsilon: np.ndarray, request: Request, entropy: Entropy
) -> tuple[np.ndarray, str, tuple[str, ...]]:
    import numpy as np

    from privrank_jax.cli.core.numerics import EXTRA, draws_exactly
    from privrank_jax.privacy import randomized_response
    from privrank_jax.release import exact_randomized_response

    if draws_exactly(request):
        return exact_randomized_response(bits, epsilon), "exact", ()
    reports = np.asarray(randomized_response(entropy.key(), bits, epsilon))
    if request.simulate:
        about = "a rehearsal: who knows the seed can undo every flip. Don't share the file."
    else:
        about = (
            "the flips come from a fast generator keyed by the operating system, which is made for simulation "
            f"and not for secrecy. For exact ones: {EXTRA}."
        )
    return reports, "simulation", (about,)


def _note(request: Request) -> str:
    parts = ["the largest epsilon of any comparison, and of all those of any user together."]
    if request.ties == "coin":
        parts.append("Ties are protected like answers.")
    if request.simulate:
        parts.append("A rehearsal, not to be shared: who knows the seed can take the noise off.")
    return " ".join(parts)


def _print(
    request: Request,
    reports: ReportTable,
    guarantee: Guarantee,
    written: tuple[str, ...],
    seed: int | None,
    *,
    as_json: bool,
) -> None:
    notes = [
        "who compared which items, and at which epsilon, is taken as public; "
        + ("the file keeps the users" if "user" in written else "the file leaves the users out"),
        "the rows are sorted by what they say, so the order of the answers is not kept",
        "the answers themselves stay where they were: whoever sees them needs no report",
    ]
    if not reports.has_users:
        notes.append("the data name no users: who gave several comparisons spends the sum of them")
    counts = {"reports": len(reports), "users": reports.num_users, "items": reports.num_items}
    if as_json:
        facts = {"data": reports.name, "ties": request.ties, "seed": seed, "notes": notes}
        print_json(
            {
                "file": str(request.out),
                "columns": list(written),
                "counts": {name: count for name, count in counts.items() if count is not None},
                "guarantee": guarantee.as_dict(),
                "diagnostics": {name: fact for name, fact in facts.items() if fact is not None},
            }
        )
        return
    rows = [(name, f"{count:,}") for name, count in counts.items() if count is not None]
    low, high = float(reports.epsilon.min()), reports.largest_epsilon
    rows.append(("epsilon of a comparison", f"{low:g}" if low == high else f"{low:g} to {high:g}"))
    whole = reports.largest_epsilon_of_a_user
    if whole is not None:
        rows.append(("epsilon of a user, all comparisons, at most", f"{whole:g}"))
    print_table(f"{request.out}: columns {', '.join(written)}", _HEADINGS, rows)
    print_paragraphs(guarantee.in_words(), *(f"- {note}" for note in notes))
    print_paragraphs(f"Next: privrank rank {request.out}")


_HEADINGS: Any = (("privatized", "left"), ("", "right"))
