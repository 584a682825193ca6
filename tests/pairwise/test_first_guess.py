"""Scores to start a fit from, against those that their shares of wins were made from."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.links import laplace, logistic, normal
from privrank_jax.pairwise.likelihood import first_guess
from tests import reference

LINKS = (logistic, normal, laplace)
ITEMS = 12


def world(link, spread, seed=0):
    """Scores that are centered, comparisons of every pair, and the expected target."""
    theta = np.random.default_rng(seed).normal(size=ITEMS) * spread
    theta -= theta.mean()
    comparisons = 40.0 * (1 - np.eye(ITEMS))
    chance = [[reference.link(link.name, a - b)[0] for b in theta] for a in theta]
    return theta, comparisons, (comparisons * (np.array(chance) - 0.5)).sum(1)


@pytest.mark.parametrize("spread", [0.01, 0.5, 1.0])
@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_the_guess_is_near_the_scores_that_the_shares_are_made_from(link, spread):
    theta, comparisons, target = world(link, spread)
    guess = first_guess(link, jnp.asarray(comparisons), jnp.asarray(target), jnp.asarray(0.0), None)
    assert np.abs(guess - theta).max() <= (0.01 if spread < 0.1 else 0.25) * np.abs(theta).max()
    assert np.argsort(guess).tolist() == np.argsort(theta).tolist()


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_masked_items_and_lanes_of_many_problems(link):
    _, comparisons, target = world(link, 0.5)
    mask = np.arange(ITEMS + 2) < ITEMS
    wide, long = np.pad(comparisons, (0, 2)), np.pad(target, (0, 2))

    @jax.jit
    def guess(comparisons, target, gamma, mask):
        return first_guess(link, comparisons, target, gamma, mask)

    alone = guess(comparisons, target, 0.5, None)
    padded = guess(wide, long, 0.5, mask)
    np.testing.assert_allclose(padded[:ITEMS], alone, atol=1e-12)
    np.testing.assert_array_equal(padded[ITEMS:], 0)
    stacked = [np.stack([x, x], -1) for x in (wide, long, np.asarray(0.5), mask)]
    both = guess(*stacked)
    np.testing.assert_allclose(both, np.stack([padded, padded], -1), atol=1e-12)


@pytest.mark.parametrize("link", LINKS, ids=lambda link: link.name)
def test_items_that_won_all_or_nothing_get_a_finite_score(link):
    comparisons = np.array([[0.0, 5.0], [5.0, 0.0]])
    guess = first_guess(
        link, jnp.asarray(comparisons), jnp.asarray([2.5, -2.5]), jnp.asarray(0.0), None
    )
    assert 0.5 < guess[0] < 10
    assert guess[1] == -guess[0]
