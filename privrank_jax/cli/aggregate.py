"""``privrank aggregate``: one private consensus from rankings."""

from __future__ import annotations

import dataclasses
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privrank_jax._promise import Privacy
from privrank_jax.cli.checks import check_already_randomized, check_release, warn_unused
from privrank_jax.cli.console import Refusal
from privrank_jax.cli.options import command
from privrank_jax.cli.request import Budget, Files, Release
from privrank_jax.jobs.methods import CONSENSUS, described, solvers
from privrank_jax.jobs.rules import HELP as RULES_HELP
from privrank_jax.jobs.rules import KEMENY

if TYPE_CHECKING:
    from privrank_jax.jobs.consensus import Asked

HELP = (
    "Release a consensus of many rankings, ratings or approvals under differential privacy.\n\n"
    "Prints the consensus and the guarantee in words: little can be learned about any one user's whole ranking. The "
    "noise "
    "comes from the entropy of the operating system. Everything on standard output is covered by the guarantee; "
    "remarks for "
    "the holder of the data go to standard error. Synthetic rankings that privrank privatize wrote are debiased, and "
    "spend "
    "nothing more.\n\n"
    "Examples:\n\n"
    "  privrank aggregate ballots.csv --epsilon 1 --items Q1_1..Q1_9\n\n"
    "  privrank aggregate stars.csv --epsilon 1 --items seen --ratings 1:5 --user voter\n\n"
    "  privrank aggregate approvals.csv --epsilon 1 --items tea,milk,water --approvals --top-k 2\n\n"
    "  privrank aggregate votes.toi --method none     (the best ranking there is, with a proof)"
)
_FOR_SYNTHETIC = (
    "source",
    "separator",
    "encoding",
    "sheet",
    "method",
    "missing",
    "xi",
    "items",
    "user",
    "json",
)
_FOR_SYNTHETIC += ("top_k", "rule", "matrix", "out")
_UNUSED = ("epsilon", "noise", "delta", "trust", "points", "limit", "adjacency", "simulate")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Budget, Files, Release):
    """The options of one run."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, Excel (.xlsx), JSON Lines, Parquet, PrefLib, OpaVote (.blt) or Pabulib file (.pb; - is "
            "standard "
            "input); or a named data set: coffee-rankings, sushi, apa, apa1998 to apa2009, aspen, aspen-mayor, german, "
            "nascar, potato, potato-weighing, salad.",
        ),
    ]
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto (weights, or borda where noise is large; of approvals scores, or with --top-k top-k), "
            f"{described(CONSENSUS)}, none (not private: the best ranking, with a proof).",
        ),
    ] = "auto"
    trust: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="central (you hold the rankings and publish the consensus), local (each user randomizes "
            "their own ranking; on a file, the users' side is simulated) or shuffled (likewise, with far less noise, "
            "since a shuffler that you trust removes names and order from the reports; needs --delta).",
        ),
    ] = "central"
    xi: Annotated[
        float,
        typer.Option(
            metavar="X",
            help=f"none, {solvers(CONSENSUS)}: accept a ranking proven to cost at most 1 + X times the "
            "smallest cost.",
        ),
    ] = 0.0
    rule: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"none, {solvers(CONSENSUS)}: how the noisy majorities of all pairs become an order, which costs "
            f"nothing more: {RULES_HELP}. Without --method it takes weights, or noise-all where users randomize.",
        ),
    ] = None
    matrix: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Methods as for --rule: write the shares of users who rank the item of a row before that of a column, "
            "with the noise, for other tools (.csv, .tsv, .xlsx, .json).",
        ),
    ] = None
    points: Annotated[
        str | None,
        typer.Option(
            metavar="LOW-HIGH",
            help="scores, top-k and the like: the least and the most points that a user may give an item, as on the "
            "ballot, such as 0-5. Default: 0-1 for --approvals.",
        ),
    ] = None
    limit: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="scores, top-k and the like: the most items that a user may approve of, or give points to; a ballot "
            "with more counts as blank. Default: any number.",
        ),
    ] = None
    top_k: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="Show only the K best. Of approvals, without --method, that is all that is published, for which "
            "noise need not grow with the number of items.",
        ),
    ] = None
    adjacency: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Neighboring data differ by one user who is replaced (replace), or is there or not (add-remove, of "
            "borda, weights, scores and top K: half the noise, and the number of users is private).",
        ),
    ] = "replace"

    @property
    def promised(self) -> Privacy | None:
        """The promise, if there is one; the data say what is public, and what a user is."""
        if not self.private or self.epsilon is None:
            return None
        return Privacy(self.epsilon, unit="user", adjacency=self.adjacency, delta=self.delta)

    @functools.cached_property
    def asked(self) -> Asked:
        """What is asked of the consensus."""
        from privrank_jax.jobs.consensus import Asked

        method = self.method if self.private else "auto"
        rule = KEMENY if self.matrix and self.rule is None else self.rule
        named = {"trust": self.trust, "noise": self.noise, "xi": self.xi, "rule": rule}
        named["top_k"] = self.top_k
        if self.private:
            named |= {"points": self.points, "limit": self.limit}
        asked = Asked(method=method, accepts=self.accept_idealized, **named)
        if self.private:
            return asked
        asked.check(None)  # trust and noise are not used, and must be some that there are
        return dataclasses.replace(asked, trust="central", noise=None)


@command
def aggregate(request: Request) -> None:
    """Release a consensus of many rankings under differential privacy."""
    request.check_files(Path(request.source), request.ledger)
    check_release(request)
    from privrank_jax.cli.reading import NO_EPSILON, check_randomized, read_data
    from privrank_jax.cli.show import publish
    from privrank_jax.cli.spend import begin
    from privrank_jax.data.randomized import SyntheticRankings
    from privrank_jax.jobs.consensus import agreed
    from privrank_jax.jobs.mechanisms import Randomness

    promise, asked = request.promised, request.asked
    warn_unused(request, *_UNUSED)
    if request.private and promise is None:
        check_randomized(request, "synthetic")
    else:
        asked.check(promise)
    spending = begin("aggregate", request)
    data = read_data(request, "rankings", "synthetic")
    if isinstance(data, SyntheticRankings):
        what = f"{request.source} holds synthetic rankings"
        budget = ("epsilon", "noise", "delta", "trust")
        check_already_randomized(request, _FOR_SYNTHETIC, budget, what, "rankings")
        asked = dataclasses.replace(asked, method=request.method)
    elif request.private and promise is None:
        raise Refusal(NO_EPSILON)
    source = Randomness(request.key, accept_idealized=request.accept_idealized)
    publish(agreed(data, promise, asked, source), request, "aggregate", spending)
