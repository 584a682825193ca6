"""The assignment problem: each item to one place, each place to one item, at the least total cost."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax

from privrank_jax._types import PairMatrixLike, Ranks
from privrank_jax._validate import check_square, is_traced


def assignment(costs: PairMatrixLike) -> Ranks:
    """Give each item a place such that the total cost is least, by ``optax.assignment``.

    One problem, for ``jit`` and ``vmap``. Costs are taken as floating point, so the result is optimal up to rounding,
    and for integers below 2^21 in absolute value (2^50 in 64 bits) exactly, as no path costs more than eight times
    that. Of several optima it gives one. On the host, ``scipy.optimize.linear_sum_assignment`` takes less time.

    Args:
        costs: ``(m, m)``, cost of item i at place p; integers or floating point, of any sign, finite.

    Returns:
        Ranks ``(m,)``, int32: the place of each item.

    Raises:
        ValueError: a shape that is not (m, m), costs that are not finite.

    >>> assignment([[1, 0, 4], [0, 3, 5], [2, 2, 1]]).tolist()
    [1, 0, 2]
    """
    check_square("costs", costs)
    given = jnp.asarray(costs)
    if given.ndim != 2:
        raise ValueError(
            f"costs must have shape (m, m), got {given.shape}: use jax.vmap for a batch."
        )
    if not is_traced(given) and not np.all(np.isfinite(np.asarray(costs))):
        raise ValueError("costs must be finite.")
    return _run(given)


@jax.jit
def _run(costs: jax.Array) -> Ranks:
    floating = jnp.issubdtype(costs.dtype, jnp.floating)
    costs = costs.astype(jnp.promote_types(costs.dtype, jnp.float32) if floating else float)
    costs = costs - jnp.min(costs, axis=1, keepdims=True)
    most = jnp.finfo(costs.dtype).max / 8
    costs = jnp.where(jnp.isnan(costs), most, jnp.minimum(costs, most))  # so that the search ends
    items, places = optax.assignment.hungarian_algorithm(costs)
    return jnp.zeros(len(costs), jnp.int32).at[items].set(places.astype(jnp.int32))
