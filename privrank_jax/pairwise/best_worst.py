r"""Best and worst items of public sets (MaxDiff): how often each item was named best less how often worst, with noise.

**Theorem.** An answer to a set names two of its items, the best b and the worst w, and adds x = e_b - e_w to the
scores. A user gives at most L answers (unit comparison: one). The largest entries of a change
(:mod:`privrank_jax.mechanism.change`) are (2L, 2L) under flip, where the sets stay, and replace: 4L in ℓ₁, 2√2·L in ℓ₂.
They are (L, L) under add-remove. All are attained.

*Proof.* x is within (1, 1). Pair the answers before with those after; a missing one counts as 0. Each pair changes by
x' - x, within (2, 2), or by ±x under add-remove, and at most L of them add up, as do their sums of j largest entries.
Where best and worst trade places in L answers to one set, which flip allows, the change is 2L(e_w - e_b); where a user
of L equal answers joins, L(e_b - e_w). ∎

**No center.** Whoever can hold x can hold -x, and max(‖x - c‖, ‖-x - c‖) ≥ ‖x‖ in any norm: under add-remove nothing
that is subtracted for each user makes the noise less.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Real

from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Data, Facts
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.noisy_totals import counts_in_parts
from privrank_jax.privacy.noise import NOISES
from privrank_jax.privacy.privacy import COMPARISON_KINDS


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class BestWorst:
    """``named``: ``(2, m)``, how often each item was named best, and how often worst."""

    named: Real[Array | np.ndarray, "*batch 2 items"]

    @classmethod
    def from_rows(
        cls, rows: Sequence[tuple[Sequence[int], int, int]], *, num_items: int
    ) -> BestWorst:
        """Count answers (items shown, the best one, the worst one); sets may differ in size.

        Raises:
            ValueError: no answers, a best or worst item that was not shown, or one as both, an item out of range or
                twice in a set.

        >>> BestWorst.from_rows([([0, 1, 2], 0, 2), ([1, 2], 1, 2)], num_items=3).named.tolist()
        [[1.0, 1.0, 0.0], [0.0, 0.0, 2.0]]
        """
        for shown, best, worst in rows:
            if best == worst or best not in shown or worst not in shown:
                raise ValueError(f"best {best} and worst {worst} must be two of the items {shown}.")
        all_named = [((best, worst), shown) for shown, best, worst in rows]
        sides = (
            [(named[k], [i for i in shown if i != named[k]]) for named, shown in all_named]
            for k in (0, 1)
        )
        chosen = [Choices.from_top1(side, num_items=num_items) for side in sides]
        return cls(jnp.stack([one.totals for one in chosen]))


best_worst_totals = Additive(
    "best_worst_totals",
    """How often each item was named best less how often worst, with noise, of :class:`BestWorst`.

    **Guarantee.** ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise, for one answer (unit comparison) or a user of
    at most ``contributions`` answers, which must hold in the data, under any adjacency; proof at the head of
    :mod:`privrank_jax.pairwise.best_worst`.

    ``value``: noisy scores, ``(m,)``, in answers, high = preferred.

    >>> from privrank_jax.privacy import Privacy
    >>> counts = BestWorst.from_rows([([0, 1, 2], 0, 2)] * 5 + [([1, 2], 1, 2)], num_items=3)
    >>> free = Privacy(float("inf"), unit="user", adjacency="flip", contributions=2)
    >>> best_worst_totals(jax.random.key(0), counts, free).value.tolist()
    [5.0, 1.0, -6.0]
    >>> users = Privacy(1.0, unit="user", adjacency="replace", contributions=5)
    >>> best_worst_totals.scale(users, Facts(3))  # 4L/ε
    20.0
    """,
    data=Data(
        BestWorst,
        "count answers by BestWorst.from_rows.",
        floats=lambda data: (data.named, Facts(data.named.shape[1])),
        whole=lambda data: (
            counts_in_parts(data.named, 1, "exact noise needs whole numbers of answers."),
            Facts(data.named.shape[1]),
        ),
    ),
    kinds=COMPARISON_KINDS,
    statistic=lambda named, facts: named[0] - named[1],
    change=lambda attained, facts, noise: Change(
        [(1 if attained.adjacency == "add-remove" else 2) * attained.comparisons_per_unit] * 2
    ),
    noises=NOISES,
)
