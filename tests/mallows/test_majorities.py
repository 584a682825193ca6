"""Majorities of synthetic rankings: bounds against the enumeration of whole crowds, the crowds that attain them, and
what is printed."""

from __future__ import annotations

import numpy as np
import pytest

from privrank_jax import mallows
from tests.mallows.crowd import CROWD
from tests.reference import mallows as naive


def margins(centers, shares, epsilon: float) -> tuple[float, float]:
    """Margin of item 0 over item 1 in a crowd and in its synthetic rankings, by enumeration of all of them."""
    own = synthetic = 0.0
    for share, center in zip(shares, centers, strict=True):
        rankings, mass = naive.pmf(center, epsilon)
        own += share * np.sign(center[1] - center[0])
        synthetic += share * float(mass @ np.sign(rankings[:, 1] - rankings[:, 0]))
    return float(np.clip(own, -1, 1)), synthetic


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 9.0])
@pytest.mark.parametrize("num_items", [2, 3, 5])
def test_no_crowd_leaves_the_bounds(num_items: int, epsilon: float) -> None:
    rng = np.random.default_rng(num_items)
    for _ in range(40):
        centers = [rng.permutation(num_items) for _ in range(3)]
        own, synthetic = margins(centers, rng.dirichlet(np.full(3, 0.4)), epsilon)
        low, high = mallows.synthetic_margin_bounds(own, num_items, epsilon)
        assert low - 1e-6 <= synthetic <= high + 1e-6


@pytest.mark.parametrize("epsilon", [0.3, 2.0, 9.0])
@pytest.mark.parametrize("num_items", [3, 5])
def test_the_crowd_of_the_theorem_attains_both_and_turns_at_the_sure_majority(num_items, epsilon):
    rest = list(range(2, num_items))
    near = np.argsort([0, 1, *rest])
    far = np.argsort([1, *rest, 0])  # item 1 first, item 0 last
    sure = float(mallows.sure_majority(num_items, epsilon))
    for share in (0.3, 0.51, sure):
        own, synthetic = margins([near, far], [share, 1 - share], epsilon)
        low, _ = mallows.synthetic_margin_bounds(own, num_items, epsilon)
        assert synthetic == pytest.approx(float(low), abs=1e-6)
        assert synthetic == pytest.approx(0, abs=1e-6) or share != sure
        reversed_own, reversed_synthetic = margins(
            [near[[1, 0, *rest]], far[[1, 0, *rest]]], [share, 1 - share], epsilon
        )
        _, high = mallows.synthetic_margin_bounds(reversed_own, num_items, epsilon)
        assert reversed_synthetic == pytest.approx(float(high), abs=1e-6)
    assert 0.5 < sure < (2 * num_items - 1) / (2 * num_items + 2)


def test_equal_gaps_keep_every_majority_within_sharper_bounds_than_the_printed_ones():
    """Neighbors in the center of a Mallows crowd: exchanging them turns one opinion into the other."""
    rankings, mass = naive.pmf(range(4), 3.0)
    for epsilon in (0.5, 4.0):
        own, synthetic = margins(rankings, mass, epsilon)
        low, high = mallows.synthetic_margin_bounds(own, 4, epsilon, crowd="equal-gaps")
        printed = mallows.synthetic_margin_bounds(own, 4, epsilon, crowd="published")
        assert low - 1e-6 <= synthetic <= high + 1e-6
        assert (float(printed[0]), True) == (pytest.approx(float(low)), bool(high < printed[1]))


def test_theorem_1_of_the_paper_is_false_in_both_parts():
    own, synthetic = margins(CROWD, [0.51, 0.49], 2.0)
    assert (own, synthetic) == (pytest.approx(0.02), pytest.approx(-0.18973, abs=1e-5))
    low, high = (float(x) for x in mallows.synthetic_margin_bounds(own, 5, 2.0, crowd="published"))
    assert (low / own, high / own) == (
        pytest.approx(0.2449, abs=1e-4),
        pytest.approx(0.9414, abs=1e-4),
    )
    assert abs(synthetic / own) == pytest.approx(9.49, abs=0.005)
