"""The rankings of sushi that are learned from."""

from __future__ import annotations

from privrank_jax.data import load
from privrank_jax.experiments.rdp import personalized as rdp_personalized


def test_sushi_ranks_are_those_among_the_five(data_folder):
    config = rdp_personalized.SushiConfig("x")
    found, table = rdp_personalized.sushi_ranks(config), load("sushi")
    columns = [table.item_names.index(name) for name in config.items]
    assert found.shape == (config.train_users + 2000, 5)
    for user in (0, 17, 4999):
        own = [table.ranks[user][column] for column in columns]
        assert found[user].tolist() == [sum(other < rank for other in own) for rank in own]
