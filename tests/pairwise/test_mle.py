"""Fits to win counts, edge lists, choices, released totals and mixed effects, against other libraries and SciPy."""

from __future__ import annotations

import functools

import choix
import evalica
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.stats

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.pairwise import Choices, mle
from privrank_jax.pairwise.debiased_fit import debiased_sums
from privrank_jax.pairwise.maximum_likelihood import select_link
from privrank_jax.pairwise.minimizer import CONVERGED, OUT_OF_STEPS, STALLED
from privrank_jax.pairwise.mixed_models import mixed_effects
from tests import reference
from tests.quick import quick_jit, thorough, thorough_but
from tests.reference import mixed_effects as mixed
from tests.reference import mle as reference_fits

LINKS = ("logistic", "normal", "laplace")
SIZE = 6  # of every problem but a few: one program per link and form serves them all
FIRST, SECOND = np.triu_indices(SIZE, 1)
CHOSEN = [(0, (1, 2)), (1, (0, 2)), (2, (1, 3)), (3, (0, 2)), (0, (3,))]


def counts(seed=0, most=20):
    """Random win counts without zeros: every fit is finite."""
    matrix = np.random.default_rng(seed).integers(1, most, (SIZE, SIZE)).astype(float)
    np.fill_diagonal(matrix, 0)
    return matrix


def rows_of(matrix):
    """Winners and losers, one row per win."""
    winners, losers = np.nonzero(matrix)
    times = np.asarray(matrix[winners, losers], int)
    return np.repeat(winners, times), np.repeat(losers, times)


def edges(matrix):
    """All pairs, including those never compared."""
    pairs = FIRST.astype(np.int32), SECOND.astype(np.int32)
    return WinEdges(*pairs, matrix[FIRST, SECOND], matrix[SECOND, FIRST], SIZE)


def dense(matrix):
    return WinCounts(jnp.asarray(matrix))


both_forms = pytest.mark.parametrize("form", [dense, edges])


def centered(scores):
    return np.asarray(scores) - np.mean(scores)


def evalica_scores(winners, losers, outcome, weights=None):
    found = evalica.bradley_terry(
        winners, losers, outcome, weights=weights, tolerance=1e-13, limit=100_000
    )
    return centered(np.log(found.scores.sort_index().to_numpy()))


# --- the maximizer -------------------------------------------------------------------------------


@both_forms
def test_agrees_with_choix_and_evalica(form):
    matrix = counts(1)
    ours = mle(form(matrix))
    assert ours.guarantee is None
    winners, losers = np.nonzero(matrix)
    outcome = [evalica.Winner.X] * winners.size
    peers = {
        "evalica": evalica_scores(winners, losers, outcome, matrix[winners, losers]),
        "choix": choix.ilsr_pairwise_dense(matrix, tol=1e-12, max_iter=10_000),
    }
    for name, peer in peers.items():
        np.testing.assert_allclose(ours.value, centered(peer), atol=1e-6, err_msg=name)
    ridged = choix.opt_pairwise(SIZE, list(zip(*rows_of(matrix))), alpha=0.4, tol=1e-12)
    found = mle(form(matrix), gamma=0.8)  # choix penalizes by α‖θ‖²
    np.testing.assert_allclose(found.value, centered(ridged), atol=1e-6)


@pytest.mark.parametrize(("dtype", "slack"), [(np.float64, 1e-8), thorough(np.float32, 1e-3)])
def test_far_scores_are_found(dtype, slack):
    """Scores from -7 to 7 where only neighbors are compared; the wins are the expected ones."""
    truth = np.linspace(-7, 7, SIZE)
    chance = 1 / (1 + np.exp(truth[None, :] - truth[:, None]))
    near = np.abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE))) == 1
    found = mle(dense(np.where(near, 1000 * chance, 0).astype(dtype)))
    assert found.value.dtype == found.diagnostics.gradient_norm.dtype == dtype
    np.testing.assert_allclose(found.value, truth, atol=slack)
    assert int(found.diagnostics.code) in (CONVERGED, STALLED)


DESCENT, LINE_SEARCH = optax.sgd(1.0), optax.lbfgs()
ADAM = optax.adam(optax.exponential_decay(0.1, 100, 0.5))


@pytest.mark.parametrize(
    ("form", "optimizer"),
    [
        (dense, DESCENT),
        thorough(dense, ADAM),
        thorough(edges, LINE_SEARCH),
        thorough(lambda _: Choices.from_top1(CHOSEN, num_items=4), LINE_SEARCH),
    ],
)
def test_any_optimizer_serves(form, optimizer):
    data = form(counts(7))
    found = mle(data, gamma=0.5, optimizer=optimizer, max_steps=2000)
    np.testing.assert_allclose(found.value, mle(data, gamma=0.5).value, atol=1e-8)
    assert int(found.diagnostics.code) == CONVERGED
    if form is not edges:  # which have 500 steps at least
        short = mle(data, gamma=0.5, optimizer=optimizer, max_steps=2).diagnostics
        assert (int(short.code), int(short.steps)) == (OUT_OF_STEPS, 2)


# --- data that do not determine the scores -------------------------------------------------------

SEPARATED = np.triu(counts(11), 1)  # the first item of every pair wins
APART = counts(12)  # 0 and 1 are compared, and 2, 3, 4 and 5
APART[:2, 2:] = APART[2:, :2] = 0


@both_forms
@pytest.mark.parametrize("link", thorough_but(LINKS, "logistic"))
def test_fits_of_every_link_are_those_of_scipy(link, form):
    """Also of separated and of disconnected data, without a ridge within each component."""
    each = ((counts(2), 1, False), (SEPARATED, 1, True), (APART, 2, False))
    for matrix, components, separated in each:
        for ridge in (0.0, 0.1):
            found = mle(form(matrix), link, ridge)
            assert int(found.diagnostics.components) == components
            assert bool(found.diagnostics.separated) == separated
            assert np.all(np.isfinite(found.value))
            parts = [range(2), range(2, SIZE)] if components == 2 and not ridge else [range(SIZE)]
            for part in parts if ridge or not separated else []:
                wanted = reference_fits.scipy_fit(link, matrix[np.ix_(part, part)], ridge)
                scores = found.value[np.array(part)]
                np.testing.assert_allclose(centered(scores), wanted, atol=1e-7)
                assert int(found.diagnostics.code) == CONVERGED


@both_forms
def test_without_comparisons_scores_are_equal_and_apart(form):
    found = mle(form(np.zeros((SIZE, SIZE))))
    assert found.value.tolist() == [0.0] * SIZE
    assert int(found.diagnostics.components) == SIZE
    assert int(found.diagnostics.code) == CONVERGED
    found = mle(dense(np.zeros((1, 1))))
    assert found.value.tolist() == [0.0]
    assert (int(found.diagnostics.components), bool(found.diagnostics.separated)) == (1, False)


@pytest.mark.parametrize("link", ["logistic", thorough("normal")])
def test_masked_items_do_not_count(link):
    """In fits to counts and to totals."""
    matrix, mask = counts(6), np.arange(SIZE + 2) < SIZE
    padded = np.zeros((SIZE + 2, SIZE + 2))
    padded[:SIZE, :SIZE] = matrix
    wins = WinCounts.from_matrix(padded, mask)
    found = mle(wins, link)
    np.testing.assert_allclose(found.value[mask], mle(dense(matrix), link).value, atol=1e-8)
    assert found.value[SIZE:].tolist() == [0.0, 0.0]
    assert int(found.diagnostics.components) == 1
    assert not found.diagnostics.separated
    totals = np.append(matrix.sum(1), [7.0, 8.0])
    found = fitted(totals, wins.comparisons, 1.0, mask).value
    np.testing.assert_allclose(found[:SIZE], mle(dense(matrix), gamma=1.0).value, atol=1e-8)
    assert found[SIZE:].tolist() == [0.0, 0.0]


# --- derivatives, batches, compilations ----------------------------------------------------------


@pytest.mark.parametrize("form", [dense, thorough(edges)])
def test_vmap_is_the_loop(form):
    problems, ridges = np.stack([counts(seed) for seed in range(4)]), np.arange(4.0)
    problems[3, 1:, 0] = 0.0  # item 0 is never beaten
    batch = jax.jit(jax.vmap(lambda data, ridge: mle(data, gamma=ridge)))(
        jax.tree.map(lambda *leaves: np.stack(leaves), *map(form, problems)), ridges
    )
    for place in range(4):
        alone = mle(form(problems[place]), gamma=float(ridges[place]))
        np.testing.assert_allclose(batch.value[place], alone.value, atol=1e-9)
        assert batch.diagnostics.steps[place] == alone.diagnostics.steps
        assert bool(alone.diagnostics.separated) == (place == 3)
    if form is edges:
        assert batch.diagnostics.components is None  # that search of the graph is on the host
    else:
        assert batch.diagnostics.separated.tolist() == [False, False, False, True]


def fitted(totals, comparisons, gamma, mask=None):
    return pairwise.fit(pairwise.designs.Counts(comparisons, mask), totals, gamma)


selected = quick_jit(functools.partial(select_link, links=LINKS))


def chosen(data, **gamma):
    return selected(WinCounts.from_matrix(data) if isinstance(data, np.ndarray) else data, **gamma)


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


@pytest.mark.slow
def test_links_are_selected_by_sums_of_answers_as_by_win_counts():
    random = np.random.default_rng(3)
    scores, users = np.linspace(-2.0, 2.0, 5), 40_000
    first, second = np.triu_indices(5, 1)
    truth = scipy.stats.norm.cdf(scores[first] - scores[second])
    answers = random.uniform(size=(users, 10)) < truth
    matrix = np.zeros((5, 5))
    matrix[first, second], matrix[second, first] = answers.sum(0), users - answers.sum(0)
    clear = chosen(matrix)
    summed = chosen(debiased_sums(answers, np.ones(answers.shape, bool), np.inf))
    np.testing.assert_allclose(summed.value, clear.value, atol=1e-6)
    np.testing.assert_allclose(summed.diagnostics.losses, clear.diagnostics.losses, rtol=1e-9)
    assert LINKS[int(clear.diagnostics.best)] == "normal"
    np.testing.assert_array_equal(chosen(matrix, gamma=2.0).value, clear.value)


def crowd(seed, items, users, share=1.0):
    """Answers of users with effects of their own, and which of them are seen."""
    random = np.random.default_rng(seed)
    theta, gamma = random.uniform(-1, 1, items), random.normal(size=users)
    first, second = np.triu_indices(items, 1)
    chance = 1 / (1 + np.exp(-(gamma[:, None] + theta[first] - theta[second])))
    answers = (random.uniform(size=chance.shape) < chance).astype(float)
    return answers, random.uniform(size=chance.shape) < share


def test_mixed_effects_minimize_their_objective():
    """Of answers, and of debiased reports, which enter linearly."""
    answers, observed = crowd(1, 5, 8, 0.8)
    for reports in (answers, 0.5 + 1.1 * (answers - 0.5)):
        found = mixed_effects(reports, observed, gamma=2 * 0.4 / 8)
        theta, gamma = mixed.mixed_fit(reports, observed, 5, 0.4 / 8)
        assert not np.any(found.diagnostics.separated)
        np.testing.assert_allclose(found.value.scores, theta - theta.mean(), atol=1e-5)
        np.testing.assert_allclose(found.value.user_effects, gamma, atol=1e-5)
        assert float(found.value.sigma) == pytest.approx(np.std(gamma, ddof=1), abs=1e-5)
        assert int(found.diagnostics.code) == CONVERGED
        assert float(found.diagnostics.gradient_norm) < 1e-10


def test_users_without_a_finite_effect_are_left_out():
    answers, observed = crowd(3, 5, 8)
    answers[0], answers[1], observed[2] = 1.0, 0.0, False
    found = mixed_effects(answers, observed, gamma=2 * 1.2 / 8)
    np.testing.assert_array_equal(np.flatnonzero(found.diagnostics.separated), [0, 1, 2])
    np.testing.assert_array_equal(found.value.user_effects[:3], [np.inf, -np.inf, np.nan])
    theta, gamma = mixed.mixed_fit(answers[3:], observed[3:], 5, 1.2 / 8)
    np.testing.assert_allclose(found.value.scores, theta - theta.mean(), atol=1e-5)
    np.testing.assert_allclose(found.value.user_effects[3:], gamma, atol=1e-5)
    assert float(found.value.sigma) == pytest.approx(np.std(gamma, ddof=1), abs=1e-5)
    first, second = np.triu_indices(5, 1)
    chance = 1 / (1 + np.exp(-(gamma[:, None] + theta[first] - theta[second])))
    known = (chance * (1 - chance) * observed[3:]).sum(1)
    corrected = np.sqrt(max(np.var(gamma, ddof=1) - np.mean(1 / known), 0))
    assert float(found.value.sigma_corrected) == pytest.approx(corrected, abs=1e-5)


def test_derivatives_of_mixed_effects_flow_past_users_who_are_left_out():
    answers, _ = crowd(4, 5, 8)
    answers[0] = 1.0

    def spread(gamma):
        return jnp.sum(mixed_effects(answers, gamma=gamma).value.scores ** 2)

    step = 1e-4
    slope = (spread(0.25 + step) - spread(0.25 - step)) / (2 * step)
    assert float(jax.grad(spread)(0.25)) == pytest.approx(float(slope), rel=1e-5)
