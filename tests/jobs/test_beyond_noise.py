"""What is said to be certain of a consensus: as often as it is said, by draws of the noise itself."""

from __future__ import annotations

import functools
import itertools

import jax
import numpy as np
import pytest
from scipy import stats

from privrank_jax import aggregation
from privrank_jax.aggregation import noise_all
from privrank_jax.aggregation.diagnostics import ReportDiagnostics
from privrank_jax.aggregation.weights import counted_weights
from privrank_jax.exact.k_norm import discrete_cube
from privrank_jax.jobs.beyond_noise import answers_reach, of_reports, of_weights, weight_reach
from privrank_jax.jobs.consensus import Asked
from privrank_jax.jobs.mechanisms import Drawn
from privrank_jax.privacy import Privacy
from tests.quick import quick_jit, thorough

USERS, ITEMS = 60, 5
PAIRS = ITEMS * (ITEMS - 1) // 2
TIED = [range(ITEMS), range(ITEMS - 1, -1, -1)] * (USERS // 2)  # every pair is halved


def asked(method, noise):
    return Asked(method=method, noise=noise)


def drawn_exactly(asked, epsilon=1.0):
    delta = 1e-5 if asked.noise == "gaussian" else 0.0
    promise = Privacy(epsilon, unit="user", adjacency="replace", delta=delta)
    if asked.method == "weights":
        made = aggregation.private_weights.release(
            counted_weights(TIED), promise, noise=asked.noise, shrink="none"
        )
    else:
        made = noise_all.release(counted_weights(TIED), promise, noise=asked.noise)
    return Drawn(made, "exact", "")


def cube(epsilon, draws):
    """Exact noise on weights: that of twice the counts of pairs."""
    add_noise, _ = discrete_cube(PAIRS, 2, epsilon)
    return np.array([add_noise(np.zeros(PAIRS)) for _ in range(draws)]) / (2 * USERS)


def normal(drawn, draws):
    """Normal noise on weights, of the variances that the release says, by orthogonal parts."""
    rng = np.random.default_rng(0)
    about, pairs = drawn.value.diagnostics, list(itertools.combinations(range(ITEMS), 2))
    signs = np.array([[(k == i) - (k == j) for k in range(ITEMS)] for i, j in pairs])
    of_gradient = signs @ signs.T / ITEMS
    parts = rng.normal(size=(2, draws, len(pairs)))
    gradient = float(about.gradient_scale) * parts[0] @ of_gradient
    return gradient + float(about.cycle_scale) * parts[1] @ (np.eye(len(pairs)) - of_gradient)


@pytest.mark.parametrize(
    ("method", "noise", "epsilon"),
    [
        ("weights", "k-norm", 1.0),
        ("noise-all", "k-norm", 9.0),
        ("weights", "gaussian", 1.0),
        ("weights", "gaussian", 0.2),
        ("noise-all", "laplace", 1.0),
    ],
)
def test_all_weights_lie_within_as_often_as_said(method, noise, epsilon):
    """A false majority is told with 5 % at most; and with 3 % or more, but for grids and for unequal variances."""
    request, draws = asked(method, noise), 3000
    drawn = drawn_exactly(request, epsilon)
    reach = weight_reach(ITEMS, USERS, noise, drawn)
    if noise == "laplace":
        noises = np.random.default_rng(0).laplace(scale=drawn.scale, size=(draws, PAIRS))
    else:
        noises = cube(epsilon, draws) if noise == "k-norm" else normal(drawn, draws)
    beyond = int(np.sum(np.abs(noises).max(axis=1) > reach + 1e-9))
    assert stats.binomtest(beyond, draws, 0.05, alternative="greater").pvalue > 1e-6
    if epsilon <= 1 and noise != "gaussian":
        assert stats.binomtest(beyond, draws, 0.03, alternative="less").pvalue > 1e-6
    weights = np.full((ITEMS, ITEMS), 0.5)
    weights[0, 1], weights[1, 0] = 0.5 + reach + 1e-9, 0.5 - reach - 1e-9
    found = of_weights(None, weights, np.arange(ITEMS), reach)
    assert found.better.sum() == 1
    assert found.better[0, 1]


@pytest.mark.parametrize(
    ("method", "mechanism", "delta"),
    [
        (functools.partial(aggregation.sub_ranking_weights, size=2), "one-pair", 0.0),
        thorough(aggregation.shuffled_pair_weights, "shuffled-pair", 1e-6),
    ],
)
def test_errors_of_answers_lie_within_as_often_as_said(method, mechanism, delta):
    """By 1,500 simulated releases: of all weights and of all scores at once, in 95 % at least.

    Weights lie outside in 2 % or more: the bound of their variance is nearly attained where users halve.
    """
    users, epsilon, draws = 400, 1.0, 1500
    ranks = np.tile(np.array([*map(list, TIED[:2])]), (users // 2, 1))
    promise = Privacy(epsilon, unit="user", adjacency="replace", delta=delta)
    keys = jax.random.split(jax.random.key(3), draws)
    weights = np.asarray(quick_jit(jax.vmap(lambda key: method(key, ranks, promise).value))(keys))
    if delta:
        epsilon = float(method(keys[0], ranks, promise).diagnostics.local_epsilon)
    told = ITEMS, users, mechanism, epsilon
    of_scores, reach = answers_reach(*told, of_scores=True), answers_reach(*told)
    false = [of_weights(None, each, np.arange(ITEMS), reach).better.any() for each in weights]
    wrong = np.abs(weights.sum(axis=2) - (ITEMS - 1) / 2).max(axis=1) > of_scores
    for beyond in (int(np.sum(false)), int(np.sum(wrong))):
        assert stats.binomtest(beyond, draws, 0.05, alternative="greater").pvalue > 1e-6
    assert stats.binomtest(int(np.sum(false)), draws, 0.02, alternative="less").pvalue > 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("users", [12, 60])
def test_scores_of_reports_lie_within_as_often_as_said(users):
    """Two sets of items per user, by 2,000 simulated releases: all scores at once, in 95 % at least."""
    ranks = np.tile(np.array([*map(list, TIED[:2])]), (users // 2, 1))
    promise = Privacy(0.7, unit="user", adjacency="replace")

    def released(key):
        found = aggregation.ldp_borda_subsets(key, ranks, promise)
        return found.value, found.diagnostics.standard_errors, found.diagnostics.report_norm

    scores, errors, norms = map(
        np.asarray, jax.vmap(released)(jax.random.split(jax.random.key(1), 2000))
    )
    missed = 0
    for score, error in zip(scores, errors, strict=True):
        about = ReportDiagnostics(norms[0], error)
        ends = of_reports(score, users, about).intervals
        truth = (ITEMS - 1) / 2
        missed += bool(np.any((truth < ends["low"]) | (truth > ends["high"])))
    assert stats.binomtest(missed, 2000, 0.05, alternative="greater").pvalue > 1e-6
    assert stats.binomtest(missed, 2000, 0.01, alternative="less").pvalue > 1e-6
    alike = ReportDiagnostics(norms[0], np.zeros(ITEMS))
    ends = of_reports(scores[0], 3, alike).intervals
    assert np.all(ends["high"] - ends["low"] > 1)  # three reports may be alike by chance
    assert "one report alone" in of_reports(scores[0], 1, alike).notes[0]


def test_ranks_follow_from_chains_of_sure_majorities():
    """At this ε, 0.9 is sure and 0.5 is not."""
    reach = weight_reach(ITEMS, USERS, "k-norm", drawn_exactly(asked("weights", "k-norm"), 30.0))
    weights = np.full((ITEMS, ITEMS), 0.5)
    for ahead, behind in ((0, 1), (1, 2)):
        weights[ahead, behind], weights[behind, ahead] = 0.9, 0.1
    found = of_weights(None, weights, np.arange(ITEMS), reach)
    assert found.better.sum() == 2
    assert found.intervals["rank_low"].tolist() == [0, 1, 2, 0, 0]
    assert found.intervals["rank_high"].tolist() == [2, 3, 4, 4, 4]
    weights[2, 0], weights[0, 2] = 0.9, 0.1
    found = of_weights(None, weights, np.arange(ITEMS), reach)
    assert found.better.sum() == 3
    assert not found.intervals
    assert "cycle" in found.notes[0]


def test_scores_alone_say_nothing_of_majorities():
    """Where all of the budget went to scores, a weight is made of them: no majority is known."""
    drawn = drawn_exactly(asked("weights", "k-norm"), 0.01)
    assert np.isinf(drawn.value.diagnostics.cycle_scale)
    assert weight_reach(ITEMS, USERS, "k-norm", drawn) is None
