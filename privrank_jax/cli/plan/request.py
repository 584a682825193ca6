"""The options of ``privrank plan``."""

from __future__ import annotations

import dataclasses
import math
from typing import Annotated

import typer

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._neighbors import ADJACENCIES
from privrank_jax.cli.console import Refusal, check_choice
from privrank_jax.cli.core.request import Saved
from privrank_jax.cli.options import option

LINKS = ("logistic", "normal", "laplace")
TRUSTS = ("central", "shuffled", "local")
QUESTIONS = ("secret", "public")
METHODS = (
    "weights",
    "borda",
    "footrule",
    "noise-all",
    "exponential",
    "kwiksort",
    "hay-kwiksort",
)
_ONE_ANSWER = 1.01  # a share of pairs typed with three digits makes no more of one pair
MOST_ITEMS, MOST_USERS, MOST_SHUFFLED = 5_000, 10**15, 10**9
MOST_RELEASED, MOST_PER_USER, _MOST_EXPOSURE = 300, 10**6, 10.0


@dataclasses.dataclass(frozen=True, kw_only=True)
class Design(Saved):
    """A survey to plan: the options of one run."""

    items: Annotated[int, typer.Option(metavar="M", help="Number of items.")]
    rankings: Annotated[
        bool, typer.Option("--rankings", help="Plan a consensus of whole rankings, one per user.")
    ] = False
    epsilon: Annotated[
        float | None,
        typer.Option(
            help="Privacy budget of one answer, with --epsilon-max the smallest of them; of a user with --rankings, "
            "--trust central or --trust shuffled."
        ),
    ] = None
    epsilon_max: Annotated[
        float | None,
        typer.Option(help="Users choose budgets evenly between --epsilon and this."),
    ] = None
    target: Annotated[
        float | None,
        typer.Option(
            metavar="A",
            help="Error wanted: largest error of a score, in units of scores; with --rankings the pairs per user that "
            "the consensus may cost above the best one.",
        ),
    ] = None
    users: Annotated[int | None, typer.Option(metavar="N", help="Number of users.")] = None
    share_observed: Annotated[
        float, typer.Option(metavar="P", help="Share of all pairs that a user is asked.")
    ] = 1.0
    spread: Annotated[
        float,
        typer.Option(
            metavar="S",
            help="Scores to plan for, evenly from -S to S. At 1 the best of them beats the worst "
            "88 times of 100 (logistic).",
        ),
    ] = 1.0
    link: Annotated[
        str, typer.Option(metavar="NAME", help="Model: logistic, normal or laplace.")
    ] = "logistic"
    confidence: Annotated[
        float | None,
        typer.Option(
            metavar="Q",
            help="The error must stay below --target with this probability; with --rankings the proven one. Default: "
            "on average.",
        ),
    ] = None
    trust: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="local (each user randomizes the answers), shuffled (each user answers one question, and a shuffler "
            "hides who sent which answer; needs --delta) or central (a curator sees all answers; the default with "
            "--rankings; of comparisons it plans the scores of privrank rank, and needs --max-per-user).",
        ),
    ] = None
    shuffled: Annotated[bool, typer.Option("--shuffled", help="The same as --trust shuffled.")] = (
        False
    )
    delta: Annotated[
        float, typer.Option(metavar="D", help="Of shuffled reports, or of Gaussian noise.")
    ] = 0.0
    question: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Shuffled comparisons: secret (each user draws one of the pairs, and nobody else learns which) or "
            "public (it is known who answers for which pair, equally many for each).",
        ),
    ] = "secret"
    method: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="With --rankings: plan for one method only, as of privrank aggregate.",
        ),
    ] = None
    max_per_user: Annotated[
        int | None,
        typer.Option(
            metavar="L",
            help="With --trust central: comparisons of each user, as for privrank rank.",
        ),
    ] = None
    adjacency: Annotated[
        str,
        typer.Option(metavar="NAME", help="With --trust central: as for privrank rank."),
    ] = "replace"
    exposure: Annotated[
        float,
        typer.Option(
            metavar="POWER",
            help="With --trust central: items are shown in proportion to 1/rank^POWER, 0 equally often.",
        ),
    ] = 0.0
    near: Annotated[
        bool,
        typer.Option(
            "--near", help="With --trust central: opponents are near in strength, else random."
        ),
    ] = False
    error: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="With --trust central, what --target is: largest (error of a score) or pairs (share of pairs in the "
            "wrong order).",
        ),
    ] = "largest"
    optimum: Annotated[
        float | None,
        typer.Option(
            metavar="K",
            help="With --rankings: the best order costs at most K pairs per user, as is publicly known. Default: "
            "nothing is known.",
        ),
    ] = None

    @property
    def criterion(self) -> str:
        """The error that the target refers to."""
        return "expected" if self.confidence is None else "upper"

    @property
    def certainty(self) -> float:
        """The probability with which the upper error holds: as given, or the usual one."""
        return self.confidence or 0.95

    @property
    def error_meant(self) -> str:
        """The error that the target of a curator's scores refers to."""
        return "wrong_pairs" if self.error == "pairs" else self.criterion

    @property
    def of_curator(self) -> bool:
        """Whether scores are planned that a curator publishes."""
        return self.trusted == "central" and not self.rankings

    @property
    def trusted(self) -> str:
        """The trust: as given, or the default of what is planned."""
        if self.shuffled:
            return "shuffled"
        return self.trust or ("central" if self.rankings else "local")

    @property
    def share_answered(self) -> float:
        """Share of all pairs that a user answers."""
        if self.trusted == "shuffled":
            return 2 / (self.items * (self.items - 1))
        return self.share_observed

    @property
    def answers_per_user(self) -> float:
        """Expected number of comparisons of one user."""
        return self.share_answered * self.items * (self.items - 1) / 2

    @property
    def several_answers(self) -> bool:
        """Whether the average user answers for more than about one pair."""
        return self.answers_per_user > _ONE_ANSWER

    def check(self) -> None:
        """Refuse options that are out of range or don't go together, and files that could not be written."""
        check_choice("--link", self.link, LINKS)
        if self.items < 2:
            raise Refusal(f"--items {self.items}: a ranking needs at least 2 items.")
        if self.items > MOST_ITEMS:
            raise Refusal(
                f"--items must be at most {MOST_ITEMS:,}, since a plan works with all pairs; errors change little "
                "beyond."
            )
        given = {
            "--epsilon": self.epsilon,
            "--epsilon-max": self.epsilon_max,
            "--target": self.target,
            "--users": self.users,
            "--spread": self.spread,
        }
        for name, value in given.items():
            lowest_allowed = 0 if name == "--spread" else math.ulp(0.0)
            if value is not None and not (lowest_allowed <= value < math.inf):
                raise Refusal(f"{name} {value} must be a positive, finite number.")
            low, high = SMALLEST_EPSILON, LARGEST_EPSILON
            if name.startswith("--epsilon") and value is not None and not low <= value <= high:
                raise Refusal(
                    f"{name} {value:g} must lie between {low:g} and {high:g}; 1 is usual."
                )
            if name == "--users" and value is not None and value > MOST_USERS:
                raise Refusal(f"--users must be at most {MOST_USERS:,}.")
        if not 0 < self.share_observed <= 1:
            raise Refusal(
                f"--share-observed {self.share_observed} must lie above 0 and not above 1."
            )
        if self.confidence is not None and not 0 < self.confidence < 1:
            raise Refusal(f"--confidence {self.confidence} must lie between 0 and 1.")
        if self.epsilon_max is not None:
            if self.epsilon is None:
                raise Refusal("--epsilon-max needs --epsilon, the smallest budget.")
            if self.epsilon_max < self.epsilon:
                raise Refusal(
                    f"--epsilon-max {self.epsilon_max:g} is below --epsilon {self.epsilon:g}."
                )
        if sum(value is None for value in (self.epsilon, self.target, self.users)) > 1:
            raise Refusal("give two of --epsilon, --target and --users to get the third.")
        self._check_kind()
        self.check_files()

    def _check_kind(self) -> None:
        """Refuse options that don't apply to what is planned."""
        if self.trust is not None:
            check_choice("--trust", self.trust, TRUSTS)
        if self.shuffled and self.trust not in (None, "shuffled"):
            raise Refusal(f"--shuffled is --trust shuffled: leave --trust {self.trust} out.")
        check_choice("--question", self.question, QUESTIONS)
        only = ("link", "share_observed", "epsilon_max", "question")
        others = ("method", "optimum")
        what = "a consensus of rankings" if self.rankings else "a survey of comparisons"
        for name in only if self.rankings else others:
            if name in self.given:
                raise Refusal(f"{option(name)} does not apply to {what}: leave it out.")
        if not 0 <= self.delta < 1:
            raise Refusal(f"--delta must be at least 0 and below 1, got {self.delta:g}.")
        if self.trusted == "shuffled":
            self._check_shuffled()
        elif self.delta and self.trusted == "local":
            raise Refusal(
                "--delta is for shuffled reports, and for Gaussian noise with --rankings: leave it out."
            )
        if self.of_curator:
            self._check_curator()
        elif given := sorted(
            {"max_per_user", "adjacency", "exposure", "near", "error"} & self.given
        ):
            raise Refusal(
                f"{option(given[0])} is for scores that a curator publishes: add --trust central, without --rankings."
            )
        if self.method is not None:
            check_choice("--method", self.method, METHODS)
        if self.optimum is not None and not 0 <= self.optimum < math.inf:
            raise Refusal(f"--optimum {self.optimum} must be finite and at least 0.")

    def _check_curator(self) -> None:
        check_choice("--adjacency", self.adjacency, ADJACENCIES)
        check_choice("--error", self.error, ("largest", "pairs"))
        if self.max_per_user is None or not 1 <= self.max_per_user <= MOST_PER_USER:
            raise Refusal(
                "--trust central needs --max-per-user L, the number of comparisons of each user, from 1 to "
                f"{MOST_PER_USER:,}."
            )
        if not 0 <= self.exposure <= _MOST_EXPOSURE:
            raise Refusal(
                f"--exposure must lie between 0 and {_MOST_EXPOSURE}, got {self.exposure:g}."
            )
        if self.error == "pairs" and self.target is not None and not self.target < 0.5:
            raise Refusal(
                "--target must be below 0.5 with --error pairs: a coin has half of all pairs wrong."
            )
        if self.items > MOST_RELEASED:
            raise Refusal(f"--items must be at most {MOST_RELEASED:,} with --trust central.")
        for name in ("link", "share_observed", "epsilon_max", "question", "delta"):
            if name in self.given:
                raise Refusal(f"{option(name)} does not apply to --trust central: leave it out.")

    def _check_shuffled(self) -> None:
        if not self.delta:
            raise Refusal(
                "--trust shuffled needs a --delta above 0; a common choice is 1/n**2 for n users. With pure epsilon, "
                "shuffling adds no privacy."
            )
        if {"share_observed", "epsilon_max"} & self.given:
            raise Refusal(
                "--trust shuffled is planned for users who answer for one pair each, all with the same epsilon: "
                "leave --share-observed and --epsilon-max out."
            )
        if self.users is not None and self.users > MOST_SHUFFLED:
            raise Refusal(f"--users must be at most {MOST_SHUFFLED:,} with --trust shuffled.")
