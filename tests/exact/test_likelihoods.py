"""Likelihoods of meetings and of choices: derivatives are those of loops over answers, also in balls."""

from __future__ import annotations

import functools
from fractions import Fraction

import flint
import mpmath
import numpy as np
import pytest

from privrank_jax._balls import above, ball, middle, precision
from privrank_jax.exact.likelihoods import LaplaceWins, Meetings, Offers
from tests.reference import conditional_logit as naive
from tests.reference.perturbed_mle import loss_at

ITEMS = 4
MET = np.array([[0, 1, 512, -1024], [0, 1, 0, 0], [1, 3, -7, 1024], [2, 3, 0, 600]])
OUTCOMES = np.array(
    [[3, 1, 2], [4, 0, 0], [0, 2, 5], [1, 1, 1]]
)  # losses, ties, wins of the first item
SETS = np.array([[0, 1, 2], [1, 3, -1], [0, 2, 3]])
CHOSEN = np.array([[2, 0, 1], [5, 3, 0], [0, 0, 4]])
WINS = np.array([[0, 3, 0, 1], [2, 0, 4, 0], [1, 0, 0, 7], [0, 5, 2, 0]])
FEATURES = MET[:, 2:] / 2**11


def meetings(davidson):
    """A likelihood of meetings, and its answers."""
    lead = (OUTCOMES[:, 2] - OUTCOMES[:, 0]) / 2
    excess = [Fraction(0)] * (ITEMS + 2)
    for (i, j), x, one in zip(MET[:, :2], FEATURES, lead):
        excess[i] += Fraction(one)
        excess[j] -= Fraction(one)
        for k in range(2):
            excess[ITEMS + k] += Fraction(one) * Fraction(x[k])
    ties = int(OUTCOMES[:, 1].sum()) if davidson else None
    answers = [
        answer
        for (i, j), x, times in zip(MET[:, :2], FEATURES, OUTCOMES)
        for y, n in zip((0.0, 0.5, 1.0), times)
        for answer in naive.meeting(i, j, y, x, items=ITEMS, davidson=davidson, times=n)
    ]
    return Meetings(ITEMS, MET, OUTCOMES.sum(1), excess, ties), answers


def offers():
    totals = np.zeros(ITEMS, int)
    answers = []
    for offered, times in zip(SETS, CHOSEN):
        items = [int(one) for one in offered if one >= 0]
        for item, n in zip(items, times):
            totals[item] += n
            answers += naive.choice(items, item, items=ITEMS, times=n)
    return Offers(SETS, CHOSEN.sum(1), totals), answers


MADE = [(*meetings(False), ITEMS + 2), (*meetings(True), ITEMS + 3), (*offers(), ITEMS)]
KINDS = ["half wins", "ties", "choices"]


def laplace_slope(point):
    """Of wins under the Laplace link, with the digits that mpmath has."""
    found = [mpmath.mpf(0)] * ITEMS
    for i, j in np.argwhere(WINS):
        score = int(WINS[i, j]) * loss_at(point[i] - point[j], "laplace")[1]
        found[i] -= score
        found[j] += score
    return found


@pytest.mark.parametrize("bits", [30, 60, 120])
@pytest.mark.parametrize(
    ("likelihood", "slope", "numbers"),
    [(made, functools.partial(naive.exact_slope, answers), n) for made, answers, n in MADE]
    + [(LaplaceWins(WINS, 1), laplace_slope, ITEMS)],
    ids=[*KINDS, "laplace"],
)
def test_balls_of_gradients_hold_them_at_60_digits(likelihood, slope, numbers, bits):
    """At points known to few bits, the gradient at any point within; and they are no wider than that."""
    for seed in range(5):
        drawn = np.random.default_rng(seed)
        center, moved = (
            drawn.normal(0, 2, numbers), drawn.integers(-(2**20), 2**20 + 1, numbers).tolist()
        )  # fmt: skip
        within = [Fraction(one) + Fraction(k, 2 ** (20 + bits)) for one, k in zip(center, moved)]
        with precision(53 + bits):
            wide = ball(0) + flint.arb(0, 2.0**-bits)
            held = likelihood.gradient([ball(Fraction(one)) + wide for one in center])
        with mpmath.workdps(60):
            true = slope([mpmath.mpf(one.numerator) / one.denominator for one in within])
            known = [Fraction(int(mpmath.nint(one * 2**170)), 2**170) for one in true]
        for one, exact in zip(held, known, strict=True):
            with precision(400):
                reach = above(one - one.mid())
            assert abs(middle(one) - exact) <= reach + Fraction(1, 2**169)
            assert reach < Fraction(10**4, 2**bits)
    far = 1e4 * (-1.0) ** np.arange(numbers)
    assert np.all(np.isfinite(likelihood.slope(far)))
    assert np.all(np.isfinite(likelihood.curvature(far)))
    with precision(100):
        assert all(one.is_finite() for one in likelihood.gradient([ball(int(x)) for x in far]))
