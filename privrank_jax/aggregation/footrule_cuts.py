r"""Which sets of items users report for each cut in :mod:`~privrank_jax.aggregation.local_footrule`, and thresholds.

A cut k = 1, ..., m-1 divides a strict ranking into the set T of its first k items and the rest. A type (a, t) has users
report a set A of a items, those with at least t items in T as accepted ones. With g = e^ε - 1, q the share of sets that
are accepted, and b the chance that an accepted set holds a given item of T, less that for an item out of T, the mean of
y = 1_A - a/m is gqb/(1 + gq)·(1_T - k/m). So y, divided by that factor, is an unbiased report on 1_T - k/m of norm

    N = ‖y‖(1/(qb)·1/g + 1/b),    ‖y‖² = a(m-a)/m,

which is linear in 1/g. So the types that are best at some ε are the lower envelope of lines: a few of about m²/2. Types
with q below 2^-20, best from ε = 14 or so on, are left out.

Binomial coefficients are added up in double precision, to within m roundings.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from privrank_jax._types import Epsilon
from privrank_jax._validate import is_traced

MAX_ITEMS = 200
_RAREST = 2.0**-20  # least share of accepted sets; the best one is near e^-ε
_ALWAYS = 1 - 1e-12  # sets of a share beyond this are all sets


class CutDesign(NamedTuple):
    """The best type of each cut at one ε, one entry per cut; NumPy arrays, or JAX's if ε is traced.

    Attributes:
        size: a.
        threshold: t.
        share: q.
        odds: 2rN with r² = k(m-k)/m; cuts are drawn by these, and B is their sum.
        weight: B/(2r‖y‖), what a report counts.
    """

    size: Int[Array | np.ndarray, " cuts"]
    threshold: Int[Array | np.ndarray, " cuts"]
    share: Float[Array | np.ndarray, " cuts"]
    odds: Float[Array | np.ndarray, " cuts"]
    weight: Float[Array | np.ndarray, " cuts"]


@dataclasses.dataclass(frozen=True, eq=False)
class CutTypes:
    """Types for each cut that are best at some ε, padded by repeating one.

    Attributes:
        size: a.
        threshold: t.
        share: q, in (0, 1).
        gap: b, in (0, 1].
    """

    size: Int[np.ndarray, "cuts types"]
    threshold: Int[np.ndarray, "cuts types"]
    share: Float[np.ndarray, "cuts types"]
    gap: Float[np.ndarray, "cuts types"]

    @property
    def length(self) -> Float[np.ndarray, "cuts types"]:
        """‖y‖."""
        return np.sqrt(self.size * (1 - self.size / (len(self.size) + 1)))

    @property
    def norms(self) -> tuple[Float[np.ndarray, "cuts types"], Float[np.ndarray, "cuts types"]]:
        """N by 1/g: its slope, and its value at 0."""
        level = self.length / self.gap
        return level / self.share, level


def cut_design(num_items: int, epsilon: Epsilon) -> CutDesign:
    """The types of least error for all cuts at ε > 0, which may be traced.

    Args:
        num_items: m.
        epsilon: of one report.

    Raises:
        ValueError: fewer than 2 items, or more than :data:`MAX_ITEMS`.

    >>> cut_design(4, 1.0).size.tolist()
    [1, 1, 3]
    """
    types, dtype = cut_types(num_items), jnp.result_type(float)
    xp: Any = jnp if is_traced(epsilon) else np
    with np.errstate(over="ignore", divide="ignore"):  # 0 or ∞, both as due
        growth = 1 / xp.expm1(xp.asarray(epsilon, dtype))
    slopes, levels = (xp.asarray(part, dtype) for part in types.norms)
    norms = slopes * growth + levels
    best = xp.argmin(norms, axis=1)[:, None]

    def taken(column: Array | np.ndarray) -> Array | np.ndarray:
        return xp.take_along_axis(column, best, axis=1)[:, 0]

    cuts = np.arange(1, num_items)
    radius = xp.asarray(2 * np.sqrt(cuts * (num_items - cuts) / num_items), dtype)
    odds = radius * taken(norms)
    return CutDesign(
        taken(xp.asarray(types.size)),
        taken(xp.asarray(types.threshold)),
        taken(xp.asarray(types.share, dtype)),
        odds,
        xp.sum(odds) / (radius * taken(xp.asarray(types.length, dtype))),
    )


@functools.lru_cache(maxsize=32)
def cut_types(num_items: int) -> CutTypes:
    """The types of each cut of 2 to :data:`MAX_ITEMS` items; half a second at 100, then cached.

    Args:
        num_items: m.

    Raises:
        ValueError: fewer than 2 items, or more than :data:`MAX_ITEMS`.

    >>> found = cut_types(2)  # one item, likely the first
    >>> found.size.tolist(), found.threshold.tolist(), found.share.tolist(), found.gap.tolist()
    ([[1]], [[1]], [[0.5]], [[1.0]])
    """
    check_items(num_items)
    ways = binomials(num_items)
    found = [_best_types(num_items, cut, ways) for cut in range(1, num_items)]
    width = max(len(one[0]) for one in found)
    columns = (
        np.stack([np.append(part, np.repeat(part[-1:], width - len(part))) for part in parts])
        for parts in zip(*found)
    )
    return CutTypes(*columns)


def check_items(num_items: int) -> None:
    """Raise ``ValueError`` unless there are types for that many items."""
    if not 2 <= num_items <= MAX_ITEMS:
        raise ValueError(f"footrule reports take 2 to {MAX_ITEMS} items, got {num_items}.")


def binomials(number: int) -> Float[np.ndarray, "rows columns"]:
    """Binomial coefficients of 0, ..., ``number``, by Pascal's triangle.

    >>> binomials(3)[3].tolist()
    [1.0, 3.0, 3.0, 1.0]
    """
    ways = np.zeros((number + 1, number + 1))
    ways[:, 0] = 1
    for row in range(1, number + 1):
        ways[row, 1:] = ways[row - 1, 1:] + ways[row - 1, :-1]
    return ways


def _best_types(items: int, cut: int, ways: np.ndarray) -> tuple[np.ndarray, ...]:
    """Columns of the types of one cut that are best at some ε, by falling ε."""
    size, held = np.arange(1, items)[:, None], np.arange(cut + 1)
    rest = size - held
    possible = (rest >= 0) & (rest <= items - cut)
    law = ways[cut, held] * ways[items - cut, np.where(possible, rest, 0)] / ways[items, size]
    law = np.where(possible, law, 0)
    share = np.cumsum(law[:, ::-1], axis=1)[:, ::-1]
    mean = np.cumsum((held * law)[:, ::-1], axis=1)[:, ::-1]
    some = (law > 0) & (share > _RAREST) & (share < _ALWAYS)
    sizes, thresholds = (np.broadcast_to(part, law.shape)[some] for part in (size, held))
    share, mean = share[some], mean[some] / share[some]
    gap = mean / cut - (sizes - mean) / (items - cut)
    level = np.sqrt(sizes * (1 - sizes / items)) / gap
    # Of complementary types at the same cut, which have the same error but for rounding, the smaller sets are kept.
    kept = _envelope(np.round(level / share, 9), np.round(level, 9))
    return sizes[kept], thresholds[kept], share[kept], gap[kept]


def _envelope(slopes: np.ndarray, levels: np.ndarray) -> np.ndarray:
    """The lines that are lowest somewhere right of 0, from left to right."""
    kept: list[int] = []
    for line in np.lexsort((slopes, levels)).tolist():
        if kept and slopes[line] >= slopes[kept[-1]] * (1 - 1e-12):
            continue
        while len(kept) > 1:
            first, last = kept[-2:]
            meets = (levels[line] - levels[first]) / (slopes[first] - slopes[line])
            if meets > (levels[last] - levels[first]) / (slopes[first] - slopes[last]):
                break
            kept.pop()
        kept.append(line)
    return np.array(kept)
