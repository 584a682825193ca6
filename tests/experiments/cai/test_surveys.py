"""The survey study (Figure 8) against the public estimators, called one by one, and plain NumPy."""

from __future__ import annotations

import dataclasses
import math

import jax
import numpy as np
import pytest

from privrank_jax import experiments, rankings
from privrank_jax.data import Comparisons, load
from privrank_jax.experiments.cai import surveys
from privrank_jax.experiments.cai.common import CALIBRATIONS, NAMES, Unit
from privrank_jax.pairwise.maximum_likelihood import mle
from tests import reference
from tests.experiments.estimates import by_counts, by_mle
from tests.experiments.rows import row, table

KEY = jax.random.key(20251105)


def small_survey(**changes):
    """Two users, three items, every pair asked; one tie and one missing answer."""
    fields = {
        "users": [0, 0, 0, 1, 1], "winners": [0, 0, 1, 2, 1], "losers": [1, 2, 2, 0, 2],
        "tied": [False, False, True, False, False], "item_names": ("a", "b", "c"),
        "user_names": ("u", "v"), "questionnaire": [(0, 1), (0, 2), (1, 2)], "name": "small",
    }  # fmt: skip
    return Comparisons(**{**fields, **changes})


def test_survey_counts_ties_as_asked_and_pads_items():
    half, per_user = surveys.survey(small_survey(), "half", 4)
    expected = np.array([[0, 1, 1, 0], [0, 0, 1.5, 0], [1, 0.5, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(half.matrix, expected)
    assert half.item_mask.tolist() == [True, True, True, False]
    assert float(per_user) == 3
    dropped, _ = surveys.survey(small_survey(), "dropped", 3)
    np.testing.assert_array_equal(dropped.matrix, [[0, 1, 1], [0, 0, 1], [1, 0, 0]])


def test_survey_without_a_common_questionnaire_is_refused():
    with pytest.raises(ValueError, match="small has no common questionnaire"):
        surveys.survey(small_survey(questionnaire=None), "half", 3)


def test_random_difference_is_the_mean_over_all_rankings():
    for items in (3, 4):
        ranks = list(np.ndindex(*(items,) * items))
        ranks = [np.array(r) for r in ranks if len(set(r)) == items]
        mean = np.mean([abs(r - np.arange(items)).mean() for r in ranks])
        np.testing.assert_allclose(surveys.random_difference(items), mean, rtol=1e-12)


def test_cems_without_ties_has_the_counts_that_the_authors_print(data_folder):
    """The win matrix in their notebook, from another copy of the survey (R package BradleyTerry2)."""
    found, _ = surveys.survey(load("cemspc", data_folder), "dropped", 6)
    assert load("cemspc", data_folder).item_names == (
        "London", "Paris", "Milano", "St.Gallen", "Barcelona", "Stockholm",
    )  # fmt: skip
    expected = [
        [0, 186, 221, 208, 217, 250],
        [91, 0, 121, 165, 157, 203],
        [56, 59, 0, 135, 104, 157],
        [73, 119, 140, 0, 144, 155],
        [67, 109, 132, 134, 0, 172],
        [34, 70, 100, 98, 90, 0],
    ]
    np.testing.assert_array_equal(found.matrix, expected)


def naive_rank_differences(key, survey, epsilon):
    """One replicate on one survey at one ε: estimator and calibration to mean rank difference."""
    noise_key, tie_key = jax.random.split(key)
    wins, unit = survey[0], Unit("user", float(survey[1]))
    real = np.flatnonzero(np.asarray(wins.item_mask))

    def ranks(values):
        return np.asarray(rankings.ranks_from_scores(values, wins.mask, tie_key))[real]

    def moved(values, plain):
        return reference.spearman_footrule(ranks(values), ranks(plain)) / len(real)

    plain, found = mle(wins).value, {}
    for calibration in CALIBRATIONS:
        scores = by_mle(noise_key, wins, unit, epsilon, calibration).value
        totals = by_counts(noise_key, wins, unit, epsilon, calibration)
        found["mle", calibration.name] = moved(scores, plain)
        found["counts", calibration.name] = moved(totals, wins.totals)
    return found


def near(*means, error=0.01, epsilon=10.0, **cell):
    cell = {"data": "d", "ties": "half", "num_items": 4, **cell}
    return [
        row(m, error, "mean_rank_difference", estimator, epsilon=epsilon, **cell)
        for m, estimator in zip(means, ("mle", "counts"))
    ]


def test_near_holds_if_all_lie_below_a_quarter_of_a_random_ranking():
    limit = surveys.random_difference(4) / 4

    def ask(*rows):
        return surveys.near(table(*rows), calibration="published")

    for means, holds in (
        ((limit - 0.031, limit - 0.2), True), ((limit - 0.029, limit - 0.2), None),
        ((limit + 0.029, limit - 0.2), None), ((limit - 0.2, limit + 0.031), False),
    ):  # fmt: skip
        assert ask(*near(*means)).holds is holds
    assert ask(*near(0.1, 0.1, error=math.nan)).holds is None
    assert ask().holds is None
    # Neither smaller ε, nor dropped ties, nor the difference of the two count.
    worse = near(9.0, 9.0, epsilon=8.0) + near(9.0, 9.0, ties="dropped")
    worse.append({**near(9.0)[0], "estimator": "mle minus counts"})
    found = ask(*near(0.1, 0.05), *worse)
    assert found.holds is True
    assert "d mle 0.100 ± 0.010 (8%); d counts 0.050 ± 0.010 (4%)" in found.evidence


def uneven_survey():
    """Item 3 was asked about least and beats the best: wins and the MLE rank it otherwise."""
    games = [(0, 1, 8), (1, 0, 2), (0, 2, 8), (2, 0, 2), (1, 2, 6), (2, 1, 5), (3, 0, 2), (0, 3, 1)]
    winners, losers = zip(*(pair for *pair, times in games for _ in range(times)), strict=True)
    return small_survey(
        users=range(len(winners)), winners=winners, losers=losers, tied=[False] * len(winners),
        item_names="abcd", user_names=map(str, range(len(winners))), name="uneven",
        questionnaire=[(0, 1), (0, 2), (1, 2), (0, 3)],
    )  # fmt: skip


@pytest.mark.slow
def test_surveys_against_the_public_estimators(data_folder, monkeypatch):
    uneven = uneven_survey()

    def get(name):
        return uneven if name == "uneven" else load(name, data_folder)

    monkeypatch.setattr("privrank_jax.data.load", get)
    epsilon, replicates, names = 2.0, 3, ("cemspc", "immig", "uneven")
    study = experiments.get("cai-fig8").configured(epsilons=epsilon)
    study = dataclasses.replace(study, values={**study.values, "data": names})
    result = experiments.run(KEY, study, replicates)
    assert result.diagnostics["compilations"] == 1
    assert result.diagnostics["failed_fits"] == result.diagnostics["nonfinite"] == 0
    for name in names:
        survey = surveys.survey(get(name), "half", 6)  # immig has 4 items: padding
        naive = [
            naive_rank_differences(jax.random.fold_in(KEY, r), survey, epsilon)
            for r in range(replicates)
        ]
        rows = {
            (row["estimator"], row["calibration"]): row
            for row in result.table.select("mean_rank_difference", data=name, ties="half")
        }
        for where in naive[0]:
            mean = np.mean([one[where] for one in naive])
            np.testing.assert_allclose(rows[where]["mean"], mean, atol=1e-6, err_msg=str(where))
        for calibration in NAMES:
            gaps = [one["mle", calibration] - one["counts", calibration] for one in naive]
            row = rows["mle minus counts", calibration]
            mean, error, _ = reference.mean_and_error(gaps)
            np.testing.assert_allclose(row["mean"], mean, atol=1e-6)
            np.testing.assert_allclose(row["standard_error"], error, atol=1e-6)
    # Where ties are dropped the comparison graph is private, and flips protect too little.
    dropped = {row["calibration"] for row in result.table.rows if row["ties"] == "dropped"}
    assert dropped == {None, "published", "tight replace"}
