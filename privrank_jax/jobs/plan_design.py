"""What is planned, and a solved plan."""

from __future__ import annotations

import dataclasses
import inspect
import math
import types
from collections.abc import Callable, Mapping
from typing import Any

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._neighbors import ADJACENCIES
from privrank_jax._search import furthest
from privrank_jax._validate import check_choice
from privrank_jax.jobs.methods import CONSENSUS
from privrank_jax.jobs.result import frame_of, html_of, text_of
from privrank_jax.jobs.rules import KEMENY, RULES

METHODS = (*(name for name, of in CONSENSUS.items() if not of.lists), "hay-kwiksort")
_CHOICES: dict[str, tuple[Any, ...]] = {
    "link": ("logistic", "normal", "laplace"),
    "question": ("secret", "public"),
    "trust": (None, "central", "shuffled", "local"),
    "rule": (None, KEMENY, *RULES),
    "method": (None, *METHODS),
    "adjacency": ADJACENCIES,
    "error": ("largest", "pairs"),
}
MOST_USERS, MOST_SHUFFLED = 10**15, 10**9
_MOST_ITEMS = {
    **{"survey": 5_000, "scores": 300, "consensus": 200, "majorities": 200},
    **{"points": 10_000, "labels": 0},
}
_MOST_PER_USER, _MOST_EXPOSURE = 10**6, 10.0
_CRUDE = 0.5  # beyond this error the theory, one linear step, is too crude to plan with
_STEPS, _WIDTH = 8, 10  # numbers of users in a picture, and their factor to either side of the plan
_OF_SURVEYS = ("link", "share_observed", "epsilon_max", "question")
_OF_SCORES = ("max_per_user", "exposure", "near", "error")
_OF_RANKINGS = ("rankings", "method", "optimum", "rule")
_UNUSED = {  # by what is planned, and by the trust
    "survey": (*_OF_RANKINGS, "limit", *_OF_SCORES, "adjacency"),
    "scores": (*_OF_RANKINGS, "limit", *_OF_SURVEYS, "delta"),
    "consensus": (*_OF_SURVEYS, "limit", *_OF_SCORES),
    "majorities": ("method", "optimum", *_OF_SURVEYS, "limit", *_OF_SCORES),
    "points": (*_OF_RANKINGS, *_OF_SURVEYS, "spread", *_OF_SCORES),
    "labels": (
        *(*_OF_RANKINGS, *_OF_SURVEYS, "items", "points", "limit", "spread", "confidence", "delta"),
        *("adjacency", "exposure", "near", "error"),
    ),
    "local": ("delta",),
    "shuffled": ("share_observed", "epsilon_max"),
    "central": (),
}
_WHAT = {
    "survey": "a survey of comparisons",
    "scores": "scores that a curator publishes",
    "consensus": "a consensus of rankings",
    "majorities": "majorities of private weights",
    "points": "totals of points",
    "labels": "preference labels",
}
_TRUSTS = {
    **dict.fromkeys(("points", "majorities"), "central"),
    "labels": "local",
}
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
        """A figure of errors by the number of users, or of what each method costs; and of the target.

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
            return "consensus" if self.rule is None else "majorities"
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
    def criterion(self) -> str:
        """The error that the target refers to."""
        if self.error == "pairs":
            return "wrong_pairs"
        return "expected" if self.confidence is None else "upper"

    @property
    def certainty(self) -> float:
        """The probability with which the upper error holds: as given, or the usual one."""
        return self.confidence or 0.95

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
        return self.share_answered * self.items * (self.items - 1) / 2

    def check(self, defaults: Mapping[str, inspect.Parameter]) -> None:
        """Refuse options that are out of range or don't go together."""
        for name, choices in _CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        most, many = _MOST_ITEMS[self.kind], self.most_users
        if self.items is None and self.kind != "labels":
            raise ValueError("give the number of items (--items).")
        largest = 0.5 if self.error == "pairs" else math.inf  # a coin has half of all pairs wrong
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
        ):
            value = getattr(self, name)
            if value is not None and not fits(value):
                raise ValueError(f"{_option(name)} must be {words}, got {value}.")
        if self.epsilon_max is not None and not (self.epsilon or math.inf) <= self.epsilon_max:
            raise ValueError(
                "epsilon_max (--epsilon-max) needs a smaller epsilon (--epsilon), that of the most careful users."
            )
        if [self.epsilon, self.target, self.users].count(None) > 1:
            raise ValueError(
                "give two of epsilon (--epsilon), target (--target) and users (--users) to get the third."
            )
        for name in (*_UNUSED[self.kind], *_UNUSED[self.trusted]):
            if getattr(self, name) != defaults[name].default:
                raise ValueError(
                    f"{_option(name)} does not apply to {_WHAT[self.kind]}, trust={self.trusted!r}: leave it out."
                )
        if self.trusted != (only := _TRUSTS.get(self.kind, self.trusted)):
            raise ValueError(
                f"{_WHAT[self.kind]} are planned for trust={only!r} (--trust {only}) alone."
            )
        if self.adjacency == "flip" and self.kind not in ("survey", "scores", "labels"):
            raise ValueError(
                f"{_WHAT[self.kind]} protect users under adjacency replace or add-remove."
            )
        added = self.kind == "consensus" and self.adjacency == "add-remove"
        if added and (self.trusted != "central" or self.method not in (None, *_ADDED)):
            raise ValueError(
                "users who are added or removed (--adjacency add-remove) are protected by a curator alone, with "
                f"method {' or '.join(_ADDED)}: take trust='central' and leave method (--method) out."
            )
        if self.trusted == "shuffled" and not self.delta:
            raise ValueError(
                "shuffled answers need a delta (--delta) above 0; a common choice is 1/n**2 for n users. With pure "
                "epsilon, shuffling adds no privacy."
            )
        if self.rankings and self.points is not None and not self.labels:
            raise ValueError(
                "users give rankings (--rankings) or points (--points): leave one of them out."
            )
        if self.kind == "scores" and self.max_per_user is None:
            raise ValueError(
                'trust="central" needs max_per_user (--max-per-user), the number of comparisons of each user.'
            )

    def settled(self, users_at: Callable[[float], float]) -> tuple[float, int, int | None]:
        """ε, the number of users, and that which the target takes, None where ε is found or there is no target.

        Args:
            users_at: how many users the target takes at an ε; fewer at a larger one.
        """
        if self.epsilon is None:
            return least_epsilon(lambda one: users_at(one) <= self.users), self.users, None
        needed = None if self.target is None else whole_users(users_at(self.epsilon))
        return self.epsilon, self.users or needed or 1, needed

    def counted(self, users: int, needed: int | None) -> dict[str, Any]:
        """The facts on numbers of users."""
        more = None if needed is None else max(needed - (self.users or 0), 0)
        return {"users": users, "users_needed": needed, "more_users": more}

    def protected(self, epsilon: float) -> str:
        """What is protected of a user who gives one ballot to a curator."""
        change = {"replace": "is replaced by any other", "add-remove": "is added or removed"}
        found = f"A user is protected with epsilon = {epsilon:.3g}"
        found += f", delta = {self.delta:g}" * bool(self.delta)
        return f"{found}: against a change in which a user, with the whole ballot, {change[self.adjacency]}."

    def told(self, *names: str) -> dict[str, Any]:
        """Facts of the design, by name."""
        inner = {"trust": "trusted", "confidence": "certainty", "share_observed": "share_answered"}
        return {name: getattr(self, inner.get(name, name)) for name in names}

    def solution(
        self,
        facts: dict[str, Any],
        rows: list[tuple[str, str]],
        title: str,
        opening: str,
        paragraphs: tuple[str, ...],
        errors: Callable[[int], tuple[Any, Any]],
    ) -> Plan:
        """The plan of comparisons.

        Args:
            facts: its numbers.
            rows: of the table, but for users: what they are, and their text.
            title: what is planned, in one line.
            opening: who sees what.
            paragraphs: the answer, and, last, what is protected.
            errors: finds the error at a number of users, and that without privacy.
        """
        table = [("users", f"{facts['users']:,}"), *rows]
        if (needed := facts["users_needed"]) is not None:
            without = f"{facts['users_needed_without_privacy']:,}"
            table.insert(1, ("users needed for the target", f"{needed:,}"))
            table.insert(2, ("users needed without privacy", without))
        flat = {
            f"{name}_{part}" if part else name: one
            for name, value in facts.items()
            for part, one in (value.items() if isinstance(value, dict) else [("", value)])
        }
        error = facts["error"]["expected"]
        crude = f"an error of {error:.2g} is too large for the theory to be exact; take it as a sign that this survey "
        crude += "is too small."
        columns = {"plan": [row[0] for row in table], "": [row[1] for row in table]}
        warnings = (crude,) if error > _CRUDE else ()

        def draw() -> Any:
            import jax

            from privrank_jax.plotting import planned_errors

            pairs = self.error == "pairs"
            meant = "wrong_pairs" if pairs else "expected"
            curves = {
                meant: "expected",
                "upper": f"not exceeded with probability {self.certainty:g}",
            }
            points = []
            for users in numbers_near(facts["users"], self.most_users):
                with jax.enable_x64(self.kind != "survey"):
                    error, clear = errors(users)
                ours = {name: float(getattr(error, name)) for name in (meant, "upper")}
                points.append({"users": users, **ours, "clear": float(getattr(clear, meant))})
            if pairs:
                del curves["upper"]
            return planned_errors(
                points,
                {**curves, "clear": "expected, without privacy"},
                (facts["users"], facts["error"][self.criterion]),
                target=self.target,
                guarantee_text=paragraphs[-1],
                title=title,
                y_label="share of pairs in the wrong order"
                if pairs
                else "largest error of a score",
            )

        return Plan(title, opening, columns, paragraphs, facts, [flat], warnings, draw)

    def of_noise(
        self,
        facts: dict[str, Any],
        rows: list[tuple[str, str]],
        title: str,
        opening: str,
        paragraphs: tuple[str, ...],
        error: float,
        y_label: str,
    ) -> Plan:
        """The plan of ballots that a curator adds up: the noise alone counts, whatever the users say.

        Args:
            facts: its numbers.
            rows: of the table, but for users: what they are, and their text.
            title: what is planned, in one line.
            opening: who sees what.
            paragraphs: the answer, and, last, what is protected.
            error: that the target is about, times the number of users, on which it does not depend.
            y_label: what it is.
        """
        users, needed = facts["users"], facts["users_needed"]
        table = [("users", f"{users:,}"), *rows]
        if needed is not None:
            table.insert(1, ("users needed for the target", f"{needed:,}"))

        def draw() -> Any:
            from privrank_jax.plotting import planned_errors

            return planned_errors(
                [{"users": one, "upper": error / one} for one in numbers_near(users, MOST_USERS)],
                {"upper": f"not exceeded with probability {self.certainty:g}"},
                (users, error / users),
                target=self.target,
                guarantee_text=paragraphs[-1],
                title=title,
                y_label=y_label,
            )

        columns = {"plan": [row[0] for row in table], "": [row[1] for row in table]}
        return Plan(title, opening, columns, paragraphs, facts, [facts], (), draw)

    def answer(self, epsilon: float, needed: int | None, otherwise: str) -> str:
        """The answer to what was asked, in one sentence; ``otherwise``: where there is no target."""
        if self.target is None:
            return otherwise
        on = "on average" if self.confidence is None else f"in {self.confidence:.0%} of surveys"
        goal = f"a largest error of at most {self.target:g} {on}"
        if self.error == "pairs":
            goal = f"at most {self.target:g} of all pairs in the wrong order"
        return self.reached(goal, epsilon, needed)

    def reached(self, goal: str, epsilon: float, needed: int | None) -> str:
        """How the goal is reached: by so many users, or by this ε."""
        if self.epsilon is None:
            return f"For {goal}, {self.users:,} users may each have epsilon = {epsilon:.3g}."
        if self.users is None:
            return f"For {goal}: {needed:,} users."
        if (more := (needed or 0) - self.users) > 0:
            return f"For {goal}: {more:,} more users."
        return f"{self.users:,} users are enough for {goal}."


def _option(name: str) -> str:
    return f"{name} (--{name.replace('_', '-')})"


def whole_users(users: Any, most: int = MOST_USERS) -> int:
    """A number of users that were found to be needed, as a whole one, reduced by a millionth for float32 rounding.

    Args:
        users: the number.
        most: the largest one.

    Raises:
        ValueError: it is larger, or NaN.

    >>> whole_users(3.2), whole_users(0.0)
    (4, 1)
    """
    if not float(users) <= most:
        raise ValueError(
            f"the target takes more than {most:,} users, if it can be reached at all: take a larger target (--target) "
            "or epsilon (--epsilon), or a smaller spread (--spread)."
        )
    return max(math.ceil(float(users) * (1 - 1e-6)), 1)


def least_epsilon(reached: Callable[[float], bool]) -> float:
    """The least ε of those that plans take which suffices, to a thousandth.

    Args:
        reached: whether an ε does; a larger one does as well.

    Raises:
        ValueError: none does.

    >>> round(least_epsilon(lambda epsilon: epsilon >= 0.3), 3)
    0.3
    """
    low, high = SMALLEST_EPSILON, LARGEST_EPSILON
    if reached(low):
        return low
    if not reached(high):
        raise ValueError(
            "no epsilon is enough for the target (--target): take another, or more users (--users)."
        )
    ends = math.log(high), math.log(low)
    return math.exp(furthest(lambda log: reached(math.exp(log)), *ends, absolute=1e-3))


def numbers_near(users: int, most: int) -> list[int]:
    """Numbers of users about a plan, evenly spaced on a logarithmic axis; the plan's is one of them.

    Args:
        users: that of the plan.
        most: the largest number.

    >>> numbers_near(1000, 10**15)[::4], numbers_near(1, 10**15)[0], numbers_near(10**15, 10**15)[-1] == 10**15
    ([100, 1000, 10000], 1, True)
    """
    steps = (_WIDTH ** (2 * k / _STEPS - 1) for k in range(_STEPS + 1))
    return sorted({min(max(round(users * step), 1), most) for step in steps})
