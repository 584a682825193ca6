"""The largest ratio of what a set of items demands to what its cut lets through: the norm of a zonotope.

For z that sums to 0 over each component of a graph with lengths, max over sets S of z(S)/cut(S) is the least r such
that flows of at most r times the lengths meet the demands z (max-flow min-cut). Up to :data:`MOST_ENUMERATED` items all
sets are tried, in JAX. Beyond, a linear program on the host finds the flow: minimize r, with flows f on the pairs,
|f| <= r·length. Its dual is a potential of which some set of the highest items is a largest cut, and the ratio of that
set is returned, so that the solver's tolerance is not in the result.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from privrank_jax._backend import product
from privrank_jax._components import components
from privrank_jax._types import PairMatrix, Scores
from privrank_jax._validate import is_traced

MOST_ENUMERATED = 14


def largest_ratio(demands: Scores, lengths: PairMatrix) -> Float[Array, ""]:
    """The maximum of z(S)/cut(S) over the sets S of items; ∞ if a component's demands don't sum to 0.

    Args:
        demands: ``(m,)``, z.
        lengths: ``(m, m)``, symmetric, >= 0, with a zero diagonal.

    Returns:
        Scalar, dtype of ``demands``.

    Raises:
        ValueError: more than 14 items under a transformation of JAX.

    >>> float(largest_ratio(jnp.array([2.0, 0.0, -2.0]), jnp.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])))
    2.0
    """
    if demands.shape[0] <= MOST_ENUMERATED:
        return _enumerated(demands, lengths)
    if is_traced(demands, lengths):
        raise ValueError(
            f"the norm of a zonotope of more than {MOST_ENUMERATED} items that is not complete is a linear program: "
            "compute it outside of jax.jit and jax.vmap, point by point."
        )
    return jnp.asarray(_by_program(np.asarray(demands, float), np.asarray(lengths, float)))


@jax.jit
def _enumerated(demands: Scores, lengths: PairMatrix) -> Float[Array, ""]:
    number = demands.shape[0]
    sets = (jnp.arange(1, 1 << (number - 1))[:, None] >> jnp.arange(number)) & 1
    inside = sets.astype(demands.dtype)  # without the last item: complements have the same ratio
    inside = jnp.concatenate([inside, jnp.ones((1, number), demands.dtype)])
    cut = jnp.sum(product(inside, lengths.astype(demands.dtype)) * (1 - inside), axis=1)
    return jnp.max(_ratios(jnp.abs(product(inside, demands)), cut, demands))


def _ratios(moved: Array, cut: Array, demands: Scores) -> Array:
    least = 8 * demands.shape[0] * jnp.finfo(demands.dtype).eps * jnp.max(jnp.abs(demands))
    ratio = moved / jnp.where(cut > 0, cut, 1)
    return jnp.where(cut > 0, ratio, jnp.where(moved > least, jnp.inf, 0))


def _by_program(demands: np.ndarray, lengths: np.ndarray) -> float:
    """The ratio of the best set of the highest items by the potential that maximizes z·y/Σ length·|y_i - y_j|."""
    import scipy.optimize
    import scipy.sparse

    component = components(lengths)
    sums = np.bincount(component, demands)
    if np.any(np.abs(sums) > 8 * demands.size * np.finfo(float).eps * np.abs(demands).max()):
        return np.inf
    first, second = np.nonzero(np.triu(lengths))
    number = first.size
    if not number or not demands.any():
        return 0.0
    pair = np.arange(number)
    ends = scipy.sparse.coo_array(
        (np.tile([1.0, -1.0], (number, 1)).T.ravel(), (np.tile(pair, 2), np.append(first, second))),
        (number, demands.size),
    )
    identity = scipy.sparse.eye_array(number)
    weights = lengths[first, second]
    # Variables: potentials y, and the distances d >= |y_i - y_j|, whose sum weighted by the lengths is at most 1.
    result = scipy.optimize.linprog(
        np.append(-demands / np.abs(demands).max(), np.zeros(number)),
        A_ub=scipy.sparse.block_array(
            [
                [ends, -identity],
                [-ends, -identity],
                [None, scipy.sparse.coo_array(weights[None, :] / weights.mean())],
            ]
        ),
        b_ub=np.append(np.zeros(2 * number), 1.0),
        bounds=[(None, None)] * demands.size + [(0, None)] * number,
        method="highs",
    )
    if not result.success:
        raise RuntimeError(f"the linear program of a zonotope's norm failed: {result.message}")
    best = 0.0
    potential = result.x[: demands.size]
    for c in np.unique(component):
        members = np.flatnonzero(component == c)
        order = members[np.argsort(-potential[members], kind="stable")]
        inside = np.cumsum(np.eye(demands.size)[order], axis=0)[:-1]  # one set per row
        cut = np.sum((inside @ lengths) * (1 - inside), axis=1)
        best = max(best, float(np.max(np.abs(inside @ demands) / cut, initial=0.0)))
    return best
