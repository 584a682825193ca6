r"""Exact canonical selection: the set of the k best items, drawn at once, without floating-point odds.

The law is that of :func:`~privrank_jax.pairwise.canonical_top_k`: the set with the largest utility plus noise of scale
λ = B/ε, Exponential or Gumbel; so is the proof, at the head of :mod:`privrank_jax.privacy.selection`, which holds for
all real scores. Scores are multiples of 1/2, so twice all of them are integers, and so are the utilities times a common
denominator; λ is a fraction, as every double is one.

**Classes.** Sets of one utility are a class of N, given by the best item left out and the worst one taken.

**The best class.** The largest of N noises is E = -log(1 - U^(1/N)), or for Gumbel noise log N - log(-log U), with U
uniform on [0, 1], whose bits come from the operating system. A ball holds E for the bits so far, and more are drawn,
with more precision, until one class is ahead of all others: the law is exact. A class is left aside as
soon as it can't win, because of E ≤ log N - log(1 - U), which needs the length of two integers.
"""

from __future__ import annotations

import math
import secrets
from fractions import Fraction
from typing import Any

import numpy as np

from privrank_jax._balls import BITS, Ball, ball, precision
from privrank_jax._types import Scalar, ScoresLike
from privrank_jax._validate import check_choice, check_positive, check_top
from privrank_jax.comparisons import WinCounts
from privrank_jax.estimate import Estimate
from privrank_jax.exact.balls import Uniform
from privrank_jax.exact.entropy import SYSTEM
from privrank_jax.exact.integer_noise import exact_estimate, exact_promise
from privrank_jax.pairwise.promise import of_comparisons
from privrank_jax.pairwise.top_k import MOST_CLASSES, NOISES
from privrank_jax.pairwise.whole_counts import doubled_totals
from privrank_jax.privacy.noise import NoiseDiagnostics
from privrank_jax.privacy.privacy import Privacy
from privrank_jax.privacy.selection import canonical_change

_LOG_TWO = Fraction(6932, 10000)  # at least log 2


def exact_canonical_top_k(
    wins: WinCounts | ScoresLike,
    privacy: Privacy,
    k: int,
    *,
    noise: str = "exponential",
    sensitivity: Scalar | None = None,
    total_change: Scalar | None = None,
) -> Estimate:
    """The set of the k best items by one exact draw among all sets; the twin of ``pairwise.canonical_top_k``.

    **Guarantee.** As for the twin, exactly; proof at the head of this module.

    Arguments and errors: as for :func:`~privrank_jax.pairwise.canonical_top_k`, but no mask, and as for all exact
    releases (:mod:`privrank_jax.release`), but nothing is taken from OpenDP. ``ValueError`` unless scores are multiples
    of 1/2, exact in their dtype, and for more than a million items times places.

    Returns:
        ``value``: item indices, ``(k,)`` int64 NumPy array, in increasing order, which reveals nothing more.
        ``guarantee``. ``diagnostics``: :class:`~privrank_jax.privacy.noise.NoiseDiagnostics`, λ, public.

    >>> promise = Privacy(2.0, unit="comparison", adjacency="flip")
    >>> wins = WinCounts.from_matrix([[0, 90, 95], [10, 0, 70], [5, 30, 0]])
    >>> exact_canonical_top_k(wins, promise, 2).value.tolist()
    [0, 1]
    """
    task = _Task("exact_canonical_top_k", wins, privacy, k, noise, sensitivity, total_change)
    lead = task.lead
    ends, margins, counts = set_classes(task.best, k)
    # The best set comes first; all utilities times the denominator of θ are integers.
    margins = [margins[0] * lead.numerator, *(one * lead.denominator for one in margins[1:])]
    best = largest(margins, counts, task.rate / lead.denominator, noise)
    return task.estimate(privacy, np.sort(task.order[draw_set(k, *ends[best])]))


class _Task:
    """Doubled scores, best first, and what the law needs to know of the promise."""

    def __init__(
        self,
        by: str,
        wins: WinCounts | ScoresLike,
        privacy: Privacy,
        k: int,
        noise: str,
        sensitivity: Scalar | None,
        total_change: Scalar | None,
    ) -> None:
        check_choice("noise", noise, NOISES)
        self.attained = exact_promise(of_comparisons(privacy, by, "laplace"))
        totals = isinstance(wins, WinCounts)
        if sensitivity is None and not totals:
            raise ValueError(
                "scores need their sensitivity: pass sensitivity=s, how far one unit can change one score, "
                "a bound that does not depend on the data; or pass win counts."
            )
        one: Any = self.attained.comparisons_per_unit if sensitivity is None else sensitivity
        every: Any = total_change
        if total_change is None:
            every = self.attained.comparisons_per_unit if totals else math.inf
        check_positive("sensitivity", one, infinite=False)
        check_positive("total_change", every)
        monotone = totals and self.attained.adjacency == "add-remove"
        one, every = Fraction(float(one)), float(every)
        every = every if math.isinf(every) else Fraction(every)
        doubled = doubled_totals(wins)
        check_top(k, doubled.size)
        change, reach = canonical_change(k, one, every, monotone)
        if int(k) * doubled.size > MOST_CLASSES:
            raise ValueError(
                f"canonical selection takes up to {MOST_CLASSES:,} items times places, got {doubled.size:,} times {k}: "
                "take exact_top_k (--method one-shot)."
            )
        self.order = np.argsort(-doubled, kind="stable")
        self.best: list[int] = doubled[self.order].tolist()
        self.lead = change / reach - 1
        self._scale = change / Fraction(self.attained.epsilon)
        self.rate = 1 / (2 * self._scale)

    def estimate(self, privacy: Privacy, value: np.ndarray) -> Estimate:
        scale = NoiseDiagnostics(float(self._scale))
        return exact_estimate(value, privacy, self.attained, scale)


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


def largest(utilities: list[int], counts: list[int], rate: Fraction, noise: str) -> int:
    """The class with the largest of rate · utility plus the largest of as many standard noises as it counts.

    Args:
        utilities: integers.
        counts: how many outcomes each class has, at least 1.
        rate: 1/λ in units of the utilities.
        noise: ``"exponential"`` or ``"gumbel"``.
    """
    each = math.floor(_LOG_TWO / rate)  # of a bit of N, in units of the utilities
    likely = max(range(len(counts)), key=lambda i: utilities[i] + each * counts[i].bit_length())

    def value(one: int, rest: Uniform, bits: int) -> Ball:
        """Rate · utility plus the largest noise of the class, by 1 - U."""
        with precision(bits + 64):
            return ball(rate * utilities[one]) + largest_noise(noise, counts[one], rest, bits)

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


def largest_noise(noise: str, count: int, rest: Uniform, bits: int) -> Ball:
    """The largest of as many standard noises: -log(1 - U^(1/N)), or log N - log(-log U).

    Args:
        noise: as for :func:`largest`.
        count: N.
        rest: 1 - U.
        bits: of it, at least.
    """
    while True:
        with precision(bits + 64):  # of log U the bits by which it is small are lost
            left = rest.ball(bits)
            if 0 < left < 1:
                log = (-left).log1p()
                if noise == "exponential":
                    return -(-(log / count).expm1()).log()
                return ball(count).log() - (-log).log()
        bits += 64  # a logarithm has no bound yet
