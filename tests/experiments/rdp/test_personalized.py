"""Sushi, and hidden groups."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from privrank_jax.data import named_rankings
from privrank_jax.experiments.rdp import personalized as rdp_personalized
from privrank_jax.experiments.rdp.common import MALLOWS, NO_PRIVACY
from privrank_jax.simulate.result import StudyResult
from tests.experiments.rdp.shared import PERSONAL_KEY, accuracy
from tests.quick import quick_jit


def test_sushi_ranks_are_those_among_the_five(data_folder):
    config = rdp_personalized.SushiConfig("x")
    found, table = rdp_personalized.sushi_ranks(config), named_rankings.load_rankings("sushi")
    columns = [table.item_names.index(name) for name in config.items]
    assert found.shape == (config.train_users + 2000, 5)
    for user in (0, 17, 4999):
        own = [table.ranks[user][column] for column in columns]
        assert found[user].tolist() == [sum(other < rank for other in own) for rank in own]


def test_hidden_groups_rank_as_they_should():
    config = rdp_personalized.GroupConfig("x", num_items=6, movers=2, block=2, share=0.7)
    ranks = np.asarray(
        jax.jit(lambda k: rdp_personalized.group_ranks(k, 20_000, config))(PERSONAL_KEY)
    )
    assert {tuple(sorted(row)) for row in ranks} == {tuple(range(6))}
    top = {frozenset(np.flatnonzero(row < 2)) for row in ranks}
    assert top == {frozenset({0, 1}), frozenset({2, 3})}  # movers, or the block
    counted = np.mean(ranks[:, :, None] < ranks[:, None, :], axis=0)
    np.testing.assert_allclose(counted, rdp_personalized.group_weights(config), atol=0.02)
    # In the default world movers lead by a little less than the unevenness of synthetic ranks.
    default = rdp_personalized.group_weights(rdp_personalized.GroupConfig("x"))
    wins = default.sum(1)
    assert 0.05 < wins[:2].min() - wins[2:7].max() < 0.15


def test_mean_wins_are_those_of_all_users_in_blocks_of_their_own_draws():
    config = rdp_personalized.GroupConfig("x", num_items=6, movers=2, block=2, users=(400, 6000))

    @quick_jit
    @jax.vmap
    def of_all(users):
        cell = {"num_users": users, "epsilon": 8.0}
        return rdp_personalized.mean_wins(PERSONAL_KEY, cell, config=config)

    found = of_all(np.array(config.users))
    methods = rdp_personalized.GROUP_METHODS

    @quick_jit
    @jax.vmap
    def of_block(key):
        world_key, noise_key = jax.random.split(key)
        ranks = rdp_personalized.group_ranks(world_key, 400, config)
        return rdp_personalized.common.wins_by_method(noise_key, ranks, 8.0, methods)

    keys = jax.vmap(lambda block: jax.random.fold_in(PERSONAL_KEY, block))(np.arange(15))
    blocks = of_block(keys)
    for place, name in enumerate(methods):
        wins = np.asarray(blocks[name], float)
        np.testing.assert_allclose(found[0, place], wins[0].mean(0), rtol=1e-5)
        np.testing.assert_allclose(found[1, place], wins.mean((0, 1)), rtol=1e-5)
    ours = found[1, methods.index(NO_PRIVACY)]
    exact = rdp_personalized.group_weights(config).sum(1)
    np.testing.assert_allclose(ours, exact, atol=5 * 2.5 / 6000**0.5)
    assert abs(found[1] - found[0]).max() > 1e-3  # other users are drawn


@pytest.mark.parametrize(("lost", "holds"), [(0.05, False), (0.001, True), (-0.03, True)])
def test_consistency_is_judged_at_the_most_users(lost, holds):
    name = f"{NO_PRIVACY} minus {MALLOWS}"
    rows = [accuracy(0.05 - lost, estimator=name), accuracy(lost, estimator=name, num_users=99)]
    check = rdp_personalized.consistent
    assert check(StudyResult("t", rows), estimator=MALLOWS).holds is holds
    unclear = [accuracy(0.0, 0.01, estimator=name)]
    assert check(StudyResult("t", unclear), estimator=MALLOWS).holds is None
    assert check(StudyResult("t", []), estimator=MALLOWS).holds is None
