"""Debiased fits in batches: masks, vmap, compilations and derivatives."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax.pairwise import debiased_rr
from tests.pairwise.problems import ITEMS, USERS, _problem
from tests.quick import quick_jit
from tests.reference import local as reference_local


def test_masks_of_users_and_items_change_nothing():
    """Real data in the corner of a larger problem whose padding holds arbitrary values."""
    reports, observed, epsilons = _problem()
    small = debiased_rr(reports, observed, epsilons, weighted=False)
    wide = np.full((USERS + 3, 15), np.nan)
    seen = np.ones((USERS + 3, 15), bool)
    seen[USERS:] = False
    places = [place for place, (_, j) in enumerate(reference_local.pairs_of(6)) if j < ITEMS]
    wide[:USERS, places] = reports
    seen[:USERS, places] = observed
    personal = np.concatenate([epsilons, [0.1, 9.0, np.inf]])
    mask = np.arange(6) < ITEMS
    large = debiased_rr(wide, seen, personal, weighted=False, mask=mask)
    np.testing.assert_allclose(large.value[:ITEMS], small.value, atol=1e-10)
    np.testing.assert_array_equal(large.value[ITEMS:], 0)
    both = (small.guarantee, small.diagnostics), (large.guarantee, large.diagnostics)
    for one, other in zip(*map(jax.tree.leaves, both)):
        np.testing.assert_allclose(one, other, atol=1e-9)


def test_vmap_is_the_loop_and_changed_data_compile_nothing():
    link, traces = "laplace", []

    @jax.jit
    def fit(reports, observed, epsilon, gamma):
        traces.append(1)
        return debiased_rr(reports, observed, epsilon, link, gamma)

    problems = [_problem(seed) for seed in range(3)]
    gammas = np.array([0.6, 2.0, 4.0])
    alone = [fit(*problem, c) for problem, c in zip(problems, gammas)]
    assert len(traces) == 1
    batch = [np.stack(arrays) for arrays in zip(*problems)]
    together = jax.vmap(lambda r, o, e, c: debiased_rr(r, o, e, link, c))(*batch, gammas)
    for place, single in enumerate(alone):
        for one, others in zip(jax.tree.leaves(single), jax.tree.leaves(together)):
            np.testing.assert_allclose(others[place], one, atol=2e-9)


@pytest.mark.parametrize(("link", "run"), [("logistic", jax.jit), ("normal", quick_jit)])
def test_derivatives_are_those_of_finite_differences(link, run):
    """Derivatives of θ̂ in ε and in the ridge, through the sums and the implicit function theorem."""
    reports, observed, epsilons = _problem()

    def score(epsilon, gamma):
        return debiased_rr(reports, observed, epsilon, link, gamma).value[0]

    first = run(score)
    by_epsilon, by_gamma = run(jax.grad(score, argnums=(0, 1)))(epsilons, 1.6)
    step = 1e-5
    for user in (0, 5):
        moved = np.eye(USERS)[user] * step
        difference = (first(epsilons + moved, 1.6) - first(epsilons - moved, 1.6)) / (2 * step)
        assert float(by_epsilon[user]) == pytest.approx(float(difference), abs=1e-7)
    difference = (first(epsilons, 1.6 + step) - first(epsilons, 1.6 - step)) / (2 * step)
    assert float(by_gamma) == pytest.approx(float(difference), abs=1e-7)
