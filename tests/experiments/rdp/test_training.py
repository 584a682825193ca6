"""What methods learn from, and how items are scored."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from privrank_jax import personalized
from privrank_jax.experiments import claims
from privrank_jax.experiments.rdp import training as rdp_training
from privrank_jax.experiments.rdp.common import LAPLACE, MALLOWS
from privrank_jax.experiments.rdp.training import ACCURACY, NO_PRIVACY, RAW_LAPLACE, UNBIASED
from privrank_jax.personalized import Users
from privrank_jax.rankings import ranks_from_scores
from privrank_jax.simulate.result import StudyResult
from tests.experiments.rdp.shared_personal import PERSONAL_KEY, row


def test_what_methods_learn_from():
    """Without noise, wins are those of the rankings; with it, they average to them where they should."""
    ranks = jnp.tile(jnp.array([2, 0, 1, 3]), (4000, 1))
    names = (MALLOWS, UNBIASED, LAPLACE, RAW_LAPLACE, NO_PRIVACY)

    @jax.jit
    def means(epsilon):
        wins = rdp_training.wins_by_method(PERSONAL_KEY, ranks, epsilon, names)
        return {name: (each.mean(0), each.std(0)) for name, each in wins.items()}

    for mean, _ in means(1e6).values():
        np.testing.assert_allclose(mean, [1, 3, 2, 0], atol=1e-3)
    noisy = means(3.0)
    for name in names:
        mean, spread = noisy[name]
        far = abs(mean - jnp.array([1, 3, 2, 0])) / (spread / 4000**0.5 + 1e-9)
        assert (far.max() < 4.5) == (name in (UNBIASED, RAW_LAPLACE, NO_PRIVACY)), name


def test_item_scores_rank_by_mean_wins():
    """Exactly what the minimizer of the logistic risk does, with or without a minimum."""
    wins = 3.0 + jax.random.normal(PERSONAL_KEY, (200, 7)) * jnp.linspace(0.05, 2, 200)[:, None]
    scores = jax.jit(jax.vmap(rdp_training.item_scores))(wins)
    wrong = jax.vmap(ranks_from_scores)(scores) != jax.vmap(ranks_from_scores)(wins)
    assert jnp.mean(jnp.any(wrong, axis=1)) < 0.02


def test_scores_without_the_users_part_train_as_the_linear_scorer_does():
    keys = jax.random.split(PERSONAL_KEY, 3)
    items, users = jax.random.normal(keys[0], (6, 4)), jax.random.normal(keys[1], (40, 4))
    wins = jax.random.uniform(keys[2], (40, 6), maxval=5.0)
    training, held_out = (Users(users[part], wins[part]) for part in (slice(30), slice(30, 40)))
    with_users, without = (
        personalized.train(PERSONAL_KEY, scorer, items, training, held_out, max_rounds=5)
        for scorer in (personalized.Linear(), rdp_training.LINEAR_SCORER)
    )
    assert with_users.rounds == without.rounds
    np.testing.assert_allclose(with_users.params["item"], without.params["item"], rtol=1e-6)
    np.testing.assert_allclose(with_users.risk, without.risk, rtol=1e-6)


@pytest.mark.parametrize(
    ("means", "holds"),
    [([0.1, 0.004], True), ([0.1, -0.1], False), ([0.1, 0.002], None), ([0.1, -0.002], None)],
)
def test_ahead_wants_every_cell(means, holds):
    other = [row(-1.0, metric="other"), row(-1.0, estimator="b minus a")]
    table = StudyResult("t", [row(mean) for mean in means] + other)
    assert claims.ahead("x", "a minus b", metric=ACCURACY).check(table).holds is holds
    assert claims.ahead("x", "none", metric=ACCURACY).check(table).holds is None
