r"""Sums of randomized reports that arrive one by one or in shards: exact in any order.

The state is all that :func:`~privrank_jax.pairwise.debiased_rr` needs of the reports: per pair, D = Σ t(ỹ - 1/2) and
W = Σ t², t = tanh(ε/2). Floating-point sums depend on the order of their terms, so these are kept as integers: a term,
at most 1 in size, is rounded once, toward 0, to a multiple of 2^-48, and held as a whole part and three limbs of 16
bits. Integer addition is exact, so states of the same reports are equal bit for bit however the reports are ordered,
split into shards and merged. The rounding changes a sum of n reports by less than n·2^-48.

>>> state = init(3)
>>> state = update(state, [0, 1], [1, 2], [1, 0], epsilon=2.0)  # 0 over 1, 2 over 1
>>> later = update(init(3), [2], [0], [0], epsilon=[1.0])  # 0 over 2, from another shard
>>> finish(merge(state, later)).value.argsort().tolist()
[1, 2, 0]
"""

from __future__ import annotations

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, DTypeLike, Float, Int

from privrank_jax._arguments import is_whole
from privrank_jax._pytrees import pytree, static
from privrank_jax._types import Count, NumbersLike, ReportsLike, Scalar
from privrank_jax._validate import check_epsilon, check_positive, check_shape, is_traced
from privrank_jax.comparisons import default_float
from privrank_jax.estimate import Estimate
from privrank_jax.links import Link
from privrank_jax.pairwise.debiased_fit import DebiasedSums, scores_from_sums
from privrank_jax.pairwise.meetings import check_items
from privrank_jax.privacy.guarantee import Guarantee
from privrank_jax.privacy.local import check_reports
from privrank_jax.privacy.privacy import Privacy

_BITS = 16
_MASK = (1 << _BITS) - 1
_LIMBS = 4  # the whole part, then three fractions
# Number of terms between carries: 2^14 terms below 2^16 added to a carried limb stay below 2^31.
_CHUNK = 1 << 14


@pytree
class ReportSums:
    """Sums of reports over m items, P = m(m-1)/2 pairs. Its size doesn't depend on the number of reports.

    Attributes:
        limbs: ``(P, 8)`` int32: four limbs of D, then four of W, carried: all but the whole parts in
            [0, 2^16). Whole parts hold up to 2^31 reports of one pair.
        largest_epsilon: ``()`` float32, the largest ε seen, rounded up; 0 before the first report.
        num_items: m, static.
    """

    limbs: Int[Array, "*batch pairs 8"]
    largest_epsilon: Float[Array, "*batch"]
    num_items: int = static()


def init(num_items: int) -> ReportSums:
    """The state before any report, for m items: 16 m² bytes.

    Raises:
        ValueError: ``num_items`` isn't an integer from 2 to 46340, beyond which pairs have no 32-bit number.
    """
    if not is_whole(num_items) or not 2 <= num_items <= 46340:
        raise ValueError(f"num_items must be an integer from 2 to 46340, got {num_items!r}.")
    limbs = jnp.zeros((num_items * (num_items - 1) // 2, 2 * _LIMBS), jnp.int32)
    return ReportSums(limbs, jnp.zeros((), jnp.float32), int(num_items))


def update(
    state: ReportSums,
    first: ReportsLike,
    second: ReportsLike,
    reports: ReportsLike,
    epsilon: NumbersLike,
    mask: ReportsLike | None = None,
) -> ReportSums:
    """Add a shard of reports. Each length N compiles once, so pad shards to one length with ``mask``.

    Args:
        state: the sums so far.
        first: ``(N,)`` int, an item of each comparison (or one number, for one report).
        second: ``(N,)`` int, the other.
        reports: ``(N,)``, bool, 0/1 or -1/+1, randomized: 1 means that ``first`` is preferred.
        epsilon: ``(N,)`` or one number, ε > 0 of each report.
        mask: ``(N,)`` bool; False drops a row, which may hold anything except that its ε must be positive.

    Returns:
        The new state. Traced rows with an item out of range, or compared with itself, are dropped.

    Raises:
        ValueError: ε <= 0, other reports, items out of range or compared with themselves, shapes that don't fit.
    """
    epsilon = jnp.asarray(check_epsilon(epsilon))
    rows = [_as_rows(jnp.asarray(x)) for x in (first, second, reports)]
    size = rows[0].shape
    keep = jnp.ones(size, bool) if mask is None else _as_rows(jnp.asarray(mask, bool))
    shapes = [row.shape for row in (*rows, keep)]
    if len(size) != 1 or set(shapes) != {size}:
        raise ValueError(f"first, second, reports and mask need one shape (N,), got {shapes}.")
    check_shape("epsilon", epsilon, (), size)
    if not is_traced(first, second, reports, mask):
        check_reports(reports, where=None if mask is None else np.asarray(keep))
        check_items(np.asarray(first), np.asarray(second), state.num_items, np.asarray(keep))
    if not jnp.issubdtype(epsilon.dtype, jnp.floating):
        epsilon = epsilon.astype(default_float())
    columns = *rows, jnp.broadcast_to(epsilon, size), keep
    for start in range(0, size[0], _CHUNK):
        state = _update(state, *(column[start : start + _CHUNK] for column in columns))
    return state


def _as_rows(x: Array) -> Array:
    """One row from one number, without a program for each shape, which ``jnp.atleast_1d`` compiles."""
    return x if x.ndim else x[None]


@jax.jit
def merge(state: ReportSums, other: ReportSums) -> ReportSums:
    """The state of the reports of both, of the same items, bit for bit as if one state had received them all."""
    if state.num_items != other.num_items:
        raise ValueError(
            f"sums over {state.num_items} and {other.num_items} items can't be merged; "
            "start both from the same item list."
        )
    limbs = _carry(state.limbs + other.limbs)
    largest = jnp.maximum(state.largest_epsilon, other.largest_epsilon)
    return ReportSums(limbs, largest, state.num_items)


def finish(
    state: ReportSums,
    link: str | Link = "logistic",
    gamma: Scalar = 2.0,
    *,
    reports_per_user: Count | None = None,
    dtype: DTypeLike | None = None,
) -> Estimate:
    """Scores from the reports so far: the estimate of :func:`~privrank_jax.pairwise.debiased_rr` on them.

    Args:
        state: the sums, which can still receive more reports.
        link: as :func:`~privrank_jax.pairwise.debiased_rr`, and ``gamma``.
        reports_per_user: S, the largest number of reports by any one user, if known; the sums don't record it.
        dtype: float type of the scores (default: JAX's default float).

    Returns:
        As there. ``guarantee``: local, for one comparison the largest ε; for one user S times that, if S is given.

    Raises:
        ValueError: no reports yet, S < 1, or as there.
    """
    if not is_traced(state) and not np.any(np.asarray(state.largest_epsilon)):
        raise ValueError("no reports yet: update the state before finishing it.")
    estimate = scores_from_sums(to_sums(state, dtype), link, gamma)
    largest, also = state.largest_epsilon, ()
    if reports_per_user is not None:
        check_positive("reports_per_user", reports_per_user, infinite=False)
        also = (Privacy.proven(largest * reports_per_user, unit="user", adjacency="flip"),)
    told = Privacy.proven(largest, unit="comparison", adjacency="flip")
    note = "the largest epsilon of any report; a user who gave several spends their sum."
    guarantee = Guarantee(told, trust="local", note=note, also=also)
    return dataclasses.replace(estimate, guarantee=guarantee)


@jax.jit
def _update(
    state: ReportSums, first: Array, second: Array, reports: Array, epsilon: Array, keep: Array
) -> ReportSums:
    low, high = jnp.minimum(first, second), jnp.maximum(first, second)
    keep = keep & (low >= 0) & (low < high) & (high < state.num_items)
    low, high = low.astype(jnp.int32), high.astype(jnp.int32)
    pair = low * state.num_items - low * (low + 1) // 2 + high - low - 1
    pair = jnp.where(keep, pair, state.limbs.shape[0])  # beyond the end: the scatter drops it
    won = (reports == 1) == (first < second)
    tanh = jnp.tanh(0.5 * epsilon)
    sign = jnp.where(won, 1, -1).astype(jnp.int32)
    terms = jnp.concatenate([sign[:, None] * _fixed(0.5 * tanh), _fixed(tanh * tanh)], axis=1)

    limbs = _carry(state.limbs.at[pair].add(terms, mode="drop"))
    seen = jnp.max(jnp.where(keep, _rounded_up(epsilon), 0.0), initial=0.0)
    return ReportSums(limbs, jnp.maximum(state.largest_epsilon, seen), state.num_items)


@functools.partial(jax.jit, static_argnames=("dtype",))
def to_sums(state: ReportSums, dtype: DTypeLike | None = None) -> DebiasedSums:
    """D and W, of JAX's default float or ``dtype``, for any estimator that takes them."""
    dtype = default_float() if dtype is None else dtype
    scale = jnp.asarray([2.0 ** (-_BITS * place) for place in range(_LIMBS)], dtype)
    parts = state.limbs.astype(dtype).reshape(-1, 2, _LIMBS) * scale
    total = parts[..., 3]
    for place in (2, 1, 0):  # small to large
        total = parts[..., place] + total
    return DebiasedSums.from_pairs(total[:, 0], total[:, 1])


def _fixed(value: Array) -> Array:
    """Numbers in [0, 1] as int32 limbs, cut at 2^-48. Scaling by 2^16 and taking the floor are exact."""
    limbs = []
    for _ in range(_LIMBS):
        whole = jnp.floor(value)
        limbs.append(whole.astype(jnp.int32))
        value = (value - whole) * 2.0**_BITS
    return jnp.stack(limbs, axis=-1)


def _carry(limbs: Array) -> Array:
    """Canonical limbs of the same numbers: fractions in [0, 2^16), any sign in the whole parts."""
    numbers = limbs.reshape(-1, 2, _LIMBS)
    carried, carry = [], jnp.zeros(numbers.shape[:-1], jnp.int32)
    for place in (3, 2, 1):
        number = numbers[..., place] + carry
        carried.append(number & _MASK)
        carry = number >> _BITS  # the floor, for negative numbers too
    carried.append(numbers[..., 0] + carry)
    return jnp.stack(carried[::-1], axis=-1).reshape(limbs.shape)


def _rounded_up(epsilon: Array) -> Array:
    """float32 that is at least ε."""
    # XLA takes a conversion to float32 and back for none at all on a GPU; this rounds everywhere.
    rounded = jax.lax.reduce_precision(epsilon, exponent_bits=8, mantissa_bits=23)
    single = rounded.astype(jnp.float32)
    above = jnp.nextafter(single, jnp.float32(jnp.inf))
    above = jnp.maximum(above, jnp.finfo(jnp.float32).tiny)  # smaller ones are rounded to 0
    return jnp.where(rounded < epsilon, above, single)
