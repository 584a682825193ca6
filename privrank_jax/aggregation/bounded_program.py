r"""The Kemeny optimum of up to 62 items without any order: a dynamic program over prefixes that bounds cut short.

A state is a set of items ranked first, in the best order found for it; what is left is to rank the others. The states
of one size make a layer. Each is extended by every item that may come next, and of several ways to one set the cheapest
stays. There are far too many sets, but a state is dropped if no completion can beat the best ranking known.

**Costs.** Let P_ij be w_ji − w_ij, rounded to integers. A ranking costs Σ_{i<j} (w_ij + w_ji)/2 + V/2, where V is the
sum of P_ij over the pairs with i before j.

**Bounds** on what is left come from triangles (:mod:`~privrank_jax.aggregation.triangle_bounds`). They have a large gap
for 40 items and hardly any for 20, so most states are dropped once some ten items are ranked. A state's multipliers
start from those of the state that it extends, which also bound each extension before it is made.

**Blocks.** In an optimal ranking no block of items can be moved to the end with a gain. A state or extension that
breaks this is dropped. Were its set a prefix of an optimal ranking, the same ranking with the state's own order, which
costs no more, would be optimal too, and gain by the move.
"""

from __future__ import annotations

import math
import time
from typing import NamedTuple

import jax
import numpy as np
from jaxtyping import Float, Int

from privrank_jax.aggregation.iterated_search import BestOrder, descend_orders
from privrank_jax.aggregation.triangle_bounds import (
    pair_places,
    pairs,
    triangle_bounds,
    triple_places,
    triples,
)

MOST_ITEMS = 62  # bits of a set
_BATCH, _STEP = 32, 4
_FIRST_STEPS, _STEPS = 300, 40
_SUM_BITS, _BYTES, _OFFERED = 46, 2**30, 8


class Outcome(NamedTuple):
    """What the search has found.

    Attributes:
        order: items from best to worst, of the best ranking known.
        value: its V.
        bound: no ranking has a smaller V; equal to ``value`` where the search was completed.
        states: prefixes whose bound was computed.
    """

    order: Int[np.ndarray, "items"]
    value: int
    bound: int
    states: int


class _Layer(NamedTuple):
    """Prefixes of one size: ``slots`` holds the items left, m where a slot is empty."""

    prefix: np.ndarray  #: (states, size)
    slots: np.ndarray  #: (states, slots)
    spent: np.ndarray  #: (states,) V of the pairs with an item of the prefix
    bound: np.ndarray  #: (states,) on V of a whole ranking
    signs: np.ndarray  #: (states, pairs) float16
    multipliers: np.ndarray  #: (states, triples) float16
    last: np.ndarray | None = None  #: (states, slots) small for items to be ranked first


def integer_prices(weights: np.ndarray) -> tuple[np.ndarray, float]:
    """P as integers and their unit: P_ij · unit = w_ji − w_ij.

    Leads that are multiples of one number to twelve digits, as shares of users are, become those multiples. Others are
    rounded to multiples of a power of two, so that they sum to about 2^46.
    """
    lead = weights.T - weights
    top = float(np.abs(lead).max(initial=0.0))
    if top == 0:
        return np.zeros(lead.shape, np.int64), 1.0
    unit = _common_unit(np.unique(np.abs(lead)), top)
    if not unit:
        unit = 2.0 ** (math.frexp(float(np.abs(lead).sum() / 2))[1] - _SUM_BITS)
    return np.rint(lead / unit).astype(np.int64), unit


def _common_unit(leads: np.ndarray, top: float) -> float:
    """The largest number that all leads are multiples of, to twelve digits; 0 if it is below 1e-6 of the largest."""
    unit = 0.0
    for lead in leads[leads > 0]:
        large, small = max(unit, float(lead)), min(unit, float(lead))
        while small > 1e-9 * top:
            large, small = small, abs(large - small * round(large / small))
        unit = large
        if unit < 1e-6 * top:
            return 0.0
    count = np.rint(leads / unit)
    unit = float((leads * count).sum() / (count * count).sum())
    return unit if np.all(np.abs(leads - count * unit) < 1e-12 * top) else 0.0


def bounded_program(prices: np.ndarray, order: np.ndarray, deadline: float = math.inf) -> Outcome:
    """Find an order of least V, or the best one and bound found before the deadline.

    Args:
        prices: P, ``(m, m)`` int64, antisymmetric, m <= 62, Σ_{i<j} |P_ij| <= 2^46.
        order: a ranking to start from, items from best to worst; the better it is, the fewer states stay.
        deadline: of ``time.monotonic()``.

    Returns:
        :class:`Outcome`; its bound is below its value only if the deadline, or 1 GiB of multipliers, cut it short.
    """
    best = BestOrder(prices, order)
    if not prices.any():
        return Outcome(best.order, best.value, best.value, 0)
    best.search(deadline)
    problem = _problem(prices, deadline)
    items, states, proven = len(prices), 0, -math.inf
    slots = -(-items // _STEP) * _STEP
    layer = _Layer(
        prefix=np.zeros((1, 0), np.int64),
        slots=np.pad(np.arange(items), (0, slots - items), constant_values=items)[None],
        spent=np.zeros(1),
        bound=np.full(1, -np.abs(problem.prices).sum() / 2),
        signs=np.zeros((1, pairs(slots).shape[1]), np.float16),
        multipliers=np.zeros((1, triples(slots).shape[1]), np.float16),
    )
    for left in range(items - 1, -1, -1):
        states += len(layer.spent)
        grown, bound = _grow(layer, problem, best)
        proven = max(proven, bound)
        if grown is None:
            break
        layer = _compact(grown, left)
    missing = max(best.value - proven / problem.shift, 0)
    least = best.value - problem.step * math.floor(missing / problem.step)
    return Outcome(best.order, best.value, least, states)


class _Problem(NamedTuple):
    """What all states share.

    Attributes:
        prices: P times ``shift``, with a row and a column of zeros for empty slots.
        scale: the mean of their sizes.
        step: values of V differ by multiples of it.
        shift: a power of two.
        deadline: of ``time.monotonic()``.
    """

    prices: Float[np.ndarray, "items+1 items+1"]
    scale: float
    step: int
    shift: int
    deadline: float

    def limit(self, best: BestOrder) -> float:
        """The largest V, times ``shift``, that is better than the best known."""
        return float((best.value - self.step) * self.shift)


def _problem(prices: np.ndarray, deadline: float) -> _Problem:
    items = len(prices)
    shift = 2 ** max(_SUM_BITS - int(np.abs(prices).sum() // 2).bit_length(), 0)
    padded = np.zeros((items + 1, items + 1))
    padded[:items, :items] = prices * float(shift)
    scale = float(np.abs(padded).sum() / (items * (items - 1)))
    return _Problem(padded, scale, 2 * int(np.gcd.reduce(prices, axis=None)), shift, deadline)


def _grow(layer: _Layer, problem: _Problem, best: BestOrder) -> tuple[_Layer | None, float]:
    """The next layer, None if there is none, and a bound on all rankings that are better than the best."""
    layer, children = _bounded(layer, problem)
    if children is None:
        return None, float(layer.bound.min())
    near = np.argsort(layer.bound, kind="stable")[:_OFFERED]
    best.offer(descend_orders(best.prices, _completed(layer, len(best.prices))[near]))
    limit = problem.limit(best)
    after, total = _extensions(layer, children, problem.prices)
    state, slot = np.nonzero(total <= limit)
    after, total = after[state, slot], total[state, slot]
    # Of the ways to one set, the cheapest gives the order, and the one with the best bound the multipliers.
    bits = np.append(1 << np.arange(len(best.prices), dtype=np.int64), 0)
    left = bits[layer.slots].sum(1)[state] - bits[layer.slots[state, slot]]
    by_cost, by_bound = np.lexsort((after, left)), np.lexsort((after - total, left))
    first = np.flatnonzero(np.diff(left[by_cost], prepend=-1))
    cheap, tight = by_cost[first], by_bound[first]
    total = after[cheap] + (total - after)[tight]
    stays = total <= limit
    cheap, tight, total = cheap[stays], tight[stays], total[stays]
    if not len(total):
        return None, math.inf
    if len(total) * layer.multipliers.shape[1] * 2 > _BYTES:
        return None, float(total.min())
    slots = layer.slots[state[tight]]
    slots[np.arange(len(slots)), slot[tight]] = len(best.prices)
    item = layer.slots[state[cheap], slot[cheap]]
    grown = _Layer(
        prefix=np.concatenate([layer.prefix[state[cheap]], item[:, None]], axis=1),
        slots=slots,
        spent=after[cheap],
        bound=total,
        signs=layer.signs[state[tight]],
        multipliers=layer.multipliers[state[tight]],
    )
    return grown, float(total.min())


def _bounded(layer: _Layer, problem: _Problem) -> tuple[_Layer, np.ndarray | None]:
    """The layer with better multipliers and bounds, and bounds on V of what is left after each item; None if the
    time is up before."""
    states = len(layer.spent)
    parts = layer.bound.copy(), np.empty(layer.slots.shape), np.empty(layer.slots.shape)
    bound, after, last = parts
    signs, multipliers = np.empty_like(layer.signs), np.empty_like(layer.multipliers)
    steps = _STEPS if layer.prefix.shape[1] else _FIRST_STEPS
    for start in range(0, states, _BATCH):
        real = slice(start, min(start + _BATCH, states))
        rows = np.minimum(np.arange(start, start + _BATCH), states - 1)
        here = layer.slots[rows].T
        price = problem.prices[here[:, None], here]
        with jax.enable_x64(True):
            found = triangle_bounds(
                price, problem.scale, layer.signs[rows].T, layer.multipliers[rows].T, steps
            )
        host = [np.asarray(part)[..., : real.stop - start].T for part in found]
        bound[real] = np.maximum(bound[real], layer.spent[real] + host[0])
        after[real], last[real], signs[real], multipliers[real] = host[1:]
        if time.monotonic() > problem.deadline:
            return layer._replace(bound=bound), None
    better = layer._replace(bound=bound, signs=signs, multipliers=multipliers, last=last)
    return better, after


def _completed(layer: _Layer, items: int) -> np.ndarray:
    """Whole orders: each prefix, and the items left in the order of their signs."""
    order = np.take_along_axis(
        layer.slots, np.argsort(np.asarray(layer.last), axis=1, kind="stable"), axis=1
    )
    return np.concatenate([layer.prefix, order[order < items].reshape(len(order), -1)], axis=1)


def _extensions(
    layer: _Layer, children: np.ndarray, prices: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What is spent after each item in each slot, and bounds on V of whole rankings; infinite where none is best."""
    added = prices[layer.slots[:, :, None], layer.slots[:, None, :]].sum(2)
    after = layer.spent[:, None] + added
    total = np.maximum(after + children, layer.bound[:, None])
    impossible = (added > 0) | (layer.slots == len(prices) - 1)
    impossible |= _block_gains(layer, prices)[:, None]
    return after, np.where(impossible, np.inf, total)


def _block_gains(layer: _Layer, prices: np.ndarray) -> np.ndarray:
    """Whether some block of the prefix gains by moving behind all other items."""
    size = layer.prefix.shape[1]
    if not size:
        return np.zeros(len(layer.prefix), bool)
    rest = prices[layer.prefix[:, :, None], layer.slots[:, None, :]].sum(2)
    within = prices[layer.prefix[:, :, None], layer.prefix[:, None, :]]
    passed = np.cumsum(within[:, :, ::-1], axis=2)[:, :, ::-1] - within + rest[:, :, None]
    passed *= np.triu(np.ones((size, size)))
    return np.any(np.cumsum(passed[:, ::-1], axis=1) > 0, axis=(1, 2))


def _compact(layer: _Layer, left: int) -> _Layer:
    """Fewer slots, where as many are empty: another program for the bounds."""
    old = layer.slots.shape[1]
    new = max(-(-left // _STEP) * _STEP, _STEP)
    if new == old:
        return layer
    empty = layer.slots == layer.slots.max()
    keep = np.sort(np.argsort(empty, axis=1, kind="stable")[:, :new], axis=1)
    pair, triple = pairs(new), triples(new)
    rows = np.arange(len(keep))[:, None]
    signs = layer.signs[rows, pair_places(old)[keep[:, pair[0]], keep[:, pair[1]]]]
    places = triple_places(old)[keep[:, triple[0]], keep[:, triple[1]], keep[:, triple[2]]]
    return layer._replace(
        slots=np.take_along_axis(layer.slots, keep, axis=1), signs=signs,
        multipliers=layer.multipliers[rows, places],
    )  # fmt: skip
