"""A plan of the majorities that private weights of all pairs tell, and of the order that a rule makes of them.

Let r be what no noisy weight is off by, with the probability that is asked for (the exact law of the noise), and call
w_ij - w_ji the lead of i over j.

**Told.** A result says that surely most users have i ahead where its noisy weight is above 1/2 by more than r
(:mod:`privrank_jax.jobs.beyond_noise`), which holds for all pairs with a lead above 4r. Kemeny's rule and ranked pairs
tell each such pair; where all pairs are such and there is no cycle, Copeland's and Schulze's tell all items apart as
well: all majorities are sure, and a path to an item that is ahead goes over a noisy lead below -2r, while the lead back
is above 2r. Scores of minimax are off by 2r at most, so items are told apart above a difference of 8r; those of Borda's
rule on weights by (m - 1)r, so above one of 4(m - 1)r.

**Kept.** What is published has its cycle part c̃ multiplied by s, which moves it by (1 - s)‖c̃‖ ≤ √M σ_c, M = (m - 1)(m
- 2)/2 (:mod:`privrank_jax.aggregation.bounds`). One pair has a share of at most √((m - 2)/m) of that: the cycle part of
the unit vector of a pair has the square 1 - 2/m. So a majority is on the same side in the published weights if its lead
is above 2(r + √(M(m - 2)/m) σ_c). Where that holds for all pairs and there is no cycle, all rules but minimax and Borda
rank the items as they do without noise.
"""

from __future__ import annotations

import math

from privrank_jax._promise import Privacy
from privrank_jax.jobs.plan_consensus import small_cost
from privrank_jax.jobs.plan_design import Design, Plan

_LEAST_LEVEL = (
    0.8  # from it on, with users who suffice for a target, no budget goes to scores alone
)
_WORDS = {
    "minimax": (
        "items are told apart above a difference of least leads of",
        "difference of least leads",
    ),
    "borda": ("items are told apart above a difference of scores of", "difference of scores"),
}
_OF_MAJORITIES = ("majorities are surely told above a lead of", "lead of a majority")


def plan_majorities(design: Design) -> Plan:
    """Plan the weights that ``privrank aggregate --rule`` ranks by."""
    from privrank_jax.aggregation import planned_costs, proven_errors
    from privrank_jax.aggregation.bounds import as_replaced
    from privrank_jax.aggregation.planned_errors import Setting
    from privrank_jax.aggregation.split_weights import private_weights_scales
    from privrank_jax.jobs.beyond_noise import reach_on_weights

    items, rule = design.items, design.rule
    noise = "gaussian" if design.delta else "k-norm"
    times = {"minimax": 8, "borda": 4 * (items - 1)}.get(rule, 4)
    largest = {"minimax": 2, "borda": items - 1}.get(rule, 1)
    heading, what = _WORDS.get(rule, _OF_MAJORITIES)
    if design.certainty < _LEAST_LEVEL:
        raise ValueError(f"confidence (--confidence) must be at least {_LEAST_LEVEL:g} here.")
    if design.target is not None and design.target > largest:
        raise ValueError(f"target (--target) is a {what} here, which is at most {largest:g}.")

    def promised(epsilon: float) -> Privacy:
        return Privacy(epsilon, unit="user", adjacency=design.adjacency, delta=design.delta)

    row = proven_errors(items, 1, promised(1.0), method="weights", noise=noise)[0]

    def noise_of(users: int, epsilon: float, focus: float | None) -> tuple[float | None, float]:
        """r and σ_c, in users; ``focus`` as for private weights."""
        promise = promised(epsilon)
        replaced, of_noise = as_replaced(promise, row, users)
        given = 0.0 if replaced is not promise else focus
        scales = private_weights_scales(items, of_noise, replaced, noise=noise, focus=given)
        of_scores, of_cycles = (float(scale) * users for scale in scales)
        settings = {"noise": noise, "level": design.certainty}
        return reach_on_weights(items, promise, of_scores, of_cycles, **settings), of_cycles

    def error_at(epsilon: float) -> float:
        """The lead from which majorities are told, times the number of users, if all of ε is spent on pairs."""
        reach, _ = noise_of(1, epsilon, 0.0)
        assert reach is not None
        return times * reach

    epsilon, users, needed = design.settled(lambda one: error_at(one) / design.target)
    reach, of_cycles = noise_of(users, epsilon, None)
    told = kept = None
    if reach is not None:
        told = times * reach / users
        shrunk = math.sqrt((items - 1) * (items - 2) ** 2 / (2 * items)) * of_cycles
        kept = 2 * (reach + shrunk) / users
    costs = planned_costs(
        row,
        items,
        [Setting(users, promised(epsilon))],
        spread=design.spread,
        rule=None if rule == "kemeny" else rule,
    )
    assert costs is not None
    found = design.told("items", "pairs", "rule", "trust", "adjacency", "confidence", "spread")
    found |= design.told("target") | {
        **design.counted(users, needed),
        "epsilon": epsilon,
        "delta": design.delta,
        "noise": noise,
        "error_of_weight": reach,
        "error": None if reach is None else reach / users,
        "told": told if told is None or told <= largest else None,
        "kept": kept if kept is None or kept <= 1 else None,
        "expected_cost": float(costs[0]),
    }
    sure = f"not exceeded with probability {design.certainty:g}"

    def text(number: float | None) -> str:
        return "none" if number is None else f"{number:.3g}"

    rows = [
        ("epsilon of a user", f"{epsilon:.3g}"),
        ("noise", noise),
        (f"error of any weight, share of users, {sure}", text(found["error"])),
        (heading, text(found["told"])),
        ("majorities keep their side in what is published above a lead of", text(found["kept"])),
        ("expected cost above the best order, pairs per user", small_cost(found["expected_cost"])),
    ]
    title = f"majorities of {items} items ({design.pairs} pairs), ranked by {rule}"
    opening = (
        "In this plan a curator holds all rankings and publishes only the noisy weights of all pairs (--trust "
        "central), as privrank aggregate --method weights does, and what a rule makes of them. epsilon counts for a "
        "user, with the whole ranking. A lead is the share of users who rank one item ahead of another, less the share "
        "who rank it behind. Errors are those of the noise alone, the same whatever the users say; the expected cost "
        f"is that of users who prefer items by scores from {-design.spread:g} to {design.spread:g} (--spread)."
    )
    answer = "Leads that are told fall as 1/(users · epsilon): twice the users halve them."
    if design.target is not None:
        goal = f"every {what} above {design.target:g} to be told"
        answer = design.reached(f"{goal}, with probability {design.certainty:g}", epsilon, needed)
    if rule not in _WORDS and found["kept"] is not None:
        answer += (
            f" Where all pairs of items have a lead above {found['kept']:.3g}, without a cycle, the published order is "
            f"that of {rule} without noise, with the same probability."
        )
    if reach is None:
        answer += " With so few users all of epsilon is spent on scores, and every rule ranks by these alone."
    paragraphs = (answer, design.protected(epsilon))
    return design.of_noise(found, rows, title, opening, paragraphs, error_at(epsilon), what)
