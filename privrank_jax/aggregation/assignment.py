r"""The assignment problem: each item to one place, each place to one item, at the least total cost.

**Algorithm.** Shortest augmenting paths (the Hungarian method): items are matched one after the other, each along a
shortest path of reduced costs c_ip - u_i - v_p ≥ 0. Dual variables satisfy u_i + v_p ≤ c_ip everywhere, with equality
on the matching. A complete matching with such duals is optimal, as every assignment costs at least Σ u + Σ v. Searching
and augmenting are steps of one loop. So in a batch no problem waits for another between items, and the batch takes as
many steps as its longest problem: at most m(m + 1), each of O(m) operations.

**Exact on integers.** With row minima subtracted, let costs lie in [0, C]. u ≥ 0 never falls, v ≤ 0 never rises, and
v_p = 0 where place p is free. So as long as a place is free, u ≤ C for matched items and v = c - u ≥ -C for matched
places; and u = 0 for the item that starts a path, so the free place that ends it is at most C away. No length that is
computed before exceeds C + C + C, and the last update leaves u ≤ 2C and v ≥ -2C. All are below 2^31 where C < 2^29;
:func:`assignment` refuses larger integers.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from privrank_jax._types import PairMatrixLike, Ranks
from privrank_jax._validate import check_square, is_traced


class _Search(NamedTuple):
    """State of the loop.

    Attributes:
        duals: u of items, v of places.
        place: matched place of each item, -1 = none yet.
        item: matched item of each place, -1 = none yet.
        distance: of each place from the item that is being matched.
        before: the item before each place on the shortest path.
        done: places whose distance is final.
        at: item from which to go on, and its distance.
        start: item that is being matched.
        end: place where the path is being turned around, -1 while searching.
    """

    duals: tuple[Array, Array]
    place: Array
    item: Array
    distance: Array
    before: Array
    done: Array
    at: tuple[Array, Array]
    start: Array
    end: Array


def assignment(costs: PairMatrixLike) -> Ranks:
    """Give each item a place such that the total cost is least.

    One problem, for ``jit`` and ``vmap``; in floating point the result is optimal up to rounding. On the host,
    ``scipy.optimize.linear_sum_assignment`` solves a single large problem faster.

    Args:
        costs: ``(m, m)``, cost of item i at place p; integers or floating point, of any sign, finite.

    Returns:
        Ranks ``(m,)``, int32: the place of each item.

    Raises:
        ValueError: a shape that is not (m, m), costs that are not finite, integers that differ by 2^29 or more (by
            2^61 in 64 bits).

    >>> assignment([[1, 0, 4], [0, 3, 5], [2, 2, 1]]).tolist()
    [1, 0, 2]
    """
    check_square("costs", costs)
    given = jnp.asarray(costs)
    if given.ndim != 2:
        raise ValueError(
            f"costs must have shape (m, m), got {given.shape}: use jax.vmap for a batch."
        )
    if not is_traced(given):
        _check_range(np.asarray(costs), given.dtype.itemsize)
    if jnp.issubdtype(given.dtype, jnp.floating):
        given = given.astype(jnp.promote_types(given.dtype, jnp.float32))
    else:
        given = given.astype(jnp.promote_types(given.dtype, jnp.int32))
    return _assign(given)


def _check_range(costs: np.ndarray, size: int) -> None:
    if not np.issubdtype(costs.dtype, np.integer):
        if not np.all(np.isfinite(costs)):
            raise ValueError("costs must be finite.")
        return
    room = 2**61 if size == 8 else 2**29
    low, high = int(costs.min()), int(costs.max())
    if high - low >= room or max(-low, high) >= 4 * room:
        raise ValueError(
            f"integer costs from {low:,} to {high:,} are too far apart, {room - 1:,} is the most: give them as float64."
        )


@jax.jit
def _assign(costs: Array) -> Array:
    items = costs.shape[0]
    if jnp.issubdtype(costs.dtype, jnp.floating):  # the loop ends whatever traced costs hold
        most, far = jnp.finfo(costs.dtype).max / 8, jnp.inf
        costs = jnp.where(jnp.isnan(costs), most, jnp.clip(costs, -most, most))
    else:
        far = jnp.iinfo(costs.dtype).max
    far = jnp.asarray(far, costs.dtype)
    costs = costs - jnp.min(costs, axis=1, keepdims=True)
    index = jnp.arange(items, dtype=jnp.int32)
    nowhere = jnp.full(items, -1, jnp.int32)

    # Each place goes to the first item whose costs are least there; row minima are 0, so duals of 0 are feasible.
    wanted = jnp.argmin(costs, axis=1).astype(jnp.int32)
    item = jnp.full(items, items, jnp.int32).at[wanted].min(index)
    item = jnp.where(item == items, -1, item)
    place = jnp.where(item[wanted] == index, wanted, -1)
    zeros = jnp.zeros(items, costs.dtype)

    def begin(state: _Search) -> _Search:
        start = jnp.argmax(state.place < 0).astype(jnp.int32)
        return state._replace(
            distance=jnp.full(items, far),
            before=nowhere,
            done=jnp.zeros(items, bool),
            at=(start, jnp.zeros((), costs.dtype)),
            start=start,
            end=jnp.int32(-1),
        )

    def search(state: _Search) -> _Search:
        (u, v), (at, base) = state.duals, state.at
        length = base + costs[at] - u[at] - v
        shorter = ~state.done & (length < state.distance)
        distance = jnp.where(shorter, length, state.distance)
        before = jnp.where(shorter, at, state.before)
        nearest = jnp.argmin(jnp.where(state.done, far, distance)).astype(jnp.int32)
        base = distance[nearest]
        done = state.done | (index == nearest)
        following = state.item[nearest]
        found = following < 0
        slack = jnp.where(done & found, base - distance, 0)
        matched = jnp.where(done & (state.item >= 0), state.item, items)
        rise = zeros.at[matched].add(slack, mode="drop")
        rise = rise.at[state.start].add(jnp.where(found, base, 0))
        return state._replace(
            duals=(u + rise, v - slack),
            distance=distance,
            before=before,
            done=done,
            at=(jnp.where(found, at, following), base),
            end=jnp.where(found, nearest, -1),
        )

    def turn(state: _Search) -> _Search:
        one = state.before[state.end]
        following = state.place[one]
        turned = state._replace(
            item=jnp.where(index == state.end, one, state.item),
            place=jnp.where(index == one, state.end, state.place),
            end=following,
        )
        return _chosen(one == state.start, begin(turned), turned)

    def step(state: _Search) -> _Search:
        return _chosen(state.end < 0, search(state), turn(state))

    empty = _Search(
        (zeros, zeros),
        place,
        item,
        zeros,
        nowhere,
        item < 0,
        (index[0], zeros[0]),
        index[0],
        index[0],
    )
    return jax.lax.while_loop(lambda state: jnp.any(state.place < 0), step, begin(empty)).place


def _chosen(first: Array, one: _Search, other: _Search) -> _Search:
    return jax.tree.map(lambda a, b: jnp.where(first, a, b), one, other)
