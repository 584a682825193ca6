r"""The assignment problem: each item to one place, each place to one item, at the least total cost.

**Algorithm.** Shortest augmenting paths (the Hungarian method). Minima of rows, then of columns, are subtracted, and
items greedily take places that then cost them nothing. Each item that is left is matched along a shortest path of
reduced costs c_ip - u_i - v_p ≥ 0. Dual variables satisfy u_i + v_p ≤ c_ip everywhere, with equality on the matching.
A complete matching with such duals is optimal, as every assignment costs at least Σ u + Σ v.

**Batches.** A step scans one row of costs, then takes one turn of a path that has been found. A batch goes on in one
loop in which finished problems wait, but no problem waits for another between items: it takes as many steps as its
longest problem, at most m(m + 1) of O(m) operations. Everything is kept by place, also the dual variable of the item
there, so a step writes to no computed position but the end of a path. Problems of up to 60 items lie along the
trailing axis, where vector registers hold the same place of several problems.

**Exact on integers.** With minima subtracted, let costs lie in [0, C]. u ≥ 0 never falls, v ≤ 0 never rises, and
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
from jaxtyping import Array, Bool, Int, Num

from privrank_jax._chunks import chunked
from privrank_jax._types import PairMatrixLike, Ranks
from privrank_jax._validate import check_square, is_traced

# Batches of at least so many problems of at most so many items lie along the trailing axis.
_FEWEST, _MOST_ITEMS = 8, 60
# Costs of such a batch that a CPU works on at a time, so that rows come from its cache and few problems wait.
_CPU_LANES = 1 << 18


class _Search(NamedTuple):
    """State of the search. A path starts at place m, which stands for the item that is being matched.

    Attributes:
        item: matched item of each place, -1 = none yet.
        price: u of that item.
        dual: v of each place.
        distance: of each place from the start of the path.
        before: the place before each one on the shortest path.
        done: places whose distance is final.
        at: the item to scan.
        price_at: u of that item.
        origin: the place where it is, m for the item that is being matched.
        base: distance of that place.
        start: item that is being matched, m when all are.
        end: place where the path is being turned around, -1 while searching.
    """

    item: Int[Array, "items *batch"]
    price: Num[Array, "items *batch"]
    dual: Num[Array, "items *batch"]
    distance: Num[Array, "items *batch"]
    before: Int[Array, "items *batch"]
    done: Bool[Array, "items *batch"]
    at: Int[Array, "*batch"]
    price_at: Num[Array, "*batch"]
    origin: Int[Array, "*batch"]
    base: Num[Array, "*batch"]
    start: Int[Array, "*batch"]
    end: Int[Array, "*batch"]


def assignment(costs: PairMatrixLike) -> Ranks:
    """Give each item a place such that the total cost is least.

    One problem, for ``jit`` and ``vmap``; in floating point the result is optimal up to rounding. Of several optima it
    gives one. On the host, ``scipy.optimize.linear_sum_assignment`` solves a single large problem faster.

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
    return _run(given)


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
def _run(costs: Num[Array, "items items"]) -> Ranks:
    return (chunked(_assign, _CPU_LANES) if len(costs) <= _MOST_ITEMS else chunked(_assign))(costs)


def _assign(costs: Num[Array, "problems items items"]) -> Int[Array, "problems items"]:
    problems, items, _ = costs.shape
    if jnp.issubdtype(costs.dtype, jnp.floating):  # the loop ends whatever traced costs hold
        most = jnp.finfo(costs.dtype).max / 8
        costs = jnp.where(jnp.isnan(costs), most, jnp.clip(costs, -most, most))
    costs = costs - jnp.min(costs, axis=2, keepdims=True)
    costs = costs - jnp.min(costs, axis=1, keepdims=True)
    number = jnp.arange(problems)
    along, take, step = 1, _take, _step
    if problems < _FEWEST or items > _MOST_ITEMS:
        along, take, step = 0, jax.vmap(_take, (0, None, 0, 0)), jax.vmap(_step, (0, 1, 0))

    def greedy(state: tuple[Array, Array], one: Array) -> tuple[tuple[Array, Array], Array]:
        item, following = take(jnp.moveaxis(costs[:, one], 0, along), one, *state)
        return (item, following), following

    def advance(state: _Search) -> _Search:
        rows = costs[number, jnp.minimum(state.at, items - 1)]
        return step(jnp.moveaxis(rows, 0, along), left, state)

    shape = (items, problems) if along else (problems, items)
    nobody = jnp.full(shape, -1, jnp.int32), jnp.full(problems, items, jnp.int32)
    every = jnp.arange(items, dtype=jnp.int32)
    (item, start), left = jax.lax.scan(greedy, nobody, every, reverse=True)
    state = jax.lax.while_loop(
        lambda state: jnp.any(state.start < items), advance, _begin(costs.dtype, item, start, items)
    )
    item = jnp.moveaxis(state.item, along, 0)
    return jax.vmap(lambda one: every.at[one].set(every))(item)


def _take(
    row: Num[Array, "items *batch"],
    one: Int[Array, ""],
    item: Int[Array, "items *batch"],
    following: Int[Array, "*batch"],
) -> tuple[Int[Array, "items *batch"], Int[Array, "*batch"]]:
    """Match an item to the first free place that costs it nothing; also the first item from there on that is left."""
    index = _places(row)
    first = jnp.min(jnp.where((row == 0) & (item < 0), index, len(row)), 0)
    return jnp.where(index == first, one, item), jnp.where(first == len(row), one, following)


def _begin(dtype: np.dtype, item: Array, start: Array, items: int) -> _Search:
    zeros, nothing = jnp.zeros(item.shape, dtype), jnp.zeros(start.shape, dtype)
    nowhere = jnp.full_like(start, items)
    return _Search(
        item=item,
        price=zeros,
        dual=zeros,
        distance=jnp.full(item.shape, _far(dtype)),
        before=jnp.full_like(item, items),
        done=jnp.zeros(item.shape, bool),
        at=start,
        price_at=nothing,
        origin=nowhere,
        base=nothing,
        start=start,
        end=jnp.where(start < items, -1, nowhere),
    )


def _far(dtype: np.dtype) -> Array:
    known = jnp.iinfo(dtype).max if jnp.issubdtype(dtype, jnp.integer) else jnp.inf
    return jnp.asarray(known, dtype)


def _places(row: Num[Array, "items *batch"]) -> Int[Array, "items *ones"]:
    return jnp.arange(len(row), dtype=jnp.int32).reshape(-1, *[1] * (row.ndim - 1))


def _at(values: Num[Array, "items *batch"], place: Int[Array, "*batch"]) -> Num[Array, "*batch"]:
    return jnp.take_along_axis(values, place[None], 0, mode="promise_in_bounds")[0]


def _step(
    row: Num[Array, "items *batch"], left: Int[Array, "items *batch"], state: _Search
) -> _Search:
    """Scan the places of one item unless a path is being turned around; then turn one place of a path that was found.

    Args:
        row: costs of the item to scan, with minima subtracted.
        left: the first item from each one on that the greedy start left unmatched, m if none.
        state: of the search.
    """
    items, index, far = len(row), _places(row), _far(row.dtype)
    searching = state.end < 0

    length = (state.base - state.price_at) + row - state.dual
    shorter = ~state.done & (length < state.distance) & searching
    distance = jnp.where(shorter, length, state.distance)
    before = jnp.where(shorter, state.origin, state.before)
    waiting = jnp.where(state.done, far, distance)
    low = jnp.min(waiting, 0)
    choice = jnp.where(state.item < 0, index, index + items)  # a free place first
    choice = jnp.min(jnp.where(waiting == low, choice, 2 * items), 0)
    nearest = jnp.where(choice < items, choice, choice - items)
    found = searching & (choice < items)
    done = state.done | (searching & (index == nearest))
    base = jnp.where(searching, low, state.base)
    slack = jnp.where(done & found, base - distance, 0)
    dual, price = state.dual - slack, state.price + slack

    end = jnp.where(found, nearest, state.end)
    turning = end >= 0
    previous = _at(before, jnp.where(turning, jnp.minimum(end, items - 1), nearest))
    last = previous == items
    there = jnp.where(turning, jnp.minimum(previous, items - 1), nearest)
    item_there, price_there = _at(state.item, there), _at(price, there)
    turned = turning & (index == end)
    item = jnp.where(turned, jnp.where(last, state.start, item_there), state.item)
    price = jnp.where(turned, jnp.where(last, base, price_there), price)

    anew = turning & last
    start = jnp.where(anew, _following(left, state.start), state.start)
    return _Search(
        item=item,
        price=price,
        dual=dual,
        distance=jnp.where(anew, far, distance),
        before=before,
        done=done & ~anew,
        at=jnp.where(anew, start, jnp.where(turning, state.at, item_there)),
        price_at=jnp.where(anew, 0, price_there),
        origin=jnp.where(anew, items, nearest),
        base=jnp.where(anew, 0, base),
        start=start,
        end=jnp.where(start == items, items, jnp.where(anew | ~turning, -1, previous)),
    )


def _following(left: Int[Array, "items *batch"], start: Int[Array, "*batch"]) -> Array:
    """The next item after ``start`` that has no place, m if none."""
    after = start + 1
    return jnp.where(after < len(left), _at(left, jnp.minimum(after, len(left) - 1)), len(left))
