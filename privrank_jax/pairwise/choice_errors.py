r"""Standard errors of scores fitted to choices from public sets, privacy noise included.

Post-processing of the release, by the formulas at the head of :mod:`privrank_jax.pairwise.standard_errors`, with the
Fisher information Σ_S diag(p_S) - p_S p_Sᵀ of the choices (p_S the chances of the items of S at the fit): it takes the
fit, the public noise scale and ridge, and the public sets, never what was chosen.

**Assumptions.** The Plackett-Luce model holds, choices are independent given the scores (several choices of one user
count as independent), and errors are small enough for one linear step.
"""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array

from privrank_jax._types import Scalar, Scores, ScoresLike
from privrank_jax._validate import check_choice, check_nonnegative
from privrank_jax.pairwise.choices import Choices
from privrank_jax.pairwise.designs import Sets
from privrank_jax.pairwise.intervals import hardly_changes
from privrank_jax.pairwise.standard_errors import (
    Uncertainty,
    errors_of_fit,
    identified,
    of_full_rank,
)
from privrank_jax.privacy.bodies import Noise
from privrank_jax.privacy.noise import NOISES


def choice_errors(
    theta: ScoresLike,
    choices: Choices,
    *,
    noise_scale: Scalar = 0.0,
    gamma: Scalar = 0.0,
    noise: str = "laplace",
    target: str = "truth",
) -> Uncertainty:
    """Covariance and standard errors of scores from :func:`perturbed_mle` or :func:`mle` of choices.

    Args:
        theta: ``(m,)`` released scores.
        choices: of which only the sets and weights count.
        noise_scale: λ or σ of the totals, may be traced; 0 = no privacy noise.
        gamma: ridge γ >= 0 of the fit, may be traced.
        noise: ``"laplace"`` or ``"gaussian"``.
        target: ``"truth"`` or ``"penalized"``, as for :func:`standard_errors`.

    Returns:
        :class:`Uncertainty`; :func:`~privrank_jax.pairwise.intervals.confidence_intervals` and :func:`rank_intervals`
        take it.

    Raises:
        ValueError: a negative scale or ridge, scores of another shape, unknown names.

    >>> choices = Choices.from_top1([(0, [1])] * 50 + [(1, [0])] * 50, num_items=2)
    >>> errors = choice_errors([0.0, 0.0], choices)
    >>> round(float(2 * errors.standard_errors[0]), 4)  # of the difference, as for 100 comparisons: 1/√(100/4)
    0.2
    """
    check_choice("noise", noise, NOISES)
    check_choice("target", target, ("truth", "penalized"))
    check_nonnegative("noise_scale", noise_scale)
    check_nonnegative("gamma", gamma)
    theta = jnp.asarray(theta, choices.weights.dtype)
    if theta.shape != (choices.num_items,):
        raise ValueError(f"theta must have shape ({choices.num_items},), got {theta.shape}.")
    added = Noise.independent(noise, noise_scale, choices.num_items)
    return _choice_errors(theta, choices.design, gamma, added, target == "penalized")


@functools.partial(jax.jit, static_argnames=("penalized",))
def _choice_errors(
    theta: Scores, sets: Sets, gamma: Scalar, noise: Noise, penalized: bool
) -> Uncertainty:
    theta = theta - jnp.mean(theta)
    fisher = sets.information(theta)
    project, linked = identified(sets.linked, theta.dtype)
    fisher = of_full_rank(fisher, project)
    real = jnp.ones(theta.shape, bool)
    return errors_of_fit(theta, fisher, fisher, project, linked, real, gamma, noise, penalized)


def choice_center_is_near(theta: ScoresLike, choices: Choices, errors: Uncertainty) -> Array:
    """Whether p(1 - p) of each offered item is about the same at the scores as where intervals are centered.

    For sets of two this is the rule of :func:`~privrank_jax.pairwise.intervals.center_is_near`.

    Args:
        theta: ``(m,)`` released scores.
        choices: of which only the sets count.
        errors: the uncertainty of the scores.

    Returns:
        bool, shape ``()``: whether none changes by more than a factor of ``MOST_CHANGE``.
    """

    sets, theta = choices.design, jnp.asarray(theta, errors.center.dtype)
    return hardly_changes(sets.bend(theta) - sets.bend(errors.center))
