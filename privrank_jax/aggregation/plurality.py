r"""Plurality of rankings: how many users rank each item first, with noise.

**Points.** A user has one point: for the item ranked alone in first place, or half of it for each of two items that
share that place. Where three items or more share it, no item is said to be the first, and the user counts as blank; so
does one who ranks nothing, which ties all items. This is the first column of
:class:`~privrank_jax.aggregation.PositionHistograms`, as a tie has the middle of its positions: 1/2 for two items, 1 or
more for others. Under ``missing="unknown"`` a user is the mean of two such halves, so points are quarters.

**Theorem.** Four times the totals change by at most (4, 4) where a user is replaced and by (4) where one is added or
removed (:mod:`privrank_jax.mechanism.change`): 2 points in ℓ₁ and √2 in ℓ₂, or 1 in both. All are attained.

*Proof.* The points x of a user are nonnegative, and sum to at most 1: to 1 for one or two items in first place, else to
0, and a mean of two halves has neither more nor less. So an entry of x - x' is at most 1, and the entries of x and x'
sum to at most 2. Where a user ranks another item first, x - x' = e_i - e_j; where one is added, x may be e_i. ∎

Less a center c for each item the ℓ₁ norm would not be smaller.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import jax.numpy as jnp

from privrank_jax.aggregation.footrule import HISTOGRAMS, PositionHistograms
from privrank_jax.aggregation.promise import ADDED
from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy.noise import NOISES


def _totals(histograms: PositionHistograms) -> tuple[Any, Facts]:
    shares, facts = HISTOGRAMS.floats(histograms)
    return shares * facts.num_users, facts


noisy_plurality = Additive(
    "noisy_plurality",
    """How many users rank each item first, with noise, of :class:`~privrank_jax.aggregation.PositionHistograms`.

    Two items that share first place have half a point each; where more share it the user counts as blank.

    **Guarantee.** ε-DP with Laplace noise, (ε, δ)-DP with Gaussian noise (analytic calibration); unit user, adjacency
    replace or add-remove, and whatever these cover; proof at the head of :mod:`privrank_jax.aggregation.plurality`.

    ``value``: noisy totals ``(m,)``, in users, high = preferred; 0 for masked items.

    >>> import jax
    >>> from privrank_jax.privacy import Privacy
    >>> votes = PositionHistograms.from_ranks([[0, 1, 2], [0, -1, -1], [1, 0, 0], [0, 0, 0]])
    >>> free = Privacy(float("inf"), unit="user", adjacency="replace")
    >>> noisy_plurality(jax.random.key(0), votes, free).value.tolist()
    [2.0, 0.5, 0.5]
    """,
    data=dataclasses.replace(HISTOGRAMS, floats=_totals, mean=False),
    kinds=ADDED,
    statistic=lambda counts, facts: counts[:, 0],
    change=lambda attained, facts, noise: Change(
        [4] if attained.adjacency == "add-remove" else [4, 4]
    ),
    finish=lambda noisy, facts: noisy if facts.mask is None else jnp.where(facts.mask, noisy, 0),
    noises=NOISES,
)
