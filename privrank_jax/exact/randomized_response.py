r"""Exact randomized response, by integers.

A bit is reported as it is if a uniform word of 64 bits lies below ⌊2^64 F⌋, F = 1/(1 + e^-ε), with e^-ε bounded from
above by a ball. So it is flipped with a probability p, a rational, of which log((1-p)/p) ≤ ε. Beyond ε = 44.4 bits are
flipped more often than asked for: once in 2^64.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool

from privrank_jax._balls import exp_above
from privrank_jax._types import NumbersLike, ReportsLike
from privrank_jax._validate import check_epsilon, check_positive, check_shape
from privrank_jax.exact.entropy import random_words
from privrank_jax.privacy.local import check_bits

_CHUNK = 1 << 20  # words drawn at once: bounds memory
_LARGEST_EPSILON = 64.0  # a larger ε is kept as well, and no word differs


def flipped_bits(bits: ReportsLike, epsilon: NumbersLike) -> Bool[np.ndarray, "reports"]:
    """Report each bit, or its opposite with probability 1/(e^ε + 1), for releases.

    **Guarantee.** ε-local DP for each bit (adjacency ``flip``, unit one comparison), exactly; a user who gives
    several reports spends the sum of their ε.

    Args:
        bits: ``(N,)`` answers, bool or 0/1.
        epsilon: ``(N,)`` or one number, ε > 0, finite.

    Returns:
        The reports, ``(N,)`` bool NumPy array.

    Raises:
        ValueError: ε not positive and finite, bits other than 0 and 1, shapes that don't fit.

    >>> flipped_bits([True, False], 40.0).tolist()
    [True, False]
    """
    epsilon = check_epsilon(epsilon)
    check_positive("epsilon", epsilon, infinite=False)
    check_bits("bits", bits)
    bits = np.asarray(bits).astype(bool)
    check_shape("bits", bits, ("N",))
    check_shape("epsilon", epsilon, (), bits.shape)
    levels, which = np.unique(np.broadcast_to(epsilon, bits.shape), return_inverse=True)
    kept = np.array([kept_below(float(level)) for level in levels], np.uint64)
    reports = np.empty_like(bits)
    for start in range(0, bits.size, _CHUNK):
        part = slice(start, start + _CHUNK)
        reports[part] = bits[part] ^ (random_words(bits[part].size) >= kept[which[part]])
    return reports


def kept_below(epsilon: float) -> int:
    """2^64 times the probability that a bit is reported as it is: a word below it says so.

    Raises:
        ValueError: ε is too small for words of 64 bits.

    >>> kept_below(1.0986122886681098) / 2**64
    0.75
    """
    words = int(2**64 / (1 + exp_above(-min(epsilon, _LARGEST_EPSILON))))
    if words <= 2**63:
        raise ValueError(f"epsilon = {epsilon!r} is too small for words of 64 bits.")
    return words
