"""A survey of comparisons whose answers the users randomize: its errors, users needed, the ε that they may have."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NotRequired, TypedDict, TypeVar

from privrank_jax.cli.console import Refusal, busy, print_json, print_paragraphs, print_table, warn
from privrank_jax.cli.plan.opening import who_sees_comparisons
from privrank_jax.cli.plan.request import MOST_USERS, Design
from privrank_jax.cli.plan.shuffled import (
    local_of_shuffled,
    shuffled_from_local,
    users_of_shuffled,
)

if TYPE_CHECKING:
    from privrank_jax._types import Scalar
    from privrank_jax.pairwise.planner import PlannedError

# Beyond this error the theory, one linear step, is too crude to plan with.
_CRUDE = 0.5
_FEW_ITEMS = 200  # for which NumPy takes less time than to compile

Value = TypeVar("Value")


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
    trust: str
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
    delta: NotRequired[float]
    question: NotRequired[str]
    local_epsilon: NotRequired[float]


def report(design: Design) -> Plan:
    """Print the plan of a survey, and return it."""
    with busy("planning"):
        found = solve(design)
    warn_if_crude(found["error"]["expected"])
    if design.json:
        print_json(found)
    else:
        _print_plan(design, found)
    return found


def warn_if_crude(error: float) -> None:
    """Warn of an error beyond which the theory only says that users are too few."""
    if error > _CRUDE:
        warn(
            f"an error of {error:.2g} is too large for the theory to be exact; take it as a sign that this survey is "
            "too small."
        )


def solve(design: Design) -> Plan:
    """Solve the design; return the plan as plain Python values."""
    from privrank_jax.pairwise import planner

    computed = functools.partial(_computed, design.items)
    scores = _scores(design)
    goal = _common(design) | {"criterion": design.criterion, "confidence": design.certainty}
    low = design.epsilon
    if low is None:
        assert design.users is not None
        assert design.target is not None
        number = float(design.users)  # JAX's integers may have 32 bits
        low = float(computed(planner.epsilon_needed, scores, number, design.target, **goal))
        if math.isnan(low):
            clear = _error(design, math.inf, number)
            raise Refusal(
                f"{design.users} users are too few: even without randomization the error would be "
                f"{float(getattr(clear, design.criterion)):.3g}, above --target {design.target:g}; take "
                "more users, or a larger target."
            )
        if design.trusted == "shuffled":
            low = shuffled_from_local(design, design.users, low)
    high = low if design.epsilon_max is None else design.epsilon_max
    budgets = computed(planner.uniform_budgets, low, high)
    needed, users = None, design.users
    if design.target is not None and design.epsilon is not None:
        enough = functools.partial(computed, planner.users_needed, scores)
        needed = (
            users_of_shuffled(design, lambda e: float(enough(e, design.target, **goal)))
            if design.trusted == "shuffled"
            else round_up(enough(budgets, design.target, **goal))
        )
        users = needed if users is None else users
    at_hand = users or 1
    error, clear, local = errors_at(design, at_hand, low, high)
    document: Plan = {
        "items": design.items,
        "trust": design.trusted,
        "share_observed": design.share_answered,
        "link": design.link,
        "spread": design.spread,
        "criterion": design.criterion,
        "confidence": design.certainty,
        "target": design.target,
        "users": at_hand,
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
    if local is not None:
        document["delta"], document["question"] = design.delta, design.question
        document["local_epsilon"] = local
    if needed is not None and design.target is not None:
        free = computed(planner.users_needed, scores, math.inf, design.target, **goal)
        document["users_needed_without_privacy"] = round_up(free)
    both = document["error"], document["error_without_privacy"]
    largest = [end for one in both for end in (one["expected"], one["upper"], one["rms"])]
    if not all(map(math.isfinite, (*largest, document["rate"], document["effective_users"]))):
        raise Refusal(
            "this design is beyond what the theory can compute: take scores that are closer (--spread), or options "
            "nearer to their usual values."
        )
    return document


def errors_at(
    design: Design, users: int, low: float, high: float
) -> tuple[PlannedError, PlannedError, float | None]:
    """The errors of a design with some number of users.

    Args:
        design: the design, whose own number of users does not count.
        users: number of users.
        low: the smallest ε of a user.
        high: the largest ε of a user.

    Returns:
        The error, the error without privacy, and ε of an answer before it is shuffled (None where none is).
    """
    from privrank_jax.pairwise import planner

    local = local_of_shuffled(design, users, low) if design.trusted == "shuffled" else None
    budgets = local
    if local is None:
        budgets = _computed(design.items, planner.uniform_budgets, low, high)
    return _error(design, budgets, float(users)), _error(design, math.inf, float(users)), local


def _error(design: Design, budgets: Any, users: float) -> PlannedError:
    from privrank_jax.pairwise import planner

    return _computed(
        design.items,
        planner.planned_error,
        _scores(design),
        budgets,
        users,
        **_common(design),
        confidence=design.certainty,
    )


def _scores(design: Design) -> Any:
    """The scores to plan for, (m,)."""
    import jax.numpy as jnp

    return _computed(
        design.items, lambda spread: jnp.linspace(-spread, spread, design.items), design.spread
    )


def _common(design: Design) -> dict[str, Any]:
    return {"share_observed": design.share_answered, "link": design.link}


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


def round_up(users: Scalar) -> int:
    """A number of users that were found to be needed, as a whole one.

    Raises:
        Refusal: it is too large, or there is none.
    """
    if not float(users) <= MOST_USERS:  # NaN too
        raise Refusal(
            f"the target takes more than {MOST_USERS:,} users, if it can be reached at all: take a larger --target "
            "or --epsilon, or a smaller --spread."
        )
    # Reduced by a millionth, which absorbs float32 rounding.
    return max(math.ceil(float(users) * (1 - 1e-6)), 1)


def _print_plan(design: Design, found: Plan) -> None:
    rows = [
        ("users", f"{found['users']:,}"),
        *_budget_rows(found),
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
    print_paragraphs(who_sees_comparisons(design, _budget(found), found["epsilon_per_user"]))
    print_table(
        headline(design),
        [("plan", "left"), ("", "right")],
        rows,
    )
    print_paragraphs(_answer(design, found), protection(design, found))


def headline(design: Design) -> str:
    """What is planned, in one line."""
    return f"{design.items} items, {design.link} model, scores from {-design.spread:g} to {design.spread:g}"


def _budget(found: Plan) -> str:
    low, high = found["epsilon"]["min"], found["epsilon"]["max"]
    return f"{low:.3g}" if low == high else f"{low:g} to {high:g}"


def _budget_rows(found: Plan) -> list[tuple[str, str]]:
    budget = _budget(found)
    if "local_epsilon" in found:
        return [
            ("epsilon of a user, by shuffling", budget),
            ("epsilon of the answer itself", f"{found['local_epsilon']:.3g}"),
        ]
    return [
        ("epsilon of one answer", budget),
        ("answers of one user", f"{found['answers_per_user']:.4g}"),
        ("epsilon of one user, all answers, at most about", f"{found['epsilon_per_user']:.3g}"),
    ]


def protection(design: Design, found: Plan) -> str:
    """What the plan protects, in words."""
    budget = _budget(found)
    if "local_epsilon" in found and "delta" in found:
        asked = (
            "draws one of the pairs, tells nobody which,"
            if found.get("question") == "secret"
            else "is assigned one of the pairs, publicly,"
        )
        return (
            f"Each user {asked} and answers for it alone. Whoever sees the shuffled answers learns at most epsilon = "
            f"{budget}, delta = {found['delta']:g} about a user, if all {found['users']:,} users are honest; whoever "
            f"sees an answer with its sender, as the shuffler does, epsilon = {found['local_epsilon']:.3g}."
        )
    if not design.several_answers:
        return (
            f"One answer is protected with epsilon = {budget}, and so is a user who answers for one pair; a user who "
            "answers for more has that epsilon for each."
        )
    return (
        f"One answer is protected with epsilon = {budget}. All answers of one user together are protected "
        f"with epsilon about {found['epsilon_per_user']:.3g} only; a smaller --share-observed, with more users, "
        "protects users better at the same error."
    )


def _answer(design: Design, found: Plan) -> str:
    if design.target is None:
        return "Halving the error takes four times the users."
    return answered(design, largest_error(design), found["epsilon"]["min"], found["users_needed"])


def largest_error(design: Design) -> str:
    """What a target for the largest error of a score asks for."""
    words = "on average" if design.confidence is None else f"in {design.confidence:.0%} of surveys"
    return f"a largest error of at most {design.target:g} {words}"


def answered(design: Design, goal: str, epsilon: float, needed: int | None) -> str:
    """The answer to what was asked, in one sentence.

    Args:
        design: the design, with a target.
        goal: what the target asks for.
        epsilon: the budget of a plan for a number of users.
        needed: users needed.
    """
    if design.epsilon is None:
        return f"For {goal}, {design.users:,} users may each have epsilon = {epsilon:.3g}."
    if design.users is None:
        return f"For {goal}: {needed:,} users."
    more = max((needed or 0) - design.users, 0)
    if not more:
        return f"{design.users:,} users are enough for {goal}."
    return f"For {goal}: {more:,} more users."
