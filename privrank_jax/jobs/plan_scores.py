"""Plans of comparisons: a survey whose answers the users randomize, and scores that a curator publishes."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, TypeVar

from privrank_jax.jobs.plan_design import MOST_SHUFFLED, Design, Plan, whole_users

_ONE_ANSWER = 1.01  # a share of pairs typed with three digits makes no more of one pair
_FEW_ITEMS = 200  # whose programs run for less time than they take to compile

Value = TypeVar("Value")


def _too_few(design: Design, clear: float, what: str) -> ValueError:
    return ValueError(
        f"{design.users:,} users are too few: even without {what} the error would be {clear:.3g}, above the target "
        f"(--target) {design.target:g}; take more users, or a larger target."
    )


def plan_survey(design: Design) -> Plan:
    """Plan a survey of comparisons whose answers the users randomize."""
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
        free = whole_users(enough(math.inf, design.target, **goal))
        if shuffled:
            needed = _users_of_shuffled(design, lambda e: float(enough(e, design.target, **goal)))
        else:
            budgets = computed(planner.uniform_budgets, low, high)
            needed = whole_users(enough(budgets, design.target, **goal))

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
    found = (
        told
        | design.counted(users, needed)
        | {
            "epsilon": {"min": low, "max": high},
            "answers_per_user": design.answers_per_user,
            "epsilon_per_user": high * max(design.answers_per_user, 1.0),
            "effective_users": float(error.effective_users),
            "error": _errors(error),
            "error_without_privacy": _errors(clear),
            "rate": float(
                computed(
                    planner.local_rate, design.items, error.effective_users, design.share_observed
                )
            ),
        }
    )
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


def _of_survey(design: Design, found: dict[str, Any], budget: str, of_user: str) -> tuple[str, str]:
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
    """A result of the planner; for few items by a program that is compiled soon, not well."""
    from privrank_jax._quickly import quickly

    chosen = functools.partial(function, **choices)
    return quickly(chosen, *arguments) if items <= _FEW_ITEMS else chosen(*arguments)


def _shuffled(design: Design, users: int, epsilon: float, *, back: bool = False) -> float:
    """The largest ε of an answer whose shuffling leaves ``epsilon``; or back, ε after shuffling answers at it.

    An answer is hidden among all users, or among those of the same public question.
    """
    from privrank_jax.privacy.shuffling import shuffled_epsilon, shuffled_local_epsilon

    among = users if design.question == "secret" else max(users // design.pairs, 1)
    found = shuffled_epsilon if back else shuffled_local_epsilon
    return found(among, epsilon, design.delta, question=design.question)


def _users_of_shuffled(design: Design, users_needed: Callable[[float], float]) -> int:
    """Users that suffice at the ε of the design, and no 10,000th fewer.

    More users allow a larger ε of an answer, of which fewer are needed.

    Args:
        design: with ε and δ.
        users_needed: users needed where answers have an ε.
    """
    epsilon = design.epsilon
    assert epsilon is not None

    def needed(users: int) -> int:
        return whole_users(users_needed(_shuffled(design, users, epsilon)), MOST_SHUFFLED)

    low = whole_users(users_needed(math.inf), MOST_SHUFFLED)
    high = max(needed(low), low)
    while high - low > max(1, 1e-4 * low):
        middle = (low + high) // 2
        found = needed(middle)
        if found <= middle:
            high = middle
        else:
            low, high = middle, min(high, found)
    return whole_users(high, MOST_SHUFFLED)


def plan_scores(design: Design) -> Plan:
    """Plan scores that a curator publishes, as ``privrank rank`` makes them."""
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
        free = whole_users(enough(promise(math.inf)))
        needed = design.users  # at the ε that was found for them
        if design.epsilon is not None:
            needed = whole_users(enough(promise(epsilon)))
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
