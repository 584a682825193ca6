"""The law of sums of discrete Laplace noise, against convolutions and draws."""

from __future__ import annotations

import math

import numpy as np
import pytest

from privrank_jax.privacy import laplace_sums
from privrank_jax.privacy.laplace_sums import laplace_sum_reach
from tests.reference import laplace_sums as naive


@pytest.mark.parametrize("terms", [1, 2, 5])
@pytest.mark.parametrize("scale", [0.01, 0.7, 6.0])
@pytest.mark.parametrize(("numbers", "level"), [(1, 0.9), (6, 0.95), (20, 0.999)])
def test_it_is_the_least_reach(terms, scale, numbers, level):
    expected = naive.reach(terms, scale, numbers, level, far=max(int(40 * scale), 2))
    assert laplace_sum_reach(terms, scale, numbers, level) == expected


@pytest.mark.parametrize("terms", [1, 4, 300])
def test_the_bound_for_large_scales_is_near_the_law(terms, monkeypatch):
    exact = laplace_sum_reach(terms, 1500.0, 8, 0.95)
    monkeypatch.setattr(laplace_sums, "_LARGEST", 200.0)
    bound = laplace_sum_reach(terms, 1500.0, 8, 0.95)
    assert exact <= bound < exact + 2.1 * terms * 1500 / 200 + 8


def test_draws_stay_within_as_often_as_said():
    rng = np.random.default_rng(0)
    scale, terms, numbers = 5000.0, 3, 4
    stay = math.exp(-1 / scale)
    drawn = np.diff(rng.geometric(1 - stay, size=(20_000, numbers, terms, 2)), axis=-1)
    largest = abs(drawn.sum(axis=(2, 3))).max(axis=1)
    within = np.mean(largest <= laplace_sum_reach(terms, scale, numbers, 0.95))
    assert within == pytest.approx(0.95, abs=5 * math.sqrt(0.95 * 0.05 / 20_000))


def test_what_is_no_level_or_scale_is_refused():
    for level, scale in ((1.0, 1.0), (0.9, 0.0), (0.9, math.inf)):
        with pytest.raises(ValueError, match=r"level|scale"):
            laplace_sum_reach(2, scale, 3, level)
    with pytest.raises(ValueError, match=r"level must be at most 0\.999999997"):
        laplace_sum_reach(2, 1.0, 3, 1 - 1e-12)
