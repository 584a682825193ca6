r"""Exact randomized response, by OpenDP.

Each bit is flipped by a Bernoulli sampler that is exact for its probability p, a double, and uses the operating
system's entropy. 1-p is the largest double, up to a few units in the last place, for which OpenDP proves log((1-p)/p)
<= ε, rounded conservatively; 1 - (1-p) is exact for 1-p in [1/2, 1], so p is its exact complement. Beyond ε = 36.7 bits
are flipped more often than asked for: once in 2^53.
"""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Bool

from privrank_jax._types import NumbersLike, ReportsLike
from privrank_jax._validate import check_epsilon, check_positive
from privrank_jax.privacy.local import check_bits
from privrank_jax.release.library import load_opendp

_CHUNK = 1 << 20


def exact_randomized_response(
    bits: ReportsLike, epsilon: NumbersLike
) -> Bool[np.ndarray, "reports"]:
    """Report each bit, or its opposite with probability 1/(e^ε + 1), for releases.

    **Guarantee.** ε-local DP for each bit (adjacency ``flip``, unit one comparison), exactly; a user who gives
    several reports spends the sum of their ε. Runs on the host: no tracing, no key.

    Args:
        bits: ``(N,)`` answers, bool or 0/1.
        epsilon: ``(N,)`` or one number, ε > 0, finite.

    Returns:
        The reports, ``(N,)`` bool NumPy array.

    Raises:
        ValueError: ε not positive and finite, bits other than 0 and 1, shapes that don't fit.
        ImportError: OpenDP is not installed, or unsound.

    >>> exact_randomized_response([True, False], 40.0).tolist()
    [True, False]
    """
    epsilon = check_epsilon(epsilon)
    check_positive("epsilon", epsilon, infinite=False)
    check_bits("bits", bits)
    bits = np.asarray(bits).astype(bool)
    if bits.ndim != 1 or np.shape(epsilon) not in ((), bits.shape):
        raise ValueError(
            f"bits must have shape (N,) and epsilon (N,) or (), got {bits.shape} and {np.shape(epsilon)}."
        )
    levels, which = np.unique(np.broadcast_to(epsilon, bits.shape), return_inverse=True)
    order = np.argsort(which, kind="stable")
    reports = np.empty_like(bits)
    for level, rows in zip(levels, np.split(order, np.cumsum(np.bincount(which))[:-1])):
        keep = keep_probability(float(level))
        for start in range(0, rows.size, _CHUNK):
            part = rows[start : start + _CHUNK]
            reports[part] = _flip_some(bits[part], keep)
    return reports


def keep_probability(epsilon: float) -> float:
    """1-p, a double in [1/2, 1), for which OpenDP proves that a report is ε-local DP.

    Raises:
        ValueError: ε is too small for double precision.
        ImportError: OpenDP is not installed, or unsound.

    >>> round(keep_probability(math.log(3)), 12)
    0.75
    """
    dp = load_opendp()
    keep = min(1 / (1 + math.exp(-epsilon)), math.nextafter(1.0, 0.0))
    for _ in range(16):  # the quotient is rounded to nearest; the proof needs it rounded down
        if dp.m.make_randomized_response_bool(keep).map(1) <= epsilon:
            break
        keep = math.nextafter(keep, 0.0)
    if not (keep > 0.5 and dp.m.make_randomized_response_bool(keep).map(1) <= epsilon):
        raise ValueError(f"epsilon = {epsilon!r} is too small for double precision.")
    return keep


def _flip_some(bits: Bool[np.ndarray, "part"], keep: float) -> Bool[np.ndarray, "part"]:
    """Flip each bit with probability 1 - keep, all in one call, since only calls are slow."""
    dp = load_opendp()
    domain = dp.bitvector_domain(max_weight=8 * -(-bits.size // 8))
    flip = dp.m.make_randomized_response_bitvec(
        domain,
        dp.discrete_distance(),
        f=2 * (1 - keep),  # flips with probability f/2
    )
    packed = np.frombuffer(flip(np.packbits(bits).tobytes()), np.uint8)
    return np.unpackbits(packed, count=bits.size).astype(bool)
