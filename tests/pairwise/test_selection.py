"""Link selection: losses as defined, the right link with enough data, Table 4, debiased sums."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from privrank_jax.comparisons import WinCounts
from privrank_jax.pairwise.debiased_fit import debiased_sums
from privrank_jax.pairwise.maximum_likelihood import select_link
from tests import reference
from tests.quick import quick_jit

CDF = {
    "logistic": scipy.stats.logistic.cdf,
    "normal": scipy.stats.norm.cdf,
    "laplace": scipy.stats.laplace.cdf,
}

LINKS = ("logistic", "normal", "laplace")


def chosen(data, links=LINKS, **gamma):
    """``select_link`` by NumPy; :func:`test_table_4_m_10_users_200` compiles it."""
    data = WinCounts.from_matrix(data) if isinstance(data, np.ndarray) else data
    return quick_jit(lambda data: select_link(data, links, **gamma))(data)


def test_losses_are_those_of_the_fitted_scores():
    """-Σ Z_ij log F(θ_i - θ_j), each win once and in its direction; the best link is the one with the least."""
    matrix = np.array([[0.0, 9, 4], [2, 0, 8], [3, 1, 0]])
    found = chosen(matrix, gamma=0.8)
    selection = found.diagnostics
    direct = [
        -sum(
            matrix[i, j] * reference.link(link, float(theta[i] - theta[j]))[1]
            for i in range(3)
            for j in range(3)
        )
        for link, theta in zip(selection.links, selection.scores)
    ]
    np.testing.assert_allclose(selection.losses, direct, rtol=1e-12)
    assert selection.links == LINKS
    assert int(selection.best) == np.argmin(direct)
    np.testing.assert_array_equal(found.value, selection.scores[int(selection.best)])
    for link, theta in zip(LINKS, selection.scores):  # the ridge is γ/2 ‖θ‖²
        _, gradient = reference.perturbed_objective(theta, matrix, np.zeros(3), 2 * 0.4, link)
        assert np.abs(gradient).max() < 1e-6
    plain, one = (chosen(matrix, **c) for c in ({}, {"gamma": 2.0}))
    np.testing.assert_array_equal(plain.value, one.value)


def test_sums_of_clear_answers_are_win_counts_and_private_ones_come_close():
    random = np.random.default_rng(3)
    scores, users = np.linspace(-2.0, 2.0, 5), 40_000
    first, second = np.triu_indices(5, 1)
    answers = random.uniform(size=(users, 10)) < CDF["normal"](scores[first] - scores[second])
    matrix = np.zeros((5, 5))
    matrix[first, second], matrix[second, first] = answers.sum(0), users - answers.sum(0)
    names = ("logistic", "normal")
    clear = chosen(matrix, names)
    seen = np.ones(answers.shape, bool)
    summed = chosen(debiased_sums(answers, seen, np.inf), names)
    np.testing.assert_allclose(summed.value, clear.value, atol=1e-6)
    np.testing.assert_allclose(summed.diagnostics.losses, clear.diagnostics.losses, rtol=1e-9)
    assert names[int(clear.diagnostics.best)] == "normal"

    epsilon = random.uniform(2, 5, users)
    flips = random.uniform(size=answers.shape) < 1 / (1 + np.exp(epsilon))[:, None]
    private = chosen(debiased_sums(answers ^ flips, seen, epsilon), names)
    assert names[int(private.diagnostics.best)] == "normal"
    assert not np.any(private.diagnostics.codes)
    np.testing.assert_allclose(private.value, clear.value, atol=0.1)


@pytest.mark.parametrize("links", [("logistic",), ("normal", "normal"), ("logistic", "cauchy")])
def test_refusals(links):
    wins = WinCounts.from_matrix([[0, 1], [1, 0]])
    with pytest.raises(ValueError, match="link"):
        select_link(wins, links)
    with pytest.raises(ValueError, match="gamma"):
        select_link(wins, gamma=-1.0)
