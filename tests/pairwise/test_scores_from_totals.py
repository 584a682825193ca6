"""Scores fitted to given win totals: the perturbed MLE as post-processing."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax import pairwise
from privrank_jax.comparisons import WinCounts
from privrank_jax.mechanism import Facts
from privrank_jax.pairwise.ridges import default_ridges
from privrank_jax.privacy import Privacy
from privrank_jax.privacy.noise import laplace
from tests.promises import promise

SIZE = 6


def fitted(totals, comparisons, gamma, mask=None):
    return pairwise.fit(pairwise.Counts(comparisons, mask), totals, gamma)


@pytest.fixture
def wins():
    matrix = np.random.default_rng(0).integers(0, 9, (SIZE, SIZE)).astype(float)
    np.fill_diagonal(matrix, 0)
    return WinCounts.from_matrix(matrix)


def test_it_is_the_perturbed_mle(key, wins):
    perturbed = pairwise.perturbed_mle(key, wins, promise(0.5, adjacency="flip"), gamma=3.0)
    noise = laplace(key, (SIZE,), perturbed.diagnostics.noise_scale, wins.matrix.dtype)
    found = fitted(wins.totals - noise, wins.comparisons, 3.0)
    np.testing.assert_allclose(found.value, perturbed.value, atol=1e-9)


def test_it_solves_its_equations_even_for_totals_out_of_reach(wins):
    totals = np.array([500.0, -300.0, 0.5, 10.0, 20.0, 90.0])
    comparisons = np.asarray(wins.comparisons)
    totals *= comparisons.sum() / 2 / totals.sum()  # then the equations hold for centered scores
    fit = fitted(totals, comparisons, 0.7)
    theta = np.asarray(fit.value)
    shares = 1 / (1 + np.exp(theta[None, :] - theta[:, None]))
    np.testing.assert_allclose((comparisons * shares).sum(1) + 0.7 * theta, totals, atol=1e-6)
    assert int(fit.diagnostics.code) == 0


def test_masked_items_do_not_count(wins):
    padded = np.zeros((SIZE + 2, SIZE + 2))
    padded[:SIZE, :SIZE] = wins.comparisons
    mask = np.arange(SIZE + 2) < SIZE
    totals = np.append(wins.totals, [7.0, 8.0])
    fit = fitted(totals, padded, 1.0, mask=mask)
    alone = fitted(wins.totals, wins.comparisons, 1.0)
    np.testing.assert_allclose(fit.value[:SIZE], alone.value, atol=1e-8)
    assert fit.value[SIZE:].tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("gamma", "size", "message"),
    [(0.0, SIZE, "gamma must be positive"), (1.0, SIZE - 1, r"must have shape \(6,\)")],
)
def test_refusals(wins, gamma, size, message):
    with pytest.raises(ValueError, match=message):
        fitted(wins.totals[:size], wins.comparisons, gamma)


# --- noise for users who are asked a public questionnaire

CYCLE = pairwise.questionnaire_counts([(i, (i + 1) % SIZE) for i in range(SIZE)], SIZE)


def asked(epsilon, **fields):
    return Privacy(epsilon, unit="user", adjacency="flip", **fields)


def test_the_default_gamma_knows_the_variance_of_k_norm_noise(key, wins):
    """γ = (h + v)/h, v the mean variance over the dimensions of the noise, here by simulation, within 5 %."""
    release = jax.vmap(lambda k: pairwise.noisy_counts(k, wins, asked(0.5), questionnaire=CYCLE))
    each = release(jax.random.split(key, 4000)).value
    variance = np.sum(np.var(np.asarray(each), axis=0)) / (SIZE - 1)
    h = float(np.asarray(wins.degrees).mean()) / 5
    law = pairwise.noisy_counts.noise(asked(0.5), Facts(SIZE, told={"questionnaire": CYCLE}))
    found, _ = default_ridges(pairwise.Counts(wins.comparisons), law)
    assert float(found) == pytest.approx((h + variance) / h, rel=0.05)
