"""The survey study (Figure 8) against the public estimators, called one by one, and plain NumPy."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import experiments, rankings
from privrank_jax.data import Comparisons, load
from privrank_jax.experiments.cai import real as cai_real
from privrank_jax.experiments.cai.common import CALIBRATIONS, Unit
from privrank_jax.pairwise.designs import Counts
from privrank_jax.pairwise.fits import fit
from privrank_jax.pairwise.maximum_likelihood import mle
from privrank_jax.pairwise.noisy_totals import noisy_counts
from privrank_jax.pairwise.perturbed_fit import mean_degree
from privrank_jax.pairwise.ridges import least_risk_gamma
from privrank_jax.privacy import Privacy
from tests import reference
from tests.experiments.estimates import by_counts, by_mle
from tests.promises import promise

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
    half = cai_real.survey(small_survey(), "half", 4, "float32")
    expected = np.array([[0, 1, 1, 0], [0, 0, 1.5, 0], [1, 0.5, 0, 0], [0, 0, 0, 0]])
    np.testing.assert_array_equal(half.wins.matrix, expected)
    assert half.wins.matrix.dtype == jnp.float32
    assert half.wins.item_mask.tolist() == [True, True, True, False]
    dropped = cai_real.survey(small_survey(), "dropped", 3, "float64")
    np.testing.assert_array_equal(dropped.wins.matrix, [[0, 1, 1], [0, 0, 1], [1, 0, 0]])
    # L = 3 questions, the largest cut of a triangle 2: 2·2 where answers flip, 3 + 2 where they may be missing.
    assert (float(half.per_user), float(half.flip), float(half.replace)) == (3, 4, 5)
    np.testing.assert_array_equal(half.asked, expected_pairs(3, 4))
    # Uniform in a regular hexagon of radius √8: variance 5/24·8 per dimension, times E r² = 12.
    assert float(half.variance) == pytest.approx(20.0)


def expected_pairs(items, size):
    asked = np.zeros((size, size))
    asked[:items, :items] = 1 - np.eye(items)
    return asked


def test_survey_without_a_common_questionnaire_is_refused():
    with pytest.raises(ValueError, match="small has no common questionnaire"):
        cai_real.survey(small_survey(questionnaire=None), "half", 3, "float32")


def test_random_difference_is_the_mean_over_all_rankings():
    for items in (3, 4):
        ranks = list(np.ndindex(*(items,) * items))
        ranks = [np.array(r) for r in ranks if len(set(r)) == items]
        mean = np.mean([abs(r - np.arange(items)).mean() for r in ranks])
        np.testing.assert_allclose(cai_real.random_difference(items), mean, rtol=1e-12)


def test_cems_without_ties_has_the_counts_that_the_authors_print(data_folder):
    """The win matrix in their notebook, from another copy of the survey (R package BradleyTerry2)."""
    found = cai_real.survey(load("cemspc", data_folder), "dropped", 6, "float64")
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
    np.testing.assert_array_equal(found.wins.matrix, expected)


def naive_rank_differences(key, survey, epsilon):
    """One replicate on one survey at one ε: estimator and calibration to mean rank difference."""
    noise_key, tie_key = jax.random.split(key)
    wins, unit = survey.wins, Unit("user", float(survey.per_user))
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
    noisy = noisy_counts(
        noise_key, wins, unit.promise(epsilon, "flip"), sensitivity=float(survey.flip)
    )
    variance = 2 * float(noisy.diagnostics.noise_scale) ** 2
    gamma = least_risk_gamma(mean_degree(wins), variance)
    scores = fit(Counts(wins.comparisons, wins.mask), 2 * wins.totals - noisy.value, gamma).value
    found["mle", "questionnaire flip"] = moved(scores, plain)
    for name, bound in (("flip", survey.flip), ("replace", survey.replace)):
        noisy = noisy_counts(
            noise_key, wins, promise(epsilon, "user"), sensitivity=float(bound)
        ).value
        totals = 2 * wins.totals - noisy
        found["counts", f"questionnaire {name}"] = moved(totals, wins.totals)
    return found | shaped_rank_differences(noise_key, survey, epsilon, moved, plain)


def shaped_rank_differences(key, survey, epsilon, moved, plain):
    """The part with K-norm noise; the questionnaire is traced, as in the study, so that the same noise is drawn."""
    wins, found = survey.wins, {}

    def noisy(asked, adjacency):
        privacy = Privacy(epsilon, unit="user", adjacency=adjacency, public=("questionnaire",))
        totals = 2 * wins.totals - noisy_counts(key, wins, privacy, questionnaire=asked).value
        if adjacency == "replace":
            return totals, totals
        information = jnp.sum(wins.degrees) / jnp.sum(wins.item_mask) / 5
        gamma = 1 + survey.variance / (epsilon**2 * information)
        return totals, fit(Counts(wins.comparisons, wins.mask), totals, gamma).value

    for adjacency in ("flip", "replace"):
        totals, scores = jax.jit(noisy, static_argnums=1)(survey.asked, adjacency)
        found["counts", f"questionnaire {adjacency}, K-norm"] = moved(totals, wins.totals)
        if adjacency == "flip":
            found["mle", "questionnaire flip, K-norm"] = moved(scores, plain)
    return found


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

    def get(name, folder):
        return uneven if name == "uneven" else load(name, folder)

    monkeypatch.setattr("privrank_jax.data.load", get)
    epsilons, replicates, names = (2.0,), 3, ("cemspc", "immig", "uneven")
    config = cai_real.SurveyConfig(names, epsilons=epsilons, data_folder=str(data_folder))
    study = dataclasses.replace(experiments.get("cai-fig8"), config=config)
    result = experiments.run(KEY, study, replicates)
    assert result.diagnostics["compilations"] == 1
    assert result.diagnostics["failed_fits"] == result.diagnostics["nonfinite"] == 0
    for name in names:
        data = get(name, data_folder)
        survey = cai_real.survey(data, "half", 6, "float32")  # immig has 4 items: padding
        for epsilon in epsilons:
            naive = [
                naive_rank_differences(jax.random.fold_in(KEY, r), survey, epsilon)
                for r in range(replicates)
            ]
            rows = {
                (row["estimator"], row["calibration"]): row
                for row in result.table.select(
                    "mean_rank_difference", data=name, ties="half", epsilon=epsilon
                )
            }
            for where in naive[0]:
                mean = np.mean([one[where] for one in naive])
                np.testing.assert_allclose(rows[where]["mean"], mean, atol=1e-6, err_msg=str(where))
            for calibration in {calibration for _, calibration in naive[0]} - {
                "questionnaire replace",
                "questionnaire replace, K-norm",
            }:
                gaps = [one["mle", calibration] - one["counts", calibration] for one in naive]
                row = rows["mle minus counts", calibration]
                mean, error, _ = reference.mean_and_error(gaps)
                np.testing.assert_allclose(row["mean"], mean, atol=1e-6)
                np.testing.assert_allclose(row["standard_error"], error, atol=1e-6)
    # Where ties are dropped the comparison graph is private, and flips protect too little.
    dropped = {row["calibration"] for row in result.table.rows if row["ties"] == "dropped"}
    only_answers = {"questionnaire replace", "questionnaire replace, K-norm"}
    assert dropped == {None, "published", "tight replace"} | only_answers
