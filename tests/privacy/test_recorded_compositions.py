"""Compositions of all kinds of releases against values recorded from losses that were exact on the grid (48fdee4)."""

from __future__ import annotations

import math

import pytest

from privrank_jax.privacy import GaussianRelease, Guarantee, LaplaceRelease, Privacy, compose
from tests.privacy.releases import KIND, USERS, epsilon

GAUSSIAN = Guarantee(Privacy.proven(0.1, delta=1e-8, **KIND), rho=0.005)
BORDA = LaplaceRelease(1000, tuple(2 * abs(9 - 2 * place) for place in range(10)))
RECORDED = [  # releases, ε at δ = 10⁻⁶ and at 10⁻⁴, δ at seven tenths of the latter
    ([(0.1, 1e-8)] * 50, 3.264133492, 2.479828181, 0.00349887339),
    ([(0.1, 0), (0.25, 1e-7), (0.5, 0), (0.3, 0)] * 5, 5.711047195, 5.013652824, 0.01074682901),
    ([LaplaceRelease(40, (4,))] * 100, 4.69727696, 3.686951389, 0.004235527715),
    ([LaplaceRelease(40, (2, 2))] * 100, 3.251694352, 2.498929988, 0.003245758263),
    ([BORDA] * 30, 0.8202224675, 0.5938666346, 0.001582012701),
    ([LaplaceRelease(10 * 10**18, (10**18,))] * 100, 4.692668057, 3.682318633, 0.004229960033),
    (
        [LaplaceRelease(math.pi, (2, 1)), LaplaceRelease(7.7, (3, 3)), (0.3, 1e-7)],
        2.034134741,
        2.032318213,
        0.02984849656,
    ),
    (
        [GaussianRelease(5.0), LaplaceRelease(40, (2, 2)), (0.2, 0)] * 3,
        2.056441259,
        1.601113489,
        0.003216890768,
    ),
    ([GAUSSIAN] * 20, 1.792829998, 1.395055078, 0.003142805416),
    ([GAUSSIAN] * 20 + [(0.1, 0)] * 20, 2.788262325, 2.164831492, 0.00339040197),
    ([GAUSSIAN] * 3 + [GaussianRelease(5.0)] * 3, 1.675464361, 1.254423186, 0.002299486352),
]


@pytest.mark.parametrize(("releases", "few", "more", "failure"), RECORDED)
def test_composition_is_what_was_recorded(releases, few, more, failure):
    """To four digits; and not below, but for the rounding of doubles and coarser losses of one huge change."""
    for delta, recorded in ((1e-6, few), (1e-4, more)):
        found = epsilon(releases, delta)
        assert recorded * (1 - 1e-7) <= found <= recorded * (1 + 5e-5)
    found = compose(releases, epsilon=0.7 * more, **USERS).delta
    assert failure * (1 - 1e-6) <= found <= failure * (1 + 5e-5)
