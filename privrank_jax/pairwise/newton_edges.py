"""The negative log-likelihood of an edge list, and Newton's method for it without a matrix."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, PyTree

from privrank_jax._backend import product
from privrank_jax._types import Scalar, Scores
from privrank_jax.comparisons import WinEdges
from privrank_jax.links import Link
from privrank_jax.pairwise.masked import mean_degree

# Conjugate gradients stop at a residual, relative to the gradient, between these bounds: at the square root of the
# gradient norm, which makes Newton's method converge faster than linearly.
_CLOSEST, _LOOSEST = 1e-4, 0.1
# Products with the Hessian in one Newton step, at most.
_MOST_PRODUCTS = 200


class _Conjugate(NamedTuple):
    solution: Float[Array, "items"]
    residual: Float[Array, "items"]
    direction: Float[Array, "items"]
    size: Float[Array, ""]
    bend: Float[Array, ""]
    step: Int[Array, ""]


@jax.tree_util.register_dataclass
@dataclasses.dataclass(frozen=True)
class EdgeObjective:
    """Objective for any link on an edge list: memory and time are linear in the number of edges.

    Attributes:
        edges: the win counts.
        gamma: ridge γ, shape ``()``.
        scale: S, shape ``()``.
        link: F, static.
    """

    edges: WinEdges
    gamma: Array
    scale: Array
    link: Link = dataclasses.field(metadata={"static": True})

    def __call__(self, theta: Scores) -> Array:
        """f(θ); JAX derives its gradient, one scatter per end of the edges."""
        gap = theta[self.edges.first] - theta[self.edges.second]
        loss = self.edges.first_wins * self.link.log_cdf(gap)
        loss += self.edges.second_wins * self.link.log_cdf(-gap)
        gauge = 0.5 * jnp.sum(theta) ** 2 / theta.shape[0]
        return (-jnp.sum(loss) + product(0.5 * self.gamma * theta, theta)) / self.scale + gauge

    def weights(self, theta: Scores) -> Array:
        """Second derivative of f in the gap of each pair, ``(E,)``."""
        gap = theta[self.edges.first] - theta[self.edges.second]
        bend = self.edges.first_wins * self.link.curvature(gap)
        return (bend + self.edges.second_wins * self.link.curvature(-gap)) / self.scale

    def diagonal(self, weights: Array) -> Array:
        """Diagonal of the Hessian at :meth:`weights`, without the term of the gauge, ``(m,)``."""
        zero = jnp.full(self.edges.num_items, self.gamma / self.scale)
        return zero.at[self.edges.first].add(weights).at[self.edges.second].add(weights)

    def hessian_product(self, weights: Array, vector: Scores) -> Array:
        """The Hessian at :meth:`weights` times ``vector``, ``(m,)``: no matrix is formed."""
        pull = weights * (vector[self.edges.first] - vector[self.edges.second])
        rest = self.gamma / self.scale * vector + jnp.sum(vector) / vector.shape[0]
        return rest.at[self.edges.first].add(pull).at[self.edges.second].add(-pull)

    def reach(self, vector: Scores) -> Array:
        """The most that ``vector`` changes the gap of a pair, shape ``()``."""
        gap = vector[self.edges.first] - vector[self.edges.second]
        return jnp.max(jnp.abs(gap), initial=0)


def edge_objective(edges: WinEdges, link: Link, *, gamma: Scalar = 0.0) -> EdgeObjective:
    """The objective of an edge list under ``link`` with ridge γ."""
    degrees = edges.degrees
    scale = mean_degree(degrees, jnp.ones_like(degrees))
    return EdgeObjective(edges, jnp.asarray(gamma, degrees.dtype), scale, link)


def newton_of_edges(objective: EdgeObjective) -> optax.GradientTransformationExtraArgs:
    """Newton's method by conjugate gradients with the diagonal as preconditioner.

    Each iterate of conjugate gradients is a descent direction p, so an inexact one costs steps, not correctness. Under
    the logistic link the share of p to take is log(1 + r)/r, where r > 1 is the largest change of a gap of a pair: the
    third derivative of f along p is at most r times the second (see :mod:`privrank_jax.pairwise.newton`). The value of
    f is not needed; of 10⁵ items float32 has two of its decimal places. Other links take a backtracking line search.

    Args:
        objective: the objective that is minimized.

    Returns:
        The transformation.
    """
    directions = optax.GradientTransformationExtraArgs(
        lambda params: optax.EmptyState(), _update(objective)
    )
    if objective.link.name == "logistic":
        return directions
    search = optax.scale_by_backtracking_linesearch(
        max_backtracking_steps=30, atol=1e-5, store_grad=False
    )
    return optax.with_extra_args_support(optax.chain(directions, search))


def _update(objective: EdgeObjective) -> Callable[..., tuple[Array, PyTree]]:
    def update(
        updates: PyTree, state: PyTree, params: PyTree = None, **extra: object
    ) -> tuple[Array, PyTree]:
        del extra
        if params is None:
            raise TypeError("newton_of_edges needs the parameters.")
        norm = jnp.max(jnp.abs(updates))
        direction = -_conjugate_gradients(
            objective, params, updates, jnp.clip(jnp.sqrt(norm), _CLOSEST, _LOOSEST)
        )
        if objective.link.name == "logistic":
            reach = objective.reach(direction)
            direction *= jnp.where(reach > 1, jnp.log1p(reach) / jnp.maximum(reach, 1), 1)
        return direction, state

    return update


def _conjugate_gradients(
    objective: EdgeObjective, theta: Scores, right: Scores, tolerance: Array
) -> Array:
    weights = objective.weights(theta)
    diagonal = objective.diagonal(weights)
    inverse = 1 / jnp.where(diagonal > 0, diagonal, 1)
    goal = jnp.square(tolerance) * product(right, right)

    def unfinished(state: _Conjugate) -> Array:
        going = (state.step < _MOST_PRODUCTS) & (state.bend > 0)
        return going & (product(state.residual, state.residual) > goal)

    def advance(state: _Conjugate) -> _Conjugate:
        image = objective.hessian_product(weights, state.direction)
        bend = product(state.direction, image)
        length = jnp.where(bend > 0, state.size / jnp.where(bend > 0, bend, 1), 0)
        residual = state.residual - length * image
        scaled = inverse * residual
        size = product(residual, scaled)
        return _Conjugate(
            state.solution + length * state.direction,
            residual,
            scaled + size / jnp.where(state.size > 0, state.size, 1) * state.direction,
            size,
            bend,
            state.step + 1,
        )

    scaled = inverse * right
    zero = jnp.zeros((), jnp.int32)
    start = _Conjugate(
        jnp.zeros_like(right), right, scaled, product(right, scaled), jnp.ones_like(goal), zero
    )
    return jax.lax.while_loop(unfinished, advance, start).solution
