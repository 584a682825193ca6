"""``privrank plan``: users, budget or error of a survey whose answers the users randomize."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NotRequired, TypedDict, TypeVar

import typer

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax.cli.console import (
    Refusal,
    check_choice,
    print_json,
    print_paragraphs,
    print_table,
    warn,
)
from privrank_jax.cli.options import Json, command

if TYPE_CHECKING:
    from privrank_jax._types import Scalar
    from privrank_jax.pairwise.planner import PlannedError

LINKS = ("logistic", "normal", "laplace")
# Beyond this error the theory, one linear step, is too crude to plan with.
_CRUDE = 0.5
_MOST_ITEMS, _MOST_USERS = 5_000, 10**15
_FEW_ITEMS = 200  # for which NumPy takes less time than to compile

Value = TypeVar("Value")

HELP = (
    "Plan a survey under local privacy: how many users, which epsilon, or what error to expect.\n\n"
    "Each user compares pairs of items and flips each answer with probability 1/(1 + e^epsilon) before "
    "sending it. Give two of --epsilon, --target and --users to get the third; all three tell how many "
    "more users the target takes. Uses no data.\n\n"
    "Examples:\n\n"
    "  privrank plan --items 10 --epsilon 1 --target 0.1\n\n"
    "  privrank plan --items 10 --epsilon 1 --epsilon-max 3 --share-observed 0.5 --users 500\n\n"
    "  privrank plan --items 10 --users 2000 --target 0.1 --json"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Design(Json):
    """A survey to plan: the options of one run."""

    items: Annotated[int, typer.Option(metavar="M", help="Number of items.")]
    epsilon: Annotated[
        float | None,
        typer.Option(help="Privacy budget of one answer; with --epsilon-max the smallest of them."),
    ] = None
    epsilon_max: Annotated[
        float | None,
        typer.Option(help="Users choose budgets evenly between --epsilon and this."),
    ] = None
    target: Annotated[
        float | None,
        typer.Option(
            metavar="A", help="Error wanted: largest error of a score, in units of scores."
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
            help="The error must stay below --target with this probability. Default: on average.",
        ),
    ] = None

    @property
    def criterion(self) -> str:
        """The error that the target refers to."""
        return "expected" if self.confidence is None else "upper"

    @property
    def answers_per_user(self) -> float:
        """Expected number of comparisons of one user."""
        return self.share_observed * self.items * (self.items - 1) / 2


class Errors(TypedDict):
    """Largest error of a score, on average and at a probability, and the typical error."""

    expected: float
    upper: float
    rms: float


class Budgets(TypedDict):
    """The smallest and the largest ε of a user."""

    min: float
    max: float


class Plan(TypedDict):
    """A solved design, as in the JSON document."""

    items: int
    share_observed: float
    link: str
    spread: float
    criterion: str
    confidence: float
    target: float | None
    users: int
    users_needed: int | None
    more_users: int | None
    epsilon: Budgets
    answers_per_user: float
    epsilon_per_user: float
    effective_users: float
    error: Errors
    error_without_privacy: Errors
    rate: float
    users_needed_without_privacy: NotRequired[int]


@command
def plan(design: Design) -> None:
    """Plan a survey under local privacy: how many users, which epsilon, or what error to expect."""
    _check(design)
    found = solve(design)
    if found["error"]["expected"] > _CRUDE:
        warn(
            f"an error of {found['error']['expected']:.2g} is too large for the theory to be exact; "
            "take it as a sign that this survey is too small."
        )
    if design.json:
        print_json(found)
    else:
        _print_plan(design, found)


def _check(design: Design) -> None:
    check_choice("--link", design.link, LINKS)
    if design.items < 2:
        raise Refusal(f"--items {design.items}: a ranking needs at least 2 items.")
    if design.items > _MOST_ITEMS:
        raise Refusal(
            f"--items must be at most {_MOST_ITEMS:,}, since a plan works with all pairs; errors change little beyond."
        )
    given = {
        "--epsilon": design.epsilon,
        "--epsilon-max": design.epsilon_max,
        "--target": design.target,
        "--users": design.users,
        "--spread": design.spread,
    }
    for option, value in given.items():
        lowest_allowed = 0 if option == "--spread" else math.ulp(0.0)
        if value is not None and not (lowest_allowed <= value < math.inf):
            raise Refusal(f"{option} {value} must be a positive, finite number.")
        low, high = SMALLEST_EPSILON, LARGEST_EPSILON
        if option.startswith("--epsilon") and value is not None and not low <= value <= high:
            raise Refusal(f"{option} {value:g} must lie between {low:g} and {high:g}; 1 is usual.")
        if option == "--users" and value is not None and value > _MOST_USERS:
            raise Refusal(f"--users must be at most {_MOST_USERS:,}.")
    if not 0 < design.share_observed <= 1:
        raise Refusal(f"--share-observed {design.share_observed} must lie above 0 and not above 1.")
    if design.confidence is not None and not 0 < design.confidence < 1:
        raise Refusal(f"--confidence {design.confidence} must lie between 0 and 1.")
    if design.epsilon_max is not None:
        if design.epsilon is None:
            raise Refusal("--epsilon-max needs --epsilon, the smallest budget.")
        if design.epsilon_max < design.epsilon:
            raise Refusal(
                f"--epsilon-max {design.epsilon_max:g} is below --epsilon {design.epsilon:g}."
            )
    if sum(value is None for value in (design.epsilon, design.target, design.users)) > 1:
        raise Refusal("give two of --epsilon, --target and --users to get the third.")


def solve(design: Design) -> Plan:
    """Solve the design; return the plan as plain Python values."""
    import jax.numpy as jnp

    from privrank_jax.pairwise import planner

    computed = functools.partial(_computed, design.items)
    scores = computed(lambda spread: jnp.linspace(-spread, spread, design.items), design.spread)
    common = {"share_observed": design.share_observed, "link": design.link}
    goal = common | {"criterion": design.criterion, "confidence": design.confidence or 0.95}
    low = design.epsilon
    if low is None:
        assert design.users is not None
        assert design.target is not None
        number = float(design.users)  # JAX's integers may have 32 bits
        low = float(computed(planner.epsilon_needed, scores, number, design.target, **goal))
        if math.isnan(low):
            clear = computed(
                planner.planned_error,
                scores,
                math.inf,
                number,
                **common,
                confidence=goal["confidence"],
            )
            raise Refusal(
                f"{design.users} users are too few: even without randomization the error would be "
                f"{float(getattr(clear, design.criterion)):.3g}, above --target {design.target:g}; take "
                "more users, or a larger target."
            )
    high = low if design.epsilon_max is None else design.epsilon_max
    budgets = computed(planner.uniform_budgets, low, high)
    needed, users = None, design.users
    if design.target is not None and design.epsilon is not None:
        needed = _round_up(computed(planner.users_needed, scores, budgets, design.target, **goal))
        users = needed if users is None else users
    at_hand = users or 1
    error, clear = (
        computed(
            planner.planned_error,
            scores,
            e,
            float(at_hand),
            **common,
            confidence=goal["confidence"],
        )
        for e in (budgets, math.inf)
    )
    document: Plan = {
        "items": design.items,
        "share_observed": design.share_observed,
        "link": design.link,
        "spread": design.spread,
        "criterion": design.criterion,
        "confidence": goal["confidence"],
        "target": design.target,
        "users": at_hand,
        "users_needed": needed,
        "more_users": None if needed is None else max(needed - (design.users or 0), 0),
        "epsilon": {"min": low, "max": high},
        "answers_per_user": design.answers_per_user,
        "epsilon_per_user": high * design.answers_per_user,
        "effective_users": float(error.effective_users),
        "error": _errors(error),
        "error_without_privacy": _errors(clear),
        "rate": float(
            computed(planner.local_rate, design.items, error.effective_users, design.share_observed)
        ),
    }
    if needed is not None and design.target is not None:
        free = computed(planner.users_needed, scores, math.inf, design.target, **goal)
        document["users_needed_without_privacy"] = _round_up(free)
    both = document["error"], document["error_without_privacy"]
    largest = [end for one in both for end in (one["expected"], one["upper"], one["rms"])]
    if not all(map(math.isfinite, (*largest, document["rate"], document["effective_users"]))):
        raise Refusal(
            "this design is beyond what the theory can compute: take scores that are closer (--spread), or options "
            "nearer to their usual values."
        )
    return document


def _computed(items: int, function: Callable[..., Value], *arguments: Any, **choices: Any) -> Value:
    """A result of the planner, without a compiled program for few items."""
    from privrank_jax._host.evaluate import evaluate

    chosen = functools.partial(function, **choices)
    return evaluate(chosen, *arguments) if items <= _FEW_ITEMS else chosen(*arguments)


def _errors(error: PlannedError) -> Errors:
    return {
        "expected": float(error.expected),
        "upper": float(error.upper),
        "rms": float(error.rms),
    }


def _round_up(users: Scalar) -> int:
    if not float(users) <= _MOST_USERS:  # NaN too
        raise Refusal(
            f"the target takes more than {_MOST_USERS:,} users, if it can be reached at all: take a larger --target "
            "or --epsilon, or a smaller --spread."
        )
    # Reduced by a millionth, which absorbs float32 rounding.
    return max(math.ceil(float(users) * (1 - 1e-6)), 1)


def _print_plan(design: Design, found: Plan) -> None:
    low, high = found["epsilon"]["min"], found["epsilon"]["max"]
    budget = f"{low:.3g}" if low == high else f"{low:g} to {high:g}"
    rows = [
        ("users", f"{found['users']:,}"),
        ("epsilon of one answer", budget),
        ("answers of one user", f"{found['answers_per_user']:.4g}"),
        ("epsilon of one user, all answers, at most about", f"{found['epsilon_per_user']:.3g}"),
        ("equivalent number of users without randomization", f"{found['effective_users']:,.1f}"),
        ("largest error of a score, expected", f"{found['error']['expected']:.3g}"),
        (
            f"largest error, not exceeded with probability {found['confidence']:g}",
            f"{found['error']['upper']:.3g}",
        ),
        ("typical error of a score (root mean square)", f"{found['error']['rms']:.3g}"),
        (
            "largest error without privacy, expected",
            f"{found['error_without_privacy']['expected']:.3g}",
        ),
    ]
    if found["users_needed"] is not None and "users_needed_without_privacy" in found:
        without = f"{found['users_needed_without_privacy']:,}"
        rows.insert(1, ("users needed for the target", f"{found['users_needed']:,}"))
        rows.insert(2, ("users needed without privacy", without))
    print_table(
        f"{design.items} items, {design.link} model, scores from {-design.spread:g} to {design.spread:g}",
        [("plan", "left"), ("", "right")],
        rows,
    )
    print_paragraphs(
        _answer(design, found),
        f"One answer is protected with epsilon = {budget}. All answers of one user together are protected "
        f"with epsilon about {found['epsilon_per_user']:.3g} only; a smaller --share-observed, with more users, "
        "protects users better at the same error.",
    )


def _answer(design: Design, found: Plan) -> str:
    if design.target is None:
        return "Halving the error takes four times the users."
    words = "on average" if design.confidence is None else f"in {design.confidence:.0%} of surveys"
    goal = f"a largest error of at most {design.target:g} {words}"
    if design.epsilon is None:
        return f"For {goal}, {design.users:,} users may each have epsilon = {found['epsilon']['min']:.3g}."
    if design.users is None:
        return f"For {goal}: {found['users_needed']:,} users."
    if not found["more_users"]:
        return f"{design.users:,} users are enough for {goal}."
    return f"For {goal}: {found['more_users']:,} more users."
