r"""Quasi-variances: one variance per item that serves all comparisons of two items.

A score is known only relative to others, so what can be read off two standard errors is not the standard error of
their difference: that needs the covariance. Quasi-variances q_i are chosen such that

.. math:: q_i + q_j ≈ V_{ij} = \mathrm{Var}(t_i - t_j)

for all pairs at once (Firth 2003; Firth and de Menezes 2004): the least sum over pairs of
:math:`(\log(q_i + q_j) - \log V_{ij})^2`, as in R's package qvcalc. Three items always fit exactly; so does any number
of items whose covariance is a diagonal matrix plus u1ᵀ + 1uᵀ, as in balanced designs. How far the worst pair is off is
part of the result. For two items only q_1 + q_2 is determined; each gets half.

The minimum is found by Gauss-Newton steps: the residual of pair i, j has the slope 1/(q_i + q_j) in both, so a step
solves a system of m equations. Of a step and its halves the best is taken. A q_i may be negative, as in qvcalc, where
item i has a smaller share in the variances of all differences than any positive q_i would give it; it then has no
quasi standard error.

It is post-processing of :class:`~privrank_jax.pairwise.uncertainty.Uncertainty`, and costs no privacy.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from privrank_jax._types import PairMatrix, Scores
from privrank_jax._validate import is_traced
from privrank_jax._workarounds.linalg import solve_positive_definite
from privrank_jax.pairwise.uncertainty import Uncertainty

_STEPS = 30
_HALVES = 10


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class QuasiVariances:
    """Quasi-variances of scores.

    Attributes:
        variances: ``(m,)``, q_i; infinite for an item that is linked to no other, 0 if masked.
        worst_relative_error: shape ``()``, the largest relative error of a standard error from them: of
            √(q_i + q_j) for that of t_i - t_j, over the pairs that are linked.
    """

    variances: Float[Array, "*batch items"]
    worst_relative_error: Float[Array, "*batch"]

    @property
    def standard_errors(self) -> Scores:
        """``(m,)`` square roots of ``variances``, NaN where these are negative."""
        return jnp.sqrt(self.variances)


def quasi_variances(uncertainty: Uncertainty) -> QuasiVariances:
    """One variance per item, such that two of them add up to nearly the variance of the difference of two scores.

    So the error bars t_i ± √q_i serve all comparisons: the standard error of t_i - t_j is close to √(q_i + q_j).

    Args:
        uncertainty: of scores, from :func:`~privrank_jax.pairwise.standard_errors`; of totals too.

    Returns:
        :class:`QuasiVariances`, with the relative error of the worst pair.

    Raises:
        ValueError: the covariance is not finite, or the difference of two linked items has no variance.

    >>> from privrank_jax.pairwise import standard_errors
    >>> design = [[0, 100, 50], [100, 0, 20], [50, 20, 0]]
    >>> errors = standard_errors([0.0, 0.0, 0.0], design)
    >>> found = quasi_variances(errors)
    >>> [round(float(q), 4) for q in found.variances]
    [0.01, 0.025, 0.05]
    >>> float(found.worst_relative_error) < 1e-5  # three items fit exactly
    True
    """
    covariance = uncertainty.covariance
    own = jnp.diagonal(covariance, axis1=-2, axis2=-1)
    variances = own[..., :, None] + own[..., None, :] - 2 * covariance
    size = covariance.shape[-1]
    met = uncertainty.linked & ~jnp.eye(size, dtype=bool)
    if not is_traced(covariance) and not bool(
        jnp.all(~met | ((variances > 0) & (variances < jnp.inf)))
    ):
        raise ValueError(
            "quasi-variances need a finite positive variance of the difference of any two linked items: give the "
            "uncertainty that standard_errors returns for scores of these comparisons."
        )
    return _fit(variances, met, uncertainty.mask)


@jax.jit
def _fit(variances: PairMatrix, met: Bool[Array, "items items"], mask: Array) -> QuasiVariances:
    """Gauss-Newton steps from half the mean variance of each item's differences, positive for all pairs.

    Args:
        variances: of differences of two items.
        met: linked pairs of two real items.
        mask: real items.
    """
    count = jnp.sum(met, -1)
    wanted = jnp.where(met, variances, 1.0)
    unit = jnp.sum(jnp.where(met, wanted, 0.0)) / jnp.maximum(jnp.sum(met), 1)
    unit = jnp.where(unit > 0, unit, 1.0)
    wanted = jnp.where(met, wanted / unit, 1.0)
    start = 0.5 * jnp.sum(jnp.where(met, wanted, 0.0), -1) / jnp.maximum(count, 1)
    shares = jnp.append(0.5 ** jnp.arange(_HALVES), 0.0).astype(start.dtype)
    small = jnp.finfo(start.dtype).eps

    def residuals(quasi: Scores) -> PairMatrix:
        total = quasi[:, None] + quasi[None, :]
        return jnp.where(met, jnp.log(jnp.where(total > 0, total, jnp.nan) / wanted), 0.0)

    def loss(quasi: Scores) -> Array:
        value = jnp.sum(residuals(quasi) ** 2)
        return jnp.where(jnp.isnan(value), jnp.inf, value)

    def step(quasi: Scores, _: None) -> tuple[Scores, None]:
        slope = jnp.where(met, 1 / (quasi[:, None] + quasi[None, :]), 0.0)
        squares = slope * slope
        rows = jnp.sum(squares, -1)
        # Alone, pairs leave one direction open: the little added to the diagonal holds it.
        bend = squares + jnp.diag(jnp.where(rows > 0, rows * (1 + 8 * small), 1.0))
        change = solve_positive_definite(bend, jnp.sum(slope * residuals(quasi), -1)[:, None])[:, 0]
        tried = quasi[None, :] - shares[:, None] * change[None, :]
        return tried[jnp.argmin(jax.vmap(loss)(tried))], None

    quasi, _ = jax.lax.scan(step, start, None, length=_STEPS)
    worst = jnp.max(jnp.abs(jnp.where(met, jnp.expm1(0.5 * residuals(quasi)), 0.0)))
    alone = jnp.where(mask, jnp.inf, 0.0)
    return QuasiVariances(jnp.where(count > 0, quasi * unit, alone), worst)
