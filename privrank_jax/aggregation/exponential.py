r"""The exponential mechanism on the Kemeny score: P(σ) ∝ exp(-β n K(σ, w)), drawn exactly.

**Guarantee.** n K(σ, w) = Σ_u K(σ, π_u) changes by K(σ, π') - K(σ, π) when user u's ranking π becomes π'. That is at
most D = m(m-1)/2 either way: a tie or an unknown pair costs 1/2 whatever σ says, so K stays within [0, D]. Hence β =
ε/(2D) is ε-DP, unit user, adjacency replace (McSherry and Talwar 2007).

No larger β is: let all n - 1 other users
hold the reversal π' of π. As n grows the law concentrates on π', where K(·, π') - K(·, π) = -D, so the normalizers
differ by e^{βD}, while at σ = π the scores differ by +D: the loss tends to 2βD = ε.

**Drawing.** The cost of an order adds up along its prefixes: putting j behind the set S costs c(j, S) = Σ_{i∈S} w_ji.
So Z[∅] = 1, Z[S] = Σ_{j∈S} Z[S∖j] exp(-βn c(j, S∖j)) is the weight of all orders of S. The last item j of S is drawn
with odds Z[S∖j] exp(-βn c(j, S∖j)), then the last of S∖j, and so on: the order has exactly the law above.

**Error.** A Gibbs law has β n E K = entropy - log Z ≤ log m! + β n OPT, so E K ≤ OPT + 2D log(m!)/(nε): ratio 1 and
additive error O(m³ log m/(nε)), at exponential cost.

**Exactly.** Twice the number of users who order a pair against σ is an integer, so γ = ε/(2m(m-1)) per unit is a
fraction, at most 2^14 here, and :mod:`privrank_jax.exact.exponential` draws this law itself.

Source: Hay, Elagina and Miklau (2017), section 3; the subset recursion is ours.
"""

from __future__ import annotations

from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import logsumexp
from jaxtyping import Array, Float

from privrank_jax._types import Count, Key
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.diagnostics import ExponentialDiagnostics
from privrank_jax.aggregation.kemeny_rule import MAX_ITEMS, item_bits, over_orders
from privrank_jax.aggregation.promise import of_rankings
from privrank_jax.aggregation.weights import PairWeights, shares_of_users, whole_counts
from privrank_jax.estimate import Estimate
from privrank_jax.mechanism.program import mechanism
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.rankings import ranks_from_scores

_SHARP = 1e4  # stands for β = ∞
_STEEPEST = 2**14  # γ of exact draws


def _release(weights: PairWeights, privacy: Privacy) -> Estimate:
    from privrank_jax.exact.exponential import best_first
    from privrank_jax.exact.integer_noise import exact_estimate, exact_promise

    attained = exact_promise(of_rankings(privacy, "exponential_kemeny"))
    counts, items = whole_counts(weights), weights.num_items
    _check_items(items)
    rate = min(Fraction(attained.epsilon) / (2 * items * (items - 1)), Fraction(_STEEPEST))
    value = np.empty(items, np.int32)
    value[best_first(counts, rate)] = np.arange(items)
    return exact_estimate(value, privacy, attained, ExponentialDiagnostics(float(2 * rate)))


def rate_of(privacy: Privacy, num_items: Count) -> Float[Array, ""]:
    """β = ε/(m(m-1)), per pair of items and user that disagree with σ; one item counts as two.

    >>> float(rate_of(Privacy(6.0, unit="user", adjacency="replace"), 3))
    1.0
    """
    pairs = jnp.maximum(num_items * (num_items - 1) / 2, 1.0)
    return jnp.asarray(privacy.epsilon, jnp.result_type(float)) / (2 * pairs)


@mechanism(release=_release, scale=rate_of)
def exponential_kemeny(key: Key, weights: PairWeights, privacy: Privacy) -> Estimate:
    """Draw one ranking with odds exp(-ε n K/(m(m-1))): the exponential mechanism, sampled exactly.

    **Guarantee.** ε-DP, unit user, adjacency replace, and whatever these cover; proof at the head of this module.

    Args:
        key: PRNG key.
        weights: of n users, m <= 20. One draw takes O(2^m m²) time; further keys under ``vmap`` only O(m²) each.
        privacy: what is promised; ε may be traced, and ε = ∞ draws one of the best rankings.

    Returns:
        ``value``: ranks ``(m,)`` int32, 0 = best; masked items last, in index order. ``diagnostics``:
        :class:`~privrank_jax.aggregation.diagnostics.ExponentialDiagnostics`.

    Raises:
        TypeError, ValueError: as for :func:`~privrank_jax.aggregation.dp_borda`; more than 20 items.

    >>> weights = PairWeights(jnp.array([[0.0, 0.9, 0.9], [0.1, 0.0, 0.8], [0.1, 0.2, 0.0]]), 1000)
    >>> privacy = Privacy(1.0, unit="user", adjacency="replace")
    >>> exponential_kemeny(jax.random.key(0), weights, privacy).value.tolist()
    [0, 1, 2]
    """
    attained = of_rankings(privacy, "exponential_kemeny")
    w, users, mask = shares_of_users(weights, "exponential_kemeny")
    _check_items(w.shape[0])
    rate = rate_of(attained, w.shape[0] if mask is None else jnp.sum(mask))
    ranks = _draw(key, _steepness(w, users, rate, mask))
    if mask is not None:
        ranks = ranks_from_scores(-ranks, mask)
    return Estimate(ranks, Guarantee(privacy, attained), ExponentialDiagnostics(rate))


def _check_items(num_items: int) -> None:
    if num_items > MAX_ITEMS:
        raise ValueError(
            f"the exponential mechanism enumerates subsets: at most {MAX_ITEMS} items, got {num_items}. "
            "Use dp_borda or noise_all, whose cost is polynomial."
        )


@jax.jit
def _steepness(w: Array, num_users: Count, rate: Array, mask: Array | None) -> Array:
    """βn w, less the cost common to both orders of a pair, on which no probability depends."""
    excess = w - jnp.minimum(w, w.T)
    if mask is not None:
        excess = jnp.where(mask[:, None] & mask, excess, 0)
    return excess * (num_users * jnp.minimum(rate, _SHARP)).astype(w.dtype)


@jax.jit
def _draw(key: Key, costs: Array) -> Array:
    items = costs.shape[0]
    log_z = -over_orders(costs, lambda terms: -logsumexp(-terms, axis=1), jnp.inf)
    bits = item_bits(items)

    def place_last(subset: Array, step: tuple[Array, Array]) -> tuple[Array, Array]:
        key, _ = step
        inside = (subset & bits) > 0
        # The diagonal is 0, so j itself costs nothing.
        behind = jnp.dot(costs, inside.astype(costs.dtype), precision=jax.lax.Precision.HIGHEST)
        odds = jnp.where(inside, log_z[subset & ~bits] - behind, -jnp.inf)
        item = jax.random.categorical(key, odds)
        return subset & ~bits[item], item

    steps = (jax.random.split(fused(key), items), jnp.arange(items))
    _, last_to_first = jax.lax.scan(place_last, jnp.asarray((1 << items) - 1), steps)
    places = jnp.arange(items - 1, -1, -1, dtype=jnp.int32)
    return jnp.zeros(items, jnp.int32).at[last_to_first].set(places)
