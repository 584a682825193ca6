"""The certified minimizer: equal to one with 90 digits on the same noise, however it was found."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from privrank_jax._balls import middle, precision
from privrank_jax.exact import minimizer
from privrank_jax.exact.balls import Laplace, Normal
from privrank_jax.exact.likelihoods import of_wins
from privrank_jax.exact.minimizer import GRID, rounded_minimizer
from tests.reference.perturbed_mle import exact_minimizer

FINE = Fraction(1, 2**150)


class Counted:
    """A random number that keeps with how many bits it was asked for."""

    def __init__(self, number):
        self._number, self.asked = number, []

    def ball(self, bits):
        self.asked.append(bits)
        return self._number.ball(bits)


def wins(seed, items, most=20):
    """Twice some win counts, with odd ones for ties."""
    drawn = np.random.default_rng(seed).integers(0, most, (items, items))
    np.fill_diagonal(drawn, 0)
    return drawn


def reference(counts, gamma, noise, link="logistic", parts=2):
    """The centered minimizer with 90 digits, as rationals."""
    with precision(900):
        held = [middle(one.ball(800)) for one in noise]
    with mpmath.workdps(150):
        tilt = [mpmath.mpf(w.numerator) / w.denominator for w in held]
        weight = mpmath.mpf(gamma.numerator) / gamma.denominator
        won = [[mpmath.mpf(int(one)) / parts for one in row] for row in counts]
        found = exact_minimizer(won, tilt, weight, link, digits=90)
        return [Fraction(int(mpmath.nint(t * 2**300)), 2**300) for t in found]


def rounded(values, grid):
    return [math.floor(t / grid + Fraction(1, 2)) for t in values]


@pytest.mark.parametrize("link", ["logistic", "laplace"])
@pytest.mark.parametrize("law", [Laplace, Normal])
@pytest.mark.parametrize(
    ("items", "scale", "gamma"),
    [(1, 4, 4), (2, 4, 4), (3, "1/100", "1/1000"), (5, 50, 60), (4, 100000, "1/1000")],
)
def test_equal_to_the_minimizer_with_90_digits_on_every_grid(link, law, items, scale, gamma):
    """The last of weighted wins, in multiples of 2^-11."""
    scale, gamma, doubled = Fraction(scale), Fraction(gamma), wins(items, items)
    noise = [law(scale) for _ in range(items)]
    if items == 4:
        found = rounded_minimizer(of_wins(doubled, link, 2048), gamma, noise, GRID)
        assert found == rounded(reference(doubled, gamma, noise, link, 2048), GRID)
    true = reference(doubled, gamma, noise, link)
    for grid, spare in ((Fraction(1), 44), (GRID, 44), (GRID, 0), (FINE, 44), (FINE, 0)):
        found = rounded_minimizer(of_wins(doubled, link), gamma, noise, grid, spare=spare)
        assert found == rounded(true, grid), (grid, spare)


def test_a_minimizer_at_a_boundary_takes_more_rounds_and_comes_out_right():
    doubled, gamma = wins(7, 3), Fraction(3)
    noise = [Counted(Laplace(Fraction(3))) for _ in range(3)]
    true = reference(doubled, gamma, noise)
    for side in (-1, 1):
        grid = abs(true[0]) / (Fraction(21, 2) + side * Fraction(1, 10**60))
        for one in noise:
            one.asked.clear()
        found = rounded_minimizer(of_wins(doubled), gamma, noise, grid)
        assert found == rounded(true, grid)
        assert abs(found[0]) == (10 if side < 0 else 11)
        assert len(set(noise[0].asked)) > 1
        assert noise[0].asked[1] == 2 * noise[0].asked[0]


@pytest.mark.parametrize("start", [0.0, -40.0, 1e4, None])
def test_a_bad_start_costs_time_alone(monkeypatch, start):
    """None: curvatures that doubles can't invert."""
    doubled, gamma = wins(8, 3), Fraction(1)
    noise = [Laplace(Fraction(5)) for _ in range(3)]
    if start is None:
        monkeypatch.setattr(minimizer, "_solve", lambda curvature, slope: 0 * slope)
    else:
        proposed = start * np.arange(3.0)
        monkeypatch.setattr(minimizer, "near_minimizer", lambda perturbed: proposed)
    found = rounded_minimizer(of_wins(doubled), gamma, noise, GRID)
    assert found == rounded(reference(doubled, gamma, noise), GRID)


@pytest.mark.parametrize("link", ["logistic", "laplace"])
def test_the_bound_holds_at_any_point(link):
    rng = np.random.default_rng(3)
    doubled, gamma = wins(6, 4), Fraction(1, 2)
    noise = [Laplace(Fraction(3)) for _ in range(4)]
    true = reference(doubled, gamma, noise, link)
    with precision(200):
        held = [one.ball(200) for one in noise]
        mean = sum(held[1:], held[0]) / 4
        perturbed = minimizer._Perturbed(
            of_wins(doubled, link), gamma, [one - mean for one in held], 4
        )
        for _ in range(30):
            point = [Fraction(t) for t in rng.normal(size=4) * rng.choice([0.01, 1.0, 20.0])]
            bound = minimizer.distance(perturbed.gradient(point), gamma)
            mean_point = sum(point) / 4
            apart = [t - mean_point - u for t, u in zip(point, true)]
            assert sum(one**2 for one in apart) <= bound**2
