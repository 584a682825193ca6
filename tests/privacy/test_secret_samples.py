"""Releases from a secret sample of the users: the figures on the page about releases, and its theorems."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privrank_jax.privacy import calibrate_gaussian
from privrank_jax.privacy.loss_distribution import load_dp_accounting

DELTA = 1e-6


@pytest.mark.parametrize(("releases", "larger"), [(1, 1.339), (10, 1.0474)])
def test_gaussian_noise_on_a_half_of_fixed_size(releases, larger):
    library = load_dp_accounting().pld.privacy_loss_distribution
    plain = calibrate_gaussian(1.0, DELTA, releases=releases)

    def delta_of(factor):
        of_half = library.from_gaussian_mechanism(
            factor * plain / 2, sampling_prob=0.5, value_discretization_interval=2e-3
        )
        return of_half.self_compose(releases).get_delta_for_epsilon(1.0)

    assert delta_of(larger * 0.998) > DELTA > delta_of(larger * 1.002)


@pytest.mark.parametrize(("epsilon", "smaller"), [(0.1, 0.9999), (1.0, 0.9937), (3.0, 0.9771)])
def test_gaussian_noise_with_a_coin_for_each_user(epsilon, smaller):
    plain = calibrate_gaussian(epsilon, DELTA)

    def delta_of(factor):
        scale = factor * plain / 2
        x = np.linspace(-12 * scale, 12 * scale, 100_001)
        laws = [np.exp(-((x - at) ** 2) / (2 * scale**2)) for at in (0, 0.5, -0.5)]
        p, q = ((laws[0] + law) / np.sum(laws[0] + law) for law in laws[1:])
        return float(np.sum(np.maximum(p - math.exp(epsilon) * q, 0)))

    assert delta_of(smaller - 1e-4) > DELTA > delta_of(smaller + 1e-4)
    # Its variance falls by no more than 1/4, which the coin of one user at 1/2 adds.
    assert delta_of(math.sqrt(1 - 0.25 / plain**2)) >= DELTA * (1 - 1e-9)
