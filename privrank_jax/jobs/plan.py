"""Users, budget or error before there are data, by simulation: surveys, scores, consensus rankings, points and labels.

An answer is the least number of users, or ε, at which the error of the simulated release is at most the target. All
numbers have the standard error of the simulation beside them; that of an answer is the one of the error there, divided
by the slope of the error. Beside it stands what papers prove.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from privrank_jax.jobs.plan_design import Design, Plan

_STEP = math.sqrt(10.0)  # between numbers of users in a picture; two are on either side of the plan


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
        items: number of items; of labels none.
        rankings: plan a consensus of whole rankings, one per user; else comparisons.
        points: plan totals of points on this scale, such as ``"0-5"``; ``"0-1"`` for approvals.
        limit: of points: the most items that one user may give points to.
        labels: plan preference labels for training, by a formula; ``max_per_user`` of each user.
        epsilon: budget of one answer; of a user with ``rankings``, ``points``, ``labels`` or another trust than local.
        epsilon_max: users choose budgets of an answer evenly between ``epsilon`` and this.
        target: error wanted, see ``error``; with ``labels`` the number of labels without privacy that say as much.
        users: number of users.
        error: what ``target`` is about: largest (error of a score, or of mean points that noise makes), pairs (share
            in the wrong order), first (chance that the ``top_k`` first items are not in the right order), place (mean
            error) or, of rankings, cost (pairs per user above the best order for these users). Default: cost of
            rankings, else largest.
        top_k: of the error of the first: how many items; 3 by default.
        confidence: the error must stay below ``target`` with this probability; what papers prove stays a bound on the
            mean. Default: on average; 0.95 for the largest error of ``points``.
        share_observed: share of all pairs that a user is asked.
        spread: best score; at 1 the best item beats the worst 88 times of 100.
        link: of comparisons: logistic, normal or laplace.
        trust: who sees the answers: local (each user randomizes them, the default of comparisons), shuffled (each
            answers one question, and a shuffler hides who sent which) or central (a curator sees all, the default of
            rankings and points; of comparisons it plans published scores, and needs ``max_per_user``).
        delta: of shuffled reports, or of Gaussian noise.
        question: of shuffled comparisons: secret (each user draws a pair, which nobody else learns) or public (it is
            known who answers for which pair, equally many for each).
        method: of rankings. Default: weights; borda for users who are added or removed or who randomize.
        rule: of rankings: the order is made of private weights by this rule.
        optimum: of rankings: the best order costs at most so many pairs per user, as is publicly known.
        max_per_user: of curators: comparisons of each user; of labels: labels of each user, 1 by default.
        adjacency: of curators: how neighbors differ in a user: replace, flip (of comparisons) or add-remove, where the
            number of users is private, and ``users`` plans for so many.
        exposure: of curators: items are shown in proportion to 1/rank to this power.
        near: of curators: opponents are near in strength.
        ties: of curators: share of comparisons between equal items that are tied; Davidson's model is fitted.
        steps: of curators: a leaderboard is published after each of so many steps; errors are those of the last.
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
    design = Design(inspect.signature(plan).parameters, **locals())
    import jax

    from privrank_jax.jobs.plan_labels import plan_labels

    with jax.enable_x64(True):
        return plan_labels(design) if design.kind == "labels" else _simulated(design)


def _simulated(design: Design) -> Plan:
    from privrank_jax.jobs.plan_worlds import LEVEL, Solver

    solver, budget, needed = Solver(design), (design.epsilon, 0.0), []
    if design.epsilon is None:
        budget = solver.least(users=design.users, epsilon=None)
    elif design.target is not None:
        needed = [solver.least(users=None, epsilon=one) for one in (design.epsilon, math.inf)]
    epsilon, whole = budget[0], [math.ceil(one) for one, _ in needed]
    users = design.users or (whole[0] if needed else 1)
    near = {min(max(round(users * _STEP**k), 1), design.most_users) for k in range(-2, 3)}
    both = {"error": epsilon, "clear": math.inf}
    found = {one: [solver.at(one, of) for of in both.values()] for one in sorted(near)}
    errors = found[users] = [solver.at(users, of) for of in both.values()]
    if not all(math.isfinite(x) for part in errors for one in part.values() for x in one.values()):
        if design.rankings and design.trusted != "central" and users < design.pairs:
            raise ValueError(
                f"{users:,} users are too few to ask each about one of {design.pairs:,} pairs, as exact reports "
                "require: take more `users`, or trust='central'."
            )
        raise ValueError(
            "this design is beyond what can be simulated: take a smaller `spread` or more usual numbers."
        )
    facts = {name: getattr(design, name) for name in (*_FACTS, *design.of.facts)}
    facts |= {"trust": design.trusted, "error_of_target": design.goal, "users": users}
    facts |= {"epsilon": epsilon, "epsilon_standard_error": budget[1]}
    facts |= {"users_needed": None, "more_users": None}
    facts |= {"error": errors[0], "error_without_privacy": errors[1]}
    rows: list[tuple[str, ...]] = [("users", f"{users:,}", "")]
    if needed:
        facts |= {"users_needed": whole[0], "more_users": max(whole[0] - (design.users or 0), 0)}
        facts |= {"users_standard_error": needed[0][1], "users_needed_without_privacy": whole[1]}
        cells = (_text(one, of[1], ",") for one, of in zip(whole, needed, strict=True))
        rows.append(("users needed for the target", *cells))
    told = _text(*budget) if design.epsilon is None else f"{epsilon:g}"
    if design.epsilon_max is not None:
        told = f"{epsilon:g} to {design.epsilon_max:g}"
    rows.append((f"epsilon of {'one answer' if design.of_answers else 'a user'}", told, ""))
    level = design.certainty or LEVEL
    for name in (one for one in design.errors if one in errors[0]):
        parts = {"mean": ("standard_error", design.errors[name])}
        if name in ("largest", "cost"):
            above = f"... not exceeded with probability {level:g}"
            parts["upper"] = ("upper_standard_error", above)
        for part, (error, words) in parts.items():
            rows.append((words, *(_text(one[name][part], one[name][error]) for one in errors)))
    if design.kind in _BESIDE:
        more, own = _BESIDE[design.kind](design, facts)
        rows, facts = rows + more, facts | own
    points = [
        {"users": one}
        | {name: of[design.goal][design.part] for name, of in zip(both, pair, strict=True)}
        for one, pair in found.items()
    ]
    how = (
        f"The release was simulated {solver.draws:,} times with the same random numbers at all numbers of users and "
        f"epsilon (`seed` {design.seed}); after ± stands the standard error of that. Scores are planned evenly from "
        f"{design.spread:g} to {-design.spread:g} (`spread`)."
    )
    said = design.reached(epsilon, facts["users_needed"]), how
    lines = {"error": "with privacy", "clear": "without privacy"}
    heads = ("plan", "with privacy", "without")
    return design.solved(facts, rows, heads, said, points, lines, design.errors[design.goal])


def _text(value: float, error: float | None, kind: str = "") -> str:
    whole = kind == ","
    beside = "unknown" if error is None else f"{error:,.0f}" if whole else f"{error:.1g}"
    return f"{value:,} ± {beside}" if whole else f"{value:.3g} ± {beside}"


_Beside = tuple[list[tuple[str, ...]], dict[str, Any]]  # rows of the table, and facts


def _of_answers(design: Design, found: dict[str, Any]) -> _Beside:
    """The paper's meter of information, and its rate."""
    import numpy as np

    from privrank_jax._quickly import quickly
    from privrank_jax.jobs.plan_worlds import WORLDS
    from privrank_jax.pairwise.report_theory import local_rate
    from privrank_jax.privacy.local import report_information

    low = WORLDS[design.kind](design).asked(found["users"], found["epsilon"])[0]
    high = design.epsilon_max or low
    if design.trusted == "shuffled":
        facts = {"local_epsilon": low, "question": design.question}
        name, epsilon = "epsilon of an answer, for those who see its sender", low
    else:
        epsilon = high * max(design.answers_per_user, 1.0)
        facts = {"epsilon_max": high, "epsilon_per_user": epsilon}
        name = f"epsilon of a user with about {design.answers_per_user:.4g} answers"
    budgets = low + (np.arange(64) + 0.5) / 64 * (high - low)
    informed = found["users"] * float(np.mean(quickly(report_information, budgets)))
    rate = float(quickly(local_rate, design.items, informed, design.share_observed))
    rows = [
        (name, f"{epsilon:.3g}", ""),
        ("users whose answers without randomization say as much", f"{informed:,.1f}", ""),
        ("rate that is proven, 1/√(items · share of pairs · these users)", f"{rate:.3g}", ""),
    ]
    return rows, {**facts, "effective_users": informed, "rate": rate}


def _of_rankings(design: Design, found: dict[str, Any]) -> _Beside:
    """What is proven of the mean cost of all methods, whatever the users prefer."""
    from privrank_jax.aggregation import proven_errors

    promise = design.promise(found["epsilon"])
    told = {"trust": design.trusted, "method": design.method}
    names = ("method", "noise", "ratio", "additive", "order", "source", "remark")
    methods = [
        {name: getattr(row, name) for name in names} | {"proven_cost": row.cost(design.optimum)}
        for row in proven_errors(design.items, found["users"], promise, **told)
    ]
    methods.sort(key=lambda one: (one["proven_cost"], one["additive"]))
    proven = "proven of {method} ({noise}): mean cost at most"
    rows = [
        (proven.format_map(one), f"{one['proven_cost']:.3g}", "")
        for one in methods
        if one["proven_cost"] < design.pairs
    ]
    return rows, {"method": design.named, "methods": methods}


_BESIDE = {"survey": _of_answers, "consensus": _of_rankings}
_FACTS = ("items", "adjacency", "delta", "spread", "confidence", "target", "draws", "seed")
