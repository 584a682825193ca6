r"""What the synthesis does to the majorities of a crowd: the bounds that hold, beside those that are printed.

Let p be the share of users who rank i before j, μ = 2p - 1 its margin, and μ̃ the margin of their synthetic rankings at
the same ε. A user's own pair survives by how far apart its items stand: with s(d) = 2 P(d) - 1, P the probability of
:func:`~privrank_jax.mallows.distribution.pair_order_probability` at gap d, and D₊, D₋ the gaps of users of either
opinion,

.. math:: μ̃ = p\, E\, s(D_+) - (1 - p)\, E\, s(D_-).

s rises from s(1) = tanh(θ/2), θ = ε/(m-1), to s(m-1).

**Theorem.** (a) For every crowd p s(1) - (1-p) s(m-1) ≤ μ̃ ≤ p s(m-1) - (1-p) s(1), and both are attained: by users who
have i right ahead of j against others who have j first and i last, and the reverse. So a majority is sure to survive if
and only if p > s(m-1)/(s(1) + s(m-1)); as ε → 0, when s(d) ~ (2d+1)θ/6, if p > (2m-1)/(2m+2).

(b) If D₊ and D₋ have the same law, μ̃ = μ E s(D₊), so that tanh(θ/2) ≤ μ̃/μ ≤ s(m-1). That is so where all users rank
alike, for a single user whose ranking is given, and at m = 2. It is also so where exchanging i and j turns the users of
one opinion into those of the other, as in a Mallows crowd whose center has i and j next to each other.

*Proof.* s is increasing, as h(k) = k/(1 - q^k) is convex. The rest follows from the formula. ∎

**The paper.** Its Theorem 1(1), that μ and μ̃ have the same sign, and 1(2), that |μ̃/μ| lies between tanh(θ/2) and
tanh((2m-3)θ/2), are stated for all crowds. The proof exchanges i and j in the *output* alone, and (16) takes for
granted that the same may be done to the crowd: it holds under (b), where s(m-1) is the sharper upper bound. Otherwise
both are false: at m = 5, ε = 2, let 51 % have i right ahead and 49 % have j first and i last. Then μ = 0.02 and μ̃ =
-0.19, a factor of -9.49 where 0.245 to 0.941 is printed.

**What rests on it.** Lemma 6, Lemma 7, Theorem 3 and Corollary 1 of the paper are about η̃ of a *user with given
features*. They survive where her ranking is a function of her features (then |2η - 1| = 1, γ = ∞), or where (b) holds
of every pair given the features. Otherwise they fail: at the p of (a) that gives μ̃ = 0 for the crowd that attains it,
Assumption 4 holds for every γ, and |2η̃ - 1| = 0. :func:`~privrank_jax.mallows.debiased_pairs` and
:func:`~privrank_jax.mallows.unbiased_ranks` have no such limit.

Source: Xu, Sun and Cheng, Theorem 1(1) and 1(2), Lemmas 6 and 7; the theorem is ours.
"""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._types import Numbers
from privrank_jax._validate import check_choice, check_epsilon, is_traced
from privrank_jax.mallows.distribution import as_float, decay, pair_order_probability

CROWDS = ("any", "equal-gaps", "published")


def sure_majority(num_items: Numbers, epsilon: Numbers) -> Float[Array, "..."]:
    """Share of users above which a majority for i before j survives the synthesis, whatever the crowd.

    Args:
        num_items: m >= 2, may be traced.
        epsilon: ε > 0 of all users, may be traced; the two broadcast.

    Returns:
        Float, s(m-1)/(s(1) + s(m-1)), from 1/2 (m = 2, or ε → ∞) to (2m-1)/(2m+2) (ε → 0).

    Raises:
        ValueError: ε <= 0 or NaN, m < 2.

    >>> round(float(sure_majority(2, 1.0)), 4), round(float(sure_majority(5, 2.0)), 4)
    (0.5, 0.7239)
    """
    least, most = _kept(num_items, epsilon)
    return most / (least + most)


def synthetic_margin_bounds(
    margin: Numbers, num_items: Numbers, epsilon: Numbers, *, crowd: str = "any"
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Least and largest margin of synthetic rankings, from that of the users' own.

    Args:
        margin: μ in [-1, 1], the share of users who rank i before j less that of the others; may be traced.
        num_items: m >= 2, may be traced.
        epsilon: ε > 0 of all users, may be traced; the three broadcast.
        crowd: ``"any"``; ``"equal-gaps"``, (b) of the theorem; ``"published"``, what is printed for every crowd.

    Returns:
        The two bounds of μ̃, float.

    Raises:
        ValueError: ε <= 0 or NaN, m < 2, a margin outside of [-1, 1], an unknown crowd.

    >>> [round(float(bound), 3) for bound in synthetic_margin_bounds(0.02, 5, 2.0)]
    [-0.19, 0.207]
    >>> [round(float(bound), 3) for bound in synthetic_margin_bounds(0.02, 5, 2.0, crowd="published")]
    [0.005, 0.019]
    """
    check_choice("crowd", crowd, CROWDS)
    if not is_traced(margin) and not np.all(np.abs(np.asarray(margin)) <= 1):
        raise ValueError(f"margin must lie in [-1, 1], got {margin!r}.")
    least, most = _kept(num_items, epsilon)
    margin = jnp.asarray(margin)
    if crowd == "any":
        ahead, behind = 0.5 * (1 + margin), 0.5 * (1 - margin)
        return ahead * least - behind * most, ahead * most - behind * least
    if crowd == "published":
        items = jnp.asarray(num_items)
        most = jnp.tanh(0.5 * (2 * items - 3) * decay(as_float(epsilon), items))
    ends = margin * least, margin * most
    return jnp.minimum(*ends), jnp.maximum(*ends)


def _kept(num_items: Numbers, epsilon: Numbers) -> tuple[Array, Array]:
    """s(1) and s(m-1)."""
    epsilon = check_epsilon(epsilon)
    if not is_traced(num_items) and np.any(np.asarray(num_items) < 2):
        raise ValueError(f"num_items must be at least 2, got {num_items!r}.")
    widest = jnp.asarray(num_items) - 1
    near, far = (pair_order_probability(gap, num_items, epsilon) for gap in (1, widest))
    return 2 * near - 1, 2 * far - 1
