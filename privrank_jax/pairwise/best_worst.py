r"""Best and worst items of public sets (MaxDiff): how often each item was named best less how often worst, with noise.

**Theorem.** An answer to a set names two of its items, the best b and the worst w, and adds x = e_b - e_w to the
scores. A user gives at most L answers (unit comparison: one). The largest entries of a change
(:mod:`privrank_jax.mechanism.change`) are (2L, 2L) under flip, where the sets stay, and replace: 4L in ℓ₁, 2√2·L in ℓ₂.
They are (L, L) under add-remove. All are attained.

*Proof.* x is within (1, 1). Pair the answers before with those after; a missing one counts as 0. Each pair changes by
x' - x, within (2, 2), or by ±x under add-remove, and at most L of them add up, as do their sums of j largest entries.
Where best and worst trade places in L answers to one set, which flip allows, the change is 2L(e_w - e_b); where a user
of L equal answers joins, L(e_b - e_w). ∎ Whoever can hold x can hold -x, so no center makes the noise less.
"""

from __future__ import annotations

import dataclasses

from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Facts
from privrank_jax.pairwise.noisy_totals import WIN_COUNTS, doubled_counts
from privrank_jax.privacy.noise import NOISES
from privrank_jax.privacy.privacy import COMPARISON_KINDS

best_worst_totals = Additive(
    "best_worst_totals",
    """How often each item was named best less how often worst, with noise, of WinCounts: the best one beat the worst.

    **Guarantee.** ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise, for one answer (unit comparison) or a user of
    at most ``contributions`` answers, which must hold in the data, under any adjacency; proof at the head of
    :mod:`privrank_jax.pairwise.best_worst`.

    ``value``: noisy scores, ``(m,)``, in answers, high = preferred.

    >>> import jax
    >>> from privrank_jax.comparisons import WinCounts
    >>> from privrank_jax.privacy import Privacy
    >>> answers = WinCounts.from_comparisons(winners=[0, 0, 1], losers=[2, 2, 2], num_items=3)
    >>> free = Privacy(float("inf"), unit="user", adjacency="flip", contributions=2)
    >>> best_worst_totals(jax.random.key(0), answers, free).value.tolist()
    [2.0, 1.0, -3.0]
    >>> users = Privacy(1.0, unit="user", adjacency="replace", contributions=5)
    >>> best_worst_totals.scale(users, Facts(3))  # 4L/ε
    20.0
    """,
    data=dataclasses.replace(
        WIN_COUNTS,
        times=1,
        whole=lambda wins: (
            doubled_counts(wins, 1, "exact noise needs whole numbers of answers."),
            Facts(wins.num_items),
        ),
    ),
    kinds=COMPARISON_KINDS,
    statistic=lambda wins, facts: (
        getattr(wins, "matrix", wins).sum(-1) - getattr(wins, "matrix", wins).sum(-2)
    ),
    change=lambda attained, facts, noise: Change(
        [(1 if attained.adjacency == "add-remove" else 2) * attained.comparisons_per_unit] * 2
    ),
    noises=NOISES,
)
