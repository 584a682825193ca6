"""K-norm noise on sums with covariates: the fit, its intervals, ties, the choice of least error, refusals."""

from __future__ import annotations

import dataclasses
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax._quickly import quickly
from privrank_jax.pairwise.covariate_noise import (
    least_covariate_noise,
    noise_on_sums,
)
from privrank_jax.pairwise.covariate_tables import covariate_table
from privrank_jax.pairwise.covariates import CovariateTable
from privrank_jax.pairwise.model_uncertainty import model_errors, model_intervals
from privrank_jax.pairwise.noisy_totals import noisy_counts
from privrank_jax.pairwise.perturbed_fit import default_ridges, perturbed_mle
from privrank_jax.privacy import Privacy
from tests.reference.covariates import (
    covariate_fit,
    matrix_of,
    user_sensitivity,
)

USERS = Privacy(1.0, unit="user", adjacency="flip", public=("covariates",))
COMMON = list(itertools.combinations(range(4), 2))
EACH = len(COMMON)


def survey(users, seed=0, effects=(0.6, -0.4), truth=(0.7, 0.2, -0.2, -0.7)):
    """All pairs of four items for each user, who is shown either first; and how much longer the first one is."""
    rng = np.random.default_rng(seed)
    pairs = np.tile(COMMON, (users, 1))
    turned = rng.random(len(pairs)) < 0.5
    pairs[turned] = pairs[turned, ::-1]
    length = rng.normal(0, 1, len(pairs)).clip(-2, 2)
    odds = (
        np.take(truth, pairs[:, 0]) - np.take(truth, pairs[:, 1]) + effects[0] + effects[1] * length
    )
    won = (rng.random(len(pairs)) < 1 / (1 + np.exp(-odds))) * 1.0
    columns = {"first": np.ones(len(pairs)), "length": length}
    who = np.repeat(np.arange(users), EACH)
    table = covariate_table(*pairs.T, won, columns, num_items=4, users=who)
    return table, 1 / (1 + np.exp(-odds))


TABLE, CHANCE = survey(50)


def test_equals_the_naive_fit_to_the_same_noisy_sums(key):
    matrix, design = matrix_of(TABLE.design), TABLE.design
    noisy = noisy_counts(key, TABLE, USERS, noise="k-norm")
    assert float(noisy.diagnostics.noise_scale) == 1.0
    assert noisy.guarantee is not None
    assert (noisy.guarantee.attained.epsilon, noisy.guarantee.attained.delta) == (1.0, 0.0)
    most = np.abs(matrix[:, 4:]).max(0)
    dims, widths = 5, np.abs(matrix[:, 4:]).reshape(-1, EACH, 2).sum(1).max(0)
    of_items = noise_on_sums(design, "k-norm", 1.0).variance_per_dimension()
    variance = np.r_[[of_items] * 4, (dims + 1) * (dims + 2) / 3 * widths**2]
    told = np.r_[[len(matrix) / 2] * 4, (matrix[:, 4:] ** 2).sum(0)] / 5
    ridge = np.r_[[1.0] * 4, most**2] * (1 + variance / told)
    found = perturbed_mle(key, TABLE, USERS, noise="k-norm")
    np.testing.assert_allclose(found.diagnostics.gamma, ridge, rtol=1e-6)
    expected = covariate_fit(matrix, np.asarray(noisy.value), ridge, 4)
    beta = np.concatenate([found.value.scores, found.value.coefficients * design.units])
    np.testing.assert_allclose(beta, expected, atol=1e-7)


def test_standard_errors_and_coverage(key):
    """The sandwich of the design; and 95 % of 300 releases with their own outcomes, fewer if noise is not counted."""
    design, runs = TABLE.design, 300
    won = (np.random.default_rng(2).random((runs, len(CHANCE))) < CHANCE) * 1.0

    @jax.jit
    def run(keys, outcomes, known, ridged):
        def one(key, outcomes):
            found = perturbed_mle(key, CovariateTable(design, outcomes), USERS, noise="k-norm")
            ridges, told = ridged * found.diagnostics.gamma, {"noise_scale": known}
            errors = model_errors(found.value, design, gamma=ridges, noise="k-norm", **told)
            return found.value, model_intervals(found.value, errors)

        return jax.vmap(one)(keys, outcomes)

    keys = jax.random.split(key, runs)
    value, errors = run(keys, won, 1.0, 1.0)
    truth, slopes = np.array([0.7, 0.2, -0.2, -0.7]), np.array([0.6, -0.4])
    errors = jax.tree.map(np.asarray, errors)
    items = np.mean((errors.scores.low <= truth) & (errors.scores.high >= truth), 0)
    ends = errors.coefficients
    effects = np.mean((ends.low <= slopes) & (ends.high >= slopes), 0)
    slack = 4.5 * np.sqrt(0.05 * 0.95 / runs)
    assert np.all(np.abs(np.r_[items, effects] - 0.95) < slack + 0.015), (items, effects)
    ends = run(keys, won, 0.0, 1.0)[1].coefficients
    effects = np.mean((ends.low <= slopes) & (ends.high >= slopes), 0)
    assert np.all(effects < 0.9), effects
    matrix = matrix_of(design)
    beta = np.r_[value.scores[0], value.coefficients[0] * design.units]
    chance = 1 / (1 + np.exp(-matrix @ beta))
    fisher = (matrix.T * chance * (1 - chance)) @ matrix
    inverse = np.linalg.pinv(fisher)
    spread = np.asarray(noise_on_sums(design, "k-norm", 1.0).covariance())
    deviations = np.sqrt(np.diag(inverse @ (fisher + spread) @ inverse))
    about = run(keys, won, 1.0, 0.0)[1]
    both = np.r_[
        about.scores.standard_errors[0], about.coefficients.standard_errors[0] * design.units
    ]
    np.testing.assert_allclose(both, deviations, rtol=1e-6)


def test_with_ties_of_their_own(key):
    """The number of ties has uniform noise in ±6 times a Gamma(7) radius; the fit and its intervals take it."""
    design = TABLE.design
    outcomes = jnp.where(jnp.arange(len(CHANCE)) % 4 == 0, 0.5, TABLE.outcomes)
    table = CovariateTable(design, outcomes)
    draws = jax.vmap(
        lambda one: noisy_counts(one, table, USERS, noise="k-norm", ties="davidson").value
    )
    drawn = draws(jax.random.split(key, 4000))
    noise = np.asarray(drawn[:, -1]) - len(CHANCE) / 4
    assert np.mean(np.abs(noise)) == pytest.approx(7 * 6 / 2, rel=0.06)
    ridges, spread = zip(*(_tied_fit(drawn[0], told) for told in (0.0, 1.0)))
    assert ridges[0] == 1.0
    # Var T = 7·8·36/3, over the information 2/9 of a comparison.
    assert float(ridges[1]) == pytest.approx(1 + 672 / (len(CHANCE) * 2 / 9))
    assert spread[1] > 1.1 * spread[0]


def _tied_fit(counted, scale):
    """The fit to noisy sums and ties of ``TABLE``, and the length of the interval of log ν."""
    design, told = TABLE.design, {"noise_scale": scale, "noise": "k-norm"}
    with_ties = dataclasses.replace(design, ties=True)
    ridges = default_ridges(with_ties, noise_on_sums(design, "k-norm", scale, ties=True))
    found = quickly(pairwise.fit, with_ties, counted, *ridges)
    told |= {"gamma": ridges[0], "tie_gamma": ridges[1]}
    errors = quickly(lambda value: model_errors(value, design, **told), found.value)
    ends = quickly(model_intervals, found.value, errors).log_tie
    assert ends.low < found.value.log_tie < ends.high
    return ridges[1], ends.high - ends.low


def test_the_choice_is_that_of_least_error():
    """K-norm noise for a common list of pairs; Laplace noise where each user meets another pair, or for comparisons."""
    assert least_covariate_noise(TABLE.design, USERS) == "k-norm"
    assert least_covariate_noise(TABLE.design, USERS, ties=True) == "k-norm"
    one = dataclasses.replace(USERS, unit="comparison")
    assert least_covariate_noise(TABLE.design, one) == "laplace"
    others = dataclasses.replace(TABLE.design, users=jnp.arange(len(CHANCE)))
    assert least_covariate_noise(others, USERS) == "laplace"
    # Two pairs each, of three, and one long answer: little is shared.
    rows = np.arange(120)
    pairs = np.array([(0, 1), (0, 2), (1, 2)])[(rows + rows // 2) % 3]
    long = np.where(rows % 40 == 0, 30.0, np.sin(rows))
    some = covariate_table(*pairs.T, rows % 2, {"x": long}, num_items=3, users=rows // 2).design
    matrix = matrix_of(some)
    step = np.linalg.pinv(matrix.T @ matrix / 4)
    weight = np.r_[1.0, 1.0, 1.0, np.abs(matrix[:, 3]).max() ** 2]
    change = user_sensitivity(matrix, (rows // 2).tolist(), 1, 3)
    laplace = 2 * change**2 * np.diag(step @ step)
    law = noise_on_sums(some, "k-norm", 1.0).covariance()
    shaped = np.diag(step @ law @ step)
    wanted = "k-norm" if weight @ shaped < weight @ laplace else "laplace"
    assert least_covariate_noise(some, USERS) == wanted


def test_what_is_refused(key):
    one = dataclasses.replace(USERS, unit="comparison")
    with pytest.raises(ValueError, match="needs unit='user', not 'comparison'"):
        perturbed_mle(key, TABLE, one, noise="k-norm")
    with pytest.raises(ValueError, match="leave sensitivity out"):
        noisy_counts(key, TABLE, USERS, noise="k-norm", sensitivity=3.0)
    with pytest.raises(ValueError, match="must not be traced"):
        jax.jit(lambda table: noisy_counts(key, table, USERS, noise="k-norm").value)(TABLE)
