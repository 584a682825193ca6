"""Users, budget or error before there are data: of surveys, scores, consensus rankings, points and labels."""

from __future__ import annotations

import dataclasses
import inspect

from privrank_jax.jobs.checks import about_delta
from privrank_jax.jobs.plan_consensus import plan_consensus
from privrank_jax.jobs.plan_design import Design, Plan
from privrank_jax.jobs.plan_labels import plan_labels
from privrank_jax.jobs.plan_majorities import plan_majorities
from privrank_jax.jobs.plan_points import plan_points
from privrank_jax.jobs.plan_scores import plan_scores, plan_survey


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
    rule: str | None = None,
) -> Plan:
    """Plan a survey, a consensus of rankings or totals of points: how many users, which ε, or what error. Uses no data.

    Give two of ``epsilon``, ``target`` and ``users`` to get the third; all three tell how many more users it takes.

    Args:
        items: number of items; None for labels.
        rankings: plan a consensus of whole rankings, one per user; else comparisons.
        points: plan totals of points on this scale, such as ``"0-5"``; ``"0-1"`` for approvals.
        limit: of points: the most items that one user may give points to.
        labels: plan preference labels for training.
        epsilon: budget of one answer; of a user with ``rankings``, ``points``, ``labels`` or a trust other than local.
        epsilon_max: users choose budgets of an answer evenly between ``epsilon`` and this.
        target: error wanted: largest error of a score, or of the mean points per user; with ``rankings`` the pairs per
            user that the consensus may cost above the best one; with ``rule`` the least lead of a majority, a share of
            users, that must surely be told; with ``labels`` the number of labels without privacy that say as much.
        users: number of users.
        share_observed: share of all pairs that a user is asked.
        spread: scores to plan for, evenly from minus this.
        link: of comparisons: ``"logistic"``, ``"normal"`` or ``"laplace"``.
        confidence: the error must stay below the target with this probability; with ``rankings`` the proven one.
            Default: on average; 0.95 for ``points`` and ``rule``.
        trust: ``"local"``: each user randomizes the answers, the default of comparisons; ``"shuffled"``: each answers
            one question, and a shuffler hides who sent which; ``"central"``: a curator sees all, the default of
            rankings and points; of comparisons it plans the scores of ``privrank rank``.
        delta: of shuffled reports, or of Gaussian noise.
        question: of shuffled comparisons: ``"secret"`` or ``"public"``, which pair a user answers for.
        method: of rankings: plan for one method only.
        max_per_user: of curators: comparisons of each user; of labels: labels of each user, 1 by default.
        adjacency: of curators: how neighbors differ in a user; with ``"add-remove"`` the number of users is private,
            and ``users`` plans for so many.
        exposure: of curators: items are shown in proportion to 1/rank to this power.
        near: of curators: whether opponents are near in strength.
        error: of curators, what the target is: ``"largest"``, or ``"pairs"``, the share in the wrong order.
        optimum: of rankings: the best order costs at most so many pairs per user, as is publicly known.
        rule: of rankings: plan what private weights of all pairs tell of the majorities, as
            :func:`~privrank_jax.consensus` ranks by this rule.

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

    of_kind = {
        "survey": plan_survey,
        "scores": plan_scores,
        "consensus": plan_consensus,
        "majorities": plan_majorities,
        "points": plan_points,
        "labels": plan_labels,
    }[design.kind]
    with jax.enable_x64(design.kind != "survey"):
        found = of_kind(design)
    large = about_delta(delta, found.facts["users"], "user")
    return dataclasses.replace(found, warnings=(*found.warnings, *large))
