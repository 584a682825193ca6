r"""What the scores of items owe to facts about the items: do cheap cars win?

The model is θ = Xβ + u: x_i are known facts about item i, such as its price, and u_i, of standard deviation τ, is what
these leave over. Scores t with an uncertainty V are known up to a constant, so t, X and V are taken to m - 1 contrasts
A, orthonormal and orthogonal to 1. β is the generalized least squares fit with the covariance S = AVAᵀ + τ²1,

.. math:: β = (Z^⊤ S^{-1} Z)^{-1} Z^⊤ S^{-1} A t, \qquad Z = AX,

and τ ≥ 0 is such that rᵀS⁻¹r, r the residual, is m - 1 - p, as it is on average (Paule and Mandel 1982), or 0 where it
is less without any τ. That is meta-regression with random effects. The errors of β take τ as known.

It is post-processing of scores and their uncertainty, and costs no privacy. A fit of β alone to the comparisons would
have less noise, but would have to take τ for 0.

DerSimonian and Kacker (2007), *Random-effects model for meta-analysis of clinical trials: an update*.
"""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Real

from privrank_jax._backend import product
from privrank_jax._types import Scores
from privrank_jax._validate import is_traced
from privrank_jax._workarounds.linalg import solve_positive_definite
from privrank_jax.pairwise.planner import bisect
from privrank_jax.pairwise.uncertainty import Uncertainty

_LEAST_RANK = 1e-5  # smallest singular value of standardized facts, of the largest


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class ItemEffects:
    """How scores depend on facts about the items.

    Attributes:
        coefficients: ``(p,)``, β: log-odds for one unit of each fact.
        covariance: ``(p, p)``, of these.
        left_over: shape ``()``, τ, the standard deviation of what the facts leave over.
    """

    coefficients: Float[Array, "*batch facts"]
    covariance: Float[Array, "*batch facts facts"]
    left_over: Float[Array, "*batch"]

    @property
    def standard_errors(self) -> Float[Array, "*batch facts"]:
        """``(p,)`` square roots of the variances."""
        return jnp.sqrt(jnp.diagonal(self.covariance, axis1=-2, axis2=-1))


def item_effects(
    uncertainty: Uncertainty,
    facts: Real[Array, "items facts"] | Real[np.ndarray, "items facts"],
) -> ItemEffects:
    """Fit scores by known facts about the items, with what is left over as a random effect.

    Args:
        uncertainty: of scores, such as :func:`~privrank_jax.pairwise.standard_errors` or
            :func:`~privrank_jax.pairwise.private_design.errors_under_private_design` gives it; all items real and
            linked.
        facts: ``(m, p)`` numbers, public: p of each item, p <= m - 2, without a constant.

    Returns:
        :class:`ItemEffects`, in units of scores.

    Raises:
        ValueError: facts of another number of items, too many of them, not finite, or one that is constant or a
            combination of the others; items that are masked, or not linked by comparisons.

    >>> from privrank_jax.pairwise import standard_errors
    >>> wins = np.full((4, 4), 100.0)
    >>> errors = standard_errors([0.9, 0.4, -0.4, -0.9], wins * (1 - np.eye(4)))
    >>> found = item_effects(errors, np.array([[1.0], [2.0], [3.0], [4.0]]))  # prices
    >>> round(float(found.coefficients[0]), 2), bool(found.standard_errors[0] < 0.1)
    (-0.62, True)
    """
    facts = jnp.asarray(facts, uncertainty.center.dtype)
    items = uncertainty.center.shape[-1]
    if facts.ndim != 2 or facts.shape[0] != items or not 1 <= facts.shape[1] <= items - 2:
        raise ValueError(
            f"facts must be (items, facts), with {items} items here and from 1 to {max(items - 2, 1)} facts, got "
            f"shape {facts.shape}."
        )
    if not is_traced(facts, uncertainty):
        _check(uncertainty, np.asarray(facts, np.float64))
    return _fit(uncertainty.center, uncertainty.covariance, facts)


def _check(uncertainty: Uncertainty, facts: np.ndarray) -> None:
    uncertainty.check_whole("effects")
    if not np.all(np.isfinite(facts)):
        raise ValueError("facts must be finite numbers: leave items out of which one is not known.")
    centered = facts - facts.mean(0)
    size = np.linalg.norm(centered, axis=0)
    known = size > _LEAST_RANK * np.maximum(np.abs(facts).max(0), np.finfo(float).tiny)
    if not np.all(known):
        raise ValueError(
            f"fact {int(np.argmin(known))} is the same for all items, so it explains nothing: leave it out."
        )
    values = np.linalg.svd(centered / size, compute_uv=False)
    if values[-1] < _LEAST_RANK * values[0]:
        raise ValueError("one of the facts is a combination of the others: leave one of them out.")


@jax.jit
def _fit(scores: Scores, covariance: Array, facts: Array) -> ItemEffects:
    items, count = facts.shape
    contrasts = jnp.asarray(_contrasts(items), scores.dtype)
    told, design = product(contrasts, scores), product(contrasts, facts)
    unit = jnp.sqrt(jnp.mean(jnp.square(design), 0))
    design = design / unit
    spread = product(product(contrasts, covariance), contrasts.T)
    level = jnp.trace(spread) / (items - 1)

    def solved(extra: Array) -> tuple[Array, Array, Array]:
        whole = spread + extra * jnp.eye(items - 1, dtype=spread.dtype)
        right = jnp.concatenate([design, told[:, None]], axis=1)
        both = product(right.T, solve_positive_definite(whole, right))
        bend, slope = both[:count, :count], both[:count, count]
        inverse = solve_positive_definite(bend, jnp.eye(count, dtype=bend.dtype))
        found = product(inverse, slope)
        return found, inverse, both[count, count] - product(slope, found)

    wanted = items - 1 - count

    def above(log_extra: Array) -> Array:
        return solved(jnp.exp(log_extra))[2] - wanted

    most = jnp.log(level + jnp.sum(jnp.square(told)) / wanted)
    extra = jnp.exp(bisect(above, jnp.log(1e-6 * level), most))
    extra = jnp.where(solved(jnp.zeros_like(level))[2] <= wanted, 0.0, extra)
    found, inverse, _ = solved(extra)
    return ItemEffects(found / unit, inverse / unit[:, None] / unit, jnp.sqrt(extra))


def _contrasts(items: int) -> Float[np.ndarray, "contrasts items"]:
    """An orthonormal basis of what sums to 0, by Helmert: ``(m - 1, m)``."""
    rows = np.tri(items - 1, items)
    rows[np.arange(items - 1), np.arange(1, items)] = -np.arange(1, items)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)
