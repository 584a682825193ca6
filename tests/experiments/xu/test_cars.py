"""The survey of cars."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.stats

from privrank_jax.data import Comparisons, load
from privrank_jax.experiments.xu import cars
from privrank_jax.experiments.xu import printed as xu_printed
from tests.experiments.rows import p_of


def small_table(**changes):
    fields = {
        "users": [0, 0, 1], "winners": [2, 0, 1], "losers": [0, 1, 0], "tied": [False] * 3,
        "item_names": "abc", "user_names": "uv", "name": "small",
    }  # fmt: skip
    return Comparisons(**{**fields, **changes})


def test_answers_are_laid_out_by_pairs():
    answers, observed = cars.answers_of(small_table())  # pairs 01, 02, 12
    assert observed.tolist() == [[True, True, False], [True, False, False]]
    assert answers.tolist() == [[True, False, False], [False, False, False]]
    with pytest.raises(ValueError, match="1 ties"):
        cars.answers_of(small_table(tied=[True, False, False]))
    with pytest.raises(ValueError, match="twice"):
        cars.answers_of(small_table(users=[0, 0, 0]))


@pytest.mark.slow
def test_cars_have_the_printed_ranking_and_missing_answers(data_folder):
    """Table 1: the ranks of cars 1 to 10 by all three methods."""
    survey = cars.load(p_of("xu-table2"))
    assert (np.asarray(survey["ranks"]) + 1).tolist() == [8, 3, 10, 9, 7, 1, 5, 4, 6, 2]
    assert survey["answers"].shape == (60, 45)
    assert int(survey["observed"].sum()) == len(load("cars", data_folder)) == 2675


def test_p_values_are_those_of_the_t_statistics():
    """The printed ones too: two-sided, 199 degrees of freedom."""
    for method, statistic in xu_printed.TABLE_2_T.items():
        value = 2 * scipy.stats.t.sf(statistic, 199)
        assert value == pytest.approx(xu_printed.TABLE_2_P[method], rel=0.02)
    row = {
        "link": "BTL",
        "metric": "full_ranking_error",
        "estimator": "Count minus ADRR",
        "mean": 0.02,
    }
    row |= {"standard_error": 0.01, "replicates": 30, "nonfinite": 0}
    (found,) = cars.with_statistics(p_of("xu-table2"), [row])
    assert found["t_statistic"] == pytest.approx(2)
    assert found["p_value"] == pytest.approx(2 * (1 - scipy.stats.t.cdf(2, 29)))
    assert (found["printed_t_statistic"], found["printed_p_value"]) == (4.1219, 5.5e-5)
    (plain,) = cars.with_statistics(p_of("xu-table2"), [{**row, "estimator": "ADRR"}])
    assert math.isnan(plain["p_value"])
    assert math.isnan(plain["printed_p_value"])
