"""Scorers and training against slow twins: early stopping, masked users, one program for many replicates."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import scipy.optimize

from privrank_jax.personalized import Linear, TwoTowers, Users, pair_weights, train
from privrank_jax.personalized.surrogate import pairwise_risk
from tests.personalized.worlds import KEY, WORLD
from tests.reference import personalized as reference

SMALL = TwoTowers(width=3, layers=1)
OPTIMIZER, ALL = optax.adam(0.1), np.ones(12, bool)


@jax.jit
def small_train(key, x, y, wins, mask=ALL, max_rounds=6):
    """The program that the tests of this file share: 8 users to train on, 4 held out."""
    return train(
        key,
        SMALL,
        y,
        Users(x[4:], wins[4:], mask[4:]),
        Users(x[:4], wins[:4], mask[:4]),
        optimizer=OPTIMIZER,
        batch_size=4,
        steps=3,
        patience=3,
        max_rounds=max_rounds,
    )


def test_vmapped_replicates_are_the_single_ones_and_mask_hides_users():
    """The returned risk is also that of the held-out users at the returned parameters."""
    x, y, ranks, wins = WORLD(KEY)
    mask = np.arange(12) % 3 < 2
    junk = np.where(mask[:, None], wins, np.nan)
    many = (np.stack([wins, wins, junk]), np.stack([ALL, mask, mask]))
    keys = jax.random.split(KEY, 2)[np.array([0, 1, 1])]
    alone = [small_train(key, x, y, *each) for key, *each in zip(keys, *many)]
    for a, b in zip(*(jax.tree.leaves(one) for one in alone[1:]), strict=True):
        np.testing.assert_array_equal(a, b)  # masked users may hold any data
    assert not np.allclose(alone[0].params["item"][0]["bias"], alone[1].params["item"][0]["bias"])
    together = jax.jit(jax.vmap(small_train, in_axes=(0, None, None, 0, 0)))(keys, x, y, *many)
    for a, b in zip(jax.tree.leaves(together), zip(*(jax.tree.leaves(one) for one in alone))):
        np.testing.assert_allclose(a, np.stack(b), rtol=1e-6, atol=1e-9)
    for one, real in ((alone[0], range(4)), (alone[1], (0, 1, 3))):
        risks = [
            reference.risk(
                reference.two_tower_scores(one.params, x[user], y),
                reference.weights(np.asarray(ranks[user])),
            )
            for user in real
        ]
        np.testing.assert_allclose(one.risk, np.mean(risks), rtol=1e-9)


def test_more_rounds_never_raise_the_risk_kept_and_compile_once():
    x, y, _, wins = WORLD(KEY)
    found = [small_train(KEY, x, y, wins, max_rounds=rounds) for rounds in range(5)]
    risks = [float(one.risk) for one in found]
    assert risks == sorted(risks, reverse=True)
    assert risks[-1] < 0.9 * risks[0]
    assert [int(one.rounds) for one in found] == list(range(5))


def test_stops_after_patience_and_keeps_the_start_where_training_only_harms():
    """The preferences of held-out users are the reverse of those of training users."""
    x, y, _, wins = WORLD(KEY)
    turned = np.concatenate([3 - np.asarray(wins)[:4], wins[4:]])
    found = small_train(KEY, x, y, turned, max_rounds=50)
    start = small_train(KEY, x, y, wins, max_rounds=0)
    assert (int(found.best_round), int(found.rounds)) == (0, 3)
    for a, b in zip(jax.tree.leaves(found.params), jax.tree.leaves(start.params), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_any_start_and_any_risk_of_pairs_and_masks_in_full_batches():
    """The preferences of held-out users are the reverse of those of training users; the risk is a pairwise one."""
    x, y, ranks = jnp.zeros((3, 1)), jnp.eye(3), jnp.tile(jnp.arange(3), (3, 1))
    mask = jnp.array([True, False, True])

    def weights(ranks):
        return jax.vmap(pair_weights)(ranks).at[1].set(jnp.nan)

    start = {"user": jnp.zeros(1), "item": jnp.array([0.3, 0.2, 0.1])}
    told = {"risk": pairwise_risk, "batch_size": None, "start": start}
    willing, against = (Users(x, weights(one), mask) for one in (ranks, 2 - ranks))
    found = train(KEY, Linear(), y, willing, against, steps=2, patience=4, **told)
    assert (int(found.best_round), int(found.rounds)) == (0, 4)
    np.testing.assert_array_equal(found.params["item"], start["item"])
    slow = reference.risk([0.3, 0.2, 0.1], reference.weights([2, 1, 0]))
    np.testing.assert_allclose(found.risk, slow, rtol=1e-9)
    found = train(KEY, Linear(), y, willing, willing, **told)
    assert np.all(np.diff(found.params["item"]) < -0.5)


def test_a_penalty_gives_debiased_targets_a_minimum_and_training_finds_it():
    """Free scores against a general minimizer, at wins whose mean leaves [0, m-1]: no minimum without a penalty."""
    wins = np.array([[3.4, 1.2, -1.6], [2.2, 1.4, -0.6], [2.6, -0.2, 0.6]])
    users = Users(jnp.zeros((3, 1)), jnp.asarray(wins))

    def penalty(params):
        return 0.03 * jnp.sum(params["item"] ** 2)

    def slow(scores):
        pairs = [(0, 1), (0, 2), (1, 2)]
        even = sum(np.log(2 * np.cosh((scores[i] - scores[j]) / 2)) for i, j in pairs)
        return (even - scores @ (wins.mean(0) - 1)) / 6 + 0.03 * scores @ scores

    wanted = scipy.optimize.minimize(slow, np.zeros(3), tol=1e-12)
    found = train(
        KEY, Linear(), jnp.eye(3), users, users, penalty=penalty, optimizer=OPTIMIZER, batch_size=None, steps=100,
        max_rounds=20,
    )  # fmt: skip
    np.testing.assert_allclose(found.params["item"], wanted.x, atol=2e-4)
    assert float(found.risk) == pytest.approx(wanted.fun, abs=1e-6)


def test_scores_are_those_of_slow_twins():
    scorer = TwoTowers(width=3, layers=3)
    x, y = map(np.asarray, WORLD(KEY)[:2])
    params = jax.jit(scorer.init, static_argnums=(1, 2))(KEY, 2, 2)
    assert [layer["weight"].shape for layer in params["user"]] == [(2, 3), (3, 3), (3, 3)]
    flat = np.concatenate([np.ravel(leaf) for leaf in jax.tree.leaves(params)])
    assert len(np.unique(flat)) == 66  # two towers of 9 + 12 + 12, no two alike
    assert abs(flat).max() <= 2**-0.5
    found = jax.jit(scorer.score)(params, x[0], y)
    np.testing.assert_allclose(found, reference.two_tower_scores(params, x[0], y), rtol=1e-9)
    line = {"user": np.array([1.0, 2.0]), "item": np.array([-1.0, 0.5])}
    np.testing.assert_allclose(
        Linear().score(line, x[0], y), x[0, 0] + 2 * x[0, 1] - y[:, 0] + 0.5 * y[:, 1], rtol=1e-12
    )
