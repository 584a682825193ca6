"""Win counts as whole numbers, for exact releases: twice the counts, unless their dtype holds no exact ones."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np

from privrank_jax._types import ScoresLike
from privrank_jax._validate import check_no_padding
from privrank_jax.comparisons import WinCounts
from privrank_jax.mechanism.data import UNPADDED

_LARGEST = 2**52  # doubled totals beyond this are not exact in float64


def doubled_totals(wins: WinCounts | ScoresLike) -> np.ndarray:
    """Twice the totals as int64, ``(m,)``.

    Args:
        wins: win counts or totals, multiples of 1/2.

    Raises:
        ValueError: as :func:`doubled_counts`; another shape.
    """
    doubled = doubled_counts(wins)
    if isinstance(wins, WinCounts):
        doubled = doubled.sum(-1)
    if doubled.ndim != 1 or not doubled.size:
        raise ValueError(f"win totals must have shape (m,), got {doubled.shape}.")
    return doubled


def doubled_counts(wins: WinCounts | ScoresLike) -> np.ndarray:
    """Twice the counts as int64, of their shape.

    Args:
        wins: win counts or totals, multiples of 1/2.

    Raises:
        ValueError: other numbers, or too large ones, or with too large sums, for exact counts in their dtype.
    """
    return counts_in_parts(
        wins,
        2,
        "exact noise needs win totals that are multiples of 1/2 (whole wins, half wins for ties); "
        "weighted comparisons have no such totals: use pairwise.noisy_counts for a simulation.",
    )


def counts_in_parts(wins: WinCounts | ScoresLike, parts: int, otherwise: str) -> np.ndarray:
    """So many times the counts as int64, of their shape.

    Args:
        wins: win counts or totals, multiples of 1/parts.
        parts: a power of 2.
        otherwise: what to say of other numbers.

    Raises:
        ValueError: padded items; other numbers, or too large ones, or with too large sums, for exact counts in their
            dtype.
    """
    check_no_padding(wins, UNPADDED)
    given = np.asarray(wins.matrix if isinstance(wins, WinCounts) else wins)
    multiples = parts * given.astype(np.float64)
    # Beyond this a floating-point count may have been rounded, so that one more win adds 2, or nothing.
    largest = _LARGEST
    if jnp.issubdtype(given.dtype, jnp.floating):
        largest = min(largest, 2 ** (jnp.finfo(given.dtype).nmant + 1))
    if np.any(np.abs(multiples) > largest):
        raise ValueError(
            f"exact noise needs exact counts, and {given.dtype} holds none beyond {largest // parts:,}: count in "
            "float64, or in integers."
        )
    sums = multiples.sum(-1) if isinstance(wins, WinCounts) else multiples
    whole = np.all(np.isfinite(multiples) & (multiples == np.round(multiples)))
    if not (whole and np.all(np.abs(sums) <= _LARGEST)):
        raise ValueError(otherwise)
    return multiples.astype(np.int64)
