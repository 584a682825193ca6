r"""Mixed effects: users who are biased toward the item shown first.

User l chooses i over j, i < j, with probability F(b_l + θ_i - θ_j), where b_l ~ N(0, σ²). The link is logistic. The
fit has two steps. First all b_l are estimated as fixed effects, together with θ:

.. math:: \min_{θ, b} \sum_l \sum_{i<j} a_{ij}^{(l)} \bigl\{\log(1 + e^{η}) - y_{ij}^{(l)} η\bigr\} + \tfrac{γ}{2}‖θ‖²,
   \qquad η = b_l + θ_i - θ_j,

which is jointly convex: a conditional logit with a parameter for each user. Then σ̂ is the sample standard deviation of
the b̂_l.

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

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, DTypeLike, Float, Int

from privrank_jax._roots import square_root
from privrank_jax._types import ReportTableLike, Scalar, Scores
from privrank_jax._validate import check_nonnegative
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.designs import Meetings
from privrank_jax.pairwise.fits import Ridged
from privrank_jax.pairwise.minimizer import minimize


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


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class _UserPairs(Meetings):
    """Each user's answers about all pairs: η = b_l + θ_i - θ_j, β = (θ, b/α), where α makes the gradients of items and
    of users of one order."""

    weight: Float[Array, "*batch users pairs"]  # 1 where an answer counts
    num_items: int = dataclasses.field(metadata={"static": True})

    @property
    def stretch(self) -> float:
        """α, comparisons per item over comparisons per user."""
        return 2 * self.weight.shape[0] / self.num_items

    @property
    def size(self) -> int:
        return self.num_items + self.weight.shape[0]

    @property
    def dtype(self) -> DTypeLike:
        return self.weight.dtype

    @property
    def degree(self) -> Array:
        return 2 * jnp.sum(self.weight) / self.num_items

    def excess(self, counted: Array) -> Array:
        return counted - 0.5 * self.pull(self.weight)

    def log_odds(self, beta: Array) -> Array:
        theta, effects = beta[: self.num_items], self.stretch * beta[self.num_items :]
        first, second = _pairs(self.num_items)
        return effects[:, None] + (theta[first] - theta[second])[None, :]

    def real(self, each: Array) -> Array:
        return self.weight * each

    def pull(self, each: Array) -> Array:
        return self._sums(each, -1, self.stretch)

    def squares(self, each: Array) -> Array:
        return self._sums(each, 1, self.stretch**2)

    def _sums(self, each: Array, second: int, of_users: float) -> Array:
        pairs, (i, j) = each.sum(0), _pairs(self.num_items)
        items = jnp.zeros(self.num_items, each.dtype).at[i].add(pairs).at[j].add(second * pairs)
        return jnp.concatenate([items, of_users * each.sum(1)])


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
    design = _UserPairs((observed & ~left_out[:, None]).astype(dtype), num_items)
    gamma = 2 / jnp.asarray(num_users, dtype) if gamma is None else jnp.asarray(gamma, dtype)
    of_users = jnp.where(left_out, 1, user_gamma)  # users left out stay at 0
    ridge = jnp.concatenate([jnp.full(num_items, gamma), of_users * design.stretch**2])
    counted = design.pull(jnp.where(design.weight > 0, answers, 0))
    found = minimize(
        Ridged.of(design, counted, ridge),
        jnp.zeros(design.size, dtype),
        tolerance=tolerance,
        max_steps=max_steps,
    )
    theta, effects = found.value[:num_items], design.stretch * found.value[num_items:]
    theta -= jnp.mean(theta)
    known = design.weight * _logistic_slope(design.log_odds(found.value))
    sigma, corrected = _spread(effects, known.sum(1) + of_users, ~left_out)
    limit = jnp.where(given == 0, jnp.nan, jnp.where(chosen >= given, jnp.inf, -jnp.inf))
    effects = jnp.where(left_out, limit.astype(dtype), effects)
    diagnostics = MixedDiagnostics(found.gradient_norm, found.steps, found.code, separated)
    return Estimate(MixedEffects(theta, effects, sigma, corrected), None, diagnostics)


def _spread(effects: Array, known: Array, kept: Array) -> tuple[Array, Array]:
    """Standard deviation of the kept b̂, as it is and corrected for the mean of their error variances 1/Σ F'(η)."""
    count = jnp.sum(kept)
    mean = jnp.sum(jnp.where(kept, effects, 0)) / jnp.maximum(count, 1)
    variance = jnp.sum(jnp.where(kept, effects - mean, 0) ** 2) / jnp.maximum(count - 1, 1)
    error = jnp.sum(jnp.where(kept, 1 / known, 0)) / jnp.maximum(count, 1)
    return square_root(variance), square_root(variance - error)


def _logistic_slope(x: Array) -> Array:
    return jax.nn.sigmoid(x) * jax.nn.sigmoid(-x)


@functools.cache
def _pairs(size: int) -> tuple[np.ndarray, np.ndarray]:
    return np.triu_indices(size, 1)


def _num_items(num_pairs: int) -> int:
    items = (1 + math.isqrt(1 + 8 * num_pairs)) // 2
    if items < 2 or items * (items - 1) // 2 != num_pairs:
        raise ValueError(f"{num_pairs} columns are not m(m-1)/2 pairs for any number m of items.")
    return items
