r"""Mixed effects: users who are biased toward the item shown first.

User l chooses i over j, i < j, with probability F(b_l + θ_i - θ_j), where b_l ~ N(0, σ²). The link is logistic. The
fit has two steps. First all b_l are estimated as fixed effects, together with θ:

.. math:: \min_{θ, b} \sum_l \sum_{i<j} a_{ij}^{(l)} \bigl\{\log(1 + e^{η}) - y_{ij}^{(l)} η\bigr\} + \tfrac{γ}{2}‖θ‖²,
   \qquad η = b_l + θ_i - θ_j,

which is jointly convex: a conditional logit with a parameter for each user. Then σ̂ is the sample standard deviation of
the b̂_l. It is inflated by the estimation error of each b̂_l, about 1/Σ F'(η) per user, whose mean ``sigma_corrected``
subtracts from the variance.

**Users without a finite effect.** A user who always chose the first item (or never) has b̂_l = ±∞ and then carries no
information about θ. Leaving such users out of the fit is exact in that limit; σ̂ then misses their tails. (Gradient
descent, as in the paper, stops at a finite value, on which its σ̂ depends. At m = 10 the printed mean of |σ̂ - σ| is
0.15 to 0.20, ours 0.09 to 0.10; with θ sorted and those users stopped at ±8, ours is 0.175.)

Source: Xu, Sun, Cheng, Rate-optimal rank aggregation with private pairwise rankings, S.1.2.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._pytrees import pytree
from privrank_jax._roots import square_root
from privrank_jax._types import ReportTableLike, Scalar, Scores
from privrank_jax._validate import check_nonnegative, check_shape
from privrank_jax.estimate import Estimate
from privrank_jax.pairwise.debiased_fit import num_items
from privrank_jax.pairwise.designs import Meetings
from privrank_jax.pairwise.fits import FitDiagnostics, Ridged
from privrank_jax.pairwise.lanes import center
from privrank_jax.pairwise.minimizer import minimize


@pytree
class MixedEffects:
    """The fitted scores, user effects and their spread.

    Attributes:
        scores: ``(m,)`` θ̂, Σθ̂ = 0.
        user_effects: ``(L,)`` b̂: ±∞ for users who always or never chose the first item, NaN for users without answers.
        sigma: σ̂, the standard deviation of the finite b̂_l, shape ``()``.
        sigma_corrected: σ̂ less the estimation error of the b̂_l, at least 0, shape ``()``.
    """

    scores: Scores
    user_effects: Float[Array, "users"]
    sigma: Float[Array, ""]
    sigma_corrected: Float[Array, ""]


def mixed_effects(
    answers: ReportTableLike,
    observed: ReportTableLike | None = None,
    *,
    gamma: Scalar | None = None,
) -> Estimate:
    """Scores of the items, the effect of each user, and its spread over users. **Not private** on raw answers.

    Args:
        answers: ``(L, m(m-1)/2)``, 1 where the user chose i over j, pairs i < j in the order of
            ``numpy.triu_indices(m, 1)``. They enter linearly, so debiased reports (real numbers) can replace them.
        observed: bool of the same shape, False where there is no answer; default all True.
        gamma: ridge γ >= 0 of the scores, may be traced; ``None`` is 2/L.

    Returns:
        ``value``: :class:`MixedEffects`, float dtype of ``answers``. ``guarantee``: ``None``. ``diagnostics``:
        :class:`~privrank_jax.pairwise.fits.FitDiagnostics`, ``separated`` ``(L,)``: users without a finite effect.

    Raises:
        ValueError: shapes that don't fit, a negative ridge.

    >>> answers = [[1, 1, 0], [0, 1, 0], [1, 0, 1], [1, 0, 0]]  # pairs (0, 1), (0, 2), (1, 2)
    >>> found = mixed_effects(answers).value
    >>> found.scores.shape, found.user_effects.shape, found.sigma.shape
    ((3,), (4,), ())
    """
    if gamma is not None:
        check_nonnegative("gamma", gamma)
    answers = jnp.asarray(answers)
    answers = answers.astype(jnp.result_type(answers, float))
    if answers.ndim != 2 or answers.shape[0] < 2 or num_items(answers.shape[1]) < 2:
        raise ValueError(
            "answers must have shape (users, pairs), at least 2 users and m(m-1)/2 pairs for any number m of items, "
            f"got {answers.shape}."
        )
    observed = jnp.ones(answers.shape, bool) if observed is None else jnp.asarray(observed)
    check_shape("observed", observed, answers.shape)
    return _fit(answers, observed, 2 / answers.shape[0] if gamma is None else gamma)


@pytree
class _UserPairs(Meetings):
    """Each user's answers about all pairs: η = b_l + θ_i - θ_j, β = (θ, b/α), where α makes the gradients of items and
    of users of one order."""

    weight: Float[Array, "*batch users pairs"]  # 1 where an answer counts

    @property
    def num_items(self) -> int:
        return num_items(self.weight.shape[-1])

    @property
    def stretch(self) -> float:
        """α, comparisons per item over comparisons per user."""
        return 2 * self.weight.shape[0] / self.num_items

    @property
    def size(self) -> int:
        return self.num_items + self.weight.shape[0]

    @property
    def degree(self) -> Array:
        return 2 * jnp.sum(self.weight) / self.num_items

    def excess(self, counted: Array) -> Array:
        return counted - 0.5 * self.pull(self.weight)

    def log_odds(self, beta: Array) -> Array:
        theta, effects = beta[: self.num_items], self.stretch * beta[self.num_items :]
        first, second = np.triu_indices(self.num_items, 1)
        return effects[:, None] + (theta[first] - theta[second])[None, :]

    def real(self, each: Array) -> Array:
        return self.weight * each

    def pull(self, each: Array) -> Array:
        return self._sums(each, -1, self.stretch)

    def squares(self, each: Array) -> Array:
        return self._sums(each, 1, self.stretch**2)

    def _sums(self, each: Array, second: int, of_users: float) -> Array:
        pairs, (i, j) = each.sum(0), np.triu_indices(self.num_items, 1)
        items = jnp.zeros(self.num_items, each.dtype).at[i].add(pairs).at[j].add(second * pairs)
        return jnp.concatenate([items, of_users * each.sum(1)])


@jax.jit
def _fit(answers: Float[Array, "users pairs"], observed: Array, gamma: Scalar) -> Estimate:
    given, chosen = observed.sum(1), jnp.sum(jnp.where(observed, answers, 0), 1)
    separated = (chosen <= 0) | (chosen >= given)
    design = _UserPairs((observed & ~separated[:, None]).astype(answers.dtype))
    m = design.num_items
    of_users = separated * design.stretch**2  # users left out stay at 0
    ridge = jnp.concatenate([jnp.full(m, gamma, answers.dtype), of_users.astype(answers.dtype)])
    counted = design.pull(jnp.where(design.weight > 0, answers, 0))
    objective = Ridged.of(design, counted, ridge)
    found = minimize(objective, jnp.zeros(design.size, answers.dtype))
    effects, known = design.stretch * found.value[m:], design.bent(found.value).sum(1)
    sigma, corrected = _spread(effects, known, ~separated)
    limit = jnp.where(given == 0, jnp.nan, jnp.where(chosen >= given, jnp.inf, -jnp.inf))
    effects = jnp.where(separated, limit.astype(answers.dtype), effects)
    fitted = MixedEffects(center(found.value[:m], None), effects, sigma, corrected)
    told = dataclasses.replace(FitDiagnostics.of(found), separated=separated)
    return Estimate(fitted, None, told)


def _spread(effects: Array, known: Array, kept: Array) -> tuple[Array, Array]:
    """Standard deviation of the kept b̂, as it is and corrected for the mean of their error variances 1/Σ F'(η)."""
    count = jnp.sum(kept)
    mean = jnp.sum(jnp.where(kept, effects, 0)) / jnp.maximum(count, 1)
    variance = jnp.sum(jnp.where(kept, effects - mean, 0) ** 2) / jnp.maximum(count - 1, 1)
    error = jnp.sum(jnp.where(kept, 1 / jnp.where(kept, known, 1), 0)) / jnp.maximum(count, 1)
    return square_root(variance), square_root(variance - error)
