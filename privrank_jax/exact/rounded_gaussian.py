r"""Gaussian noise rounded to integers, drawn exactly: rounding costs no privacy.

**Mechanism.** T is an integer vector, N has independent entries N(0, σ_i²), and ⌊·⌉ rounds each entry to the nearest
integer. T is integer, so T + ⌊N⌉ = ⌊T + N⌉: what is published is a function of the Gaussian mechanism's output, and is
(ε, δ)-DP wherever that is (:mod:`privrank_jax.privacy.gaussian`). The discrete Gaussian, P(x) ∝ e^{-x²/2σ²}, is known
to satisfy the same bound on Rényi divergences instead. The (ε, δ) that follows from that bound needs a σ that is 3 to
11 % larger for ε from 0.01 to 10 and δ from 10^-12 to 10^-6.

Rounding adds at most 1/4 to the mean square of an entry, and about 1/12 to its variance.

**Draw.** |N|/σ = k + x, with k = 0, 1, ... of P(k) ∝ e^{-k/2} and x uniform on [0, 1), accepted with probability
e^{-(k+x)²/2 + k/2} (after Karney 2016): the density of k + x is then ∝ e^{-(k+x)²/2}. Uniform numbers are known by 52
to 64 bits at first.

Where doubles decide k, acceptance and rounding, whatever the bits behind these are, they are decided. Elsewhere further
bits are drawn and compared with balls until they decide. So the law is exact. Each number draws its further bits from a
branch of its own: what is drawn is a function of the source's bits alone, whichever of them a machine's doubles left to
be looked at.

**Margins** within which nothing is decided by doubles. Let u = 2^-53, the relative error of one rounding.

*k* = ⌊-2 log U⌋, and x is *accepted* if log V < (k - (k+x)²)/2, U and V uniform. A word W of 64 bits is only trusted
from 2^34 on. Then (W + 1/2)/2^64 is within 2^-35 of the number, relatively, and k ≤ 42. Its logarithm is within 2^-34,
with the errors of two roundings and of NumPy's logarithm (4 units in the last place of a number below 32). Of x the
bits behind 2^-52 are missing, so k + x < 2^6 is known within 2^-46 and (k - (k+x)²)/2 within 2^-39. All this is far
below 10^-9, the margin of both decisions.

*Rounding.* The value is ⌊S⌋ for S = σ(k + X) + 1/2, where of X only x ≤ X < x + 2^-52 is known. Let s be the double for
S_0 = σ(k + x) + 1/2. It takes four roundings of positive numbers (σ, k + x, the product, the sum), so S_0(1-u)^4 ≤ s ≤
S_0(1+u)^4 and \|s - S_0\| ≤ s((1-u)^-4 - 1) < 2^-50 s. The missing bits add less than 2^-52 σ, however small s is, so

    \|s - S\| < 2^-50 s + 2^-52 σ.

The margin is 2^-50 s + 2^-51 σ + 10^-9. Its last term covers the rounding of the margin itself, where that is below 1,
and σ below 2^-1022, where doubles have fewer digits. The distance of s to the nearest whole number is exact in doubles,
and at most 1/2. So if it exceeds the margin, no whole number lies between s and S, and ⌊S⌋ = ⌊s⌋ < 2^53. Where σ is
beyond 2^50 or so, it never does.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from privrank_jax._balls import ball
from privrank_jax.exact.balls import Uniform
from privrank_jax.exact.entropy import SYSTEM, Source, random_words

_LARGEST = 2**53  # of σ
_PLACES = 52  # bits of x at first
_FEW = np.uint64(2**34)  # words below it hold too few significant bits for a decision by doubles
_MARGIN = 1e-9
_CHUNK = 1 << 16  # tries at once: bounds memory


def rounded_gaussian(count: int, scale: Fraction, source: Source = SYSTEM) -> np.ndarray:
    """Independent numbers N(0, σ²), each rounded to the nearest integer, ``(count,)`` int64.

    Args:
        count: how many, at least 0.
        scale: σ, above 0 and at most 2^53.
        source: of random bits.

    Raises:
        ValueError: σ out of range.

    >>> rounded_gaussian(3, Fraction(1, 100)).tolist()
    [0, 0, 0]
    """
    if not 0 < scale <= _LARGEST:
        raise ValueError(
            "exact Gaussian noise has a standard deviation above 0 and at most 2^53 units, about 9e15, and this would "
            "be larger: choose a larger epsilon or delta, promise fewer contributions, or give covariates fewer bits."
        )
    parts, missing = [np.zeros(0, np.int64)], count
    while missing > 0:
        tries, batch = min(2 * missing + 8, _CHUNK), source.branch(f"tries {len(parts)}")
        parts.append(_accepted(tries, scale, batch)[:missing])
        missing -= parts[-1].size
    return np.concatenate(parts)


def _accepted(tries: int, scale: Fraction, source: Source) -> np.ndarray:
    """The draws that are accepted in a number of tries, about half of it."""
    of_whole, of_part, of_chance = random_words(3 * tries, source).reshape(3, tries)
    minus = (of_part & np.uint64(1)).astype(bool)  # not among the bits of x
    part = of_part >> np.uint64(64 - _PLACES)
    kept, value, sure = by_doubles(of_whole, part, of_chance, float(scale))
    for place in np.flatnonzero(~sure).tolist():
        further = source.branch(str(place))
        exact = decide(
            Uniform(int(of_whole[place]), 64, further),
            Uniform(int(part[place]), _PLACES, further),
            Uniform(int(of_chance[place]), 64, further),
            scale,
        )
        kept[place] = exact is not None
        value[place] = exact or 0
    return np.where(minus, -value, value)[kept]


def by_doubles(
    of_whole: np.ndarray, part: np.ndarray, of_chance: np.ndarray, scale: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Whether a try is accepted, the rounded size of N, and whether both hold whatever the bits behind those given are.

    Args:
        of_whole: the first 64 bits of the number that decides k, ``(tries,)`` uint64, as the others.
        part: the first 52 of x.
        of_chance: the first 64 of the number that decides acceptance.
        scale: σ, rounded to nearest.
    """
    exponent = -2 * np.log((np.maximum(of_whole, _FEW) + 0.5) * 2.0**-64)
    whole = np.floor(exponent)
    sure = (of_whole >= _FEW) & (np.abs(exponent - np.rint(exponent)) > _MARGIN)
    size = whole + part * 2.0**-_PLACES
    chance = 0.5 * (whole - size**2)
    drawn = np.log((np.maximum(of_chance, _FEW) + 0.5) * 2.0**-64)
    kept = drawn < chance
    sure &= (of_chance >= _FEW) & (np.abs(drawn - chance) > _MARGIN)
    scaled = scale * size + 0.5
    margin = scaled * 2.0**-50 + scale * 2.0**-51 + _MARGIN
    sure &= ~kept | (np.abs(scaled - np.rint(scaled)) > margin)
    return kept, np.floor(scaled).astype(np.int64), sure


def decide(of_whole: Uniform, part: Uniform, of_chance: Uniform, scale: Fraction) -> int | None:
    """|N|, rounded, or None if it is rejected.

    Args:
        of_whole: decides k.
        part: x.
        of_chance: decides acceptance.
        scale: σ.
    """
    whole = 0
    # e^{-(k+1)/2} is the probability of more than k.
    while of_whole.below(lambda _, k=whole: ball(Fraction(-k - 1, 2)).exp()):
        whole += 1
    if not of_chance.below(lambda bits: ((whole - (whole + part.ball(bits)) ** 2) / 2).exp()):
        return None
    bits = _PLACES
    while True:
        first, last = (int(scale * (whole + end) + Fraction(1, 2)) for end in part.ends(bits))
        if first == last:
            return first
        bits *= 2


def gaussian_mechanism(
    values: np.ndarray,
    parts: tuple[tuple[int, Fraction], ...],
    epsilon: float,
    budget: Fraction,
    sources: Sequence[Source] | None = None,
) -> np.ndarray:
    """Integers plus independent rounded Gaussian noise, float64: one Gaussian mechanism.

    Args:
        values: ``(d,)`` integers, the parts one after the other.
        parts: for each, how many values it has, and σ.
        epsilon: ε, which is kept at the δ of ``budget`` if neighbors differ by at most it.
        budget: μ: the largest ℓ₂ distance of neighbors, each part divided by its σ.
        sources: of the noise of each part, independent and secret; None: the operating system.
    """
    noise = [
        rounded_gaussian(number, scale, source)
        for (number, scale), source in zip(parts, sources or [SYSTEM] * len(parts), strict=True)
    ]
    return (values + np.concatenate(noise)).astype(np.float64)


def root_above(number: Fraction) -> Fraction:
    """A rational that is at least the square root, and larger by at most 2^-60 of it or so.

    Args:
        number: above 0.
    """
    unit = 1 << 60
    size = max(1, math.isqrt(int(number) + 1))
    whole = math.ceil(number * unit * unit / (size * size))
    return Fraction((math.isqrt(whole) + 1) * size, unit)
