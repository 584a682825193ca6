r"""Laplace noise on integers, P(X = x) ∝ e^{-\|x\|/s}, from bits that the caller supplies, drawn exactly.

**Guarantee.** Integers whose neighbors differ by at most Δ in ℓ₁, plus independent X of s = Δ/ε, are ε-DP: each
probability changes by at most e^{Δ/s} (Ghosh, Roughgarden, Sundararajan 2009). s is a rational, so no rounding enters.

**Draw.** X = G - G' with independent geometric numbers, P(G >= k) = e^{-k/s}: G is the number of k >= 1 with U <
e^{-k/s}, U uniform, that is ⌊-s log U⌋. U is known by 64 bits, a word w, at first. Their logarithm in doubles is wrong
by at most 1/w + 2^-45 where w >= 2^34: U lies within 2^-65 of (w + 1/2) 2^-64, doubles round with relative errors of
2^-53 or a few of them, and -log U is below 21 there.

Where this decides G, it is decided. Elsewhere further bits are drawn, from a branch of their own, and compared with
balls that hold e^{-k/s} until they decide. Beyond s = 2^45 that is everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from privrank_jax._balls import ball
from privrank_jax._search import first_above
from privrank_jax.exact.balls import Uniform
from privrank_jax.exact.entropy import SYSTEM, Source, random_words

LARGEST = 2**53  # of s
_FEW = np.uint64(2**34)  # words below it hold too few significant bits for a decision by doubles
_MARGIN = 2.0**-45


def laplace_mechanism(
    values: np.ndarray, noise_scale: Fraction, sources: Sequence[Source]
) -> np.ndarray:
    """Integers plus independent Laplace noise on integers, ``(k, m)`` float64.

    Args:
        values: ``(k, m)`` integers.
        noise_scale: s.
        sources: of the noise of each of the k rows, independent and secret.
    """
    rows = [
        row + integer_laplace(row.size, noise_scale, source)
        for row, source in zip(values, sources, strict=True)
    ]
    return np.array(rows, np.float64).reshape(values.shape)


def integer_laplace(count: int, scale: Fraction, source: Source = SYSTEM) -> np.ndarray:
    """Independent numbers X, ``(count,)`` int64.

    Args:
        count: how many, at least 0.
        scale: s, above 0 and at most 2^53.
        source: of random bits.

    Raises:
        ValueError: s out of range.

    >>> integer_laplace(3, Fraction(1, 100)).tolist()
    [0, 0, 0]
    """
    if not 0 < scale <= LARGEST:
        raise ValueError(
            "exact Laplace noise has a scale above 0 and at most 2^53 units, about 9e15, and this would be larger: "
            "choose a larger epsilon, promise fewer contributions, or give covariates fewer bits."
        )
    found = geometric(np.full(2 * count, float(scale)), lambda _: scale, source)
    return found[:count] - found[count:]


def geometric(
    scale: np.ndarray, exact: Callable[[int], Fraction], source: Source = SYSTEM
) -> np.ndarray:
    """Independent numbers G, ``(n,)`` int64.

    Args:
        scale: s of each, ``(n,)``, above 0 and at most 2^53, rounded to nearest.
        exact: place to s, a rational.
        source: of random bits.

    >>> geometric(np.array([0.01]), lambda _: Fraction(1, 100)).tolist()
    [0]
    """
    words = random_words(scale.size, source)
    size = -scale * np.log((np.maximum(words, _FEW) + 0.5) * 2.0**-64)
    margin = scale * (1 / np.maximum(words, _FEW) + _MARGIN)
    sure = (words >= _FEW) & (np.abs(size - np.rint(size)) > margin)
    found = np.floor(size).astype(np.int64)
    for place in np.flatnonzero(~sure).tolist():
        uniform = Uniform(int(words[place]), 64, source.branch(str(place)))
        found[place] = decide(uniform, exact(place), int(found[place]))
    return found


def decide(uniform: Uniform, scale: Fraction, guess: int = 0) -> int:
    """G, the number of k >= 1 with U < e^{-k/s}.

    Args:
        uniform: U.
        scale: s.
        guess: where to look first, at least 0; what is found does not depend on it.
    """

    def reached(k: int) -> bool:
        return uniform.below(lambda _: ball(-k / scale).exp())

    low, step = guess, 1
    while low > 0 and not reached(low):
        low, step = max(0, low - step), 2 * step
    return first_above(low, lambda k: not reached(k)) - 1
