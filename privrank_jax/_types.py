"""Array types with named shapes, for signatures.

A shape names its axes: within one call, ``items`` is the same number everywhere. Names that end in ``Like`` are for
arguments, which may be lists, NumPy or JAX arrays; the others are JAX arrays, as functions return them, of one problem.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Integer, Num, PRNGKeyArray, Real, Shaped

Key: TypeAlias = PRNGKeyArray
"""One PRNG key, new style (:func:`jax.random.key`) or old."""

Number: TypeAlias = float | int | np.floating | np.integer
"""One number of the host."""

Scalar: TypeAlias = Number | Num[Array, ""]
"""One number, which may be traced."""

Count: TypeAlias = int | np.integer | Num[Array, ""]
"""A count, for instance of users; may be traced, so it is never a shape."""

Epsilon: TypeAlias = Scalar
"""ε > 0; ∞ stands for no noise."""

Numbers: TypeAlias = Scalar | Num[Array, "..."] | np.ndarray
"""One number or an array of them: for elementwise functions, one ε per report, results of a sweep."""
NumbersLike: TypeAlias = Numbers | Sequence[float] | Sequence[Sequence[float]]

Flag: TypeAlias = bool | np.bool_ | Bool[Array, ""]
"""One truth value, which may be traced."""

Flags: TypeAlias = Flag | Bool[Array, "..."] | Bool[np.ndarray, "..."]
"""One truth value or an array of them."""

Integers: TypeAlias = int | np.integer | Integer[Array, "..."] | Integer[np.ndarray, "..."]
"""One integer or an array of them."""

Ranks: TypeAlias = Int[Array, "items"]
"""``ranks[i]`` is the rank of item i, 0 = best."""
RanksLike: TypeAlias = Integer[ArrayLike, "items"] | Sequence[int]

Order: TypeAlias = Int[Array, "items"]
"""``order[p]`` is the item of rank p."""
OrderLike: TypeAlias = Integer[ArrayLike, "items"] | Sequence[int]

Scores: TypeAlias = Float[Array, "items"]
"""One score per item, high = preferred."""
ScoresLike: TypeAlias = Real[ArrayLike, "items"] | Sequence[float]

Mask: TypeAlias = Bool[Array, "items"]
"""True for real items, False for those that only pad the problem."""
MaskLike: TypeAlias = Bool[ArrayLike, "items"] | Sequence[bool]

PairMatrix: TypeAlias = Float[Array, "items items"]
"""One number per ordered pair of items: wins, weights, comparisons."""
PairMatrixLike: TypeAlias = Real[ArrayLike, "items items"] | Sequence[Sequence[float]]

Rankings: TypeAlias = Int[Array, "users items"]
"""Ranks of every user."""
RankingsLike: TypeAlias = Integer[ArrayLike, "users items"] | Sequence[Sequence[int]]

Rows: TypeAlias = Int[Array, "rows"]
"""One index per row of a table of comparisons: its user, winner or loser."""
RowsLike: TypeAlias = Integer[ArrayLike, "rows"] | Sequence[int]

ReportsLike: TypeAlias = Shaped[ArrayLike, "..."] | Sequence[float] | Sequence[Sequence[float]]
"""Answers: 0 or 1, False or True, -1 or 1, or numbers with noise."""

ReportTableLike: TypeAlias = Shaped[ArrayLike, "users pairs"] | Sequence[Sequence[float]]
"""One answer per user and pair of items."""
