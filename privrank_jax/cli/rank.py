"""``privrank rank``: comparisons, choices, rankings or randomized reports to a private ranking."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from privrank_jax._neighbors import ADJACENCIES, COMPARISON_UNITS
from privrank_jax._promise import Privacy
from privrank_jax.cli.checks import check_already_randomized, check_release, warn_unused
from privrank_jax.cli.console import Refusal, check_choice
from privrank_jax.cli.options import command
from privrank_jax.cli.request import Budget, Files, Release, Unit, adjacency_option
from privrank_jax.jobs.methods import RANK, described

if TYPE_CHECKING:
    from privrank_jax.jobs.asked import Asked

HELP = (
    "Rank items by comparisons, choices, or best and worst items, under differential privacy.\n\n"
    "Prints the ranking, with intervals, and the guarantee in words. The noise comes from the entropy of the operating "
    "system. Everything on standard output is covered by the guarantee; remarks for the holder of the data go to "
    "standard "
    "error. Rankings are broken into pairs; reports that privrank privatize wrote need no epsilon, and spend nothing "
    "more.\n\n"
    "Examples:\n\n"
    "  privrank rank votes.csv --epsilon 1 --items seen --max-per-user 10\n\n"
    "  privrank rank games.csv --epsilon 1 --items teams.txt --unit comparison --left home --right away --outcome "
    "result\n\n"
    "  privrank rank coffee --epsilon 1     (made-up data, to try it)\n\n"
    "  privrank rank votes.csv --method none"
)
_KINDS = ("comparisons", "choices", "best-worst", "rankings", "reports")
_FOR_REPORTS = (
    *("source", "separator", "encoding", "sheet", "user", "items", "link", "gamma", "level"),
    *("top_k", "json", "out", "probabilities"),
)
_UNUSED = ("epsilon", "noise", "delta", "max_per_user", "simulate")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Budget, Files, Release):
    """The options of one run."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, Excel (.xlsx), JSON Lines or Parquet file (- is standard input) with a header row; or a "
            "named "
            "data set: coffee, cemspc, immig, cars, cars2.",
        ),
    ]
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"{described(RANK)}, none (not private).",
        ),
    ] = "scores"
    unit: Unit = "user"
    adjacency: Annotated[str, adjacency_option("who compared what")] = "replace"
    max_per_user: Annotated[
        int | None,
        typer.Option(
            metavar="L",
            help="Most comparisons of one user. Users with more keep a random choice of L. Default: "
            "the questionnaire of a named data set, else 1 and a refusal where someone has more.",
        ),
    ] = None
    max_per_item: Annotated[
        int | None,
        typer.Option(
            metavar="C",
            help="Most comparisons of one user about one item; others are left out. Gaussian noise on win totals is "
            "smaller then: about sqrt(C/L) times, with --max-per-user L; that of the top K alone up to C/L times.",
        ),
    ] = None
    top_k: Annotated[
        int | None,
        typer.Option(
            metavar="K", help="Publish only the K best; needed where only these are chosen."
        ),
    ] = None
    link: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Model of scores and none: logistic, laplace; normal only without privacy, and for "
            "randomized reports.",
        ),
    ] = "logistic"
    ties: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="half: a tie is half a win for both items; where ties are common, intervals of private results are "
            "wider than need be. davidson: an outcome of its own, whose frequency is fitted and published (Davidson's "
            "model), with --method scores or none; it costs no privacy.",
        ),
    ] = "half"
    gamma: Annotated[
        float | None,
        typer.Option(
            help="Ridge of fitted scores, in comparisons. Default: scores chooses it without the answers, none "
            "takes 0, a fit to randomized reports 2."
        ),
    ] = None
    level: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95
    intervals: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto: where who compared what is private, a tenth of epsilon buys noisy numbers about comparisons, "
            "from which intervals of scores follow; none: all of it goes to the scores.",
        ),
    ] = "auto"
    probabilities: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the probabilities that the item of a row is better than that of a column, which follow from "
            "the release at no further cost (.csv, .tsv, .xlsx; .json: those of all ranks too).",
        ),
    ] = None

    LIBRARY: ClassVar[dict[str, str]] = {"contributions": "max_per_user"}

    @property
    def promised(self) -> Privacy | None:
        """The promise, if there is one; the data say what is public, and what a user is."""
        if not self.private or self.epsilon is None:
            return None
        if self.max_per_user is not None and self.unit == "comparison":
            raise Refusal(
                "--max-per-user bounds what one user gives and needs --unit user; with --unit comparison "
                "every comparison is protected on its own. Leave out one of the two."
            )
        return Privacy(
            self.epsilon,
            unit=self.unit,
            adjacency=self.adjacency,
            delta=self.delta,
            contributions=self.max_per_user,
        )

    def check_neighbors(self) -> None:
        """Refuse what is no unit, no adjacency and no number, with privacy or without."""
        check_choice("--unit", self.unit, COMPARISON_UNITS)
        check_choice("--adjacency", self.adjacency, ADJACENCIES)
        if self.max_per_user is not None and self.max_per_user < 1:
            raise Refusal(f"--max-per-user must be positive, got {self.max_per_user}.")

    @functools.cached_property
    def asked(self) -> Asked:
        """What is asked of the ranking."""
        from privrank_jax.jobs.asked import Asked

        method = {"mle": "scores", "none": "scores"}.get(self.method, self.method)
        named = ("noise", "link", "ties", "gamma", "max_per_item", "top_k", "level", "intervals")
        return Asked(
            method=method,
            bounds=self.bounds,
            weight_most=self.weights[1],
            **{name: getattr(self, name) for name in named},
        )

    @functools.cached_property
    def bounds(self) -> dict[str, tuple[float, float] | None]:
        """Names of covariates, and between what they are clipped."""
        from privrank_jax.data.cells import number_of

        found: dict[str, tuple[float, float] | None] = {}
        for given in getattr(self, "covariates", None) or ():
            name, *ends = given.rsplit(":", 2) if given.count(":") >= 2 else (given,)
            low, high = map(number_of, ends or ("-1", "1"))
            if low is None or high is None or low >= high or not name:
                raise Refusal(
                    f"--covariate {given}: give the name of a column, or NAME:LOW:HIGH with two numbers, the lower "
                    "first, such as length:-3:3."
                )
            if name in found:
                raise Refusal(f"--covariate {name} is given twice.")
            found[name] = (low, high) if ends else None
        return found

    @functools.cached_property
    def weights(self) -> tuple[str | None, float | None]:
        """The column of weights and the largest one, as far as they are given."""
        from privrank_jax.data.cells import number_of

        given = getattr(self, "weight", None)
        name, _, last = (given or "").rpartition(":")
        if not name:
            return given or None, None
        try:
            most = float(last)
        except ValueError:
            return given, None
        if number_of(last) != most or most <= 0:
            raise Refusal(f"--weight {given}: MOST must be positive and finite.")
        return name, most


@command
def rank(request: Request) -> None:
    """Rank items by pairwise comparisons, under differential privacy."""
    request.check_files(Path(request.source), request.ledger)
    check_release(request)
    from privrank_jax.cli.reading import NO_EPSILON, check_randomized, read_data
    from privrank_jax.cli.show import publish
    from privrank_jax.cli.spend import begin
    from privrank_jax.data.randomized import Reports
    from privrank_jax.jobs.mechanisms import Randomness
    from privrank_jax.jobs.rank import ranked

    request.check_neighbors()
    if request.probabilities and request.method not in ("scores", "mle", "none"):
        raise Refusal(
            "--probabilities need scores with errors: take --method scores, or leave it out."
        )
    promise = request.promised
    columns = {"covariates": tuple(request.bounds), "weight": request.weights[0]}
    columns = {one: value for one, value in columns.items() if value}
    of_rows = bool({"covariates", "side", "covariate_group"} & (request.told | columns).keys())
    if request.private and promise is None:
        check_randomized(request, "reports")
    else:
        request.asked.check(promise, covariates=of_rows, weighted="weight" in columns)
    warn_unused(request, *_UNUSED)
    spending = begin("rank", request)
    data = read_data(request, *_KINDS, **columns, **_no_users(request))
    if isinstance(data, Reports):
        what = f"{data.name} holds reports (columns report and epsilon)"
        check_already_randomized(
            request, _FOR_REPORTS, ("epsilon", "noise", "delta"), what, "answers"
        )
    elif request.private and promise is None:
        raise Refusal(NO_EPSILON)
    source = Randomness(request.key, accept_idealized=request.accept_idealized)
    publish(ranked(data, promise, request.asked, source), request, "rank", spending)


def _no_users(request: Request) -> dict[str, Any]:
    """Users are not read where each comparison is protected by itself."""
    from privrank_jax.data.named import named_sets

    alone = request.user is None and request.private and request.unit == "comparison"
    return {"user": None} if alone and request.source not in named_sets() else {}
