"""Results: what is known of scores under noise, and numbers that are none."""

from __future__ import annotations

import math

import numpy as np
import pytest
from privrank_jax.cli.core.result import (
    Certainty,
    Result,
    best_first,
    check_finite,
    noise_reach,
    of_noise,
)

from privrank_jax import Guarantee, Privacy
from privrank_jax.cli.console import Refusal

GUARANTEE = Guarantee(Privacy(1.0, unit="comparison", adjacency="flip"))


def result(**changes):
    whole = {
        "title": "t", "order": np.arange(2), "guarantee": GUARANTEE, "diagnostics": {"scale": 1.0},
        "scores": np.array([2.0, 1.0]), **changes,
    }  # fmt: skip
    return Result(**whole)


def test_equal_scores_stay_in_the_order_of_the_list():
    assert best_first(np.array([1.0, 3.0, 1.0, 3.0])).tolist() == [1, 3, 0, 2]


@pytest.mark.parametrize(
    "changes",
    [
        {"scores": np.array([1.0, np.nan])},
        {"scores": np.array([1.0, np.inf])},
        {"diagnostics": {"scale": math.inf}},
        {"certainty": Certainty(intervals={"low": np.array([-np.inf, 0.0])})},
    ],
)
def test_numbers_beyond_floating_point_are_refused_and_nothing_is_shown(changes):
    check_finite(result())
    with pytest.raises(Refusal, match="Nothing is shown"):
        check_finite(result(**changes))


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_the_reach_covers_all_noises_as_often_as_it_says(noise):
    rng = np.random.default_rng(1)
    draw = rng.laplace if noise == "laplace" else rng.normal
    reach = noise_reach(2.0, noise, 0.9, 5)
    inside = np.mean(np.all(np.abs(draw(0, 2.0, (20_000, 5))) <= reach, axis=1))
    assert abs(inside - 0.9) < 0.012  # 5.6 standard errors


def test_items_are_better_where_their_intervals_are_apart():
    found = of_noise(
        np.array([9.0, 2.0, 1.0]),
        noise_reach(0.2, "laplace", 0.95, 3) + 1.0,
        what="totals",
    )
    reach = noise_reach(0.2, "laplace", 0.95, 3) + 1.0
    np.testing.assert_allclose(found.intervals["high"] - found.intervals["low"], 2 * reach)
    assert found.better.tolist() == [[False, True, True], [False] * 3, [False] * 3]
