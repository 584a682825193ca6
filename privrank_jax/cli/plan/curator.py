"""A release of scores by a curator, as ``privrank rank`` makes it: its errors, users needed, the ε that serves."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import TYPE_CHECKING, Any, TypedDict

from privrank_jax.cli.console import Refusal, busy, print_json, print_paragraphs, print_table
from privrank_jax.cli.plan import comparisons
from privrank_jax.cli.plan.request import Design

if TYPE_CHECKING:
    from privrank_jax.pairwise.release_planner import ReleaseError

_ERRORS = ("expected", "upper", "rms", "wrong_pairs")


class Errors(TypedDict):
    """Largest error of a score, on average and at a probability, the typical one, and pairs in the wrong order."""

    expected: float
    upper: float
    rms: float
    wrong_pairs: float


class Plan(TypedDict):
    """A solved design, as in the JSON document."""

    items: int
    trust: str
    adjacency: str
    max_per_user: int
    exposure: float
    near: bool
    spread: float
    criterion: str
    confidence: float
    target: float | None
    users: int
    users_needed: int | None
    users_needed_without_privacy: int | None
    epsilon: float
    epsilon_of_scores: float
    noise_scale: float
    gamma: float
    error: Errors
    error_without_privacy: Errors


def report(design: Design) -> Plan:
    """Print the plan of a release, and return it."""
    with busy("planning"):
        found = solve(design)
    comparisons.warn_if_crude(found["error"]["expected"])
    if design.json:
        print_json(found)
    else:
        _print_plan(design, found)
    return found


def solve(design: Design) -> Plan:
    """Solve the design; return the plan as plain Python values."""
    from privrank_jax.pairwise import release_planner as planner

    goal: dict[str, Any] = {**_assumed(design), "criterion": design.error_meant}
    epsilon, scores = design.epsilon, _scores(design)
    if epsilon is None:
        assert design.users is not None
        assert design.target is not None
        asked = _promise(design, 1.0)
        users = float(design.users)
        found = planner.epsilon_for_release(scores, asked, users, design.target, **goal)
        epsilon = float(found) / _share(design)
        if math.isnan(epsilon):
            free = _errors(errors_at(design, design.users, math.inf))[design.error_meant]
            raise Refusal(
                f"{design.users:,} users are too few: even without privacy the error would be {free:.3g}, and "
                f"--target is {design.target:g}; take more users, or a larger target."
            )
    needed = free = None
    if design.target is not None:
        enough = functools.partial(planner.users_for_release, scores, target=design.target, **goal)
        free = comparisons.round_up(enough(_promise(design, math.inf)))
        needed = design.users  # at the ε that was found for them
        if design.epsilon is not None:
            needed = comparisons.round_up(enough(_promise(design, epsilon)))
    users = design.users or needed or 1
    error = errors_at(design, users, epsilon)
    return {
        "items": design.items,
        "trust": "central",
        "adjacency": design.adjacency,
        "max_per_user": design.max_per_user or 1,
        "exposure": design.exposure,
        "near": design.near,
        "spread": design.spread,
        "criterion": design.error_meant,
        "confidence": design.certainty,
        "target": design.target,
        "users": users,
        "users_needed": needed,
        "users_needed_without_privacy": free,
        "epsilon": epsilon,
        "epsilon_of_scores": _share(design) * epsilon,
        "noise_scale": float(error.noise_scale),
        "gamma": float(error.gamma),
        "error": _errors(error),
        "error_without_privacy": _errors(errors_at(design, users, math.inf)),
    }


def errors_at(design: Design, users: int, epsilon: float) -> ReleaseError:
    """The errors with some number of users and ε, in place of the design's own."""
    from privrank_jax.pairwise import release_planner as planner

    return planner.planned_release(
        _scores(design),
        _promise(design, epsilon),
        float(users),
        **_assumed(design),
    )


def protection(design: Design, found: Plan) -> str:
    """What the plan protects, in words."""
    change = {
        "flip": "is answered differently",
        "replace": "is replaced by any other",
        "add-remove": "is added or removed",
    }[design.adjacency]
    return (
        f"A user (at most {found['max_per_user']:,} comparisons) is protected with epsilon = {found['epsilon']:.3g}: "
        f"against a change in which what the user gave {change}."
    )


def headline(design: Design) -> str:
    """What is planned, in one line."""
    shown = "shown equally often" if design.exposure == 0 else f"shown ∝ 1/rank^{design.exposure:g}"
    shown += ", opponents near in strength" if design.near else ""
    return f"{design.items} items, {shown}, scores from {-design.spread:g} to {design.spread:g}"


def _print_plan(design: Design, found: Plan) -> None:
    error, free = found["error"], found["error_without_privacy"]
    rows = [
        ("users", f"{found['users']:,}"),
        ("epsilon of a user", f"{found['epsilon']:.3g}"),
        ("noise scale of a score's wins", f"{found['noise_scale']:.3g}"),
        ("share of pairs in the wrong order", f"{error['wrong_pairs']:.3g}"),
        ("largest error of a score, expected", f"{error['expected']:.3g}"),
        (
            f"largest error, not exceeded with probability {found['confidence']:g}",
            f"{error['upper']:.3g}",
        ),
        ("typical error of a score (root mean square)", f"{error['rms']:.3g}"),
        ("share of pairs in the wrong order without privacy", f"{free['wrong_pairs']:.3g}"),
        ("largest error without privacy, expected", f"{free['expected']:.3g}"),
    ]
    if found["users_needed"] is not None:
        rows.insert(1, ("users needed for the target", f"{found['users_needed']:,}"))
        without = f"{found['users_needed_without_privacy']:,}"
        rows.insert(2, ("users needed without privacy", without))
    seen = (
        "In this plan a curator sees all answers and publishes only scores with noise (--trust central), as privrank "
        "rank does. epsilon counts for a user, with all comparisons."
    )
    if _share(design) < 1:
        seen += " A tenth of it is for intervals (rank --intervals none keeps it)."
    print_paragraphs(seen)
    print_table(headline(design), [("plan", "left"), ("", "right")], rows)
    print_paragraphs(_answer(design, found), protection(design, found))


def _answer(design: Design, found: Plan) -> str:
    if design.target is None:
        return "Where the noise rules, twice the users halve the error; where the answers do, four times."
    pairs = f"at most {design.target:g} of all pairs in the wrong order"
    goal = pairs if design.error_meant == "wrong_pairs" else comparisons.largest_error(design)
    return comparisons.answered(design, goal, found["epsilon"], found["users_needed"])


def _promise(design: Design, epsilon: float) -> Any:
    """What scores are promised where a user is promised ε."""
    from privrank_jax.privacy.privacy import Privacy

    whole = Privacy(
        epsilon, unit="user", adjacency=design.adjacency, contributions=design.max_per_user
    )
    return dataclasses.replace(whole, epsilon=_share(design) * epsilon)


def _share(design: Design) -> float:
    """The share of ε that scores have; the rest is for intervals."""
    from privrank_jax.pairwise.private_design import DESIGN_SHARE

    return 1.0 if design.adjacency == "flip" else 1 - DESIGN_SHARE


def _scores(design: Design) -> Any:
    import numpy as np

    return np.linspace(-design.spread, design.spread, design.items)


def _assumed(design: Design) -> dict[str, Any]:
    return {"exposure": design.exposure, "near": design.near, "confidence": design.certainty}


def _errors(error: ReleaseError) -> Errors:
    expected, upper, rms, wrong = (float(getattr(error, name)) for name in _ERRORS)
    return {"expected": expected, "upper": upper, "rms": rms, "wrong_pairs": wrong}
