"""A plan of preference labels that users randomize: as how many labels without privacy they count in training.

A label is kept with probability p = e^ε/(1 + e^ε) and else flipped. Let q be the probability that a label prefers the
first candidate, t = tanh(ε/2) = 2p - 1, and q' = 1/2 + t(q - 1/2) that of a randomized one. The debiased label has
variance q'(1 - q')/t², that of the label is q(1 - q); the Fisher information about the log-odds of q falls by the same
factor, t²q(1 - q)/(q'(1 - q')), at most t², which it is for q = 1/2.

The L labels of a user share ε evenly, so all together count at most as L·tanh²(ε/(2L)) labels, about ε²/(4L) where
ε is small: there one label of each user is worth more than many.
"""

from __future__ import annotations

import math
from typing import Any

from privrank_jax.jobs.plan_design import (
    MOST_USERS,
    Design,
    Plan,
    numbers_near,
)

_CLEAR = 0.9  # of the second example: nine of ten would say the same
_OF_BEST = 2.1775  # the ε of each label at which those of a user are worth most: tanh²(x)/x is largest at half of it


def worth(epsilon: float, chance: float = 0.5) -> float:
    """As how many labels without privacy a randomized one counts.

    Args:
        epsilon: ε of the label.
        chance: q, the probability of the label.

    >>> round(worth(1.0), 3), round(worth(1.0, 0.9), 3), worth(math.inf)
    (0.214, 0.089, 1.0)
    """
    kept = math.tanh(epsilon / 2)
    randomized = 0.5 + kept * (chance - 0.5)
    return kept**2 * chance * (1 - chance) / (randomized * (1 - randomized))


def plan_labels(design: Design) -> Plan:
    """Plan the labels that ``privrank privatize`` randomizes."""
    each = design.max_per_user or 1

    def of_user(budget: float, labels: int = each, chance: float = 0.5) -> float:
        return labels * worth(budget / labels, chance)

    if design.epsilon is None and design.target >= (most := design.users * each):
        raise ValueError(
            f"{most:,} labels can't count as {design.target:,g} without privacy: take more users (--users), or a "
            "smaller target (--target)."
        )
    epsilon, users, needed = design.settled(lambda one: design.target / of_user(one))
    near = max(int(epsilon / _OF_BEST), 1)
    best = max((each, near, near + 1), key=lambda labels: of_user(epsilon, labels))
    found = design.told("trust", "target") | {
        **design.counted(users, needed),
        "labels_per_user": each,
        "labels": users * each,
        "epsilon": epsilon,
        "epsilon_of_label": epsilon / each,
        "worth": users * of_user(epsilon),
        "worth_of_clear_labels": users * of_user(epsilon, chance=_CLEAR),
        "best_labels_per_user": best,
        "best_worth": users * of_user(epsilon, best),
    }
    kept = 0.5 + 0.5 * math.tanh(epsilon / each / 2)
    rows = [
        ("users", f"{users:,}"),
        *([] if needed is None else [("users needed for the target", f"{needed:,}")]),
        ("labels of each user", f"{each:,}"),
        ("epsilon of a user", f"{epsilon:.3g}"),
        ("epsilon of a label", f"{epsilon / each:.3g}"),
        ("labels that stay as they were", f"{kept:.1%}"),
        ("labels without privacy that say as much, of hard choices", f"{found['worth']:,.4g}"),
        ("of choices on which nine of ten users agree", f"{found['worth_of_clear_labels']:,.4g}"),
    ]
    title = f"{users * each:,} preference labels, randomized by {users:,} users"
    opening = (
        "In this plan users randomize their own labels before sending them (--trust local), as privrank privatize "
        "does. epsilon counts for a user, and is divided among the user's labels."
    )
    answer = f"These labels count as {found['worth']:,.4g} without privacy."
    if design.target is not None:
        answer = design.reached(
            f"labels that count as {design.target:,g} without privacy", epsilon, needed
        )
    if best != each:
        several = "s" * (best > 1)
        answer += (
            f" At this epsilon {best} label{several} of each user would be worth more than {each}: "
            f"{found['best_worth']:,.4g} in all."
        )
    whole = "the user's only label" if each == 1 else f"all {each:,} labels"
    protected = (
        f"A user, with {whole}, is protected with epsilon = {epsilon:.3g} against everybody else."
    )

    def draw() -> Any:
        from privrank_jax.plotting import planned_errors

        points = [
            {
                "users": number,
                "hard": number * of_user(epsilon),
                "clear": number * of_user(epsilon, chance=_CLEAR),
            }
            for number in numbers_near(users, MOST_USERS)
        ]
        return planned_errors(
            points,
            {"hard": "hard choices", "clear": "nine of ten agree"},
            (users, found["worth"]),
            target=design.target,
            guarantee_text=protected,
            title=title,
            y_label="labels without privacy that say as much",
        )

    columns = {"plan": [row[0] for row in rows], "": [row[1] for row in rows]}
    return Plan(title, opening, columns, (answer, protected), found, [found], (), draw)
