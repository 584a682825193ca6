"""Users, budget or error before there are data, by simulation: surveys, scores, consensus rankings, points and labels.

An answer is the least number of users, or ε, at which the error of the simulated release is at most the target. All
numbers have the standard error of the simulation beside them; that of an answer is the one of the error there, divided
by the slope of the error. Beside it stands what papers prove.
"""

from __future__ import annotations

import dataclasses
import inspect
import math
from collections.abc import Callable
from typing import Any

from privrank_jax.jobs.checks import about_delta
from privrank_jax.jobs.plan_design import Design, Plan
from privrank_jax.jobs.plan_labels import plan_labels

_STEP = math.sqrt(10.0)  # between numbers of users in a picture; two are on either side of the plan
_FACTS = ("items", "trust", "adjacency", "delta", "spread", "confidence", "target", "draws", "seed")
_FACTS += ("error_of_target",)
_FACTS_OF = {
    "survey": ("link", "share_observed", "answers_per_user"),
    "scores": ("max_per_user", "exposure", "near", "ties", "steps", "share_of_scores"),
    "consensus": ("pairs", "rule", "optimum"),
    "points": ("points", "limit"),
}


def plan(
    items: int | None = None,
    *,
    rankings: bool = False,
    points: str | None = None,
    limit: int | None = None,
    labels: bool = False,
    epsilon: float | None = None,
    epsilon_max: float | None = None,
    target: float | None = None,
    users: int | None = None,
    error: str | None = None,
    top_k: int | None = None,
    confidence: float | None = None,
    share_observed: float = 1.0,
    spread: float = 1.0,
    link: str = "logistic",
    trust: str | None = None,
    delta: float = 0.0,
    question: str = "secret",
    method: str | None = None,
    rule: str | None = None,
    optimum: float | None = None,
    max_per_user: int | None = None,
    adjacency: str = "replace",
    exposure: float = 0.0,
    near: bool = False,
    ties: float = 0.0,
    steps: int | None = None,
    draws: int = 500,
    seed: int = 0,
    progress: Callable[[float], None] | None = None,
) -> Plan:
    """Plan a survey, scores, a consensus or points: how many users, which ε, or what error. Uses no data.

    Give two of ``epsilon``, ``target`` and ``users`` to get the third; all three tell how many more users it takes. The
    release is simulated in a crowd whose items have scores evenly from ``spread`` to minus that.

    Args:
        items: number of items; None for labels.
        rankings: plan a consensus of whole rankings, one per user; else comparisons.
        points: plan totals of points on this scale, such as ``"0-5"``; ``"0-1"`` for approvals.
        limit: of points: the most items that one user may give points to.
        labels: plan preference labels for training, by a formula.
        epsilon: budget of one answer; of a user with ``rankings``, ``points``, ``labels`` or a trust other than local.
        epsilon_max: users choose budgets of an answer evenly between ``epsilon`` and this.
        target: error wanted; with ``labels`` the number of labels without privacy that say as much.
        users: number of users.
        error: what the target is about: ``"largest"`` (error of a score, or of mean points that noise makes),
            ``"pairs"`` (share in the wrong order), ``"first"`` (chance that the ``top_k`` first items are not in the
            right order), ``"place"`` (mean error) or, of rankings, ``"cost"`` (pairs per user above the best order for
            these users). Default: cost of rankings, else largest.
        top_k: of the error of the first: how many items; 3 by default.
        confidence: the error must stay below the target with this probability; what papers prove stays a bound on
            the mean. Default: on average; 0.95 for the largest error of ``points``.
        share_observed: share of all pairs that a user is asked.
        spread: best score.
        link: of comparisons: ``"logistic"``, ``"normal"`` or ``"laplace"``.
        trust: ``"local"``: each user randomizes the answers, the default of comparisons; ``"shuffled"``: each answers
            one question, and a shuffler hides who sent which; ``"central"``: a curator sees all, the default of
            rankings and points; of comparisons it plans the scores of ``privrank rank``.
        delta: of shuffled reports, or of Gaussian noise.
        question: of shuffled comparisons: ``"secret"`` or ``"public"``, which pair a user answers for.
        method: of rankings; default: ``"weights"``, for users who are added or removed or who randomize ``"borda"``.
        rule: of rankings: the order is made of private weights by this rule, as by :func:`~privrank_jax.consensus`.
        optimum: of rankings: the best order costs at most so many pairs per user, as is publicly known.
        max_per_user: of curators: comparisons of each user; of labels: labels of each user, 1 by default.
        adjacency: of curators: how neighbors differ in a user; with ``"add-remove"`` the number of users is private,
            and ``users`` plans for so many.
        exposure: of curators: items are shown in proportion to 1/rank to this power.
        near: of curators: whether opponents are near in strength.
        ties: of curators: share of comparisons between equal items that are tied; Davidson's model is fitted.
        steps: of curators: a leaderboard is published after each of so many steps; the errors are those of the last.
        draws: simulated releases; fewer for many items, and a fifth where users' rankings are randomized.
        seed: of the simulation.
        progress: is told the share that is done.

    Returns:
        The plan: numbers, a table, words and a figure.

    Raises:
        ValueError: options that are out of range or don't go together, or a target that can't be reached.

    >>> found = plan(items=10, epsilon=1, target=0.1)
    >>> found.facts["users_needed"] > 10 * found.facts["users_needed_without_privacy"] / 3
    True
    """
    design = Design(**locals())
    design.check(inspect.signature(plan).parameters)
    import jax

    with jax.enable_x64(True):
        found = plan_labels(design) if design.kind == "labels" else _simulated(design)
    large = about_delta(delta, found.facts["users"], "user")
    return dataclasses.replace(found, warnings=(*found.warnings, *large))


def _simulated(design: Design) -> Plan:
    from privrank_jax.jobs.plan_worlds import LEVEL, Solver

    solver, epsilon, needed, free = Solver(design), design.epsilon, None, None
    of_epsilon: float | None = 0.0
    if epsilon is None:
        epsilon, of_epsilon = solver.epsilon_needed(design.users)
    elif design.target is not None:
        needed, free = solver.users_needed(epsilon), solver.users_needed(math.inf)
    users = design.users or math.ceil(needed[0] if needed else 1)
    numbers = {min(max(round(users * _STEP**k), 1), design.most_users) for k in range(-2, 3)}
    curve = [(one, solver.at(one, epsilon), solver.at(one, math.inf)) for one in sorted(numbers)]
    errors, clear = solver.at(users, epsilon), solver.at(users, math.inf)
    numbers = [
        number for part in (errors, clear) for one in part.values() for number in one.values()
    ]
    if not all(map(math.isfinite, numbers)):
        few = design.rankings and design.trusted != "central" and users < design.pairs
        raise ValueError(
            f"{users:,} users are too few to ask each about one of {design.pairs:,} pairs, as exact reports require: "
            "take more users (--users), or trust='central' (--trust central)."
            if few
            else "this design is beyond what can be simulated: take scores that are closer (spread, --spread), or "
            "options nearer to their usual values."
        )
    found = design.told(*_FACTS, *_FACTS_OF.get(design.kind, ()))
    found |= {"users": users, "users_needed": None, "more_users": None, "epsilon": epsilon}
    found |= {"epsilon_standard_error": of_epsilon, "error": errors, "error_without_privacy": clear}
    rows: list[tuple[str, ...]] = [("users", f"{users:,}", "")]
    if needed is not None and free is not None:
        both = [math.ceil(one[0]) for one in (needed, free)]
        found |= {"users_needed": both[0], "more_users": max(both[0] - (design.users or 0), 0)}
        found |= {"users_standard_error": needed[1], "users_needed_without_privacy": both[1]}
        cells = (_text(one, of[1], ",") for one, of in zip(both, (needed, free), strict=True))
        rows.append(("users needed for the target", *cells))
    budget = _text(epsilon, of_epsilon) if design.epsilon is None else f"{epsilon:g}"
    if design.epsilon_max is not None:
        budget = f"{epsilon:g} to {design.epsilon_max:g}"
    rows.append((f"epsilon of {'one answer' if design.of_answers else 'a user'}", budget, ""))
    level = design.certainty or LEVEL
    for name in (one for one in design.errors() if one in errors):
        above = f"... not exceeded with probability {level:g}"
        lines = {"": design.errors()[name], "upper_": above}
        for part, words in list(lines.items())[: 2 if name in ("largest", "cost") else 1]:
            ends = part.rstrip("_") or "mean", f"{part}standard_error"
            cells = [_text(one[name][ends[0]], one[name][ends[1]]) for one in (errors, clear)]
            rows.append((words, *cells))
    beside = {"survey": _of_answers, "consensus": _of_rankings}.get(design.kind)
    if beside is not None:
        more, facts = beside(design, found)
        rows, found = rows + more, found | facts
    answer = design.reached(epsilon, found["users_needed"])
    how = (
        f"The release was simulated {solver.draws:,} times with the same random numbers at all numbers of users and "
        f"epsilon (seed {design.seed}); after ± stands the standard error of that. Scores are planned evenly from "
        f"{design.spread:g} to {-design.spread:g} (--spread)."
    )
    heads = ("plan", "with privacy", "without")
    columns = {head: [row[k] for row in rows] for k, head in enumerate(heads)}

    goal, part = design.goal, "mean" if design.certainty is None else "upper"
    points = [
        {"users": one, "error": ours[goal][part], "clear": others[goal][part]}
        for one, ours, others in curve
    ]
    lines = {"error": "with privacy", "clear": "without privacy"}
    draw = design.figure(points, lines, design.errors()[goal], (users, errors[goal][part]), epsilon)
    told = (answer, design.protected(epsilon), how)
    title, opening = design.title(), design.opening(found)
    return Plan(
        title, opening, columns, told, found, found.get("methods") or [_flat(found)], (), draw
    )


def _text(value: float, error: float | None, kind: str = "") -> str:
    whole = kind == ","
    beside = "unknown" if error is None else f"{error:,.0f}" if whole else f"{error:.1g}"
    return f"{value:,} ± {beside}" if whole else f"{value:.3g} ± {beside}"


def _flat(facts: dict[str, Any], head: str = "") -> dict[str, Any]:
    """Nested facts as columns."""
    found: dict[str, Any] = {}
    for name, value in facts.items():
        inner = _flat(value, f"{head}{name}_") if isinstance(value, dict) else {head + name: value}
        found |= inner
    return found


_Beside = tuple[list[tuple[str, ...]], dict[str, Any]]  # rows of the table, and facts


def _of_answers(design: Design, found: dict[str, Any]) -> _Beside:
    """The paper's meter of information, and its rate."""
    import numpy as np

    from privrank_jax._quickly import quickly
    from privrank_jax.pairwise.report_theory import local_rate
    from privrank_jax.privacy.local import report_information

    low, facts = found["epsilon"], {}
    high = design.epsilon_max or low
    if design.trusted == "shuffled":
        from privrank_jax.jobs.plan_worlds import world_of

        low = high = world_of(design).asked(found["users"], low)[0]
        facts |= {"local_epsilon": low, "question": design.question}
    else:
        of_user = high * max(design.answers_per_user, 1.0)
        facts |= {"epsilon_max": high, "epsilon_per_user": of_user}
    budgets = low + (np.arange(64) + 0.5) / 64 * (high - low)
    informed = found["users"] * float(np.mean(quickly(report_information, budgets)))
    facts |= {"effective_users": informed}
    facts |= {"rate": float(quickly(local_rate, design.items, informed, design.share_answered))}
    rows = [
        ("users whose answers without randomization say as much", f"{informed:,.1f}", ""),
        ("rate that is proven, 1/√(items · share of pairs · these users)", f"{facts['rate']:.3g}", ""),
    ]  # fmt: skip
    return rows, facts


def _of_rankings(design: Design, found: dict[str, Any]) -> _Beside:
    """What is proven of the mean cost of all methods, whatever the users prefer."""
    from privrank_jax.aggregation import proven_errors
    from privrank_jax.privacy.privacy import Privacy

    promise = Privacy(found["epsilon"], unit="user", adjacency=design.adjacency, delta=design.delta)
    told = {"trust": design.trusted, "method": design.method}
    names = ("method", "noise", "ratio", "additive", "order", "source", "remark")
    methods = [
        {name: getattr(row, name) for name in names} | {"proven_cost": row.cost(design.optimum)}
        for row in proven_errors(design.items, found["users"], promise, **told)
    ]
    methods.sort(key=lambda one: (one["proven_cost"], one["additive"]))
    rows: list[tuple[str, ...]] = [
        (
            f"proven of {one['method']} ({one['noise']}): mean cost at most",
            f"{one['proven_cost']:.3g}",
            "",
        )
        for one in methods
        if one["proven_cost"] < design.pairs
    ]
    return rows, {"method": design.named, "methods": methods}
