"""Worlds to simulate in: true scores, and comparisons drawn from them.

A size may be given twice: padded and static, which fixes the shapes, and true and traced, which a mask represents. With
JAX's default generator the padded size does not affect what is drawn for the real items, users and pairs.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, DTypeLike, Int, Real

from privrank_jax._types import (
    Count,
    Key,
    Mask,
    PairMatrix,
    PairMatrixLike,
    Scalar,
    Scores,
    ScoresLike,
)
from privrank_jax._validate import check_whole, is_traced
from privrank_jax._workarounds.threefry import below, fused
from privrank_jax.comparisons import Comparisons, WinCounts
from privrank_jax.links import Link, get_link


def cai_top_k(num_items: Count) -> Any:
    """The size of the true top set in Cai's simulations: k = round(m / 4), halves to even.

    Args:
        num_items: m, an int or a traced integer.

    Returns:
        An int for an int, otherwise an int32 array.

    >>> [cai_top_k(m) for m in (4, 16, 30, 300)]
    [1, 4, 8, 75]
    """
    if isinstance(num_items, int | np.integer):
        return round(int(num_items) / 4)
    quarter, rest = jnp.divmod(jnp.asarray(num_items, jnp.int32), 4)
    return quarter + ((rest == 3) | ((rest == 2) & (quarter % 2 == 1)))


def cai_scores(
    key: Key, num_items: Count, max_items: int | None = None, dtype: DTypeLike | None = None
) -> tuple[Scores, Mask]:
    """Draw the true scores of Cai, section 4.1: a top set of equal items, and the rest below it.

    The first k = :func:`cai_top_k` items have e^θ = 1, the others e^θ ~ Unif(0.2, 0.7), and θ is
    centered. (The paper's "i < k" may count items from 1 or 0; here exactly k items are on top.)

    Args:
        key: PRNG key.
        num_items, max_items: m, which may be traced, and its padded size, static; by default m.
        dtype: float type, default JAX's.

    Returns:
        θ of shape ``(max_items,)`` with Σθ = 0 and 0 for padding, and the mask of real items.

    Raises:
        ValueError: m below 1, above its padded size, or traced without one.

    >>> scores, mask = cai_scores(jax.random.key(0), 5)
    >>> bool(abs(scores.sum()) < 1e-5), mask.tolist()
    (True, [True, True, True, True, True])
    """
    max_items = padded_size("num_items", num_items, "max_items", max_items)
    dtype = jnp.result_type(float) if dtype is None else jnp.dtype(dtype)
    item = jnp.arange(max_items)
    mask = item < num_items
    strength = jax.random.uniform(fused(key), (max_items,), dtype, 0.2, 0.7)
    top = item < cai_top_k(jnp.asarray(num_items))
    theta = jnp.where(mask & ~top, jnp.log(strength), 0)
    centered = theta - theta.sum() / jnp.asarray(num_items, dtype)
    return jnp.where(mask, centered, 0), mask


def tournament(
    key: Key,
    scores: ScoresLike,
    probability: Scalar | PairMatrixLike = 1.0,
    link: str | Link = "logistic",
    mask: Mask | None = None,
) -> WinCounts:
    """Compare each pair once with the given probability, and otherwise not at all.

    One uniform per unordered pair decides both whether it is compared and who wins.

    Args:
        key: PRNG key.
        scores: true θ, shape ``(m,)``.
        probability: p in [0, 1], scalar or a symmetric ``(m, m)`` matrix; may be traced.
        link, mask: F of P(i beats j) = F(θ_i − θ_j); real items, ``(m,)``, None for all.

    Returns:
        Win counts in the dtype of the scores, ``W[i, j] + W[j, i]`` 0 or 1.

    Raises:
        ValueError: a probability outside [0, 1] or of the wrong shape.

    >>> wins = tournament(jax.random.key(0), jnp.array([1.0, 0.0, -1.0]))
    >>> (wins.matrix + wins.matrix.T).tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 1.0], [1.0, 1.0, 0.0]]
    """
    scores = _checked_scores(scores)
    square = (scores.shape[0],) * 2
    known = 0.5 if is_traced(probability) else np.asarray(probability)
    if not np.all((known >= 0) & (known <= 1)) or np.shape(probability) not in ((), square):
        raise ValueError(
            f"probability must lie in [0, 1], a scalar or a matrix {square}, got {probability}"
        )
    return _tournament(key, scores, probability, get_link(link), mask)


@partial(jax.jit, static_argnums=3)
def _tournament(
    key: Key, scores: Scores, probability: Scalar | PairMatrixLike, link: Link, mask: Mask | None
) -> WinCounts:
    low, high = _pairs(scores.shape[0])
    probability = jnp.asarray(probability, scores.dtype)
    compared = probability[low, high] if probability.ndim else probability
    uniform = jax.random.uniform(fused(key), low.shape, scores.dtype)
    wins = compared * link.cdf(scores[low] - scores[high])
    outcome = jnp.where(uniform < wins, 1, jnp.where(uniform < compared, -1, 0)).astype(jnp.int8)
    won, sign = _unpack(outcome, scores.shape[0])
    return _masked((won * sign == 1).astype(scores.dtype), mask)


def repeated_comparisons(
    key: Key,
    scores: ScoresLike,
    per_pair: Count,
    link: str | Link = "logistic",
    mask: Mask | None = None,
) -> WinCounts:
    """Compare each pair ``per_pair`` times: W[i, j] ~ Binomial(per_pair, F(θ_i − θ_j)).

    Args:
        key, scores, link, mask: as for :func:`tournament`.
        per_pair: comparisons of each pair, a whole number ≥ 0; may be traced.

    Returns:
        Win counts in the dtype of the scores; ``W[i, j] + W[j, i] = per_pair``.

    Raises:
        ValueError: ``per_pair`` negative or not whole.

    >>> wins = repeated_comparisons(jax.random.key(0), jnp.array([1.0, -1.0]), 100)
    >>> float(wins.matrix[0, 1] + wins.matrix[1, 0]), bool(wins.matrix[0, 1] > 50)
    (100.0, True)
    """
    scores = _checked_scores(scores)
    if not is_traced(per_pair) and (per_pair < 0 or per_pair != int(per_pair)):
        raise ValueError(f"per_pair must be a whole number, at least 0, got {per_pair}")
    return _repeated_comparisons(key, scores, per_pair, get_link(link), mask)


@partial(jax.jit, static_argnums=3)
def _repeated_comparisons(
    key: Key, scores: Scores, per_pair: Count, link: Link, mask: Mask | None
) -> WinCounts:
    low, high = _pairs(scores.shape[0])
    per_pair = jnp.asarray(per_pair, scores.dtype)
    chance = link.cdf(scores[low] - scores[high])
    wins = jax.random.binomial(fused(key), per_pair, chance, dtype=scores.dtype)
    forward, sign = _unpack(wins, scores.shape[0])
    matrix = jnp.where(sign == 1, forward, jnp.where(sign == -1, per_pair - forward, 0))
    return _masked(matrix, mask)


def exposed_comparisons(
    key: Key,
    num_items: int,
    total: Count,
    exposure: Scalar,
    near: bool | Bool[Array, ""] = False,
    spread: Scalar = 0.5,
) -> tuple[Scores, WinCounts]:
    """Items of strengths θ ~ N(0, 1), centered, shown in proportion to 1/rank^a, ranks in random order.

    Opponents are chosen in proportion to 1/rank^a as well, or, near in strength, to exp(-(θ_i - θ_j)²/2s²)/rank^a. Each
    pair is compared Poisson many times. All but m may be traced.

    Args:
        key, num_items: PRNG key and m.
        total: expected number of comparisons.
        exposure: a >= 0; 0 shows all items equally often.
        near, spread: whether opponents are near in strength, and s > 0.

    Returns:
        θ, ``(m,)``, and win counts under the logistic link.

    >>> theta, wins = exposed_comparisons(jax.random.key(0), 5, 1000, 1.0)
    >>> theta.shape, 800 < float(wins.matrix.sum()) < 1200
    ((5,), True)
    """
    return _exposed_comparisons(key, num_items, total, exposure, near, spread)


@partial(jax.jit, static_argnums=1)
def _exposed_comparisons(
    key: Key, num_items: int, total: Count, exposure: Scalar, near: Any, spread: Scalar
) -> tuple[Scores, WinCounts]:
    score_key, order_key, count_key, win_key = jax.random.split(key, 4)
    theta = jax.random.normal(score_key, (num_items,))
    theta = theta - theta.mean()
    rank = 1 + jax.random.permutation(order_key, num_items)
    shown = jnp.power(rank.astype(theta.dtype), -jnp.asarray(exposure, theta.dtype))
    gap = theta[:, None] - theta
    apart = 1 - jnp.eye(num_items, dtype=theta.dtype)
    close = jnp.where(near, jnp.exp(-jnp.square(gap / spread) / 2), 1.0)
    chosen = apart * shown * close
    # Random opponents: pairs in proportion to the product of both; else the first item is shown, then its opponent.
    first = jnp.where(near, shown / jnp.maximum(chosen.sum(1), 1e-30), shown)
    weight = first[:, None] * chosen
    low, high = _pairs(num_items)
    chance = (weight + weight.T)[low, high]
    number = jax.random.poisson(count_key, total * chance / chance.sum()).astype(theta.dtype)
    won = jax.random.binomial(win_key, number, jax.nn.sigmoid(gap[low, high]), dtype=theta.dtype)
    matrix = jnp.zeros((num_items, num_items), theta.dtype)
    return theta, WinCounts(matrix.at[low, high].set(won).at[high, low].set(number - won))


def user_comparisons(
    key: Key,
    scores: ScoresLike,
    num_users: Count,
    comparisons_per_user: int = 1,
    link: str | Link = "logistic",
    mask: Mask | None = None,
    max_users: int | None = None,
) -> WinCounts:
    """Win counts, in the dtype of the scores, with arguments, results and errors as of :func:`user_comparison_records`.

    >>> float(user_comparisons(jax.random.key(0), [1.0, 0.0, -1.0], 50, 2).matrix.sum())
    100.0
    """
    sizes = num_users, comparisons_per_user
    scores = _checked_scores(scores)
    records = user_comparison_records(key, scores, *sizes, link, mask, max_users)
    return WinCounts(records.win_counts(dtype=scores.dtype).matrix, mask)


def user_comparison_records(
    key: Key,
    scores: ScoresLike,
    num_users: Count,
    comparisons_per_user: int = 1,
    link: str | Link = "logistic",
    mask: Mask | None = None,
    max_users: int | None = None,
) -> Comparisons:
    """Let every user draw L pairs of real items and answer each by F (Cai, section 3).

    Pairs are unordered, uniform and drawn with replacement.

    Args:
        key, scores, link, mask: as for :func:`tournament`.
        num_users, max_users: n, which may be traced, and its padded size, static; by default n.
        comparisons_per_user: L, static.

    Returns:
        Comparisons with ``max_users * comparisons_per_user`` rows, user by user, no ties; rows of
        users from ``num_users`` on are masked, and all rows where fewer than two items are real.

    Raises:
        ValueError: n below 1, above its padded size, or traced without one; L below 1; m below 2 or above 46,340.

    >>> records = user_comparison_records(jax.random.key(0), jnp.array([1.0, 0.0, -1.0]), 50, 2)
    >>> records.winners.shape, int(records.users.max())
    ((100,), 49)
    """
    scores = _checked_scores(scores)
    max_users = padded_size("num_users", num_users, "max_users", max_users)
    check_whole("comparisons_per_user", comparisons_per_user)
    if scores.shape[0] > 46_340:  # pairs of items must fit int32 where they are counted
        raise ValueError(f"at most 46,340 items, got {scores.shape[0]}")
    most = max_users, comparisons_per_user
    return _user_comparison_records(key, scores, num_users, mask, get_link(link), most)


@partial(jax.jit, static_argnums=(4, 5))
def _user_comparison_records(
    key: Key,
    scores: Scores,
    num_users: Count,
    mask: Mask | None,
    link: Link,
    most: tuple[int, int],
) -> Comparisons:
    (max_users, per_user), size = most, scores.shape[0]
    rows = max_users * per_user
    real = jnp.int32(size) if mask is None else mask.sum(dtype=jnp.int32)
    first_key, second_key, answer_key = jax.random.split(fused(key), 3)
    # An ordered pair of distinct items is an unordered pair and a coin that says which comes first.
    first = below(jax.random.bits(first_key, (rows,), jnp.uint32), real)
    second = below(jax.random.bits(second_key, (rows,), jnp.uint32), jnp.maximum(real - 1, 1))
    second = second + (second >= first)
    if mask is not None:
        position = jnp.argsort(~mask, stable=True).astype(jnp.int32)
        first, second = position[first], position[second]
    chance = link.cdf(scores[first] - scores[second])
    first_wins = jax.random.uniform(answer_key, (rows,), scores.dtype) < chance
    user = jnp.repeat(jnp.arange(max_users, dtype=jnp.int32), per_user)
    return Comparisons(
        users=user,
        winners=jnp.where(first_wins, first, second),
        losers=jnp.where(first_wins, second, first),
        tied=jnp.zeros(rows, bool),
        mask=(user < num_users) & (real >= 2),
        num_items=size,
    )


def _pairs(size: int) -> tuple[np.ndarray, np.ndarray]:
    """The pairs i < j, ordered by j, then i, so that the pairs of the first items do not depend on ``size``."""
    high, low = np.tril_indices(size, -1)
    return low.astype(np.int32), high.astype(np.int32)


def _unpack(
    packed: Real[Array, "pairs"], size: int
) -> tuple[Real[Array, "items items"], Int[np.ndarray, "items items"]]:
    """The value of each pair in both of its entries, and +1 above the diagonal, −1 below it, 0 on it."""
    index = jnp.arange(size)
    high = jnp.maximum(index[:, None], index)
    low = jnp.minimum(index[:, None], index)
    flat = jnp.where(high == low, 0, high * (high - 1) // 2 + low)
    return packed[flat], np.sign(np.arange(size) - np.arange(size)[:, None]).astype(np.int8)


def _masked(matrix: PairMatrix, mask: Mask | None) -> WinCounts:
    if mask is not None:
        matrix = jnp.where(mask[:, None] & mask, matrix, 0)
    return WinCounts(matrix, mask)


def _checked_scores(scores: ScoresLike) -> Scores:
    scores = jnp.asarray(scores)
    if scores.ndim != 1 or scores.shape[0] < 2:
        raise ValueError(f"scores must have shape (m,) with m >= 2, got {scores.shape}")
    return scores.astype(jnp.result_type(scores, float))


def padded_size(name: str, actual: Count, limit_name: str, limit: int | None) -> int:
    """The static padded size: ``limit``, or ``actual`` itself if no limit is given."""
    if is_traced(actual):
        if limit is None:
            raise ValueError(
                f"{name} is traced: give the padded size {limit_name} as an int, or make {name} static"
            )
        return limit
    size = int(actual) if limit is None else limit
    if not 1 <= actual <= size:
        raise ValueError(f"{name} must be between 1 and {limit_name}={size}, got {actual}")
    return size
