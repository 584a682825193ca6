from __future__ import annotations

import functools

import choix
import evalica
import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest

from privrank_jax.comparisons import WinCounts, WinEdges
from privrank_jax.links import logistic
from privrank_jax.pairwise import Choices, mle
from privrank_jax.pairwise.maximum_likelihood import _mle_dense, _mle_sparse
from privrank_jax.pairwise.minimizer import CONVERGED, NOT_FINITE, OUT_OF_STEPS, STALLED
from tests.quick import quick_jit
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
    matrix = jnp.asarray(matrix)
    pairs = jnp.asarray(FIRST, jnp.int32), jnp.asarray(SECOND, jnp.int32)
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


@pytest.mark.slow
@both_forms
@pytest.mark.parametrize("link", LINKS)
def test_every_link_agrees_with_scipy(link, form):
    matrix = counts(2)
    for ridge in (0.0, 1.5):
        wanted = reference_fits.scipy_fit(link, matrix, ridge)
        found = mle(form(matrix), link, ridge)
        np.testing.assert_allclose(found.value, wanted, atol=1e-8)
        assert found.value.dtype == np.float64
        assert int(found.diagnostics.code) == CONVERGED
        assert 0 <= found.diagnostics.gradient_norm <= 1e-10


@pytest.mark.parametrize(
    ("form", "link"), [*((dense, link) for link in LINKS), (edges, "logistic")]
)
def test_float32_stays_float32(form, link):
    matrix = counts(2)
    for ridge in (0.0, 1.5):
        wanted = reference_fits.scipy_fit(link, matrix, ridge)
        found = mle(form(matrix.astype(np.float32)), link, ridge)
        assert found.value.dtype == found.diagnostics.gradient_norm.dtype == np.float32
        np.testing.assert_allclose(found.value, wanted, atol=1e-5)
        assert int(found.diagnostics.code) in (CONVERGED, STALLED)


@pytest.mark.parametrize(("dtype", "slack"), [(np.float64, 1e-8), (np.float32, 1e-3)])
def test_far_scores_are_found(dtype, slack):
    """Scores from -7 to 7 where only neighbors are compared; the wins are the expected ones."""
    truth = np.linspace(-7, 7, SIZE)
    chance = 1 / (1 + np.exp(truth[None, :] - truth[:, None]))
    near = np.abs(np.subtract.outer(np.arange(SIZE), np.arange(SIZE))) == 1
    found = mle(dense(np.where(near, 1000 * chance, 0).astype(dtype)))
    np.testing.assert_allclose(found.value, truth, atol=slack)
    assert int(found.diagnostics.code) in (CONVERGED, STALLED)


def test_counts_beyond_float32_are_fitted_in_float64_alone():
    found = mle(dense(counts(2) * 1e40))
    np.testing.assert_allclose(found.value, mle(dense(counts(2))).value, atol=1e-8)
    assert int(found.diagnostics.code) == CONVERGED


def test_ties_are_half_a_win_for_both():
    winners, losers = rows_of(counts(3, 6))
    tied = np.random.default_rng(3).random(winners.size) < 0.4
    outcome = [evalica.Winner.Draw if tie else evalica.Winner.X for tie in tied]
    wins = WinCounts.from_comparisons(winners, losers, num_items=SIZE, tied=tied)
    wanted = evalica_scores(winners, losers, outcome)
    np.testing.assert_allclose(mle(wins).value, wanted, atol=1e-6)
    split = np.zeros((SIZE, SIZE))
    for winner, loser, tie in zip(winners, losers, tied):
        split[winner, loser] += 0.5 if tie else 1.0
        split[loser, winner] += 0.5 if tie else 0.0
    np.testing.assert_array_equal(wins.matrix, split)  # all that the fits with other links read
    by_hand = reference_fits.scipy_fit("logistic", split, 0.3)
    np.testing.assert_allclose(mle(wins, gamma=0.3).value, by_hand, atol=1e-8)
    for link in LINKS[1:]:
        by_hand = reference_fits.scipy_fit(link, split, 0.3)
        np.testing.assert_allclose(mle(dense(wins.matrix), link, 0.3).value, by_hand, atol=1e-8)


def test_edge_lists_may_hold_a_pair_twice_and_either_way_round():
    one, other = counts(4), counts(5)
    turned = edges(other)
    turned = WinEdges(
        turned.second, turned.first, turned.second_wins, turned.first_wins, turned.num_items
    )
    found = mle(edges(one) + turned)
    np.testing.assert_allclose(found.value, mle(dense(one + other)).value, atol=1e-8)


@pytest.mark.parametrize("link", ["logistic", "normal"])
def test_masked_items_do_not_count(link):
    matrix, keep = counts(6), [0, 2, 3, 5]  # values in masked rows must not matter here
    mask = np.isin(np.arange(SIZE), keep)
    alone = np.where(np.outer(mask, mask), matrix, 0)
    for ridge in (0.0, 2.0):
        fit = quick_jit(functools.partial(mle, link=link, gamma=ridge))
        found = fit(WinCounts.from_matrix(alone, mask))
        wanted = reference_fits.scipy_fit(link, matrix[np.ix_(keep, keep)], ridge)
        np.testing.assert_allclose(found.value[mask], wanted, atol=1e-8)
        np.testing.assert_array_equal(found.value[~mask], 0.0)
        assert int(found.diagnostics.components) == 1
        assert not found.diagnostics.separated


DESCENT, LINE_SEARCH = optax.sgd(1.0), optax.lbfgs()


@pytest.mark.parametrize("optimizer", [DESCENT, LINE_SEARCH], ids=["sgd", "lbfgs"])
@pytest.mark.parametrize("form", [dense, edges, lambda m: Choices.from_top1(CHOSEN, num_items=4)])
def test_any_optimizer_serves(form, optimizer):
    data = form(counts(7))
    found = mle(data, gamma=0.5, optimizer=optimizer, max_steps=2000)
    np.testing.assert_allclose(found.value, mle(data, gamma=0.5).value, atol=1e-8)
    assert int(found.diagnostics.code) == CONVERGED


def test_without_a_ridge_descent_finds_the_same():
    wins = dense(counts(7))
    found = mle(wins, optimizer=DESCENT, max_steps=2000)
    np.testing.assert_allclose(found.value, mle(wins).value, atol=1e-8)
    assert int(found.diagnostics.code) == CONVERGED


def test_optimizers_serve_other_links_and_pass_derivatives():
    def first(matrix, **how):
        return mle(dense(matrix), "normal", gamma=1.0, **how).value[0]

    matrix = jnp.asarray(counts(8))
    by_optax = jax.grad(lambda m: first(m, optimizer=LINE_SEARCH, tolerance=1e-9))(matrix)
    np.testing.assert_allclose(by_optax, jax.grad(first)(matrix), atol=1e-7)


@pytest.mark.parametrize(("steps", "optimizer"), [(2, None), (5, DESCENT)])
def test_running_out_of_steps_is_told(steps, optimizer):
    short = mle(dense(counts(7)), max_steps=steps, optimizer=optimizer)
    assert (int(short.diagnostics.code), int(short.diagnostics.steps)) == (OUT_OF_STEPS, steps)


# --- data that do not determine the scores -------------------------------------------------------

SEPARATED = np.triu(counts(11), 1)  # the first item of every pair wins
APART = counts(12)  # 0 and 1 are compared, and 2, 3, 4 and 5
APART[:2, 2:] = APART[2:, :2] = 0


@both_forms
@pytest.mark.parametrize("link", LINKS)
def test_separated_and_disconnected_data_are_told_and_ridged(link, form):
    for matrix, components, separated in ((SEPARATED, 1, True), (APART, 2, False)):
        for ridge in (0.0, 0.1):
            found = mle(form(matrix), link, ridge)
            assert int(found.diagnostics.components) == components
            assert bool(found.diagnostics.separated) == separated
            assert np.all(np.isfinite(found.value))
        wanted = reference_fits.scipy_fit(link, matrix, 0.1)
        np.testing.assert_allclose(found.value, wanted, atol=1e-7)
        assert int(found.diagnostics.code) == CONVERGED


def test_differences_within_components_are_those_of_each_alone():
    whole = np.asarray(mle(dense(APART)).value)
    for part in (np.arange(2), np.arange(2, SIZE)):
        alone = reference_fits.scipy_fit("logistic", APART[np.ix_(part, part)])
        np.testing.assert_allclose(centered(whole[part]), alone, atol=1e-8)


@both_forms
def test_without_comparisons_scores_are_equal_and_apart(form):
    found = mle(form(np.zeros((SIZE, SIZE))))
    assert found.value.tolist() == [0.0] * SIZE
    assert int(found.diagnostics.components) == SIZE
    assert int(found.diagnostics.code) == CONVERGED


def test_one_item_has_score_0():
    found = mle(dense(np.zeros((1, 1))))
    assert found.value.tolist() == [0.0]
    assert (int(found.diagnostics.components), bool(found.diagnostics.separated)) == (1, False)


# --- derivatives, batches, compilations ----------------------------------------------------------


@pytest.mark.parametrize(
    ("form", "link", "run"),
    [(dense, "logistic", jax.jit), (dense, "normal", quick_jit), (edges, "logistic", jax.jit)],
)
def test_derivatives_are_those_of_finite_differences(form, link, run):
    """Derivatives of a random combination of the scores, by counts and by ridge, forward and in reverse."""
    matrix, rng = counts(9), np.random.default_rng(9)
    direction, mix = rng.random((SIZE, SIZE)) * (1 - np.eye(SIZE)), rng.standard_normal(SIZE)

    def score(matrix, ridge):
        return mix @ mle(form(matrix), link, ridge).value

    @run
    def derivatives(matrix, ridge):
        reverse = jax.grad(score, (0, 1))(matrix, ridge)
        return reverse, jax.jvp(score, (matrix, ridge), (direction, 1.0))[1]

    def difference(by_counts, by_ridge, ridge, step=1e-3):
        up = score(matrix + step * by_counts * direction, ridge + step * by_ridge)
        down = score(matrix - step * by_counts * direction, ridge - step * by_ridge)
        return float(up - down) / (2 * step)

    (by_counts, by_ridge), forward = derivatives(matrix, 0.7)
    along = float(jnp.sum(by_counts * direction))
    assert min(abs(along), abs(by_ridge)) > 1e-3
    np.testing.assert_allclose(along, difference(1, 0, 0.7), rtol=1e-5)
    np.testing.assert_allclose(by_ridge, difference(0, 1, 0.7), rtol=1e-5)
    np.testing.assert_allclose(forward, along + by_ridge, rtol=1e-6)
    (by_counts, _), _ = derivatives(matrix, 0.0)
    np.testing.assert_allclose(jnp.sum(by_counts * direction), difference(1, 0, 0.0), rtol=1e-5)


@both_forms
def test_vmap_is_the_loop(form):
    problems, ridges = jnp.stack([counts(seed) for seed in range(4)]), np.arange(4.0)
    problems = problems.at[3, 1:, 0].set(0.0)  # item 0 is never beaten
    batch = jax.vmap(lambda matrix, ridge: mle(form(matrix), gamma=ridge))(problems, ridges)
    for place in range(4):
        alone = mle(form(problems[place]), gamma=float(ridges[place]))
        np.testing.assert_allclose(batch.value[place], alone.value, atol=1e-9)
        assert batch.diagnostics.steps[place] == alone.diagnostics.steps
        assert bool(alone.diagnostics.separated) == (place == 3)
    if form is edges:
        assert batch.diagnostics.components is None  # that search of the graph is on the host
    else:
        assert batch.diagnostics.separated.tolist() == [False, False, False, True]


@pytest.mark.parametrize(("form", "program"), [(dense, _mle_dense), (edges, _mle_sparse)])
def test_other_data_and_ridges_compile_nothing(form, program):
    mle(form(counts(10)), gamma=0.5)
    before = program._cache_size()
    fits = [mle(form(counts(10)), gamma=ridge) for ridge in (0.0, 0.25, 7.0)]
    fits += [mle(form(counts(20)), link=logistic, gamma=0.5)]  # the link by object
    assert len({tuple(np.asarray(fit.value)) for fit in fits}) == len(fits)
    assert program._cache_size() == before


# --- refusals ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: WinCounts.from_matrix([[0, np.nan], [1, 0]]), "finite and at least 0"),
        (lambda: WinCounts.from_matrix([[0, -1], [1, 0]]), "finite and at least 0"),
        (lambda: WinCounts.from_matrix(np.zeros((0, 0))), "has no items"),
        (lambda: WinCounts.from_matrix([[1, 1], [1, 0]]), "diagonal"),
        (lambda: WinCounts.from_matrix(np.ones(3)), "square"),
        (lambda: WinCounts(jnp.ones((4, 3, 3))), r"2 axes, got shape \(4, 3, 3\); use jax.vmap"),
        (lambda: WinEdges(*np.ones((4, 2, 3)), 5), r"1 axes, got shape \(2, 3\); use jax.vmap"),
    ],
)
def test_bad_counts_are_refused(build, message):
    with pytest.raises(ValueError, match=message):
        mle(build())


def test_bad_settings_are_refused():
    wins = dense(counts())
    for ridge in (-1.0, np.nan, np.inf, "much"):
        with pytest.raises(ValueError, match="gamma must be finite and at least 0"):
            mle(wins, gamma=ridge)
    with pytest.raises(ValueError, match="unknown link 'probit'"):
        mle(wins, "probit")
    with pytest.raises(TypeError, match=r"must be WinCounts, .* WinEdges, got ndarray"):
        mle(counts())


def test_counts_that_slip_past_the_checks_are_told():
    assert int(mle(dense(counts() * np.nan)).diagnostics.code) == NOT_FINITE
