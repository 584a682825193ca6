r"""Local reports of a ranking as two sets of items: who is ahead of whom on average; less error than PrivUnit.

**Mechanism.** A strict ranking gives the items scores x, a permutation of (m-1)/2, ..., -(m-1)/2. For disjoint sets A,
B of k and l items let y = 1_A/k - 1_B/l, so that ⟨x, y⟩ is the lead of A over B: its mean score less that of B. A user
of type (k, l, t) reports one pair (A, B), those of lead t/(kl) or more e^ε times as likely as all others. Whatever the
ranking, the same share q of the N = m!/(k! l! (m-k-l)!) pairs reaches the threshold, so with g = e^ε - 1

    P(A, B) = (1 + g·1{⟨x, y⟩ ≥ t/(kl)})/(N(1 + gq)).

The type is drawn by a public coin from a design (:mod:`~privrank_jax.aggregation.subset_designs`), and so is the side:
with probability 1/2 the user reports on the reversed ranking, and y counts negatively.

*Draw*: propose uniform pairs until one is accepted, those that reach the threshold always, others with probability
e^{-ε}. The number of proposals doesn't depend on the ranking either. In a simulation probabilities are multiples of
2^-32, rounded so that the loss is at most ε; :mod:`privrank_jax.exact.local_reports` draws exactly.

*Ties and gaps* are broken before that, so that the mean of x is what the user's scores are: tied items are put into a
uniform order; items not ranked come last, tied; where they count as ``"unknown"``, a fair coin puts all of them first
or last, in a uniform order.

**Theorem (privacy).** ε-DP in the local model under any change of the ranking: type and side don't depend on it, and
any two rankings give a pair (A, B) probabilities whose ratio is 1, e^ε or e^{-ε}. ε is attained.

**Theorem (no bias, error).** The mean of y over all pairs is 0. So E[y | x] = f p with f = gq/(1 + gq) and p the mean
of y over the pairs that reach the threshold; each item's entry of p is a function of its rank. Let v solve Σ v_i p_i =
x over the types i of a design (p averaged over the two sides).

Type i is drawn with probability w_i = |v_i| ‖y_i‖/(f_i B), B = Σ_i
|v_i| ‖y_i‖/f_i, and sends z = ± y v_i/(w_i f_i): E z = Σ_i v_i p_i = x, and ‖z‖ = B, so E‖z - x‖² = B² - ‖x‖² exactly,
the least for these v (Cauchy-Schwarz). With ties or gaps x is the mean of the broken ones, and the same holds.

**Theorem (what any mechanism needs).** Let z be unbiased and ε-local, and λ a vector of m numbers that sum to 0, sorted
like x. Then max_x E‖z‖² ≥ (⟨λ, x⟩/V)², V the largest mean of ⟨λ_σ, u⟩ over permutations λ_σ of λ, weighted by e^ε where
⟨λ_σ, u⟩ reaches a threshold and by 1 elsewhere, over all thresholds and unit vectors u.

*Proof.* Draw σ uniformly, x_σ
and λ_σ permuted alike. ⟨λ, x⟩ = E⟨λ_σ, z⟩ = E⟨E[λ_σ | z], z⟩ ≤ max ‖E[λ_σ | z]‖ √E‖z‖². Given z, the probabilities of
any two σ differ by the factor e^ε at most, and under such ones the mean of ⟨λ_σ, u⟩ is largest for the two values that
a threshold divides. ∎ By enumeration for 3 to 7 items (``tests/reference/local_reports.py``), the error here exceeds
the least by 0 to 3.5 % for ε = 0.5, ..., 5 (by 7 % at m = 4, ε = 5).

**Against PrivUnit.** Its error B² - ‖x‖² for full rankings is 1.03 to 1.08 times the error here at ε = 0.5, and 1.00 to
1.14 times at 1 to 3. At ε = 5 it is from 1.01 (m = 20) to 2.05 (m = 3) times (computed at 48fdee4). Duchi's mechanism
has 1.07 to 18 times the error. Beyond ε = 6 (m = 4) to 9 (m >= 8) PrivUnit is better, except at m = 3.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, UInt

from privrank_jax._types import Epsilon, Key
from privrank_jax._validate import check_epsilon
from privrank_jax._workarounds.threefry import fused
from privrank_jax.aggregation.counting import gaps_last
from privrank_jax.aggregation.subset_designs import Designs, check_items, designs
from privrank_jax.aggregation.vector_reports import borda_by, centered_scores, score_radius
from privrank_jax.mechanism.data import Facts
from privrank_jax.privacy.privacy import Privacy

_SHRINK = 16  # users without a pair are gathered when one in so many is left


def subset_norm(num_items: int, epsilon: Epsilon) -> Float[Array, ""]:
    """B, the norm of every report; the mean squared error of a report is B² - ‖x‖².

    >>> round(float(subset_norm(3, jnp.log(3.0)) ** 2), 4)  # the item ahead, or behind, of both others
    16.6667
    """
    check_items(num_items)
    epsilon = check_epsilon(epsilon)
    costs = designs(num_items).costs(jnp.asarray(epsilon, jnp.result_type(float)))
    return jnp.min(jnp.sum(costs, axis=-1))


def last_accepted(epsilon: Float[Array, ""]) -> UInt[Array, ""]:
    """k - 1, uint32, such that a uniform 32-bit word is at most k - 1 with probability k/2^32 ≥ e^{-ε}.

    k is rounded up, for small ε by its distance from 2^32.
    """
    margin = 4 * jnp.finfo(epsilon.dtype).eps
    rejected = jnp.floor(-jnp.expm1(-jnp.minimum(epsilon, 1.0)) * (1 - margin) * 2.0**32)
    accepted = jnp.ceil(jnp.exp(-jnp.maximum(epsilon, 1.0)) * (1 + margin) * 2.0**32)
    accepted = jnp.maximum(accepted, 1.0).astype(jnp.uint32)
    return jnp.where(epsilon < 1, jnp.uint32(2**32 - 1) - rejected.astype(jnp.uint32), accepted - 1)


def _send(key: Key, ranks: Array, tuned: Any, facts: Facts) -> Array:
    """One value on the items ahead, one on those behind, 0 on others; of norm B. At ε = ∞ the scores themselves."""
    (epsilon, _), (missing,) = tuned, facts.rules
    users, items = ranks.shape
    table = designs(items)
    order_key, type_key, side_key, pair_key = jax.random.split(fused(key), 4)
    costs = table.costs(epsilon)
    design = jnp.argmin(jnp.sum(costs, axis=-1))
    upto = jnp.cumsum(costs[design])
    drawn = jax.random.uniform(type_key, (users,), upto.dtype) * upto[-1]
    kind = jnp.minimum(jnp.searchsorted(upto, drawn, side="right"), len(upto) - 1)
    own = Designs(*(jnp.asarray(column)[design, kind][:, None] for column in table))
    length = jnp.asarray(table.length)[design, kind][:, None]
    side = jax.random.rademacher(side_key, (users, 1), ranks.dtype)
    position = side * strict_scores(order_key, ranks, missing)
    value = _pairs(pair_key, position, *own[:3], last_accepted(epsilon))
    unit = value * side * jnp.sign(own.weight) / (own.ahead * own.behind)
    report = (unit * upto[-1] / length).astype(epsilon.dtype)
    return jnp.where(jnp.isinf(epsilon), centered_scores(ranks, facts), report)


def _norm(epsilon: Epsilon, facts: Facts) -> Array:
    radius = score_radius(facts.num_items)
    return jnp.where(jnp.isinf(epsilon), radius, subset_norm(facts.num_items, epsilon))


def _exact(
    ranks: np.ndarray, attained: Privacy, facts: Facts
) -> tuple[tuple[float, float], np.ndarray]:
    from privrank_jax.exact.local_reports import two_sets

    (missing,), epsilon = facts.rules, attained.epsilon
    table = designs(facts.num_items)
    with np.errstate(divide="ignore"):  # refused there
        costs = table.costs(epsilon)
    row = int(np.argmin(costs.sum(axis=1)))
    used = np.flatnonzero(table.weight[row])
    own = Designs(*(column[row, used] for column in table))
    kind, side, pairs = two_sets(ranks, missing, epsilon, costs[row, used], np.stack(own[:3]))
    norm = float(costs[row].sum())
    factor = np.sign(own.weight) * norm / (own.ahead * own.behind * own.length)
    return (epsilon, norm), pairs * (side * factor[kind])[:, None]


ldp_borda_subsets = borda_by(
    "ldp_borda_subsets",
    "two sets of items, those ahead and those behind",
    _send,
    _norm,
    _exact,
    proof=__name__,
    most=" to 20",
)


def _pairs(
    key: Key, position: Array, ahead: Array, behind: Array, threshold: Array, last: Array
) -> Array:
    """One accepted pair for each user: l on items of A, -k on those of B.

    Users without one are gathered when few are left, so that proposals aren't drawn for all until the last is served.
    """
    users = len(position)
    types = jnp.concatenate([ahead, behind, threshold], axis=1)
    few = users // _SHRINK
    first_key, last_key = jax.random.split(key)
    found, done = _rounds(first_key, position, types, jnp.zeros(users, bool), last, few)
    if few:
        (index,) = jnp.nonzero(~done, size=few, fill_value=users)
        position, types = (array.at[index].get(mode="clip") for array in (position, types))
        done = done.at[index].get(mode="fill", fill_value=True)
        value, _ = _rounds(last_key, position, types, done, last, 0)
        found = found.at[index].set(value, mode="drop")
    return found


def _rounds(
    key: Key, position: Array, types: Array, done: Array, last: Array, goal: int
) -> tuple[Array, Array]:
    """Propose pairs to all until at most ``goal`` users have accepted none; pairs, and who accepted one."""
    users, items = position.shape
    ahead, behind, threshold = jnp.split(types, 3, axis=1)

    def going(state: tuple[Array, Array, Array]) -> Array:
        return jnp.sum(~state[2]) > goal

    def propose(state: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        number, value, done = state
        words = jax.random.bits(jax.random.fold_in(key, number), (users, 1 + items), jnp.uint32)
        place = places_of_words(words[:, 1:])
        fresh = behind * (place < ahead) - ahead * ((place >= ahead) & (place < ahead + behind))
        leads = jnp.sum(position * fresh, axis=1) >= threshold[:, 0]
        kept = leads | (words[:, 0] <= last)
        value = jnp.where(done[:, None], value, fresh.astype(value.dtype))
        return number + 1, value, done | kept

    start = jnp.zeros((), jnp.uint32), jnp.zeros_like(position), done
    _, value, done = jax.lax.while_loop(going, propose, start)
    return value, done


def places_of_words(words: UInt[Array, "*users items"]) -> Int[Array, "*users items"]:
    """The place of each word in rising order, by comparing them with one another: faster than a sort of so few.

    The lowest bits, 5 or those that number the items, give way to that number, so that no two are equal.
    """
    items = words.shape[-1]
    number = jnp.arange(items, dtype=jnp.uint32)
    low = jnp.uint32((1 << max(5, (items - 1).bit_length())) - 1)
    words = (words & ~low) | number
    return jnp.sum(words[..., None, :] < words[..., None], axis=-1)


def strict_scores(
    key: Key, ranks: Int[Array, "*users items"], missing: str
) -> Int[Array, "*users items"]:
    """Scores 0, ..., m - 1 of each ranking, high = preferred, ties and gaps broken at random."""
    tie_key, coin_key = jax.random.split(fused(key))
    known, ranks = gaps_last(ranks)
    if missing == "unknown":
        first = jax.random.bernoulli(coin_key, 0.5, (*ranks.shape[:-1], 1))
        ranks = jnp.where(~known & first, -1, ranks)
    place = places_of_words(jax.random.bits(tie_key, ranks.shape, jnp.uint32))
    one, other = ranks[..., None], ranks[..., None, :]
    tied_ahead = (one == other) & (place[..., None] < place[..., None, :])
    return jnp.sum((one < other) | tied_ahead, axis=-1)
