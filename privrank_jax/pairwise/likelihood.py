r"""The negative log-likelihood of comparisons, ridged and tilted, with its derivatives.

.. math:: f(θ) = \frac{1}{S}\Bigl(-\sum_{ij} W_{ij} \log F(θ_i - θ_j) + \tfrac{γ}{2}‖θ‖² + wᵀθ\Bigr) + \frac{(1ᵀθ)²}{2m}

S is the mean degree, so that gradients are of order one. The last term keeps the shift, which the likelihood does
not identify, near 0 without changing any difference; estimators center their result.

**Near 0.** The logistic and the normal link's own functions hold at any gap, and evaluate several forms for that; while
no score is far from 0, what a pair adds to the gradient and the Hessian takes one exponential and one division for both
directions of a pair.

**A start** are the scores at which each item would win its share of its comparisons. An item meets opponents of unlike
scores, and so wins a share nearer to 1/2 than against their mean. With normal scores of variance v, the normal link has
that share in closed form; of the others it is known near 0 or far from it.
"""

from __future__ import annotations

import dataclasses
import math
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from privrank_jax._backend import product
from privrank_jax._types import Mask, PairMatrix, Scalar, Scores
from privrank_jax._workarounds.xla import materialized
from privrank_jax.comparisons import WinCounts
from privrank_jax.links import Link, laplace, logistic, normal
from privrank_jax.pairwise.lanes import add_rows, column_sums, dot, item_sum, row_sums
from privrank_jax.pairwise.masked import between_real, center, count_items, mean_degree, real

NEAR = 6.0
"""Largest absolute score: gaps are twice that at most, and no tail is below what float32 can hold."""


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

    def near(self, theta: Scores) -> Array | None:
        """What the faster forms of what follows take; None for links that have none."""
        return theta if self.link == normal else None

    def gradient(self, theta: Scores, near: Scores | None = None) -> Array:
        """∇f(θ), ``(m,)``; faster from :meth:`near` if given, which needs scores within ±``reach``."""
        if near is None:
            # With the sums in sight, XLA searches for minutes for how a GPU may take them at once.
            slope = jax.lax.optimization_barrier(self.link.score(_gaps(theta)))
            push = column_sums(self.wins * slope) - row_sums(self.wins * slope)
        else:
            push = _pulls(self.wins, self.losses, near)
        return (push + self.tilt) / self.scale + _quadratic_gradient(self, theta)

    def pair_weights(self, theta: Scores, near: Scores | None = None) -> Array:
        """Second derivative of f in the gap of each pair, 0 for masked items, ``(m, m)``; ``near`` as above."""
        if near is None:
            weight = pair_curvature(_gaps(theta), self.wins, self.link)
        else:
            weight = near_bend(self.wins, self.losses, near[:, None] - near[None, :])
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


def _pulls(wins: Array, losses: Array, theta: Scores) -> Array:
    """Σ_i :func:`near_pull` of W_ij, W_ji and θ_i - θ_j, ``(m,)``."""
    if theta.ndim == 1:
        return column_sums(near_pull(wins, losses, _gaps(theta)))
    return add_rows(lambda won, lost, one: near_pull(won, lost, one - theta), wins, losses, theta)


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


# Mills ratio (1 - Φ(x))/φ(x) = P(x)/Q(x) for 0 <= x <= 2 NEAR, coefficients from the lowest degree up: the rational
# functions of these degrees with the least relative error, 7e-17 and 3e-7, by Remez' exchange in 60 digits.
_MILLS_FLOAT64 = (
    (
        1.25331413731550033, 1.70008469848573437, 1.14611786986300312, 0.485265286044893589, 0.139380649539177414,
        0.027670729920570429, 0.00370844359018550034, 0.000308213064565246747, 0.0000122942784236171719,
    ),
    (
        1.0, 2.15435589378184002, 2.13339705934674448, 1.27817382872546276, 0.512322071306458832, 0.143064347379147226,
        0.0279789505004144045, 0.00372073761430655992, 0.000308213069976831868, 0.0000122942783693383806,
    ),
)  # fmt: skip
_MILLS_FLOAT32 = (
    (1.25331376336483322, 0.896788948625242396, 0.293605355238609744, 0.0413153411112284976),
    (1.0, 1.51340348115562858, 0.941907191590347217, 0.293363263846284507, 0.0413217996905379984),
)


def near_pull(won: Array, lost: Array, gap: Array) -> Array:
    """``won`` s(x) - ``lost`` s(-x), s = F'/F of the normal link, for gaps \\|x\\| <= 2 NEAR."""
    # Written so that nothing dear is used by two kernels of XLA.
    top, bottom = _mills(jnp.abs(gap))
    tail = _normal_density(gap) * top
    rest = bottom - tail
    behind = gap < 0
    steep, flat = jnp.where(behind, won, -lost), jnp.where(behind, -lost, won)
    return bottom * (steep * rest + flat * tail) / (top * rest)


def near_bend(won: Array, lost: Array, gap: Array) -> Array:
    """``won`` c(x) + ``lost`` c(-x), c = -(log F)'', for x as above, never negative; to a few digits in float32."""
    size = jnp.abs(gap)
    top, bottom = _mills(size)
    density = _normal_density(gap)
    rest = bottom - density * top
    steep, flat = jnp.where(gap < 0, won, lost), jnp.where(gap < 0, lost, won)
    far = steep * jnp.maximum(bottom - size * top, 0) * jnp.square(rest)
    close = flat * density * (density * bottom + size * rest) * jnp.square(top)
    return bottom * (far + close) / jnp.square(top * rest)


def mills_ratio(x: Float[Array, "*shape"]) -> Float[Array, "*shape"]:
    """(1 - Φ(x))/φ(x) for 0 <= x <= 2 NEAR."""
    top, bottom = _mills(x)
    return top / bottom


def _normal_density(gap: Array) -> Array:
    return jnp.exp(-0.5 * gap * gap) * (1 / math.sqrt(2 * math.pi))


def _mills(size: Array) -> tuple[Array, Array]:
    """P and Q."""
    top, bottom = _MILLS_FLOAT64 if size.dtype == jnp.float64 else _MILLS_FLOAT32
    return _polynomial(top, size), _polynomial(bottom, size)


def _polynomial(coefficients: tuple[float, ...], x: Array) -> Array:
    value = jnp.full_like(x, coefficients[-1])
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value


# Shares beyond these bounds are too uncertain to tell scores from.
_LEAST, _MOST = 0.02, 0.98


def first_guess(
    link: Link, comparisons: PairMatrix, target: Scores, gamma: Array, mask: Mask | None
) -> Array:
    """Scores from each item's share of wins.

    The ridge enters as 4γ comparisons without a winner, which is exact for small θ under the logistic link.

    Args:
        link: F.
        comparisons: ``(m, m)`` M_ij; of many problems, here and below, with a trailing axis.
        target: ``(m,)`` wins beyond half of the comparisons.
        gamma: ridge γ, shape ``()``.
        mask: ``(m,)`` bool, or ``None``.

    Returns:
        ``(m,)`` scores.
    """
    share = 0.5 + target / jnp.maximum(column_sums(comparisons) + 4 * gamma, 1.0)
    share = jnp.clip(share, _LEAST, _MOST)
    count = count_items(share, mask)
    # One of the m is no opponent.
    score = center(_quantile(link, share), mask) * (count - 1) / count
    spread = dot(score, score) / count
    if link == normal:  # Φ(θ/√(1 + v))
        return score * jnp.sqrt(1 + spread / jnp.maximum(1 - spread, 0.1))
    if link != laplace:
        return score * jnp.sqrt(1 + jnp.pi / 8 * spread)
    guess = score
    for _ in range(3):  # less steep at 0 by the factor √(2/π) Mills(√v), v/2 further far from it
        variance = dot(guess, guess) / count
        flatter = jnp.sqrt(2 / jnp.pi) * mills_ratio(jnp.minimum(jnp.sqrt(variance), 3))
        size = jnp.minimum(jnp.abs(score) / flatter, jnp.abs(score) + variance / 2)
        guess = jnp.sign(score) * size
    return guess


def _quantile(link: Link, share: Array) -> Array:
    """F⁻¹, of the normal link to 0.004, of links but the three as if they were logistic."""
    if link == laplace:
        return jnp.sign(share - 0.5) * -jnp.log(2 * jnp.minimum(share, 1 - share))
    log_odds = jnp.log(share), jnp.log1p(-share)
    if link == normal:
        return 4.91 * (jnp.exp(0.14 * log_odds[0]) - jnp.exp(0.14 * log_odds[1]))
    # As steep at 0 as F
    steepness = 2 * link.score(jnp.zeros((), share.dtype))
    return (log_odds[0] - log_odds[1]) / steepness
