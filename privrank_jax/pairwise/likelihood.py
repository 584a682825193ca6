r"""The negative log-likelihood of comparisons, ridged and tilted, with its derivatives.

.. math:: f(θ) = \frac{1}{S}\Bigl(-\sum_{ij} W_{ij} \log F(θ_i - θ_j) + \tfrac{γ}{2}‖θ‖² + wᵀθ\Bigr) + \frac{(1ᵀθ)²}{2m}

S is the mean degree, so that gradients are of order one. The last term keeps the shift, which the likelihood does
not identify, near 0 without changing any difference; estimators center their result.
"""

from __future__ import annotations

import dataclasses
import functools
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._backend import product
from privrank_jax._types import Mask, PairMatrix, Scalar, Scores
from privrank_jax._workarounds.xla import materialized
from privrank_jax.comparisons import WinCounts
from privrank_jax.links import Link, logistic
from privrank_jax.pairwise.first_guess import first_guess
from privrank_jax.pairwise.lanes import add_rows, column_sums, item_sum, opposed_sums, row_sums
from privrank_jax.pairwise.masked import between_real, count_items, mean_degree, real
from privrank_jax.pairwise.near_links import NEAR, Item, near_bend, near_items, near_pull


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

    # While every |θ| is below this, exp(θ) and its products neither overflow nor vanish in float32.
    reach: ClassVar[float] = 40.0
    signed: ClassVar[bool] = False  # convex even where wins are negative

    @property
    def num_items(self) -> int:
        """Number of items m."""
        return self.comparisons.shape[0]

    def objective(self) -> LogisticObjective:
        """This objective itself, as :class:`DenseCounts` has one."""
        return self

    @property
    def start(self) -> Array:
        """A first guess, ``(m,)``."""
        return first_guess(logistic, self.comparisons, self.target, self.gamma, self.mask)

    def __call__(self, theta: Scores) -> Array:
        """f(θ)."""
        gap = jnp.abs(_gaps(theta))
        pairs = 0.5 * jnp.sum(self.comparisons * (0.5 * gap + jnp.log1p(jnp.exp(-gap))))
        return (pairs - product(self.target, theta)) / self.scale + _quadratic(self, theta)

    def near(self, theta: Scores) -> Array:
        """Each item's share in the faster forms of what follows, exp(θ)."""
        return jnp.exp(theta)

    def gradient(self, theta: Scores, near: Scores | None = None) -> Array:
        """∇f(θ), ``(m,)``; faster from :meth:`near` if given, which needs scores within ±``reach``."""
        if near is None:
            push = column_sums(self.comparisons * _half_tanh(theta))
        else:
            push = _opposed(self.comparisons, near)
        return (-0.5 * push - self.target) / self.scale + _quadratic_gradient(self, theta)

    def pair_weights(self, theta: Scores, near: Scores | None = None) -> Array:
        """Second derivative of f in the gap of each pair, 0 for masked items, ``(m, m)``; ``near`` as above."""
        if near is not None:
            inverse = 1 / (near[:, None] + near[None, :])
            bend = (near / self.scale)[:, None] * inverse * (near[None, :] * inverse)
        else:
            fall = jnp.exp(-jnp.abs(_gaps(theta)))
            bend = fall / jnp.square(1 + fall) / self.scale
        weight = self.comparisons * bend
        return between_real(weight, self.mask)

    def diagonal_and_gauge(self, weight: PairMatrix) -> tuple[Scores, Scores]:
        """d and u of the Hessian diag(d) - W + uuᵀ at :meth:`pair_weights` W, with d = 1 for masked items."""
        return _diagonal_and_gauge(self, weight)

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
class LinkObjective:
    """Objective for any link.

    Attributes:
        wins: ``(m, m)`` W_ij.
        losses: ``(m, m)`` W_ji.
        tilt: ``(m,)`` w.
        gamma: ridge γ, shape ``()``.
        mask: ``(m,)`` bool, or ``None``.
        scale: S, shape ``()``.
        link: F, static.
        signed: whether entries of ``wins`` may be negative, so that f need not be convex; static.
    """

    wins: Array
    losses: Array
    tilt: Array
    gamma: Array
    mask: Array | None
    scale: Array
    link: Link = dataclasses.field(metadata={"static": True})
    signed: bool = dataclasses.field(default=False, metadata={"static": True})

    reach: ClassVar[float] = NEAR

    @property
    def num_items(self) -> int:
        """Number of items m."""
        return self.wins.shape[0]

    def objective(self) -> LinkObjective:
        """This objective itself."""
        return self

    @property
    def start(self) -> Array:
        """A first guess, ``(m,)``: 0 where f need not be convex."""
        if self.signed:
            return jnp.zeros_like(self.tilt)
        target = 0.5 * (column_sums(self.losses) - column_sums(self.wins)) - self.tilt
        return first_guess(self.link, self.wins + self.losses, target, self.gamma, self.mask)

    def __call__(self, theta: Scores) -> Array:
        """f(θ)."""
        gap = _gaps(theta)
        loss = -jnp.sum(self.wins * self.link.log_cdf(gap))
        return (loss + product(self.tilt, theta)) / self.scale + _quadratic(self, theta)

    def near(self, theta: Scores) -> Item:
        """Each item's share in the faster forms of what follows."""
        return near_items(self.link, theta)

    def gradient(self, theta: Scores, near: Item | None = None) -> Array:
        """∇f(θ), ``(m,)``; faster from :meth:`near` if given, which needs scores within ±``reach``."""
        if near is None:
            # With the sums in sight, XLA searches for minutes for how a GPU may take them at once.
            slope = jax.lax.optimization_barrier(self.link.score(_gaps(theta)))
            push = column_sums(self.wins * slope) - row_sums(self.wins * slope)
        else:
            pull = functools.partial(near_pull, self.link)
            push = opposed_sums(pull, (self.wins, self.losses), near)
        return (push + self.tilt) / self.scale + _quadratic_gradient(self, theta)

    def pair_weights(self, theta: Scores, near: Item | None = None) -> Array:
        """Second derivative of f in the gap of each pair, 0 for masked items, ``(m, m)``; ``near`` as above."""
        if near is None:
            weight = pair_curvature(_gaps(theta), self.wins, self.link)
        else:
            one = jax.tree.map(lambda x: x[:, None], near)
            other = jax.tree.map(lambda x: x[None, :], near)
            weight = near_bend(self.link, self.wins, self.losses, one, other)
        return between_real(weight / self.scale, self.mask)

    def diagonal_and_gauge(self, weight: PairMatrix) -> tuple[Scores, Scores]:
        """As for :class:`LogisticObjective`."""
        return _diagonal_and_gauge(self, weight)

    def single(self) -> LinkObjective:
        """f in float32, in units of S so that any counts are in its range."""
        wins, losses, tilt, gamma = (
            (x / self.scale).astype(jnp.float32)
            for x in (self.wins, self.losses, self.tilt, self.gamma)
        )
        unit = jnp.ones((), jnp.float32)
        return LinkObjective(wins, losses, tilt, gamma, self.mask, unit, self.link, self.signed)

    def hessian(self, theta: Scores) -> Array:
        """∇²f(θ), ``(m, m)``."""
        weight = pair_curvature(_gaps(theta), self.wins, self.link)
        return _laplacian(self, weight / self.scale)


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class DenseCounts:
    """What an objective is made of: a batch makes its objectives a chunk at a time.

    Attributes:
        wins: win counts.
        tilt: ``(m,)`` w.
        gamma: ridge γ, shape ``()``.
        link: F, static.
    """

    wins: WinCounts
    tilt: Array
    gamma: Array
    link: Link = dataclasses.field(metadata={"static": True})

    @property
    def num_items(self) -> int:
        """Number of items m."""
        return self.wins.num_items

    def objective(self) -> DenseObjective:
        """The objective of these counts."""
        mask, wins = self.wins.mask, self.wins.matrix
        wins = wins if wins.ndim == 2 else materialized(wins)
        losses = wins.swapaxes(0, 1)
        if self.link.name != "logistic":
            losses = materialized(losses)
            scale = mean_degree(column_sums(wins) + column_sums(losses), mask)
            return LinkObjective(wins, losses, self.tilt, self.gamma, mask, scale, self.link)
        comparisons = wins + losses
        degrees = column_sums(comparisons)
        target = 0.5 * degrees - column_sums(wins) - self.tilt
        return LogisticObjective(comparisons, target, self.gamma, mask, mean_degree(degrees, mask))


DenseObjective = LogisticObjective | LinkObjective


def dense_objective(
    wins: WinCounts, link: Link, *, gamma: Scalar = 0.0, tilt: Scalar | Scores = 0.0
) -> DenseObjective:
    """The objective of ``wins`` under ``link`` with ridge γ and linear tilt w (scalar or ``(m,)``)."""
    return dense_counts(wins, link, gamma=gamma, tilt=tilt).objective()


def dense_counts(
    wins: WinCounts, link: Link, *, gamma: Scalar = 0.0, tilt: Scalar | Scores = 0.0
) -> DenseCounts:
    """What that objective is made of."""
    mask, dtype = wins.mask, wins.matrix.dtype
    tilt = real(jnp.broadcast_to(jnp.asarray(tilt, dtype), (wins.num_items,)), mask)
    wins = dataclasses.replace(wins, ties=None)  # half wins: their number has no part in this model
    return DenseCounts(wins, tilt, jnp.asarray(gamma, dtype), link)


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
    scale = jnp.maximum(jnp.max(jnp.abs(target)), jnp.sum(degrees) / count_items(degrees, mask))
    scale = jax.lax.stop_gradient(jnp.where(scale > 0, scale, 1.0))
    gamma = jnp.asarray(gamma, margins.dtype)
    if link.name == "logistic":
        return LogisticObjective(weights, target, gamma, mask, scale)
    wins = 0.5 * weights + margins
    tilt = jnp.zeros_like(target)
    return LinkObjective(wins, wins.T, tilt, gamma, mask, scale, link, signed=True)


def pair_curvature(gap: Array, wins: Array, link: Link) -> Array:
    """Second derivative of each pair's loss in its gap, W_ij c(x) + W_ji c(-x), c = -(log F)'', ``(m, m)``."""
    bend = wins * jax.lax.optimization_barrier(link.curvature(gap))
    return bend + bend.swapaxes(0, 1)


def information(theta: Scores, comparisons: PairMatrix, link: Link) -> Array:
    """Expected (Fisher) information of θ, the Laplacian of M_ij F'²/(F(1-F)), ``(m, m)``."""
    gap = _gaps(theta)
    weight = comparisons * link.score(gap) * link.score(-gap)
    return jnp.diag(weight.sum(-1)) - weight


def _opposed(comparisons: Array, power: Scores) -> Array:
    """Σ_i M_ij tanh((θ_i - θ_j)/2), ``(m,)``, from ``power`` = exp(θ)."""
    if power.ndim == 1:
        ratio = (power[:, None] - power[None, :]) / (power[:, None] + power[None, :])
        return column_sums(comparisons * ratio)
    return add_rows(lambda row, one: row * ((one - power) / (one + power)), comparisons, power)


def _gaps(theta: Scores) -> Array:
    """θ_i - θ_j, ``(m, m)``."""
    return theta[:, None] - theta[None, :]


def _diagonal_and_gauge(objective: DenseObjective, weight: PairMatrix) -> tuple[Scores, Scores]:
    mask = objective.mask
    diagonal = real(column_sums(weight) + objective.gamma / objective.scale, mask, 1.0)
    gauge = real(jnp.full_like(diagonal, 1), mask)
    return diagonal, gauge / jnp.sqrt(jnp.asarray(count_items(diagonal, mask), weight.dtype))


def _half_tanh(theta: Scores) -> Array:
    half = 0.5 * theta
    return jnp.tanh(half[:, None] - half[None, :])


def _quadratic(objective: DenseObjective, theta: Scores) -> Float[Array, ""]:
    theta = real(theta, objective.mask)
    gauge = 0.5 * jnp.sum(theta) ** 2 / count_items(theta, objective.mask)
    return product(0.5 * objective.gamma * theta, theta) / objective.scale + gauge


def _quadratic_gradient(objective: DenseObjective, theta: Scores) -> Scores:
    kept = real(theta, objective.mask)
    gauge = item_sum(kept) / count_items(theta, objective.mask)
    return real(objective.gamma * kept / objective.scale + gauge, objective.mask, theta)


def _laplacian(objective: DenseObjective, weight: PairMatrix) -> PairMatrix:
    """diag(weight 1) - weight + ridge + gauge; masked items get 1 on the diagonal."""
    mask, size = objective.mask, weight.shape[0]
    diagonal = real(column_sums(weight) + objective.gamma / objective.scale, mask, 1.0)
    full = between_real(1 / count_items(diagonal, mask) - weight, mask)
    return full + diagonal[:, None] * jnp.eye(size, dtype=weight.dtype)
