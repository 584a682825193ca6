"""Exact randomized response: its distribution, its proven epsilon, and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from privrank_jax._balls import ball, precision
from privrank_jax.exact.randomized_response import flipped_bits, kept_below

ALARM = 1e-5  # false-alarm rate of each comparison; the flips can't be seeded


def test_each_report_is_flipped_at_its_own_epsilon_whatever_the_answer():
    levels = np.array([0.1, 1.0, 3.0])
    epsilon = np.tile(levels, 2 * 20_000)
    bits = np.repeat([True, False], epsilon.size // 2)
    reports = flipped_bits(bits, epsilon)
    assert reports.dtype == bool
    for level in levels:
        for answer in (True, False):
            rows = (epsilon == level) & (bits == answer)
            flips, asked = int(np.sum(reports[rows] != answer)), 1 / (1 + math.exp(level))
            assert stats.binomtest(flips, int(rows.sum()), asked).pvalue > ALARM
            assert stats.binomtest(flips, int(rows.sum()), 1.35 * asked).pvalue < ALARM


@pytest.mark.parametrize(
    "epsilon", [1e-9, 1e-3, 0.1, 1 / 3, 1.0, 3.0, 17.0, 30.0, 36.0, 50.0, 900.0]
)
def test_the_loss_never_exceeds_epsilon_and_hardly_falls_short(epsilon):
    keep = Fraction(kept_below(epsilon), 2**64)
    with precision(200):
        loss = ball(keep / (1 - keep)).log()
        assert loss <= epsilon
        most = min(epsilon, 44.3)
        assert loss > ball(Fraction(most)) - math.exp(most) * 2**-62 - 2**-60


def test_chunks_and_odd_lengths_lose_nothing(monkeypatch):
    monkeypatch.setattr("privrank_jax.exact.randomized_response._CHUNK", 5)
    bits = np.arange(13) % 3 == 0
    assert flipped_bits(bits, 40.0).tolist() == bits.tolist()
    assert flipped_bits(bits, np.linspace(40, 60, 13)).tolist() == bits.tolist()
    assert flipped_bits(np.zeros(0, bool), 1.0).tolist() == []
    for bits, epsilon, word in (
        *(([1, 0], epsilon, "positive") for epsilon in (0.0, math.nan)),
        ([1, 0], math.inf, "finite"),
        ([1, 0], 1e-20, "too small"),
        ([1, 2], 1.0, "0 or 1"),
        ([1, 0], [1.0], "shape"),
        ([[1, 0]], 1.0, "shape"),
    ):
        with pytest.raises(ValueError, match=word):
            flipped_bits(bits, epsilon)
