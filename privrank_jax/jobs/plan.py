"""Users, budget or error of a survey, of scores that a curator publishes, or of a consensus, before there are data."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import types
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._neighbors import ADJACENCIES
from privrank_jax._promise import Privacy
from privrank_jax._validate import check_choice
from privrank_jax.jobs.checks import about_delta
from privrank_jax.jobs.result import frame_of, html_of, text_of

if TYPE_CHECKING:
    from privrank_jax.aggregation import ProvenError

METHODS = (
    *("weights", "borda", "footrule", "noise-all"),
    *("exponential", "kwiksort", "hay-kwiksort"),
)
_CHOICES: dict[str, tuple[Any, ...]] = {
    "link": ("logistic", "normal", "laplace"),
    "question": ("secret", "public"),
    "trust": (None, "central", "shuffled", "local"),
    "method": (None, *METHODS),
    "adjacency": ADJACENCIES,
    "error": ("largest", "pairs"),
}
MOST_USERS, MOST_SHUFFLED = 10**15, 10**9
_MOST_ITEMS = {"survey": 5_000, "scores": 300, "consensus": 200}
_MOST_PER_USER, _MOST_EXPOSURE = 10**6, 10.0
_ONE_ANSWER = 1.01  # a share of pairs typed with three digits makes no more of one pair
_CRUDE = 0.5  # beyond this error the theory, one linear step, is too crude to plan with
_FEW_ITEMS = 200  # for which NumPy takes less time than to compile
_STEPS, _WIDTH = 8, 10  # numbers of users in a picture, and their factor to either side of the plan
_OF_SURVEYS = ("link", "share_observed", "epsilon_max", "question")
_OF_CURATORS = ("max_per_user", "adjacency", "exposure", "near", "error")
_UNUSED = {  # by what is planned, and by the trust
    "survey": ("method", "optimum", *_OF_CURATORS),
    "scores": ("method", "optimum", *_OF_SURVEYS, "delta"),
    "consensus": (*_OF_SURVEYS, *_OF_CURATORS),
    "local": ("delta",),
    "shuffled": ("share_observed", "epsilon_max"),
    "central": (),
}
_WHAT = {
    "survey": "a survey of comparisons",
    "scores": "scores that a curator publishes",
    "consensus": "a consensus of rankings",
}
_PUBLISHED = "hay-kwiksort"
_KNOWN = 1e-3  # below it simulations of a few dozen crowds differ by chance
_SHARP = 1e-3  # how far a needed number may lie above the least one

Value = TypeVar("Value")


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


def plan(
    items: int,
    *,
    rankings: bool = False,
    epsilon: float | None = None,
    epsilon_max: float | None = None,
    target: float | None = None,
    users: int | None = None,
    share_observed: float = 1.0,
    spread: float = 1.0,
    link: str = "logistic",
    confidence: float | None = None,
    trust: str | None = None,
    delta: float = 0.0,
    question: str = "secret",
    method: str | None = None,
    max_per_user: int | None = None,
    adjacency: str = "replace",
    exposure: float = 0.0,
    near: bool = False,
    error: str = "largest",
    optimum: float | None = None,
) -> Plan:
    """Plan a survey, or a consensus of rankings: how many users, which ε, or what error to expect. Uses no data.

    Give two of ``epsilon``, ``target`` and ``users`` to get the third; all three tell how many more users it takes.

    Args:
        items: number of items.
        rankings: plan a consensus of whole rankings, one per user; else comparisons.
        epsilon: budget of one answer; of a user with ``rankings`` or a trust other than local.
        epsilon_max: users choose budgets of an answer evenly between ``epsilon`` and this.
        target: error wanted: largest error of a score, or with ``rankings`` the pairs per user that the consensus may
            cost above the best one.
        users: number of users.
        share_observed: share of all pairs that a user is asked.
        spread: scores to plan for, evenly from minus this.
        link: of comparisons: ``"logistic"``, ``"normal"`` or ``"laplace"``.
        confidence: the error must stay below the target with this probability; with ``rankings`` the proven one.
            Default: on average.
        trust: ``"local"``: each user randomizes the answers, the default of comparisons; ``"shuffled"``: each answers
            one question, and a shuffler hides who sent which; ``"central"``: a curator sees all, the default of
            rankings; of comparisons it plans the scores of ``privrank rank``.
        delta: of shuffled reports, or of Gaussian noise.
        question: of shuffled comparisons: ``"secret"`` or ``"public"``, which pair a user answers for.
        method: of rankings: plan for one method only.
        max_per_user: of curators: comparisons of each user.
        adjacency: of curators: how neighbors differ in a user.
        exposure: of curators: items are shown in proportion to 1/rank to this power.
        near: of curators: whether opponents are near in strength.
        error: of curators, what the target is: ``"largest"``, or ``"pairs"``, the share in the wrong order.
        optimum: of rankings: the best order costs at most so many pairs per user, as is publicly known.

    Returns:
        The plan: numbers, a table, words and a figure.

    Raises:
        ValueError: options that are out of range or don't go together, or a target that can't be reached.

    >>> found = plan(items=10, epsilon=1, target=0.1)
    >>> found.facts["users_needed"] > 10 * found.facts["users_needed_without_privacy"] / 3
    True
    """
    design = _Design(**locals())
    design.check()
    import jax

    of_kind = {"survey": _survey, "scores": _scores, "consensus": _consensus}[design.kind]
    with jax.enable_x64(design.kind != "survey"):
        found = of_kind(design)
    large = about_delta(delta, found.facts["users"], "user")
    return dataclasses.replace(found, warnings=(*found.warnings, *large))


class _Design(types.SimpleNamespace):
    """The arguments of :func:`plan`, and what follows from them."""

    @property
    def kind(self) -> str:
        """``"consensus"`` of rankings, ``"scores"`` that a curator publishes, or a ``"survey"``."""
        scores = "scores" if self.trusted == "central" else "survey"
        return "consensus" if self.rankings else scores

    @property
    def trusted(self) -> str:
        """The trust: as given, or the default of what is planned."""
        return self.trust or ("central" if self.rankings else "local")

    @property
    def most_users(self) -> int:
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
        return self.items * (self.items - 1) // 2

    @property
    def share_answered(self) -> float:
        """Share of all pairs that a user answers."""
        return 1 / self.pairs if self.trusted == "shuffled" else self.share_observed

    @property
    def answers_per_user(self) -> float:
        """Expected number of comparisons of one user."""
        return self.share_answered * self.items * (self.items - 1) / 2

    def check(self) -> None:
        """Refuse options that are out of range or don't go together."""
        for name, choices in _CHOICES.items():
            check_choice(name, getattr(self, name), choices)
        most, many = _MOST_ITEMS[self.kind], self.most_users
        largest = 0.5 if self.error == "pairs" else math.inf  # a coin has half of all pairs wrong
        budgets = f"from {SMALLEST_EPSILON:g} to {LARGEST_EPSILON:g}; 1 is usual"
        for name, fits, words in (
            ("items", lambda m: 2 <= m <= most, f"from 2 to {most:,} here"),
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
        defaults = inspect.signature(plan).parameters
        for name in (*_UNUSED[self.kind], *_UNUSED[self.trusted]):
            if getattr(self, name) != defaults[name].default:
                raise ValueError(
                    f"{_option(name)} does not apply to {_WHAT[self.kind]}, trust={self.trusted!r}: leave it out."
                )
        if self.trusted == "shuffled" and not self.delta:
            raise ValueError(
                "shuffled answers need a delta (--delta) above 0; a common choice is 1/n**2 for n users. With pure "
                "epsilon, shuffling adds no privacy."
            )
        if self.kind == "scores" and self.max_per_user is None:
            raise ValueError(
                'trust="central" needs max_per_user (--max-per-user), the number of comparisons of each user.'
            )

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
            for users in _numbers(facts["users"], self.most_users):
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

    def answer(self, epsilon: float, needed: int | None, otherwise: str) -> str:
        """The answer to what was asked, in one sentence; ``otherwise``: where there is no target."""
        if self.target is None:
            return otherwise
        on = "on average" if self.confidence is None else f"in {self.confidence:.0%} of surveys"
        goal = f"a largest error of at most {self.target:g} {on}"
        if self.error == "pairs":
            goal = f"at most {self.target:g} of all pairs in the wrong order"
        if self.epsilon is None:
            return f"For {goal}, {self.users:,} users may each have epsilon = {epsilon:.3g}."
        if self.users is None:
            return f"For {goal}: {needed:,} users."
        if (more := (needed or 0) - self.users) > 0:
            return f"For {goal}: {more:,} more users."
        return f"{self.users:,} users are enough for {goal}."


def _option(name: str) -> str:
    return f"{name} (--{name.replace('_', '-')})"


def _numbers(users: int, most: int) -> list[int]:
    """Numbers of users about a plan, evenly spaced on a logarithmic axis; the plan's is one of them.

    >>> _numbers(1000, 10**15)[::4], _numbers(1, 10**15)[0], _numbers(10**15, 10**15)[-1] == 10**15
    ([100, 1000, 10000], 1, True)
    """
    steps = (_WIDTH ** (2 * k / _STEPS - 1) for k in range(_STEPS + 1))
    return sorted({min(max(round(users * step), 1), most) for step in steps})


def _whole(users: Any, most: int = MOST_USERS) -> int:
    """A number of users that were found to be needed, as a whole one, reduced by a millionth for float32 rounding."""
    if not float(users) <= most:  # NaN too
        raise ValueError(
            f"the target takes more than {most:,} users, if it can be reached at all: take a larger target (--target) "
            "or epsilon (--epsilon), or a smaller spread (--spread)."
        )
    return max(math.ceil(float(users) * (1 - 1e-6)), 1)


def _too_few(design: _Design, clear: float, what: str) -> ValueError:
    return ValueError(
        f"{design.users:,} users are too few: even without {what} the error would be {clear:.3g}, above the target "
        f"(--target) {design.target:g}; take more users, or a larger target."
    )


# --- a survey of comparisons whose answers the users randomize --------------------------------------


def _survey(design: _Design) -> Plan:
    import jax.numpy as jnp

    from privrank_jax.pairwise import planner

    shuffled = design.trusted == "shuffled"
    shares = {"share_observed": design.share_answered, "link": design.link}
    goal = {**shares, "criterion": design.criterion, "confidence": design.certainty}
    computed = functools.partial(_computed, design.items)
    scores = computed(lambda s: jnp.linspace(-s, s, design.items), design.spread)
    at = functools.partial(
        computed, planner.planned_error, scores, **shares, confidence=design.certainty
    )
    low = design.epsilon
    if low is None:
        assert design.users is not None
        number = float(design.users)  # JAX's integers may have 32 bits
        low = float(computed(planner.epsilon_needed, scores, number, design.target, **goal))
        if math.isnan(low):
            clear = float(getattr(at(math.inf, number), design.criterion))
            raise _too_few(design, clear, "randomization")
        if shuffled:
            low = _shuffled(design, design.users, low, back=True)
    high = low if design.epsilon_max is None else design.epsilon_max
    needed = free = None
    if design.target is not None and design.epsilon is not None:
        enough = functools.partial(computed, planner.users_needed, scores)
        free = _whole(enough(math.inf, design.target, **goal))
        if shuffled:
            needed = _users_of_shuffled(design, lambda e: float(enough(e, design.target, **goal)))
        else:
            budgets = computed(planner.uniform_budgets, low, high)
            needed = _whole(enough(budgets, design.target, **goal))

    def errors(users: int) -> tuple[Any, Any]:
        budgets = _shuffled(design, users, low) if shuffled else None
        if budgets is None:
            budgets = computed(planner.uniform_budgets, low, high)
        return at(budgets, float(users)), at(math.inf, float(users))

    users = design.users or needed or 1
    error, clear = errors(users)
    told = design.told(
        *("items", "trust", "share_observed", "link", "spread", "criterion", "confidence", "target")
    )
    found = told | {
        "users": users,
        "users_needed": needed,
        "more_users": None if needed is None else max(needed - (design.users or 0), 0),
        "epsilon": {"min": low, "max": high},
        "answers_per_user": design.answers_per_user,
        "epsilon_per_user": high * max(design.answers_per_user, 1.0),
        "effective_users": float(error.effective_users),
        "error": _errors(error),
        "error_without_privacy": _errors(clear),
        "rate": float(
            computed(planner.local_rate, design.items, error.effective_users, design.share_observed)
        ),
    }
    if shuffled:
        found |= {"delta": design.delta, "question": design.question}
        found["local_epsilon"] = _shuffled(design, users, low)
    if needed is not None:
        found["users_needed_without_privacy"] = free
    ends = [*found["error"].values(), *found["error_without_privacy"].values()]
    if not all(map(math.isfinite, (*ends, found["rate"], found["effective_users"]))):
        raise ValueError(
            "this design is beyond what the theory can compute: take scores that are closer (spread, --spread), or "
            "options nearer to their usual values."
        )
    free_of = found["error_without_privacy"]
    budget = f"{low:.3g}" if low == high else f"{low:g} to {high:g}"
    of_user = f"{found['epsilon_per_user']:.3g}"
    of_budget = [
        ("epsilon of one answer", budget),
        ("answers of one user", f"{design.answers_per_user:.4g}"),
        ("epsilon of one user, all answers, at most about", of_user),
    ]
    if shuffled:
        of_budget = [
            ("epsilon of a user, by shuffling", budget),
            ("epsilon of the answer itself", f"{found['local_epsilon']:.3g}"),
        ]
    title = f"{design.items} items, {design.link} model, scores from {-design.spread:g} to {design.spread:g}"
    rows = [
        *of_budget,
        ("equivalent number of users without randomization", f"{found['effective_users']:,.1f}"),
        *_of_errors(found),
        ("largest error without privacy, expected", f"{free_of['expected']:.3g}"),
    ]
    answer = design.answer(low, needed, "Halving the error takes four times the users.")
    opening, protected = _of_survey(design, found, budget, of_user)
    return design.solution(found, rows, title, opening, (answer, protected), errors)


def _errors(error: Any, *more: str) -> dict[str, float]:
    return {name: float(getattr(error, name)) for name in ("expected", "upper", "rms", *more)}


def _of_errors(found: dict[str, Any]) -> list[tuple[str, str]]:
    words = {
        "expected": "largest error of a score, expected",
        "upper": f"largest error, not exceeded with probability {found['confidence']:g}",
        "rms": "typical error of a score (root mean square)",
    }
    return [(words[name], f"{found['error'][name]:.3g}") for name in words]


def _of_survey(
    design: _Design, found: dict[str, Any], budget: str, of_user: str
) -> tuple[str, str]:
    """Who sees which answers, and what is protected."""
    several = design.answers_per_user > _ONE_ANSWER
    if design.trusted == "shuffled":
        opening = (
            "In this plan each user randomizes one answer before sending it, and a shuffler hides who sent which "
            f"(--trust shuffled). epsilon = {budget} counts for a user against whoever sees the shuffled answers."
        )
        asked = (
            "draws one of the pairs, tells nobody which,"
            if design.question == "secret"
            else "is assigned one of the pairs, publicly,"
        )
        protected = (
            f"Each user {asked} and answers for it alone. Whoever sees the shuffled answers learns at most epsilon = "
            f"{budget}, delta = {design.delta:g} about a user, if all {found['users']:,} users are honest; whoever "
            f"sees an answer with its sender, as the shuffler does, epsilon = {found['local_epsilon']:.3g}."
        )
    else:
        counts = (
            f", and a user with about {design.answers_per_user:.4g} answers has epsilon = {of_user} in all."
            if several
            else ", which is all that a user answers."
        )
        opening = (
            "In this plan users randomize their own answers before sending them (--trust local), so that nobody else "
            f"sees an answer as it was meant. epsilon = {budget} counts for one answer{counts}"
        )
        protected = (
            f"One answer is protected with epsilon = {budget}. All answers of one user together are protected with "
            f"epsilon about {of_user} only; a smaller --share-observed, with more users, protects users better at the "
            "same error."
            if several
            else f"One answer is protected with epsilon = {budget}, and so is a user who answers for one pair; a user "
            "who answers for more has that epsilon for each."
        )
    central = "Plan with --trust central if a curator collects the answers and adds noise to what is published."
    return f"{opening} {central}", protected


def _computed(items: int, function: Callable[..., Value], *arguments: Any, **choices: Any) -> Value:
    """A result of the planner, without a compiled program for few items."""
    from privrank_jax._host.evaluate import evaluate

    chosen = functools.partial(function, **choices)
    return evaluate(chosen, *arguments) if items <= _FEW_ITEMS else chosen(*arguments)


def _shuffled(design: _Design, users: int, epsilon: float, *, back: bool = False) -> float:
    """The largest ε of an answer whose shuffling leaves ``epsilon``; or back, ε after shuffling answers at it.

    An answer is hidden among all users, or among those of the same public question.
    """
    from privrank_jax.privacy.shuffling import shuffled_epsilon, shuffled_local_epsilon

    among = users if design.question == "secret" else max(users // design.pairs, 1)
    found = shuffled_epsilon if back else shuffled_local_epsilon
    return found(among, epsilon, design.delta, question=design.question)


def _users_of_shuffled(design: _Design, users_needed: Callable[[float], float]) -> int:
    """Users that suffice at the ε of the design, and no 10,000th fewer.

    More users allow a larger ε of an answer, of which fewer are needed.

    Args:
        design: with ε and δ.
        users_needed: users needed where answers have an ε.
    """
    epsilon = design.epsilon
    assert epsilon is not None

    def needed(users: int) -> int:
        return _whole(users_needed(_shuffled(design, users, epsilon)), MOST_SHUFFLED)

    low = _whole(users_needed(math.inf), MOST_SHUFFLED)
    high = max(needed(low), low)
    while high - low > max(1, 1e-4 * low):
        middle = (low + high) // 2
        found = needed(middle)
        if found <= middle:
            high = middle
        else:
            low, high = middle, min(high, found)
    return _whole(high, MOST_SHUFFLED)


# --- scores that a curator publishes, as privrank rank makes them -----------------------------------


def _scores(design: _Design) -> Plan:
    import numpy as np

    from privrank_jax.pairwise import release_planner as planner
    from privrank_jax.pairwise.private_design import DESIGN_SHARE

    share = 1.0 if design.adjacency == "flip" else 1 - DESIGN_SHARE  # the rest is for intervals
    assumed = design.told("exposure", "near", "confidence")
    goal = {**assumed, "criterion": design.criterion}
    scores = np.linspace(-design.spread, design.spread, design.items)

    def promise(epsilon: float) -> Any:
        """What scores are promised where a user is promised ε."""
        from privrank_jax.privacy.privacy import Privacy

        most, adjacency = design.max_per_user, design.adjacency
        return Privacy(share * epsilon, unit="user", adjacency=adjacency, contributions=most)

    def error_at(users: int, epsilon: float) -> Any:
        return planner.planned_release(scores, promise(epsilon), float(users), **assumed)

    epsilon, needed, free = design.epsilon, None, None
    if epsilon is None:
        assert design.users is not None
        users = float(design.users)
        target: Any = design.target
        whole = planner.epsilon_for_release(scores, promise(1.0), users, target, **goal)
        epsilon = float(whole) / share
        if math.isnan(epsilon):
            clear = float(getattr(error_at(design.users, math.inf), design.criterion))
            raise _too_few(design, clear, "privacy")
    if design.target is not None:
        enough = functools.partial(planner.users_for_release, scores, target=design.target, **goal)
        free = _whole(enough(promise(math.inf)))
        needed = design.users  # at the ε that was found for them
        if design.epsilon is not None:
            needed = _whole(enough(promise(epsilon)))
    users = design.users or needed or 1
    error, clear = error_at(users, epsilon), error_at(users, math.inf)
    told = design.told(
        *("items", "trust", "adjacency", "max_per_user", "exposure", "near", "spread"),
        *("criterion", "confidence", "target"),
    )
    found = told | {
        "users": users,
        "users_needed": needed,
        "users_needed_without_privacy": free,
        "epsilon": epsilon,
        "epsilon_of_scores": share * epsilon,
        "noise_scale": float(error.noise_scale),
        "gamma": float(error.gamma),
        "error": _errors(error, "wrong_pairs"),
        "error_without_privacy": _errors(clear, "wrong_pairs"),
    }
    free_of = found["error_without_privacy"]
    rows = [
        ("epsilon of a user", f"{epsilon:.3g}"),
        ("noise scale of a score's wins", f"{found['noise_scale']:.3g}"),
        ("share of pairs in the wrong order", f"{found['error']['wrong_pairs']:.3g}"),
        *_of_errors(found),
        ("share of pairs in the wrong order without privacy", f"{free_of['wrong_pairs']:.3g}"),
        ("largest error without privacy, expected", f"{free_of['expected']:.3g}"),
    ]
    shown = "shown equally often" if design.exposure == 0 else f"shown ∝ 1/rank^{design.exposure:g}"
    shown += ", opponents near in strength" * design.near
    title = f"{design.items} items, {shown}, scores from {-design.spread:g} to {design.spread:g}"
    opening = (
        "In this plan a curator sees all answers and publishes only scores with noise (--trust central), as privrank "
        "rank does. epsilon counts for a user, with all comparisons."
    ) + " A tenth of it is for intervals (rank --intervals none keeps it)." * (share < 1)
    halves = (
        "Where the noise rules, twice the users halve the error; where the answers do, four times."
    )
    answer = design.answer(epsilon, needed, halves)
    change = {
        "flip": "is answered differently",
        "replace": "is replaced by any other",
        "add-remove": "is added or removed",
    }[design.adjacency]
    protected = (
        f"A user (at most {design.max_per_user:,} comparisons) is protected with epsilon = {epsilon:.3g}: against a "
        f"change in which what the user gave {change}."
    )

    def errors(users: int) -> tuple[Any, Any]:
        return error_at(users, epsilon), error_at(users, math.inf)

    return design.solution(found, rows, title, opening, (answer, protected), errors)


# --- a consensus of rankings ------------------------------------------------------------------------

Point = tuple[int, float]
"""Number of users and ε; one of them may be looked for."""


def _consensus(design: _Design) -> Plan:
    from privrank_jax.aggregation.auto import choose_method

    quantity = "epsilon" if design.epsilon is None else "users"
    point, proven, expected = (design.users or 1000, design.epsilon or 1.0), None, None
    search = _Search(design, quantity, point)
    if design.target is not None:
        proven = search.proven_needed()
        near = point if proven is None else search.moved(proven["value"])
        expected = _Search(design, quantity, near).expected_needed()
        if design.users is None or design.epsilon is None:
            if (reached := proven or expected) is None:
                raise ValueError(
                    f"no method is proven or expected to cost at most the target (--target) {design.target:g} above "
                    "the best order: take a larger target, or more users."
                )
            point = search.moved(reached["value"])
    methods: list[dict[str, Any]] = []
    for row in search.rows(point):
        first, costs = vars(row), search.expected(row, [point])
        costs = {"proven_cost": row.cost(design.optimum), "expected_cost": costs and costs[0]}
        names = ("method", "noise", "function", "pure", "ratio", "additive")
        last = {name: first[name] for name in ("order", "source", "remark")}
        methods.append({name: first[name] for name in names} | costs | last)
    by_proof = sorted(methods, key=lambda one: (one["proven_cost"], one["additive"]))
    likely = min(
        (one for one in methods if one["expected_cost"] is not None),
        key=lambda one: (round(one["expected_cost"], 4), one["proven_cost"]),
        default=None,
    )
    users, epsilon = point
    found = {
        **design.told("items", "pairs", "trust"),
        "users": users,
        "epsilon": epsilon,
        **design.told("delta", "optimum"),
        "confidence": design.confidence,
        **design.told("spread", "target"),
        "methods": methods,
        "proven_best": _named(by_proof[0]),
        "expected_best": None if likely is None else _named(likely),
        "auto": choose_method(
            design.items, users, search.privacy(point), trust=design.trusted, mechanism="one-pair"
        ),
        "quantity": quantity if design.target is not None else None,
        "proven_needed": proven,
        "expected_needed": expected,
    }
    budget = f"epsilon = {epsilon:.3g}" + f", delta = {design.delta:g}" * bool(design.delta)
    title = f"{design.items} items ({design.pairs} pairs), {users:,} users, {budget}, trust {design.trusted}"
    table = [
        (
            _named(one),
            f"{one['ratio']:.3g}",
            *(
                f"{one[n]:.3g}" if one[n] < design.pairs else "none"
                for n in ("additive", "proven_cost")
            ),
            _small(one["expected_cost"]),
        )
        for one in by_proof
    ]
    heads = ("method", "ratio", "additive", "proven", "expected")
    columns = dict(zip(heads, map(list, zip(*table))))
    sure = "on average"
    if design.confidence is not None:
        sure = f"with probability {design.confidence:g}"
    draw = functools.partial(_drawn_consensus, design, by_proof, title, budget, sure)
    seen = {
        "central": "a curator sees all rankings and publishes only a noisy consensus",
        "local": "users randomize their own rankings before sending them, so that nobody else sees one as it was meant",
        "shuffled": "users randomize their own rankings before sending them, and a shuffler hides who sent which",
    }[design.trusted]
    opening = f"In this plan {seen} (--trust {design.trusted}). epsilon counts for a user, with the whole ranking."
    paragraphs = (*_answers(design, found), _meaning(design, sure))
    return Plan(title, opening, columns, paragraphs, found, methods, (), draw)


def _answers(design: _Design, found: dict[str, Any]) -> list[str]:
    best = f"Least proven cost: {found['proven_best']}."
    if found["expected_best"] is not None:
        best += f" Least expected cost: {found['expected_best']}."
    lines = [best]
    if design.method is None:
        lines.append(
            f"Where no method is named, aggregate takes {found['auto']} here: chosen to lose little in every crowd. "
            "Expected costs are those of crowds that scores describe, which suit borda best."
        )
    for what in ("proven", "expected") if design.target is not None else ():
        needed, goal = found[f"{what}_needed"], f"For {what} {design.target:g} above the best order"
        if needed is None:
            lines.append(f"{goal}: no {found['quantity']} found that suffices.")
            continue
        value = f"epsilon = {needed['value']:.3g}"
        if found["quantity"] == "users":
            value = f"{int(needed['value']):,} user{'s' * (needed['value'] > 1)}"
        chosen = design.method is not None or needed["method"] == _PUBLISHED
        how = "" if chosen else f", which aggregate takes by --method {needed['method']}"
        lines.append(f"{goal}: {value}, by {_named(needed)}{how}.")
    if any(one["method"] == _PUBLISHED for one in found["methods"]):
        lines.append(
            f"{_PUBLISHED} is the published method, for comparison only: aggregate does not offer it."
        )
    return lines


def _meaning(design: _Design, sure: str) -> str:
    known = "whatever the best order costs (say how much at most by --optimum, if that is public)"
    if design.optimum is not None:
        known = f"if the best order costs at most {design.optimum:g}"
    return (
        f"Numbers are pairs of items that the average user sees in the other order. Proven, {sure} over the noise and "
        "whatever the users prefer: a cost of at most ratio times that of the best order plus additive, and so proven "
        f"above it, {known}. Expected: on average above the best order where users prefer items by scores from "
        f"{-design.spread:g} to {design.spread:g} (--spread). noise-all and weights take the best ranking for noisy "
        "votes, which is found and proven for about 30 items."
    )


def _drawn_consensus(
    design: _Design, by_proof: list[dict[str, Any]], title: str, budget: str, sure: str
) -> Any:
    """What each method is proven and expected to cost, and the target."""
    from privrank_jax.plotting import planned_costs

    missing = ""
    if any(one["expected_cost"] is None for one in by_proof):
        missing = (
            " Where there is no blue mark, the expected cost of the method is not computed for "
            f"{design.items} items."
        )
    return planned_costs(
        [{**one, "name": _named(one)} for one in by_proof],
        most=design.pairs,
        least=_KNOWN,
        target=design.target,
        label="name",
        guarantee_text=f"Each user (one ranking) is protected with {budget}. Proven: {sure} over the noise, whatever "
        f"the users prefer. Expected: where they prefer items by scores from {-design.spread:g} to "
        f"{design.spread:g}.{missing}",
        title=title,
    )


def _named(found: dict[str, Any]) -> str:
    """A method with its noise, for readers."""
    return found["method"] if found["noise"] == "none" else f"{found['method']} ({found['noise']})"


def _small(cost: float | None) -> str:
    """A simulated cost, as far as it is known."""
    if cost is None:
        return ""
    return f"{cost:.2g}" if cost >= _KNOWN else f"< {_KNOWN:g}"


@dataclasses.dataclass(frozen=True)
class _Search:
    """The least number of users, or the least ε, that reaches the target; the other stays as at the start."""

    design: _Design
    quantity: str
    start: Point

    def privacy(self, point: Point) -> Privacy:
        return Privacy(point[1], unit="user", adjacency="replace", delta=self.design.delta)

    def rows(self, point: Point, like: ProvenError | None = None) -> list[ProvenError]:
        """Proven rows at a point: all that were asked for, or one."""
        from privrank_jax.aggregation import proven_errors

        rows = proven_errors(
            self.design.items,
            point[0],
            self.privacy(point),
            trust=self.design.trusted,
            confidence=self.design.confidence,
            method=self.design.method if like is None else like.method,
            noise=None if like is None else like.noise,
        )
        if not rows and like is None:
            raise ValueError(
                "no method fits: it takes fewer items, more users than pairs of items (to ask each user for one pair), "
                "or another method (--method) or trust (--trust)."
            )
        return list(rows)

    def expected(self, row: ProvenError, points: list[Point]) -> list[float] | None:
        from privrank_jax.aggregation import Setting, planned_costs

        settings = [Setting(point[0], self.privacy(point)) for point in points]
        found = planned_costs(row, self.design.items, settings, spread=self.design.spread)
        return None if found is None else found.tolist()

    @property
    def of_users(self) -> bool:
        return self.quantity == "users"

    @property
    def target(self) -> float:
        return self.design.target or 0.0

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the largest value."""
        users = (1.0, float(self.design.most_users))
        return users if self.of_users else (SMALLEST_EPSILON, LARGEST_EPSILON)

    def moved(self, value: float) -> Point:
        return (int(value), self.start[1]) if self.of_users else (self.start[0], value)

    def proven_needed(self) -> dict[str, Any] | None:
        """For the proven cost, by the method that needs least as errors grow near the start."""
        design, (users, epsilon) = self.design, self.start
        start = (max(users, 10 * design.pairs), epsilon) if self.of_users else self.start
        power = 1.0 if design.trusted == "central" or not self.of_users else 2.0
        near = [(self.allowed(row), row) for row in self.rows(start)]
        for _, row in sorted(
            (((row.additive / allowed) ** power, row) for allowed, row in near if allowed > 0),
            key=lambda one: one[0],
        ):
            value = self.least(functools.partial(self.reaches, row))
            if value is not None:
                return {"value": value, "method": row.method, "noise": row.noise}
        return None

    def allowed(self, row: ProvenError) -> float:
        """The largest additive error at which the row reaches the target; 0 if there is none."""

        def reaches(additive: float) -> bool:
            cost = dataclasses.replace(row, additive=additive).cost(self.design.optimum)
            return cost <= self.target

        low, high = 0.0, float(row.pairs)
        if not reaches(low):
            return 0.0
        for _ in range(60):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if reaches(middle) else (low, middle)
        return low

    def reaches(self, like: ProvenError, value: float) -> bool:
        rows = self.rows(self.moved(value), like)
        return bool(rows) and rows[0].cost(self.design.optimum) <= self.target

    def least(self, reached: Callable[[float], bool]) -> float | None:
        """The least value that suffices, to a thousandth; None if there is none."""
        ends, whole = self.ends, self.of_users
        value = min(max(float(self.design.users or 1000) if whole else 1.0, ends[0]), ends[1])
        low, high = 0.0, math.inf
        while not (high < math.inf and (low > 0 or high <= ends[0])):
            if reached(value):
                high, value = value, max(value / 8, ends[0])
            elif value >= ends[1]:
                return None
            else:
                low, value = value, min(value * 8, ends[1])
            value = float(int(value)) if whole else value
        while high / max(low, ends[0]) > 1 + _SHARP and not (whole and high - low <= 1):
            middle = math.sqrt(low * high)
            middle = max(float(int(middle)), low + 1) if whole else middle
            low, high = (low, middle) if reached(middle) else (middle, high)
        return high

    def expected_needed(self) -> dict[str, Any] | None:
        """For the expected cost: on a grid, then between two of its points, for the best method."""
        top = float(self.start[0]) if self.of_users else self.start[1]
        bottom = float(self.design.pairs if self.design.trusted != "central" else 1)
        low, high = (bottom, self.ends[1]) if self.of_users else self.ends
        halves = range(-2, 13 if self.of_users else 9)
        grid = self.grid(min(max(top * 10 ** -(k / 2), low), high) for k in halves)
        best: tuple[float, ProvenError] | None = None
        for row in self.rows(self.start):
            if row.noise in ("laplace", "duchi", "randomized-response") and not self.design.method:
                continue  # worse than others at all numbers
            found = self.crossing(row, grid)
            if found is not None and (best is None or found < best[0]):
                best = found, row
        if best is None:
            return None
        value, row = best
        low = max((one for one in grid if one < value), default=grid[0])
        high = min(one for one in grid if one >= value)
        inner = self.grid(low * (high / low) ** (k / 12) for k in range(13))
        finer = self.crossing(row, inner) or value
        return {"value": finer, "method": row.method, "noise": row.noise}

    def grid(self, values: Iterable[float]) -> list[float]:
        return sorted({float(math.ceil(one)) if self.of_users else one for one in values})

    def crossing(self, row: ProvenError, grid: list[float]) -> float | None:
        """The first value of the grid from which on the expected cost is at most the target."""
        costs = self.expected(row, [self.moved(one) for one in grid])
        if costs is None or costs[-1] > self.target:
            return None
        beyond = [k for k, cost in enumerate(costs) if cost > self.target]
        return grid[beyond[-1] + 1 if beyond else 0]
