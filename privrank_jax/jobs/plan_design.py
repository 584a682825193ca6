"""What is planned, and a solved plan."""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._neighbors import ADJACENCIES
from privrank_jax._validate import check_choice
from privrank_jax.jobs.methods import CONSENSUS, check_trust
from privrank_jax.jobs.result import frame_of, html_of, text_of
from privrank_jax.jobs.rules import KEMENY, RULES

METHODS = tuple(name for name, of in CONSENSUS.items() if not of.lists and name != "scores")
OF_ORDER = ("pairs", "first", "place")
ERRORS = ("largest", *OF_ORDER, "cost")
_CHOICES: dict[str, tuple[Any, ...]] = {
    "link": ("logistic", "normal", "laplace"),
    "question": ("secret", "public"),
    "trust": (None, "central", "shuffled", "local"),
    "rule": (None, KEMENY, *RULES),
    "method": (None, *METHODS),
    "adjacency": ADJACENCIES,
    "error": (None, *ERRORS),
}
MOST_USERS, MOST_SHUFFLED, MOST_ENUMERATED = 10**15, 10**9, 12
_MOST_ITEMS = {"survey": 300, "scores": 300, "consensus": 100, "points": 1_000, "labels": 0}
_MOST_PER_USER, _MOST_EXPOSURE, _MOST_STEPS, _MOST_DRAWS = 10**6, 10.0, 32, 100_000
_OF_SURVEYS = ("link", "share_observed", "epsilon_max", "question")
_OF_SCORES = ("max_per_user", "exposure", "near", "ties", "steps")
_OF_RANKINGS = ("rankings", "method", "optimum", "rule")
_UNUSED = {  # by what is planned, and by the trust
    "survey": (*_OF_RANKINGS, "limit", *_OF_SCORES, "adjacency"),
    "scores": (*_OF_RANKINGS, "limit", *_OF_SURVEYS),
    "consensus": (*_OF_SURVEYS, "limit", *_OF_SCORES),
    "points": (*_OF_RANKINGS, *_OF_SURVEYS, *_OF_SCORES),
    "labels": (
        *(*_OF_RANKINGS, *_OF_SURVEYS, "items", "points", "limit", "spread", "confidence", "delta"),
        *("adjacency", "exposure", "near", "ties", "steps", "error", "top_k"),
    ),
    "local": ("delta",),
    "shuffled": ("share_observed", "epsilon_max"),
    "central": (),
}
_WHAT = {
    "survey": "a survey of comparisons",
    "scores": "scores that a curator publishes",
    "consensus": "a consensus of rankings",
    "points": "totals of points",
    "labels": "preference labels",
}
_TRUSTS = {"points": "central", "labels": "local"}
_ADDED = ("borda", "weights")  # as of aggregation.bounds.SUMMED, which takes time to import


@dataclasses.dataclass(frozen=True, repr=False)
class Plan:
    """A solved plan: ``print`` shows it in words, a notebook as HTML.

    Attributes:
        title: what is planned, in one line.
        opening: who sees which answers, and what ε counts for.
        columns: the table as text: cells by heading.
        paragraphs: the answer, and what is protected.
        facts: the numbers, by name.
        rows: the rows of a data frame: of a consensus one per method, else one.
        warnings: why the plan may not serve.
        draw: makes the figure.
    """

    title: str
    opening: str
    columns: dict[str, list[str]]
    paragraphs: tuple[str, ...]
    facts: dict[str, Any]
    rows: list[dict[str, Any]]
    warnings: tuple[str, ...]
    draw: Callable[[], Any]

    def __repr__(self) -> str:
        return f"<Plan {self.title!r}>"

    def __str__(self) -> str:
        table = text_of(self.title, self.columns, next(iter(self.columns)), self.paragraphs)
        return "\n".join([self.opening, "", table])

    def _repr_html_(self) -> str:
        below = (self.opening, *self.paragraphs)
        return html_of(self.title, self.columns, next(iter(self.columns)), below)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values, as ``privrank plan --json`` prints them."""
        return self.facts

    def to_frame(self) -> Any:
        """The rows as a data frame, as :meth:`~privrank_jax.jobs.result.Ranking.to_frame` makes it."""
        return frame_of(self.rows)

    def plot(self) -> Any:
        """A figure of errors, or of what labels are worth, by the number of users; and of the target.

        Raises:
            ImportError: matplotlib is not installed.
        """
        return self.draw()


class Design(types.SimpleNamespace):
    """The arguments of :func:`privrank_jax.jobs.plan.plan`, and what follows from them."""

    @property
    def kind(self) -> str:
        """What is planned: the names are those of what is not used, above."""
        if self.labels:
            return "labels"
        if self.points is not None:
            return "points"
        if self.rankings:
            return "consensus"
        return "scores" if self.trusted == "central" else "survey"

    @property
    def trusted(self) -> str:
        """The trust: as given, or the default of what is planned."""
        central = self.rankings or (self.points is not None and not self.labels)
        return self.trust or ("central" if central else "local")

    @property
    def most_users(self) -> int:
        """The largest number of users."""
        return MOST_SHUFFLED if self.trusted == "shuffled" else MOST_USERS

    @property
    def goal(self) -> str:
        """The error that the target refers to."""
        return self.error or ("cost" if self.kind == "consensus" else "largest")

    @property
    def certainty(self) -> float | None:
        """The probability with which the error stays below the target; None: on average."""
        if self.confidence is None and self.kind == "points" and self.goal == "largest":
            return 0.95
        return self.confidence

    @property
    def scored(self) -> str:
        """What an item has that errors are of."""
        return "mean of points" if self.kind == "points" else "score"

    @property
    def shown_first(self) -> int:
        """How many items the error of the first is about."""
        return min(self.top_k or 3, self.items)

    @property
    def pairs(self) -> int:
        """Number of pairs of items."""
        return self.items * (self.items - 1) // 2

    @property
    def share_answered(self) -> float:
        """Share of all pairs that a user answers."""
        return 1 / self.pairs if self.trusted == "shuffled" else self.share_observed

    @property
    def answers_per_user(self) -> float:
        """Expected number of comparisons of one user."""
        return self.share_answered * self.pairs

    def check(self, defaults: Mapping[str, inspect.Parameter]) -> None:
        """Refuse options that are out of range or don't go together."""
        for name, choices in _CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        most, many = _MOST_ITEMS[self.kind], self.most_users
        if self.items is None and self.kind != "labels":
            raise ValueError("give the number of items (--items).")
        largest = {"pairs": 0.5, "first": 1.0}.get(self.goal, math.inf)
        budgets = f"from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}; 1 is usual"
        for name, fits, words in (
            ("items", lambda m: 2 <= m <= most or not most, f"from 2 to {most:,} here"),
            ("limit", lambda k: k >= 1, "at least 1"),
            ("epsilon", lambda e: SMALLEST_EPSILON <= e <= LARGEST_EPSILON, budgets),
            ("epsilon_max", lambda e: SMALLEST_EPSILON <= e <= LARGEST_EPSILON, budgets),
            ("users", lambda n: 1 <= n <= many, f"from 1 to {many:,}"),
            ("target", lambda t: 0 < t < largest, f"positive and below {largest:g}"),
            ("spread", lambda s: 0 <= s < math.inf, "finite and at least 0"),
            ("share_observed", lambda p: 0 < p <= 1, "above 0 and not above 1"),
            ("confidence", lambda q: 0 < q < 1, "between 0 and 1"),
            ("delta", lambda d: 0 <= d < 1, "at least 0 and below 1"),
            ("optimum", lambda k: 0 <= k < math.inf, "finite and at least 0"),
            ("exposure", lambda p: 0 <= p <= _MOST_EXPOSURE, f"from 0 to {_MOST_EXPOSURE:g}"),
            ("max_per_user", lambda n: 1 <= n <= _MOST_PER_USER, f"from 1 to {_MOST_PER_USER:,}"),
            ("ties", lambda p: 0 <= p < 1, "at least 0 and below 1"),
            ("steps", lambda t: 1 <= t <= _MOST_STEPS, f"from 1 to {_MOST_STEPS}"),
            ("top_k", lambda k: 1 <= k <= (self.items or k), "from 1 to the number of items"),
            ("draws", lambda d: 2 <= d <= _MOST_DRAWS, f"from 2 to {_MOST_DRAWS:,}"),
            ("seed", lambda k: 0 <= k < 2**63, "at least 0 and below 2**63"),
        ):
            value = getattr(self, name)
            if value is not None and not fits(value):
                raise ValueError(f"{_option(name)} must be {words}, got {value}.")
        for name in (*_UNUSED[self.kind], *_UNUSED[self.trusted]):
            if getattr(self, name) != defaults[name].default:
                raise ValueError(
                    f"{_option(name)} does not apply to {_WHAT[self.kind]}, trust={self.trusted!r}: leave it out."
                )
        what, most, only = _WHAT[self.kind], self.epsilon_max, _TRUSTS.get(self.kind, self.trusted)
        fitting = ("cost", *OF_ORDER) if self.kind == "consensus" else ERRORS[:-1]
        balloted = self.kind in ("consensus", "points")
        for wrong, words in (
            (most is not None and not (self.epsilon or math.inf) <= most,
             "epsilon_max (--epsilon-max) needs a smaller epsilon (--epsilon), that of the most careful users."),
            ([self.epsilon, self.target, self.users].count(None) > 1,
             "give two of epsilon (--epsilon), target (--target) and users (--users) to get the third."),
            (self.trusted != only, f"{what} are planned for trust={only!r} (--trust {only}) alone."),
            (balloted and self.adjacency == "flip",
             f"{what} protect users under adjacency replace or add-remove."),
            (self.trusted == "shuffled" and not self.delta,
             "shuffled answers need a delta (--delta) above 0, such as 1/n**2 for n users: else it adds no privacy."),
            (self.goal not in fitting, f"error (--error) of {what} is {', '.join(fitting)}, not {self.goal}."),
            (self.goal in OF_ORDER and not self.spread,
             "items that are equally good have no right order: take a spread (--spread) above 0."),
            (self.goal == "first" and self.confidence is not None,
             "the error of the first items is a chance already: leave confidence (--confidence) out."),
            (self.kind == "scores" and self.max_per_user is None,
             'trust="central" needs max_per_user (--max-per-user), the number of comparisons of each user.'),
            (self.steps is not None and self.ties,
             "a leaderboard counts ties as half wins: leave ties (--ties) out."),
            *(self._refused_of_rankings() if self.kind == "consensus" else ()),
        ):  # fmt: skip
            if wrong:
                raise ValueError(words)

    def _refused_of_rankings(self) -> Iterator[tuple[bool, str]]:
        record, most = CONSENSUS[self.named], MOST_ENUMERATED
        alone = self.trusted == "central" and self.named in _ADDED
        yield (
            self.adjacency == "add-remove" and not alone,
            (
                "users who are added or removed (--adjacency add-remove) are protected by a curator alone, with method "
                f"{' or '.join(_ADDED)}: take trust='central' and leave method (--method) out."
            ),
        )
        too_many = self.named == "exponential" and self.items > most
        yield (
            too_many or (self.named, self.trusted) == ("kwiksort", "local"),
            (
                f"{self.named} is not simulated here (exponential is, for up to {most} items, kwiksort with "
                "trust='central'): take another method (--method)."
            ),
        )
        check_trust(record, self.trusted, CONSENSUS)
        yield (
            self.rule is not None and not record.solves,
            (
                f"{self.named} has no weights of all pairs, which a rule (--rule) ranks by: leave one of them out."
            ),
        )

    @property
    def named(self) -> str:
        """The method of a consensus: as given, else the one that serves any crowd, or that a rule needs."""
        if self.method is not None:
            return self.method
        if self.trusted != "central":
            return "noise-all" if self.rule else "borda"
        return "weights" if self.rule or self.adjacency == "replace" else "borda"

    def told(self, *names: str) -> dict[str, Any]:
        """Facts of the design, by name."""
        inner = {"trust": "trusted", "share_observed": "share_answered", "error_of_target": "goal"}
        return {name: getattr(self, inner.get(name, name)) for name in names}

    @property
    def of_answers(self) -> bool:
        """Whether ε counts for one answer, not for a user."""
        return self.kind == "survey" and self.trusted == "local"

    @property
    def share_of_scores(self) -> float:
        """Share of ε that is for scores; the rest is for intervals."""
        from privrank_jax.pairwise.private_design import DESIGN_SHARE

        whole = self.adjacency == "flip" or self.steps is not None
        return 1.0 if whole else 1 - DESIGN_SHARE

    def errors(self) -> dict[str, str]:
        """Names of errors, and what they are."""
        return {
            "largest": f"largest error of a {self.scored}",
            "cost": "cost above the best order, pairs per user",
            "pairs": "share of pairs in the wrong order",
            "first": f"chance that the first {self.shown_first} are not in the right order",
            "place": "mean error of a place",
        }

    def title(self) -> str:
        """What is planned, in one line."""
        if self.kind == "labels":
            return f"preference labels, {self.max_per_user or 1} of each user"
        if self.kind == "points":
            limited = f", at most {self.limit} items of one user" if self.limit else ""
            return f"points from {self.points} of {self.items} items{limited}"
        if self.kind == "consensus":
            rule = f", ranked by {self.rule}" if self.rule else ""
            return f"{self.items} items ({self.pairs} pairs), rankings, method {self.named}{rule}"
        shown = f"{self.link} model"
        if self.kind == "scores":
            shown = f"shown ∝ 1/rank^{self.exposure:g}" if self.exposure else "shown equally often"
            shown += ", opponents near in strength" * self.near
        return f"{self.items} items, {shown}, scores from {-self.spread:g} to {self.spread:g}"

    def opening(self, facts: Mapping[str, Any]) -> str:
        """Who sees which answers, and what ε counts for."""
        what, published = {
            "survey": ("answers", ""),
            "scores": ("answers", "scores with noise, as privrank rank does"),
            "consensus": ("rankings", "a noisy consensus, as privrank aggregate does"),
            "points": ("ballots", "noisy totals, as privrank aggregate --method scores does"),
            "labels": ("labels", ""),
        }[self.kind]
        if self.steps is not None:
            published = f"a leaderboard with noise after each of {self.steps} steps"
        seen = {
            "central": f"a curator sees all {what} and publishes only {published}",
            "local": f"users randomize their own {what} before sending them, so that nobody else sees one as meant",
            "shuffled": f"users randomize their own {what} before sending them, and a shuffler hides who sent which",
        }[self.trusted]  # fmt: skip
        opening = f"In this plan {seen} (--trust {self.trusted}). epsilon counts for a user."
        if self.of_answers:
            many = f"a user with about {self.answers_per_user:.4g} answers has epsilon = "
            opening = f"In this plan {seen} (--trust local). epsilon counts for one answer; {many}"
            opening += f"{facts['epsilon_per_user']:.3g} in all."
        if "local_epsilon" in facts:
            opening += f" Whoever sees an answer with its sender, as the shuffler does: {facts['local_epsilon']:.3g}."
        if self.kind == "scores" and self.share_of_scores < 1:
            opening += " A tenth of it is for intervals (rank --intervals none keeps it)."
        if self.adjacency == "add-remove":
            opening += " How many users there are is not published."
        return opening

    def protected(self, epsilon: float) -> str:
        """What is protected."""
        found = f"epsilon = {epsilon:.3g}" + f", delta = {self.delta:g}" * bool(self.delta)
        if self.of_answers:
            return f"One answer is protected with {found}; fewer of a user (--share-observed) protect users better."
        change = {
            "flip": "is answered differently",
            "replace": "is replaced by any other",
            "add-remove": "is added or removed",
        }[self.adjacency]
        whole = "all that the user gave"
        if self.kind == "scores":
            whole = f"what the user gave, at most {self.max_per_user:,} comparisons,"
        return f"A user is protected with {found}: against a change in which {whole} {change}."

    def figure(
        self,
        points: list[dict[str, float]],
        lines: dict[str, str],
        what: str,
        plan: tuple[float, float],
        epsilon: float,
    ) -> Callable[[], Any]:
        """What makes the figure of ``lines`` through points by users."""

        def draw() -> Any:
            from privrank_jax.plotting import planned_errors

            told = {"title": self.title(), "guarantee_text": self.protected(epsilon)}
            return planned_errors(points, lines, plan, target=self.target, y_label=what, **told)

        return draw

    def reached(self, epsilon: float, needed: int | None) -> str:
        """How the target is reached: by so many users, or by this ε."""
        if self.target is None:
            return "Give a target (--target) in place of the users or of epsilon to get these."
        goal = f"a {self.errors()[self.goal]} of at most {self.target:g}"
        goal += f", with probability {self.certainty:g}" if self.certainty else ", on average"
        if self.epsilon is None:
            return f"For {goal}, {self.users:,} users may each have epsilon = {epsilon:.3g}."
        if self.users is None:
            return f"For {goal}: {needed:,} users."
        if (more := (needed or 0) - self.users) > 0:
            return f"For {goal}: {more:,} more users."
        return f"{self.users:,} users are enough for {goal}."


def _option(name: str) -> str:
    return f"{name} (--{name.replace('_', '-')})"
