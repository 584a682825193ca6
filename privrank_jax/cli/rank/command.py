"""``privrank rank``: comparisons to a private ranking."""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated

import typer

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax.cli import options
from privrank_jax.cli.console import Refusal, check_choice, check_seed, refusing, warn

METHODS = ("counts", "mle", "one-shot", "none")
UNITS = ("comparison", "user")
ADJACENCIES = ("flip", "replace", "add-remove")
# Beyond this ε, e^ε says that an observer may become certain of what one user answered.
_HARDLY_PRIVATE = 10.0
_MOST_PER_USER = 2**31 - 1


HELP = (
    "Rank items by pairwise comparisons, under differential privacy.\n\n"
    "Prints the ranking, with intervals, and the guarantee in words. The noise comes from the entropy of the "
    "operating system. Everything on standard output is covered by the guarantee; remarks for the holder of "
    "the data go to standard error.\n\n"
    "Examples:\n\n"
    "  privrank rank votes.csv --epsilon 1 --max-per-user 10\n\n"
    "  privrank rank votes.csv --method mle --epsilon 1 --max-per-user 10 --json\n\n"
    "  privrank rank cemspc --epsilon 0.5 --simulate --seed 1\n\n"
    "  privrank rank private.csv     (reports that privrank privatize wrote: no epsilon, nothing more is spent)\n\n"
    "  privrank rank votes.csv --method none"
)


@dataclasses.dataclass(frozen=True)
class Request:
    """The options of one run, checked as far as they can be without the data.

    Attributes are the options of the same name; ``adjacency`` is filled in, ``seed`` is None in a real
    release.
    """

    source: str
    method: str
    epsilon: float
    delta: float
    unit: str
    adjacency: str
    max_per_user: int | None
    top_k: int | None
    link: str
    gamma: float | None
    level: float
    simulate: bool
    seed: int | None
    accept_idealized: bool
    items: str | None
    columns: dict[str, str | None]

    @property
    def noise(self) -> str:
        """``"gaussian"`` exactly if δ > 0."""
        return "gaussian" if self.delta > 0 else "laplace"


@refusing
def rank(
    context: typer.Context,
    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV or Parquet file with a header row and one comparison per row, a file of "
            "privrank privatize, or a named data set: cemspc, immig, cars, cars2.",
        ),
    ],
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="counts (noisy win totals, for items that are compared equally often), mle (scores "
            "fitted under privacy), one-shot (only the list of the top K), none (not private).",
        ),
    ] = "counts",
    epsilon: options.Epsilon = None,
    delta: options.Delta = 0.0,
    unit: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="What is protected: user (all that a user said) or comparison."
        ),
    ] = "user",
    adjacency: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Neighboring data differ by one unit that answers differently (flip; who compared "
            "what is public), is replaced (replace), or is there or not (add-remove). Default: "
            "replace; for mle flip, because there the release is exact noise on win totals.",
        ),
    ] = None,
    max_per_user: Annotated[
        int | None,
        typer.Option(
            metavar="L",
            help="Most comparisons of one user. Users with more keep a random choice of L. Default: "
            "the questionnaire of a named data set, else 1 and a refusal where someone has more.",
        ),
    ] = None,
    top_k: Annotated[
        int | None, typer.Option(metavar="K", help="Publish only the K best; one-shot needs it.")
    ] = None,
    link: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Model of mle and none: logistic, laplace; normal only without privacy, and for "
            "randomized reports.",
        ),
    ] = "logistic",
    gamma: Annotated[
        float | None,
        typer.Option(
            help="Ridge of fitted scores, in comparisons. Default: mle chooses it without the answers, none takes "
            "0, a fit to randomized reports 2."
        ),
    ] = None,
    items: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|A,B,C",
            help="Public list of all items, one per line of a text file, or separated by commas. "
            "Default: the items seen in the data, which are then treated as public.",
        ),
    ] = None,
    user: options.User = None,
    winner: options.Winner = None,
    loser: options.Loser = None,
    tie: options.Tie = None,
    level: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95,
    json: options.Json = False,
    ledger: options.Ledger = None,
    simulate: options.Simulate = False,
    seed: options.RehearsalSeed = None,
    accept_idealized: options.AcceptIdealized = False,
) -> None:
    """Rank items by pairwise comparisons, under differential privacy."""
    from privrank_jax.datasets import is_report_file

    if winner is None and loser is None and is_report_file(source):
        from privrank_jax.cli.rank.reports import ReportRequest, rank_reports

        given = options.given(context)
        gamma = 2.0 if gamma is None else gamma
        wanted = ReportRequest(source, user, items, link, gamma, level, top_k)
        rank_reports(wanted, given, as_json=json)
        return
    request = _checked(
        Request(
            source=source,
            method=method,
            epsilon=math.inf if epsilon is None else epsilon,
            delta=delta,
            unit=unit,
            adjacency=adjacency or ("flip" if method == "mle" else "replace"),
            max_per_user=max_per_user,
            top_k=top_k,
            link=link,
            gamma=gamma,
            level=level,
            simulate=simulate,
            seed=seed,
            accept_idealized=accept_idealized,
            items=items,
            columns={"user": user, "winner": winner, "loser": loser, "tie": tie},
        ),
        epsilon_given=epsilon is not None,
    )
    import jax

    from privrank_jax.cli.core.spending import begin
    from privrank_jax.cli.rank.input import read_input
    from privrank_jax.cli.rank.methods import release
    from privrank_jax.cli.rank.output import print_result

    spending = begin(ledger, "rank", request, request.unit, request.adjacency)
    with jax.enable_x64(True):
        data = read_input(request)
        result = release(data, request)
    result = spending.pay(result, request)
    for message in (*data.remarks, *result.warnings):
        warn(message)
    print_result(
        data.table.item_names, result, level=request.level, top_k=request.top_k, as_json=json
    )
    spending.printed()


def _checked(request: Request, epsilon_given: bool) -> Request:
    check_choice("--method", request.method, METHODS)
    check_choice("--unit", request.unit, UNITS)
    check_choice("--adjacency", request.adjacency, ADJACENCIES)
    check_choice("--link", request.link, ("logistic", "laplace", "normal"))
    if not 0 < request.level < 1:
        raise Refusal(f"--level must lie between 0 and 1, got {request.level:g}; 0.95 is usual.")
    if request.top_k is not None and request.top_k < 1:
        raise Refusal(f"--top-k must be at least 1, got {request.top_k}.")
    if request.max_per_user is not None and request.max_per_user < 1:
        raise Refusal(f"--max-per-user must be at least 1, got {request.max_per_user}.")
    if request.max_per_user is not None and request.max_per_user > _MOST_PER_USER:
        raise Refusal(
            f"--max-per-user must be at most {_MOST_PER_USER:,}; the noise grows with it, so take what users give."
        )
    if request.gamma is not None and not (0 <= request.gamma < math.inf):
        raise Refusal(f"--gamma must be finite and at least 0, got {request.gamma:g}.")
    check_rehearsal(request.simulate, request.seed)
    if request.method == "none":
        if epsilon_given or request.delta or request.max_per_user or request.simulate:
            warn(
                "--method none adds no noise: --epsilon, --delta, --max-per-user and --simulate are not used."
            )
        return request
    check_budget(request.epsilon if epsilon_given else None, request.delta)
    if request.max_per_user is not None and request.unit == "comparison":
        raise Refusal(
            "--max-per-user bounds what one user gives and needs --unit user; with --unit comparison "
            "every comparison is protected on its own. Leave out one of the two."
        )
    if request.method == "one-shot" and request.top_k is None:
        raise Refusal(
            "--method one-shot selects a top list: give its length by --top-k, such as --top-k 3."
        )
    if request.method == "one-shot" and request.delta > 0:
        raise Refusal(
            "--method one-shot publishes an ordered list under pure epsilon; leave --delta out (it would "
            "help only for lists of more than 16 ln(m/delta) items)."
        )
    return request


def check_rehearsal(simulate: bool, seed: int | None) -> None:
    """Refuse a seed that would make a release predictable, or that isn't one."""
    if seed is not None and not simulate:
        raise Refusal(
            "--seed makes the noise predictable: who knows or guesses the seed can take the noise off "
            "again. Leave --seed out for a release, or add --simulate for a rehearsal."
        )
    if seed is not None:
        check_seed(seed)


def check_budget(epsilon: float | None, delta: float) -> None:
    """Refuse a budget that is missing, out of range or pointless."""
    if epsilon is None:
        raise Refusal(
            "--epsilon is missing: how much privacy to spend is your choice. 1 is common, smaller "
            "protects more; --method none ranks without privacy."
        )
    if not 0 < epsilon < math.inf:  # NaN too
        raise Refusal(
            f"--epsilon must be a positive number, got {epsilon:g}. Use a value such as 1, or --method "
            "none if no privacy is wanted."
        )
    if not 0 <= delta < 1:
        raise Refusal(
            f"--delta must be at least 0 and below 1, got {delta:g}. Leave it out for pure epsilon; "
            "otherwise a common choice is 1/n**2 for n users."
        )
    check_size(epsilon)


def check_size(epsilon: float) -> None:
    """Refuse an epsilon that leaves nothing but noise, or none; warn of one that protects nobody."""
    if epsilon < SMALLEST_EPSILON:
        raise Refusal(
            f"--epsilon {epsilon:g} is so small that the result would be noise alone, whatever the data: "
            "publish nothing, or choose a value such as 1."
        )
    if epsilon > LARGEST_EPSILON:
        raise Refusal(
            f"--epsilon {epsilon:g} is so large that hardly any noise is left, and nobody protected: choose a value "
            "such as 1."
        )
    if epsilon > _HARDLY_PRIVATE:
        warn(
            f"epsilon = {epsilon:g} protects next to nothing: what is published may become "
            f"e^{epsilon:g} times likelier by one user's answers. Values up to about 3 are usual."
        )
