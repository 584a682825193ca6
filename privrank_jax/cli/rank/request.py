"""The options of ``privrank rank``."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Annotated, ClassVar

import typer

from privrank_jax._neighbors import ADJACENCIES, COMPARISON_UNITS, SHAPED_ADJACENCIES
from privrank_jax._promise import Privacy
from privrank_jax.cli.console import Refusal, check_choice, warn
from privrank_jax.cli.core.checks import check_budget, check_rehearsal
from privrank_jax.cli.core.mechanisms import MECHANISMS
from privrank_jax.cli.core.request import (
    Blank,
    Budget,
    ComparisonColumns,
    Files,
    Items,
    Orders,
    Release,
)
from privrank_jax.cli.rank.column_options import ChoiceOptions, Covariates, Weighted

METHODS = ("scores", "counts", "one-shot", "none")
_OLD_NAMES = {"mle": "scores"}
TIES = ("half", "davidson")
INTERVALS = ("auto", "none")
LINKS = ("logistic", "laplace", "normal")
_MOST_PER_USER = 2**31 - 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class Request(
    Budget, ComparisonColumns, Weighted, Orders, ChoiceOptions, Covariates, Files, Release
):
    """The options of one run."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, Excel (.xlsx), JSON Lines or Parquet file (- is standard input) "
            "with a header row and one comparison, choice or ranking per row, a file of "
            "privrank privatize, or a named data set: coffee (made up, and part of the program), cemspc, immig, cars, "
            "cars2.",
        ),
    ]
    method: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="scores (fitted under privacy; also mle), counts (noisy win totals, for items that are compared "
            "equally often), one-shot (only the list of the top K), none (not private).",
        ),
    ] = "scores"
    unit: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="What is protected: user (all that a user said) or comparison."
        ),
    ] = "user"
    adjacency: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Neighboring data differ by one unit that answers differently (flip; who compared "
            "what is public), is replaced (replace), or is there or not (add-remove).",
        ),
    ] = "replace"
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
            "smaller then: about sqrt(C/L) times, with --max-per-user L.",
        ),
    ] = None
    top_k: Annotated[
        int | None, typer.Option(metavar="K", help="Publish only the K best; one-shot needs it.")
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
    blank: Blank = None
    items: Items = None
    level: Annotated[float, typer.Option(help="Confidence of the intervals.")] = 0.95
    intervals: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="auto: where who compared what is private, a tenth of epsilon buys noisy numbers of comparisons, from "
            "which intervals of scores follow; none: all of it goes to the scores.",
        ),
    ] = "auto"

    LIBRARY: ClassVar[dict[str, str]] = {"contributions": "max_per_user", "k": "top_k"}

    def __post_init__(self) -> None:
        object.__setattr__(self, "method", _OLD_NAMES.get(self.method, self.method))

    @property
    def private(self) -> bool:
        """Whether there is a promise."""
        return self.method != "none"

    @property
    def promised(self) -> Privacy | None:
        """The promise, if there is one."""
        return self.privacy if self.private else None

    @functools.cached_property
    def privacy(self) -> Privacy:
        """What is promised; the data say what one user gave, and what is public."""
        assert self.epsilon is not None
        shown = self.with_covariates and self.adjacency == "flip"
        public = ("covariates",) if shown else ()
        return Privacy(
            self.epsilon,
            unit=self.unit,
            adjacency=self.adjacency,
            delta=self.delta,
            public=public,
        )

    @property
    def mechanism(self) -> str:
        """Its name in the table of mechanisms."""
        if self.method == "one-shot":
            return "one-shot-top-k"
        if self.with_covariates and self.adjacency != "flip":
            return "perturbed-covariates"
        if self.with_covariates:
            return "covariate-ties" if self.ties == "davidson" else "covariate-sums"
        if self.ties == "davidson":
            return "noisy-tie-counts" if self.adjacency == "flip" else "perturbed-davidson"
        # Where it is public who compared what, noise on the totals is enough for a fit.
        on_totals = self.fits_totals and self.adjacency == "flip"
        return "noisy-counts" if self.method == "counts" or on_totals else "perturbed-mle"

    @property
    def fits_totals(self) -> bool:
        """Whether scores are fitted to noisy win totals where it is public how often each pair was compared."""
        return self.method == "scores" and self.link == "logistic" and self.weight is None

    @property
    def fits_questionnaire(self) -> bool:
        """Whether they are, where only the questions are public."""
        of_users = self.unit == "user" and self.adjacency == "replace"
        return self.fits_totals and of_users and self.mechanism == "perturbed-mle"

    @property
    def shapes_noise(self) -> bool:
        """Whether K-norm noise serves, if the data say which pairs all users were asked."""
        shaped = self.unit == "user" and self.adjacency in SHAPED_ADJACENCIES
        drawn = "noisy-counts" if self.fits_questionnaire else self.mechanism
        return shaped and "k-norm" in MECHANISMS[drawn].noises

    @property
    def noise_drawn(self) -> str:
        """The noise: as requested, or the default of the mechanism where the data give noise no shape."""
        return MECHANISMS[self.mechanism].noise_of(self.noise)

    def check(self) -> None:
        """Refuse invalid options before anything is loaded."""
        check_choice("--method", self.method, METHODS)
        check_choice("--unit", self.unit, COMPARISON_UNITS)
        check_choice("--adjacency", self.adjacency, ADJACENCIES)
        self._check_ties()
        self.check_scores()
        if self.blank and self.with_covariates:
            raise Refusal("--blank is for orders, which have no covariates.")
        if self.with_covariates:
            self._check_covariates()
        if self.weight is not None:
            self._check_weights()
        if self.max_per_user is not None and self.max_per_user < 1:
            raise Refusal(f"--max-per-user must be at least 1, got {self.max_per_user}.")
        if self.max_per_user is not None and self.max_per_user > _MOST_PER_USER:
            raise Refusal(
                f"--max-per-user must be at most {_MOST_PER_USER:,}; the noise grows with it, so use what users give."
            )
        if self.max_per_item is not None:
            self._check_per_item()
        check_rehearsal(self)
        if not self.private:
            unused = {"epsilon", "noise", "delta", "max_per_user", "simulate"}
            if unused & self.given:
                warn(
                    "--method none adds no noise: --epsilon, --noise, --delta, --max-per-user and --simulate are not "
                    "used."
                )
            return
        check_budget(self)
        if self.max_per_user is not None and self.unit == "comparison":
            raise Refusal(
                "--max-per-user bounds what one user gives and needs --unit user; with --unit comparison "
                "every comparison is protected on its own. Leave out one of the two."
            )
        if self.method == "one-shot" and self.top_k is None:
            raise Refusal(
                "--method one-shot selects a top list: give its length by --top-k, such as --top-k 3."
            )
        if self.noise == "k-norm" and not self.shapes_noise:
            raise Refusal(
                "--noise k-norm is for noise on win totals that protects users: it needs --unit user, --link logistic "
                "and --adjacency flip or replace; with covariates flip."
            )
        if self.noise_drawn not in (*MECHANISMS[self.mechanism].noises, "k-norm"):
            if self.method == "scores":
                raise Refusal(
                    "scores with covariates or --ties davidson have Laplace noise where who compared what is private: "
                    "leave --noise and --delta out."
                )
            raise Refusal(
                f"--method {self.method} publishes an ordered list under pure epsilon; leave --noise and --delta out "
                "(they would help only for lists of more than 16 ln(m/delta) items)."
            )

    def _check_per_item(self) -> None:
        """Refuse a bound for each item where it would not lower the noise."""
        on_totals = self.mechanism == "noisy-counts"
        if not (self.private and on_totals and self.noise == "gaussian" and self.unit == "user"):
            raise Refusal(
                "--max-per-item lowers Gaussian noise on win totals that protects users: it needs --unit user, --noise "
                "gaussian with a --delta, and --method counts, or scores with --adjacency flip. Or leave it out."
            )
        if self.max_per_item is None or self.max_per_item < 1:
            raise Refusal(f"--max-per-item must be at least 1, got {self.max_per_item}.")

    def _check_covariates(self) -> None:
        """Refuse covariates where no logistic model is fitted, or where they would have to be private."""
        if self.method not in ("scores", "none"):
            raise Refusal(
                "covariates are for fitted scores: leave --method out, or give --method none without privacy."
            )
        if self.link != "logistic":
            raise Refusal("covariates are fitted with --link logistic only; leave --link out.")
        if self.private and self.adjacency != "flip":
            self._check_private_covariates()
        if self.private and self.gamma == 0:
            raise Refusal(
                "--gamma must be positive for --method scores; leave it out for a good default."
            )
        _ = self.covariate_bounds

    def _check_private_covariates(self) -> None:
        """Refuse what would have to be read from the data where these are private."""
        open_ended = [name for name, ends in self.covariate_bounds.items() if ends is None]
        if open_ended:
            raise Refusal(
                f"--covariate {open_ended[0]} is private, so its range can't be read from the data: give bounds that "
                f"are known without looking, such as --covariate {open_ended[0]}:-3:3; or add --adjacency flip if "
                "covariates and who compared what are public."
            )
        if self.covariate_group:
            raise Refusal(
                "--covariate-group would publish which groups occur in the data: add --adjacency flip if covariates "
                "and who compared what are public; otherwise leave it out."
            )

    def _check_weights(self) -> None:
        """Refuse weights where no weighted fit is made, or where their bound would be read from the data."""
        others = (self.with_covariates, self.ties == "davidson")
        for of, given in zip(("covariates", "--ties davidson"), others, strict=True):
            if given:
                raise Refusal(f"--weight does not go with {of}: leave one of them out.")
        if self.private and (self.method != "scores" or self.adjacency == "flip"):
            raise Refusal(
                "--weight is for --method scores under --adjacency replace or add-remove, and for --method none."
            )
        if self.weights[1] is None and self.private:
            raise Refusal(
                "--weight needs a largest weight that is known without looking at the data: give "
                f"--weight {self.weight}:MOST, such as --weight {self.weight}:10; larger ones count as that."
            )

    def _check_ties(self) -> None:
        check_choice("--ties", self.ties, TIES)
        fits = self.method in ("scores", "none") and self.link == "logistic"
        if self.ties == "davidson" and not fits:
            raise Refusal(
                "--ties davidson is a model with the logistic link, fitted by --method scores, or without privacy by "
                "--method none. Use those, or --ties half."
            )

    def check_scores(self) -> None:
        """Refuse invalid options for scores, whether fitted to answers or to randomized reports."""
        check_choice("--link", self.link, LINKS)
        check_choice("--intervals", self.intervals, INTERVALS)
        if not 0 < self.level < 1:
            raise Refusal(f"--level must lie between 0 and 1, got {self.level:g}; 0.95 is usual.")
        if self.top_k is not None and self.top_k < 1:
            raise Refusal(f"--top-k must be at least 1, got {self.top_k}.")
        if self.gamma is not None and not 0 <= self.gamma < math.inf:
            raise Refusal(f"--gamma must be finite and at least 0, got {self.gamma:g}.")
