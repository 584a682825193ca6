"""Scores by facts about the items: equal to the naive twin, and intervals that cover."""

from __future__ import annotations

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax.pairwise import standard_errors
from privrank_jax.pairwise.item_facts import item_effects
from tests.reference import item_effects as naive


def uncertainty_of(scores, seed=0):
    rng = np.random.default_rng(seed)
    met = np.triu(rng.integers(20, 90, (len(scores),) * 2), 1)
    return standard_errors(scores, met + met.T)


@pytest.mark.parametrize("facts", [1, 2])
@pytest.mark.parametrize("left_over", [0.0, 0.6])
def test_as_by_pseudo_inverses(facts, left_over):
    rng = np.random.default_rng(facts)
    known = rng.normal(3, 50, (9, facts))
    with jax.enable_x64(True):
        scores = known @ np.full(facts, 0.01) + left_over * rng.normal(size=9)
        errors = uncertainty_of(scores - scores.mean())
        found = item_effects(errors, known)
        center, spread = np.asarray(errors.center), np.asarray(errors.covariance)
        beta, covariance, tau = naive.item_effects(center, spread, known)
        np.testing.assert_allclose(found.coefficients, beta, rtol=1e-6)
        np.testing.assert_allclose(found.covariance, covariance, rtol=1e-5)
        np.testing.assert_allclose(found.left_over, tau, rtol=1e-6)
    assert (tau > 0) == (left_over > 0)
    with_32 = item_effects(errors, known)
    np.testing.assert_allclose(with_32.coefficients, beta, rtol=1e-3)


@pytest.mark.parametrize("left_over", [0.0, 0.5])
def test_intervals_cover(left_over):
    """2,000 data sets of 20 items: 95 % intervals of β cover within 3 %; those that take τ for 0 don't."""
    rng = np.random.default_rng(3)
    known = rng.normal(size=(20, 2))
    spread = uncertainty_of(np.zeros(20))
    root = np.linalg.cholesky(np.asarray(spread.covariance) + 1e-6 * np.eye(20))
    noise = rng.normal(size=(2000, 20))
    drawn = known @ [0.3, -0.2] + noise @ root.T + left_over * rng.normal(size=(2000, 20))

    def fit(scores):
        return item_effects(dataclasses.replace(spread, center=scores), jnp.asarray(known))

    found = jax.vmap(fit)(jnp.asarray(drawn, jnp.float32))
    off = np.abs(np.asarray(found.coefficients) - [0.3, -0.2])
    covered = (off < 1.96 * np.asarray(found.standard_errors)).mean(0)
    assert np.all(np.abs(covered - 0.95) < 0.03)
    if left_over:
        _, without, _ = naive.item_effects(np.zeros(20), np.asarray(spread.covariance), known)
        assert np.all((off < 1.96 * np.sqrt(np.diag(without))).mean(0) < 0.7)
        assert float(jnp.median(found.left_over)) == pytest.approx(left_over, abs=0.1)


KNOWN = np.array([[1.0, 5], [2, 5], [4, 5], [7, 5], [8, 5]])


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (KNOWN, "fact 1 is the same for all items"),
        (KNOWN[:4, :1], "shape"),
        (KNOWN[:, 0], "shape"),
        (np.zeros((5, 0)), "shape"),
        (np.random.default_rng(0).normal(size=(5, 4)), "from 1 to 3 facts"),
        (np.where(KNOWN == 7, np.nan, KNOWN)[:, :1], "finite"),
        (np.stack([KNOWN[:, 0], 3 - 2 * KNOWN[:, 0]], 1), "combination"),
    ],
)
def test_bad_facts_are_refused(facts, words):
    with pytest.raises(ValueError, match=words):
        item_effects(uncertainty_of(np.zeros(5)), facts)


def test_items_that_no_comparison_links_are_refused():
    met = np.zeros((5, 5))
    met[0, 1] = met[1, 0] = met[2, 3] = met[3, 2] = met[3, 4] = met[4, 3] = 9
    with pytest.raises(ValueError, match="link"):
        item_effects(standard_errors(np.zeros(5), met), KNOWN[:, :1])
