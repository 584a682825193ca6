r"""Ranks of a synthetic ranking, corrected so that their mean is the rank in the user's own: a closed form.

With q = e^{-ε/(m-1)} and B(k) = Σ_{s=1..k} q^s/(1 - q^s), an item at rank a of a Mallows draw gets

.. math:: f_m(a) = a + B(a) - B(m - 1 - a).

**Theorem.** E f_m(a_i) = φ_i for every item i, every center φ and every ε > 0. Proof, by induction over repeated
insertion. m = 1: both are 0. The last item, of rank m - 1 in the center, is put in front of V others,
P(V = v) ∝ q^v on 0..m-1, and pushes those behind it back. An item at rank a of the m - 1 others is pushed with
probability P(V ≥ m - 1 - a) = q^{m-1-a} (1 - q^{a+1})/(1 - q^m), and

.. math:: f_m(a + 1) - f_m(a) = 1 + \frac{q^{a+1}}{1 - q^{a+1}} + \frac{q^{m-1-a}}{1 - q^{m-1-a}}
          = \frac{1 - q^m}{(1 - q^{a+1})(1 - q^{m-1-a})},

so given a, its value rises on average by q^{m-1-a}/(1 - q^{m-1-a}) = B(m-1-a) - B(m-2-a), to
f_m(a) + B(m-1-a) - B(m-2-a) = f_{m-1}(a), whose mean is φ_i by induction. The value of the last item follows from the
sum: as f_m(a) + f_m(m-1-a) = m - 1, the values of all items sum to m(m-1)/2 in every ranking, as the ranks of the
center do. ∎

So means of f over users are unbiased Borda scores whatever the users' rankings are. The row sums of the debiasing
kernel are m - 1 - 2 f_m(a): debiasing adds much variance to a single pair, not to a sum over pairs. As ε → 0 the mean
variance is 1/8 (m = 2) to 0.41 (m → ∞) of that of the Laplace mechanism on ranks, 8(m-1)²/ε²; the share falls with ε.

No paper has this; Xu, Sun and Cheng use the synthetic ranks as they are.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._types import Epsilon, Ranks, RanksLike, Scores
from privrank_jax._validate import check_epsilon
from privrank_jax.mallows.distribution import as_float, checked_ranks, decay


def unbiased_ranks(synthetic_ranks: RanksLike, epsilon: Epsilon) -> Scores:
    """Corrected rank f(a) of every item, whose mean over the draw of the synthetic ranking is the user's own rank.

    Post-processing: as private as the synthetic ranking itself.

    Args:
        synthetic_ranks: ``(m,)`` integers of one draw of :func:`~privrank_jax.mallows.sample`, negative = not ranked.
        epsilon: ε > 0 of the draw, may be traced; ∞ gives the ranks themselves.

    Returns:
        ``(m,)`` float, in ranks, from below 0 to above m - 1; NaN for items not ranked.

    Raises:
        ValueError: ε <= 0 or NaN; ranks that are not a ranking of the ranked items.

    >>> [round(x, 6) for x in unbiased_ranks([1, 0], jnp.log(3.0)).tolist()]  # q = 1/3
    [1.5, -0.5]
    """
    epsilon = check_epsilon(epsilon)
    return unbiased_ranks_of(checked_ranks(synthetic_ranks, "synthetic_ranks"), as_float(epsilon))


@jax.jit
def unbiased_ranks_of(ranks: Ranks, epsilon: Float[Array, ""]) -> Scores:
    """:func:`unbiased_ranks` of checked arguments, compiled."""
    count = jnp.sum(ranks >= 0)
    steps = jnp.arange(1, ranks.shape[0])
    each = 1 / jnp.expm1(steps * decay(epsilon, count))  # q^s/(1 - q^s)
    corrections = jnp.concatenate([jnp.zeros(1, each.dtype), jnp.cumsum(each)])
    ahead, behind = jnp.maximum(ranks, 0), jnp.maximum(count - 1 - ranks, 0)
    return jnp.where(ranks >= 0, ranks + corrections[ahead] - corrections[behind], jnp.nan)
