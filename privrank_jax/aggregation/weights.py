r"""Pairwise weights, the shares of users who rank one item before another, and the Kemeny score of a ranking.

Everything in :mod:`privrank_jax.aggregation` builds on the matrix w, where w_ij is the share of users who rank i before
j. **The weight rule**: in each pair of items, every user gives 1 to the item ranked first, or 1/2 to both where the
user ties them. So w_ij + w_ji = 1, and one user moves an entry by at most 1/n. An item that a user did not rank (rank
-1) comes after all that the user ranked, tied with the others that are not ranked (``missing="last"``, as in top-k
lists); or its pairs count as unknown, and both items get 1/2 (``missing="unknown"``).
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Integer

from privrank_jax._pytrees import pytree
from privrank_jax._quickly import concretely, quickly
from privrank_jax._types import (
    Count,
    Mask,
    MaskLike,
    PairMatrix,
    PairMatrixLike,
    Rankings,
    RankingsLike,
    RanksLike,
)
from privrank_jax._validate import (
    as_array,
    as_ranks,
    check_choice,
    check_matrix,
    check_no_padding,
    check_shape,
    check_users,
    held_ranks,
    in_floats,
    is_traced,
)
from privrank_jax.aggregation.counting import share_matrix
from privrank_jax.mechanism.data import UNPADDED, Data, Facts

MISSING = ("last", "unknown")
_MANY = 2**50  # most users whose doubled counts float64 still distinguishes
_ROUNDING = 0.01  # of shares in half precision


@pytree
class PairWeights:
    """How n users order each pair of m items: the input of solvers and of private functions.

    A pytree: a batch has a leading axis in ``matrix``, and in ``num_users`` and ``mask`` where they differ.

    Attributes:
        matrix: ``(m, m)`` float, ``matrix[i, j]`` = share of the users who rank item ``i`` before ``j``; a tie counts
            1/2 for both. The diagonal is 0. A NumPy array in float64 keeps exact counts of up to 2^50 users.
        num_users: n >= 1, public; may be traced. A number that is too large gives too little noise.
        mask: ``(m,)`` bool, False for items that only pad the problem, public; ``None`` = all are real.

    >>> weights = PairWeights.from_ranks([[0, 1, 2], [0, 2, 1]])
    >>> weights.matrix.tolist(), weights.num_users
    ([[0.0, 1.0, 1.0], [0.0, 0.0, 0.5], [0.0, 0.5, 0.0]], 2)
    """

    matrix: Float[Array | np.ndarray, "items items"]
    num_users: Count
    mask: Mask | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "matrix", in_floats("weights", self.matrix))

    def __repr__(self) -> str:
        return f"<{type(self).__name__} of {self.num_items} items; shares not shown>"

    @classmethod
    def from_ranks(cls, ranks: RankingsLike, *, missing: str = "last") -> PairWeights:
        """The weights of n rankings of m items.

        Args:
            ranks: ``(n, m)`` integers, 0 = best; equal ranks are ties, negative ranks items that were not ranked.
            missing: ``"last"`` or ``"unknown"``, see the head of this module.

        Returns:
            Weights in JAX's default float; ``num_users`` is n, the number of rows.

        Raises:
            ValueError: no users, no items, ranks that are not integers or reach 2^31 - 1, an unknown rule.
        """
        given = ranks_of_users(ranks, missing)
        return cls(share_matrix(given, missing), given.shape[0])

    @classmethod
    def from_counts(
        cls, twice: Integer[ArrayLike, "items items"] | Sequence[Sequence[int]], num_users: int
    ) -> PairWeights:
        """The weights from exact counts: twice the number of users who rank i before j, a tie counting half.

        They are a NumPy array in float64, from which :attr:`twice` gives back the same counts.

        Raises:
            ValueError: not square, not integers, n < 1, counts that are not those of n users.

        >>> PairWeights.from_counts([[0, 3], [1, 0]], 2).matrix.tolist()
        [[0.0, 0.75], [0.25, 0.0]]
        """
        check_matrix("twice", twice)
        check_users(num_users)
        counts = np.asarray(twice)
        if not np.issubdtype(counts.dtype, np.integer):
            raise ValueError(f"twice must be integers, got {counts.dtype}.")
        _check_counts(counts, num_users)
        return cls(counts / (2.0 * num_users), num_users)

    @property
    def num_items(self) -> int:
        """Number of items m, padding included (static)."""
        return self.matrix.shape[-1]

    @property
    def twice(self) -> Int[np.ndarray, "items items"]:
        """``(m, m)`` int64 on the host: twice the number of users who rank i before j, exactly.

        Raises:
            ValueError: traced weights; more users than their floats can distinguish; weights of other users.
        """
        if is_traced(self.matrix, self.num_users):
            raise ValueError("exact counts are for the host: these weights are traced.")
        given = np.asarray(self.matrix)
        check_matrix("weights with exact counts", given)
        check_users(self.num_users)
        users = int(self.num_users)
        # Entries are rounded by at most half a unit in the last place below 1, and 2n of that must stay below 1/2.
        if 2 * users * float(jnp.finfo(given.dtype).eps) >= 0.5:
            raise ValueError(
                f"{given.dtype} weights can't tell the counts of {users:,} users apart: make them under "
                "jax.enable_x64(True), or by PairWeights.from_counts."
            )
        counts = 2.0 * users * given.astype(np.float64)
        rounded = np.rint(counts)
        if not np.all(np.abs(counts - rounded) <= 0.25):  # also catches NaN
            raise ValueError(
                f"the weights are not those of {users:,} users: 2n times a weight must be a whole number. "
                "PairWeights.from_ranks counts both."
            )
        exact = rounded.astype(np.int64)
        real = np.ones(len(exact), bool) if self.mask is None else np.asarray(self.mask)
        _check_counts(exact[np.ix_(real, real)], users)
        return exact


def _check_counts(twice: np.ndarray, num_users: int) -> None:
    """Raise ``ValueError`` unless the entries of each pair are at least 0 and sum to 2n."""
    if num_users != int(num_users) or not num_users <= _MANY:
        raise ValueError(f"num_users must be a whole number of at most 2^50, got {num_users!r}.")
    wanted = 2 * int(num_users) * (1 - np.eye(len(twice), dtype=np.int64))
    if np.any(twice < 0) or np.any(twice + twice.T != wanted):
        raise ValueError(
            f"these are not the counts of {num_users:,} users: the two entries of a pair must be at least 0 and sum "
            "to twice that, and the diagonal must be 0."
        )


def checked_mask(name: str, mask: MaskLike, size: int) -> Mask:
    """A mask of so many entries, or ``ValueError``."""
    found = jnp.asarray(mask, bool)
    check_shape(name, found, (size,))
    return found


def shares_of(
    weights: PairWeights | PairMatrixLike, mask: MaskLike | None = None
) -> tuple[PairMatrix, Mask | None]:
    """Checked input of a solver: the matrix as a float array, and the mask as booleans."""
    if isinstance(weights, PairWeights):
        if mask is not None:
            raise ValueError("PairWeights bring their own mask: leave mask out.")
        weights, mask = weights.matrix, weights.mask
    check_matrix("the weights", weights)
    matrix = as_array("the weights", in_floats("the weights", weights))
    keep = None if mask is None else checked_mask("mask", mask, matrix.shape[0])
    if not is_traced(matrix, keep):
        real = slice(None) if keep is None else np.asarray(keep)
        if not np.all(np.isfinite(np.asarray(matrix)[real][:, real])):
            raise ValueError(
                "the weights must be finite: count the rankings again, see PairWeights.from_ranks."
            )
    return matrix, keep


def shares_of_users(weights: PairWeights, by: str) -> tuple[PairMatrix, Count, Mask | None]:
    """Checked input of the private function ``by``: matrix, number of users, mask."""
    PAIR_WEIGHTS.check(weights, by)
    matrix, mask = shares_of(weights)
    check_users(weights.num_users)
    if not is_traced(matrix, mask):
        real = slice(None) if mask is None else np.asarray(mask)
        shares = np.asarray(matrix)[real][:, real]
        apart = np.abs(shares + shares.T - 1) * ~np.eye(len(shares), dtype=bool)
        if max(apart.max(initial=0), np.abs(shares - 0.5).max(initial=0) - 0.5) > _ROUNDING:
            raise ValueError(
                "PairWeights hold shares of users: entries from 0 to 1, the two of a pair summing to 1. "
                "PairWeights.from_ranks(ranks) counts them, PairWeights.from_counts takes counts."
            )
    return matrix, weights.num_users, mask


def checked_ranks(ranks: RanksLike | RankingsLike) -> Int[Array, "*batch items"]:
    """Ranks as an integer array ``(..., m)``; ``ValueError`` for anything else."""
    given = as_ranks(ranks, gaps=True)
    if not jnp.issubdtype(given.dtype, jnp.integer):
        raise ValueError(f"ranks must be integers, got {given.dtype}.")
    if given.ndim < 1 or given.shape[-1] < 1:
        raise ValueError(f"ranks must have shape (..., items), at least one, got {given.shape}.")
    return given


def ranks_of_users(ranks: RankingsLike, missing: str = "last") -> Rankings:
    """Such ranks ``(n, m)``, of one user and one item at least, below 2^31 - 1; the rule for gaps is checked too."""
    check_choice("missing", missing, MISSING)
    held = held_ranks(ranks, gaps=True)
    # A copy: its owner may change it before a program has read it.
    given = as_array("ranks", held.copy() if isinstance(held, np.ndarray) else held)
    if given.ndim != 2 or 0 in given.shape:
        raise ValueError(
            f"ranks must have shape (users, items), at least one of each, got {given.shape}."
        )
    given = checked_ranks(given)
    if not is_traced(given):
        largest = int(held.max() if isinstance(held, np.ndarray) else concretely(jnp.max, given))
        if largest >= np.iinfo(np.int32).max:
            raise ValueError(f"ranks must be below 2**31 - 1, got {largest}: renumber them from 0.")
    return given


def kemeny_score(ranks: RanksLike, weights: PairWeights | PairMatrixLike) -> Float[Array, ""]:
    """Kemeny score K(σ, w), the mean number of pairs that a user orders against σ: Σ of w_ji over σ(i) < σ(j).

    Args:
        ranks: ``(m,)`` integers, 0 = best; a pair tied in it adds nothing.
        weights: :class:`PairWeights`, or a plain ``(m, m)`` matrix.

    Returns:
        Scalar in the dtype of the weights.

    Raises:
        ValueError: shapes that don't fit, weights that are not finite.

    >>> float(kemeny_score([0, 1, 2], PairWeights.from_ranks([[0, 1, 2], [0, 2, 1]])))
    0.5
    """
    w, mask = shares_of(weights)
    given = as_ranks(ranks)
    if given.ndim != 1 or w.shape != given.shape * 2:
        raise ValueError(f"ranks (m,) and weights (m, m) must fit, got {given.shape} and {w.shape}")
    return _kemeny_score(given, w if mask is None else jnp.where(mask[:, None] & mask, w, 0))


@jax.jit
def _kemeny_score(ranks: Array, w: Array) -> Array:
    return jnp.sum(jnp.where(ranks[:, None] < ranks[None, :], w.T, 0))


def counted_weights(ranks: RankingsLike, missing: str = "last") -> PairWeights:
    """:meth:`PairWeights.from_ranks` on the host: exact counts in NumPy's float64, by a program that compiles soon.

    >>> counted_weights([[0, 1], [0, -1]]).twice.tolist()
    [[0, 4], [0, 0]]
    """
    given = np.maximum(ranks_of_users(ranks, missing), -1).astype(np.int32)
    with jax.enable_x64(True):
        found = quickly(functools.partial(share_matrix, missing=missing), given)
        return PairWeights(np.asarray(found), len(given))


def whole_counts(weights: PairWeights) -> np.ndarray:
    """:attr:`PairWeights.twice` of two items at least, without padding, for exact releases."""
    PAIR_WEIGHTS.check(weights, "an exact release")
    check_no_padding(weights, UNPADDED)
    if weights.num_items < 2:
        raise ValueError("a ranking of fewer than 2 items has nothing to release.")
    return weights.twice


def _floats(weights: PairWeights) -> tuple[PairMatrix, Facts]:
    matrix, users, mask = shares_of_users(weights, "a mechanism")
    return matrix, Facts(matrix.shape[0], users, mask)


PAIR_WEIGHTS = Data(
    PairWeights,
    "its noise is scaled to the number of users, which a plain matrix does not hold. PairWeights.from_ranks(ranks) "
    "counts both.",
    floats=_floats,
    whole=lambda weights: (
        whole_counts(weights),
        Facts(weights.num_items, int(weights.num_users)),
    ),
    times=2,
    mean=True,
)
"""How mechanisms read the weights of all pairs."""
