r"""Densities of perturbed minimizers, by automatic differentiation of naive losses.

θ̃ minimizes L(θ; y) + ½ Σ γ_k θ_k² + wᵀθ, so for γ > 0 it is a one-to-one image of the noise, w(θ; y) = -∇L(θ; y) - γθ,
and by the change of variables its log density at θ is

.. math:: \log p_w(w(θ; y)) + \log\det(∇²L(θ; y) + γ).

θ̃ is the minimizer before it is centered; the centered estimate is a function of it, so its loss is no larger.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.privacy import Privacy
from privrank_jax.privacy_audit.registry import Facts, Law

Array = jax.Array
Objective = Callable[[Array, Array], Array]  # (θ, data) -> L


def log_density(
    loss: Objective, theta: Any, data: Any, ridge: Any, scales: Any, noise: str = "laplace"
) -> Array:
    """Log density of the uncentered minimizer at θ ``(d,)``; γ and λ or σ are one each or ``(d,)``.

    >>> theta, nothing = np.array([0.5]), np.zeros((1, 1))  # no comparison: θ̃ = -w/γ
    >>> round(float(log_density(of_wins(), theta, nothing, 2.0, 1.0)), 4)
    -1.0
    """
    theta = jnp.asarray(theta)
    each = jnp.ones_like(theta)
    drawn = (jax.grad(loss)(theta, data) + ridge * theta) / scales
    bend = jax.hessian(loss)(theta, data) + jnp.diag(ridge * each)
    if noise == "laplace":
        logs = -jnp.abs(drawn) - jnp.log(2 * scales * each)
    else:
        logs = -0.5 * drawn**2 - jnp.log(scales * each) - 0.5 * math.log(2 * math.pi)
    return jnp.sum(logs) + jnp.linalg.slogdet(bend)[1]


@functools.partial(jax.jit, static_argnames=("loss",))
def _log_densities(loss: Objective, outputs: Array, data: Array, ridge: Any, scales: Any) -> Array:
    at = jax.vmap(lambda theta, one: log_density(loss, theta, one, ridge, scales), (0, None))
    return jax.lax.map(lambda one: at(outputs, one), data)


def law(
    loss: Objective, outputs: np.ndarray | None = None, *, ridge: Any = None, units: Any = 1.0
) -> Law:
    """The law of a minimizer under Laplace noise, whose scale on each number is ``units`` times the reported one.

    It is compared at outputs ``(T, d)``, by default :func:`points` for the last axis of the data.
    """

    def logs(data: np.ndarray, _: Privacy, facts: Facts) -> np.ndarray:
        at = points(data.shape[-1]) if outputs is None else outputs
        gamma = facts["gamma"] if ridge is None else ridge
        given = jnp.asarray(at, float), jnp.asarray(data, float)
        return np.asarray(_log_densities(loss, *given, gamma, facts["noise_scale"] * units))

    return logs


_CORNERS = (-40.0, -8.0, -1.0, 0.0, 1.0, 8.0, 40.0)


def points(size: int) -> np.ndarray:
    """Scores ``(T, d)`` at which losses are large: far and near corners, ladders, and points in between."""
    rng = np.random.default_rng(0)
    far = rng.choice(_CORNERS, (600, size))
    ladder = np.linspace(-1, 1, size) * rng.uniform(-40, 40, (200, 1))
    near = rng.standard_normal((200, size)) * rng.choice([0.01, 1.0, 5.0], (200, 1))
    return np.concatenate([far, ladder, near])


def points_near(first: list[float], size: int) -> np.ndarray:
    """A given point, with 1 for numbers that are not scores, and random corners."""
    far = np.random.default_rng(0).choice(_CORNERS, (150, size))
    return np.array([[*first, *[1.0] * (size - len(first))], *far])


# --- losses ----------------------------------------------------------------------------------------

_LOGS: dict[str, Callable[[Array], Array]] = {
    "logistic": jax.nn.log_sigmoid,
    # From the right where two items tie: there the curvature jumps.
    "laplace": lambda gap: jnp.where(
        gap < 0, gap - math.log(2), jnp.log1p(-0.5 * jnp.exp(-jnp.abs(gap)))
    ),
    "normal": jax.scipy.special.log_ndtr,
}


@functools.cache
def of_wins(link: str = "logistic") -> Objective:
    """Of wins ``(m, m)``: minus the log chances of each under a link."""
    return lambda theta, wins: -jnp.sum(wins * _LOGS[link](theta[:, None] - theta))


@functools.cache
def of_ties(step: float = 1.0) -> Objective:
    """Of ``(2, m, m)``, wins with half wins and these alone, in Davidson's model; the last of θ is log ν / ``step``."""

    def loss(theta: Array, data: Array) -> Array:
        gap = theta[:-1, None] - theta[:-1]
        odds = jnp.stack([-gap / 2, step * theta[-1] + 0 * gap, gap / 2])  # of a loss, a tie, a win
        logs = odds - jax.nn.logsumexp(odds, axis=0)
        return -jnp.sum((data[0] - data[1]) * logs[2]) - jnp.sum(data[1] * logs[1])

    return loss
