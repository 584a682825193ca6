"""Laws that the studies share, what methods learn from, and how items are scored, against slow twins."""

from __future__ import annotations

import itertools

import jax
import numpy as np
import pytest
from scipy import stats

from privrank_jax import personalized
from privrank_jax.experiments.rdp import common as rdp_common
from privrank_jax.experiments.rdp.common import LAPLACE, MALLOWS, NO_PRIVACY, RAW_LAPLACE, UNBIASED
from privrank_jax.personalized import Users
from privrank_jax.rankings import ranks_from_scores
from tests.experiments.rdp.shared import PERSONAL_KEY
from tests.reference.attack import mallows_law


def test_laplace_keeps_as_many_pairs_as_the_law_of_two_noises_says():
    for items, epsilon in ((2, 1.0), (5, 3.0), (4, 60.0)):
        scale = 2 * (items - 1) / epsilon
        expected = 0.0
        for gap in range(1, items):
            # P(X - Y < gap), by numerical integration over Y.
            at = np.linspace(-40, 40, 200_001) * scale
            chance = stats.laplace.cdf(at + gap, scale=scale) * stats.laplace.pdf(at, scale=scale)
            expected += (items - gap) * np.trapezoid(chance, at)
        assert rdp_common.laplace_concordance(items, epsilon) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("items", [3, 4])
def test_neighbors_agree_once_one_item_is_out_and_none_is_left_out(items):
    found = [tuple(ranks) for ranks in rdp_common.neighbors(items).tolist()]
    own = tuple(range(items))
    assert found[0] == own

    def without(ranks, item):
        return [other for other in np.argsort(ranks) if other != item]

    near = {
        ranks
        for ranks in itertools.permutations(range(items))
        if any(without(ranks, item) == without(own, item) for item in range(items))
    }
    assert set(found) == near
    assert len(found) == len(near) == (items - 1) ** 2 + 1
    law = rdp_common.mallows_law(items, 1.3)
    for center, row in zip(found, law):
        expected = mallows_law(center, 1.3)
        np.testing.assert_allclose(
            row, [expected[tuple(r)] for r in rdp_common.all_rankings(items)]
        )


def test_what_methods_learn_from():
    """Without noise, wins are those of the rankings; with it, they average to them where they should."""
    ranks = np.tile(np.array([2, 0, 1, 3]), (4000, 1))
    names = (MALLOWS, UNBIASED, LAPLACE, RAW_LAPLACE, NO_PRIVACY)

    @jax.jit
    def means(epsilon):
        wins = rdp_common.wins_by_method(PERSONAL_KEY, ranks, epsilon, names)
        return {name: (each.mean(0), each.std(0)) for name, each in wins.items()}

    for mean, _ in means(1e6).values():
        np.testing.assert_allclose(mean, [1, 3, 2, 0], atol=1e-3)
    noisy = means(3.0)
    for name in names:
        mean, spread = noisy[name]
        far = abs(np.asarray(mean) - [1, 3, 2, 0]) / (np.asarray(spread) / 4000**0.5 + 1e-9)
        assert (far.max() < 4.5) == (name in (UNBIASED, RAW_LAPLACE, NO_PRIVACY)), name


def test_item_scores_rank_by_mean_wins():
    """Exactly what the minimizer of the logistic risk does, with or without a minimum."""
    noise = np.random.default_rng(0).normal(size=(200, 7))
    wins = 3.0 + noise * np.linspace(0.05, 2, 200)[:, None]
    ranks = jax.jit(jax.vmap(lambda one: ranks_from_scores(rdp_common.item_scores(one))))(wins)
    assert np.mean(np.any(np.argsort(ranks) != np.argsort(-wins), axis=1)) < 0.02


@pytest.mark.slow
def test_scores_without_the_users_part_train_as_the_linear_scorer_does():
    keys = jax.random.split(PERSONAL_KEY, 3)
    items, users = jax.random.normal(keys[0], (6, 4)), jax.random.normal(keys[1], (40, 4))
    wins = jax.random.uniform(keys[2], (40, 6), maxval=5.0)
    training, held_out = (Users(users[part], wins[part]) for part in (slice(30), slice(30, 40)))
    with_users, without = (
        personalized.train(PERSONAL_KEY, scorer, items, training, held_out, max_rounds=5)
        for scorer in (personalized.Linear(), rdp_common.LINEAR_SCORER)
    )
    assert with_users.rounds == without.rounds
    np.testing.assert_allclose(with_users.params["item"], without.params["item"], rtol=1e-6)
    np.testing.assert_allclose(with_users.risk, without.risk, rtol=1e-6)
