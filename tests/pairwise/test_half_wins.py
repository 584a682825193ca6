"""Standard errors where a tie is half a win for both items: those of the outcomes, not of wins and losses."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from privrank_jax.comparisons import WinCounts
from privrank_jax.links import get_link
from privrank_jax.pairwise import (
    covariate_table,
    mle,
    standard_errors,
)
from privrank_jax.pairwise.covariates import CovariateTable
from privrank_jax.pairwise.meetings import varying_share
from tests import reference

THETA = np.array([0.9, 0.5, 0.2, -0.2, -0.5, -0.9])
SIZE, REPLICATES = THETA.size, 2000
UPPER = np.triu(np.full((SIZE, SIZE), 40.0), 1)
DESIGN = UPPER + UPPER.T
GAPS = THETA[:, None] - THETA[None, :]
CHANCE = 1 / (1 + np.exp(-GAPS))
# Ties, as a share of the most that the mean allows, 2 min(p, 1 - p): common between good items, rare between others.
TENDENCY = np.where(np.add.outer(THETA, THETA) > 0, 0.8, 0.2)
# The root mean square error of six scores (five directions) over 2000 replicates is known to 0.7 % (one sigma), and the
# linear step costs 1 %. Four sigma: a right width is refused with probability 6e-5; the keys are fixed.
TOLERANCE = 0.04


def test_widths_are_those_of_the_outcomes():
    tie = TENDENCY * 2 * np.minimum(CHANCE, 1 - CHANCE)
    win = (CHANCE - tie / 2) / (1 - tie)

    @jax.jit
    @jax.vmap
    def replicate(key):
        ties, wins = jax.random.split(key)
        tied = jax.random.binomial(ties, UPPER, tie)
        won = jax.random.binomial(wins, UPPER - tied, win)
        half = (tied + tied.T) / 2
        scores = mle(WinCounts(half + won + (UPPER - tied - won).T)).value
        told, old = standard_errors(scores, DESIGN, ties=2 * half), standard_errors(scores, DESIGN)
        return scores - THETA, told.standard_errors, old.standard_errors

    found = replicate(jax.random.split(jax.random.key(13), REPLICATES))
    errors, widths, old = (np.sqrt(np.mean(np.square(each))) for each in found)
    assert abs(widths / errors - 1) < TOLERANCE, widths / errors
    assert old / errors > 1.12, old / errors


def test_each_pair_by_its_own_ties():
    """Against the sandwich by a pseudo-inverse, with ties on some pairs only, noise and a ridge."""
    for link in ("logistic", "normal", "laplace"):
        fisher = reference.fisher_information(link, THETA, DESIGN)
        chance = np.asarray(get_link(link).cdf(GAPS))
        ties = np.floor(DESIGN * (TENDENCY > 0.5) * np.minimum(chance, 1 - chance))
        left = DESIGN * (1 - 0.25 * ties / (DESIGN + np.eye(SIZE)) / (chance * (1 - chance)))
        outcomes = reference.fisher_information(link, THETA, left)
        for target, gamma in (("truth", 0.0), ("penalized", 7.0)):
            found = standard_errors(
                THETA, DESIGN, noise=3.0, gamma=7.0, link=link, ties=ties, target=target
            )
            inverse = np.linalg.pinv(fisher + gamma * (np.eye(SIZE) - 1 / SIZE), rcond=1e-12)
            wanted = inverse @ (outcomes + 2 * 3.0**2 * np.eye(SIZE)) @ inverse
            np.testing.assert_allclose(found.covariance, wanted, rtol=1e-8, atol=1e-12)


def test_the_estimated_variance_is_never_below_the_true_one_on_average():
    """One to five comparisons of a pair, by the binomial law of its ties; p(1 - p) is never exceeded."""
    for chance in (0.5, 0.7, 0.95):
        for tie in np.array([0.1, 0.6, 1.0]) * 2 * min(chance, 1 - chance):
            for number in (1, 2, 5, 200):
                ties = np.arange(number + 1.0)
                # Weights of the binomial law, as products: C(n, t) τ^t (1 - τ)^(n - t).
                ways = np.cumprod(np.r_[1.0, (number - ties[:-1]) / ties[1:]])
                law = ways * tie**ties * (1 - tie) ** (number - ties)
                most = np.full_like(ties, number * chance * (1 - chance))
                kept = most * np.asarray(varying_share(most, ties))
                true = number * (chance * (1 - chance) - tie / 4)
                assert true - 1e-12 <= law @ kept <= most[0]
                assert np.all((kept >= 0) & (kept <= most))
                if number == 200 and true > 10:
                    assert law @ kept < 1.001 * true


# --- with covariates ------------------------------------------------------------------------------

ROWS = 900
RNG = np.random.default_rng(5)
SEATS = np.array([RNG.choice(SIZE, 2, replace=False) for _ in range(ROWS)])
LENGTH = RNG.normal(0, 1, ROWS).clip(-2, 2)


def test_widths_with_covariates():
    told = {"num_items": SIZE}
    design = covariate_table(*SEATS.T, np.ones(ROWS), {"length": LENGTH}, **told).design
    slope = 0.4
    odds = np.asarray(design.log_odds(jnp.append(THETA, slope * float(design.units[0]))))
    chance = 1 / (1 + np.exp(-odds))
    tie = 0.8 * 2 * np.minimum(chance, 1 - chance)
    win = (chance - tie / 2) / (1 - tie)

    @jax.jit
    @jax.vmap
    def replicate(key):
        first, second = jax.random.split(key)
        tied = jax.random.bernoulli(first, tie)
        won = jax.random.bernoulli(second, win)
        value = mle(CovariateTable(design, jnp.where(tied, 0.5, won * 1.0))).value
        told, old = standard_errors(value, design, ties=tied), standard_errors(value, design)
        return (
            jnp.append(value.scores - THETA, value.coefficients - slope),
            *(jnp.sqrt(jnp.diagonal(one.covariance)) for one in (told, old)),
        )

    # The error of each number by itself is known to 2.2 % (one sigma) by 1000 replicates; five of them are allowed.
    errors, widths, old = replicate(jax.random.split(jax.random.key(2), 1000))
    wanted = np.sqrt(np.mean(np.square(errors), 0))
    ratio = np.sqrt(np.mean(np.square(widths), 0)) / wanted
    assert np.all(np.abs(ratio - 1) < 0.11), ratio
    assert np.all(np.sqrt(np.mean(np.square(old), 0)) / wanted > 1.2)
