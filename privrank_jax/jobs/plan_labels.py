"""A plan of preference labels that users randomize: as how many labels without privacy they count in training.

A label is kept with probability p = e^ε/(1 + e^ε) and else flipped. Let q be the probability that a label prefers the
first candidate, t = tanh(ε/2) = 2p - 1, and q' = 1/2 + t(q - 1/2) that of a randomized one. The debiased label has
variance q'(1 - q')/t², that of the label is q(1 - q); the Fisher information about the log-odds of q falls by the same
factor, t²q(1 - q)/(q'(1 - q')), at most t², which it is for q = 1/2. This law is exact, so nothing is simulated.

The L labels of a user share ε evenly, so all together count at most as L·tanh²(ε/(2L)) labels, about ε²/(4L) where
ε is small: there one label of each user is worth more than many.
"""

from __future__ import annotations

import math

from privrank_jax._limits import LARGEST_EPSILON, SMALLEST_EPSILON
from privrank_jax._search import furthest
from privrank_jax.jobs.plan_design import Design, Plan

_CLEAR = 0.9  # of the second example: nine of ten would say the same


def worth(epsilon: float, chance: float = 0.5) -> float:
    """As how many labels without privacy one counts that is randomized with ε, where it has the probability ``chance``.

    >>> round(worth(1.0), 3), round(worth(1.0, 0.9), 3), worth(math.inf)
    (0.214, 0.089, 1.0)
    """
    kept = math.tanh(epsilon / 2)
    randomized = 0.5 + kept * (chance - 0.5)
    return kept**2 * chance * (1 - chance) / (randomized * (1 - randomized))


def plan_labels(design: Design) -> Plan:
    """Plan the labels that ``privrank privatize`` randomizes."""
    each, epsilon, users, needed = design.max_per_user or 1, design.epsilon, design.users, None

    def of_user(budget: float, chance: float = 0.5) -> float:
        return each * worth(budget / each, chance)

    if epsilon is None:
        if design.target >= users * each:
            raise ValueError(
                f"{users * each:,} labels can't count as {design.target:,g} without privacy: take more `users`, or a "
                "smaller `target`."
            )
        ends = LARGEST_EPSILON, SMALLEST_EPSILON
        epsilon = float(
            furthest(lambda one: users * of_user(float(one)) >= design.target, *ends, relative=1e-6)
        )
    elif design.target is not None:
        needed = math.ceil(design.target / of_user(epsilon))
    users = users or needed or 1
    found = {
        "trust": design.trusted,
        "target": design.target,
        "users": users,
        "users_needed": needed,
        "more_users": None if needed is None else max(needed - (design.users or 0), 0),
        "labels_per_user": each,
        "epsilon": epsilon,
        "epsilon_of_label": epsilon / each,
        "worth": users * of_user(epsilon),
        "worth_of_clear_labels": users * of_user(epsilon, _CLEAR),
        "worth_of_one_label_each": users * worth(epsilon),
    }
    rows = [
        ("users", f"{users:,}"),
        *([] if needed is None else [("users needed for the target", f"{needed:,}")]),
        ("labels of each user", f"{each:,}"),
        ("epsilon of a user", f"{epsilon:.3g}"),
        ("epsilon of a label", f"{epsilon / each:.3g}"),
        ("labels that stay as they were", f"{0.5 + 0.5 * math.tanh(epsilon / each / 2):.1%}"),
        ("labels without privacy that say as much, of hard choices", f"{found['worth']:,.4g}"),
        ("of choices on which nine of ten users agree", f"{found['worth_of_clear_labels']:,.4g}"),
        ("of hard choices, if each user gave one label", f"{found['worth_of_one_label_each']:,.4g}"),
    ]  # fmt: skip
    said = f"These labels count as {found['worth']:,.4g} without privacy.", ""
    lines = {"hard": "hard choices", "clear": "nine of ten agree"}
    points = [
        {"users": one, "hard": one * of_user(epsilon), "clear": one * of_user(epsilon, _CLEAR)}
        for one in (users / 10, users, users * 10)
    ]
    what = "labels without privacy that say as much"
    return design.solved(found, rows, ("plan", ""), said, points, lines, what)
