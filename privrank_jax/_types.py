"""Array types with named shapes, for signatures.

A shape names its axes: within one call, ``items`` is the same number everywhere. Names that end in ``Like`` are for
arguments, which may be lists, NumPy or JAX arrays; the others are JAX arrays, as functions return them, of one problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Integer, Num, PRNGKeyArray, Real, Shaped

Key: TypeAlias = PRNGKeyArray  # one PRNG key, new style (:func:`jax.random.key`) or old
Number: TypeAlias = float | int | np.floating | np.integer  # one number of the host
Scalar: TypeAlias = Number | Num[Array, ""]  # one number, which may be traced
# A count, for instance of users; may be traced, so it is never a shape
Count: TypeAlias = int | np.integer | Num[Array, ""]
Epsilon: TypeAlias = Scalar  # ε > 0; ∞ stands for no noise
# one number or an array of them: for elementwise functions, one ε per report, results of a sweep
Numbers: TypeAlias = Scalar | Num[Array, "..."] | np.ndarray
NumbersLike: TypeAlias = Numbers | Sequence[float] | Sequence[Sequence[float]]
Flag: TypeAlias = bool | np.bool_ | Bool[Array, ""]  # one truth value, which may be traced
Flags: TypeAlias = Flag | Bool[Array, "..."] | Bool[np.ndarray, "..."]
Integers: TypeAlias = int | np.integer | Integer[Array, "..."] | Integer[np.ndarray, "..."]
Ranks: TypeAlias = Int[Array, "items"]  # ``ranks[i]`` is the rank of item i, 0 = best
RanksLike: TypeAlias = Integer[ArrayLike, "items"] | Sequence[int]
Order: TypeAlias = Int[Array, "items"]  # ``order[p]`` is the item of rank p
OrderLike: TypeAlias = Integer[ArrayLike, "items"] | Sequence[int]
Scores: TypeAlias = Float[Array, "items"]  # one score per item, high = preferred
ScoresLike: TypeAlias = Real[ArrayLike, "items"] | Sequence[float]
# True for real items, False for those that only pad the problem
Mask: TypeAlias = Bool[Array, "items"]
MaskLike: TypeAlias = Bool[ArrayLike, "items"] | Sequence[bool]
# one number per ordered pair of items: wins, weights, comparisons
PairMatrix: TypeAlias = Float[Array, "items items"]
PairMatrixLike: TypeAlias = Real[ArrayLike, "items items"] | Sequence[Sequence[float]]
Rankings: TypeAlias = Int[Array, "users items"]  # ranks of every user
RankingsLike: TypeAlias = Integer[ArrayLike, "users items"] | Sequence[Sequence[int]]
# one index per row of a table of comparisons: its user, winner or loser
Rows: TypeAlias = Int[Array, "rows"]
RowsLike: TypeAlias = Integer[ArrayLike, "rows"] | Sequence[int]
# answers: 0 or 1, False or True, -1 or 1, or numbers with noise
ReportsLike: TypeAlias = Shaped[ArrayLike, "..."] | Sequence[float] | Sequence[Sequence[float]]
# one answer per user and pair of items
ReportTableLike: TypeAlias = Shaped[ArrayLike, "users pairs"] | Sequence[Sequence[float]]
