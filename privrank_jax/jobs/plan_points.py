"""A plan of totals of approvals or points: users, ε, or how far the noise may move what is published."""

from __future__ import annotations

from privrank_jax._promise import Privacy
from privrank_jax.jobs.plan_design import Design, Plan


def plan_points(design: Design) -> Plan:
    """Plan the totals that ``privrank aggregate --method scores`` publishes."""
    from privrank_jax.aggregation.scores import dp_scores, least_noise, points_change
    from privrank_jax.jobs.beyond_noise import reach_on_totals
    from privrank_jax.jobs.points import scale_of
    from privrank_jax.mechanism.data import Facts

    low, high = scale_of(design.points)
    rules = {"most": high - low, "limit": design.limit}
    approved = (low, high) == (0, 1)

    def promised(epsilon: float) -> Privacy:
        return Privacy(epsilon, unit="user", adjacency=design.adjacency, delta=design.delta)

    noise = "gaussian" if design.delta else least_noise(design.items, promised(1.0), **rules)

    def reach(epsilon: float) -> float:
        """How far the noise moves any of the totals, with the probability that was asked for."""
        promise = promised(epsilon)
        return reach_on_totals(design.items, promise, **rules, noise=noise, level=design.certainty)

    epsilon, users, needed = design.settled(lambda one: reach(one) / design.target)
    facts = Facts(design.items, rules=(rules["most"], rules["limit"]))
    added = dp_scores.noise(promised(epsilon), facts, noise)
    scale, deviation = added.scale, float(added.deviation())
    middle = points_change(
        design.items, promised(epsilon), facts.rules[0], facts.rules[1], noise
    ).center
    error = reach(epsilon)
    found = design.told(
        "items", "trust", "points", "limit", "adjacency", "confidence", "target"
    ) | {
        **design.counted(users, needed),
        "epsilon": epsilon,
        "delta": design.delta,
        "noise": noise,
        "noise_scale": float(scale),
        "middle": middle,
        "deviation": deviation,
        "error_of_total": error,
        "error": error / users,
    }
    unit = "users" if approved else "points"
    share = "share of users" if approved else "mean of points"
    rows = [
        ("epsilon of a user", f"{epsilon:.3g}"),
        ("noise", noise),
        (f"standard deviation of a total, {unit}", f"{deviation:.3g}"),
        *of_error(design, error, users, unit, share),
    ]
    what = "approvals" if approved else f"points from {low} to {high}"
    limited = f", at most {design.limit} of one user" if design.limit else ""
    title = f"{what} of {design.items} items{limited}"
    opening = (
        "In this plan a curator holds all ballots and publishes only noisy totals (--trust central), as privrank "
        "aggregate --method scores does. epsilon counts for a user, with the whole ballot. Errors are those of the "
        "noise alone, the same whatever the users say."
    )
    paragraphs = (answer_of(design, share, epsilon, needed), design.protected(epsilon))
    y_label = f"error of a {share}"
    return design.of_noise(found, rows, title, opening, paragraphs, error, y_label)


def of_error(
    design: Design, error: float, users: int, counted: str, share: str
) -> list[tuple[str, str]]:
    """Rows of the table: how far the noise may move any total.

    Args:
        design: what is planned.
        error: of a total.
        users: their number.
        counted: what a total counts.
        share: the name of a total, divided by the number of users.
    """
    sure = f"not exceeded with probability {design.certainty:g}"
    return [
        (f"error of any total, {counted}, {sure}", f"{error:.3g}"),
        (f"error of any {share}, {sure}", f"{error / users:.3g}"),
        ("two items stand in the right order above a difference of", f"{2 * error / users:.3g}"),
    ]


def answer_of(design: Design, share: str, epsilon: float, needed: int | None) -> str:
    """The answer to what was asked about totals; ``share`` as for :func:`of_error`."""
    if design.target is None:
        return "The error falls as 1/(users · epsilon): twice the users halve it."
    goal = f"an error of every {share} of at most {design.target} with probability {design.certainty:g}"
    return design.reached(goal, epsilon, needed)
