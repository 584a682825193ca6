from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.stats

from privrank_jax.comparisons import Comparisons, WinCounts
from privrank_jax.links import get_link
from privrank_jax.simulate import worlds
from tests import reference
from tests.quick import thorough

REPLICATES = 20_000
SIGMAS = 5.0  # two-sided false-alarm rate 5.7e-7 per comparison; below 2e-5 for each test here
SCORES = np.array([0.9, 0.2, -0.3, -0.8])
UPPER = np.triu_indices(4, 1)


def replicate(generator, count=REPLICATES, seed=0):
    return jax.jit(jax.vmap(generator))(jax.random.split(jax.random.key(seed), count))


def sigmas(hits, trials, chance):
    """Largest deviation of binomial counts from their expectation, in standard deviations."""
    trials, chance = np.asarray(trials, float), np.asarray(chance, float)
    return np.max(np.abs(hits - trials * chance) / np.sqrt(trials * chance * (1 - chance)))


def win_chances(link, scores=SCORES):
    gaps = np.asarray(scores)[:, None] - np.asarray(scores)[None, :]
    return np.asarray(get_link(link).cdf(gaps))[UPPER]


# --- scores --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [jnp.float32, thorough(jnp.float64)])
def test_cai_scores_structure(dtype, key):
    scores, mask = jax.jit(partial(worlds.cai_scores, max_items=13, dtype=dtype))(key, 10)
    assert scores.dtype == dtype
    scores = np.asarray(scores)
    assert mask.tolist() == [True] * 10 + [False] * 3
    assert np.all(scores[10:] == 0)
    assert abs(float(scores.sum())) < 10 * jnp.finfo(dtype).eps
    assert scores[0] == scores[1] > scores[2:10].max()
    alone, _ = jax.jit(lambda key: worlds.cai_scores(key, 10, dtype=dtype))(key)
    np.testing.assert_allclose(scores[:10], alone, rtol=0, atol=10 * jnp.finfo(dtype).eps)


def test_cai_scores_law():
    """Kolmogorov-Smirnov at level 1e-6; rejects the neighboring laws."""
    scores = np.asarray(replicate(lambda key: worlds.cai_scores(key, 8)[0], 3000))
    strengths = np.exp(scores[:, 2:] - scores[:, :1]).ravel()

    def level(low, high):
        return scipy.stats.kstest(strengths, "uniform", args=(low, high - low)).pvalue

    assert level(0.2, 0.7) > 1e-6 > max(level(0.2, 0.75), level(0.15, 0.7))
    traced = jax.jit(jax.vmap(worlds.cai_top_k))(np.arange(1, 60))
    assert traced.tolist() == [worlds.cai_top_k(m) for m in range(1, 60)]
    assert (worlds.cai_top_k(10), worlds.cai_top_k(14)) == (2, 4)


# --- tournaments ---------------------------------------------------------------------------------


@pytest.mark.parametrize("link", ["logistic", thorough("normal"), thorough("laplace")])
def test_tournament_is_the_naive_one(link, key):
    scores = np.linspace(-1.0, 1.5, 7)
    wins = worlds.tournament(key, scores, 0.6, link)
    uniforms = np.asarray(jax.random.uniform(key, (21,)))
    cdf = get_link(link).cdf
    expected = reference.tournament_from_uniforms(uniforms, scores, 0.6, lambda x: float(cdf(x)))
    assert isinstance(wins, WinCounts)
    np.testing.assert_array_equal(wins.matrix, expected)
    mask = np.arange(10) < 7
    padded = worlds.tournament(key, np.pad(scores, (0, 3)), 0.6, link, mask=mask)
    np.testing.assert_array_equal(padded.matrix, np.pad(expected, (0, 3)))
    np.testing.assert_array_equal(padded.mask, mask)
    probability = np.zeros((7, 7))
    probability[0, 3] = probability[3, 0] = 1  # of each pair
    wins = worlds.tournament(key, scores.astype(np.float32), probability, link)
    assert wins.matrix.dtype == jnp.float32
    np.testing.assert_array_equal(wins.comparisons, probability)


def test_tournament_law():
    wins = replicate(lambda key: worlds.tournament(key, SCORES, 0.6).matrix)
    upper = np.asarray(wins)[:, *UPPER].sum(0)
    lower = np.asarray(wins).transpose(0, 2, 1)[:, *UPPER].sum(0)
    chance = win_chances("logistic")
    assert sigmas(upper, REPLICATES, 0.6 * chance) < SIGMAS
    assert sigmas(lower, REPLICATES, 0.6 * (1 - chance)) < SIGMAS
    assert sigmas(upper + lower, REPLICATES, 0.6) < SIGMAS
    assert sigmas(upper + lower, REPLICATES, 0.63) > SIGMAS
    assert sigmas(upper, REPLICATES, 0.6 * win_chances("normal")) > SIGMAS
    assert sigmas(upper, REPLICATES, 0.6 * win_chances("logistic", 1.2 * SCORES)) > SIGMAS
    games = np.asarray(wins + wins.transpose(0, 2, 1))[:, *UPPER]
    correlation = np.corrcoef(games.T)[np.triu_indices(6, 1)]
    assert np.max(np.abs(correlation)) < SIGMAS / np.sqrt(REPLICATES)


# --- repeated comparisons ------------------------------------------------------------------------


@pytest.mark.parametrize("per_pair", [3, thorough(100)])
def test_repeated_comparisons_law(per_pair):
    """Mean and variance of Binomial(n, F); both samplers of jax.random.binomial; items that only pad meet nobody."""
    scores, mask = np.pad(SCORES, (0, 2)).astype(np.float32), np.arange(6) < 4
    drawn = partial(worlds.repeated_comparisons, scores=scores, per_pair=per_pair, mask=mask)
    wins = replicate(lambda key: drawn(key).matrix)
    assert wins.dtype == np.float32
    wins = np.asarray(wins)
    met = np.pad(per_pair * (1 - np.eye(4)), (0, 2))
    np.testing.assert_array_equal(wins + wins.transpose(0, 2, 1), [met] * REPLICATES)
    np.testing.assert_array_equal(wins, np.round(wins))
    upper = wins[:, *UPPER].astype(float)
    chance = win_chances("logistic")
    assert sigmas(upper.sum(0), REPLICATES * per_pair, chance) < SIGMAS
    assert sigmas(upper.sum(0), REPLICATES * per_pair, win_chances("laplace")) > SIGMAS
    variance = per_pair * chance * (1 - chance)
    kurtosis = 3 + (1 - 6 * chance * (1 - chance)) / variance
    ratio = (upper.var(0) / variance - 1) / np.sqrt((kurtosis - 1) / REPLICATES)
    assert np.max(np.abs(ratio)) < SIGMAS


# --- users ---------------------------------------------------------------------------------------


def test_user_counts_are_the_naive_ones(key):
    """Of some users; all others only pad."""
    records = worlds.user_comparison_records(key, SCORES, 20, 4, max_users=30)
    assert isinstance(records, Comparisons)
    assert records.users.tolist() == [user for user in range(30) for _ in range(4)]
    assert records.mask.tolist() == [True] * 80 + [False] * 40
    assert not records.tied.any()
    assert (records.winners != records.losers).all()
    count = jax.jit(partial(worlds.user_comparisons, comparisons_per_user=4, max_users=30))
    expected = reference.count_comparisons(records.winners, records.losers, records.mask, 4)
    np.testing.assert_array_equal(count(key, SCORES, 20).matrix, expected)
    np.testing.assert_array_equal(worlds.user_comparisons(key, SCORES, 20, 4).matrix, expected)
    single = partial(worlds.user_comparisons, num_users=20, comparisons_per_user=4)
    assert jax.eval_shape(single, key, SCORES.astype(np.float32)).matrix.dtype == np.float32


def test_users_compare_real_items_only(key):
    mask = np.array([False, True, False, True, True])
    wins = worlds.user_comparisons(key, np.zeros(5), 200, 2, mask=mask)
    assert wins.matrix.sum() == 400
    met = np.asarray(wins.comparisons) > 0
    np.testing.assert_array_equal(met, np.outer(mask, mask) & ~np.eye(5, dtype=bool))
    nobody = worlds.user_comparisons(key, np.zeros(5), 200, 2, mask=np.arange(5) < 1)
    assert nobody.matrix.sum() == 0


def test_user_comparisons_law():
    """Pairs uniform (chi-square at level 1e-6), answers by F, users independent."""
    users = 40_000
    mask = np.array([True, True, False, True, True])
    scores = np.insert(SCORES, 2, 5.0)
    wins = worlds.user_comparisons(jax.random.key(3), scores, users, 3, mask=mask)
    matrix = np.delete(np.delete(np.asarray(wins.matrix), 2, 0), 2, 1)
    games = (matrix + matrix.T)[UPPER]
    assert games.sum() == 3 * users
    assert scipy.stats.chisquare(games).pvalue > 1e-6
    assert sigmas(matrix[UPPER], games, win_chances("logistic")) < SIGMAS
    assert sigmas(matrix[UPPER], games, win_chances("normal")) > SIGMAS
    records = worlds.user_comparison_records(jax.random.key(3), scores, users, 3, mask=mask)
    place = np.asarray(records.winners * 5 + records.losers).reshape(users, 3)
    same = (place[:, 0] == place[:, 1]).sum()
    chance = float(((np.asarray(wins.matrix) / wins.matrix.sum()) ** 2).sum())
    assert sigmas(same, users, chance) < SIGMAS


# --- arguments -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda k: worlds.cai_scores(k, 0), "num_items"),
        (lambda k: worlds.cai_scores(k, 9, 8), "max_items=8"),
        (lambda k: jax.jit(worlds.cai_scores)(k, 9), "is traced"),
        (lambda k: worlds.tournament(k, SCORES, 1.5), "probability"),
        (lambda k: worlds.tournament(k, SCORES, np.ones(3)), "a matrix"),
        (lambda k: worlds.tournament(k, SCORES[:1]), "m >= 2"),
        (lambda k: worlds.tournament(k, SCORES, link="cubic"), "cubic"),
        (lambda k: worlds.repeated_comparisons(k, SCORES, -1), "whole number"),
        (lambda k: worlds.repeated_comparisons(k, SCORES, 2.5), "whole number"),
        (lambda k: worlds.user_comparisons(k, SCORES, 0), "num_users"),
        (lambda k: worlds.user_comparisons(k, SCORES, 3, 0), "comparisons_per_user"),
        (lambda k: worlds.user_comparisons(k, jnp.zeros(50_000), 3), "46,340"),
    ],
)
def test_arguments_are_checked(call, message, key):
    with pytest.raises(ValueError, match=message):
        call(key)
