r"""Comparisons with covariates: the design matrix and its sums, made of columns of numbers.

**Model.** Comparison r is of a first item i and a second item j, and has features x_r: with z_r = (e_i - e_j, x_r), the
conditional logit of :mod:`privrank_jax.pairwise.designs`. A feature that is 1 throughout is the advantage of being
first (left, at home). Outcomes y_r (1 if the first item won, 0 if it lost, 1/2 for a tie) enter through the *sums*
S = Σ_r y_r z_r alone and, where ties are outcomes of their own, through their number.

**What is public.** The design is: which items met, which was first, the features, and which user gave which
comparison. Which item counts as the first must not depend on the outcome, nor may a feature: the length of the *winner*
less that of the loser is no feature, that of the *first* item less that of the second is one. How far one unit moves
the sums: :mod:`privrank_jax.pairwise.covariate_noise`.

**Scale.** Noise of one scale is added to all sums. A feature that is multiplied by w has noise that is smaller by the
factor w once its coefficient is in units of the covariate again; but the sensitivity grows with w, and so does the
noise of all scores. For m items and features c times a covariate in [-1, 1] of mean square s², the total variance of
one linear step from the sums is least near c = 2/(m s^{4/3}). The nearest power of 2 is taken, at most 1.

**Rounding** to multiples of 2^{-10} of the largest feature or finer makes the release exact. What is fitted is the
rounded feature; it is off by at most 2^{-11} of the covariate's bound.

**Identifiability.** A covariate whose values are a linear combination of other covariates and of differences between
numbers that belong to the items can't be told apart from these: its coefficient would be an arbitrary choice of the
ridge. Such designs are refused, as are covariates that are always 0.

**Private designs**, for :data:`~privrank_jax.pairwise.perturbed_covariates`: nothing may be read from the rows. Each
covariate has public bounds, the larger of which makes a feature of 1/2, in multiples of 2^{-11}; whether a coefficient
is identifiable is not looked at.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float, Int, Real

from privrank_jax._arguments import ArgumentError
from privrank_jax._backend import product
from privrank_jax._batches import of_each_problem
from privrank_jax._pytrees import pytree, static
from privrank_jax._types import RowsLike, Scalar
from privrank_jax._validate import check_shape
from privrank_jax.comparisons import default_float
from privrank_jax.exact.likelihoods import FEATURE_BITS
from privrank_jax.pairwise.designs import Meetings
from privrank_jax.pairwise.meetings import check_items
from privrank_jax.privacy.privacy import Privacy

LARGEST_FEATURE = 0.5
"""Of private designs."""
ColumnLike = Real[np.ndarray, "rows"] | Sequence[float]
_LEVELS, _MOST_BITS = 10, 30  # of a feature below the largest, and in all
_RANK = 1e-9  # share of a column's squared norm that others must leave over
_SHARE = 1e-6  # of a column's norm, from which another is named


@pytree
class CovariateDesign(Meetings):
    """The public part of N comparisons of m items with p features; :func:`covariate_table` makes and checks one.

    Attributes:
        first, second: ``(N,)`` int, the items of each comparison.
        features: ``(N, p)`` float, of the first item against the second.
        users: ``(N,)`` int in 0..N-1, who compared.
        units: ``(p,)`` float, what one unit of a feature is, in units of the covariate that it was made of.
        mask: ``(N,)`` bool, False for rows that only pad the table; ``None`` = all are real.
        names: of the p features, static.
        private: whether features have scales by public bounds alone, so that the design may be private; static.
        ties: whether ties are outcomes of their own in a fit; static.
    """

    first: Int[Array, "*batch rows"]
    second: Int[Array, "*batch rows"]
    features: Float[Array, "*batch rows covariates"]
    users: Int[Array, "*batch rows"]
    units: Float[Array, "*batch covariates"]
    mask: Bool[Array, "*batch rows"] | None = None
    num_items: int = static(kw_only=True)
    names: tuple[str, ...] = static(default=())
    private: bool = static(default=False)
    ties: bool = static(default=False)

    @property
    def dtype(self) -> DTypeLike:
        """That of the features."""
        return self.features.dtype

    @property
    def feature_units(self) -> Float[Array, "covariates"]:
        """``units``."""
        return self.units

    @property
    @of_each_problem
    def degree(self) -> Float[Array, ""]:
        """Mean number of comparisons per item."""
        rows = self.first.shape[0] if self.mask is None else jnp.sum(self.mask)
        return jnp.asarray(2.0 * rows / self.num_items, self.features.dtype)

    @property
    @of_each_problem
    def evidence(self) -> Float[Array, "size"]:
        """Of each score the mean number of comparisons, of each feature Σ_r x_r²."""
        items = jnp.broadcast_to(self.degree, (self.num_items,))
        return jnp.concatenate([items, jnp.sum(jnp.square(self.real(self.features.T)), 1)])

    def excess(self, counted: Float[Array, "parameters"]) -> Float[Array, "parameters"]:
        """S less half of Σ_r z_r; then the number of ties."""
        half = self.total(jnp.full(self.first.shape, 0.5, self.features.dtype))
        return jnp.concatenate([counted[: self.size] - half, counted[self.size :]])

    def ridges(self, gamma: Scalar | Float[Array, "size"]) -> Float[Array, "size"]:
        """γ of each score and coefficient: as given, or of one γ for scores that times its largest size squared."""
        if jnp.ndim(gamma):
            return super().ridges(gamma)
        features = jnp.square(self.features)
        if self.mask is not None:
            features = jnp.where(self.mask[:, None], features, 0)
        most = jnp.max(features, 0, initial=0.0)
        squares = jnp.concatenate([jnp.ones(self.num_items, most.dtype), most])
        return jnp.asarray(gamma, squares.dtype) * squares

    def log_odds(self, beta: Float[Array, "size"]) -> Float[Array, "rows"]:
        """⟨z_r, β⟩ of every comparison, ``(N,)``."""
        theta, slopes = beta[: self.num_items], beta[self.num_items :]
        return theta[self.first] - theta[self.second] + product(self.features, slopes)

    def real(self, each: Float[Array, "*kinds rows"]) -> Float[Array, "*kinds rows"]:
        """Numbers of comparisons, 0 for padding."""
        return each if self.mask is None else jnp.where(self.mask, each, 0)

    def pull(self, each: Float[Array, "rows"]) -> Float[Array, "size"]:
        """Σ_r each_r z_r, ``(m + p,)``."""
        met = self._of_pairs(each)
        items = jnp.sum(met, 1) - jnp.sum(met, 0)
        return jnp.concatenate([items, product(each, self.features)])

    def squares(self, each: Float[Array, "rows"]) -> Float[Array, "size"]:
        """Σ_r each_r z_r², entry by entry."""
        met = self._of_pairs(each)
        items = jnp.sum(met, 1) + jnp.sum(met, 0)
        return jnp.concatenate([items, product(each, jnp.square(self.features))])

    def gram(self, weights: Float[Array, "rows"]) -> Float[Array, "size size"]:
        """Σ_r weights_r z_r z_rᵀ, ``(m + p, m + p)``."""
        weights = self.real(weights)
        met = self._of_pairs(weights)
        met = met + met.T
        scaled = weights[:, None] * self.features
        cross = jnp.zeros((self.num_items, scaled.shape[1]), scaled.dtype)
        cross = cross.at[self.first].add(scaled).at[self.second].add(-scaled)
        items = jnp.diag(jnp.sum(met, 0)) - met
        return jnp.block([[items, cross], [cross.T, product(self.features.T, scaled)]])

    def _of_pairs(self, weights: Float[Array, "rows"]) -> Float[Array, "items items"]:
        """The sum over comparisons of each first item with each second one, in one pass through the rows."""
        pairs = jnp.zeros((self.num_items,) * 2, self.features.dtype)
        return pairs.at[self.first, self.second].add(weights)

    @functools.partial(jax.jit, static_argnames=("norm",), inline=True)
    def sensitivity(self, privacy: Privacy, norm: str = "l1") -> Float[Array, ""]:
        """Sensitivity of the sums to one unit by norms of single comparisons; ``"l1"`` or ``"l2"``."""
        if norm == "l1":
            each = self.real(2 + jnp.sum(jnp.abs(self.features), -1))
        else:
            each = self.real(jnp.sqrt(2 + jnp.sum(jnp.square(self.features), -1)))
        if privacy.unit == "user":
            each = jnp.zeros_like(each).at[self.users].add(each)
        return jnp.max(each)


@pytree
class CovariateTable:
    """N comparisons with features: the design, and outcomes ``(N,)``, 1 where the first item won, 1/2 for a tie."""

    design: CovariateDesign
    outcomes: Float[Array, "*batch rows"]

    @property
    @of_each_problem
    def sums(self) -> Float[Array, "size"]:
        """S = Σ_r y_r z_r, ``(m + p,)``: m numbers that sum to 0, then one for each feature."""
        return self.design.total(self.outcomes.astype(self.design.features.dtype))

    @property
    @of_each_problem
    def ties(self) -> Float[Array, ""]:
        """T, the number of outcomes 1/2."""
        tied = (self.outcomes == 0.5).astype(self.design.features.dtype)
        return jnp.sum(self.design.real(tied))


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
    """Comparisons of m items with covariates, ready for :func:`noisy_sums`; checked on the host.

    Args:
        first: ``(N,)`` int, the item that was shown first (left, at home), or any choice that ignores the outcome.
        second: ``(N,)`` int, the other item.
        outcomes: ``(N,)``, 1 where the first item won, 0 where it lost, 1/2 for a tie.
        covariates: name to ``(N,)`` numbers, how much more the first item has of it than the second.
        num_items: m.
        users: ``(N,)`` int, who compared; default: another user for each comparison.
        bounds: name to (low, high), between which values are clipped; default: the range of the values.
        private: whether covariates are private, and who met; then each needs bounds that are known without looking.

    Returns:
        :class:`CovariateTable`. Features are the covariates divided by ``design.units``, and rounded.

    Raises:
        ValueError: columns of different lengths, no comparisons, items out of range or compared with themselves,
            outcomes other than 0, 1/2, 1, values that are not finite, wrong bounds, or none where they are needed;
            a covariate that is always 0, or one that others or the items determine.

    >>> left = {"left": np.ones(3)}
    >>> table = covariate_table([0, 1, 0], [1, 2, 2], [1, 0, 0.5], left, num_items=3)
    >>> table.sums.tolist()[:3]
    [1.5, -1.0, -0.5]
    """
    one, other = np.asarray(first), np.asarray(second)
    if one.ndim != 1 or one.shape != other.shape or not one.size:
        raise ArgumentError(
            f"first and second must have one shape (N,), N >= 1, got {one.shape} and {other.shape}.",
            "first",
        )
    check_items(one, other, num_items)
    rows, bounds = len(one), bounds or {}
    answered = _column("outcomes", outcomes, rows)
    if not np.all(np.isin(answered, (0.0, 0.5, 1.0))):
        raise ArgumentError(
            "outcomes must be 1 (the first item won), 0 (it lost) or 0.5 (a tie).", "outcomes"
        )
    who = np.arange(rows) if users is None else np.asarray(users)
    check_shape("users", who, (rows,))
    unknown = [repr(name) for name in bounds if name not in covariates]
    if unknown:
        raise ArgumentError(
            f"bounds are given for {', '.join(unknown)}, which is none of the covariates "
            f"{', '.join(map(repr, covariates))}.",
            "bounds",
        )
    clipped = [
        _clipped(name, _column(f"covariate {name!r}", values, rows), bounds.get(name), private)
        for name, values in covariates.items()
    ]
    columns, bits = np.column_stack([np.zeros((rows, 0)), *clipped]), FEATURE_BITS
    if private:
        units = np.array([max(map(abs, bounds[name])) / LARGEST_FEATURE for name in covariates])
    else:
        _check_identifiable(one, other, columns, list(covariates), num_items)
        units = np.array([_unit(column, num_items) for column in columns.T])
        least = float(np.abs(columns / units).max(axis=0).min()) if clipped else 1.0
        bits = min(_LEVELS - math.floor(math.log2(least)), _MOST_BITS)
    features = np.ldexp(np.rint(np.ldexp(columns / units, bits)), -bits)
    dtype = default_float()
    design = CovariateDesign(
        jnp.asarray(one, jnp.int32),
        jnp.asarray(other, jnp.int32),
        jnp.asarray(features, dtype),
        jnp.asarray(np.unique(who, return_inverse=True)[1].ravel(), jnp.int32),
        jnp.asarray(units, dtype),
        num_items=num_items,
        names=tuple(covariates),
        private=private,
    )
    return CovariateTable(design, jnp.asarray(answered, dtype))


def _check_identifiable(
    first: np.ndarray, second: np.ndarray, columns: np.ndarray, names: list[str], num_items: int
) -> None:
    """Refuse covariates that are always 0, or that others or the items determine."""
    sizes = np.abs(columns).max(axis=0)
    for name, size in zip(names, sizes):
        if not size:
            raise ArgumentError(
                f"covariate {name!r} is 0 in every comparison, so it explains nothing: leave it out.",
                "covariates",
            )
    features = columns / sizes
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


def _column(name: str, values: ColumnLike, rows: int) -> np.ndarray:
    column = np.asarray(values, np.float64)
    check_shape(name, column, (rows,))
    if not np.all(np.isfinite(column)):
        at = int(np.flatnonzero(~np.isfinite(column))[0])
        raise ArgumentError(f"{name} must be finite, and comparison {at} has {column[at]}.", name)
    return column


def _clipped(
    name: str, column: np.ndarray, bounds: tuple[float, float] | None, private: bool
) -> np.ndarray:
    if bounds is None and private:
        raise ArgumentError(
            f"covariate {name!r} is private, so its range can't be read from the data: give bounds that are known "
            "without looking, between which values are clipped.",
            "bounds",
        )
    if bounds is None:
        return column
    low, high = bounds
    if not -math.inf < low < high < math.inf:
        raise ArgumentError(
            f"the bounds of covariate {name!r} must be two finite numbers, the lower first, got ({low}, {high}).",
            "bounds",
        )
    return np.clip(column, low, high)


def _unit(column: np.ndarray, num_items: int) -> float:
    """What a feature of 1 stands for: the covariate's largest size over the weight c of the module docstring."""
    most = float(np.abs(column).max())
    spread = math.sqrt(float(np.mean(np.square(column / most))))
    weight = min(1.0, 2 / (num_items * spread ** (4 / 3)))
    return most / 2.0 ** round(math.log2(weight))


def resolution(features: Float[np.ndarray, "rows covariates"]) -> int:
    """b, the smallest number with all features multiples of 2^-b; multiples finer than 2^-30 are refused."""
    features = np.asarray(features, np.float64)
    for bits in range(_MOST_BITS + 1):
        if np.all(np.ldexp(features, bits) == np.rint(np.ldexp(features, bits))):
            return bits
    raise ValueError(
        "exact noise needs features that are multiples of a power of 1/2 (2^-30 at least): covariate_table rounds them."
    )
