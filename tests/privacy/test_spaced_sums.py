"""Users who come back after a gap: the theorem by enumeration, sensitivities, the band, and what is refused."""

from __future__ import annotations

import itertools
import math
from typing import Any

import jax
import numpy as np
import pytest

from privrank_jax.pairwise.continual import continual_totals
from privrank_jax.pairwise.score_stream import continual_sums
from privrank_jax.privacy import Spacing, gaussian_scale, spaced_errors
from privrank_jax.privacy.prefix_sums import (
    prefix_sum_errors,
    square_root_coefficients,
    toeplitz,
)
from privrank_jax.privacy.spaced_sums import best_band, busiest_user, spaced_root
from tests.promises import promise
from tests.reference import continual as twin

ASKED = promise(1.0, "user", "replace", 3, delta=1e-4)


@pytest.mark.parametrize("gap", [1, 2, 3])
def test_the_busiest_user_has_the_longest_sum(gap):
    """All users of up to 6 steps, in integers; coefficients that fall at random, stay, or end in zeros."""
    chance = np.random.default_rng(gap)
    for steps, per_step, limit in itertools.product((1, 4, 6), (1, 2, 3), (1, 2, 4)):
        falling = -np.sort(-chance.integers(0, 9, steps))
        for coefficients in (falling, np.ones(steps, int), np.arange(steps) < 2):
            found = busiest_user(1 * coefficients, Spacing(gap, per_step), limit)
            longest = twin.longest_sum(toeplitz(1 * coefficients), gap, per_step, limit)
            assert found @ found == pytest.approx(longest**2, rel=1e-12)


def test_coefficients_that_rise_would_break_it():
    """So the theorem must ask for it: the user of steps 1 and 4 has a longer sum than that of steps 1 and 3."""
    rising = np.array([1, 0, 0, 9, 0])
    found = busiest_user(rising, Spacing(2), 2)
    assert (found @ found, twin.longest_sum(toeplitz(rising), 2, 1, 2) ** 2) == (
        83,
        pytest.approx(101),
    )


@pytest.mark.parametrize("adjacency", ["flip", "replace", "add-remove"])
def test_sensitivity_is_attained_and_never_exceeded(adjacency):
    """Brute force over all that a user holds, ties included; the noise is calibrated to that."""
    for gap, per_step, limit in ((1, 1, 3), (2, 1, 2), (2, 2, 3)):
        spacing, asked = Spacing(gap, per_step), promise(1.0, "user", adjacency, limit, delta=1e-4)
        root, moved = spaced_root(4, spacing, limit)
        largest = twin.largest_change(
            toeplitz(root), 2, limit, adjacency, 2, gap=gap, per_step=per_step
        )
        assert largest == pytest.approx(moved * (1 if adjacency == "add-remove" else math.sqrt(2)))
        told = continual_totals(jax.random.key(0), np.zeros((4, 2)), asked, spacing=spacing)
        expected = float(gaussian_scale(largest, 1.0, 1e-4))
        assert float(told.diagnostics.noise_scale) == pytest.approx(expected)


def test_errors_are_those_of_the_matrices(key):
    """B C = A, rows of B times the sensitivity; and the deviations that a stream tells, in units of one release."""
    for steps, spacing, limit in ((1, Spacing(3), 2), (9, Spacing(2), 3), (9, Spacing(2, 4), 20)):
        root, moved = spaced_root(steps, spacing, limit)
        decode = np.tri(steps) @ np.linalg.inv(toeplitz(root))
        expected = np.linalg.norm(decode, axis=1) * moved / limit
        found = spaced_errors(steps, spacing, limit)
        np.testing.assert_allclose(found, expected)
        asked = promise(1.0, "user", "replace", limit, delta=1e-4)
        one = continual_totals(key, np.zeros((1, 2)), asked).diagnostics.noise_scale
        stream = continual_totals(key, np.zeros((steps, 2)), asked, spacing=spacing)
        np.testing.assert_allclose(stream.diagnostics.deviations, found * float(one), rtol=1e-6)
        assert "at most" in stream.guarantee.note


def test_it_is_the_twin(key):
    """Noise of a stream of one number in each step, told by its inverse, is that of the sums of scores too."""
    asked, spacing = promise(1.0, "user", "replace", 2, delta=1e-4), Spacing(2)
    totals = np.arange(8.0).reshape(4, 2)
    found = continual_totals(key, totals, asked, spacing=spacing)
    root, _ = spaced_root(4, spacing, 2)
    decode = np.tri(4) @ np.linalg.inv(toeplitz(root))
    drawn = np.linalg.solve(decode, np.asarray(found.value) - np.cumsum(totals, 0))
    drawn /= float(found.diagnostics.noise_scale)
    again = twin.noisy_prefix_sums(totals, decode, drawn * float(found.diagnostics.noise_scale))
    np.testing.assert_allclose(found.value, again, rtol=1e-6)
    sums = continual_sums(key, np.zeros((4, 5)), asked, num_items=2, spacing=spacing).diagnostics
    wide = float(sums.noise_scale) / float(found.diagnostics.noise_scale)
    assert wide == pytest.approx(math.sqrt(2 / (3 / 4)))


def test_the_band_has_the_least_error_of_its_kind_and_saves_what_is_said():
    """What the table at the head of the module states, largest deviations and sensitivities."""
    for steps, gap, limit, plain, own, moved, band in (
        (12, 1, 12, 1.85, 1.00, 3.46, 1),
        (12, 3, 4, 1.85, 1.19, 2.36, 3),
        (52, 4, 13, 2.32, 1.14, 5.94, 8),
        (365, 28, 13, 2.94, 1.33, 6.61, 56),
        (365, 1, 10, 2.94, 2.46, 14.36, 365),
    ):
        spacing = Spacing(gap)
        assert best_band(steps, spacing, limit) == band
        found = spaced_errors(steps, spacing, limit).max(), spaced_root(steps, spacing, limit)[1]
        assert np.round(found, 2).tolist() == [own, moved]
        assert prefix_sum_errors("square-root", steps, "gaussian").max() == pytest.approx(
            plain, abs=5e-3
        )
    assert spaced_errors(365, Spacing(400), 1).max() == pytest.approx(
        (square_root_coefficients(365) ** 2).sum()
    )


def test_where_contributions_are_traced_as_many_count_as_the_gap_allows(key):
    def scale(limit):
        asked = promise(1.0, "user", "replace", limit, delta=1e-4)
        stream = continual_totals(key, np.zeros((5, 2)), asked, spacing=Spacing(2))
        return stream.diagnostics.deviations[-1]

    assert float(jax.jit(scale)(2)) == pytest.approx(float(scale(3)), rel=1e-6)
    assert float(scale(2)) < float(scale(3)) == pytest.approx(float(scale(9)))


def test_refusals(key):
    wrongs: tuple[Any, ...] = (0, -1, 1.5, True, 10**7)
    for wrong in wrongs:
        with pytest.raises(ValueError, match=r"gap \(--gap\) must be a whole number from 1"):
            Spacing(wrong)
        with pytest.raises(ValueError, match=r"per_step \(--max-per-step\) must be a whole number"):
            Spacing(1, wrong)
    totals, spacing = np.zeros((3, 2)), Spacing(2)
    with pytest.raises(ValueError, match="lower Gaussian noise alone"):
        continual_totals(key, totals, ASKED, noise="laplace", spacing=spacing)
    one = promise(1.0, "comparison", "replace", delta=1e-4)
    with pytest.raises(ValueError, match="are about users"):
        continual_totals(key, totals, one, spacing=spacing)
    with pytest.raises(ValueError, match="leave strategy out"):
        continual_totals(key, totals, ASKED, strategy="tree", spacing=spacing)
