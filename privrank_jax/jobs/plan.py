"""Users, budget or error before there are data, by simulation: surveys, scores, consensus rankings, points and labels.

An answer is the least number of users, or ε, at which the error of the simulated release is at most the target. All
numbers have the standard error of the simulation beside them; that of an answer is the one of the error there, divided
by the slope of the error. Beside it stands what papers prove.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable
from typing import Any

from privrank_jax._search import furthest
from privrank_jax.jobs.checks import about_delta
from privrank_jax.jobs.plan_design import OF_ORDER, Design, Plan
from privrank_jax.jobs.plan_labels import plan_labels

_EPSILONS, _OF_REPORTS = (1e-6, 1e4), (1e-4, 15.0)  # among which ε is sought; of users' own reports
_SHARP, _NEAR = (
    1e-3,
    0.15,
)  # of logarithms: tolerance of an answer, and how far on either side its slope is taken
_STEPS = math.sqrt(
    10.0
)  # between numbers of users in a picture, of which there are two on either side
_LEVEL = 0.95
_SEARCHED = 20  # simulated numbers of a search
_PAIRS, _FEWEST = 1 << 22, 16  # of items in all draws of a crowd; draws

Measured = tuple[float, float]
"""A number, and its standard error."""


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
        confidence: the error must stay below the target with this probability; bounds that papers prove hold with it.
            Default: on average; 0.95 for the largest error of ``points``.
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


class _Solver:
    """Errors of a design at any number of users and ε, and the least of either that reaches its target."""

    def __init__(self, design: Design) -> None:
        from privrank_jax.jobs.plan_worlds import Simulation, world_of

        self.design, self.done = design, 0
        searches = 0 if design.target is None else 1 if design.epsilon is None else 2
        self.most = 10 + searches * _SEARCHED
        draws = max(min(design.draws, _PAIRS // design.pairs), min(design.draws, _FEWEST))
        world = world_of(design, design.named if design.rankings else "")
        self.simulate = Simulation(world, draws, design.seed, self._advance)
        self.draws = self.simulate.draws
        self.at = functools.cache(self._at)

    def _advance(self) -> None:
        self.done += 1
        if self.design.progress is not None:
            self.design.progress(min(self.done / self.most, 1.0))

    def _at(self, users: float, epsilon: float) -> dict[str, dict[str, float]]:
        import numpy as np

        found = {}
        for name, errors in self.simulate(users, epsilon).items():
            if name in OF_ORDER and not self.design.spread:
                continue
            level, number = self.design.certainty or _LEVEL, len(errors)
            around = np.array([0, -1, 1]) * math.sqrt(level * (1 - level) / number) + level
            upper, low, high = np.quantile(errors, np.clip(around, 0, 1))
            found[name] = {
                "mean": float(np.mean(errors)),
                "standard_error": float(np.std(errors, ddof=1) / math.sqrt(number)),
                "upper": float(upper),
                "upper_standard_error": float(high - low) / 2,
            }
        return found

    def error(self, users: float, epsilon: float) -> Measured:
        """The error that the target is about."""
        found = self.at(users, epsilon)[self.design.goal]
        if self.design.certainty is None:
            return found["mean"], found["standard_error"]
        return found["upper"], found["upper_standard_error"]

    def users_needed(self, epsilon: float) -> Measured:
        """The number of users that reaches the target, and its standard error."""
        most = self.design.most_users
        found = self._least(lambda users: self.error(users, epsilon), (1.0, float(most)))
        if found is None:
            raise ValueError(
                f"the target takes more than {most:,} users, if it can be reached at all: take a larger target "
                "(--target) or epsilon (--epsilon), or another error (--error)."
            )
        return found

    def epsilon_needed(self, users: int) -> Measured:
        """ε that reaches the target, and its standard error."""
        found = self._least(lambda epsilon: self.error(users, epsilon), _epsilons_of(self.design))
        if found is None:
            clear, most = self.error(users, math.inf)[0], _epsilons_of(self.design)[1]
            raise ValueError(
                f"{users:,} users are too few for any epsilon up to {most:g}: without privacy the error would be "
                f"{clear:.3g}, against a target (--target) of {self.design.target:g}; more users, or a larger target."
            )
        return found

    def _least(
        self, error_at: Callable[[float], Measured], ends: tuple[float, float]
    ) -> Measured | None:
        def reaches(log: float) -> bool:
            return error_at(math.exp(log))[0] <= self.design.target

        low, high = map(math.log, ends)
        if not reaches(high):
            return None
        if reaches(low):
            return ends[0], 0.0
        log = furthest(reaches, high, low, absolute=_SHARP)
        sides = (error_at(math.exp(log + side))[0] for side in (-_NEAR, _NEAR))
        fall = max(next(sides) - next(sides), 1e-300) / (2 * _NEAR)
        return math.exp(log), math.exp(log) * error_at(math.exp(log))[1] / fall


def _epsilons_of(design: Design) -> tuple[float, float]:
    """Among which ε is sought."""
    return _EPSILONS if design.trusted == "central" else _OF_REPORTS


def _simulated(design: Design) -> Plan:
    solver, epsilon, needed, free = _Solver(design), design.epsilon, None, None
    of_epsilon = 0.0
    if epsilon is None:
        epsilon, of_epsilon = solver.epsilon_needed(design.users)
    elif design.target is not None:
        needed, free = solver.users_needed(epsilon), solver.users_needed(math.inf)
    users = design.users or math.ceil(needed[0] if needed else 1)
    numbers = {min(max(round(users * _STEPS**k), 1), design.most_users) for k in range(-2, 3)}
    curve = [(one, solver.at(one, epsilon), solver.at(one, math.inf)) for one in sorted(numbers)]
    errors, clear = solver.at(users, epsilon), solver.at(users, math.inf)
    if math.isnan(errors[design.goal]["mean"]):
        raise ValueError(
            f"{users:,} users are too few to ask each about one of {design.pairs:,} pairs, as exact reports require: "
            "take more users (--users), or trust='central' (--trust central)."
        )
    found = design.told(
        *(
            "items",
            "trust",
            "adjacency",
            "delta",
            "spread",
            "error_of_target",
            "confidence",
            "target",
        ),
        *("draws", "seed"),
    )
    found |= {"users": users, "users_needed": None, "more_users": None, "epsilon": epsilon}
    found |= {"epsilon_standard_error": of_epsilon, "error": errors, "error_without_privacy": clear}
    rows = [("users", f"{users:,}", "")]
    if needed is not None and free is not None:
        both = [math.ceil(one[0]) for one in (needed, free)]
        found |= {"users_needed": both[0], "more_users": max(both[0] - (design.users or 0), 0)}
        found |= {"users_standard_error": needed[1], "users_needed_without_privacy": both[1]}
        cells = (f"{one:,} ± {of[1]:,.0f}" for one, of in zip(both, (needed, free), strict=True))
        rows.append(("users needed for the target", *cells))
    budget = _text(epsilon, of_epsilon) if design.epsilon is None else f"{epsilon:g}"
    if design.epsilon_max is not None:
        budget = f"{epsilon:g} to {design.epsilon_max:g}"
    rows.append((f"epsilon of {'one answer' if design.of_answers else 'a user'}", budget, ""))
    for name in (one for one in design.errors() if one in errors):
        both = (errors[name], clear[name])
        cells = [_text(one["mean"], one["standard_error"]) for one in both]
        rows.append((design.errors()[name], *cells))
        if name in ("largest", "cost"):
            cells = [_text(one["upper"], one["upper_standard_error"]) for one in both]
            level = design.certainty or _LEVEL
            rows.append((f"... not exceeded with probability {level:g}", *cells))
    more, told, frame = _BESIDE[design.kind](design, found)
    found |= told
    answer = design.reached(epsilon, found["users_needed"])
    how = (
        f"The release was simulated {solver.draws:,} times with the same random numbers at all numbers of users and "
        f"epsilon (seed {design.seed}); after ± stands the standard error of that. Scores are planned evenly from "
        f"{design.spread:g} to {-design.spread:g} (--spread)."
    )
    columns = dict(zip(("plan", "with privacy", "without"), map(list, zip(*rows, *more))))

    def draw() -> Any:
        from privrank_jax.plotting import planned_errors

        goal, part = design.goal, "mean" if design.certainty is None else "upper"
        points = [
            {"users": one, "error": ours[goal][part], "clear": others[goal][part]}
            for one, ours, others in curve
        ]
        return planned_errors(
            points,
            {"error": "with privacy", "clear": "without privacy"},
            (users, errors[goal][part]),
            target=design.target,
            guarantee_text=design.protected(epsilon),
            title=design.title(),
            y_label=design.errors()[goal],
        )

    paragraphs = (answer, *told.get("words", ()), design.protected(epsilon), how)
    found.pop("words", None)
    rows_of = frame or [_flat(found)]
    return Plan(
        design.title(), design.opening(found), columns, paragraphs, found, rows_of, (), draw
    )


def _text(value: float, error: float) -> str:
    return f"{value:.3g} ± {error:.1g}"


def _flat(facts: dict[str, Any], head: str = "") -> dict[str, Any]:
    """Nested facts as columns."""
    found: dict[str, Any] = {}
    for name, value in facts.items():
        inner = _flat(value, f"{head}{name}_") if isinstance(value, dict) else {head + name: value}
        found |= inner
    return found


# --- what stands beside the simulation --------------------------------------------------------------

_Beside = tuple[list[tuple[str, str, str]], dict[str, Any], list[dict[str, Any]]]
"""Rows of the table, facts, and rows of a data frame if there are several."""


def _of_answers(design: Design, found: dict[str, Any]) -> _Beside:
    """The paper's meter of information, and its rate."""
    import numpy as np

    from privrank_jax.pairwise.report_theory import local_rate
    from privrank_jax.privacy.local import report_information

    low = high = found["epsilon"]
    facts: dict[str, Any] = {"link": design.link, "answers_per_user": design.answers_per_user}
    facts["share_observed"] = design.share_answered
    if design.trusted == "shuffled":
        from privrank_jax.jobs.plan_worlds import world_of

        low = high = world_of(design).of_answer(found["users"], low)
        facts |= {"local_epsilon": low, "question": design.question}
    else:
        high = design.epsilon_max or low
        facts |= {"epsilon_max": high}
        facts |= {"epsilon_per_user": high * max(design.answers_per_user, 1.0)}
    budgets = low + (np.arange(64) + 0.5) / 64 * (high - low)
    informed = found["users"] * float(np.mean(np.asarray(report_information(budgets))))
    facts |= {"effective_users": informed}
    facts |= {"rate": float(local_rate(design.items, informed, design.share_answered))}
    rows = [
        ("users whose answers without randomization say as much", f"{informed:,.1f}", ""),
        ("rate that is proven, 1/√(items · share of pairs · these users)", f"{facts['rate']:.3g}", ""),
    ]  # fmt: skip
    return rows, facts, []


def _of_scores(design: Design, found: dict[str, Any]) -> _Beside:
    names = ("max_per_user", "exposure", "near", "ties", "steps")
    return (
        [],
        design.told(*names) | {"epsilon_of_scores": design.share_of_scores * found["epsilon"]},
        [],
    )


def _of_points(design: Design, found: dict[str, Any]) -> _Beside:
    from privrank_jax.jobs.plan_worlds import points_noise

    return [], design.told("points", "limit") | {"noise": points_noise(design)}, []


def _of_rankings(design: Design, found: dict[str, Any]) -> _Beside:
    """What is proven of all methods, and of which most users or the least ε it is."""
    from privrank_jax.aggregation import proven_errors
    from privrank_jax.privacy.privacy import Privacy

    by_users = design.epsilon is not None

    def rows_at(value: float, **only: Any) -> list[Any]:
        users, epsilon = (value, found["epsilon"]) if by_users else (found["users"], value)
        promise = Privacy(epsilon, unit="user", adjacency=design.adjacency, delta=design.delta)
        told = {"trust": design.trusted, "confidence": design.confidence, "method": design.method}
        rows = proven_errors(design.items, math.ceil(users), promise, **told | only)
        return sorted(rows, key=lambda row: (row.cost(design.optimum), row.additive))

    def needed() -> dict[str, Any] | None:
        """All errors fall alike with many users, so that the method that needs least is the least there."""
        low, high = map(
            math.log, (1.0, float(design.most_users)) if by_users else _epsilons_of(design)
        )
        only: dict[str, Any] = {}

        def reaching(log: float) -> list[Any]:
            rows = rows_at(math.exp(log), **only)
            return [row for row in rows if row.cost(design.optimum) <= design.target]

        if not (far := reaching(high)):
            return None
        if by_users:
            best = min(far, key=lambda row: row.additive)
            only |= {"method": best.method, "noise": best.noise}
        value = math.exp(furthest(lambda log: bool(reaching(log)), high, low, absolute=_SHARP))
        value = float(math.ceil(value)) if by_users else value
        row = rows_at(value, **only)[0]
        return {"value": value, "method": row.method, "noise": row.noise}

    proven = rows_at(found["users"] if by_users else found["epsilon"])
    facts = design.told("pairs", "rule", "optimum")
    facts |= {"method": design.named, "proven_needed": None}
    names = ("method", "noise", "ratio", "additive", "order", "source", "remark")
    facts["methods"] = [
        {name: getattr(row, name) for name in names} | {"proven_cost": row.cost(design.optimum)}
        for row in proven
    ]
    rows = [
        (f"proven of {row.method} ({row.noise}): at most", f"{row.cost(design.optimum):.3g}", "")
        for row in proven
        if row.cost(design.optimum) < design.pairs
    ]
    if design.goal == "cost" and design.target is not None:
        facts["proven_needed"] = least = needed()
        words = "No bound that is proven reaches the target."
        if least is not None:
            what = f"{least['value']:,.0f} users" if by_users else f"epsilon = {least['value']:.3g}"
            by = f"by {least['method']} ({least['noise']})"
            words = f"Proven to be reached, whatever the users prefer: {what}, {by}."
        facts["words"] = (words,)
    return rows, facts, facts["methods"]


_BESIDE: dict[str, Callable[[Design, dict[str, Any]], _Beside]] = {
    "survey": _of_answers,
    "scores": _of_scores,
    "consensus": _of_rankings,
    "points": _of_points,
}
