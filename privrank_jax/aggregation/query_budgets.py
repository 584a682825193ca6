r"""The exact distribution of the comparisons of random quicksort, and the query budgets that follow.

T_k, the comparisons on k items with transitive answers, is k - 1 + T_i + T_{k-1-i} with i uniform on 0..k-1 and
independent copies. Its generating function G_k(z) = E z^{T_k} hence obeys G_k = z^{k-1}/k Σ_i G_i G_{k-1-i}, which
is evaluated on a circle of complex z and turned into probabilities by one FFT. A circle of radius e^θ > 1 gives the law
tilted toward its upper tail, which preserves the relative accuracy of small tail probabilities.

**Answers that are not transitive** (noise makes cycles) change the law of T, by at most 0.12 for up to 8 items. An
excess costs accuracy only: no privacy guarantee depends on it.
"""

from __future__ import annotations

import functools
import math

import numpy as np

from privrank_jax._arguments import is_whole
from privrank_jax._types import Scalar
from privrank_jax._validate import is_traced

# Largest m of the exact law of T: time grows as m³ log m (two seconds at m = 300).
MAX_ITEMS = 500
_TILT = 3.0
_USE_POINTS = 256
_USE_RADIUS = 4.0


def query_budget(num_items: int) -> int:
    """Query budget q = min(m(m-1)/2, ⌈3.2 m ln m⌉) of a KwikSort of m items.

    Pr[more than q comparisons] is at most 0.01/m⁴ where m <= 300 (tested).

    Args:
        num_items: m >= 0.

    Returns:
        q.

    >>> query_budget(100), query_budget(10)
    (1474, 45)
    """
    formula = math.ceil(3.2 * num_items * math.log(max(num_items, 1)))
    return min(num_items * (num_items - 1) // 2, formula)


def exceeding_probability(num_items: int, max_queries: int) -> float:
    """Pr[T > q]: how often a sort of m items, at most 500, with transitive answers exceeds a budget of q queries.

    >>> exceeding_probability(100, 1474) < 0.01 / 100**4
    True
    """
    tail = _tail(comparison_distribution(num_items))
    return 1.0 if max_queries < 0 else float(tail[min(int(max_queries), len(tail) - 1)])


def refusal_bound(num_items: int, max_uses: int, num_groups: int | None = None) -> float:
    """Bound on the probability that some of g user groups, by default m, is asked more than τ times in one sort.

    Each query goes to a group drawn uniformly and independently, so one group's uses have the generating function
    G_m(1 + (z - 1)/g), for answers that are transitive and the same in all groups; the union bound adds the g groups.

    >>> 0.2 < refusal_bound(30, 12) * 10 < 0.5
    True
    """
    groups = num_groups or num_items
    tail = _use_tail(num_items, groups)
    return min(1.0, groups * float(tail[min(int(max_uses), len(tail) - 1)]))


def use_budget(num_items: int, num_groups: int | None = None) -> int:
    """Fewest uses τ per group that keep :func:`refusal_bound` at or below 1/m⁴.

    >>> use_budget(100), use_budget(100, num_groups=300)
    (30, 18)
    """
    groups = num_groups or num_items
    within = groups * _use_tail(num_items, groups) <= 1.0 / max(num_items, 2) ** 4
    if not within.any():
        raise ValueError(
            f"{groups} groups would have to answer {_USE_POINTS} questions or more of a sort of {num_items} items: "
            "make more groups, or pass max_queries."
        )
    return int(np.argmax(within))


def check_sort(max_queries: int | None, split: Scalar = 0.5) -> None:
    """Raise ``ValueError`` unless q is an int of at least 1, or None, and the share of ε for the queries in (0, 1)."""
    if max_queries is not None and (not is_whole(max_queries) or max_queries < 1):
        raise ValueError(f"max_queries must be an int of at least 1, or None, got {max_queries!r}.")
    if not is_traced(split) and not np.all((np.asarray(split) > 0) & (np.asarray(split) < 1)):
        raise ValueError(f"split must lie between 0 and 1, got {split!r}; 0.5 or 0.9 are usual.")


@functools.lru_cache(maxsize=16)
def comparison_distribution(num_items: int) -> np.ndarray:
    """Pr[T = x] for x = 0, 1, ... and m from 0 to 500; probabilities below 1e-40 are 0."""
    if not 0 <= num_items <= MAX_ITEMS:
        raise ValueError(
            f"the exact law is for 0 to {MAX_ITEMS} items, got {num_items}: pass max_queries, or take "
            "query_budget(m)."
        )
    pairs = num_items * (num_items - 1) // 2
    if num_items < 3:
        return np.eye(pairs + 1)[pairs]
    least = pairs + 1 if num_items <= 30 else 6 * num_items * math.log(num_items)
    points = 1 << math.ceil(math.log2(least))
    plain, tilted = (_from_circle(num_items, points, tilt) for tilt in (0.0, _TILT / num_items))
    upper = np.arange(points) > query_budget(num_items) * 0.75
    law = np.where(upper, tilted, plain)[: pairs + 1]
    return np.where(law > 1e-40, law, 0.0)


def _from_circle(num_items: int, points: int, tilt: float) -> np.ndarray:
    """Probabilities of 0..points-1 from G on the circle of radius e^tilt; those beyond alias to the low end."""
    angles = 2j * np.pi * np.arange(points // 2 + 1) / points
    values = _generating_function(num_items, np.exp(tilt - angles))
    return np.fft.irfft(values, points) * np.exp(-tilt * np.arange(points))


@functools.lru_cache(maxsize=16)
def _use_tail(num_items: int, num_groups: int) -> np.ndarray:
    """Pr[one group is used more than x times], x = 0, 1, ...

    Probabilities come from two circles: on the circle of radius r, rounding leaves an error of about 1e-16 G(r)/r^x.
    """
    if not 1 <= num_items <= 1000:
        raise ValueError(f"the law of a group's uses is for 1 to 1000 items, got {num_items}.")
    angles = 2j * np.pi * np.arange(_USE_POINTS // 2 + 1) / _USE_POINTS
    laws, errors = [], []
    for radius in (1.0, _USE_RADIUS):
        values = _generating_function(num_items, 1 + (radius * np.exp(-angles) - 1) / num_groups)
        shrink = radius ** -np.arange(_USE_POINTS)
        laws.append(np.fft.irfft(values, _USE_POINTS) * shrink)
        errors.append(values[0].real * shrink)
    return _tail(np.where(errors[1] < errors[0], laws[1], laws[0]))


def _tail(law: np.ndarray) -> np.ndarray:
    """Probabilities of more than x = 0, 1, ...; the smallest terms are added first."""
    return np.append(np.cumsum(law[::-1])[::-1][1:], 0.0)


def _generating_function(num_items: int, z: np.ndarray) -> np.ndarray:
    """G_m(z) at each complex z, by the recursion over segment sizes; sides i and k-1-i are paired."""
    values = np.ones((num_items + 1, len(z)), complex)
    for k in range(2, num_items + 1):
        half = k // 2
        both = 2 * np.einsum("if,if->f", values[:half], values[k - half : k][::-1])
        if k % 2:
            both += values[half] ** 2
        values[k] = z ** (k - 1) * both / k
    return values[num_items]
