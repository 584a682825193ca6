r"""Private weights of all pairs: noise on every pair, then any solver (Reduction I).

**Sensitivity.** Replacing one of n users changes a pair's weight by at most 1/n: the user contributes a share in [0, 1]
to each pair. Only the m(m-1)/2 entries above the diagonal are released, so the change is at most m(m-1)/(2n) in ℓ₁ and
√(m(m-1)/2)/n in ℓ₂. The reversal of a ranking attains both. Clipping to [0, 1], mirroring w̃_ji = 1 - w̃_ij, and every
ranking that a solver derives from w̃, are post-processing.

**Shape.** The d = m(m-1)/2 entries move together, each by at most 1/n: their change lies in the cube [-1, 1]^d over n,
and in a vertex where a ranking is reversed. So K-norm noise of that shape at scale 1/(nε) is ε-DP, and at no smaller
scale (:mod:`privrank_jax.privacy.geometry`). Its mean absolute value on an entry is (d + 1)/(2nε), half of that of
Laplace noise.

Source: Alabi, Ghazi, Kumar and Manurangsi (2022), Theorem 1 and Corollaries 3 and 4; the cost of a ranking that is
optimal for noisy weights is bounded in :mod:`privrank_jax.aggregation.bounds`.
"""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from privrank_jax._workarounds.xla import materialized
from privrank_jax.aggregation.promise import REPLACED
from privrank_jax.aggregation.weights import PAIR_WEIGHTS
from privrank_jax.mechanism.additive import Additive
from privrank_jax.mechanism.change import Change
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy.geometry import Cube
from privrank_jax.privacy.privacy import Privacy


def _above(facts: Facts) -> Any:
    """The pairs i < j of real items, ``(m, m)``."""
    above = np.triu(np.ones((facts.num_items,) * 2, bool), 1)
    return above if facts.mask is None else above & facts.mask[:, None] & facts.mask


def _every_pair(attained: Privacy, facts: Facts, noise: str) -> Change:
    moved = 2 * _above(facts) if facts.num_items > 1 else [2]
    return Change(moved, lambda: Cube.of_pairs(facts.num_items, facts.mask), 2)


def _mirrored(noisy: Any, facts: Facts) -> Any:
    """Clipped to [0, 1], with w̃_ji = 1 - w̃_ij; the diagonal and padding 0."""
    xp: Any = jnp
    if isinstance(noisy, np.ndarray):
        xp = np
    else:
        noisy = materialized(noisy)  # read twice
    noisy = xp.clip(noisy, 0, 1)
    above = np.triu(np.ones(noisy.shape, bool), 1)
    found = xp.where(above, noisy, xp.where(above.T, 1 - noisy.T, 0))
    return found if facts.mask is None else xp.where(facts.mask[:, None] & facts.mask, found, 0)


noise_all = Additive(
    "noise_all",
    """Private pairwise weights, with noise on every pair, for any solver; of PairWeights, above the diagonal.

    **Guarantee.** ε-DP with K-norm or Laplace noise, (ε, δ)-DP with Gaussian noise, unit user, adjacency replace, and
    whatever these cover; what a user can change, and its proof, are at the head of
    :mod:`privrank_jax.aggregation.noisy_weights`.

    ``value``: ``(m, m)``, entries in [0, 1], w̃_ij + w̃_ji = 1, diagonal 0; 0 in the rows and columns of masked items.

    >>> import jax
    >>> from privrank_jax.aggregation import PairWeights
    >>> weights = PairWeights(jnp.array([[0.0, 0.75], [0.25, 0.0]]), 1000)
    >>> privacy = Privacy(jnp.inf, unit="user", adjacency="replace")
    >>> noise_all(jax.random.key(0), weights, privacy).value.tolist()
    [[0.0, 0.75], [0.25, 0.0]]
    """,
    data=PAIR_WEIGHTS,
    kinds=REPLACED,
    statistic=lambda w, facts: w,
    change=_every_pair,
    finish=_mirrored,
    shape=lambda facts: (facts.num_items,) * 2,
    real=_above,
)
