r"""The Mallows model around a ranking: its probabilities, its moments and its privacy guarantee.

Notation: m items ranked, φ the center, d Kendall's distance (discordant pairs), θ = ε/(m-1), q = e^-θ.

    P(π | φ) = q^d(π, φ) / Z,    Z = Π_{t=1..m} (1 - q^t)/(1 - q)

**Repeated insertion.** Let the items come in the order of φ, the t-th (t = 1..m) taking a place among the t - 1 before
it. If it is put behind V of them, it adds t - 1 - V discordant pairs, whatever comes later, and every ranking comes
from exactly one sequence of V^(1), ..., V^(m). So the V^(t) are independent, P(V^(t) = k) ∝ e^{θk} on 0..t-1, and Z is
the product of Σ_k q^k over k = 0..t-1: it does not depend on φ.

**Theorem (privacy).** Two centers φ, φ' are neighbors when they agree once one item is taken out. Publishing π is

1. ε-ranking DP: P(π | φ) ≤ e^ε P(π | φ') for neighbors. The order of φ and φ' differs only in pairs with the item that
   moved, at most m - 1, so |d(π, φ) - d(π, φ')| ≤ m - 1, and Z is the same: the ratio is at most e^{θ(m-1)} = e^ε.
   Equality holds for an item that moves from one end to the other, at π = φ.
2. εm/2-local DP for the whole ranking: two rankings differ in at most m(m-1)/2 pairs, and θm(m-1)/2 = εm/2. Equality
   holds for a ranking and its reversal.

Which items a user ranked, and so m, is taken as public.

**Moments** in the function g(x) = x coth x, with a < b below and x = kθ/2 for each k: since
k/(1 - q^k) = k/2 + g(kθ/2)/θ,

    P(i before j | i is d ranks ahead) = h(d+1) - h(d) = 1/2 + (g((d+1)θ/2) - g(dθ/2))/θ,    h(k) = k/(1 - q^k)
    E V^(t) = (t-1)/2 + (g(tθ/2) - g(θ/2))/θ
    Var V^(t) = (s(θ/2) - s(tθ/2))/θ²,    s(x) = x²/sinh² x = g(x) - x g'(x)

Where b is small these differences cancel. There they are summed from g(x) = 1 + Σ c_k x^2k, as c_k (b^2k - a^2k) = c_k
(b² - a²) Σ_{i+j=k-1} a^2i b^2j, all of whose factors are known to full precision.

Sources: Mallows (1957); Fligner and Verducci (1986); Xu, Sun and Cheng, Lemmas 1 and 2 and Theorem 1(3).
"""

from __future__ import annotations

import functools
from fractions import Fraction
from math import comb, factorial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Integer, Real

from privrank_jax._types import Epsilon, Numbers, NumbersLike, RankingsLike, Ranks, RanksLike
from privrank_jax._validate import (
    check_epsilon,
    check_positive,
    check_shape,
    check_whole,
    is_traced,
)
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.rankings import validate_ranks

MISSING = -1  # rank of an item that a user did not rank

_TERMS = 22  # of the series for b < 1: the next is below 1e-21 of the sum
TINY = 1e-30  # θ at or below it is as good as 0: the results differ from those at 0 by less than rounding


def synthetic_guarantee(
    num_items: Numbers, epsilon: Numbers, numerics: str = "simulation"
) -> Guarantee:
    """Guarantee of publishing a draw of :func:`~privrank_jax.mallows.sample`: the theorem at the head of this module.

    Args:
        num_items: m, the items that the user ranked; one number, or one for each user.
        epsilon: ε > 0, one number, or one for each user; may be traced.
        numerics: how the draw was made, see :class:`~privrank_jax.privacy.Guarantee`.

    Returns:
        ε for the rank of one item (unit ``rank``), and in ``also`` εm/2 for the whole ranking (unit ``user``), both
        local, adjacency ``replace``; for several users, whose own ε and m are then public, the largest of each.

    Raises:
        ValueError: ε <= 0 or NaN, m < 1.

    >>> promised = synthetic_guarantee(10, 2.0)
    >>> promised.epsilon, promised.also[0].epsilon
    (2.0, 10.0)
    """
    epsilon = check_epsilon(epsilon)
    check_positive("num_items", num_items, infinite=False)
    several = {"ranked-items": np.ndim(num_items), "budgets": np.ndim(epsilon)}
    public, note = tuple(fact for fact, axes in several.items() if axes), ""
    if not public:
        whole = 0.5 * epsilon * num_items
    else:
        epsilon = as_float(epsilon)
        epsilon, whole = jnp.max(epsilon), jnp.max(0.5 * epsilon * jnp.asarray(num_items))
        note = "the largest of the users' own epsilons; to each user, that user's own applies."
    common: dict[str, Any] = {"adjacency": "replace", "public": public}
    rank = Privacy.proven(epsilon, unit="rank", **common)
    user = Privacy.proven(whole, unit="user", **common)
    return Guarantee(rank, trust="local", numerics=numerics, note=note, also=(user,))


def top_k_pairs(num_items: int, k: int) -> int:
    """Most pairs on which two rankings differ that agree on all items in neither's top K: K(2m - 2K - 1).

    So a user who wants to protect her top K alone loses K(2m-2K-1) ε/(m-1) with a Mallows draw at ε. Items that leave
    the top K may pass all others, and those that come into it too; all pairs with one of these 2K items can be
    reversed, and no other: m(m-1)/2 - (m-2K)(m-2K-1)/2 pairs. From K = m/2 on that is all pairs.

    Args:
        num_items: m >= 1.
        k: K, from 0 to m.

    Returns:
        The number of pairs, an int.

    Raises:
        ValueError: m < 1, or K outside of 0 to m.

    Source: the question is of Xu, Sun and Cheng, Rate-optimal rank aggregation, S.1.1; the answer is ours.

    >>> top_k_pairs(10, 1), top_k_pairs(10, 3), top_k_pairs(10, 5)
    (17, 39, 45)
    """
    check_whole("num_items", num_items)
    check_whole("k", k, 0, num_items)
    rest = max(num_items - 2 * k, 0)
    return (num_items * (num_items - 1) - rest * (rest - 1)) // 2


def log_prob(ranks: RanksLike, center_ranks: RanksLike, epsilon: Epsilon) -> Float[Array, ""]:
    """log P(π | φ), exact.

    Args:
        ranks: π ``(m,)`` integers, 0 = best, negative for items that are not ranked.
        center_ranks: φ ``(m,)``, in the same form; if it ranks other items than π, the probability is 0.
        epsilon: ε > 0, may be traced; ∞ puts all probability on φ.

    Returns:
        Scalar, float: -θ d(π, φ) - log Z, or -∞.

    Raises:
        ValueError: ε <= 0 or NaN; ranks that are not a ranking of the ranked items; shapes that differ.

    >>> round(float(log_prob([1, 0], [0, 1], jnp.log(3.0))), 5) == round(float(jnp.log(0.25)), 5)
    True
    """
    epsilon = check_epsilon(epsilon)
    ranks, center = checked_ranks(ranks, "ranks"), checked_ranks(center_ranks)
    if ranks.shape != center.shape:
        raise ValueError(f"ranks {ranks.shape} and center_ranks {center.shape} differ in shape.")
    return _log_prob(ranks, center, as_float(epsilon))


@jax.jit
def _log_prob(ranks: Ranks, center: Ranks, epsilon: Float[Array, ""]) -> Float[Array, ""]:
    known, wanted = ranks >= 0, center >= 0
    both = known & wanted

    def behind(item: Array, total: Array) -> Array:
        pairs = both[item] & both & (center[item] < center) & (ranks[item] > ranks)
        return total + jnp.sum(pairs, dtype=jnp.int32)

    distance = jax.lax.fori_loop(0, ranks.shape[0], behind, jnp.int32(0))
    count = jnp.sum(wanted)
    theta = decay(epsilon, count)
    cost = jnp.where(distance == 0, 0, distance * theta)  # 0 also at θ = ∞
    steps = jnp.arange(1, ranks.shape[0] + 1)
    each = jnp.log(jnp.expm1(-steps * theta) / jnp.expm1(-theta))  # log Σ_{k<t} q^k
    log_z = jnp.sum(jnp.where(steps <= count, each, 0))
    return jnp.where(jnp.all(known == wanted), -cost - log_z, -jnp.inf)


def insertion_mean(
    step: NumbersLike, num_items: NumbersLike, epsilon: NumbersLike
) -> Float[Array, "..."]:
    """E V^(t), the mean number of concordant pairs, out of t - 1, that the item inserted t-th adds.

    Args:
        step: t = 1..m, any shape, may be traced.
        num_items: m, may be traced.
        epsilon: ε > 0, may be traced; the three broadcast.

    Returns:
        Float, between (t-1)/2 (ε → 0) and t - 1 (ε = ∞).

    Raises:
        ValueError: ε <= 0 or NaN, m < 1, t outside 1..m.

    Source: Xu, Sun and Cheng, Theorem 1(3).

    >>> round(float(insertion_mean(2, 2, jnp.log(3.0))), 4)  # the pair is kept with probability 3/4
    0.75
    """
    step = _checked_whole("step", step, 1, num_items)
    return _insertion_mean(step, *_checked_numbers(epsilon, num_items))


@jax.jit
def _insertion_mean(
    step: Real[Array, "..."], epsilon: Float[Array, "..."], num_items: Real[Array, "..."]
) -> Float[Array, "..."]:
    theta = decay(epsilon, num_items)
    squares, small = _series_or_zero(theta, 1, step)
    series = 0.25 * theta * (step**2 - 1) * _difference(squares, 0)
    above = step - 1 - (1 / jnp.expm1(theta) - step / jnp.expm1(step * theta))
    return jnp.where(small, 0.5 * (step - 1) + series, above)


def insertion_variance(
    step: NumbersLike, num_items: NumbersLike, epsilon: NumbersLike
) -> Float[Array, "..."]:
    """Var V^(t), the variance of the number of concordant pairs that the item inserted t-th adds.

    Args:
        step, num_items, epsilon: as of :func:`insertion_mean`.

    Returns:
        Float, between (t²-1)/12 (ε → 0) and 0 (ε = ∞).

    Raises:
        ValueError: as there.

    >>> round(float(insertion_variance(2, 2, jnp.log(3.0))), 4)  # 3/4 · 1/4
    0.1875
    """
    step = _checked_whole("step", step, 1, num_items)
    return _insertion_variance(step, *_checked_numbers(epsilon, num_items))


@jax.jit
def _insertion_variance(
    step: Real[Array, "..."], epsilon: Float[Array, "..."], num_items: Real[Array, "..."]
) -> Float[Array, "..."]:
    theta = decay(epsilon, num_items)
    squares, small = _series_or_zero(theta, 1, step)

    def one(k: Numbers) -> Float[Array, "..."]:
        half = jnp.maximum(0.5 * k * theta, TINY)
        return jnp.square(k * jnp.exp(-half) / -jnp.expm1(-2 * half))  # (k/2)²/sinh²(kθ/2)

    series = 0.25 * (step**2 - 1) * _difference(squares, 1)
    return jnp.where(small, series, one(1) - one(step))


def pair_order_probability(
    gap: NumbersLike, num_items: NumbersLike, epsilon: NumbersLike
) -> Float[Array, "..."]:
    """Probability that the output keeps i before j if the center has i ``gap`` ranks ahead of j, h(d+1) - h(d).

    Args:
        gap: d = φ_j - φ_i, whole numbers of any shape, may be traced. Negative: i is behind, 1 - P(-d). 0: 1/2.
        num_items: m, may be traced.
        epsilon: ε > 0, may be traced; the three broadcast.

    Returns:
        Float, accurate to a few units in the last place at every ε.

    Raises:
        ValueError: ε <= 0 or NaN, m < 1, ``|d| >= m``.

    Source: Mallows (1957); the form that does not cancel is at the head of this module.

    >>> round(float(pair_order_probability(1, 2, jnp.log(3.0))), 6)
    0.75
    """
    gap = _checked_whole("gap", gap, None, num_items)
    return _pair_order(gap, *_checked_numbers(epsilon, num_items))


@jax.jit
def _pair_order(
    gap: Real[Array, "..."], epsilon: Float[Array, "..."], num_items: Real[Array, "..."]
) -> Float[Array, "..."]:
    theta, d = decay(epsilon, num_items), abs(gap)
    squares, small = _series_or_zero(theta, d, d + 1)
    series = 0.25 * theta * (2 * d + 1) * _difference(squares, 0)
    # h(d+1) - h(d) = (1 - q^d - d q^d (1-q)) / ((1-q^d)(1-q^(d+1))), less 1/2
    away = jnp.maximum(d, 1) * jnp.where(small, 1, theta)
    step = jnp.where(small, 1, theta)
    kept, more = -jnp.expm1(-away), -jnp.expm1(-away - step)
    above = (kept + d * jnp.exp(-away) * jnp.expm1(-step)) / (kept * more) - 0.5
    return 0.5 + jnp.sign(gap) * jnp.where(small, series, above)


def expected_concordance(num_items: int, epsilon: NumbersLike) -> Float[Array, "..."]:
    """Expected number of pairs, out of m(m-1)/2, that the output orders as the center does: Σ_t E V^(t).

    Args:
        num_items: m >= 1, static.
        epsilon: ε > 0, any shape, may be traced; else ``ValueError``.

    Returns:
        Shape of ``epsilon``, float.

    >>> round(float(expected_concordance(2, jnp.log(3.0))), 4), float(expected_concordance(4, jnp.inf))
    (0.75, 6.0)
    """
    check_whole("num_items", num_items)
    steps = jnp.arange(1, num_items + 1)
    epsilon = check_epsilon(epsilon)
    return jnp.sum(insertion_mean(steps, num_items, as_float(epsilon)[..., None]), axis=-1)


def decay(epsilon: Float[Array, "..."], num_items: Numbers) -> Float[Array, "..."]:
    """θ = ε/(m-1), above 0; with at most one item there is no pair, and any θ will do."""
    return jnp.maximum(epsilon / jnp.maximum(num_items - 1, 1), TINY)


@functools.cache
def _weights(powers: int) -> np.ndarray:
    """Weights of a^2i b^2j in (F(b) - F(a))/(b² - a²), F = g for ``powers=0`` and -s for ``powers=1``.

    c_k = 4^k B_2k/(2k)! for k = i + j + 1, and (2k - 1) c_k; B the Bernoulli numbers.
    """
    bernoulli: list[Fraction] = [Fraction(1)]
    for n in range(1, 2 * _TERMS + 1):
        total = sum((comb(n + 1, k) * bernoulli[k] for k in range(n)), Fraction(0))
        bernoulli.append(-total / (n + 1))
    series = [
        float((2 * k - 1) ** powers * 4**k * bernoulli[2 * k] / factorial(2 * k))
        for k in range(1, _TERMS + 1)
    ]
    i = np.arange(_TERMS)
    return np.append(series, 0.0)[np.minimum(i[:, None] + i, _TERMS)]


def _difference(squares: tuple[Array, Array], powers: int) -> Array:
    """(F(b) - F(a))/(b² - a²) for a, b < 1 from their squares; see :func:`_weights`."""
    i = jnp.arange(_TERMS)
    of_a, of_b = (jnp.power(square[..., None], i) for square in squares)
    weights = jnp.asarray(_weights(powers), of_a.dtype)
    return jnp.sum(of_a[..., :, None] * weights * of_b[..., None, :], axis=(-2, -1))


def _series_or_zero(
    theta: Float[Array, "..."], low: Numbers, high: Array
) -> tuple[tuple[Array, Array], Array]:
    """a², b² for k = ``low``, ``high`` where the series serves (b < 1), else 0; and where."""
    theta, low, high = jnp.broadcast_arrays(theta, low, high)
    small = high * theta < 2
    a, b = (jnp.where(small, 0.5 * k * theta, 0) for k in (low, high))
    return (a**2, b**2), small


def as_float(epsilon: NumbersLike) -> Float[Array, "..."]:
    """ε as an array of at least single precision."""
    epsilon = jnp.asarray(epsilon)
    if not jnp.issubdtype(epsilon.dtype, jnp.floating):
        return epsilon.astype(jnp.result_type(float))
    return epsilon.astype(jnp.promote_types(epsilon.dtype, jnp.float32))


def checked_ranks(ranks: RanksLike, name: str = "center_ranks") -> Ranks:
    """Ranks ``(m,)`` of one user as int32, items not ranked as ``MISSING``; ``ValueError`` for anything else."""
    return signed_ranks(check_ranks(ranks, name, "m"))


def check_ranks(
    ranks: RankingsLike | RanksLike, name: str, *shape: str
) -> Integer[Array, "*shape"] | Integer[np.ndarray, "*shape"]:
    """Ranks of this shape, ``(m,)`` of one user or ``(n, m)``, as they are; ``ValueError`` for anything else."""
    array = jnp.asarray(ranks) if is_traced(ranks) else np.asarray(ranks)
    check_shape(name, array, shape)
    if not array.size:
        raise ValueError(f"{name} must hold one rank at least, got shape {array.shape}.")
    if not np.issubdtype(array.dtype, np.integer):
        raise ValueError(f"{name} must be integers, 0 = best, got {array.dtype}.")
    rows = array.reshape(-1, array.shape[-1]) if isinstance(array, np.ndarray) else np.empty((0, 0))
    # With the items not ranked put last, in their own order, every row must be a permutation.
    behind = np.cumsum(rows < 0, axis=1) - 1 + (rows >= 0).sum(axis=1, keepdims=True)
    whole = np.sort(np.where(rows < 0, behind, rows), axis=1) == np.arange(rows.shape[1])
    for row in np.flatnonzero(~whole.all(axis=1)):
        try:
            validate_ranks(rows[row][rows[row] >= 0])
        except ValueError as error:
            where = f"row {row} of {name}" if array.ndim > 1 else name
            raise ValueError(f"{where}, without the items of negative rank: {error}") from None
    return array


def signed_ranks(
    ranks: Integer[Array, "*shape"] | Integer[np.ndarray, "*shape"],
) -> Int[Array, "*shape"]:
    """Integer ranks as int32, negative ones as ``MISSING``; unsigned integers have none."""
    xp = jnp if isinstance(ranks, jax.Array) else np
    if not jnp.issubdtype(ranks.dtype, jnp.unsignedinteger):
        ranks = xp.maximum(ranks, MISSING)
    return jnp.asarray(ranks.astype(np.int32))


def _checked_numbers(
    epsilon: NumbersLike, num_items: NumbersLike
) -> tuple[Float[Array, "..."], Real[Array, "..."]]:
    check_positive("num_items", num_items, infinite=False)
    return as_float(check_epsilon(epsilon)), jnp.asarray(num_items)


def _checked_whole(
    name: str, value: NumbersLike, low: int | None, num_items: NumbersLike
) -> Real[Array, "..."]:
    """Whole numbers as the default float; ``ValueError`` outside ``low``..m (None: |value| < m)."""
    if not is_traced(value, num_items):
        array, size = np.asarray(value), np.asarray(num_items)
        inside = (array >= low) & (array <= size) if low is not None else abs(array) < size
        if not np.all(inside & (array == np.round(array))):
            span = f"{low} to m" if low is not None else "-(m-1) to m-1"
            raise ValueError(
                f"{name} must be whole numbers from {span}, got {value!r}, m = {num_items!r}."
            )
    return jnp.asarray(value)
