"""``privrank aggregate``: rankings to one private consensus."""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated

import typer

from privrank_jax.cli import options
from privrank_jax.cli.console import Refusal, check_choice, refusing, warn
from privrank_jax.cli.rank.command import check_budget, check_rehearsal

METHODS = ("auto", "borda", "kwiksort", "noise-all", "exponential", "none")
TRUSTS = ("central", "local")
MISSING = ("last", "unknown")

HELP = (
    "Release one consensus of many rankings, under differential privacy.\n\n"
    "Prints the consensus and the guarantee in words: nobody learns much about any one user's ranking, all "
    "of it. The noise comes from the entropy of the operating system. Everything on standard output is "
    "covered by the guarantee; remarks for the data holder go to standard error.\n\n"
    "FILE is a table with a column user and one column per item, cells ranks (1 = best, ties equal, blank not ranked; "
    "--higher-is-better: ratings); or a table with columns user, item and rank; or a PrefLib file; or a named data "
    "set. A file of synthetic rankings (privrank privatize) is debiased, and costs nothing more.\n\n"
    "Examples:\n\n"
    "  privrank aggregate votes.soc --epsilon 1\n\n"
    "  privrank aggregate votes.csv --epsilon 1 --method kwiksort --json\n\n"
    "  privrank aggregate stars.csv --epsilon 1 --user voter --higher-is-better     (ratings)\n\n"
    "  privrank aggregate sushi --epsilon 0.5 --simulate --seed 1\n\n"
    "  privrank aggregate votes.toi --method none     (the best ranking there is, with a certificate)"
)


@dataclasses.dataclass(frozen=True)
class Request:
    """The options of one run, checked as far as they can be without the data.

    Attributes are the options of the same name; ``seed`` is None in a real release.
    """

    source: str
    method: str
    epsilon: float
    delta: float
    trust: str
    missing: str | None
    xi: float
    items: str | None
    user: str | None
    item: str | None
    rank: str | None
    users: int | None
    cells: str | None
    simulate: bool
    seed: int | None
    accept_idealized: bool

    @property
    def noise(self) -> str:
        """``"gaussian"`` exactly if δ > 0."""
        return "gaussian" if self.delta > 0 else "laplace"


@refusing
def aggregate(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, Parquet or PrefLib file (.soc, .soi, .toc, .toi), or a named data set: sushi, apa, "
            "apa1998 to apa2009, aspen, aspen-mayor, german, nascar, potato, potato-weighing, salad.",
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto (the one with the least error to be expected), borda (noisy mean scores), kwiksort (a "
            "sort by noisy majorities), noise-all (the best ranking for noisy majorities of all pairs), "
            "exponential (a random ranking, good ones likelier; central only, up to 20 items), none (not "
            "private: the best ranking, with a certificate).",
        ),
    ] = "auto",
    epsilon: options.Epsilon = None,
    delta: options.Delta = 0.0,
    trust: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="central (you hold the rankings and publish the consensus) or local (each user randomizes the "
            "own ranking; on a file, the users' side is simulated).",
        ),
    ] = "central",
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="What it means that a user did not rank an item: last (behind all that were ranked) or unknown "
            "(half a vote to either side of each pair). Default: last; nascar: unknown.",
        ),
    ] = None,
    xi: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="none and noise-all: a ranking proven to cost at most 1 + X times the smallest cost will do.",
        ),
    ] = 0.0,
    items: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|A,B,C",
            help="Public list of all items, one per line of a text file, or separated by commas. Default: the "
            "items of the file, which are then treated as public.",
        ),
    ] = None,
    user: options.User = None,
    item: options.Item = None,
    rank: options.Rank = None,
    users: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Public number of all users, for a file with a row for each user and item: those who ranked nothing "
            "have no row there. Default: the users with a row; that nobody else took part is then public.",
        ),
    ] = None,
    ranks: options.Ranks = False,
    higher_is_better: options.HigherIsBetter = False,
    json: options.Json = False,
    ledger: options.Ledger = None,
    simulate: options.Simulate = False,
    seed: options.RehearsalSeed = None,
    accept_idealized: options.AcceptIdealized = False,
) -> None:
    """Release one consensus of many rankings, under differential privacy."""
    request = Request(
        source=source,
        method=method,
        epsilon=math.inf if epsilon is None else epsilon,
        delta=delta,
        trust=trust,
        missing=missing,
        xi=xi,
        items=items,
        user=user,
        item=item,
        rank=rank,
        users=users,
        cells=options.cells(ranks, higher_is_better),
        simulate=simulate,
        seed=seed,
        accept_idealized=accept_idealized,
    )
    from privrank_jax.datasets import is_synthetic_rankings_file

    if is_synthetic_rankings_file(source):
        from privrank_jax.cli.aggregate.synthetic import aggregate_synthetic

        aggregate_synthetic(request, options.given(context), as_json=json)
        return
    _check(request, epsilon_given=epsilon is not None)
    import jax

    from privrank_jax.cli.aggregate.input import read_input
    from privrank_jax.cli.aggregate.methods import release
    from privrank_jax.cli.core.spending import begin
    from privrank_jax.cli.rank.output import print_result

    spending = begin(ledger, "aggregate", request, "user", "replace")
    with jax.enable_x64(True):
        data = read_input(request)
        result = release(data, request)
    result = spending.pay(result, request)
    for message in (*data.remarks, *result.warnings):
        warn(message)
    print_result(data.table.item_names, result, as_json=json)
    spending.printed()


def _check(request: Request, epsilon_given: bool) -> None:
    check_choice("--method", request.method, METHODS)
    check_choice("--trust", request.trust, TRUSTS)
    if request.missing is not None:
        check_choice("--missing", request.missing, MISSING)
    if not 0 <= request.xi < math.inf:
        raise Refusal(f"--xi must be finite and at least 0, got {request.xi:g}.")
    if request.xi and request.method not in ("none", "noise-all"):
        raise Refusal(
            "--xi is for the methods that look for the best ranking, --method none and noise-all."
        )
    if request.users is not None and request.users < 1:
        raise Refusal(f"--users must be at least 1, got {request.users}.")
    check_rehearsal(request.simulate, request.seed)
    if request.method == "none":
        if epsilon_given or request.delta or request.simulate or request.trust == "local":
            warn(
                "--method none adds no noise: --epsilon, --delta, --trust and --simulate are not used."
            )
        return
    check_budget(request.epsilon if epsilon_given else None, request.delta)
    if request.method == "exponential" and request.trust == "local":
        raise Refusal(
            "--method exponential needs someone who holds all rankings; with --trust local use --method borda, "
            "kwiksort or noise-all."
        )
    if request.delta > 0 and (request.method == "exponential" or request.trust == "local"):
        which = "--trust local" if request.trust == "local" else "--method exponential"
        raise Refusal(f"{which} gives pure epsilon; leave --delta out.")
