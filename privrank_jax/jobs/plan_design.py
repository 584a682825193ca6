"""What is planned, in one record per kind; the options that fit it; and a solved plan."""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
from collections.abc import Callable, Mapping
from typing import Any

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._neighbors import ADJACENCIES
from privrank_jax._promise import Privacy
from privrank_jax.jobs.methods import CONSENSUS, TRUSTS, check_trust
from privrank_jax.jobs.rules import KEMENY, RULES

METHODS = tuple(name for name, of in CONSENSUS.items() if not of.lists and name != "scores")
OF_ORDER = ("pairs", "first", "place")
MOST_ENUMERATED = 12
_OF_ANY = ("epsilon", "target", "users", "trust", "draws", "seed", "progress")
_UNTOLD = ("epsilon", "target", "users", "draws", "seed", "progress")  # by the title
_SIMULATED = (*_OF_ANY, "items", "error", "top_k", "confidence", "spread", "delta")
_NOT_OF_TRUST = {"local": ("delta",), "shuffled": ("share_observed", "epsilon_max"), "central": ()}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Kind:
    """One kind of plans.

    Attributes:
        what: what is planned.
        given: what users give.
        published: what a curator publishes of it.
        options: arguments that are for this kind, besides those of all that are simulated.
        facts: further facts of a plan.
        trusts: that it works with, the usual one first.
        adjacencies: that it works with.
        errors: that a target may be about, the usual one first.
        most_items: the largest number of items.
    """

    what: str
    given: str = "answers"
    published: str = ""
    options: tuple[str, ...]
    facts: tuple[str, ...] = ()
    trusts: tuple[str, ...] = ("central",)
    adjacencies: tuple[str, ...] = ("replace", "add-remove")
    errors: tuple[str, ...] = ("largest", *OF_ORDER)
    most_items: int = 300


KINDS = {
    "survey": Kind(
        what="a survey of comparisons",
        options=(*_SIMULATED, "link", "share_observed", "epsilon_max", "question"),
        facts=("link", "share_observed", "answers_per_user"),
        trusts=("local", "shuffled"),
    ),
    "scores": Kind(
        what="scores that a curator publishes",
        published="scores with noise, as privrank rank does",
        options=(*_SIMULATED, "adjacency", "max_per_user", "exposure", "near", "ties", "steps"),
        facts=("max_per_user", "exposure", "near", "ties", "steps", "share_of_scores"),
        adjacencies=ADJACENCIES,
    ),
    "consensus": Kind(
        what="a consensus of rankings",
        given="rankings",
        published="a noisy consensus, as privrank aggregate does",
        options=(*_SIMULATED, "adjacency", "rankings", "method", "optimum", "rule"),
        facts=("pairs", "rule", "optimum"),
        trusts=TRUSTS,
        errors=("cost", *OF_ORDER),
        most_items=100,
    ),
    "points": Kind(
        what="totals of points",
        given="ballots",
        published="noisy totals, as privrank aggregate --method scores does",
        options=(*_SIMULATED, "adjacency", "points", "limit"),
        facts=("points", "limit"),
        most_items=1_000,
    ),
    "labels": Kind(
        what="preference labels",
        given="labels",
        options=(*_OF_ANY, "labels", "max_per_user"),
        trusts=("local",),
        errors=("",),
    ),
}


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
        from privrank_jax.jobs.result import text_of

        table = text_of(self.title, self.columns, next(iter(self.columns)), self.paragraphs)
        return f"{self.opening}\n\n{table}"

    def _repr_html_(self) -> str:
        from privrank_jax.jobs.result import html_of

        below = (self.opening, *self.paragraphs)
        return html_of(self.title, self.columns, next(iter(self.columns)), below)

    def to_dict(self) -> dict[str, Any]:
        """The numbers as plain values, as ``privrank plan --json`` prints them."""
        return self.facts

    def to_frame(self) -> Any:
        """The rows as a data frame, as :meth:`~privrank_jax.jobs.result.Ranking.to_frame` makes it."""
        from privrank_jax.jobs.result import frame_of

        return frame_of(self.rows)

    def plot(self) -> Any:
        """A figure of errors, or of what labels are worth, by the number of users; and of the target.

        Raises:
            ImportError: matplotlib is not installed.
        """
        return self.draw()


class Design(types.SimpleNamespace):
    """The arguments of :func:`privrank_jax.jobs.plan.plan`, and what follows from them.

    Raises:
        ValueError: an argument is out of range, or does not fit the others.
    """

    def __init__(self, parameters: Mapping[str, inspect.Parameter], **given: Any) -> None:
        super().__init__(**given, parameters=parameters)
        balloted = "points" if self.points is not None else "consensus" if self.rankings else ""
        compared = "scores" if self.trust == "central" else "survey"
        self.kind = "labels" if self.labels else balloted or compared
        self.of = KINDS[self.kind]
        self.trusted = self.trust or self.of.trusts[0]
        self.goal: str = self.error or self.of.errors[0]
        self.certainty = self.confidence
        if self.certainty is None and (self.kind, self.goal) == ("points", "largest"):
            self.certainty = 0.95
        self.most_users = 10**9 if self.trusted == "shuffled" else 10**15
        self._check()
        self.pairs = self.items * (self.items - 1) // 2 if self.items else 0
        self.shown_first = min(self.top_k or 3, self.items or 0)
        self.of_answers = (self.kind, self.trusted) == ("survey", "local")  # ε is of one answer
        if self.trusted == "shuffled":
            self.share_observed = 1 / self.pairs
        self.answers_per_user = self.share_observed * self.pairs

    def _check(self) -> None:
        from privrank_jax._validate import check_choice

        of, parameters = self.of, self.parameters
        unused = {*parameters}.difference(of.options) | {*_NOT_OF_TRUST.get(self.trusted, ())}
        for name in parameters:
            if name in unused and getattr(self, name) != parameters[name].default:
                raise ValueError(
                    f"`{name}` does not apply to {of.what} with trust={self.trusted!r}: leave it out."
                )
        for name, choices in {
            "link": ("logistic", "normal", "laplace"),
            "question": ("secret", "public"),
            "trust": (None, *(TRUSTS if self.kind in ("survey", "scores") else of.trusts)),
            "rule": (None, KEMENY, *RULES),
            "method": (None, *METHODS),
            "adjacency": of.adjacencies,
            "error": (None, *of.errors),
        }.items():
            check_choice(name, getattr(self, name), choices)
        if self.items is None and self.kind != "labels":
            raise ValueError("give the number of items by `items`.")
        largest = {"pairs": 0.5, "first": 1.0}.get(self.goal, math.inf)
        budgets = f"from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}; 1 is usual"
        for name, fits, words in (
            ("items", lambda m: 2 <= m <= of.most_items, f"from 2 to {of.most_items:,} here"),
            ("limit", lambda k: k >= 1, "at least 1"),
            ("epsilon", lambda e: SMALLEST_EPSILON <= e <= LARGEST_EPSILON, budgets),
            ("epsilon_max", lambda e: (self.epsilon or math.inf) <= e <= LARGEST_EPSILON, "above `epsilon`"),
            ("users", lambda n: 1 <= n <= self.most_users, f"from 1 to {self.most_users:,}"),
            ("target", lambda t: 0 < t < largest, f"positive and below {largest:g}"),
            ("spread", lambda s: 0 <= s < math.inf, "finite and at least 0"),
            ("share_observed", lambda p: 0 < p <= 1, "above 0 and not above 1"),
            ("confidence", lambda q: 0 < q < 1, "between 0 and 1"),
            ("delta", lambda d: 0 <= d < 1, "at least 0 and below 1"),
            ("optimum", lambda k: 0 <= k < math.inf, "finite and at least 0"),
            ("exposure", lambda p: 0 <= p <= 10, "from 0 to 10"),
            ("max_per_user", lambda n: 1 <= n <= 10**6, "from 1 to a million"),
            ("ties", lambda p: 0 <= p < 1, "at least 0 and below 1"),
            ("steps", lambda t: 1 <= t <= 32, "from 1 to 32"),
            ("top_k", lambda k: 1 <= k <= self.items, "from 1 to the number of items"),
            ("draws", lambda d: 2 <= d <= 100_000, "from 2 to 100,000"),
            ("seed", lambda k: 0 <= k < 2**63, "at least 0 and below 2**63"),
        ):  # fmt: skip
            value = getattr(self, name)
            if value is not None and not fits(value):
                raise ValueError(f"`{name}` must be {words}, got {value}.")
        self._check_together()

    def _check_together(self) -> None:
        for wrong, words in (
            ([self.epsilon, self.target, self.users].count(None) > 1,
             "give two of `epsilon`, `target` and `users` to get the third."),
            (self.trusted == "shuffled" and not self.delta,
             "shuffled answers need a `delta` above 0, such as 1/n**2 for n users: else it adds no privacy."),
            (self.goal in OF_ORDER and not self.spread,
             "items that are equally good have no right order: take a `spread` above 0."),
            (self.goal == "first" and self.confidence is not None,
             "the error of the first items is a chance already: leave `confidence` out."),
            (self.kind == "scores" and self.max_per_user is None,
             "trust='central' needs `max_per_user`, the number of comparisons of each user."),
            (self.steps is not None and self.ties, "a leaderboard counts ties as half wins: leave `ties` out."),
        ):  # fmt: skip
            if wrong:
                raise ValueError(words)
        if self.kind != "consensus":
            return
        named, record, local = self.named, CONSENSUS[self.named], self.trusted == "local"
        check_trust(record, self.trusted, CONSENSUS)
        many = named == "exponential" and self.items > MOST_ENUMERATED
        if many or (named == "kwiksort" and local):
            raise ValueError(
                f"method={named!r} is not simulated here, but 'exponential' for up to {MOST_ENUMERATED} items and "
                "'kwiksort' with trust='central': take another `method`."
            )
        if self.rule is not None and not record.solves:
            raise ValueError(
                f"method={named!r} gives no weights of all pairs, by which a `rule` ranks: leave one of them out."
            )
        if self.adjacency not in record.adjacencies[: None if self.trusted == "central" else 1]:
            others = [name for name in METHODS if self.adjacency in CONSENSUS[name].adjacencies]
            raise ValueError(
                f"adjacency={self.adjacency!r} is for trust='central' alone, with method "
                f"{' or '.join(map(repr, others))}: take one of these."
            )

    def promise(self, epsilon: Any, **more: Any) -> Privacy:
        """What a release to users promises."""
        return Privacy(epsilon, unit="user", adjacency=self.adjacency, delta=self.delta, **more)

    @property
    def part(self) -> str:
        """What the target bounds of the errors: their mean, or their upper quantile."""
        return "mean" if self.certainty is None else "upper"

    @property
    def named(self) -> str:
        """The method of a consensus: as given, else the one that serves any crowd, or that a rule needs."""
        if self.trusted != "central":
            return self.method or ("noise-all" if self.rule else "borda")
        return self.method or ("weights" if self.rule or self.adjacency == "replace" else "borda")

    @property
    def share_of_scores(self) -> float:
        """Share of ε that is for scores; the rest is for intervals."""
        from privrank_jax.pairwise.private_design import DESIGN_SHARE

        whole = self.adjacency == "flip" or self.steps is not None
        return 1.0 if whole else 1 - DESIGN_SHARE

    # --- words --------------------------------------------------------------------------------------

    @property
    def errors(self) -> dict[str, str]:
        """Names of errors, and what they are."""
        return {
            "largest": f"largest error of a {'mean of points' if self.kind == 'points' else 'score'}",
            "cost": "cost above the best order, pairs per user",
            "pairs": "share of pairs in the wrong order",
            "first": f"chance that the first {self.shown_first} are not in the right order",
            "place": "mean error of a place",
        }

    @property
    def title(self) -> str:
        """What is planned, and all that was said of it."""
        told = [
            f"{name}={getattr(self, name)!r}"
            for name, parameter in self.parameters.items()
            if name not in _UNTOLD and getattr(self, name) not in (None, parameter.default)
        ]
        return f"Plan of {self.of.what}: {', '.join(told)}"

    @property
    def opening(self) -> str:
        """Who sees which answers, and what ε counts for."""
        given, published = self.of.given, self.of.published
        if self.steps is not None:
            published = f"a leaderboard with noise after each of {self.steps} steps"
        seen = {
            "central": f"A curator sees all {given} and publishes only {published}.",
            "local": f"All users randomize their own {given} before sending them.",
            "shuffled": f"All users randomize their own {given}, and a shuffler hides who sent which.",
        }[self.trusted]
        counts = "a user"
        if self.of_answers:
            counts = "one answer; fewer answers of a user (`share_observed`) protect users better"
        elif self.kind == "scores" and self.share_of_scores < 1:
            counts += "; a tenth of it is for intervals"
        return f"{seen} epsilon counts for {counts}."

    def guarantee(self, epsilon: float) -> str:
        """What a release of this plan promises."""
        from privrank_jax.privacy.guarantee import Guarantee

        kept = self.max_per_user if self.kind == "scores" else None
        of = ("comparison", "flip") if self.of_answers else ("user", self.adjacency)
        promise = Privacy(
            epsilon, unit=of[0], adjacency=of[1], delta=self.delta, contributions=kept
        )
        return Guarantee(promise, trust=self.trusted, numerics="unknown").in_words()

    def reached(self, epsilon: float, needed: int | None) -> str:
        """How the target is reached: by so many users, or by this ε."""
        if self.target is None:
            return "Give a `target` in place of `users` or `epsilon` to get these."
        goal = f"a {self.errors[self.goal]} of at most {self.target:g}"
        goal += f", with probability {self.certainty:g}" if self.certainty else ", on average"
        if needed is None:
            return f"For {goal}, {self.users:,} users may each have epsilon = {epsilon:.3g}."
        if needed <= (self.users or 0):
            return f"{self.users:,} users are enough for {goal}."
        more = f"{needed - (self.users or 0):,} more users" if self.users else f"{needed:,} users"
        return f"For {goal}: {more}."

    def solved(
        self,
        facts: dict[str, Any],
        rows: list[tuple[str, ...]],
        heads: tuple[str, ...],
        said: tuple[str, str],
        points: list[dict[str, float]],
        lines: dict[str, str],
        what: str,
    ) -> Plan:
        """The plan: its table, what is said around the guarantee, and the points of its picture by users."""
        from privrank_jax.jobs.checks import about_delta

        guarantee, users = self.guarantee(facts["epsilon"]), facts["users"]
        star = users, next(one[next(iter(lines))] for one in points if one["users"] == users)

        def draw() -> Any:
            from privrank_jax.plotting import planned_errors

            told = {"title": self.title, "guarantee_text": guarantee, "y_label": what}
            return planned_errors(points, lines, star, target=self.target, **told)

        paragraphs = (said[0], guarantee, *filter(None, said[1:]))
        columns = {head: [row[place] for row in rows] for place, head in enumerate(heads)}
        flat, warnings = (
            facts.get("methods") or [_flat(facts)],
            about_delta(self.delta, users, "user"),
        )
        return Plan(self.title, self.opening, columns, paragraphs, facts, flat, warnings, draw)


def _flat(facts: dict[str, Any], head: str = "") -> dict[str, Any]:
    """Nested facts as columns."""
    found: dict[str, Any] = {}
    for name, value in facts.items():
        nested = isinstance(value, dict)
        found |= _flat(value, f"{head}{name}_") if nested else {head + name: value}
    return found
