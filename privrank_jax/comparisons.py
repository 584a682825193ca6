"""Comparisons and their sufficient statistics: win counts, dense or as an edge list, which merge by addition."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, DTypeLike, Float, Int, Integer, Real

from privrank_jax._batches import of_each_problem
from privrank_jax._counting import (
    FlagsLike,
    WeightsLike,
    check_comparisons,
    count_on_host,
    count_ties,
)
from privrank_jax._pytrees import pytree, static
from privrank_jax._types import Count, Key, MaskLike, RowsLike
from privrank_jax._validate import as_array, check_positive, check_square, in_floats, is_traced
from privrank_jax._workarounds.threefry import fused

_UNLIKE = "win counts of {} and {} items can't be merged; count both over the same item list."


def default_float() -> np.dtype:
    """JAX's default float type.

    Returns:
        float64 where x64 is enabled, else float32.

    >>> jnp.zeros(1).dtype == default_float()
    True
    """
    return jnp.result_type(float)


@pytree
class WinCounts:
    """Dense win counts of one problem; integers and truth values become JAX's default float.

    Attributes:
        matrix: ``(m, m)`` float, ``matrix[i, j]`` = times item ``i`` beat item ``j``; a tie counts 1/2 for both. The
            diagonal is 0.
        mask: ``(m,)`` bool, False for items that only pad the problem; ``None`` = all are real.
        ties: how many of the comparisons are ties, for a model of ties; ``None`` = not known.
    """

    matrix: Float[Array, "*batch items items"]
    mask: Bool[Array, "*batch items"] | None = None
    ties: Float[Array, "*batch"] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", in_floats("win counts", self.matrix))
        object.__setattr__(self, "ties", in_floats("ties", self.ties))

    @classmethod
    def from_comparisons(
        cls,
        winners: RowsLike,
        losers: RowsLike,
        *,
        num_items: int,
        weights: WeightsLike | None = None,
        tied: FlagsLike | None = None,
        mask: MaskLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> WinCounts:
        """Count comparisons given as index arrays.

        Args:
            winners, losers: ``(N,)`` int, items that won and lost.
            num_items: m, static.
            weights: ``(N,)`` float, how often each comparison counts (default 1; 0 drops it).
            tied: ``(N,)`` bool; a tie counts 1/2 for both items, and the ties are counted.
            mask: ``(m,)`` bool, real items.
            dtype: of the counts (default: JAX's float); float32 is exact up to 2**24 wins per pair.

        Raises:
            ValueError: shapes that differ, an item out of range or compared with itself, a weight below 0 or not
                finite.

        >>> WinCounts.from_comparisons([0, 0, 1], [1, 2, 2], num_items=3).totals.tolist()
        [2.0, 1.0, 0.0]
        """
        dtype = default_float() if dtype is None else dtype
        check_comparisons(winners, losers, num_items, weights, tied)
        mask = None if mask is None else jnp.asarray(mask)
        if not is_traced(winners, losers, weights, tied):
            counts = count_on_host(winners, losers, num_items, weights, tied)
            ties = None if tied is None else jnp.asarray(count_ties(tied, weights), dtype)
            return cls(jnp.asarray(counts.astype(dtype)), mask, ties)
        first, second = (_index(items) for items in (winners, losers))
        weight = jnp.ones(first.shape, dtype) if weights is None else jnp.asarray(weights, dtype)
        counts = jnp.zeros((num_items, num_items), dtype)
        if tied is None:
            return cls(counts.at[first, second].add(weight), mask)
        half = jnp.where(jnp.asarray(tied), 0.5 * weight, 0.0)
        counts = counts.at[first, second].add(weight - half).at[second, first].add(half)
        return cls(counts, mask, 2 * half.sum())

    @classmethod
    def from_matrix(
        cls,
        matrix: Real[ArrayLike, "*batch items items"] | Sequence[Sequence[float]],
        mask: MaskLike | None = None,
        ties: Real[ArrayLike, "*batch"] | None = None,
    ) -> WinCounts:
        """Wrap an ``(m, m)`` matrix of win counts, of which ``ties`` comparisons are half a win for both items.

        Raises:
            ValueError: not square, entries below 0 or not finite, a diagonal that is not 0, ties below 0 or more than
                there are comparisons.

        >>> WinCounts.from_matrix([[0, 3], [1, 0]]).comparisons.tolist()
        [[0.0, 4.0], [4.0, 0.0]]
        """
        matrix = in_floats("win counts", matrix)
        check_square("the win-count matrix", matrix)
        if not is_traced(matrix):
            host = np.asarray(matrix)
            if not np.all(np.isfinite(host)) or np.any(host < 0):
                raise ValueError("win counts must be finite and at least 0, 0 of missing pairs.")
            if np.any(np.diagonal(host, axis1=-2, axis2=-1)):
                raise ValueError("the diagonal of the win counts must be 0: no item meets itself.")
        array = in_floats("win counts", jnp.asarray(matrix))
        if ties is not None and not is_traced(matrix, ties):
            number, most = np.asarray(ties), np.asarray(matrix).sum((-2, -1))
            if not np.all((number >= 0) & (number <= most)):
                raise ValueError(
                    f"ties must lie between 0 and the number of comparisons, {most}, got {number}."
                )
        known = None if ties is None else jnp.asarray(ties, array.dtype)
        return cls(array, None if mask is None else jnp.asarray(mask), known)

    @property
    def num_items(self) -> int:
        """Number of items m, padding included (static)."""
        return self.matrix.shape[-1]

    @property
    def item_mask(self) -> Bool[Array, "*batch items"]:
        """``(m,)`` bool, True for real items."""
        return jnp.ones(self.num_items, bool) if self.mask is None else self.mask

    @property
    def totals(self) -> Float[Array, "*batch items"]:
        """``(m,)`` wins of each item, N_i."""
        return self.matrix.sum(-1)

    @property
    def comparisons(self) -> Float[Array, "*batch items items"]:
        """``(m, m)`` symmetric number of comparisons of each pair, M_ij."""
        return self.matrix + self.matrix.swapaxes(-1, -2)

    @property
    def degrees(self) -> Float[Array, "*batch items"]:
        """``(m,)`` comparisons that each item took part in, Σ_j M_ij."""
        return self.matrix.sum(-1) + self.matrix.sum(-2)

    def merge(self, other: WinCounts) -> WinCounts:
        """Counts of both data sets together; items must be the same. Ties are known if both know theirs."""
        if self.num_items != other.num_items:
            raise ValueError(_UNLIKE.format(self.num_items, other.num_items))
        both = None if self.mask is None or other.mask is None else self.mask | other.mask
        ties = None if self.ties is None or other.ties is None else self.ties + other.ties
        return WinCounts(self.matrix + other.matrix, both, ties)

    __add__ = merge


@pytree
class WinEdges:
    """Win counts as an edge list, for many items of which few pairs meet.

    Attributes:
        first, second: ``(E,)`` int32, the items of each pair.
        first_wins, second_wins: ``(E,)`` float, how often each of them beat the other.
        num_items: m, static.
    """

    first: Int[Array, "*batch edges"]
    second: Int[Array, "*batch edges"]
    first_wins: Float[Array, "*batch edges"]
    second_wins: Float[Array, "*batch edges"]
    num_items: int = static()

    def __post_init__(self) -> None:
        object.__setattr__(self, "first_wins", in_floats("wins", self.first_wins))
        object.__setattr__(self, "second_wins", in_floats("wins", self.second_wins))

    @classmethod
    def from_comparisons(
        cls,
        winners: RowsLike,
        losers: RowsLike,
        *,
        num_items: int,
        dtype: DTypeLike | None = None,
    ) -> WinEdges:
        """Count comparisons pair by pair, on the host: ``(N,)`` winners and losers.

        Raises:
            ValueError: as :meth:`WinCounts.from_comparisons`.

        >>> edges = WinEdges.from_comparisons([0, 1, 0], [1, 0, 2], num_items=3)
        >>> edges.first.tolist(), edges.first_wins.tolist()
        ([0, 0], [1.0, 1.0])
        """
        check_comparisons(winners, losers, num_items, None, None)
        wins, losses = np.asarray(winners, np.int64), np.asarray(losers, np.int64)
        if np.any(wins == losses):
            row = int(np.flatnonzero(wins == losses)[0])
            raise ValueError(f"row {row} compares item {wins[row]} with itself; drop such rows.")
        low, high = np.minimum(wins, losses), np.maximum(wins, losses)
        pairs, place = np.unique(low * num_items + high, return_inverse=True)
        total = np.bincount(place, minlength=pairs.size)
        low_wins = np.bincount(place, weights=wins < losses, minlength=pairs.size)
        dtype = default_float() if dtype is None else dtype
        return cls(
            jnp.asarray(pairs // num_items, jnp.int32),
            jnp.asarray(pairs % num_items, jnp.int32),
            jnp.asarray(low_wins, dtype),
            jnp.asarray(total - low_wins, dtype),
            num_items,
        )

    @property
    @of_each_problem
    def totals(self) -> Float[Array, "items"]:
        """``(m,)`` wins of each item, N_i."""
        return self._added(self.first_wins, self.second_wins)

    @property
    @of_each_problem
    def degrees(self) -> Float[Array, "items"]:
        """``(m,)`` comparisons that each item took part in."""
        return self._added(*(self.first_wins + self.second_wins,) * 2)

    def _added(self, to_first: Array, to_second: Array) -> Float[Array, "items"]:
        zero = jnp.zeros(self.num_items, to_first.dtype)
        return zero.at[self.first].add(to_first).at[self.second].add(to_second)

    def merge(self, other: WinEdges) -> WinEdges:
        """Both edge lists; a pair may then stand in several rows, which every function here allows."""
        if self.num_items != other.num_items:
            raise ValueError(_UNLIKE.format(self.num_items, other.num_items))
        first, second, first_wins, second_wins = (
            jnp.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("first", "second", "first_wins", "second_wins")
        )
        return WinEdges(first, second, first_wins, second_wins, self.num_items)

    __add__ = merge


@pytree
class Comparisons:
    """Raw comparisons: who said what.

    Attributes:
        users: ``(N,)`` int32, who compared.
        winners, losers: ``(N,)`` int32, the preferred item (either one of a tie), and the other.
        tied: ``(N,)`` bool, no preference: half a win for both.
        mask: ``(N,)`` bool, False = the row is ignored.
        num_items: m, static.
    """

    users: Int[Array, "*batch rows"]
    winners: Int[Array, "*batch rows"]
    losers: Int[Array, "*batch rows"]
    tied: Bool[Array, "*batch rows"]
    mask: Bool[Array, "*batch rows"]
    num_items: int = static()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.num_items} items; users and answers not shown>"

    def win_counts(self, dtype: DTypeLike | None = None) -> WinCounts:
        """Dense win counts of the rows whose mask is True."""
        dtype = default_float() if dtype is None else dtype
        weights = jnp.asarray(self.mask, dtype)
        how = {"num_items": self.num_items, "weights": weights, "tied": self.tied, "dtype": dtype}
        return WinCounts.from_comparisons(self.winners, self.losers, **how)

    def bounded(self, key: Key, max_per_user: Count) -> Comparisons:
        """The same comparisons, at most ``max_per_user`` of each user (see :func:`bound_contributions`)."""
        kept = bound_contributions(key, self.users, max_per_user, mask=self.mask)
        return dataclasses.replace(self, mask=kept)


def bound_contributions(
    key: Key, users: RowsLike, max_per_user: Count, mask: FlagsLike | None = None
) -> Bool[Array, "rows"]:
    """Choose at most ``max_per_user`` rows of each user, by a keyed hash and not by content.

    Each row gets the pseudo-random number of (key, user, ordinal of the row within its user); the smallest ones stay.
    One user's rows have no influence on which rows of another user stay, so a bound of L makes the sensitivity of every
    additive statistic L times that of one comparison. The key must be independent of the data.

    Args:
        key: PRNG key.
        users: ``(N,)`` int, user of each row.
        max_per_user: L >= 1, may be traced.
        mask: ``(N,)`` bool, rows to consider (default all).

    Returns:
        ``(N,)`` bool, True for the rows that stay.

    Raises:
        ValueError: L not positive, users that are not integers of shape (N,).

    >>> kept = bound_contributions(jax.random.key(0), [7, 7, 7, 9], 2)
    >>> int(kept[:3].sum()), bool(kept[3])
    (2, True)
    """
    check_positive("max_per_user", max_per_user)
    users = as_array("users", users)
    if users.ndim != 1 or (users.size and not jnp.issubdtype(users.dtype, jnp.integer)):
        raise ValueError(
            f"users must be integers of shape (N,), one per row, got {users.dtype} {users.shape}."
        )
    users = users.astype(jnp.int32)
    keep = jnp.ones(users.shape, bool) if mask is None else jnp.asarray(mask)
    return _bound_contributions(key, users, max_per_user, keep)


@jax.jit
def _bound_contributions(
    key: Key, users: Int[Array, "rows"], limit: Count, mask: Bool[Array, "rows"]
) -> Bool[Array, "rows"]:
    ordinal = _place_within(users, jnp.zeros(users.shape, jnp.uint32), mask)

    def draw(user: Int[Array, ""], place: Int[Array, ""]) -> Array:
        return jax.random.bits(jax.random.fold_in(jax.random.fold_in(fused(key), user), place))

    return mask & (_place_within(users, jax.vmap(draw)(users, ordinal), mask) < limit)


def _index(items: RowsLike) -> Int[Array, "rows"]:
    """Items as JAX takes them for indices: of 8 or 16 bits it refuses those into more items than they hold."""
    index = jnp.asarray(items)
    small = jnp.issubdtype(index.dtype, jnp.signedinteger) and index.dtype.itemsize < 4
    return index.astype(jnp.int32) if small else index


def _place_within(
    users: Int[Array, "rows"], priority: Integer[Array, "rows"], mask: Bool[Array, "rows"]
) -> Int[Array, "rows"]:
    """Place of each row among the unmasked rows of its user, in order of priority, then of position."""
    order = jnp.lexsort((priority, users, ~mask))
    sorted_users, sorted_mask = users[order], mask[order]
    new = (sorted_users[1:] != sorted_users[:-1]) | (sorted_mask[1:] != sorted_mask[:-1])
    starts = jnp.concatenate([jnp.ones(1, bool), new])[: users.shape[0]]
    position = jnp.arange(users.shape[0])
    first = jax.lax.cummax(jnp.where(starts, position, 0))
    return jnp.zeros(users.shape, jnp.int32).at[order].set((position - first).astype(jnp.int32))
