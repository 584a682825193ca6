r"""Designs of :mod:`~privrank_jax.aggregation.subset_selection`: which item sets users report, at which thresholds.

A type (k, l, t) has ‖y‖² = 1/k + 1/l. A share q of all pairs of disjoint sets (A, B) of sizes k, l reach its threshold;
p is the mean of y = 1_A/k - 1_B/l over those, by rank, averaged with its mirror image. Both follow from the exact
numbers of pairs of position sets with given sums, counted in integers by adding one position at a time; those that hold
a position follow from those that don't, N(k, l) = N'(k, l) + N'(k-1, l) + N'(k, l-1), each at its own sum.

A design is a choice of types with weights v_i, Σ v_i p_i = x, of report norm B(ε) = Σ_i |v_i| ‖y_i‖/f_i(ε). The least B
at a given ε is a linear program in v with ⌊m/2⌋ equations (p and x are antisymmetric), so that as many types suffice.
It is solved by column generation: the dual prices λ name the types to add, those of the largest |⟨λ, p⟩| f/‖y‖ > 1. The
best designs for a grid of ε are kept, and of these the best at the ε of a report is used.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from privrank_jax._validate import is_traced

MAX_ITEMS = 20
_GRID = tuple(float(epsilon) for epsilon in np.geomspace(0.25, 8.0, 36))
_ADDED = 8  # columns in one step
Sums = dict[tuple[int, int], np.ndarray]


class Designs(NamedTuple):
    """Arrays of types, or of designs ``(designs, types)``, padded with types of weight 0.

    Attributes:
        ahead: k, the size of A.
        behind: l, the size of B.
        threshold: t, in units of 1/(kl).
        share: q, in (0, 1).
        weight: v.
    """

    ahead: Any
    behind: Any
    threshold: Any
    share: Any
    weight: Any = 1.0

    @property
    def length(self) -> Any:
        """‖y‖."""
        return np.sqrt(1 / self.ahead + 1 / self.behind)

    def costs(self, epsilon: Any) -> Any:
        """|v| ‖y‖/f at ε, which may be traced; their sum over types is B."""
        xp = jnp if is_traced(epsilon) else np
        other = xp.exp(-epsilon)
        strength = self.share * (1 - other) / (other + (1 - other) * self.share)
        return np.abs(self.weight) * self.length / strength


@functools.lru_cache(maxsize=32)
def designs(num_items: int) -> Designs:
    """The designs of least error for 2 to 20 items, one a row; a second or two at 20, then cached.

    >>> found = designs(2)  # one pair
    >>> [column.tolist() for column in found]
    [[[1]], [[1]], [[1]], [[0.5]], [[0.5]]]
    """
    check_items(num_items)
    types, means = _types(num_items)
    found: dict[tuple[int, ...], np.ndarray] = {}
    chosen: list[int] = []
    for epsilon in _GRID:
        chosen, weights = _least(num_items, types, means, epsilon, chosen)
        found.setdefault(tuple(chosen), weights)
    width = max(map(len, found))
    spare = [width - len(basis) for basis in found]
    which = np.array([basis + basis[:1] * more for basis, more in zip(found, spare)])
    weight = np.array([np.pad(one, (0, more)) for one, more in zip(found.values(), spare)])
    return Designs(*(column[which] for column in types[:4]), weight=weight)


def check_items(num_items: int) -> None:
    """Raise ``ValueError`` unless there are designs for that many items."""
    if not 2 <= num_items <= MAX_ITEMS:
        raise ValueError(f"subset selection takes 2 to {MAX_ITEMS} items, got {num_items}.")


def _types(items: int) -> tuple[Designs, np.ndarray]:
    """All types with k <= l, whose mirror images are (l, k), and p on the upper half of the ranks, the best last."""
    counts = _set_sums(items)
    without = [_without(counts, items, position) for position in range(items)]
    found = [
        _of_sizes(items, ahead, behind, counts, without)
        for ahead in range(1, items)
        for behind in range(ahead, items - ahead + 1)
    ]
    *columns, mean = (np.concatenate(part, axis=-1) for part in zip(*found))
    return Designs(*columns), mean


def _of_sizes(
    items: int, ahead: int, behind: int, counts: Sums, without: list[Sums]
) -> tuple[np.ndarray, ...]:
    """Columns and p of all types of these sizes, by falling threshold."""
    pairs = counts[ahead, behind]
    gaps = behind * np.arange(pairs.shape[0])[:, None] - ahead * np.arange(pairs.shape[1])
    some = pairs > 0
    values, place = np.unique(gaps[some], return_inverse=True)

    def at_least(numbers: np.ndarray) -> np.ndarray:
        """Numbers of pairs that reach each value, from the largest on; the smallest, which all reach, is left out."""
        each = np.bincount(place, weights=numbers[some], minlength=len(values))
        return np.cumsum(each[::-1])[:-1]

    mean = np.empty((items, len(values) - 1))
    for position, rest in enumerate(without):
        held = _moved(rest[ahead - 1, behind], pairs.shape, position, 0) / ahead
        held = held - _moved(rest[ahead, behind - 1], pairs.shape, 0, position) / behind
        mean[position] = at_least(held)
    reached = at_least(pairs)
    mean = (mean - mean[::-1])[items - items // 2 :] / (2 * reached)
    sizes = (np.full(len(reached), size) for size in (ahead, behind))
    return *sizes, values[:0:-1], reached / pairs.sum(), mean


def _set_sums(items: int) -> Sums:
    """For sizes k, l the numbers of disjoint sets of positions 0, ..., m-1 by their sums: entry [ΣA, ΣB]."""
    counts = {
        (ahead, behind): np.zeros((_largest(items, ahead) + 1, _largest(items, behind) + 1), int)
        for ahead in range(items + 1)
        for behind in range(items + 1 - ahead)
    }
    counts[0, 0][0, 0] = 1
    for position in range(items):
        for ahead in range(position + 1, -1, -1):
            for behind in range(position + 1 - ahead, -1, -1):
                into = counts[ahead, behind]
                into += _with_position(counts, ahead, behind, into.shape, position)
    return counts


def _without(counts: Sums, items: int, position: int) -> Sums:
    """Numbers of such sets that leave one position out, of m - 1 positions at most."""
    rest: Sums = {}
    for ahead in range(items):
        for behind in range(items - ahead):
            every = counts[ahead, behind]
            more = _with_position(rest, ahead, behind, every.shape, position)
            rest[ahead, behind] = every - more
    return rest


def _with_position(
    counts: Sums, ahead: int, behind: int, shape: tuple[int, ...], position: int
) -> np.ndarray:
    """The numbers of sets of these sizes that hold a position, from those that don't."""
    found = np.zeros(shape, int)
    if ahead:
        found += _moved(counts[ahead - 1, behind], shape, position, 0)
    if behind:
        found += _moved(counts[ahead, behind - 1], shape, 0, position)
    return found


def _largest(items: int, size: int) -> int:
    """The largest sum of that many positions."""
    return size * (2 * items - size - 1) // 2


def _moved(numbers: np.ndarray, shape: tuple[int, ...], down: int, right: int) -> np.ndarray:
    """``numbers`` shifted and cut or padded with zeros to ``shape``; only zeros are cut."""
    moved = np.zeros(shape, numbers.dtype)
    part = numbers[: max(0, shape[0] - down), : max(0, shape[1] - right)]
    moved[down : down + part.shape[0], right : right + part.shape[1]] = part
    return moved


# --- the linear program


def _least(
    items: int, types: Designs, means: np.ndarray, epsilon: float, first: list[int]
) -> tuple[list[int], np.ndarray]:
    """The types of the design of least B at ε, and their weights; ``first`` are types to start with."""
    from scipy import optimize

    costs = types.costs(epsilon)
    scores = np.arange(items)[items - items // 2 :] - (items - 1) / 2
    sizes = types.ahead * (items + 1) + types.behind
    firsts = np.flatnonzero(np.diff(sizes, prepend=-1))  # types of the same sizes are side by side
    kinds = list(itertools.pairwise([*firsts.tolist(), len(sizes)]))
    # The p of sizes (1, m - 1) span all antisymmetric vectors.
    start = np.flatnonzero((types.ahead == 1) & (types.behind == items - 1))
    chosen = sorted({*start.tolist(), *first})
    while True:
        some = means[:, chosen]
        solved = optimize.linprog(
            np.tile(costs[chosen], 2), A_eq=np.hstack([some, -some]), b_eq=scores, method="highs"
        )
        # Not by BLAS, whose threads take longer to start than so few products.
        worth = np.abs(np.einsum("p,pi->i", solved.eqlin.marginals, means)) / costs
        best = [begin + int(np.argmax(worth[begin:end])) for begin, end in kinds]
        fresh = [i for i in best if worth[i] > 1 + 1e-9 and i not in chosen]
        if not fresh:
            break
        chosen += sorted(fresh, key=lambda i: -worth[i])[:_ADDED]
    used = np.flatnonzero(solved.x[: len(chosen)] - solved.x[len(chosen) :])
    basis = sorted(chosen[i] for i in used)
    return basis, np.linalg.lstsq(means[:, basis], scores, rcond=None)[0]
