"""A plan of a leaderboard of rankings or approvals: how far the noise may move totals after the last of T steps."""

from __future__ import annotations

import math

from privrank_jax._promise import Privacy
from privrank_jax.jobs.plan_design import Design, Plan
from privrank_jax.jobs.plan_points import answer_of, of_error

_LARGEST_LEVEL = 1 - 1e-6  # beyond it the law of sums is lost in rounding


def plan_leaderboard(design: Design) -> Plan:
    """Plan the totals of ballots that ``privrank leaderboard`` publishes."""
    from privrank_jax.jobs.points import scale_of
    from privrank_jax.release.exact_strategy import ExactStrategy
    from privrank_jax.release.leaderboard import strategy_for

    items, steps, approved = design.items, design.steps, not design.rankings
    if approved and scale_of(design.points) != (0, 1):
        raise ValueError(
            "a leaderboard adds up rankings (--rankings) or approvals (--points 0-1), no other points."
        )
    if design.certainty > _LARGEST_LEVEL:
        raise ValueError(f"confidence (--confidence) must be at most {_LARGEST_LEVEL:g} here.")
    ballots = "approvals" if approved else "borda"
    noise = "gaussian" if design.delta else "laplace"

    def strategy_at(epsilon: float) -> ExactStrategy:
        promise = Privacy(epsilon, unit="user", adjacency=design.adjacency, delta=design.delta)
        return strategy_for(promise, items, steps, noise, ballots)[2]

    def error_of(strategy: ExactStrategy) -> float:
        found = strategy.total_reach(steps - 1, items, design.certainty)
        assert found is not None  # there is a last step
        return found

    def reach(epsilon: float) -> float:
        try:
            strategy = strategy_at(epsilon)
        except ValueError:  # no exact noise can be drawn
            return math.inf
        return error_of(strategy)

    epsilon, users, needed = design.settled(lambda one: reach(one) / design.target)
    strategy = strategy_at(epsilon)
    deviations = strategy.deviations(steps)
    error = error_of(strategy)
    found = design.told(
        "items", "trust", "points", "steps", "adjacency", "confidence", "target"
    ) | {
        **design.counted(users, needed),
        "ballots": ballots,
        "epsilon": epsilon,
        "delta": design.delta,
        "noise": noise,
        "deviation": float(deviations[-1]),
        "largest_deviation": float(deviations.max()),
        "error_of_total": error,
        "error": error / users,
    }
    unit = "users" if approved else "points of Borda scores"
    share = "share of users" if approved else "mean Borda score"
    rows = [
        ("epsilon of a user, all steps together", f"{epsilon:.3g}"),
        ("noise", noise),
        (f"standard deviation of a total after the last step, {unit}", f"{deviations[-1]:.3g}"),
        (
            f"largest standard deviation, after step {deviations.argmax() + 1:,}",
            f"{deviations.max():.3g}",
        ),
        *of_error(design, error, users, unit, share),
    ]
    title = f"a leaderboard of {'approvals' if approved else 'rankings'} of {items} items, {steps:,} steps"
    opening = (
        "In this plan a curator holds all ballots, one of each user, and publishes only noisy totals of all ballots so "
        "far, after each step, as privrank leaderboard does. epsilon counts for a user, for all steps together. Users "
        "are those of all steps up to the last one, how many is not published, and errors are those of the noise of "
        "that step alone, the same whatever the users say."
    )
    paragraphs = (answer_of(design, share, epsilon, needed), design.protected(epsilon))
    return design.of_noise(
        found, rows, title, opening, paragraphs, error, f"error of a {share}, last step"
    )
