"""Totals of ballots after every step: the twin, what one user moves, the law of the noise, the promise."""

from __future__ import annotations

import dataclasses
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.aggregation.borda import borda_sensitivity, user_scores
from privrank_jax.aggregation.continual import BALLOTS, ballot_norms, continual_ballots
from privrank_jax.aggregation.scores import scores_change
from privrank_jax.privacy import Guarantee, Privacy
from privrank_jax.privacy.prefix_sums import STRATEGIES, prefix_sum_errors, strategy_matrices
from tests import reference
from tests.promises import user
from tests.reference import borda
from tests.reference import continual as twin

ASKED = user(0.8, 1e-4)
ADDED = dataclasses.replace(ASKED, adjacency="add-remove")
STREAM = np.random.default_rng(0).integers(-9, 9, (5, 3)) / 2
NOISES = ("laplace", "gaussian")


@pytest.mark.parametrize("strategy", [*STRATEGIES, "unbounded-tree"])
def test_it_is_the_twin(strategy, key):
    """The same noise, told by the strategy whose noise is drawn step by step, which adds nothing up."""
    drawn = continual_ballots(key, STREAM, ASKED, strategy="independent")
    noise = np.asarray(drawn.value) - np.cumsum(STREAM, 0)
    noise /= float(drawn.diagnostics.noise_scale)
    found = continual_ballots(key, STREAM, ASKED, strategy=strategy)
    decode = strategy_matrices(strategy, 5)[0]
    scale = float(found.diagnostics.noise_scale)
    expected = twin.noisy_prefix_sums(STREAM, decode, noise * scale)
    np.testing.assert_allclose(found.value, expected, rtol=1e-9)


@pytest.mark.parametrize("adjacency", ["replace", "add-remove"])
@pytest.mark.parametrize("ballots", BALLOTS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_scale_is_that_of_the_most_that_a_user_moves(strategy, ballots, adjacency, key):
    """Brute force over all ballots with ties and gaps, at all steps: attained, in both norms."""
    asked = dataclasses.replace(ASKED, adjacency=adjacency)
    encode, held = strategy_matrices(strategy, 3)[1], twin.ballots(ballots, 3)
    told = {}
    for noise in NOISES:
        options = {"ballots": ballots, "noise": noise, "strategy": strategy}
        found = continual_ballots(key, STREAM[:3], asked, **options)
        told[noise] = float(found.diagnostics.noise_scale)
    assert told["laplace"] == pytest.approx(twin.largest_move(encode, held, adjacency, 1) / 0.8)
    moved = twin.largest_move(encode, held, adjacency, 2)
    assert told["gaussian"] == pytest.approx(reference.gaussian_scale(moved, 0.8, 1e-4), rel=1e-5)


@pytest.mark.parametrize("items", [2, 5, 12])
def test_norms_are_those_of_one_release(items):
    """A replaced ballot moves the totals of one release by twice the norm of a ballot, an added one by once."""
    for order, noise in ((1, "laplace"), (2, "gaussian")):
        norm = {kind: ballot_norms(kind, items)[order - 1] ** (1 / order) / 2 for kind in BALLOTS}
        assert 2 * norm["borda"] == pytest.approx(borda_sensitivity(items, order))
        moved, middle = scores_change(items, ADDED, 1, None, noise)
        assert (norm["approvals"], 0.5) == (pytest.approx(moved), middle)
    ranks = np.random.default_rng(1).integers(-1, items, (200, items))
    for missing in ("last", "unknown"):
        scores = np.asarray(user_scores(ranks, missing=missing)) - (items - 1) / 2
        expected = [borda.pair_shares(one, missing).sum(1) - (items - 1) / 2 for one in ranks]
        np.testing.assert_allclose(scores, expected, atol=1e-5)
        assert np.abs(2 * scores).sum(1).max() <= ballot_norms("borda", items)[0]
        assert (4 * scores**2).sum(1).max() <= ballot_norms("borda", items)[1] * (1 + 1e-6)


@pytest.mark.parametrize("noise", NOISES)
def test_the_noise_has_the_stated_deviation(noise, key):
    """Within 6 standard errors in 20,000 releases; noise that is 5 % smaller is not."""
    release = jax.jit(jax.vmap(lambda key: continual_ballots(key, STREAM, ADDED, noise=noise)))
    found = release(jax.random.split(key, 20_000))
    errors = np.asarray(found.value) - np.cumsum(STREAM, 0)
    margin = 6 * math.sqrt(6 / (len(errors) * 3))
    assert margin < 1 - 0.95**2
    spread = np.asarray(found.diagnostics.deviations)[0][:, None]
    np.testing.assert_allclose((errors**2).mean(0) / spread**2, 1, atol=margin * math.sqrt(3))
    strategy = "square-root" if noise == "gaussian" else "increments"
    usual = continual_ballots(key, STREAM[:1], ADDED, noise=noise).diagnostics.deviations[0]
    ratio = prefix_sum_errors(strategy, 5, noise)
    np.testing.assert_allclose(spread[:, 0] / float(usual), ratio, rtol=1e-6)


def test_no_noise_a_sweep_and_what_is_kept(key):
    exact = continual_ballots(key, STREAM, user(math.inf, 1e-4)).value
    np.testing.assert_allclose(exact, np.cumsum(STREAM, 0), rtol=1e-12)
    sweep = dataclasses.replace(ASKED, epsilon=jnp.array([0.5, 2.0]))
    scale = jax.vmap(
        lambda asked: continual_ballots(key, STREAM, asked).diagnostics.noise_scale,
        in_axes=(sweep.axes(epsilon=0),),
    )(sweep)
    assert scale[0] > 2 * scale[1]
    pure = continual_ballots(key, STREAM, ADDED, noise="laplace").guarantee
    assert pure == Guarantee(ADDED, dataclasses.replace(ADDED, delta=0.0))
    flips = continual_ballots(key, STREAM, dataclasses.replace(ASKED, adjacency="flip"))
    assert flips.guarantee.attained.adjacency == "replace"  # which covers it


@pytest.mark.parametrize(
    ("totals", "asked", "options", "words"),
    [
        (STREAM, user(1.0), {}, "noise='gaussian' needs delta > 0"),
        (STREAM, Privacy(1.0, unit="comparison", adjacency="replace", delta=0.1), {}, "protects"),
        (STREAM, dataclasses.replace(ASKED, contributions=2), {}, "leave contributions out"),
        (STREAM[0], ASKED, {}, r"totals must have shape \(T, m\)"),
        (STREAM[:0], ASKED, {}, r"totals must have shape \(T, m\)"),
        (STREAM[:, :1], ASKED, {}, "fewer than 2 items"),
        (STREAM, ASKED, {"ballots": "points"}, "ballots must be one of"),
        (STREAM, ASKED, {"strategy": "banded"}, "strategy must be one of"),
    ],
)
def test_bad_input_is_refused_with_a_remedy(totals, asked, options, words, key):
    with pytest.raises(ValueError, match=words):
        continual_ballots(key, totals, asked, **options)
