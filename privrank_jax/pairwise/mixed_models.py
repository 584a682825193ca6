r"""Mixed effects: users who are biased toward the item shown first.

User l chooses i over j, i < j, with probability F(b_l + θ_i - θ_j), where b_l ~ N(0, σ²). The link is logistic. The
fit has two steps. First all b_l are estimated as fixed effects, together with θ:

.. math:: \min_{θ, b} \sum_l \sum_{i<j} a_{ij}^{(l)} \bigl\{\log(1 + e^{η}) - y_{ij}^{(l)} η\bigr\} + \tfrac{γ}{2}‖θ‖²,
   \qquad η = b_l + θ_i - θ_j,

which is jointly convex. Then σ̂ is the sample standard deviation of the b̂_l. The Hessian is an arrowhead matrix
(no term couples two users), so each Newton step eliminates the users one by one and solves one m × m system, at
most O(L m³) per step.

**Users without a finite effect.** A user who always chose the first item (or never) has b̂_l = ±∞ and then carries
no information about θ. Leaving such users out of the fit is exact in that limit; they are left out of σ̂ too, which
then misses their tails; ``diagnostics.separated`` marks them. ``user_gamma`` > 0 keeps every b̂_l finite instead.
(Gradient descent, as in the paper, stops at a finite value, and its σ̂ depends on that value. At m = 10 the printed
mean of |σ̂ - σ| is 0.15 to 0.20, ours 0.09 to 0.10; with θ sorted, so that more users have no finite effect, and
those stopped at ±8, ours is 0.175.)

**σ̂ is inflated** by the estimation error of each b̂_l, about 1/Σ F'(η) per user. ``sigma_corrected`` subtracts the
mean of that term from the variance.

Source: Xu, Sun, Cheng, Rate-optimal rank aggregation with private pairwise rankings, S.1.2.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, DTypeLike, Float, Int

from privrank_jax._backend import product
from privrank_jax._roots import square_root
from privrank_jax._types import ReportTableLike, Scalar, Scores
from privrank_jax._validate import check_nonnegative
from privrank_jax._workarounds.linalg import solve_positive_definite
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.minimizer import minimize

# Newton steps without progress after which a search ends (see minimize).
_PATIENCE = 8


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class MixedEffects:
    """The fitted scores, user effects and their spread.

    Attributes:
        scores: ``(m,)`` θ̂, Σθ̂ = 0.
        user_effects: ``(L,)`` b̂: ±∞ for users who always or never chose the first item, NaN for users without
            answers (both finite with ``user_gamma`` > 0).
        sigma: σ̂, the standard deviation of the finite b̂_l, shape ``()``.
        sigma_corrected: σ̂ less the estimation error of the b̂_l, at least 0, shape ``()``.
    """

    scores: Scores
    user_effects: Float[Array, "users"]
    sigma: Float[Array, ""]
    sigma_corrected: Float[Array, ""]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class MixedDiagnostics:
    """Diagnostics of the fit.

    Attributes:
        gradient_norm: ℓ_∞ norm of the gradient, in units of the number of comparisons of an item (for θ)
            or a user (for b).
        steps: iterations, int32.
        code: see :data:`~privrank_jax.pairwise.minimizer.CODES`, int32.
        separated: ``(L,)`` bool, users without a finite effect.
    """

    gradient_norm: Float[Array, ""]
    steps: Int[Array, ""]
    code: Int[Array, ""]
    separated: Bool[Array, "users"]


def mixed_effects(
    answers: ReportTableLike,
    observed: ReportTableLike | None = None,
    *,
    gamma: Scalar | None = None,
    user_gamma: Scalar = 0.0,
    tolerance: float | None = None,
    max_steps: int = 100,
) -> Estimate:
    """Scores of the items, the effect of each user, and its spread over users. **Not private** on raw answers.

    Args:
        answers: ``(L, m(m-1)/2)``, 1 where the user chose i over j, pairs i < j in the order of
            ``numpy.triu_indices(m, 1)``. They enter linearly, so debiased reports (real numbers) can replace them;
            users whose reports sum to at most 0, or to at least their number, then count as separated.
        observed: bool of the same shape, False where there is no answer; default all True.
        gamma: ridge γ >= 0 of the scores, may be traced; ``None`` is 2/L.
        user_gamma: μ >= 0, adds (μ/2)Σb_l²; 1/σ² gives the posterior mode for a known σ. May be traced.
        tolerance: ℓ_∞ gradient norm (default 1e-10 in float64, 1e-6 in float32).
        max_steps: iterations at most.

    Returns:
        ``value``: :class:`MixedEffects`, float dtype of ``answers``. ``diagnostics``:
        :class:`MixedDiagnostics`. ``guarantee``: ``None``.

    Raises:
        ValueError: shapes that don't fit, a negative ridge.

    >>> answers = [[1, 1, 0], [0, 1, 0], [1, 0, 1], [1, 0, 0]]  # pairs (0, 1), (0, 2), (1, 2)
    >>> found = mixed_effects(answers).value
    >>> found.scores.shape, found.user_effects.shape, found.sigma.shape
    ((3,), (4,), ())
    """
    if gamma is not None:
        check_nonnegative("gamma", gamma)
    check_nonnegative("user_gamma", user_gamma)
    answers = jnp.asarray(answers)
    answers = answers.astype(jnp.result_type(answers, float))
    if answers.ndim != 2 or answers.shape[0] < 2:
        raise ValueError(
            f"answers must have shape (users, pairs) with at least 2 users, got {answers.shape}."
        )
    items = _num_items(answers.shape[1])
    observed = jnp.ones(answers.shape, bool) if observed is None else jnp.asarray(observed)
    if observed.shape != answers.shape:
        raise ValueError(
            f"observed must have the shape of answers, {answers.shape}, got {observed.shape}."
        )
    return _fit(answers, observed, gamma, user_gamma, items, tolerance, max_steps)


class _Arrow(NamedTuple):
    """A Hessian in blocks: ``items`` (m, m), ``cross`` (L, m), and ``users`` (L,), the diagonal of the user block."""

    items: Array
    cross: Array
    users: Array


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _Objective:
    """f(θ, b/α)/S, where S and α make the gradients of both items and users of order one."""

    weight: Array  # (L, P) 1 where an answer counts
    item_target: (
        Array  # (m,) Σ y over the comparisons where the item is first, less where it is second
    )
    user_target: Array  # (L,) Σ y
    gamma: Array
    user_gamma: Array  # (L,)
    scale: Array
    stretch: Array

    @property
    def num_items(self) -> int:
        return self.item_target.shape[0]

    def _unpack(self, params: Array) -> tuple[Array, Array]:
        return params[: self.num_items], self.stretch * params[self.num_items :]

    def _logits(self, theta: Array, effects: Array) -> Array:
        first, second = _pairs(self.num_items)
        return effects[:, None] + (theta[first] - theta[second])[None, :]

    def __call__(self, params: Array) -> Array:
        theta, effects = self._unpack(params)
        loss = jnp.sum(self.weight * jax.nn.softplus(self._logits(theta, effects)))
        loss -= product(self.item_target, theta) + product(self.user_target, effects)
        loss += product(0.5 * self.gamma * theta, theta) + product(
            0.5 * (self.user_gamma * effects), effects
        )
        return loss / self.scale + 0.5 * jnp.sum(theta) ** 2 / self.num_items

    def gradient(self, params: Array) -> Array:
        theta, effects = self._unpack(params)
        chance = self.weight * jax.nn.sigmoid(self._logits(theta, effects))
        items = _differences(chance.sum(0), self.num_items) - self.item_target
        items = (items + self.gamma * theta) / self.scale + jnp.mean(theta)
        users = chance.sum(1) - self.user_target + self.user_gamma * effects
        return jnp.concatenate([items, users * self.stretch / self.scale])

    def arrow(self, params: Array) -> _Arrow:
        bend = self.weight * _logistic_slope(self._logits(*self._unpack(params)))
        first, second = _pairs(self.num_items)
        size, dtype = self.num_items, bend.dtype
        pooled = jnp.zeros((size, size), dtype).at[first, second].set(bend.sum(0))
        pooled += pooled.T
        items = jnp.diag(pooled.sum(1) + self.gamma) - pooled
        cross = product(bend, _incidence(size, dtype))
        return _Arrow(
            items / self.scale + 1 / size,
            cross * self.stretch / self.scale,
            (bend.sum(1) + self.user_gamma) * self.stretch**2 / self.scale,
        )

    def hessian(self, params: Array) -> Array:
        """Dense, for the implicit derivative only."""
        arrow = self.arrow(params)
        return jnp.block([[arrow.items, arrow.cross.T], [arrow.cross, jnp.diag(arrow.users)]])


@functools.partial(jax.jit, static_argnums=(4, 5, 6))
def _fit(
    answers: Float[Array, "users pairs"],
    observed: Array,
    gamma: Scalar | None,
    user_gamma: Scalar,
    num_items: int,
    tolerance: float | None,
    max_steps: int,
) -> Estimate:
    dtype, num_users = answers.dtype, answers.shape[0]
    user_gamma = jnp.asarray(user_gamma, dtype)
    given, chosen = observed.sum(1), jnp.sum(jnp.where(observed, answers, 0), 1)
    separated = (chosen <= 0) | (chosen >= given)
    left_out = separated & (user_gamma == 0)
    weight = (observed & ~left_out[:, None]).astype(dtype)
    counted = jnp.where(weight > 0, answers, 0)
    total = jnp.maximum(weight.sum(), 1)
    objective = _Objective(
        weight,
        _differences(counted.sum(0), num_items),
        counted.sum(1),
        2 / jnp.asarray(num_users, dtype) if gamma is None else jnp.asarray(gamma, dtype),
        jnp.where(left_out, 1, user_gamma),  # users left out stay at 0
        total * 2 / num_items,  # comparisons per item
        jnp.asarray(2 * num_users / num_items, dtype),  # over comparisons per user
    )
    found = minimize(
        objective,
        jnp.zeros(num_items + num_users, dtype),
        optimizer=_eliminating_newton(objective),
        tolerance=tolerance,
        max_steps=max_steps,
        patience=_PATIENCE,
    )
    theta, effects = objective._unpack(found.value)
    theta -= jnp.mean(theta)
    sigma, corrected = _spread(objective, theta, effects, ~left_out)
    limit = jnp.where(given == 0, jnp.nan, jnp.where(chosen >= given, jnp.inf, -jnp.inf))
    effects = jnp.where(left_out, limit.astype(dtype), effects)
    diagnostics = MixedDiagnostics(found.gradient_norm, found.steps, found.code, separated)
    return Estimate(MixedEffects(theta, effects, sigma, corrected), None, diagnostics)


def _eliminating_newton(objective: _Objective) -> optax.GradientTransformationExtraArgs:
    """Newton's step by block elimination of the users, with the step length of generalized self-concordance.

    Along a direction p every logit moves by at most d = max |p_i - p_j| + max |p_l|, and |φ'''| ≤ d φ'', so
    the step log(1 + d)/d decreases the objective (Sun and Tran-Dinh 2019, ν = 2).
    """

    def init(params: Any) -> optax.EmptyState:
        del params
        return optax.EmptyState()

    def update(updates: Any, state: Any, params: Any = None, **extra: Any) -> tuple[Any, Any]:
        del extra
        arrow, size = objective.arrow(params), objective.num_items
        items, users = updates[:size], updates[size:]
        lean = arrow.cross / arrow.users[:, None]
        schur = arrow.items - product(arrow.cross.T, lean)
        schur *= 1 + 4 * size * jnp.finfo(schur.dtype).eps * jnp.eye(size, dtype=schur.dtype)
        step = -solve_positive_definite(schur, items - product(users, lean))
        user_step = -users / arrow.users - product(lean, step)
        reach = jnp.max(step) - jnp.min(step) + objective.stretch * jnp.max(jnp.abs(user_step))
        safe = jnp.where(reach > 0, reach, 1.0)
        length = jnp.where(reach > 0, jnp.log1p(safe) / safe, 1.0)
        return length * jnp.concatenate([step, user_step]), state

    return optax.GradientTransformationExtraArgs(init, update)


def _spread(
    objective: _Objective, theta: Array, effects: Array, kept: Array
) -> tuple[Array, Array]:
    """Standard deviation of the kept b̂, as it is and corrected for the mean of their error variances 1/Σ F'(η)."""
    count = jnp.sum(kept)
    mean = jnp.sum(jnp.where(kept, effects, 0)) / jnp.maximum(count, 1)
    variance = jnp.sum(jnp.where(kept, effects - mean, 0) ** 2) / jnp.maximum(count - 1, 1)
    bend = objective.weight * _logistic_slope(objective._logits(theta, effects))
    known = bend.sum(1) + objective.user_gamma
    error = jnp.sum(jnp.where(kept, 1 / known, 0)) / jnp.maximum(count, 1)
    return square_root(variance), square_root(variance - error)


def _logistic_slope(x: Array) -> Array:
    return jax.nn.sigmoid(x) * jax.nn.sigmoid(-x)


def _differences(per_pair: Array, size: int) -> Array:
    """Dᵀv: for each item the sum over its pairs, with + where it is the first item and - where it is the second."""
    first, second = _pairs(size)
    return jnp.zeros(size, per_pair.dtype).at[first].add(per_pair).at[second].add(-per_pair)


@functools.cache
def _pairs(size: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(size, 1)


def _incidence(size: int, dtype: DTypeLike) -> np.ndarray:
    """D, ``(P, m)``: +1 at the first item of a pair, -1 at the second."""
    first, second = _pairs(size)
    matrix = np.zeros((len(first), size), dtype)
    matrix[np.arange(len(first)), first] = 1
    matrix[np.arange(len(first)), second] = -1
    return matrix


def _num_items(num_pairs: int) -> int:
    items = (1 + math.isqrt(1 + 8 * num_pairs)) // 2
    if items < 2 or items * (items - 1) // 2 != num_pairs:
        raise ValueError(f"{num_pairs} columns are not m(m-1)/2 pairs for any number m of items.")
    return items
