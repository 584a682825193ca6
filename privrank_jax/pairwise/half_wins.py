r"""How much outcomes vary where a tie counts as half a win for both items.

**Lemma.** *An outcome y that is 1, 0 or, for a tie, 1/2, and has mean p, has variance p(1-p) - P(tie)/4.* For y² = y -
1/4 where y is a tie, and y² = y where it is none. So wins and losses of the same mean vary more, by P(tie)/4.

Let t of the M comparisons of a pair be ties. The sum of their outcomes has variance v = M p(1-p) - E t/4. It is
estimated by max(0, M p(1-p) - t/4), whose expectation is at least v, and equal to it in the limit of many comparisons
of the pair; it never exceeds M p(1-p), which holds without ties. Standard errors by it therefore lie between those of
half wins and those of wins and losses, on the safe side on average, whatever makes some pairs tie more often than
others.

t is a function of the outcomes. It may serve where these may be looked at: in fits without privacy, or where the ties
of each pair are public. After a private release of half wins only the cautious p(1-p) is known; a release that counts
ties as outcomes of their own has the variances of that model (:mod:`privrank_jax.pairwise.uncertainty`).
"""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import PairMatrix


def varying_share(most: PairMatrix, ties: PairMatrix) -> Float[Array, "items items"]:
    """The share of the variance of wins and losses that is left by ties, pair by pair, in [0, 1].

    Args:
        most: ``(m, m)``, M p(1-p) of each pair.
        ties: ``(m, m)``, ties of each pair.
    """
    return jnp.where(ties > 0, jnp.clip(1 - 0.25 * ties / most, 0, 1), 1)
