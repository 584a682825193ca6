r"""The k best items, drawn exactly, by the four laws of :mod:`privrank_jax.mechanism.selection`.

Scores are multiples of 1/2, so twice all of them are integers; λ is a fraction, as every double is one.

**Rounds.** Odds e^{-x} are held by balls, and a uniform real number decides, whose bits come from the operating system.
More bits are drawn, with more precision, until there is no doubt: the law is exact.

**Sets.** Those of one utility are a class of N, given by the best item left out and the worst one taken. The largest of
N noises is E = -log(1 - U^(1/N)), with U uniform on [0, 1]. A ball holds E for the bits so far, and more are drawn
until one class is ahead of all others. A class is left aside as soon as it can't win, because of E ≤ log N - log(1 -
U), which needs the length of two integers.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable
from fractions import Fraction
from itertools import accumulate

import numpy as np
from jaxtyping import Int

from privrank_jax._balls import BITS, Ball, ball, precision
from privrank_jax.exact.balls import Uniform
from privrank_jax.exact.discrete_noise import discrete_laplace
from privrank_jax.exact.entropy import SYSTEM

MOST_CLASSES = 1_000_000  # k times m
_BITS = 128  # of odds at first: what a ball holds without further memory
_LOG_TWO = Fraction(6932, 10000)  # at least log 2

Doubled = Int[np.ndarray, "items"]
Chosen = tuple[Int[np.ndarray, "k"], float]


def one_shot(doubled: Doubled, k: int, epsilon: float, change: Fraction, reach: Fraction) -> Chosen:
    """The k largest of scores with discrete Laplace noise, best first, and λ.

    Args:
        doubled: twice the scores.
        k: number of items.
        epsilon: ε.
        change: λε.
        reach: how far two scores can move apart.

    Raises:
        ValueError: no noise can be drawn for this ε and change.
    """
    add_noise, scale = discrete_laplace(2 * float(change), epsilon)
    return np.argsort(-add_noise(doubled), kind="stable")[:k], scale / 2


def peeling(doubled: Doubled, k: int, epsilon: float, change: Fraction, reach: Fraction) -> Chosen:
    """k rounds, each of one draw with odds e^{score/λ} among the items left; arguments as for :func:`one_shot`."""
    return _in_rounds(doubled, k, change / Fraction(epsilon), drawn)


def permute_and_flip(
    doubled: Doubled, k: int, epsilon: float, change: Fraction, reach: Fraction
) -> Chosen:
    """k rounds, each with a coin e^{-x} for one item after the other; arguments as for :func:`one_shot`."""
    return _in_rounds(doubled, k, change / Fraction(epsilon), _flipped)


def _in_rounds(
    doubled: Doubled, k: int, scale: Fraction, pick: Callable[[list[Fraction]], int]
) -> Chosen:
    """k rounds, each picks a place by how far each score left is behind the best, in units of λ."""
    chosen, left = [], list(range(doubled.size))
    while len(chosen) < k:
        behind = (doubled[left].max() - doubled[left]).tolist()
        chosen.append(left.pop(pick([one / (2 * scale) for one in behind])))
    return np.array(chosen), float(scale)


def best_set(doubled: Doubled, k: int, epsilon: float, change: Fraction, reach: Fraction) -> Chosen:
    """The set by one draw among all sets, in increasing order, and λ; arguments as for :func:`one_shot`.

    Raises:
        ValueError: more than a million items times places.
    """
    if int(k) * doubled.size > MOST_CLASSES:
        raise ValueError(
            f"canonical selection takes up to {MOST_CLASSES:,} items times places, got {doubled.size:,} times {k}: "
            "take one_shot_top_k (method='one-shot')."
        )
    order = np.argsort(-doubled, kind="stable")
    scale, lead = change / Fraction(epsilon), change / reach - 1
    ends, margins, counts = set_classes(doubled[order].tolist(), k)
    # The best set comes first; all utilities times the denominator of θ are integers.
    margins = [margins[0] * lead.numerator, *(one * lead.denominator for one in margins[1:])]
    best = largest(margins, counts, 1 / (2 * scale * lead.denominator))
    return np.sort(order[draw_set(k, *ends[best])]), float(scale)


# --- odds -----------------------------------------------------------------------------------------


def drawn(exponents: list[Fraction]) -> int:
    """One place, with odds e^{-x}.

    Args:
        exponents: each x, at least 0.
    """
    bits, uniform = _BITS, Uniform()
    while True:
        with precision(bits):
            odds = [ball(-one).exp() for one in exponents]
        if (found := choose(odds, uniform.ball(bits), bits)) is not None:
            return found
        bits *= 2


def _flipped(exponents: list[Fraction]) -> int:
    """The first place, in random order, whose coin e^{-x} says so."""
    places = list(range(len(exponents)))
    while True:
        place = places.pop(secrets.randbelow(len(places)))
        if Uniform().below(lambda _, odds=exponents[place]: ball(-odds).exp()):
            return place


def choose(odds: list[Ball], uniform: Ball, bits: int = _BITS) -> int | None:
    """The k with w_0 + ... + w_{k-1} <= U (w_0 + w_1 + ...) < w_0 + ... + w_k, or None while it is undetermined.

    Args:
        odds: each w_k, positive.
        uniform: U.
        bits: of each sum.
    """
    with precision(bits):
        upto = list(accumulate(odds))
        at = uniform * upto[-1]
    for k, end in enumerate(upto[:-1]):
        if at < end:
            return k
        if not at >= end:
            return None
    return len(odds) - 1


# --- sets -----------------------------------------------------------------------------------------


def set_classes(best: list[int], k: int) -> tuple[list[tuple[int, int]], list[int], list[int]]:
    """The best set, then all classes of others: the best place left out and the worst taken, margins, sizes.

    Args:
        best: scores as integers, in decreasing order.
        k: size of the sets.
    """
    margin = best[k - 1] - best[k] if k < len(best) else 0
    ends, margins, counts = [(k, k - 1)], [margin], [1]
    for out in range(k):
        size = 1
        for worst in range(k, len(best)):
            # worst - out - 1 places lie between, of which k - out - 1 are taken.
            if worst > k:
                size = size * (worst - out - 1) // (worst - k)
            ends.append((out, worst))
            margins.append(best[worst] - best[out])
            counts.append(size)
    return ends, margins, counts


def draw_set(k: int, out: int, worst: int) -> list[int]:
    """A uniform set of the class, as places: those before ``out``, ``worst``, and others between them."""
    if out == k:
        return list(range(k))
    between = list(range(out + 1, worst))
    for i in range(k - out - 1):
        other = i + secrets.randbelow(len(between) - i)
        between[i], between[other] = between[other], between[i]
    return [*range(out), *between[: k - out - 1], worst]


# --- the best class -------------------------------------------------------------------------------


def largest(utilities: list[int], counts: list[int], rate: Fraction) -> int:
    """The class with the largest of rate · utility plus the largest of as many exponential noises as it counts.

    Args:
        utilities: integers.
        counts: how many outcomes each class has, at least 1.
        rate: 1/λ in units of the utilities.
    """
    each = math.floor(_LOG_TWO / rate)  # of a bit of N, in units of the utilities
    likely = max(range(len(counts)), key=lambda i: utilities[i] + each * counts[i].bit_length())

    def value(one: int, rest: Uniform, bits: int) -> Ball:
        """Rate · utility plus the largest noise of the class, by 1 - U."""
        with precision(bits + 64):
            return ball(rate * utilities[one]) + largest_noise(counts[one], rest, bits)

    open_classes = {likely: Uniform()}
    floor = value(likely, open_classes[likely], BITS).lower()
    needed: dict[int, Ball] = {}
    for i, (utility, count) in enumerate(zip(utilities, counts)):
        if i == likely:
            continue
        below = SYSTEM.randbits(BITS)  # of 1 - U
        # log N - log(1 - U) is below this number of times log 2; without bits it has no bound yet.
        room = count.bit_length() + BITS + 1 - below.bit_length()
        if room not in needed:
            needed[room] = (floor - ball(room * _LOG_TWO)) / ball(rate)
        if below == 0 or not utility < needed[room]:
            open_classes[i] = Uniform(below, BITS)
    bits = BITS
    while True:
        values = {one: value(one, rest, bits) for one, rest in open_classes.items()}
        with precision(bits + 64):
            ahead = max(values, key=lambda one: values[one].lower())
        open_classes = {
            one: rest for one, rest in open_classes.items() if not values[one] < values[ahead]
        }
        if len(open_classes) == 1:
            return ahead
        bits *= 2


def largest_noise(count: int, rest: Uniform, bits: int) -> Ball:
    """The largest of as many standard exponential noises: -log(1 - U^(1/N)).

    Args:
        count: N.
        rest: 1 - U.
        bits: of it, at least.
    """
    while True:
        with precision(bits + 64):  # of log U the bits by which it is small are lost
            left = rest.ball(bits)
            if 0 < left < 1:
                return -(-((-left).log1p() / count).expm1()).log()
        bits += 64  # a logarithm has no bound yet
