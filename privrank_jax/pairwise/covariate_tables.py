r"""From columns of numbers to a table with covariates: clipped, scaled, rounded, and checked to be identifiable.

**Scale.** Noise of one scale is added to all sums. A feature that is multiplied by w has noise that is smaller by the
factor w once its coefficient is in units of the covariate again; but the sensitivity grows with w, and so does the
noise of all scores. For N comparisons of m items, d = 2N/m of each, and features c times a covariate in [-1, 1] of mean
square s², one linear step from the sums gives the noise in the m scores and in the effect of the covariate at its bound
the total variance ∝ (2 + c)²(m/d² + 1/(c s²N)²), as the information is about d/4 and c²s²N/4. It is least near c =
2/(m s^{4/3}), which adds 1/(m s^{4/3}) to the noise of a fit without covariates. The nearest power of 2 is taken, at
most 1. It depends on the public design alone.

**Rounding** to multiples of 2^{-10} of the largest feature or finer moves a covariate by at most 2^{-11} of its bound.
What is fitted is the rounded feature, so the release is exact; only the meaning of a coefficient is off by that much.

**Identifiability.** A covariate whose values are a linear combination of other covariates and of differences between
numbers that belong to the items (for instance of each model's mean length) can't be told apart from these: its
coefficient would be an arbitrary choice of the ridge. Such designs are refused, as are covariates that are always 0.

**Private designs** (``private=True``), for :data:`~privrank_jax.pairwise.perturbed_covariates`: nothing may be
read from the rows. Each covariate has public bounds, the larger of which makes a feature of 1/2, in multiples of
2^{-11}; whether a coefficient is identifiable is not looked at, and its ridge decides where it is not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Integer, Real

from privrank_jax._arguments import ArgumentError
from privrank_jax._types import RowsLike
from privrank_jax.comparisons import default_float
from privrank_jax.exact.likelihoods import FEATURE_BITS
from privrank_jax.pairwise.covariates import CovariateDesign, CovariateTable
from privrank_jax.pairwise.perturbed_answers import LARGEST_FEATURE

ColumnLike = Real[np.ndarray, "rows"] | Sequence[float]
"""One number per comparison."""

_LEVELS = 10  # bits of a feature below the largest
_MOST_BITS = 30
_RANK = 1e-9  # share of a column's squared norm that others must leave over
_SHARE = 1e-6  # of a column's norm, from which another is named


def covariate_table(
    first: RowsLike,
    second: RowsLike,
    outcomes: ColumnLike,
    covariates: Mapping[str, ColumnLike],
    *,
    num_items: int,
    users: RowsLike | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    private: bool = False,
) -> CovariateTable:
    """Comparisons of m items with public covariates, ready for :func:`noisy_sums`; checked on the host.

    Args:
        first: ``(N,)`` int, the item that was shown first (left, at home), or any choice that ignores the outcome.
        second: ``(N,)`` int, the other item.
        outcomes: ``(N,)``, 1 where the first item won, 0 where it lost, 1/2 for a tie.
        covariates: name to ``(N,)`` numbers, how much more the first item has of it than the second; a column of ones
            is the advantage of the first item. They and the comparisons themselves are public, outcomes are not.
        num_items: m.
        users: ``(N,)`` int, who compared; default: another user for each comparison.
        bounds: name to (low, high), between which values are clipped; default: the range of the values, which is as
            public as they are.
        private: whether covariates are private, and who met; then each needs bounds that are known without looking.

    Returns:
        :class:`CovariateTable`. Features are the covariates divided by ``design.units``, and rounded.

    Raises:
        ValueError: columns of different lengths, no comparisons, items out of range or compared with themselves,
            outcomes other than 0, 1/2, 1, values that are not finite, bounds in the wrong order or of an unknown
            covariate, a covariate that is always 0, or one that others or the items determine; the message names it;
            private covariates without bounds.

    >>> left = {"left": np.ones(3)}
    >>> table = covariate_table([0, 1, 0], [1, 2, 2], [1, 0, 0.5], left, num_items=3)
    >>> table.sums.tolist()[:3]
    [1.5, -1.0, -0.5]
    """
    items = _checked_items(first, second, num_items)
    rows = len(items[0])
    answered = _column("outcomes", outcomes, rows)
    if not np.all(np.isin(answered, (0.0, 0.5, 1.0))):
        raise ArgumentError(
            "outcomes must be 1 (the first item won), 0 (it lost) or 0.5 (a tie).", "outcomes"
        )
    who = np.arange(rows) if users is None else np.asarray(users)
    if who.shape != (rows,):
        raise ArgumentError(f"users must have shape ({rows},), got {who.shape}.", "users")
    bounds = bounds or {}
    values = _clipped(covariates, bounds, rows)
    names = tuple(values)
    if private:
        units = np.array([_private_unit(name, bounds) for name in names])
    else:
        check_identifiable(*items, values, num_items)
        units = np.array([_unit(column, num_items) for column in values.values()])
    raw = np.column_stack([np.zeros((rows, 0)), *values.values()]) / units
    features = np.ldexp(np.rint(np.ldexp(raw, FEATURE_BITS)), -FEATURE_BITS)
    features = features if private else _rounded(raw)
    dtype = default_float()
    design = CovariateDesign(
        jnp.asarray(items[0], jnp.int32),
        jnp.asarray(items[1], jnp.int32),
        jnp.asarray(features, dtype),
        jnp.asarray(np.unique(who, return_inverse=True)[1].ravel(), jnp.int32),
        jnp.asarray(units, dtype),
        num_items=num_items,
        names=names,
        private=private,
    )
    return CovariateTable(design, jnp.asarray(answered, dtype))


def check_identifiable(
    first: Integer[np.ndarray, "rows"],
    second: Integer[np.ndarray, "rows"],
    columns: Mapping[str, Float[np.ndarray, "rows"]],
    num_items: int,
) -> None:
    """Refuse covariates that are always 0, or that others or the items determine.

    Args:
        first: ``(N,)``.
        second: ``(N,)``.
        columns: name to ``(N,)``.
        num_items: m.

    Raises:
        ValueError: there is one; the message names it and those that determine it.
    """
    for name, column in columns.items():
        if not np.any(column):
            raise ArgumentError(
                f"covariate {name!r} is 0 in every comparison, so it explains nothing: leave it out.",
                "covariates",
            )
    features = np.column_stack(
        [column / np.abs(column).max() for column in columns.values()] or [first]
    )
    names, features = list(columns), features[:, : len(columns)].astype(float)
    # The items' part of each feature, by the pseudo-inverse of the Laplacian of the comparisons.
    graph = np.zeros((num_items, num_items))
    np.add.at(graph, (first, second), -1.0)
    graph += graph.T
    np.fill_diagonal(graph, -graph.sum(1))
    pull = np.zeros((num_items, len(names)))
    np.add.at(pull, first, features)
    np.subtract.at(pull, second, features)
    levels = np.linalg.pinv(graph, hermitian=True) @ pull
    rest = features - (levels[first] - levels[second])
    for k, name in enumerate(names):
        slopes = np.linalg.lstsq(rest[:, :k], rest[:, k], rcond=None)[0]
        left = rest[:, k] - rest[:, :k] @ slopes
        if left @ left > _RANK * (features[:, k] @ features[:, k]):
            continue
        others = [repr(one) for one, slope in zip(names, slopes) if abs(slope) > _SHARE]
        level = levels[:, k] - levels[:, :k] @ slopes
        if np.abs(level[first] - level[second]).max() > _SHARE:
            others.append("the scores of the items")
        raise ArgumentError(
            f"covariate {name!r} can't be told apart from {' and '.join(others)}: its values are a sum of multiples of "
            "theirs. Leave one of them out.",
            "covariates",
        )


def _checked_items(
    first: RowsLike, second: RowsLike, num_items: int
) -> tuple[np.ndarray, np.ndarray]:
    items = tuple(np.asarray(one) for one in (first, second))
    if items[0].ndim != 1 or items[0].shape != items[1].shape or not items[0].size:
        raise ArgumentError(
            f"first and second must have one shape (N,), N >= 1, got {items[0].shape} and {items[1].shape}.",
            "first",
        )
    both = np.stack(items)
    if not np.issubdtype(both.dtype, np.integer) or both.min() < 0 or both.max() >= num_items:
        raise ArgumentError(f"items must be integers from 0 to {num_items - 1}.", "first")
    if np.any(both[0] == both[1]):
        raise ArgumentError("an item is compared with itself: remove that row.", "first")
    return both[0], both[1]


def _column(name: str, values: ColumnLike, rows: int) -> np.ndarray:
    column = np.asarray(values, np.float64)
    if column.shape != (rows,):
        raise ArgumentError(f"{name} must have shape ({rows},), got {column.shape}.", name)
    if not np.all(np.isfinite(column)):
        at = int(np.flatnonzero(~np.isfinite(column))[0])
        raise ArgumentError(f"{name} must be finite, and comparison {at} has {column[at]}.", name)
    return column


def _clipped(
    covariates: Mapping[str, ColumnLike], bounds: Mapping[str, tuple[float, float]], rows: int
) -> dict[str, np.ndarray]:
    unknown = [repr(name) for name in bounds if name not in covariates]
    if unknown:
        raise ArgumentError(
            f"bounds are given for {', '.join(unknown)}, which is none of the covariates "
            f"{', '.join(map(repr, covariates))}.",
            "bounds",
        )
    found = {}
    for name, values in covariates.items():
        column = _column(f"covariate {name!r}", values, rows)
        if name in bounds:
            low, high = bounds[name]
            if not -math.inf < low < high < math.inf:
                raise ArgumentError(
                    f"the bounds of covariate {name!r} must be two finite numbers, the lower first, got "
                    f"({low}, {high}).",
                    "bounds",
                )
            column = np.clip(column, low, high)
        found[name] = column
    return found


def _private_unit(name: str, bounds: Mapping[str, tuple[float, float]]) -> float:
    """What a feature of 1 stands for, by public bounds alone."""
    if name not in bounds:
        raise ArgumentError(
            f"covariate {name!r} is private, so its range can't be read from the data: give bounds that are known "
            "without looking, between which values are clipped.",
            "bounds",
        )
    return max(map(abs, bounds[name])) / LARGEST_FEATURE


def _unit(column: np.ndarray, num_items: int) -> float:
    """What a feature of 1 stands for: the covariate's largest size over the weight c of the module docstring."""
    most = float(np.abs(column).max())
    spread = math.sqrt(float(np.mean(np.square(column / most))))
    weight = min(1.0, 2 / (num_items * spread ** (4 / 3)))
    return most / 2.0 ** round(math.log2(weight))


def _rounded(features: np.ndarray) -> np.ndarray:
    if not features.size:
        return features
    least = float(np.abs(features).max(axis=0).min())
    bits = min(_LEVELS - math.floor(math.log2(least)), _MOST_BITS)
    return np.ldexp(np.rint(np.ldexp(features, bits)), -bits)
