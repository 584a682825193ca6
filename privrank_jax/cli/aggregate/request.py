"""The options of ``privrank aggregate``."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Annotated, ClassVar

import typer

from privrank_jax._promise import FOOTRULE_NOISES, SHAPED_NOISES, Privacy
from privrank_jax.cli.console import Refusal, check_choice, warn
from privrank_jax.cli.core.checks import check_budget, check_rehearsal
from privrank_jax.cli.core.mechanisms import MECHANISMS
from privrank_jax.cli.core.request import Budget, Files, Items, RankingColumns, Release

METHODS = ("auto", "weights", "borda", "kwiksort", "noise-all", "footrule", "exponential", "none")
TRUSTS = ("central", "shuffled", "local")
MISSING = ("last", "unknown")
# Mechanisms by method and trust. Local reports of real numbers need consent; otherwise each user answers for one pair.
_CENTRAL = {
    "borda": "dp-borda",
    "kwiksort": "dp-kwiksort",
    "noise-all": "noise-all",
    "weights": "private-weights",
    "footrule": "dp-footrule",
    "exponential": "exponential-kemeny",
}
_LOCAL = {
    "borda": "ldp-borda",
    "kwiksort": "ldp-kwiksort",
    "noise-all": "local-weights",
    "footrule": "ldp-footrule",
}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(Budget, RankingColumns, Files, Release):
    """The options of one run."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, Excel (.xlsx), JSON Lines, Parquet or PrefLib file (.soc, .soi, .toc, .toi; - is "
            "standard input), or a named data set: coffee-rankings "
            "(made up, and part of the program), sushi, apa, apa1998 to apa2009, "
            "aspen, aspen-mayor, german, nascar, potato, potato-weighing, salad.",
        ),
    ]
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto (weights, or borda where noise is large), weights (the best ranking for noisy majorities whose "
            "cycles are reduced by as much as may be noise; central only), borda (noisy mean scores), kwiksort (a "
            "sort by noisy majorities), noise-all (the best ranking for noisy majorities of all pairs), "
            "footrule (the least sum of distances to noisy positions, proven within twice the fewest disagreements "
            "but for the noise; not for shuffled reports), "
            "exponential (a random ranking, better ones more likely; central only, up to 20 items), none (not "
            "private: the best ranking, with a proof).",
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
    missing: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Meaning of an item that a user did not rank: last (behind all that were ranked) or unknown "
            "(half a vote to either side of each pair). Default: last; of ratings, and nascar: unknown.",
        ),
    ] = None
    xi: Annotated[
        float,
        typer.Option(
            metavar="X",
            help="none, weights and noise-all: accept a ranking proven to cost at most 1 + X times the smallest cost.",
        ),
    ] = 0.0
    items: Items = None
    users: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Public number of all users, for a file with a row for each user and item: those who ranked nothing "
            "have no row there. Default: the users with a row; that no others took part is then public.",
        ),
    ] = None

    LIBRARY: ClassVar[dict[str, str]] = {"num_users": "users"}

    @property
    def private(self) -> bool:
        """Whether the method is private."""
        return self.method != "none"

    @property
    def local(self) -> bool:
        """Whether users randomize their own rankings, and no one hides who sent which report."""
        return self.private and self.trust == "local"

    @property
    def shuffled(self) -> bool:
        """Whether a shuffler hides who sent which report."""
        return self.private and self.trust == "shuffled"

    @property
    def at_home(self) -> bool:
        """Whether users randomize their own rankings, whatever happens to their reports."""
        return self.local or self.shuffled

    @property
    def promised(self) -> Privacy | None:
        """The promise, if there is one."""
        return self.privacy if self.private else None

    @functools.cached_property
    def privacy(self) -> Privacy:
        """The promise as far as the options define it; the data add what is public."""
        assert self.epsilon is not None
        return Privacy(self.epsilon, unit="user", adjacency="replace", delta=self.delta)

    @property
    def mechanism(self) -> str:
        """Name in the table of mechanisms; auto counts as borda, which offers the same noises."""
        if self.shuffled:
            return "shuffled-pair-weights"
        method = "borda" if self.method == "auto" else self.method
        if not self.local:
            return _CENTRAL[method]
        if method in ("kwiksort", "footrule") or self.accept_idealized:
            return _LOCAL[method]
        return "one-pair-weights"

    @property
    def noise_drawn(self) -> str:
        """The noise: as requested, or the default of the mechanism."""
        return MECHANISMS[self.mechanism].noise_of(self.noise)

    def check(self) -> None:
        """Refuse invalid options before anything is loaded."""
        check_choice("--method", self.method, METHODS)
        check_choice("--trust", self.trust, TRUSTS)
        if self.missing is not None:
            check_choice("--missing", self.missing, MISSING)
        if not 0 <= self.xi < math.inf:
            raise Refusal(f"--xi must be finite and at least 0, got {self.xi:g}.")
        if self.xi and self.method not in ("none", "weights", "noise-all"):
            raise Refusal(
                "--xi is for the methods that look for the best ranking, --method none, weights and noise-all."
            )
        if self.users is not None and self.users < 1:
            raise Refusal(f"--users must be at least 1, got {self.users}.")
        check_rehearsal(self)
        if not self.private:
            if {"epsilon", "noise", "delta", "simulate", "trust"} & self.given:
                warn(
                    "--method none adds no noise: --epsilon, --noise, --delta, --trust and --simulate are not used."
                )
            return
        if self.shuffled:
            self._check_shuffled()
            return
        central = self.method == "footrule" and not self.local
        check_budget(self, FOOTRULE_NOISES if central else SHAPED_NOISES)
        if self.method in ("exponential", "weights") and self.local:
            raise Refusal(
                f"--method {self.method} needs someone who holds all rankings; with --trust local use --method borda, "
                "kwiksort, noise-all or footrule."
            )
        noises = MECHANISMS[self.mechanism].noises
        if self.noise_drawn not in noises:
            which = "--trust local" if self.local else f"--method {self.method}"
            if len(noises) == 1:
                raise Refusal(f"{which} gives pure epsilon; leave --noise and --delta out.")
            raise Refusal(
                f"{which} has no {self.noise} noise: use --noise {' or '.join(noises)}, or leave --noise out."
            )

    def _check_shuffled(self) -> None:
        """Refuse options that shuffled reports don't have."""
        if self.noise is not None:
            raise Refusal("--trust shuffled adds no noise to sums: leave --noise out.")
        check_budget(self, mechanism=MECHANISMS[self.mechanism])
        if self.method not in ("auto", "borda", "noise-all"):
            raise Refusal(
                f"--method {self.method} does not work on shuffled reports; use --method borda or noise-all, or auto."
            )
