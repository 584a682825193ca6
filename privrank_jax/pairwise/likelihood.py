r"""The negative log-likelihood of comparisons, ridged and tilted, with its derivatives.

.. math:: f(θ) = \frac{1}{S}\Bigl(-\sum_{ij} W_{ij} \log F(θ_i - θ_j) + \tfrac{γ}{2}‖θ‖² + wᵀθ\Bigr) + \frac{(1ᵀθ)²}{2m}

S is the mean degree, so that gradients are of order one. The last term keeps the shift, which the likelihood does
not identify, near 0 without changing any difference; estimators center their result.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._backend import product
from privrank_jax._types import Mask, PairMatrix, Scalar, Scores
from privrank_jax._workarounds.linalg import solve_positive_definite
from privrank_jax._workarounds.xla import materialized
from privrank_jax.comparisons import WinCounts
from privrank_jax.links import Elementwise, Link
from privrank_jax.pairwise.lanes import add_rows, column_sums, dot, item_sum
from privrank_jax.pairwise.near_links import near_curvatures, near_scores


def mean_degree(degrees: Array, mask: Mask | None) -> Array:
    """S, at least 1."""
    return jnp.maximum(item_sum(degrees) / _count(degrees, mask), 1.0)


# Without a mask, the compiled program has no masking arithmetic.
def _real(
    theta: Float[Array, "items"], mask: Mask | None, padding: Scalar | Float[Array, "items"] = 0.0
) -> Float[Array, "items"]:
    return theta if mask is None else jnp.where(mask, theta, padding)


def _between_real(pairs: Array, mask: Mask | None) -> Array:
    """0 where an item is masked; of ``(m, m)``, or with problems along a trailing axis of both."""
    return pairs if mask is None else jnp.where(mask[:, None] & mask[None, :], pairs, 0)


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
        return _between_real(weight, self.mask)

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
    def num_items(self) -> int:
        """Number of items m."""
        return self.wins.shape[0]

    def objective(self) -> LinkObjective:
        """This objective itself."""
        return self

    @property
    def start(self) -> Array:
        """A first guess: 0 where f need not be convex, else that of the logistic link, as steep at 0 as this one."""
        if self.signed:
            return jnp.zeros_like(self.tilt)
        comparisons = self.wins + self.wins.swapaxes(0, 1)
        target = 0.5 * column_sums(comparisons) - column_sums(self.wins) - self.tilt
        # Of log-odds at 0: 1, 1.6 and 2.
        steepness = 2 * self.link.score(jnp.zeros((), self.tilt.dtype))
        alike = LogisticObjective(comparisons, target, self.gamma, self.mask, self.scale)
        return alike.start / steepness

    def __call__(self, theta: Scores) -> Array:
        """f(θ)."""
        gap = theta[:, None] - theta[None, :]
        loss = -jnp.sum(self.wins * self.link.log_cdf(gap))
        return (loss + product(self.tilt, theta)) / self.scale + _quadratic(self, theta)

    def gradient(self, theta: Scores, near: Scores | None = None) -> Array:
        """∇f(θ), ``(m,)``; faster if ``near`` is given, which needs scores within ±NEAR."""
        if near is None and theta.ndim == 1:
            pull = self.wins * self.link.score(theta[:, None] - theta[None, :])
            push = pull.sum(0) - pull.sum(1)
        else:
            far = functools.partial(_of_both_signs, self.link.score)
            scores = far if near is None else functools.partial(near_scores, self.link)
            push = _pushes(scores, self.wins, theta)
        return (push + self.tilt) / self.scale + _quadratic_gradient(self, theta)

    def pair_weights(self, theta: Scores, near: Scores | None = None) -> Array:
        """Second derivative of f in the gap of each pair, 0 for masked items, ``(m, m)``; ``near`` as above."""
        gap = theta[:, None] - theta[None, :]
        if near is None:
            ahead, behind = _of_both_signs(self.link.curvature, gap)
        else:
            ahead, behind = near_curvatures(self.link, gap)
        weight = (self.wins * ahead + self.wins.swapaxes(0, 1) * behind) / self.scale
        return _between_real(weight, self.mask)

    def diagonal_and_gauge(self, weight: PairMatrix) -> tuple[Scores, Scores]:
        """As for :class:`LogisticObjective`."""
        return _diagonal_and_gauge(self, weight)

    def single(self) -> LinkObjective:
        """f in float32, in units of S so that any counts are in its range."""
        wins, tilt, gamma = (
            (x / self.scale).astype(jnp.float32) for x in (self.wins, self.tilt, self.gamma)
        )
        return dataclasses.replace(
            self, wins=wins, tilt=tilt, gamma=gamma, scale=jnp.ones((), jnp.float32)
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


def _opposed(comparisons: Array, power: Scores) -> Array:
    """Σ_i M_ij tanh((θ_i - θ_j)/2), ``(m,)``, from ``power`` = exp(θ)."""
    if power.ndim == 1:
        ratio = (power[:, None] - power[None, :]) / (power[:, None] + power[None, :])
        return column_sums(comparisons * ratio)
    return add_rows(lambda row, one: row * ((one - power) / (one + power)), comparisons, power)


def _of_both_signs(function: Elementwise, gap: Array) -> tuple[Array, Array]:
    """A function of a link at x and at -x, with one copy of it in a program."""
    # With the sums in sight, XLA searches for minutes for how a GPU may take both at once.
    ahead, behind = jax.lax.optimization_barrier(function(jnp.stack([gap, -gap])))
    return ahead, behind


def _pushes(scores: Callable[[Array], tuple[Array, Array]], wins: Array, theta: Scores) -> Array:
    """Σ_i W_ij s(θ_i - θ_j) - W_ji s(θ_j - θ_i), ``(m,)``, with problems along a trailing axis of all arrays if any."""

    def term(won: Array, lost: Array, one: Array) -> Array:
        ahead, behind = scores(one - theta)
        return won * ahead - lost * behind

    if theta.ndim == 1:
        return jax.vmap(term)(wins, wins.swapaxes(0, 1), theta).sum(0)
    return add_rows(term, wins, wins.swapaxes(0, 1), theta)


def _diagonal_and_gauge(objective: DenseObjective, weight: PairMatrix) -> tuple[Scores, Scores]:
    mask = objective.mask
    diagonal = _real(column_sums(weight) + objective.gamma / objective.scale, mask, 1.0)
    gauge = _real(jnp.full_like(diagonal, 1), mask)
    return diagonal, gauge / jnp.sqrt(jnp.asarray(_count(diagonal, mask), weight.dtype))


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
    full = _between_real(1 / _count(diagonal, mask) - weight, mask)
    return full + diagonal[:, None] * jnp.eye(size, dtype=weight.dtype)
