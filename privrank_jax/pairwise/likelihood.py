r"""The negative log-likelihood of comparisons, ridged and tilted, with its derivatives.

.. math:: f(θ) = \frac{1}{S}\Bigl(-\sum_{ij} W_{ij} \log F(θ_i - θ_j) + \tfrac{γ}{2}‖θ‖² + wᵀθ\Bigr) + \frac{(1ᵀθ)²}{2m}

S is the mean degree, so that gradients are of order one. The last term keeps the shift, which the likelihood does
not identify, near 0 without changing any difference; estimators center their result.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._backend import on_cpu, product
from privrank_jax._types import Mask, PairMatrix, Scalar, Scores
from privrank_jax._workarounds.linalg import solve_positive_definite
from privrank_jax._workarounds.xla import materialized
from privrank_jax.comparisons import WinCounts
from privrank_jax.links import Link


def mean_degree(degrees: Array, mask: Mask | None) -> Array:
    """S, at least 1."""
    return jnp.maximum(item_sum(degrees) / _count(degrees, mask), 1.0)


# Without a mask, the compiled program has no masking arithmetic.
def _real(
    theta: Float[Array, "items"], mask: Mask | None, padding: Scalar | Float[Array, "items"] = 0.0
) -> Float[Array, "items"]:
    return theta if mask is None else jnp.where(mask, theta, padding)


def _count(theta: Scores, mask: Mask | None) -> int | Float[Array, ""]:
    return theta.shape[0] if mask is None else jnp.maximum(jnp.sum(mask, 0), 1).astype(theta.dtype)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class LogisticObjective:
    """Objective for the logistic link: the outcomes enter through the win totals alone.

    With t = tanh((θ_i - θ_j)/2) the gradient of a pair is t/2 and its second derivative (1 - t²)/4. While no score is
    far from 0, t comes from one exponential per item: t = (e_i - e_j)/(e_i + e_j), e = exp(θ).

    All but the value and the Hessian are also of many problems at once, along a trailing axis of all arrays.

    Attributes:
        comparisons: ``(m, m)`` M_ij.
        target: ``(m,)`` N_i - M_i/2 - w_i, wins beyond half of the comparisons, less the tilt.
        gamma: ridge γ, shape ``()``.
        mask: ``(m,)`` bool, or ``None``.
        scale: S, shape ``()``.
    """

    comparisons: Array
    target: Array
    gamma: Array
    mask: Array | None
    scale: Array

    @property
    def num_items(self) -> int:
        """Number of items m."""
        return self.comparisons.shape[0]

    def objective(self) -> LogisticObjective:
        """This objective itself, as :class:`LogisticCounts` has one."""
        return self

    @property
    def start(self) -> Array:
        """A first guess, the log-odds of each item's share of wins, ``(m,)``.

        The ridge enters as 4γ comparisons without a winner, which is exact for small θ. The log-odds against the mean
        of opponents with scores of variance v fall short of θ by about √(1 + πv/8), and one of the m is no opponent.
        """
        share = 0.5 + self.target / jnp.maximum(column_sums(self.comparisons) + 4 * self.gamma, 1.0)
        share = jnp.clip(share, 0.02, 0.98)
        start = center(jnp.log(share) - jnp.log1p(-share), self.mask)
        count = _count(start, self.mask)
        spread = dot(start, start) / count
        return start * (count - 1) / count * jnp.sqrt(1 + jnp.pi / 8 * spread)

    def __call__(self, theta: Scores) -> Array:
        """f(θ)."""
        gap = jnp.abs(theta[:, None] - theta[None, :])
        pairs = 0.5 * jnp.sum(self.comparisons * (0.5 * gap + jnp.log1p(jnp.exp(-gap))))
        return (pairs - product(self.target, theta)) / self.scale + _quadratic(self, theta)

    def gradient(self, theta: Scores, power: Scores | None = None) -> Array:
        """∇f(θ), ``(m,)``, from ``power`` = exp(θ) if given, which is faster but needs scores within ±40."""
        if power is None:
            push = column_sums(self.comparisons * _half_tanh(theta))
        else:
            push = _opposed(self.comparisons, power)
        return (-0.5 * push - self.target) / self.scale + _quadratic_gradient(self, theta)

    def pair_weights(self, theta: Scores, power: Scores | None = None) -> Array:
        """Second derivative of f in the gap of each pair, 0 for masked items, ``(m, m)``; ``power`` as above."""
        if power is not None:
            inverse = 1 / (power[:, None] + power[None, :])
            bend = (power / self.scale)[:, None] * inverse * (power[None, :] * inverse)
        else:
            fall = jnp.exp(-jnp.abs(theta[:, None] - theta[None, :]))
            bend = fall / jnp.square(1 + fall) / self.scale
        weight = self.comparisons * bend
        if self.mask is None:
            return weight
        return jnp.where(self.mask[:, None] & self.mask[None, :], weight, 0)

    def diagonal_and_gauge(self, weight: PairMatrix) -> tuple[Scores, Scores]:
        """d and u of the Hessian diag(d) - W + uuᵀ at :meth:`pair_weights` W, with d = 1 for masked items."""
        diagonal = _real(column_sums(weight) + self.gamma / self.scale, self.mask, 1.0)
        gauge = _real(jnp.full_like(diagonal, 1), self.mask)
        return diagonal, gauge / jnp.sqrt(jnp.asarray(_count(diagonal, self.mask), weight.dtype))

    def single(self) -> LogisticObjective:
        """f in float32, in units of S so that any counts are in its range."""
        comparisons, target, gamma = (
            (x / self.scale).astype(jnp.float32)
            for x in (self.comparisons, self.target, self.gamma)
        )
        return LogisticObjective(comparisons, target, gamma, self.mask, jnp.ones((), jnp.float32))

    def hessian(self, theta: Scores) -> Array:
        """∇²f(θ), ``(m, m)``."""
        tanh = _half_tanh(theta)
        return _laplacian(self, 0.25 * self.comparisons * (1 - tanh * tanh) / self.scale)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class LogisticCounts:
    """What a :class:`LogisticObjective` is made of: a batch makes its objectives a chunk at a time.

    Attributes:
        wins: win counts.
        tilt: ``(m,)`` w.
        gamma: ridge γ, shape ``()``.
    """

    wins: WinCounts
    tilt: Array
    gamma: Array

    @property
    def num_items(self) -> int:
        """Number of items m."""
        return self.wins.num_items

    def objective(self) -> LogisticObjective:
        """The objective of these counts."""
        mask, matrix = self.wins.mask, self.wins.matrix
        matrix = matrix if matrix.ndim == 2 else materialized(matrix)
        comparisons = matrix + matrix.swapaxes(0, 1)
        degrees, losses = column_sums(comparisons), column_sums(matrix)
        target = 0.5 * degrees - losses - self.tilt
        scale = mean_degree(degrees, mask)
        return LogisticObjective(comparisons, target, self.gamma, mask, scale)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class LinkObjective:
    """Objective for any link.

    Attributes:
        wins: ``(m, m)`` W_ij.
        tilt: ``(m,)`` w.
        gamma: ridge γ, shape ``()``.
        mask: ``(m,)`` bool, or ``None``.
        scale: S, shape ``()``.
        link: F, static.
        signed: whether entries of ``wins`` may be negative, so that f need not be convex; static.
    """

    wins: Array
    tilt: Array
    gamma: Array
    mask: Array | None
    scale: Array
    link: Link = dataclasses.field(metadata={"static": True})
    signed: bool = dataclasses.field(default=False, metadata={"static": True})

    @property
    def start(self) -> Array:
        """Where a search begins: θ = 0."""
        return jnp.zeros_like(self.tilt)

    def __call__(self, theta: Scores) -> Array:
        """f(θ)."""
        gap = theta[:, None] - theta[None, :]
        loss = -jnp.sum(self.wins * self.link.log_cdf(gap))
        return (loss + product(self.tilt, theta)) / self.scale + _quadratic(self, theta)

    def gradient(self, theta: Scores) -> Array:
        """∇f(θ), ``(m,)``."""
        pull = self.wins * self.link.score(theta[:, None] - theta[None, :])
        return (pull.sum(0) - pull.sum(1) + self.tilt) / self.scale + _quadratic_gradient(
            self, theta
        )

    def hessian(self, theta: Scores) -> Array:
        """∇²f(θ), ``(m, m)``; if ``signed`` and it isn't positive definite, a nearby matrix that is."""
        gap = theta[:, None] - theta[None, :]
        weight = pair_curvature(gap, self.wins, self.link)
        exact = _laplacian(self, weight / self.scale)
        if not self.signed:
            return exact
        # A pair of negative curvature is replaced by its expected information: a Laplacian with non-negative
        # weights is positive semidefinite, so Newton's direction descends.
        expected = (self.wins + self.wins.T) * self.link.score(gap) * self.link.score(-gap)
        convex = _laplacian(self, jnp.where(weight > 0, weight, expected) / self.scale)
        definite = jnp.all(jnp.isfinite(solve_positive_definite(exact, jnp.ones_like(theta))))
        return jnp.where(definite, exact, convex)


DenseObjective = LogisticObjective | LinkObjective


def dense_objective(
    wins: WinCounts, link: Link, *, gamma: Scalar = 0.0, tilt: Scalar | Scores = 0.0
) -> DenseObjective:
    """The objective of ``wins`` under ``link`` with ridge γ and linear tilt w (scalar or ``(m,)``)."""
    counts = logistic_counts(wins, gamma=gamma, tilt=tilt)
    if link.name == "logistic":
        return counts.objective()
    scale = mean_degree(wins.degrees, wins.mask)
    return LinkObjective(wins.matrix, counts.tilt, counts.gamma, wins.mask, scale, link)


def logistic_counts(
    wins: WinCounts, *, gamma: Scalar = 0.0, tilt: Scalar | Scores = 0.0
) -> LogisticCounts:
    """``wins`` with ridge γ and linear tilt w (scalar or ``(m,)``)."""
    mask, dtype = wins.mask, wins.matrix.dtype
    tilt = _real(jnp.broadcast_to(jnp.asarray(tilt, dtype), (wins.num_items,)), mask)
    wins = dataclasses.replace(wins, ties=None)  # half wins: their number has no part in this model
    return LogisticCounts(wins, tilt, jnp.asarray(gamma, dtype))


def signed_objective(
    margins: PairMatrix, weights: PairMatrix, link: Link, *, gamma: Scalar, mask: Mask | None = None
) -> DenseObjective:
    """The objective of W_ij/2 + D_ij wins, which may be negative (debiased reports), with ridge γ.

    S is the gradient at θ = 0 here if that exceeds the mean degree: where weights are tiny, so is θ, and only a
    tolerance relative to θ is meaningful.

    Args:
        margins: ``(m, m)`` antisymmetric, D_ij.
        weights: ``(m, m)`` symmetric, W_ij >= 0.
        link: F; for the logistic link the objective is convex anyway.
        gamma: ridge γ.
        mask: ``(m,)`` bool, or ``None``.
    """
    target, degrees = margins.sum(-1), weights.sum(-1)
    scale = jnp.maximum(jnp.max(jnp.abs(target)), jnp.sum(degrees) / _count(degrees, mask))
    scale = jax.lax.stop_gradient(jnp.where(scale > 0, scale, 1.0))
    gamma = jnp.asarray(gamma, margins.dtype)
    if link.name == "logistic":
        return LogisticObjective(weights, target, gamma, mask, scale)
    wins = 0.5 * weights + margins
    return LinkObjective(wins, jnp.zeros_like(target), gamma, mask, scale, link, signed=True)


def center(theta: Scores, mask: Mask | None) -> Array:
    """Subtract the mean over the mask; masked entries become 0."""
    mean = item_sum(_real(theta, mask)) / _count(theta, mask)
    return _real(theta - mean, mask)


def pair_curvature(gap: Array, wins: Array, link: Link) -> Array:
    """Second derivative of each pair's loss in its gap, W_ij c(x) + W_ji c(-x), c = -(log F)'', ``(m, m)``."""
    bend = wins * link.curvature(gap)
    return bend + bend.T


def information(theta: Scores, comparisons: PairMatrix, link: Link) -> Array:
    """Expected (Fisher) information of θ, the Laplacian of M_ij F'²/(F(1-F)), ``(m, m)``."""
    gap = theta[:, None] - theta[None, :]
    weight = comparisons * link.score(gap) * link.score(-gap)
    return jnp.diag(weight.sum(-1)) - weight


def item_sum(vector: Array) -> Array:
    """Σ_i of ``(m,)``; of ``(m, lanes)`` one sum per lane."""
    return vector.sum(0) if vector.ndim == 1 else _add_rows(lambda row: row, vector)


def column_sums(matrix: Array) -> Array:
    """Column sums of ``(m, m)`` or ``(m, m, lanes)``, in the order that a CPU computes fastest: over rows, or with many
    items by a matrix product."""
    if matrix.ndim == 3:
        return _add_rows(lambda row: row, matrix)
    if matrix.shape[-1] < 64:
        return matrix.sum(0)
    ones = jnp.ones(matrix.shape[-1], matrix.dtype)
    return jnp.matmul(ones, matrix, precision=jax.lax.Precision.HIGHEST)


def dot(left: Array, right: Array) -> Array:
    """Σ_i ``left[i] * right[i]`` of ``(m,)`` or ``(m, lanes)``."""
    return jnp.sum(left * right, 0) if left.ndim == 1 else _add_rows(jnp.multiply, left, right)


def times(symmetric: Array, vector: Array) -> Array:
    """A symmetric matrix, ``(m, m)`` or ``(m, m, lanes)``, times a vector, ``(m,)`` or ``(m, lanes)``."""
    if vector.ndim == 1:
        return product(symmetric, vector)
    return _add_rows(jnp.multiply, symmetric, vector)


def _opposed(comparisons: Array, power: Scores) -> Array:
    """Σ_i M_ij tanh((θ_i - θ_j)/2), ``(m,)``, from ``power`` = exp(θ)."""
    if power.ndim == 1:
        ratio = (power[:, None] - power[None, :]) / (power[:, None] + power[None, :])
        return column_sums(comparisons * ratio)
    return _add_rows(lambda row, one: row * ((one - power) / (one + power)), comparisons, power)


def _add_rows(term: Callable[..., Array], *arrays: Array) -> Array:
    """Σ_i ``term`` of the i-th rows of ``arrays``, with problems along their trailing axis.

    On a CPU, XLA sums over a leading axis without vectorizing, so rows are added one after another, all in one kernel.
    """
    rows = jax.vmap(term)
    if not on_cpu():
        return rows(*arrays).sum(0)
    size = arrays[0].shape[0]
    group = math.isqrt(size)

    def add(first: int, last: int, step: int) -> Array:
        parts = [rows(*(x[at : at + step] for x in arrays)) for at in range(first, last, step)]
        return functools.reduce(jnp.add, parts)

    # As few operations as possible: a group of rows at a time, then the rows of their sum.
    groups = add(0, size // group * group, group)
    total = functools.reduce(jnp.add, [groups[row] for row in range(group)])
    return total + add(size // group * group, size, 1)[0] if size % group else total


def _half_tanh(theta: Scores) -> Array:
    half = 0.5 * theta
    return jnp.tanh(half[:, None] - half[None, :])


def _quadratic(objective: DenseObjective, theta: Scores) -> Float[Array, ""]:
    real = _real(theta, objective.mask)
    gauge = 0.5 * jnp.sum(real) ** 2 / _count(theta, objective.mask)
    return product(0.5 * objective.gamma * real, real) / objective.scale + gauge


def _quadratic_gradient(objective: DenseObjective, theta: Scores) -> Scores:
    real = _real(theta, objective.mask)
    gauge = item_sum(real) / _count(theta, objective.mask)
    return _real(objective.gamma * real / objective.scale + gauge, objective.mask, theta)


def _laplacian(objective: DenseObjective, weight: PairMatrix) -> PairMatrix:
    """diag(weight 1) - weight + ridge + gauge; masked items get 1 on the diagonal."""
    mask, size = objective.mask, weight.shape[0]
    diagonal = _real(column_sums(weight) + objective.gamma / objective.scale, mask, 1.0)
    full = 1 / _count(diagonal, mask) - weight
    if mask is not None:
        full = jnp.where(mask[:, None] & mask[None, :], full, 0.0)
    return full + diagonal[:, None] * jnp.eye(size, dtype=weight.dtype)
